//go:build realkafka

package kafkatest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var shared Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

func TestFixturesOnKafka(t *testing.T) {
	checkFixtures(t, shared.Kafka(t).Client(t))
}

func TestMembersOnKafka(t *testing.T) {
	cl := shared.Kafka(t).Client(t)
	checkMembers(t, cl)
	t.Run("streams", func(t *testing.T) {
		CreateTopic(t, cl, "members.streams.t", 2)
		m := JoinStreams(t, cl, "members.streams", "app-1", "members.streams.t")
		adm := kadm.NewClient(cl)
		groups, err := adm.ListGroupsByType(t.Context(), []string{"streams"})
		if err != nil || groups["members.streams"].State != "Stable" {
			t.Fatalf("listed as %+v, %v", groups, err)
		}
		m.Close()
		Until(t, "the streams group is empty", func() bool {
			groups, err := adm.ListGroupsByType(t.Context(), []string{"streams"})
			return err == nil && groups["members.streams"].State == "Empty"
		})
	})
}

func TestRestartKeepsData(t *testing.T) {
	k := Start(t, Options{})
	cl := k.Client(t)
	f := F1(t, cl, "")
	addr := k.Bootstrap()
	check := func(when string) {
		t.Helper()
		if got := Bounds(t, cl, f.Topic); got[0] != (PartitionBounds{4, 10, 10}) || got[1] != (PartitionBounds{0, 10, 10}) {
			t.Errorf("bounds after %s: %v", when, got)
		}
		if got := CommittedOffsets(t, cl, f.App, f.Topic); got[0] != 6 || got[1] != 7 {
			t.Errorf("commits after %s: %v", when, got)
		}
	}
	k.Stop()
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Errorf("%s still accepts after a stop", addr)
	}
	k.Restart(t)
	if k.Bootstrap() != addr {
		t.Errorf("restarted on %s, was %s", k.Bootstrap(), addr)
	}
	check("a stop")
	k.Kill()
	k.Restart(t)
	check("a kill")
}

// A partition whose only replica is on a stopped node has no leader; the others go on.
func TestNodeStopLeavesPartitionWithoutLeader(t *testing.T) {
	k := Start(t, Options{Nodes: 2})
	cl := k.Client(t, kgo.MetadataMinAge(50*time.Millisecond))
	CreateTopicOn(t, cl, "split", 1, 2)
	Produce(t, cl, append(Records("split", 0, 3, 1000, 1), Records("split", 1, 3, 1000, 1)...)...)
	leaders := func() (ls []int32) {
		topics, err := kadm.NewClient(cl).ListTopics(t.Context(), "split")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range topics["split"].Partitions.Sorted() {
			ls = append(ls, p.Leader)
		}
		return ls
	}
	if got := leaders(); !slices.Equal(got, []int32{1, 2}) {
		t.Fatalf("leaders %v, want 1 and 2", got)
	}
	k.StopNode(t, 2)
	Until(t, "partition 1 has no leader", func() bool { return slices.Equal(leaders(), []int32{1, -1}) })
	Commit(t, cl, "still", At("split", 0, 1))
	k.Restart(t)
	WaitLeaders(t, cl, "split", 2)
	if got := Bounds(t, cl, "split")[1].End; got != 3 {
		t.Errorf("partition 1 ends at %d after the restart, want 3", got)
	}
}

func TestTwoClusters(t *testing.T) {
	a, b := shared.Kafka(t), shared.Second(t)
	if a.ID == b.ID {
		t.Errorf("both clusters have the id %s", a.ID)
	}
	for _, k := range []*Kafka{a, b} {
		meta, err := kadm.NewClient(k.Client(t)).BrokerMetadata(t.Context())
		if err != nil || meta.Cluster != k.ID {
			t.Errorf("cluster id %q, %v; want %q", meta.Cluster, err, k.ID)
		}
	}
}

// What a test process leaves behind when it is killed: nothing. The child is this test binary, which starts a broker, says where, and waits.
func TestBrokerDiesWithTheTestProcess(t *testing.T) {
	const marker = "KAFKATEST_CHILD"
	if os.Getenv(marker) != "" {
		k, err := StartKafka(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\n%s %s %s\n", marker, k.Bootstrap(), k.dir)
		<-t.Context().Done() // until it is killed
	}
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.timeout", "5m")
	child.Env = append(os.Environ(), marker+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var addr, dir string
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), marker+" %s %s", &addr, &dir)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if dir == "" {
		t.Fatal("the child started no broker")
	}
	Until(t, "the broker is gone with its data", func() bool {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return false
		}
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
}
