package migrate

// Reading the records around positions, and looking for others that look the same. A partition is swept once, from before
// its first position to its log end, whatever the number of positions; records are hashed when they arrive, and only those
// that are kept or have the time of one that is.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

const (
	// keepAround is how many records are kept on each side. One of each is enough where nothing was removed; the others
	// find a way around records that a mirror left out or compaction removed, and tell whether partitions were dealt anew.
	keepAround = 4
	// keepAlike is how many are kept at the most where all of the first few have look-alikes.
	keepAlike = 64
	// retentionTries is how often a place is read again whose records were removed meanwhile.
	retentionTries = 3
)

// DefaultLookAhead is how many records after a position are searched for look-alikes.
const DefaultLookAhead = 100_000

// Place is an offset of a partition.
type Place struct {
	offset.Partition
	Offset int64
}

// Read is what was read around a place, or why it could not be.
type Read struct {
	Surroundings
	// Start is the log start that the place was read with: later than what was handed in where records were removed meanwhile.
	Start int64
	// Holes says that compaction has removed records from what was read.
	Holes bool
	Err   error
}

// ReadSurroundings reads the records around each place, and searches ahead records after it for look-alikes (0 is
// DefaultLookAhead). log has the partitions' bounds. Every place is in the result. A place outside the log is read as if it
// were at the nearer end of it. Where records are removed faster than they are read the place has an error: what was there is
// not known.
func ReadSurroundings(ctx context.Context, cl *kgo.Client, log inspect.Log, places []Place, ahead int) map[Place]Read {
	if ahead <= 0 {
		ahead = DefaultLookAhead
	}
	places = slices.Clone(places)
	slices.SortFunc(places, func(a, b Place) int {
		if c := a.Partition.Compare(b.Partition); c != 0 {
			return c
		}
		return compareOffsets(a.Offset, b.Offset)
	})
	places = slices.Compact(places)
	out := make(map[Place]Read, len(places))
	var spots []*spot
	for _, p := range places {
		l, ok := log.At(p.Partition)
		switch {
		case !ok:
			out[p] = Read{Err: fmt.Errorf("%s: its bounds are not known", p.Partition)}
		case l.Err != nil:
			out[p] = Read{Err: l.Err}
		default:
			spots = append(spots, newSpot(p, l.Bounds))
		}
	}
	s := surveyor{cl: cl, ahead: ahead}
	s.read(ctx, spots)
	for _, x := range spots {
		out[x.place] = Read{Surroundings: x.around, Start: x.b.Start, Holes: x.holes, Err: x.err}
	}
	return out
}

func compareOffsets(a, b int64) int { return int(min(1, max(-1, a-b))) }

// spot is one place being read.
type spot struct {
	place  Place
	at     int64 // the place's offset, held to the log
	b      offset.Bounds
	keep   int
	back   int64 // how far before at the reading of what lies before begins
	before bool  // what lies before is known
	around Surroundings
	// alike are the kept records with what is found about their look-alikes.
	alike    []*mark
	timeless bool // an unread record has no time
	holes    bool // compaction has removed records from what was read
	tries    int
	err      error
}

func newSpot(p Place, b offset.Bounds) *spot {
	s := &spot{place: p, b: b}
	s.reset(keepAround)
	return s
}

// reset forgets what was read, to read it again with more records or other bounds.
func (s *spot) reset(keep int) {
	s.at = min(max(s.place.Offset, s.b.Start), s.b.End)
	s.keep, s.back, s.before = keep, 2*int64(keep), false
	s.around, s.alike, s.timeless = Surroundings{}, nil, false
}

// mark is a kept record whose look-alikes are searched for.
type mark struct {
	spot  *spot
	fp    Fingerprint
	twins Twins
	apart bool // no look-alike so far has the same headers
}

// see compares a record with the mark.
func (m *mark) see(f Fingerprint) {
	if f.Offset == m.fp.Offset || !f.Same(m.fp) {
		return
	}
	m.apart = m.apart && f.Headers != m.fp.Headers
	if f.Offset < m.spot.at {
		m.twins = m.twins.with(TwinsBefore)
	} else {
		m.twins = m.twins.with(TwinsAfter)
	}
}

// surveyor reads spots of one cluster.
type surveyor struct {
	cl    *kgo.Client
	ahead int
}

