package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func TestReadRecords(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	opts := []kgo.Opt{kgo.SeedBrokers(fake.ListenAddrs()...), kgo.DisableClientMetrics()}
	read := func(iso offset.Isolation, from, until map[offset.Partition]int64, limit int) map[offset.Partition]string {
		t.Helper()
		got, n := map[offset.Partition]string{}, map[offset.Partition]int{}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := inspect.ReadRecords(ctx, opts, iso, from, until, func(r *kgo.Record) bool {
			p := partitionOf(r.Topic, r.Partition)
			got[p] += fmt.Sprintf("%d ", r.Offset)
			n[p]++
			return n[p] < limit
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	p0, p1, p2 := partitionOf(f.Topic, 0), partitionOf(f.Topic, 1), partitionOf(f.Topic, 2)
	got := read(offset.ReadUncommitted, map[offset.Partition]int64{p0: 4, p1: 8, p2: 5}, map[offset.Partition]int64{p0: 7, p1: 10, p2: 5}, 100)
	if got[p0] != "4 5 6 " || got[p1] != "8 9 " || got[p2] != "" {
		t.Errorf("%v", got)
	}
	got = read(offset.ReadUncommitted, map[offset.Partition]int64{p0: 4, p1: 0}, map[offset.Partition]int64{p0: 10, p1: 10}, 1)
	if got[p0] != "4 " || got[p1] != "0 " {
		t.Errorf("one a partition: %v", got)
	}

	// Markers and aborted records take offsets and are not handed out; the read still ends where they end.
	tx := kafkatest.OpenF3(t, cl, "")
	x := partitionOf(tx.Topic, 0)
	if got := read(offset.ReadCommitted, map[offset.Partition]int64{x: 0}, map[offset.Partition]int64{x: 7}, 100); got[x] != "0 1 2 " {
		t.Errorf("committed: %v", got)
	}
	if got := read(offset.ReadUncommitted, map[offset.Partition]int64{x: 0}, map[offset.Partition]int64{x: 11}, 100); got[x] != "0 1 2 4 5 7 8 9 10 " {
		t.Errorf("uncommitted: %v", got)
	}
}

// An offset that is gone is an error: kgo would go back to the log start by itself, and show other records than were asked for.
func TestReadRecordsThatAreGone(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p := partitionOf(f.Topic, 0)
	err := inspect.ReadRecords(ctx, []kgo.Opt{kgo.SeedBrokers(fake.ListenAddrs()...)}, offset.ReadUncommitted,
		map[offset.Partition]int64{p: 1}, map[offset.Partition]int64{p: 7}, func(r *kgo.Record) bool {
			t.Errorf("record %d was handed out", r.Offset)
			return true
		})
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestReadRecordsStopsWithItsContext(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 1)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	p := partitionOf("t", 0)
	err := inspect.ReadRecords(ctx, []kgo.Opt{kgo.SeedBrokers(fake.ListenAddrs()...)}, offset.ReadUncommitted,
		map[offset.Partition]int64{p: 0}, map[offset.Partition]int64{p: 3}, func(*kgo.Record) bool { return true })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
