package inspect

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// TimedLag is the exact lag in time of one commit: the records' own times, as their producer or the broker wrote them.
type TimedLag struct {
	// Next is the record that is read next; nil where nothing is left to read, though markers may lie before the end.
	Next *offset.Record
	// Head is the record with the largest time in the partition; nil where it is not known (brokers before 3.0).
	Head *offset.Record
	Err  error
}

// BehindNow is how old the next record is.
func (t TimedLag) BehindNow(now time.Time) LagTime {
	switch {
	case t.Err != nil:
		return UnknownAge(ageReasonOf(t.Err))
	case t.Next == nil:
		return NothingLeft()
	}
	return AgeOf(*t.Next, now)
}

// BehindHead is how much older the next record is than the newest. ok is false where either time is unknown, absent or in the
// future: a single record that is stamped a year ahead would put every reader a year behind.
func (t TimedLag) BehindHead(now time.Time) (d time.Duration, ok bool) {
	switch {
	case t.Err != nil:
		return 0, false
	case t.Next == nil:
		return 0, true
	case t.Head == nil || t.Next.TimeKind(now) != offset.TimePlausible || t.Head.TimeKind(now) != offset.TimePlausible:
		return 0, false
	}
	return max(0, t.Head.Time.Sub(t.Next.Time)), true
}

// ReadLagTimes reads the exact lag in time of every row that has a commit: one Fetch of a few records at the commits, and
// one ListOffsets for the newest records, at the same time. Rows at their end need neither. A commit below the log start
// counts from the log start, as the lag does.
func ReadLagTimes(ctx context.Context, cl *kgo.Client, s *Snapshot) map[GroupPartition]TimedLag {
	return readLagTimes(ctx, cl, s, nil, true)
}

// readLagTimes is ReadLagTimes for some of the rows, with or without the newest records.
func readLagTimes(ctx context.Context, cl *kgo.Client, s *Snapshot, want func(*Row) bool, head bool) map[GroupPartition]TimedLag {
	out := map[GroupPartition]TimedLag{}
	asks := map[GroupPartition]records.Span{}
	var list []records.Span
	heads := Partitions{}
	for _, d := range s.Groups {
		for r := range s.Rows(d) {
			from, ok := r.next()
			if !ok || want != nil && !want(&r) {
				continue
			}
			key := GroupPartition{r.Group, r.Partition}
			at := records.Span{Partition: r.Partition, From: from, Until: records.ToEnd}
			if at.From >= r.Bounds.EndFor(s.Query.Isolation) {
				out[key] = TimedLag{}
				continue
			}
			asks[key] = at
			list = append(list, at)
			heads.Add(r.Partition)
		}
	}
	if len(list) == 0 {
		return out
	}
	heads.Compact()
	var eg errgroup.Group
	var found map[records.Span]records.Answer
	var newest map[offset.Partition]Lookup
	eg.Go(func() error {
		found = records.Reader{Client: cl, Isolation: s.Query.Isolation, Leader: s.leader}.First(ctx, list)
		return nil
	})
	if head {
		eg.Go(func() error { newest = FindMax(ctx, cl, heads); return nil })
	}
	_ = eg.Wait() // every error was told per partition
	for key, at := range asks {
		l := found[at]
		t := TimedLag{Next: l.Record, Err: l.Err}
		if h := newest[key.Partition]; h.Record != nil && !h.Record.Time.IsZero() {
			t.Head = h.Record
		}
		out[key] = t
	}
	return out
}

// next is where the reader of a row goes on: the commit, or the log start where it lies above. ok is false for a row that
// has no lag.
func (r *Row) next() (at int64, ok bool) {
	switch {
	case r.Bounds == nil || r.Lag == nil:
		return 0, false
	case r.Committed != nil:
		return max(r.Committed.Offset, r.Bounds.Start), true
	case r.ShareStart != nil:
		return max(*r.ShareStart, r.Bounds.Start), true
	}
	return 0, false
}
