package consume

// A window of time is two offsets: the first record at or after each of two times. Where the times of a log are not in order,
// records between the offsets lie outside the window, and records of the window elsewhere.

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// window is the times between which records were asked for. The zero value is none.
type window struct{ from, to time.Time }

// window is what a run from one time to another asks for.
func (c *Config) window() window {
	start, end := c.Start.Position, c.End.Until
	if start == nil || end == nil || start.Kind != offset.AtTime || end.Kind != offset.AtTime {
		return window{}
	}
	return window{start.At.Time, end.At.Time}
}

// count counts the records that are read and lie outside.
func (w window) count(records []*kgo.Record, s *stats) {
	if w.to.IsZero() {
		return
	}
	n := int64(0)
	for _, r := range records {
		if t := offset.TimeOf(r.Timestamp); t.Before(w.from) || !t.Before(w.to) { // a record without a time is in no window
			n++
		}
	}
	s.outside.Add(n)
}

// windowNotices say where a window holds nothing though the log holds records: its two ends are one offset. That is so where
// no record is in it, and where the times are not in order.
func (c *Config) windowNotices(p *Plan) []Notice {
	if c.window().to.IsZero() || p.Restored != nil {
		return nil
	}
	n, first := 0, ""
	for _, r := range p.Rows {
		if !r.Skip && r.End != nil && *r.End == r.Start && r.Bounds.End > r.Bounds.Start {
			if n++; n == 1 {
				first = fmt.Sprintf("%s at %d", r.Partition, r.Start)
			}
		}
	}
	if n == 0 {
		return nil
	}
	say := infof
	if n == len(p.Rows) {
		say = func(format string, args ...any) Notice { return warnf("", format, args...) }
	}
	return []Notice{say("both ends of the window are one offset on %s of %s (%s): no record is in it there, or the times of the log are not in order", text.Count(n), text.Plural(len(p.Rows), "partition"), first)}
}

// heldNotices say what an open transaction holds back from a run that ends at the log end of now.
func (c *Config) heldNotices(p *Plan) []Notice {
	if c.isolation() != offset.ReadCommitted || !c.End.bounded() {
		return nil
	}
	var held int64
	n, first := 0, ""
	for _, r := range p.Rows {
		if r.Skip || r.End == nil || *r.End != r.Bounds.LastStable || r.Bounds.LastStable >= r.Bounds.End {
			continue
		}
		held += r.Bounds.End - r.Bounds.LastStable
		if n++; n == 1 {
			first = fmt.Sprintf("%s from %d to %d", r.Partition, r.Bounds.LastStable, r.Bounds.End)
		}
	}
	if n == 0 {
		return nil
	}
	return []Notice{warnf("they are read by a run that starts when the transaction has ended; read_uncommitted reads them now",
		"open transactions hold back %s on %s (%s): this run ends before them", text.Plural(held, "offset"), text.Plural(n, "partition"), first)}
}
