package migrate

// Finding records on another cluster: one stretch of its log, from the time of the earliest of them on, held against the
// records that lie around a position at the source.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// DefaultWindow is how many records of a partition are compared with one position at the most.
const DefaultWindow = 10_000

const (
	// searchBytes is what a search asks for at first: the records are nearly always the first ones at their time.
	searchBytes = 16 << 10
	// stretchTail is how many records a search goes on after the last record read, looking for the next one.
	stretchTail = 256
	// stretchRuns bounds what is kept of a stretch.
	stretchRuns = 2048
)

// Stretch is what a part of the target's log holds of the records around a position.
type Stretch struct {
	// From is the first record at or after the time from which the records were sought; nil where there is none, or where
	// the search began at the log start because a record has no time.
	From *offset.Record
	// Since is that time.
	Since time.Time
	// Seen are the data records of the stretch, in their order; neighbours that look like none of those sought are one run.
	Seen []Run
	// Until is the offset up to which, exclusive, the stretch was read; AtEnd says that the log ended there.
	Until int64
	AtEnd bool
	// Scanned is how many records were compared.
	Scanned int
	// Stamped says that the topic's records bear the time they arrived (LogAppendTime), so that no time can match.
	Stamped bool
	// Err is why the stretch, or the rest of it, is not known.
	Err error
}

// Run is a record of the target, or several that look like none of those sought.
type Run struct {
	Offset int64 // of the first one
	N      int   // how many there are
	// Look is the index in Sought of the first record that looks the same, -1 for none.
	Look int
	// ByHeaders says that its headers are the same too.
	ByHeaders bool
}

// Sought are the records around a position in the order in which they are numbered: those at and after it, then those
// before it.
func (a *Surroundings) Sought() []Fingerprint { return slices.Concat(a.At, a.Before) }

// search is the reading of one stretch.
type search struct {
	part   offset.Partition
	a      *Surroundings
	got    *Stretch
	window int

	looks     map[int64][]int // sought records by time in ms
	sought    []Fingerprint
	since     int // records since the last one that was surely read
	read      bool
	satisfied bool
}

func newSearch(part offset.Partition, a *Surroundings, window int) *search {
	s := &search{part: part, a: a, got: &Stretch{}, window: window, looks: map[int64][]int{}, sought: a.Sought()}
	for i, f := range s.sought {
		s.looks[f.millis()] = append(s.looks[f.millis()], i)
	}
	return s
}

// times are the times from which a search can begin, the earliest first: of all records that have one. The later ones are
// for the case that one old time among them lies too far back.
func times(a *Surroundings) []time.Time {
	var out []time.Time
	for _, f := range a.Sought() {
		if !f.Time.IsZero() {
			out = append(out, f.Time)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

func (s *search) visit(r records.Record) bool {
	if r.Attrs.TimestampType() == 1 && s.got.Scanned == 0 {
		s.got.Stamped = true
		return false
	}
	s.got.Scanned++
	s.since++
	run := Run{Offset: r.Offset, N: 1, Look: -1}
	if among := s.looks[max(-1, r.Timestamp.UnixMilli())]; len(among) > 0 {
		f := fingerprintOf(r)
		for _, i := range among {
			if f.Same(s.sought[i]) {
				run.Look, run.ByHeaders = i, f.Headers == s.sought[i].Headers
				break
			}
		}
	}
	s.add(run)
	return s.got.Scanned < s.window && len(s.got.Seen) < stretchRuns
}

func (s *search) add(run Run) {
	if n := len(s.got.Seen); n > 0 && run.Look < 0 && s.got.Seen[n-1].Look < 0 {
		s.got.Seen[n-1].N++
	} else {
		s.got.Seen = append(s.got.Seen, run)
	}
	if run.Look < 0 {
		return
	}
	f := s.sought[run.Look]
	if run.Look >= len(s.a.At) {
		if s.a.surelyRead(f) {
			s.read, s.since = true, 0
		}
	} else if s.a.sure(f) {
		s.satisfied = true
	}
}

// enough: the next record was found, or the last one read with what comes after it. Where the source has lost records, those
// that looked the same may be on the target: then it is searched on, to its end or as far as the window goes.
func (s *search) enough() bool {
	return s.a.Whole && s.satisfied || s.a.Whole && s.read && s.since >= stretchTail
}

// stretches reads one stretch for each search, all at once, from a time on; zero is the log start.
func (t *target) stretches(ctx context.Context, searches []*search, since func(*search) time.Time) {
	asks := make([]*ask, 0, len(searches))
	for _, s := range searches {
		s.got.Since = since(s)
		if !s.got.Since.IsZero() {
			asks = append(asks, &ask{part: s.part, at: s.got.Since, set: func(l inspect.Lookup) { s.got.From, s.got.Err = l.Record, l.Err }})
		}
	}
	lookupTimes(ctx, t.cl, asks)
	var walks []records.Walk
	var of []*search
	for _, s := range searches {
		l, ok := t.log.At(s.part)
		switch {
		case s.got.Err != nil:
			continue
		case !ok || l.Err != nil:
			s.got.Err = fmt.Errorf("%s: its bounds are not known: %w", s.part, l.Err)
			continue
		}
		from := l.Bounds.Start
		if !s.got.Since.IsZero() {
			if s.got.From == nil { // nothing there is as late as the records
				s.got.Until, s.got.AtEnd = l.Bounds.End, true
				continue
			}
			from = s.got.From.Offset
		}
		walks = append(walks, records.Walk{Span: records.Span{Partition: s.part, From: from, Until: l.Bounds.End}, Visit: s.visit, Enough: s.enough, Bytes: searchBytes})
		of = append(of, s)
	}
	for i, end := range t.reader().Walk(ctx, walks) {
		got := of[i].got
		got.Until, got.AtEnd, got.Err = end.Until(), end.Reached(), end.Err
	}
}
