//go:build realkafka

package cmd_test

// Three brokers, one of them away: what the others know is shown, what is missing is named, and nothing is written over a list
// of groups that is not whole.

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
)

// awayBed is the trio with a topic whose partition p is led by node p+1, and six groups, one on each partition of the offsets
// topic, whose partition p is led by node p%3+1.
type awayBed struct {
	t      *testing.T
	kafka  *kafkatest.Kafka
	cl     *kgo.Client
	topic  string
	groups []string // by partition of the offsets topic
}

const offsetsTopic, offsetsPartitions = "__consumer_offsets", 6

func newAway(t *testing.T, prefix string) *awayBed {
	k := real.Trio(t)
	b := &awayBed{t: t, kafka: k, cl: k.Client(t, kgo.MetadataMinAge(50*time.Millisecond)), topic: "away-" + prefix}
	kafkatest.CreateTopicOn(t, b.cl, b.topic, 1, 2, 3)
	for p := range int32(3) {
		kafkatest.Produce(t, b.cl, kafkatest.Records(b.topic, p, 10, kafkatest.F1Start, 1)...)
		kafkatest.Replicas(t, b.cl, b.topic, p, ringFrom(p)...)
	}
	for n := range int32(offsetsPartitions) {
		g := kafkatest.GroupOn(b.topic+"-g", n, offsetsPartitions)
		b.groups = append(b.groups, g)
		kafkatest.Commit(t, b.cl, g, kafkatest.At(b.topic, 0, 4), kafkatest.At(b.topic, 1, 5), kafkatest.At(b.topic, 2, 6))
		kafkatest.Replicas(t, b.cl, offsetsTopic, n, ringFrom(n)...)
	}
	kafkatest.Until(t, "the new coordinators have loaded their groups", func() bool {
		r := runLine(t, "-b", k.Bootstrap(), "inspect", "-o", "tsv")
		return !slices.ContainsFunc(b.groups, func(g string) bool { return !strings.Contains(r.out, g) })
	})
	return b
}

// ringFrom are the three nodes, from the one after n on.
func ringFrom(n int32) []int32 { return []int32{n%3 + 1, (n+1)%3 + 1, (n+2)%3 + 1} }

// line runs koffset with node 1 first, which is never the one that is away.
func (b *awayBed) line(code int, args ...string) lineEnd {
	b.t.Helper()
	return runJSON(b.t, code, append([]string{"-b", b.kafka.Bootstrap()}, args...)...)
}

// mine are the groups of this test in an answer that have no error, and those that have one.
func (b *awayBed) mine(r lineEnd) (fine, failed []string) {
	for _, g := range r.Groups {
		switch {
		case !slices.Contains(b.groups, g.Group):
		case g.Incomplete:
			failed = append(failed, g.Group)
		default:
			fine = append(fine, g.Group)
		}
	}
	return fine, failed
}

