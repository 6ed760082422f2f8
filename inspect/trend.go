package inspect

import (
	"math"
	"time"
)

// Memory is what a partition's older samples leave behind when they drop out of the window. The zero value knows nothing.
type Memory struct {
	known     bool
	rested    bool // a fetch showed at the last sample that nothing waits but markers
	nextGap   uint8
	last      int64     // the last commit seen
	since     int64     // since when the commit has its value, as far as was seen; milliseconds, 0 is not seen
	waiting   int64     // since when records wait that the commit has not moved for; 0 while none do
	endAtMove int64     // the log end when the commit was last seen to move
	gaps      [4]uint32 // the last times from "records wait" to a commit, in milliseconds; zero is none yet
}

// next takes one more sample in. Time that a reader had nothing to read in is no gap: a topic that sleeps at night would
// otherwise excuse a reader that hangs in the morning. Nor is a reader given anything to read by the transaction markers that
// a fetch has shown to be all that is left (drained): what comes then waits from then on, and not since the first marker. A look that failed changes nothing: the commit is compared with the last
// one that was seen.
func (m *Memory) next(s Sample, drained bool) {
	if s.Unread {
		return
	}
	if s.NoCommit {
		*m = Memory{}
		return
	}
	at, lagging := s.At.UnixMilli(), s.End > s.Committed && !drained
	if m.known && m.last == s.Committed {
		switch {
		case !lagging:
			m.waiting = 0
		case m.waiting == 0:
			m.waiting = at
		}
		m.rested = drained
		return
	}
	if m.known && s.Committed > m.last && !m.rested {
		m.learn(at)
	}
	m.known, m.last = true, s.Committed
	m.since, m.endAtMove, m.waiting, m.rested = at, s.End, 0, drained
	if lagging {
		m.waiting = at
	}
}

// learn notes how long the records waited that a commit at this moment is for. Those that came and were committed between two
// looks were waited for by no look: that is a short time, and no reason to keep a long one, since a reader that stood for a night
// and keeps at its end after it would have that night as its usual time for ever.
func (m *Memory) learn(at int64) {
	gap := int64(1)
	if m.waiting != 0 {
		gap = max(gap, at-m.waiting)
	}
	m.gaps[m.nextGap%4] = uint32(min(gap, math.MaxUint32))
	m.nextGap++
}

// gap is the longest of the last four times between commits, zero while none was seen.
func (m Memory) gap() time.Duration {
	var ms uint32
	for _, g := range m.gaps {
		ms = max(ms, g)
	}
	return time.Duration(ms) * time.Millisecond
}

// trend is what the samples of a window say together.
type trend struct {
	interval time.Duration // between the last two samples
	in, out  float64
	hasRates bool
	moved    bool  // the commit moved within the window
	backs    int   // how often it moved back, each time after having moved forward
	peak     int64 // the commit before it last moved back

	n                 int // commits seen since it last moved back, the points of the line below
	slope, err, delta float64
	meanLag           float64
}

// trendOf reads the samples. The line is fitted through the lag right after each commit, since between two commits the lag
// of a healthy reader climbs, and a window that ends just before one would look like falling behind.
func trendOf(samples []Sample) trend {
	var t trend
	var prev, firstEnd, firstOut *Sample
	var fit line
	forward := true
	for i := range samples {
		s := &samples[i]
		if s.Unread || s.NoCommit {
			continue
		}
		if prev == nil {
			firstEnd, firstOut, prev = s, s, s
			continue
		}
		t.interval = s.At.Sub(prev.At)
		if s.End < prev.End {
			// The log end went back (truncation, or the topic was made anew): what was before says nothing about rates.
			firstEnd, firstOut, fit = s, s, line{}
		}
		switch {
		case s.Committed < prev.Committed:
			t.moved = true
			if forward {
				t.backs++
			}
			forward = false
			t.peak = max(t.peak, prev.Committed)
			firstOut, fit = s, line{}
		case s.Committed > prev.Committed:
			t.moved, forward = true, true
			fit.add(s.At.Sub(samples[0].At).Seconds(), float64(max(0, s.End-s.Committed)))
		}
		prev = s
	}
	if prev == nil {
		return t
	}
	if span := prev.At.Sub(firstEnd.At).Seconds(); span > 0 {
		t.in, t.hasRates = float64(prev.End-firstEnd.End)/span, true
	}
	if span := prev.At.Sub(firstOut.At).Seconds(); span > 0 {
		t.out = float64(prev.Committed-firstOut.Committed) / span
	} else {
		t.hasRates = false
	}
	t.n = fit.n
	t.slope, t.err, t.delta, t.meanLag = fit.fit()
	return t
}

// direction says whether the lag grows, shrinks or keeps. A reader whose lag is what arrives between two commits is on the
// heels of the end, whichever way its lag happens to go. A change counts when it is larger than what arrives in one
// interval, than half a percent of the lag, and than twice the uncertainty of the line.
func (t trend) direction(lag int64, r Rules, gap time.Duration) Health {
	interval := t.interval
	if r.Interval > 0 {
		interval = r.Interval
	}
	heels := 2 * t.in * max(interval, gap).Seconds()
	if t.n < 3 || float64(lag) <= heels {
		return HealthOK
	}
	noise := max(1, t.in*interval.Seconds(), t.meanLag/200, 2*t.err)
	switch {
	case t.delta > noise:
		return HealthFallingBehind
	case t.delta < -noise:
		return HealthCatchingUp
	}
	return HealthOK
}

// line is a least squares line through points that come one by one.
type line struct {
	n                     int
	x0, x1                float64
	sx, sy, sxx, sxy, syy float64
}

func (l *line) add(x, y float64) {
	if l.n == 0 {
		l.x0 = x
	}
	l.x1 = x
	l.n++
	x -= l.x0 // keeps the sums small: they are of squares
	l.sx, l.sy, l.sxx, l.sxy, l.syy = l.sx+x, l.sy+y, l.sxx+x*x, l.sxy+x*y, l.syy+y*y
}

// fit returns the slope, the standard error of the change over the whole span, that change, and the mean.
func (l *line) fit() (slope, err, delta, mean float64) {
	if l.n == 0 {
		return 0, 0, 0, 0
	}
	n := float64(l.n)
	mean = l.sy / n
	vx := l.sxx - l.sx*l.sx/n
	if l.n < 3 || vx <= 0 {
		return 0, 0, 0, mean
	}
	cxy := l.sxy - l.sx*l.sy/n
	slope = cxy / vx
	rest := max(0, l.syy-l.sy*l.sy/n-slope*cxy)
	span := l.x1 - l.x0
	return slope, math.Sqrt(rest/(n-2)/vx) * span, slope * span, mean
}
