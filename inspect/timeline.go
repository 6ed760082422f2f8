package inspect

import (
	"slices"
	"time"
)

// timelinePoints is how many points a Timeline keeps; a point is 16 bytes, one timeline a partition of a topic.
const timelinePoints = 32

// Timeline remembers when a log end was where. Recent points are kept as they come; of the older ones every second is
// dropped when the room is used up, so that it reaches back ever further and is the coarser the older it is.
type Timeline struct {
	points []timePoint
	seeds  int // how many of the first points are the times of records
}

type timePoint struct {
	ms  int64
	end int64
}

// Add records the log end at a moment. A log end that moved back (the topic was made anew, or truncated) makes what was
// known void.
func (t *Timeline) Add(at time.Time, end int64) {
	n := len(t.points)
	if n > 0 && end < t.points[n-1].end {
		t.points, t.seeds, n = t.points[:0], 0, 0
	}
	p := timePoint{at.UnixMilli(), end}
	if n > 1 && t.points[n-1].end == end && t.points[n-2].end == end {
		t.points[n-1] = p // nothing arrives: the two ends of the flat stretch are enough
		return
	}
	if n == timelinePoints {
		old, keep := t.points[:n-timelinePoints/4], 0
		for i := range old {
			if i%2 == 0 {
				t.points[keep] = old[i]
				keep++
			}
		}
		keep += copy(t.points[keep:], t.points[n-timelinePoints/4:])
		t.points, t.seeds = t.points[:keep], (t.seeds+1)/2
	}
	if t.points == nil {
		t.points = make([]timePoint, 0, timelinePoints)
	}
	t.points = append(t.points, p)
}

// Age is how long ago the record at an offset was written, seen from a moment: it was between the last look at which the
// log end had not passed the offset and the first at which it had, and is taken to be where a constant rate puts it. An
// offset at the log end, or past it, has no record yet.
func (t *Timeline) Age(offset int64, now time.Time) LagTime {
	n := len(t.points)
	if n == 0 {
		return UnknownAge(AgeNotRead)
	}
	if offset >= t.points[n-1].end {
		return NothingLeft()
	}
	ms := now.UnixMilli()
	// The first point whose end is past the offset: the record was there then.
	i, _ := slices.BinarySearchFunc(t.points, offset, func(p timePoint, o int64) int {
		if p.end > o {
			return 1
		}
		return -1
	})
	if i == 0 {
		return LagTime{D: time.Duration(max(0, ms-t.points[0].ms)) * time.Millisecond, Known: true, Basis: LagAtLeast, Record: offset}
	}
	a, b := t.points[i-1], t.points[i]
	part := float64(offset-a.end) / float64(b.end-a.end)
	at := a.ms + int64(part*float64(b.ms-a.ms))
	return LagTime{D: time.Duration(max(0, ms-at)) * time.Millisecond, Known: true, Basis: LagInterpolated, Record: offset}
}

// maxSeeds is how many seeds a Timeline keeps: those at the highest offsets.
const maxSeeds = 4

// Seed tells that a record at an offset has this time, learned from the record itself. It reaches back before the first
// sample, so that a lag older than the samples is not only "at least". A time that is not older than the first sample, or
// an offset that is, adds nothing. Records need not be in the order of their times, so that each seed says little about the
// offsets above it: a later one stands beside it, and not for it.
func (t *Timeline) Seed(at time.Time, offset int64) {
	p := timePoint{at.UnixMilli(), offset}
	if len(t.points) == t.seeds || at.IsZero() || p.ms >= t.points[t.seeds].ms || p.end >= t.points[t.seeds].end {
		return
	}
	i := 0
	for i < t.seeds && t.points[i].end < p.end {
		i++
	}
	if i < t.seeds && t.points[i].end == p.end {
		t.points[i] = p
		return
	}
	switch {
	case t.seeds == maxSeeds && i == 0:
		return
	case t.seeds == maxSeeds:
		t.points = slices.Delete(t.points, 0, 1)
		t.seeds, i = t.seeds-1, i-1
	case len(t.points) == timelinePoints:
		t.points = slices.Delete(t.points, t.seeds+1, t.seeds+2)
	}
	t.points = slices.Insert(t.points, i, p)
	t.seeds++
}

// guessed says that the age at an offset is interpolated from the time of a record below it, and from no look that saw the log
// end there: as right as the times of the records between are in order.
func (t *Timeline) guessed(offset int64) bool {
	known := func(p timePoint) bool { return p.end == offset }
	return t.seeds > 0 && offset > t.points[0].end && offset < t.points[t.seeds].end && !slices.ContainsFunc(t.points[:t.seeds], known)
}

// Removed tells that the log starts at an offset now: times of records that are gone say nothing about those that are left,
// which may be much younger.
func (t *Timeline) Removed(start int64) {
	n := 0
	for n < t.seeds && t.points[n].end < start {
		n++
	}
	t.points, t.seeds = slices.Delete(t.points, 0, n), t.seeds-n
}
