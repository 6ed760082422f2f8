package kafkatest

import (
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestFixturesOnFake(t *testing.T) {
	_, cl := FakeClient(t)
	checkFixtures(t, cl)
}

// checkFixtures holds on every cluster: the numbers were measured on Apache Kafka 4.3.1.
func checkFixtures(t *testing.T, cl *kgo.Client) {
	t.Run("F1", func(t *testing.T) {
		f := F1(t, cl, "f1.")
		want := []PartitionBounds{{4, 10, 10}, {0, 10, 10}, {0, 10, 10}}
		if got := Bounds(t, cl, f.Topic); !slices.Equal(got, want) {
			t.Errorf("bounds %v, want %v", got, want)
		}
		for _, l := range listOffsets(t, cl, f.Topic, 3, F1Start+500, 0) {
			if l.Offset != 5 || l.TimestampMs != F1Start+500 {
				t.Errorf("half a second in: %+v, want offset 5 at its own time", l)
			}
		}
		for _, g := range []string{f.App, f.App2} {
			want := map[int32]Committed{
				0: {f.Topic, 0, 6, 0, "ckpt=17"},
				1: {f.Topic, 1, 7, 0, "ckpt=17"},
			}
			got := Commits(t, cl, g)
			if len(got) != 1 || !maps.Equal(got[f.Topic], want) {
				t.Errorf("commits of %s: %v, want %v", g, got, want)
			}
		}
	})
	t.Run("F2", func(t *testing.T) {
		topic := F2(t, cl, "f2.")
		want := []PartitionBounds{{0, 5, 5}, {0, 1, 1}, {0, 0, 0}}
		if got := Bounds(t, cl, topic); !slices.Equal(got, want) {
			t.Errorf("bounds %v, want %v", got, want)
		}
		offsets := func(ms int64) (os []int64) {
			for _, l := range listOffsets(t, cl, topic, 3, ms, 0) {
				os = append(os, l.Offset)
			}
			return os
		}
		for ms, want := range map[int64][]int64{1: {0, 0, -1}, 1001: {1, -1, -1}, 5001: {3, -1, -1}, 6001: {-1, -1, -1}} {
			if got := offsets(ms); !slices.Equal(got, want) {
				t.Errorf("at %d ms: offsets %v, want %v", ms, got, want)
			}
		}
	})
	t.Run("F3", func(t *testing.T) {
		f := NewF3(t, cl, "f3.")
		check := func(step string, end, stable int64) {
			t.Helper()
			if got := Bounds(t, cl, f.Topic)[0]; got != (PartitionBounds{0, stable, end}) {
				t.Errorf("%s: end/stable %d/%d, want %d/%d", step, got.End, got.LastStable, end, stable)
			}
		}
		f.CommitThree()
		check("three committed", 4, 4)
		f.AbortTwo()
		check("two aborted", 7, 7)
		f.OpenFour()
		check("four open", 11, 7)
		f.End(true)
		check("the four committed", 12, 12)
	})
	t.Run("raw commits", func(t *testing.T) {
		topic := "raw.t"
		CreateTopic(t, cl, topic, 3)
		Commit(t, cl, "raw.g", At(topic, 0, -5), Committed{topic, 1, 99999, 42, "far"}, At(topic, 2, -1))
		got := Commits(t, cl, "raw.g")[topic]
		want := map[int32]Committed{0: {topic, 0, -5, -1, ""}, 1: {topic, 1, 99999, 42, "far"}}
		if !maps.Equal(got, want) {
			t.Errorf("commits %v, want %v", got, want)
		}
		errs := TryCommit(t, cl, "raw.g", At("raw.nope", 0, 1), At(topic, 0, 3))
		if errs[0] != kerr.UnknownTopicOrPartition && errs[0] != kerr.UnknownTopicID {
			t.Errorf("commit on an unknown topic: %v", errs[0])
		}
		if errs[1] != nil || CommittedOffsets(t, cl, "raw.g", topic)[0] != 3 {
			t.Errorf("commit beside it: %v, stored %v", errs[1], CommittedOffsets(t, cl, "raw.g", topic))
		}
		if got := Commits(t, cl, "raw.nobody"); len(got) != 0 {
			t.Errorf("commits of a group that never was: %v", got)
		}
	})
	t.Run("pending commit", func(t *testing.T) {
		topic := "pend.t"
		CreateTopic(t, cl, topic, 1)
		Commit(t, cl, "pend.g", At(topic, 0, 0))
		end := PendingCommit(t, cl, "pend.txn", "pend.g", At(topic, 0, 7))
		if got := CommittedOffsets(t, cl, "pend.g", topic)[0]; got != 0 {
			t.Errorf("while pending: %d, want the old 0", got)
		}
		end(true)
		Until(t, "the pending commit is visible", func() bool {
			return CommittedOffsets(t, cl, "pend.g", topic)[0] == 7
		})
	})
	t.Run("delete topic", func(t *testing.T) {
		CreateTopic(t, cl, "gone.t", 2, "cleanup.policy", "compact")
		DeleteTopic(t, cl, "gone.t")
		CreateTopic(t, cl, "gone.t", 1)
		if got := len(Bounds(t, cl, "gone.t")); got != 1 {
			t.Errorf("recreated with %d partitions, want 1", got)
		}
	})
}