func (s *surveyor) reader(iso offset.Isolation) records.Reader {
	return records.Reader{Client: s.cl, Isolation: iso, KeepAborted: iso == offset.ReadCommitted}
}

// read reads spots, and those again of which all few records have look-alikes.
func (s *surveyor) read(ctx context.Context, spots []*spot) {
	for pending := spots; len(pending) > 0; {
		s.sweeps(ctx, pending)
		var again []*spot
		for _, x := range pending {
			x.finish()
			var removed *records.OutOfRange
			switch {
			case errors.As(x.err, &removed) && removed.Known && x.tries < retentionTries && removed.Start > x.b.Start:
				x.tries, x.err = x.tries+1, nil
				x.b.Start, x.b.End = removed.Start, max(x.b.End, removed.Start)
				x.reset(x.keep)
				again = append(again, x)
			case x.err == nil && x.keep < keepAlike && x.wantsMore():
				x.reset(keepAlike)
				again = append(again, x)
			}
		}
		pending = again
	}
}

// sweeps reads each spot's records, then looks for look-alikes in what lies before.
func (s *surveyor) sweeps(ctx context.Context, spots []*spot) {
	all := s.plan(spots)
	s.forward(ctx, all)
	// Where compaction or aborted transactions left nothing near, what lies before is farther away.
	var far []*sweep
	for _, w := range all {
		if w.widen() {
			far = append(far, w)
		}
	}
	if len(far) > 0 {
		s.widen(ctx, far)
		for _, w := range far {
			w.restart()
		}
		s.forward(ctx, far)
	}
	s.earlier(ctx, all)
	for _, w := range all {
		for _, x := range w.spots {
			x.holes = x.holes || w.holes
		}
	}
}

// plan puts spots that lie near each other into one sweep.
func (s *surveyor) plan(spots []*spot) []*sweep {
	var out []*sweep
	for _, x := range spots {
		if n := len(out); n > 0 && out[n-1].takes(x, int64(s.ahead)) {
			out[n-1].spots = append(out[n-1].spots, x)
			continue
		}
		out = append(out, &sweep{part: x.place.Partition, spots: []*spot{x}})
	}
	for _, w := range out {
		w.ahead = s.ahead
		w.restart()
	}
	return out
}

// forward reads the sweeps to their ends: up to the last stable offset with the aborted transactions named, what lies behind it without.
func (s *surveyor) forward(ctx context.Context, all []*sweep) {
	for _, iso := range []offset.Isolation{offset.ReadCommitted, offset.ReadUncommitted} {
		var walks []records.Walk
		var of []*sweep
		for _, w := range all {
			until := w.bounds().End
			if iso == offset.ReadCommitted {
				until = min(w.bounds().LastStable, until)
			}
			if w.err != nil || w.enough || w.from >= until {
				continue
			}
			walks = append(walks, records.Walk{Span: records.Span{Partition: w.part, From: w.from, Until: until}, Visit: w.visit, Bytes: searchBytes})
			of = append(of, w)
		}
		for i, end := range s.reader(iso).Walk(ctx, walks) {
			of[i].from, of[i].err, of[i].holes = end.Until(), end.Err, of[i].holes || end.Holes
		}
	}
	for _, w := range all {
		w.done()
	}
}

// widen looks farther and farther back for the last records before the spots that have too few.
func (s *surveyor) widen(ctx context.Context, far []*sweep) {
	for {
		walks := map[offset.Isolation][]records.Walk{}
		of := map[offset.Isolation][]*spot{}
		for _, w := range far {
			for _, x := range w.spots {
				if x.before || x.err != nil {
					continue
				}
				x.back *= 8
				x.around.Before = nil
				iso := offset.ReadCommitted
				if x.at > x.b.LastStable {
					iso = offset.ReadUncommitted // which of its transactions will be aborted is not decided
				}
				walks[iso] = append(walks[iso], records.Walk{Span: records.Span{Partition: w.part, From: max(x.b.Start, x.at-x.back), Until: x.at},
					Visit: func(r records.Record) bool { x.push(fingerprintOf(r)); return true }})
				of[iso] = append(of[iso], x)
			}
		}
		if len(walks) == 0 {
			return
		}
		for iso, list := range walks {
			for i, end := range s.reader(iso).Walk(ctx, list) {
				x := of[iso][i]
				x.err, x.holes = end.Err, x.holes || end.Holes
				x.before = x.enoughBefore(max(x.b.Start, x.at-x.back))
			}
		}
	}
}

