package migrate

// Finding a record on another cluster: from its own time on, within a window.

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// DefaultWindow is how many records of a partition are compared with one fingerprint at the most.
const DefaultWindow = 10_000

// Search is what looking for one fingerprint on one partition came to.
type Search struct {
	// Matches says that a record of that time, key and value is there. First and Last are the offsets of the first and the
	// last one that were seen; they differ where identical records exist.
	Matches     bool
	First, Last int64
	// Followed says that the target has a record after the match: the mirror went on from there.
	Followed bool
	// ByHeaders says that the matches have the same headers too.
	ByHeaders bool
	// Conclusive says that every record that could be it was looked at. It means nothing where Matches is set.
	Conclusive bool
	// Scanned is how many records were compared.
	Scanned int
	// From is the first record at or after the fingerprint's time, nil where there is none.
	From *offset.Record
	// Stamped says that the topic's records bear the time they arrived (LogAppendTime), so that no time can match.
	Stamped bool
	Err     error
}

// clean says that what matches is the record itself, or a copy of it that the mirror made twice: no other record of the
// source looks like it.
func (s *Search) clean(f Fingerprint) bool {
	return s != nil && s.Matches && (f.Twins == TwinsNone || f.HeadersTell && s.ByHeaders)
}

func (s *Search) absent() bool { return s != nil && s.Err == nil && !s.Matches && s.Conclusive }

// want is one fingerprint to find.
type want struct {
	part offset.Partition
	fp   Fingerprint
	got  *Search
	put  func() // keeps what was found
}

// find looks for the fingerprints, all of them at once.
func (t *target) find(ctx context.Context, wants []*want, window int) {
	t.findTimes(ctx, wants)
	f := newFetcher(t.cl, offset.ReadUncommitted, t.topics)
	var walks []*walk
	var of []*want
	for _, w := range wants {
		l, ok := t.log.At(w.part)
		switch {
		case w.got.Err != nil:
			continue
		case !ok || l.Err != nil:
			w.got.Err = fmt.Errorf("%s: its bounds are not known: %w", w.part, l.Err)
			continue
		}
		start := l.Bounds.Start
		if !w.fp.Time.IsZero() {
			if w.got.From == nil {
				w.got.Conclusive = true // nothing there is as late as the record
				continue
			}
			start = w.got.From.Offset
		}
		s := scan{want: w, window: window, anyFirst: -1, hdrFirst: -1}
		walks = append(walks, &walk{part: w.part, next: start, until: l.Bounds.End, visit: s.visit, enough: s.enough, bytes: searchBytes,
			finish: s.finish})
		of = append(of, w)
	}
	f.run(ctx, walks)
	for i, w := range walks {
		of[i].got.Err = w.err
		if w.reached && !of[i].got.Matches && !of[i].got.Stamped {
			of[i].got.Conclusive = true
		}
	}
}

// searchBytes is what one search asks for at first: the record is nearly always the first one at its time.
const searchBytes = 16 << 10

// scan compares the records of one walk with one fingerprint.
type scan struct {
	*want
	window            int
	anyFirst, anyLast int64
	hdrFirst, hdrLast int64
	later, followed   bool
}

func (s *scan) visit(r record) bool {
	if r.logAppend() && s.got.Scanned == 0 {
		s.got.Stamped = true
		return false
	}
	s.got.Scanned++
	ms, want := r.Timestamp.UnixMilli(), s.fp.Time.UnixMilli()
	if s.fp.Time.IsZero() {
		want = -1
	}
	s.followed = true
	switch {
	case ms == want:
		if f := r.fingerprint(); f.Same(s.fp) {
			s.followed = false
			if s.anyFirst < 0 {
				s.anyFirst = r.Offset
			}
			s.anyLast = r.Offset
			if f.Headers == s.fp.Headers {
				if s.hdrFirst < 0 {
					s.hdrFirst = r.Offset
				}
				s.hdrLast = r.Offset
			}
		}
	case ms > want:
		s.later = true
	}
	return s.got.Scanned < s.window
}

// enough: with a match, a record of a later time ends the run of records that may be identical.
func (s *scan) enough() bool { return s.anyFirst >= 0 && s.later }

func (s *scan) finish() {
	s.got.Followed = s.followed
	switch {
	case s.hdrFirst >= 0:
		s.got.Matches, s.got.First, s.got.Last, s.got.ByHeaders = true, s.hdrFirst, s.hdrLast, true
	case s.anyFirst >= 0:
		s.got.Matches, s.got.First, s.got.Last = true, s.anyFirst, s.anyLast
	}
}

// findTimes looks up the first record at or after each fingerprint's time.
func (t *target) findTimes(ctx context.Context, wants []*want) {
	asks := make([]*ask, 0, len(wants))
	for _, w := range wants {
		w.got = &Search{}
		if !w.fp.Time.IsZero() {
			asks = append(asks, &ask{part: w.part, at: w.fp.Time, set: func(l inspect.Lookup) { w.got.From, w.got.Err = l.Record, l.Err }})
		}
	}
	lookupTimes(ctx, t.cl, asks)
}

// ask is one question for the first record at or after a time.
type ask struct {
	part offset.Partition
	at   time.Time
	set  func(inspect.Lookup)
}

// lookupTimes asks for many times. One request may name a partition once, so several times of one partition go out in
// several requests; the same time is asked once.
func lookupTimes(ctx context.Context, cl *kgo.Client, asks []*ask) {
	type question struct {
		part offset.Partition
		ms   int64
	}
	want := map[question][]*ask{}
	for _, a := range asks {
		q := question{a.part, a.at.UnixMilli()}
		want[q] = append(want[q], a)
	}
	var layers []map[offset.Partition]offset.Instant
	depth := map[offset.Partition]int{}
	for q := range want {
		d := depth[q.part]
		depth[q.part]++
		if d == len(layers) {
			layers = append(layers, map[offset.Partition]offset.Instant{})
		}
		layers[d][q.part] = offset.Instant{Time: time.UnixMilli(q.ms).UTC()}
	}
	var eg errgroup.Group
	eg.SetLimit(fetchInFlight)
	var mu sync.Mutex
	for _, layer := range layers {
		eg.Go(func() error {
			// A mirror copies records of aborted transactions or not; either way the first record by time is at or before.
			got := inspect.FindTimes(ctx, cl, offset.ReadUncommitted, maps.Clone(layer))
			mu.Lock()
			defer mu.Unlock()
			for p, i := range layer {
				l, ok := got[p]
				if !ok {
					l.Err = fmt.Errorf("%s: the broker left it out of its answer", p)
				}
				for _, a := range want[question{p, i.Time.UnixMilli()}] {
					a.set(l)
				}
			}
			return nil
		})
	}
	_ = eg.Wait() // every error was told with its answer
}
