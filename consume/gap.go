package consume

// A reader that falls behind its own commits: noticed over three checkpoints, with the reason.

import (
	"time"

	"github.com/koffset/koffset/internal/text"
)

// gapCause is why the gap between what was read and what is committed, or between the reader and the log end, grows.
type gapCause string

const (
	gapNone        gapCause = ""
	gapCheckpoints gapCause = "checkpoints do not complete"
	gapCommits     gapCause = "commits fail"
	gapSlowCommits gapCause = "no commit was answered in that time"
	gapSink        gapCause = "the sink is slow"
	gapReading     gapCause = "reading is slower than writing"
)

// gapSample is one look.
type gapSample struct {
	at          time.Time
	uncommitted int64 // offsets read and not committed
	lag         int64 // offsets not read
	completed   int64 // checkpoints
	commits     int64 // that succeeded
	failed      int64 // commits
	blocked     time.Duration
	limited     bool // a rate is in force
}

// gapWatch keeps the last looks.
type gapWatch struct {
	samples []gapSample
	told    gapCause
}

// gapLooks is how many looks in a row must each show more than the one before.
const gapLooks = 4 // three steps

func (g *gapWatch) look(r *run, now time.Time) {
	s := gapSample{at: now, blocked: time.Duration(r.stats.sinkBlocked.Load()), commits: r.stats.commitsOK.Load(), failed: r.stats.commitsBad.Load(), limited: r.pace != nil}
	r.stats.checkpoint(func(c *CheckpointStats) { s.completed = c.Completed })
	for _, p := range r.list {
		if p.skip {
			continue
		}
		s.lag += max(0, p.pub.logEnd.Load()-p.next)
		if c := p.pub.committed.Load(); c != unset {
			s.uncommitted += max(0, p.next-c)
		}
	}
	cause := g.add(s)
	if cause == gapNone || cause == g.told {
		return
	}
	g.told = cause
	switch cause {
	case gapCheckpoints, gapCommits, gapSlowCommits:
		r.notify(warnf("", "%s offsets are read and not committed, more with each of the last %s: %s", text.Count(s.uncommitted), text.Plural(gapLooks-1, "checkpoint"), cause))
	default:
		r.notify(warnf("", "the reader is %s offsets behind the log end, more with each of the last %s: %s", text.Count(s.lag), text.Plural(gapLooks-1, "checkpoint"), cause))
	}
}

// add judges the last looks. A gap that does not grow is none, and the next one is told again.
func (g *gapWatch) add(s gapSample) gapCause {
	g.samples = append(g.samples, s)
	if len(g.samples) < gapLooks {
		return gapNone
	}
	g.samples = g.samples[len(g.samples)-gapLooks:]
	grows := func(of func(gapSample) int64) bool {
		for i := 1; i < gapLooks; i++ {
			if of(g.samples[i]) <= of(g.samples[i-1]) {
				return false
			}
		}
		return true
	}
	first, last := g.samples[0], g.samples[gapLooks-1]
	switch {
	case grows(func(s gapSample) int64 { return s.uncommitted }) && last.completed == first.completed:
		return gapCheckpoints
	case grows(func(s gapSample) int64 { return s.uncommitted }) && last.commits == first.commits:
		if last.failed == first.failed {
			return gapSlowCommits
		}
		return gapCommits
	case !last.limited && grows(func(s gapSample) int64 { return s.lag }):
		if last.blocked-first.blocked > last.at.Sub(first.at)/2 {
			return gapSink
		}
		return gapReading
	}
	g.told = gapNone
	return gapNone
}
