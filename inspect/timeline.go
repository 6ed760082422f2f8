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

// Seed tells that a record at an offset has this time, learned from the record itself. It reaches back before the first
// sample, so that a lag older than the samples is not only "at least". A time that is not older than the first sample, or
// an offset that is, adds nothing.
func (t *Timeline) Seed(at time.Time, offset int64) {
	p := timePoint{at.UnixMilli(), offset}
	if len(t.points) == 0 || at.IsZero() || p.ms >= t.points[0].ms || p.end >= t.points[0].end {
		return
	}
	if len(t.points) == timelinePoints {
		t.points = append(t.points[:1], t.points[2:]...)
		t.seeds = min(t.seeds, 1)
	}
	t.points = slices.Insert(t.points, 0, p)
	t.seeds++
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
