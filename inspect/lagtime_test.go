package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func TestReadLagTimes(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	ts := kafkatest.F2(t, cl, "lag-")
	kafkatest.DeleteRecords(t, cl, ts, 0, 1)
	kafkatest.Commit(t, cl, "g", kafkatest.At(ts, 0, 0), kafkatest.At(ts, 1, 1), kafkatest.At(ts, 2, 7))
	kafkatest.Commit(t, cl, "h", kafkatest.At(ts, 0, 4), kafkatest.At(ts, 1, 0))
	snap, err := inspect.Read(t.Context(), cl, inspect.Query{Groups: []inspect.Group{{Name: "g"}, {Name: "h"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := inspect.ReadLagTimes(t.Context(), cl, snap)
	now := time.UnixMilli(10_000)
	for _, tc := range []struct {
		group     string
		partition int32
		now, head time.Duration
		ok        bool
	}{
		// The commit 0 expired: the next record is 1, of 5000; the newest is of 6000.
		{"g", 0, 5 * time.Second, time.Second, true},
		{"g", 1, 0, 0, true},
		{"g", 2, 0, 0, false}, // past the end: no lag of any kind
		{"h", 0, 7 * time.Second, 3 * time.Second, true},
		{"h", 1, 9 * time.Second, 0, true},
	} {
		l, ok := got[inspect.GroupPartition{Group: tc.group, Partition: offset.Partition{Topic: ts, Partition: tc.partition}}]
		if ok != tc.ok {
			t.Errorf("%s %d: in the result %v", tc.group, tc.partition, ok)
			continue
		}
		if !ok {
			continue
		}
		n := l.BehindNow(now)
		h, ok := l.BehindHead(now)
		if n.D != tc.now || h != tc.head || !n.Known || !ok || l.Err != nil {
			t.Errorf("%s %d: behind now %+v, head %s %v, %v; want %s, %s", tc.group, tc.partition, n, h, ok, l.Err, tc.now, tc.head)
		}
	}
}

func TestTimedLagUnknown(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	past, ahead := &offset.Record{Offset: 3, Time: now.Add(-time.Hour)}, &offset.Record{Offset: 9, Time: now.AddDate(1, 0, 0)}
	for _, tc := range []struct {
		lag  inspect.TimedLag
		why  inspect.AgeReason
		head bool
	}{
		{inspect.TimedLag{Err: errors.New("x")}, inspect.AgeFailed, false},
		{inspect.TimedLag{Err: kerr.TopicAuthorizationFailed}, inspect.AgeDenied, false},
		{inspect.TimedLag{Next: &offset.Record{Offset: 3}, Head: past}, inspect.AgeNoTimestamp, false},
		{inspect.TimedLag{Next: ahead, Head: past}, inspect.AgeFuture, false},
		{inspect.TimedLag{Next: past, Head: ahead}, "", false},
		{inspect.TimedLag{Next: past, Head: past}, "", true},
	} {
		if got := tc.lag.BehindNow(now); got.Unknown != tc.why || got.Known != (tc.why == "") {
			t.Errorf("%+v: %+v, want %q", tc.lag, got, tc.why)
		}
		if _, ok := tc.lag.BehindHead(now); ok != tc.head {
			t.Errorf("%+v: behind its head %v", tc.lag, ok)
		}
	}
}
