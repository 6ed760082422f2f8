package inspect_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func TestGather(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	commits, err := inspect.ReadCommitsOf(t.Context(), cl, f.App)
	if err != nil {
		t.Fatal(err)
	}
	parts := []offset.Partition{partitionOf(f.Topic, 0), partitionOf(f.Topic, 2), partitionOf(f.Topic, 9), partitionOf("gone", 0)}
	pos := offset.Position{Kind: offset.ByPartition, Map: map[offset.Partition]offset.Position{
		parts[0]: {Kind: offset.AtTime, At: instant(kafkatest.F1Start + 450)}, parts[1]: {Kind: offset.MaxTimestamp}}}
	sent := countRequests(fake, kmsg.ListOffsets)
	facts, err := inspect.Gather(t.Context(), cl, inspect.GatherQuery{Parts: parts, Position: pos, Commits: &commits,
		Saved: &offset.Saved{Offsets: map[offset.Partition]offset.Foreign{parts[1]: {Marker: offset.MarkerLatest}}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(facts.Partitions()); n != 4 {
		t.Errorf("facts about %d partitions, want 4", n)
	}
	zero, two := facts.Of(parts[0]), facts.Of(parts[1])
	if zero.Err != nil || *zero.Bounds != (offset.Bounds{Start: 4, End: 10, LastStable: 10}) || zero.Committed.Offset != 6 || zero.Found.Offset != 5 || zero.Max != nil || zero.Foreign != nil {
		t.Errorf("%s: %+v", parts[0], zero)
	}
	if two.Err != nil || two.Committed != nil || two.Found != nil || two.Max.Offset != 9 || two.Foreign.Marker != offset.MarkerLatest {
		t.Errorf("%s: %+v", parts[1], two)
	}
	for _, p := range parts[2:] {
		if one := facts.Of(p); !errors.Is(one.Err, kerr.UnknownTopicOrPartition) {
			t.Errorf("%s: %+v", p, one)
		}
	}
	if one := facts.Of(partitionOf("never", 1)); one.Err == nil {
		t.Error("a partition that was not asked about has no error")
	}
	// Three for the bounds, one for the time, one for the largest time.
	if sent.Hits() != 5 {
		t.Errorf("%d ListOffsets, want 5", sent.Hits())
	}
}

// A record that lands between the two questions must be found by its time, and not be skipped as "after the end".
func TestGatherReadsTheEndBeforeTheTime(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("t", 0, 3, 1000, 1)...)
	var order []string
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		kind := "time"
		if r.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp < 0 {
			kind = "bounds"
		}
		order = append(order, kind) // on the cluster's one goroutine
		return true
	}})
	facts, err := inspect.Gather(t.Context(), cl, inspect.GatherQuery{Parts: []offset.Partition{partitionOf("t", 0)},
		Position: offset.Position{Kind: offset.AtTime, At: instant(2000)}})
	if err != nil || facts.Of(partitionOf("t", 0)).Found != nil {
		t.Fatal(err)
	}
	if i := slices.Index(order, "time"); i < 3 || slices.Contains(order[i:], "bounds") {
		t.Errorf("the questions were asked in the order %v", order)
	}
}

// One partition whose look-up fails is its own error.
func TestGatherErrorsArePerPartition(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: f.Topic, Partitions: []int32{1}, Err: kerr.OffsetNotAvailable, Count: -1,
		When: func(r kmsg.Request) bool {
			return r.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp >= 0
		}})
	facts, err := inspect.Gather(t.Context(), cl, inspect.GatherQuery{
		Parts:    []offset.Partition{partitionOf(f.Topic, 0), partitionOf(f.Topic, 1)},
		Position: offset.Position{Kind: offset.AtTime, At: instant(kafkatest.F1Start)}})
	if err != nil {
		t.Fatal(err)
	}
	if one := facts.Of(partitionOf(f.Topic, 0)); one.Err != nil || one.Found.Offset != 4 {
		t.Errorf("%+v", one)
	}
	if one := facts.Of(partitionOf(f.Topic, 1)); !errors.Is(one.Err, kerr.OffsetNotAvailable) || one.Found != nil {
		t.Errorf("%+v", one)
	}
}