// A partition of the offsets topic that has no leader takes its groups out of every list: that is said, and what is asked for by
// pattern is not written. A group that is named is one that failed, and none that does not exist.
func TestAwayGroupsWithoutCoordinator(t *testing.T) {
	b := newAway(t, "leaderless")
	lost, alone := b.groups[2], int32(2)
	commands := b.prepareCommands(b.groups[0], lost)
	kafkatest.Replicas(t, b.cl, offsetsTopic, alone, 3)
	// Back to three replicas before the next test; the partition needs its only replica for that, so the nodes come first.
	defer func() {
		b.kafka.Heal(t)
		kafkatest.Replicas(t, b.cl, offsetsTopic, alone, ringFrom(alone)...)
	}()
	kafkatest.Replicas(t, b.cl, b.topic, 1, 3) // and a partition of the topic goes with it
	b.kafka.KillNode(t, 3)
	kafkatest.Until(t, "node 3 is given up", func() bool {
		return kafkatest.Leader(t, b.cl, offsetsTopic, alone) == -1 && kafkatest.Leader(t, b.cl, b.topic, 1) == -1 &&
			kafkatest.Leader(t, b.cl, offsetsTopic, 5) > 0 && kafkatest.Leader(t, b.cl, b.topic, 2) > 0
	})

	all := b.line(4, "inspect")
	if fine, _ := b.mine(all); !all.Incomplete || slices.Contains(fine, lost) || !strings.Contains(all.err, "partition 2 of 6 of __consumer_offsets") {
		t.Errorf("inspect: %v, incomplete %v\n%s", fine, all.Incomplete, all.err)
	}
	commands.each()
	for _, g := range b.groups {
		if g != lost {
			if got := kafkatest.CommittedOffsets(t, b.cl, g, b.topic); got[0] != 4 {
				t.Errorf("%s was moved: %v", g, got)
			}
		}
	}

	named := b.line(4, append([]string{"inspect", "--by", "group", "--timeout", "12s"}, b.groups...)...)
	if fine, failed := b.mine(named); len(fine) != 0 || !slices.Contains(failed, lost) || named.took > 12*time.Second {
		// All are incomplete, since one partition of the topic has no leader either; only one has no commits.
		t.Errorf("fine %v, failed %v after %s\n%s", fine, failed, named.took, named.err)
	}
	rows := b.line(4, "inspect", b.groups[0])
	if len(rows.Partitions) != 3 || rows.Partitions[0].Status != "ok" || rows.Partitions[2].Status != "ok" {
		t.Fatalf("%+v", rows.Partitions)
	}
	if p := rows.Partitions[1]; p.Status != "error" || p.Error != "LEADER_NOT_AVAILABLE" || dash(p.Committed) != "5" || p.End != nil {
		t.Errorf("%+v", p)
	}
	one := runLine(t, "-b", b.kafka.Bootstrap(), "--timeout", "4s", "inspect", lost)
	if one.code == 5 || one.code == 0 || strings.Contains(one.err, "does not exist") {
		t.Errorf("a group whose coordinator is away: exit status %d\n%s%s", one.code, one.out, one.err)
	}
	if r := runLine(t, "-b", b.kafka.Bootstrap(), "resolve", b.topic, "--to", "latest"); r.code != 4 || !strings.Contains(r.out, "LEADER_NOT_AVAILABLE") {
		t.Errorf("resolve: exit status %d\n%s%s", r.code, r.out, r.err)
	}
}

// A broker that accepts connections and never answers costs a few seconds, and its own groups and partitions alone.
func TestAwaySilentBroker(t *testing.T) {
	b := newAway(t, "silent")
	b.kafka.Proxy(2).Hold()
	all := b.line(4, "inspect", "--timeout", "12s")
	fine, failed := b.mine(all)
	if len(fine)+len(failed) != 4 || !all.Incomplete || !strings.Contains(all.err, "broker 2") {
		t.Errorf("inspect: %v and %v of %v, incomplete %v\n%s", fine, failed, b.groups, all.Incomplete, all.err)
	}
	named := b.line(4, append([]string{"inspect", "--by", "partition", "--timeout", "12s"}, b.groups...)...)
	known := 0
	for _, p := range named.Partitions {
		if p.Status == "ok" {
			known++
		}
	}
	if known != 8 { // four groups of other coordinators, two partitions of other leaders
		t.Errorf("%d partitions are known, not 8\n%+v\n%s", known, named.Partitions, named.err)
	}
	for _, r := range []lineEnd{all, named} {
		if r.took > 20*time.Second {
			t.Errorf("it took %s", r.took)
		}
	}
	// With the silent one as the only address that is tried first, another is asked before long.
	addrs := b.kafka.Addrs()
	r := runLine(t, "-b", addrs[1]+","+addrs[0], "--timeout", "12s", "resolve", b.topic+":0")
	if r.code != 0 || r.took > 6*time.Second {
		t.Errorf("resolve: exit status %d after %s\n%s%s", r.code, r.took, r.out, r.err)
	}
}

// A coordinator that is killed is another broker within seconds, and a command that has just begun finds it there.
func TestAwayCoordinatorMoves(t *testing.T) {
	b := newAway(t, "moves")
	g := b.groups[2] // coordinated by node 3, which also leads a partition
	coordinator := kadm.NewClient(b.cl).FindGroupCoordinators(t.Context(), g)[g]
	if coordinator.Err != nil || coordinator.NodeID != 3 {
		t.Fatalf("%+v", coordinator)
	}
	b.kafka.KillNode(t, 3)
	b.afterTheKill(t, g)
	b.kafka.Heal(t)
	b.kafka.Proxy(3).Resume()
	for _, n := range []int32{2, 5} {
		kafkatest.Replicas(t, b.cl, offsetsTopic, n, ringFrom(n)...)
	}
	b.kafka.FreezeNode(t, 3)
	shown := b.line(0, "inspect", g, "--timeout", "40s")
	if len(shown.Partitions) != 3 || shown.took > 30*time.Second {
		t.Errorf("inspect after %s: %+v", shown.took, shown.Partitions)
	}
}
