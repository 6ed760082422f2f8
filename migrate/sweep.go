package migrate

import (
	"slices"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// sweep is one walk over a partition for all places in it that lie near each other.
type sweep struct {
	part  offset.Partition
	spots []*spot // in the order of their offsets
	ahead int     // how many records after the last spot are searched

	// from is the next offset to read; begin is where the sweep began.
	from, begin int64
	next        int           // the first spot that was not come to yet
	open        []*spot       // spots that want more records after them
	ring        []Fingerprint // the last records before the next spot, in order
	wanted      map[int64][]*mark
	seen        int  // records since the last spot
	enough      bool // ahead records were searched
	err         error

	first inspect.Lookup // the first record of the earliest time that is kept
	back  int            // records that were looked through before
	holes bool           // compaction has removed records from what was read
}

func (w *sweep) bounds() offset.Bounds { return w.spots[len(w.spots)-1].b }

// takes says that a spot is near enough to the sweep's last one to be read with it.
func (w *sweep) takes(x *spot, ahead int64) bool {
	last := w.spots[len(w.spots)-1]
	return w.part == x.place.Partition && last.b == x.b && x.at-x.back <= last.at+ahead
}

// restart puts the sweep at its beginning; what lies before its spots stays known where it is.
func (w *sweep) restart() {
	w.next, w.open, w.ring, w.seen, w.enough, w.err = 0, nil, nil, 0, false, nil
	w.wanted = map[int64][]*mark{}
	first := w.spots[0]
	w.from = first.at
	if !first.before {
		w.from = max(first.b.Start, first.at-first.back)
	}
	w.begin = w.from // a spot whose records before are known does not ask for the beginning
	for _, x := range w.spots {
		x.around.At, x.alike, x.timeless = nil, nil, false
		x.around.EarliestUnread, x.around.SearchedTo, x.around.SearchedAll = time.Time{}, 0, false
		if x.before {
			for _, f := range x.around.Before {
				w.want(x, f)
			}
		}
	}
}

func (w *sweep) want(x *spot, f Fingerprint) {
	m := &mark{spot: x, fp: f, apart: true}
	x.alike = append(x.alike, m)
	ms := f.millis()
	w.wanted[ms] = append(w.wanted[ms], m)
}

// visit takes the next record of the partition.
func (w *sweep) visit(r records.Record) bool {
	for w.next < len(w.spots) && w.spots[w.next].at <= r.Offset {
		w.pass(w.spots[w.next])
	}
	var f Fingerprint
	hashed := false
	print := func() Fingerprint {
		if !hashed {
			f, hashed = fingerprintOf(r), true
		}
		return f
	}
	for _, m := range w.wanted[max(-1, r.Timestamp.UnixMilli())] {
		m.see(print())
	}
	w.unread(r)
	for _, x := range w.open {
		x.around.At = append(x.around.At, print())
		w.want(x, print())
	}
	w.open = slices.DeleteFunc(w.open, func(x *spot) bool { return len(x.around.At) >= x.keep })
	if w.next < len(w.spots) {
		if x := w.spots[w.next]; !x.before && x.at-r.Offset <= x.back {
			w.ring = keepNearest(append(w.ring, print()), x.keep)
		}
		return true
	}
	w.seen++
	w.enough = w.seen >= w.ahead
	return !w.enough
}

// unread notes the times of records that are unread for the spots that were passed: for the nearest one, and for the others
// at the end.
func (w *sweep) unread(r records.Record) {
	if w.next == 0 {
		return
	}
	x := w.spots[w.next-1]
	ms := r.Timestamp.UnixMilli()
	if ms < 0 {
		x.timeless = true
		return
	}
	if e := x.around.EarliestUnread; e.IsZero() || ms < e.UnixMilli() {
		x.around.EarliestUnread = timeOf(ms)
	}
}

// pass comes to a spot: what was read last lies before it.
func (w *sweep) pass(x *spot) {
	w.next++
	if !x.before {
		x.around.Before = slices.Clone(w.ring)
		x.before = x.enoughBefore(max(w.begin, x.at-x.back))
		for _, f := range x.around.Before {
			w.want(x, f)
		}
	}
	if w.next < len(w.spots) && w.spots[w.next].at-w.spots[w.next].back > x.at {
		w.ring = nil // the next one begins behind this one
	}
	w.open = append(w.open, x)
	w.seen = 0
}

// done ends the walk forward.
func (w *sweep) done() {
	for w.next < len(w.spots) {
		w.pass(w.spots[w.next])
	}
	whole := w.err == nil && !w.enough && w.from >= w.bounds().End
	for i, x := range slices.Backward(w.spots) {
		if w.err != nil {
			x.err = w.err
		}
		x.around.SearchedTo, x.around.SearchedAll, x.around.UnreadTimes = w.from, whole, true
		if i+1 < len(w.spots) {
			next := w.spots[i+1]
			x.timeless = x.timeless || next.timeless
			if e := next.around.EarliestUnread; !e.IsZero() && (x.around.EarliestUnread.IsZero() || e.Before(x.around.EarliestUnread)) {
				x.around.EarliestUnread = e
			}
		}
	}
}

// widen says that a spot has too few records before it, though there may be more.
func (w *sweep) widen() bool {
	return w.err == nil && slices.ContainsFunc(w.spots, func(x *spot) bool { return !x.before })
}

// earliest is the smallest time among the records that are kept; zero where one of them has none. any is false where none is kept.
func (w *sweep) earliest() (t time.Time, any bool) {
	for _, x := range w.spots {
		for _, m := range x.alike {
			if m.fp.Time.IsZero() {
				return time.Time{}, true
			}
			if !any || m.fp.Time.Before(t) {
				t, any = m.fp.Time, true
			}
		}
	}
	return t, any
}

// unsearched is the stretch in which earlier look-alikes may lie that the sweep did not compare. What is known already is noted.
func (w *sweep) unsearched() (from, until int64) {
	oldest := int64(-1)
	for _, x := range w.spots {
		for _, m := range x.alike {
			if oldest < 0 || m.fp.Offset < oldest {
				oldest = m.fp.Offset
			}
		}
	}
	from, until = w.spots[0].b.Start, w.spots[len(w.spots)-1].at
	if t, any := w.earliest(); any && !t.IsZero() && w.first.Err == nil {
		if w.first.Record == nil {
			from = until // the lookup saw a log without the records: they were removed since
		} else {
			from = max(from, w.first.Record.Offset)
		}
	}
	if oldest < 0 || len(w.spots) == 1 && from >= oldest {
		from = until
	}
	for _, x := range w.spots {
		x.around.SearchedBack = from >= until
	}
	return from, until
}

// look compares a record that lies before with those of its time.
func (w *sweep) look(r records.Record) bool {
	if ms := w.wanted[max(-1, r.Timestamp.UnixMilli())]; len(ms) > 0 {
		f := fingerprintOf(r)
		for _, m := range ms {
			m.see(f)
		}
	}
	w.back++
	return w.back < w.ahead+keepAlike
}

// searched notes how far the look before came.
func (w *sweep) searched(end records.End) {
	w.holes = w.holes || end.Holes
	for _, x := range w.spots {
		x.around.SearchedBack = end.Err == nil && end.Until() >= x.at
		if end.Err != nil && x.err == nil {
			x.err = end.Err
		}
	}
}