// enoughBefore says that what was read from an offset on up to the place is all that is wanted.
func (s *spot) enoughBefore(from int64) bool {
	return from <= s.b.Start || s.hasBefore() && (s.keep == keepAround || len(s.around.Before) >= s.keep)
}

// push keeps a record that lies before the place as the nearest one, with as many as are wanted, and one that every mirror
// copies among them.
func (s *spot) push(f Fingerprint) {
	s.around.Before = keepNearest(append(s.around.Before, f), s.keep)
}

// keepNearest drops the oldest of a list in order that are too many, but not the last one that is not aborted.
func keepNearest(list []Fingerprint, keep int) []Fingerprint {
	for len(list) > keep {
		if !list[0].Aborted && !slices.ContainsFunc(list[1:], func(f Fingerprint) bool { return !f.Aborted }) {
			if len(list) <= keep+1 {
				return list
			}
			list = append(list[:1], list[2:]...)
			continue
		}
		list = list[1:]
	}
	return list
}

func (s *spot) hasBefore() bool {
	return slices.ContainsFunc(s.around.Before, func(f Fingerprint) bool { return !f.Aborted })
}

// earlier looks for look-alikes before the sweeps' records. A record of the same time is at or after the first one of its
// time, so mostly one look-up settles that there is none.
func (s *surveyor) earlier(ctx context.Context, all []*sweep) {
	var asks []*ask
	for _, w := range all {
		if t, any := w.earliest(); any && w.err == nil && !t.IsZero() {
			asks = append(asks, &ask{part: w.part, at: t, set: func(l inspect.Lookup) { w.first = l }})
		}
	}
	lookupTimes(ctx, s.cl, asks)
	var walks []records.Walk
	var of []*sweep
	for _, w := range all {
		if w.err != nil {
			continue
		}
		if from, until := w.unsearched(); from < until {
			w.back = 0
			walks = append(walks, records.Walk{Span: records.Span{Partition: w.part, From: from, Until: until}, Visit: w.look})
			of = append(of, w)
		}
	}
	for i, end := range s.reader(offset.ReadUncommitted).Walk(ctx, walks) {
		of[i].searched(end)
	}
}

// finish turns what was found into the result.
func (s *spot) finish() {
	a := &s.around
	slices.Reverse(a.Before) // the nearest first
	a.AtEnd = s.err == nil && len(a.At) == 0 && a.SearchedAll
	a.AtStart = s.err == nil && len(a.Before) == 0
	for _, m := range s.alike {
		for _, o := range s.alike {
			m.see(o.fp)
		}
		m.fp.Twins, m.fp.HeadersTell = m.twins, m.twins != TwinsNone && m.apart
	}
	byOffset := make(map[int64]Fingerprint, len(s.alike))
	for _, m := range s.alike {
		byOffset[m.fp.Offset] = m.fp
	}
	for _, list := range [][]Fingerprint{a.At, a.Before} {
		for i, f := range list {
			list[i] = byOffset[f.Offset]
		}
	}
	a.At, a.Before = trim(a.At, a.anchor), trim(a.Before, a.anchor)
	if s.timeless || !a.SearchedAll {
		a.UnreadTimes = false
	}
}

// anchor says that f is one that every mirror copies, and that nothing that was found looks like it.
func (a *Surroundings) anchor(f Fingerprint) bool {
	return !f.Aborted && (f.Twins == TwinsNone || f.HeadersTell)
}

// trim keeps the few nearest records, and more up to the first that nothing else looks like.
func trim(list []Fingerprint, sure func(Fingerprint) bool) []Fingerprint {
	if len(list) <= keepAround || slices.ContainsFunc(list[:keepAround], sure) {
		return list[:min(len(list), keepAround)]
	}
	if i := slices.IndexFunc(list, sure); i >= 0 {
		return list[:i+1]
	}
	return list
}

// wantsMore says that a side has look-alikes of all its records, and may have more records.
func (s *spot) wantsMore() bool {
	a := s.around
	return len(a.At) == keepAround && !slices.ContainsFunc(a.At, a.anchor) || len(a.Before) >= keepAround && !slices.ContainsFunc(a.Before, a.anchor)
}

func timeOf(ms int64) time.Time {
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
