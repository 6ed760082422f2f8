//go:build realkafka

package kafkatest

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Three nodes go on while one is dead or frozen, and are whole again afterwards.
func TestTrio(t *testing.T) {
	k := shared.Trio(t)
	cl := k.Client(t, kgo.MetadataMinAge(50*time.Millisecond))
	CreateTopicOn(t, cl, "trio.three", 1)
	CreateTopicOn(t, cl, "trio.one", 3)
	Produce(t, cl, append(Records("trio.three", 0, 3, 1000, 1), Records("trio.one", 0, 3, 1000, 1)...)...)
	group := GroupOn("trio.g", 2, 6)
	Commit(t, cl, group, Committed{"trio.three", 0, 1, 0, ""})
	coordinator := func() int32 {
		one := kadm.NewClient(cl).FindGroupCoordinators(t.Context(), group)[group]
		if one.Err != nil {
			return -1
		}
		return one.NodeID
	}
	for _, order := range [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}} {
		Replicas(t, cl, "__consumer_offsets", offsetsPartition(group, 6), order...)
		Until(t, "the coordinator follows the leader of the group's partition", func() bool { return coordinator() == order[0] })
	}
	Replicas(t, cl, "trio.three", 0, 3, 2, 1)

	k.KillNode(t, 3)
	Until(t, "another node leads and coordinates, and nobody leads the single replica", func() bool {
		return Leader(t, cl, "trio.three", 0) == 2 && coordinator() == 1 && Leader(t, cl, "trio.one", 0) == -1
	})
	// The new coordinator reads its partition of the offsets topic first.
	Until(t, "the commit is there", func() bool { return CommittedOffsets(t, cl, group, "trio.three")[0] == 1 })
	k.Heal(t)
	Until(t, "the single replica is led again", func() bool { return Leader(t, cl, "trio.one", 0) == 3 })

	k.FreezeNode(t, 2)
	Until(t, "the frozen leader is replaced", func() bool { l := Leader(t, cl, "trio.three", 0); return l == 3 || l == 1 })
	k.thawNode(t, 2)

	before := k.Proxy(1).connections()
	k.Proxy(1).Delay(100*time.Millisecond, 0)
	one := Client(t, k.Addrs()[:1]) // the first connection: ApiVersions, then the ping
	start := time.Now()
	if err := one.Ping(t.Context()); err != nil || time.Since(start) < 200*time.Millisecond || k.Proxy(1).connections() == before {
		t.Errorf("a ping over two slow round trips took %v (%v)", time.Since(start), err)
	}
}
