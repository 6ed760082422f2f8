package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/offset"
)

// The hashes are those of a Java machine.
func TestPartitionOf(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]int32{"": 0, "a": 47, "hello": 22, "billing": 9, "orders-consumer": 40, "gr\u00fcn": 49, "\U0001F600": 49, "g\U0001F600\U0001D11E": 46,
		"polygenelubricants": 0, "\u65e5\u672c": 47} {
		if got := history.PartitionOf(group, 50); got != want {
			t.Errorf("%q is on %d, want %d", group, got, want)
		}
	}
	if got := history.PartitionOf("hello", 7); got != 99162322%7 {
		t.Errorf("of 7 partitions: %d", got)
	}
}

var orders = offset.Partition{Topic: "orders", Partition: 3}

// at is the moment of a step.
func at(n int) time.Time {
	return time.UnixMilli(1_700_000_000_000).Add(time.Duration(n) * time.Minute)
}

// life feeds records one by one, a minute apart, and writes down the events.
type life struct {
	r      *history.Replay
	next   int
	events []string
}

func newLife(o history.Options) *life {
	l := &life{}
	l.r = history.NewReplay(o, func(e *history.Event) { l.events = append(l.events, describe(e)) })
	l.next = int(o.From)
	return l
}

func describe(e *history.Event) string {
	s := fmt.Sprintf("%d %s", int(e.At.Sub(at(0)).Minutes()), e.Kind)
	if e.Topic != "" {
		s += " " + e.Partition.String()
	}
	if e.Commit != nil {
		s += fmt.Sprintf(" %d/%s/%s", e.Commit.Offset, e.Commit.LeaderEpoch, e.Commit.Metadata)
	}
	if e.Delta != nil {
		s += fmt.Sprintf(" %+d", *e.Delta)
	}
	if e.Mark != "" {
		s += " " + string(e.Mark)
	}
	if e.Cause != "" {
		s += " " + string(e.Cause)
	}
	if l := e.Life; l != nil && (e.Kind == history.Members || e.Kind == history.GroupDeleted) {
		s += fmt.Sprintf(" %s/%d %v", l.Type, l.Generation, l.Members)
		if l.AtLeast {
			s += " or more"
		}
	}
	return s
}

func (l *life) add(key, value []byte) {
	l.r.Record(&history.Raw{Offset: int64(l.next), Time: at(l.next), Key: key, Value: value, Producer: -1})
	l.next++
}

func (l *life) txn(producer int64, key, value []byte) {
	l.r.Record(&history.Raw{Offset: int64(l.next), Time: at(l.next), Key: key, Value: value, Transaction: true, Producer: producer})
	l.next++
}

func (l *life) marker(producer int64, commit bool) {
	l.r.Marker(history.Marker{Offset: int64(l.next), Time: at(l.next), Producer: producer, Commit: commit})
	l.next++
}

func (l *life) want(t *testing.T, want ...string) {
	t.Helper()
	l.r.Finish(int64(l.next))
	if !slices.Equal(l.events, want) {
		t.Errorf("events:\n%s\nwant:\n%s", strings.Join(l.events, "\n"), strings.Join(want, "\n"))
	}
}

func val(n int64) []byte {
	return commitValue(3, offset.Committed{Offset: n, LeaderEpoch: offset.EpochOf(-1)}, [16]byte{})
}

