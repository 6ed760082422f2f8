package inspect_test

import (
	"errors"
	"testing"
	"time"

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
		n, ok1 := l.BehindNow(now)
		h, ok2 := l.BehindHead()
		if n != tc.now || h != tc.head || !ok1 || !ok2 || l.Err != nil {
			t.Errorf("%s %d: behind now %s %v, head %s %v, %v; want %s, %s", tc.group, tc.partition, n, ok1, h, ok2, l.Err, tc.now, tc.head)
		}
	}
}

func TestTimedLagUnknown(t *testing.T) {
	for _, l := range []inspect.TimedLag{{Err: errors.New("x")}, {Next: &offset.Record{Offset: 3}}} {
		if _, ok := l.BehindNow(time.Now()); ok {
			t.Errorf("%+v has an age", l)
		}
		if _, ok := l.BehindHead(); ok {
			t.Errorf("%+v is behind its head", l)
		}
	}
}
