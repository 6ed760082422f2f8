package reset

// What a plan means beside the numbers: times, bytes, and how long what it goes back to will still be there.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// Impact is what is known about one row beside its numbers. What is not known is zero or nil.
type Impact struct {
	FromTime time.Time // of the record that would have been read next
	ToTime   time.Time // of the record that will be read next
	// Bytes is about how much will be read again, on the broker's disk: compressed, and from the partition's average.
	Bytes *int64
	// Expires is when retention may remove the record at the target; zero where nothing removes it by time.
	Expires time.Time
}

// Impacts reads what it may, within the context: the records at both ends need READ on the topic, the sizes DESCRIBE on the
// cluster, the retention DESCRIBE_CONFIGS on the topic. What is missing is in the error, which is for a note: the result is
// good without it.
func Impacts(ctx context.Context, cl *kgo.Client, b *Built) (map[Key]Impact, error) {
	p := b.Plan
	out := map[Key]Impact{}
	reads := impactReads(p)
	var found map[records.Span]records.Answer
	var mu sync.Mutex
	var errs []error
	fail := func(err error) {
		if err != nil {
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
		}
	}
	var eg errgroup.Group
	eg.Go(func() error {
		leader := func(p offset.Partition) (int32, bool) { return inspect.LeaderOf(b.topics, p) }
		found = records.Reader{Client: cl, Leader: leader}.First(ctx, slices.Collect(maps.Keys(reads)))
		return nil
	})
	var sizes map[offset.Partition]int64
	var keeps map[string]inspect.Retention
	parts := written(p)
	eg.Go(func() (err error) { sizes, err = inspect.ReadSizes(ctx, cl, parts); fail(err); return nil })
	eg.Go(func() (err error) {
		keeps, err = inspect.ReadRetention(ctx, cl, slices.Collect(maps.Keys(parts)))
		fail(err)
		return nil
	})
	_ = eg.Wait() // the errors are in errs
	for span, a := range found {
		if fail(a.Err); a.Record != nil {
			for _, set := range reads[span] {
				set(out, a.Record.Time)
			}
		}
	}
	for _, c := range p.Changes {
		again, _, _ := Distance(c)
		b, ok := c.Bounds()
		if c.Action != checkpointfile.ActionCommit || !ok {
			continue
		}
		one := out[c.Key()]
		if size, known := sizes[c.Partition]; known && again > 0 && b.End > b.Start {
			n := int64(float64(size) * float64(again) / float64(b.End-b.Start))
			one.Bytes = &n
		}
		if keep := keeps[c.Topic].Time; keep > 0 && !one.ToTime.IsZero() {
			one.Expires = one.ToTime.Add(keep)
		}
		out[c.Key()] = one
	}
	return out, errors.Join(errs...)
}

// impactReads are the places whose first record is read, and what its time is good for.
func impactReads(p *Plan) map[records.Span][]func(map[Key]Impact, time.Time) {
	reads := map[records.Span][]func(map[Key]Impact, time.Time){}
	add := func(c Change, n int64, set func(*Impact, time.Time)) {
		b, ok := c.Bounds()
		if !ok || c.Action != checkpointfile.ActionCommit || n < b.Start || n >= b.End {
			return
		}
		span := records.Span{Partition: c.Partition, From: n, Until: b.End}
		reads[span] = append(reads[span], func(all map[Key]Impact, at time.Time) {
			one := all[c.Key()]
			set(&one, at)
			all[c.Key()] = one
		})
	}
	for _, c := range p.Changes {
		if c.From != nil {
			add(c, c.From.Offset, func(i *Impact, at time.Time) { i.FromTime = at })
		}
		if c.To != nil {
			add(c, c.To.Offset, func(i *Impact, at time.Time) { i.ToTime = at })
		}
	}
	return reads
}

// written are the partitions that a plan commits to.
func written(p *Plan) inspect.Partitions {
	parts := inspect.Partitions{}
	for _, c := range p.Changes {
		if c.Action == checkpointfile.ActionCommit {
			parts.Add(c.Partition)
		}
	}
	parts.Compact()
	return parts
}
