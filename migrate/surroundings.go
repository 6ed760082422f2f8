package migrate

// Reading the records around positions: one bounded fetch a position where the log is dense, a few more where compaction
// or transactions left holes.

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

const (
	// keepAround is how many records are kept on each side. One of each is enough where nothing was removed; the others
	// find a way around records that a mirror left out or compaction removed.
	keepAround = 4
	// lookBack is how many offsets before the position the first fetch begins. Each further one begins eight times as far.
	lookBack = 2 * keepAround
	// surroundingBytes is what one position asks for: small, since there may be a hundred thousand of them.
	surroundingBytes = 16 << 10
	// surroundingChunk bounds how many positions hold their records in memory at once.
	surroundingChunk = 512
	// twinWindow is how many records are looked through for identical ones.
	twinWindow = 2000
)

// Place is an offset of a partition.
type Place struct {
	offset.Partition
	Offset int64
}

// Read is what was read around a place, or why it could not be.
type Read struct {
	Surroundings
	Err error
}

// ReadSurroundings reads the records around each place. topics is the metadata of all their topics, log their bounds.
// Every place is in the result. A place outside the log is read as if it were at the nearer end of it.
func ReadSurroundings(ctx context.Context, cl *kgo.Client, topics map[string]inspect.Topic, log inspect.Log, places []Place) map[Place]Read {
	places = slices.Clone(places)
	slices.SortFunc(places, func(a, b Place) int {
		if c := a.Partition.Compare(b.Partition); c != 0 {
			return c
		}
		return int(min(1, max(-1, a.Offset-b.Offset)))
	})
	places = slices.Compact(places)
	out := make(map[Place]Read, len(places))
	for chunk := range slices.Chunk(places, surroundingChunk) {
		rows := make([]*surrounding, 0, len(chunk))
		for _, p := range chunk {
			l, ok := log.At(p.Partition)
			switch {
			case !ok:
				out[p] = Read{Err: fmt.Errorf("%s: its bounds are not known", p.Partition)}
			case l.Err != nil:
				out[p] = Read{Err: l.Err}
			default:
				rows = append(rows, newSurrounding(p, l.Bounds))
			}
		}
		readRows(ctx, cl, topics, rows)
		for _, r := range rows {
			out[r.place] = Read{Surroundings: r.result(), Err: r.err}
		}
	}
	return out
}

// surrounding is one place being read.
type surrounding struct {
	place Place
	at    int64 // the place's offset, held to the log
	b     offset.Bounds
	from  int64 // the first offset that was read
	back  int64
	recs  []record // in order
	ended bool     // every record up to the high watermark was read
	err   error
}

func newSurrounding(p Place, b offset.Bounds) *surrounding {
	s := &surrounding{place: p, b: b, back: lookBack, at: min(max(p.Offset, b.Start), b.End)}
	s.from = max(b.Start, s.at-s.back)
	return s
}

func readRows(ctx context.Context, cl *kgo.Client, topics map[string]inspect.Topic, rows []*surrounding) {
	// Up to the last stable offset the broker names aborted transactions; what lies behind it is read without.
	collect := func(iso offset.Isolation, pick func(*surrounding) *walk) {
		f := newFetcher(cl, iso, topics)
		var walks []*walk
		var of []*surrounding
		for _, r := range rows {
			if r.err != nil {
				continue
			}
			if w := pick(r); w != nil {
				w.part, w.bytes = r.place.Partition, surroundingBytes
				walks, of = append(walks, w), append(of, r)
			}
		}
		f.run(ctx, walks)
		for i, w := range walks {
			if w.err != nil && of[i].err == nil {
				of[i].err = w.err
			}
		}
	}
	collect(offset.ReadCommitted, func(r *surrounding) *walk {
		until := min(r.b.LastStable, r.b.End)
		if r.from >= until {
			r.ended = r.from >= r.b.End
			return nil
		}
		w := &walk{next: r.from, until: until, visit: r.add, enough: r.enough}
		w.finish = func() { r.ended = w.reached && until == r.b.End }
		return w
	})
	collect(offset.ReadUncommitted, func(r *surrounding) *walk {
		if r.ended || r.enough() {
			return nil
		}
		w := &walk{next: max(r.from, r.b.LastStable), until: r.b.End, visit: r.add, enough: r.enough}
		w.finish = func() { r.ended = w.reached }
		return w
	})
	for {
		more := false
		collect(offset.ReadCommitted, func(r *surrounding) *walk {
			if r.from <= r.b.Start || r.hasBefore() {
				return nil
			}
			more = true
			until := r.from
			r.back *= 8
			r.from = max(r.b.Start, r.at-r.back)
			var found []record
			w := &walk{next: r.from, until: until, visit: func(x record) bool { found = append(found, x); return true }}
			// The walk ends when everything up to the old beginning was read; the records go in front then.
			w.finish = func() { r.recs = append(found, r.recs...) }
			return w
		})
		if !more {
			return
		}
	}
}

