package reset

import (
	"github.com/koffset/koffset/checkpointfile"
)

// Summary counts what a plan does. Offsets are at most that many records: gaps and transaction markers take offsets too.
type Summary struct {
	Changed   int // committed or deleted
	Deleted   int // of those, deleted
	Unchanged int
	Left      int
	Refused   int
	// Rereads and Skips are of the rows that had a commit and get another one.
	Rereads int64
	Skips   int64
	// NoCommit are changed rows that had no usable commit, or lose it: where their reader would have started, or will, is
	// not decided by the group but by its auto.offset.reset. MaxRereads and MaxSkips are the most that all rows can come to,
	// those included.
	NoCommit   int
	MaxRereads int64
	MaxSkips   int64
	// Uncounted are rows for which not even that is known: their log could not be read.
	Uncounted int
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
		s.count(c)
	case checkpointfile.ActionDelete:
		s.Changed++
		s.Deleted++
		s.count(c)
	case checkpointfile.ActionNone:
		s.Unchanged++
	case checkpointfile.ActionLeave:
		s.Left++
	case checkpointfile.ActionRefuse:
		s.Refused++
	}
}

func (s *Summary) count(c Change) {
	if again, skipped, known := Distance(c); known {
		s.Rereads += again
		s.Skips += skipped
	} else {
		s.NoCommit++
	}
	again, skipped, known := Most(c)
	if !known {
		s.Uncounted++
		return
	}
	s.MaxRereads += again
	s.MaxSkips += skipped
}

// Distance is how many offsets a row reads again or skips, counting only offsets that are in the log. known is false where
// there is no commit to measure from or to.
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

// Most is the most offsets that a row can read again or skip. Without a commit a reader starts where its auto.offset.reset
// says, anywhere between both ends of the log: a first commit then skips at most what lies before it and reads again at most
// what lies behind it, and a commit that is deleted the other way round. known is false where the log could not be read.
func Most(c Change) (rereads, skips int64, known bool) {
	if again, skipped, ok := Distance(c); ok {
		return again, skipped, true
	}
	had := c.From != nil && c.From.Offset >= 0
	if c.Gone || c.To == nil && !had {
		return 0, 0, true // nothing is there to be read, or there is no usable commit before and after
	}
	b, ok := c.Bounds()
	if !ok {
		return 0, 0, false
	}
	end := max(b.End, b.Start)
	in := func(n int64) int64 { return min(max(n, b.Start), end) }
	if c.To != nil {
		to := in(c.To.Offset)
		return end - to, to - b.Start, true
	}
	from := in(c.From.Offset)
	return from - b.Start, end - from, true
}
