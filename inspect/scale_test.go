package inspect_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// Thousands of groups must not mean thousands of requests, nor the same topic's bounds once a group.
func TestRequestsForManyGroups(t *testing.T) {
	const groups, topics, partitions, brokers = 600, 3, 4, 3
	fake, cl := kafkatest.FakeClient(t, kfake.NumBrokers(brokers))
	var records []*kgo.Record
	for i := range topics {
		topic := fmt.Sprintf("t%d", i)
		kafkatest.CreateTopic(t, cl, topic, partitions)
		for p := range int32(partitions) {
			// Left to chance, every leader is on two of the brokers once in 43 runs, and the third is never asked.
			if err := fake.MoveTopicPartition(topic, p, p%brokers); err != nil {
				t.Fatal(err)
			}
			records = append(records, kafkatest.Records(topic, p, 20, kafkatest.F1Start, 1)...)
		}
	}
	kafkatest.Produce(t, cl, records...)
	var wg sync.WaitGroup
	names := make(chan int, groups)
	for i := range groups {
		names <- i
	}
	close(names)
	want := int64(0)
	for range 8 {
		wg.Go(func() {
			for i := range names {
				var cs []kafkatest.Committed
				for tp := range topics {
					for p := range int32(partitions) {
						cs = append(cs, kafkatest.At(fmt.Sprintf("t%d", tp), p, int64((i+tp+int(p))%21)))
					}
				}
				kafkatest.Commit(t, cl, fmt.Sprintf("g%04d", i), cs...)
			}
		})
	}
	wg.Wait()
	for i := range groups {
		for tp := range topics {
			for p := range partitions {
				want += int64(20 - (i+tp+p)%21)
			}
		}
	}

	keys := []kmsg.Key{kmsg.ListGroups, kmsg.FindCoordinator, kmsg.DescribeGroups, kmsg.OffsetFetch, kmsg.Metadata, kmsg.ListOffsets, kmsg.Fetch}
	read := func(gs []inspect.Group) (*inspect.Snapshot, map[kmsg.Key]int) {
		seen, n := map[kmsg.Key]*kfake.FaultHandle{}, map[kmsg.Key]int{}
		for _, k := range keys {
			seen[k] = countRequests(fake, k)
		}
		s := snapshot(t, kafkatest.Client(t, fake.ListenAddrs()), inspect.Query{Groups: gs})
		for k, h := range seen {
			n[k] = h.Hits()
			h.Remove()
		}
		return s, n
	}
	all := listGroups(t, cl)
	if len(all) != groups {
		t.Fatalf("%d groups are listed", len(all))
	}
	s, many := read(all)
	rows, lag := 0, int64(0)
	for _, d := range s.Groups {
		for r := range s.Rows(d) {
			rows++
			lag += *r.Lag
		}
	}
	if rows != groups*topics*partitions || lag != want {
		t.Errorf("%d rows with a lag of %d, want %d and %d", rows, lag, groups*topics*partitions, want)
	}
	five, few := read(all[:5])
	if len(five.Groups) != 5 {
		t.Errorf("%d groups", len(five.Groups))
	}
	t.Logf("%d groups: %v; 5 groups: %v", groups, many, few)
	for k, most := range map[kmsg.Key]int{kmsg.OffsetFetch: groups/50 + brokers, kmsg.DescribeGroups: groups/200 + brokers, kmsg.FindCoordinator: 6, kmsg.Metadata: 8, kmsg.Fetch: 0} {
		if many[k] > most {
			t.Errorf("%d %s requests for %d groups, want at most %d", many[k], k.Name(), groups, most)
		}
	}
	if few[kmsg.OffsetFetch] > brokers || few[kmsg.DescribeGroups] > brokers {
		t.Errorf("5 groups: %v", few)
	}
	// Three questions to each broker, however many groups commit to the topics.
	if many[kmsg.ListOffsets] != few[kmsg.ListOffsets] || many[kmsg.ListOffsets] != 3*brokers {
		t.Errorf("%d ListOffsets for %d groups, %d for 5; want %d", many[kmsg.ListOffsets], groups, few[kmsg.ListOffsets], 3*brokers)
	}
}

// C42: one record a partition, its time the partition's number.
func TestRequestsForManyPartitions(t *testing.T) {
	const n, brokers = 2000, 3
	fake, cl := kafkatest.FakeClient(t, kfake.NumBrokers(brokers))
	kafkatest.CreateTopic(t, cl, "wide", n)
	var records []*kgo.Record
	var parts []offset.Partition
	for p := range int32(n) {
		records = append(records, kafkatest.Record("wide", p, kafkatest.F1Start+int64(p), "x"))
		parts = append(parts, partitionOf("wide", p))
	}
	kafkatest.Produce(t, cl, records...)
	sent := countRequests(fake, kmsg.ListOffsets)
	facts, err := inspect.Gather(t.Context(), cl, inspect.GatherQuery{Parts: parts,
		Position: offset.Position{Kind: offset.AtTime, At: instant(kafkatest.F1Start + 1000)}})
	if err != nil {
		t.Fatal(err)
	}
	// Three questions for the bounds and one for the time, to each leader.
	if sent.Hits() > 4*brokers {
		t.Errorf("%d ListOffsets, want at most %d", sent.Hits(), 4*brokers)
	}
	for i, p := range facts.Partitions() {
		if p.Partition != int32(i) {
			t.Fatalf("partition %d stands at place %d: the order is not by number", p.Partition, i)
		}
		one := facts.Of(p)
		switch {
		case one.Err != nil:
			t.Fatalf("%s: %v", p, one.Err)
		case i < 1000 && one.Found != nil, i >= 1000 && (one.Found == nil || one.Found.Offset != 0 || one.Found.Time.UnixMilli() != kafkatest.F1Start+int64(i)):
			t.Errorf("%s: found %+v", p, one.Found)
		}
	}
}