func (s *surrounding) add(r record) bool { s.recs = append(s.recs, r); return true }

// enough says that the records after the position were read as far as is wanted: enough of them, and one of a later time
// than theirs, so that it is known whether identical ones follow. A topic that puts thousands of records into a
// millisecond is not read through for that.
func (s *surrounding) enough() bool {
	n := len(s.recs)
	if n < keepAround || s.recs[n-keepAround].Offset < s.at {
		return false
	}
	if n >= twinWindow {
		return true
	}
	split := sort.Search(n, func(i int) bool { return s.recs[i].Offset >= s.at })
	last := int64(-1)
	for _, r := range s.recs[max(0, split-keepAround) : split+keepAround] {
		last = max(last, r.Timestamp.UnixMilli())
	}
	return slices.ContainsFunc(s.recs[split+keepAround:], func(r record) bool { return r.Timestamp.UnixMilli() > last })
}

// hasBefore says that a record before the position that every mirror copies was read.
func (s *surrounding) hasBefore() bool {
	return slices.ContainsFunc(s.recs, func(r record) bool { return r.Offset < s.at && !r.aborted })
}

func (s *surrounding) result() Surroundings {
	var out Surroundings
	split := sort.Search(len(s.recs), func(i int) bool { return s.recs[i].Offset >= s.at })
	for _, r := range s.recs[split:] {
		if ms := r.Timestamp.UnixMilli(); ms >= 0 && (out.EarliestUnread.IsZero() || r.Timestamp.Before(out.EarliestUnread)) {
			out.EarliestUnread = fingerprintOf(r.Record).Time
		}
	}
	for _, r := range s.recs[split:min(len(s.recs), split+keepAround)] {
		out.At = append(out.At, s.twins(r.fingerprint()))
	}
	plain := false
	for i := split - 1; i >= 0; i-- {
		r := s.recs[i]
		if len(out.Before) >= keepAround && (plain || r.aborted) {
			continue
		}
		plain = plain || !r.aborted
		out.Before = append(out.Before, s.twins(r.fingerprint()))
	}
	out.AtEnd = len(out.At) == 0 && s.ended
	out.AtStart = len(out.Before) == 0 && s.from <= s.b.Start
	return out
}

// twins looks for records of the same time, key and value among those that were read: to the first record of a later time,
// or through twinWindow records.
func (s *surrounding) twins(f Fingerprint) Fingerprint {
	later, apart := s.ended, true
	for _, r := range s.recs {
		switch {
		case r.Offset == f.Offset:
		case r.Offset > f.Offset && r.Timestamp.UnixMilli() > f.Time.UnixMilli():
			later = true
		case r.Timestamp.UnixMilli() != f.Time.UnixMilli() && !f.Time.IsZero():
		default:
			o := r.fingerprint()
			if !o.Same(f) {
				continue
			}
			apart = apart && o.Headers != f.Headers
			if r.Offset < f.Offset {
				f.Twins = f.Twins.with(TwinsBefore)
			} else {
				f.Twins = f.Twins.with(TwinsAfter)
			}
		}
	}
	if !later && len(s.recs) < twinWindow {
		f.Twins, apart = f.Twins.with(TwinsAfter), false
	}
	f.HeadersTell = apart && f.Twins != TwinsNone
	return f
}