func TestCommits(t *testing.T) {
	t.Parallel()
	l := newLife(history.Options{Groups: []string{"g", "h"}, Retention: 5 * time.Minute})
	k := commitKey("g", orders)
	l.add(k, commitValue(0, offset.Committed{Offset: 10, Metadata: "m"}, [16]byte{}))
	l.add(commitKey("other", orders), val(1))
	l.add(k, commitValue(4, offset.Committed{Offset: 12, LeaderEpoch: offset.EpochOf(0)}, [16]byte{1}))
	l.add(k, commitValue(4, offset.Committed{Offset: 7, LeaderEpoch: offset.EpochOf(2)}, [16]byte{1}))
	l.add(k, commitValue(4, offset.Committed{Offset: 1}, [16]byte{2}))
	l.add(k, nil)
	l.add(k, val(3))
	l.next += 10
	l.add(k, nil)
	l.add(commitKey("h", orders), nil)
	l.want(t, "0 commit orders:3 10/-/m", "2 commit orders:3 12/0/ +2", "3 commit orders:3 7/2/ -5 rewind", "4 commit orders:3 1/-/ new-topic",
		"5 deleted orders:3 1/-/ not-expired", "6 commit orders:3 3/-/", "17 deleted orders:3 3/-/ old-enough", "18 deleted orders:3")
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	l := newLife(history.Options{})
	k, k2 := commitKey("g", orders), commitKey("g", offset.Partition{Topic: "orders"})
	l.txn(1, k, val(10)) // 0
	l.txn(1, k, val(11))
	l.txn(1, k2, val(5))
	l.txn(2, k2, val(6))
	l.add(k2, val(4))    // 4: after both, so theirs never count
	l.marker(1, true)    // 5
	l.marker(2, false)   // 6
	l.txn(1, k, val(12)) // 7
	l.txn(3, k, val(13)) // 8
	l.add(k, nil)        // 9: takes both with it
	l.marker(1, true)    // 10
	l.txn(1, k, val(14)) // 11
	l.marker(9, true)    // 12: its commits are not there
	l.want(t, "4 commit orders:0 4/-/", "5 superseded orders:3 10/-/", "5 transactional orders:3 11/-/", "5 superseded orders:0 5/-/", "6 aborted orders:0 6/-/",
		"9 superseded orders:3 12/-/", "9 superseded orders:3 13/-/", "9 deleted orders:3 11/-/", "11 pending orders:3 14/-/")
	if c := l.r.Counts(); c.Orphans != 1 || c.Records != 9 {
		t.Errorf("%+v", c)
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	l := newLife(history.Options{})
	k := commitKey("g", orders)
	l.add(classicKey("g"), classicValue(1, "c1", "c2"))
	l.add(classicKey("g"), classicValue(1, "c1", "c2")) // nothing changed
	l.add(k, val(10))
	l.add(classicKey("g"), classicValue(2))
	l.add(k, val(20)) // nobody was there who could have read ten records
	l.add(k, nil)
	l.add(classicKey("g"), nil)
	l.add(key(3, "g"), epochValue(1))
	l.add(key(5, "g", "m1"), memberValue("", "app", "/10.0.0.1"))
	l.add(key(5, "g", "m2"), memberValue("static-1", "app", "/10.0.0.2"))
	l.add(key(8, "g", "m2"), []byte{0, 0})
	l.add(key(5, "g", "m1"), nil)
	l.add(key(3, "g"), nil)
	l.add(key(11, "s"), epochValue(4))
	l.add(key(10, "s", "m"), shareMemberValue("app", "/10.0.0.3"))
	l.add(key(17, "st"), epochValue(7))
	l.add(key(19, "st", "m"), memberValue("", "streams", "/10.0.0.4"))
	l.want(t, "0 members classic/1 [c1@10.0.0.7 c2@10.0.0.7]", "2 commit orders:3 10/-/", "3 members classic/2 []", "4 commit orders:3 20/-/ +10 skip",
		"5 deleted orders:3 20/-/", "6 group-deleted /2 []", "7 members consumer/1 []", "8 members consumer/1 [app@10.0.0.1]",
		"9 members consumer/1 [app@10.0.0.1 static-1@10.0.0.2]", "11 members consumer/1 [static-1@10.0.0.2]", "12 group-deleted /1 []",
		"13 members share/4 []", "14 members share/4 [app@10.0.0.3]", "15 members streams/7 []", "16 members streams/7 [streams@10.0.0.4]")
}

// A record that cannot be read is counted, and nothing after it is taken for less than it is.
func TestDamaged(t *testing.T) {
	t.Parallel()
	l := newLife(history.Options{})
	k := commitKey("g", orders)
	l.add(k, val(10))
	l.add(key(99, "g"), []byte{0, 0})
	l.add(k, []byte{0, 9, 0})
	l.add(k, val(12)[:9])
	l.add(k, val(13))
	l.add([]byte{0}, nil)
	l.add(key(1, "g"), val(1))
	l.add(key(5, "g", "m"), []byte{0, 0, 200})
	l.add(classicKey("g"), []byte{0, 3, 0, 1})
	l.want(t, "0 commit orders:3 10/-/", "2 unreadable orders:3", "3 unreadable orders:3", "4 commit orders:3 13/-/", "5 unreadable", "6 unreadable")
	c := l.r.Counts()
	if c.Records != 9 || c.Unknown != 1 || c.Damaged != 6 || c.Newer != 1 || c.FirstDamaged == nil || !strings.Contains(c.FirstDamaged.Error(), "at 2: its version is newer") {
		t.Errorf("%+v", c)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(commitKey("g", orders), val(10))
	f.Add(classicKey("g"), classicValue(1, "c1"))
	f.Add(key(5, "g", "m1"), memberValue("i", "app", "/10.0.0.1"))
	f.Add(key(10, "g", "m1"), shareMemberValue("app", "/10.0.0.1"))
	f.Add(key(11, "g"), epochValue(3))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		then := history.Then{At: at(0)}
		r := history.NewReplay(history.Options{}, then.Add)
		for i := range int64(2) {
			r.Record(&history.Raw{Offset: i, Time: at(0), Key: key, Value: value})
			r.Record(&history.Raw{Offset: i + 2, Time: at(0), Key: key, Value: value, Transaction: true})
		}
		r.Marker(history.Marker{Offset: 9, Commit: true})
		r.Finish(10)
	})
}
