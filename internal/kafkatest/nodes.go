//go:build realkafka

package kafkatest

// What happens to single nodes of a cluster: stopped, killed, frozen, started again; and to who leads which partition.

import (
	"context"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TrioOptions are three nodes that are brokers and controllers, each behind a proxy and with a small heap: see [Shared.Trio].
func TrioOptions() Options {
	return Options{Nodes: 3, Quorum: true, Proxied: true, HeapMB: 320}
}

// Proxy is what stands before a node's plain listener. The cluster was started with [Options.Proxied].
func (k *Kafka) Proxy(nodeID int) *Proxy { return k.nodes[nodeID-1].proxy }

// Proxies are those of all nodes: see [Kafka.Proxy].
func (k *Kafka) Proxies() []*Proxy {
	all := make([]*Proxy, len(k.nodes))
	for i, n := range k.nodes {
		all[i] = n.proxy
	}
	return all
}

// node is a node that may be away: without a quorum node 1 is the only controller and must stay.
func (k *Kafka) node(t testing.TB, nodeID int) *node {
	t.Helper()
	first := 2
	if k.opts.Quorum {
		first = 1
	}
	if nodeID < first || nodeID > len(k.nodes) {
		t.Fatalf("node %d cannot be away: the cluster has nodes %d to %d for that", nodeID, first, len(k.nodes))
	}
	return k.nodes[nodeID-1]
}

// StopNode stops one node in good order: its partitions with no other replica have no leader until [Kafka.Restart].
func (k *Kafka) StopNode(t testing.TB, nodeID int) {
	t.Helper()
	k.node(t, nodeID).stop(syscall.SIGTERM, 20*time.Second)
}

// KillNode ends one node as a power cut would. Connecting to it is refused until [Kafka.Restart].
func (k *Kafka) KillNode(t testing.TB, nodeID int) {
	t.Helper()
	n := k.node(t, nodeID)
	n.stop(syscall.SIGKILL, 10*time.Second)
	if n.proxy != nil {
		n.proxy.Refuse()
	}
}

// FreezeNode stops a node's process without ending it (SIGSTOP): it accepts connections and never answers. The others fence it
// after broker.session.timeout.ms, 4 s here.
func (k *Kafka) FreezeNode(t testing.TB, nodeID int) {
	t.Helper()
	if err := k.node(t, nodeID).proc.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// thawNode lets a frozen node go on.
func (k *Kafka) thawNode(t testing.TB, nodeID int) {
	t.Helper()
	if err := k.node(t, nodeID).proc.signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// Heal makes a cluster whole again: frozen nodes go on, stopped ones start, proxies forward without a delay; it waits until all
// nodes answer and every partition is led and in sync.
func (k *Kafka) Heal(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startTimeout) // also called from a cleanup, when the test's context is over
	defer cancel()
	for _, n := range k.nodes {
		if n.proxy != nil {
			n.proxy.Delay(0, 0)
			if err := n.proxy.Resume(); err != nil {
				t.Fatal(err)
			}
		}
		if n.proc == nil {
			if err := k.launch(n); err != nil {
				t.Fatal(err)
			}
			continue
		}
		_ = n.proc.signal(syscall.SIGCONT)
	}
	if err := k.wait(ctx); err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs()...), kgo.DisableClientMetrics(), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for !inSync(ctx, cl) {
		select {
		case <-ctx.Done():
			t.Fatal("the cluster did not become whole: a partition has no leader, or a replica that does not catch up")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// inSync says that every partition has a leader and all of its replicas follow.
func inSync(ctx context.Context, cl *kgo.Client) bool {
	topics, err := kadm.NewClient(cl).ListTopicsWithInternal(ctx)
	if err != nil {
		return false
	}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if p.Err != nil || p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
				return false
			}
		}
	}
	return true
}

// Leader is the node that leads a partition, -1 where none does.
func Leader(t testing.TB, cl *kgo.Client, topic string, partition int32) int {
	t.Helper()
	tp, ok := topicMetadata(t, cl, topic)
	if !ok {
		return -1
	}
	for _, p := range tp.Partitions {
		if p.Partition == partition && p.ErrorCode == 0 {
			return int(p.Leader)
		}
	}
	return -1
}

// Replicas puts a partition on these nodes, the first of them its leader, and waits until it is so: a reassignment, and a leader
// election where the leader is another one.
func Replicas(t testing.TB, cl *kgo.Client, topic string, partition int32, nodes ...int32) {
	t.Helper()
	adm := kadm.NewClient(cl)
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(topic, partition, nodes)
	resp, err := adm.AlterPartitionAssignments(t.Context(), req)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		t.Fatalf("put %s:%d on nodes %v: %v", topic, partition, nodes, err)
	}
	Until(t, "the partition is on its new nodes and the first leads it", func() bool {
		tp, _ := topicMetadata(t, cl, topic)
		i := slices.IndexFunc(tp.Partitions, func(p kmsg.MetadataResponseTopicPartition) bool { return p.Partition == partition })
		if i < 0 || !slices.Equal(tp.Partitions[i].Replicas, nodes) || len(tp.Partitions[i].ISR) != len(nodes) {
			return false
		}
		if tp.Partitions[i].Leader == nodes[0] {
			return true
		}
		set := kadm.TopicsSet{}
		set.Add(topic, partition)
		_, _ = adm.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, set) // the next look tells
		return false
	})
}

// offsetsPartition is the partition of __consumer_offsets that holds a group, whose leader is the group's coordinator
// (Kafka's GroupCoordinatorService.partitionFor: the absolute value of the name's Java hash code, modulo the partitions).
func offsetsPartition(group string, partitions int32) int32 {
	var h int32
	for _, c := range utf16.Encode([]rune(group)) {
		h = 31*h + int32(c)
	}
	if h == math.MinInt32 {
		return 0
	}
	return max(h, -h) % partitions
}

// GroupOn is a group's name, with the prefix, that lies on a partition of an offsets topic of so many.
func GroupOn(prefix string, partition, partitions int32) string {
	for i := 0; ; i++ {
		if name := prefix + itoa(i); offsetsPartition(name, partitions) == partition {
			return name
		}
	}
}
