package reset

import (
	"github.com/koffset/koffset/checkpointfile"
)

// Summary counts what a plan does. Rereads and Skips are offsets, so they are at most that many records: gaps and
// transaction markers take offsets too.
type Summary struct {
	Changed   int // committed or deleted
	Deleted   int // of those, deleted
	Unchanged int
	Left      int
	Refused   int
	Rereads   int64
	Skips     int64
	// Unknown are changed rows that had no usable commit, or lose it: where their reader would have started, or will, is
	// not decided by the group.
	Unknown int
}

// Summarize counts a plan's rows.
func Summarize(p *Plan) Summary {
	var s Summary
	for _, c := range p.Changes {
		s.add(c)
	}
	return s
}

func (s *Summary) add(c Change) {
	switch c.Action {
	case checkpointfile.ActionCommit:
		s.Changed++
		again, skipped, known := Distance(c)
		if !known {
			s.Unknown++
		}
		s.Rereads += again
		s.Skips += skipped
	case checkpointfile.ActionDelete:
		s.Changed++
		s.Deleted++
		s.Unknown++
	case checkpointfile.ActionNone:
		s.Unchanged++
	case checkpointfile.ActionLeave:
		s.Left++
	case checkpointfile.ActionRefuse:
		s.Refused++
	}
}

// Distance is how many offsets a row reads again or skips, counting only offsets that are in the log. known is false where
// there is no commit to measure from.
func Distance(c Change) (rereads, skips int64, known bool) {
	if c.To == nil || c.From == nil || c.From.Offset < 0 {
		return 0, 0, false
	}
	from := c.From.Offset
	if b, ok := c.Bounds(); ok {
		// Offsets that retention removed cannot be skipped, and those past the end cannot have been read.
		from = min(max(from, b.Start), max(b.End, b.Start))
	}
	if c.To.Offset < from {
		return from - c.To.Offset, 0, true
	}
	return 0, c.To.Offset - from, true
}
