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

// BehindNow is how old the next record is. ok is false where there is none or it has no time.
func (t TimedLag) BehindNow(now time.Time) (d time.Duration, ok bool) {
	if t.Err != nil {
		return 0, false
	}
	if t.Next == nil {
		return 0, true
	}
	return max(0, now.Sub(t.Next.Time)), !t.Next.Time.IsZero()
}

// BehindHead is how much older the next record is than the newest. ok is false where either is not known.
func (t TimedLag) BehindHead() (d time.Duration, ok bool) {
	if t.Err != nil {
		return 0, false
	}
	if t.Next == nil {
		return 0, true
	}
	if t.Head == nil || t.Next.Time.IsZero() {
		return 0, false
	}
	return max(0, t.Head.Time.Sub(t.Next.Time)), true
}

// ReadLagTimes reads the exact lag in time of every row that has a commit: one Fetch of a few records at the commits, and
// one ListOffsets for the newest records, at the same time. Rows at their end need neither. A commit below the log start
// counts from the log start, as the lag does.
func ReadLagTimes(ctx context.Context, cl *kgo.Client, s *Snapshot) map[GroupPartition]TimedLag {
	out := map[GroupPartition]TimedLag{}
	asks := map[GroupPartition]records.Span{}
	var list []records.Span
	heads := Partitions{}
	for _, d := range s.Groups {
		for r := range s.Rows(d) {
			var from int64
			switch {
			case r.Bounds == nil || r.Lag == nil:
				continue
			case r.Committed != nil:
				from = r.Committed.Offset
			case r.ShareStart != nil:
				from = *r.ShareStart
			default:
				continue
			}
			key := GroupPartition{r.Group, r.Partition}
			at := records.Span{Partition: r.Partition, From: max(from, r.Bounds.Start), Until: records.ToEnd}
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
		found = records.Reader{Client: cl, Isolation: s.Query.Isolation}.First(ctx, list)
		return nil
	})
	eg.Go(func() error { newest = FindMax(ctx, cl, heads); return nil })
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
