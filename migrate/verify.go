package migrate

// Holding positions on two clusters against each other, by the records that they point at.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// Verdict is what comparing one row came to.
type Verdict string

// The verdicts. A target group that is behind reads records again; one that is ahead, differs or is missing may skip some.
const (
	VerdictSame    Verdict = "same-record" // both groups read the same record next, or read the same one last
	VerdictBehind  Verdict = "behind"      // the target group reads records that the source's has read
	VerdictAhead   Verdict = "ahead"       // the target group has read records that the source's has not
	VerdictDiffers Verdict = "differs"     // a commit is outside its log
	VerdictMissing Verdict = "missing"     // the target has no commit there, or no such partition
	VerdictNone    Verdict = "no-commit"   // neither has a commit there, or the source has none
	VerdictUnknown Verdict = "not-known"   // it cannot be told
)

// Checked is one row of a verification.
type Checked struct {
	Row    Row
	Group  string
	Target offset.Partition
	// Current is the target group's commit, nil where there is none.
	Current *offset.Committed
	Bounds  *offset.Bounds
	Verdict Verdict
	// By is how many records the target is behind or ahead, at the most; nil where that is not known.
	By     *int64
	Detail string
}

// Verify reads where the exported groups stand on the target and compares the records at both positions: it finds where the
// source's position is there, as an import does, and says where the target group is from that. The export must have
// fingerprints. The error is set where the target cannot be read at all. phase may be nil.
func Verify(ctx context.Context, cl *kgo.Client, x *Export, m Mapping, window int, phase Phase) ([]Checked, error) {
	q := Query{Header: x.Header, Mapping: m, Window: window, Phase: phase, Rules: Rules{Strategies: DefaultStrategies()}}
	for _, g := range x.Groups {
		q.Rows = append(q.Rows, g.Rows...)
	}
	res, err := TranslateAll(ctx, cl, q)
	if err != nil {
		return nil, err
	}
	count, cancel := phase.begin(ctx, "count the records between the positions")
	defer cancel()
	countApart(count, cl, res.Items)
	if count.Err() != nil {
		return nil, context.Cause(count)
	}
	out := make([]Checked, 0, len(res.Items))
	for _, i := range res.Items {
		out = append(out, Check(i))
	}
	return out, nil
}

// Check says where the target group of a translated row is. It is pure.
func Check(i *Item) Checked {
	c := Checked{Row: i.Row, Group: i.Group, Target: i.Target, Current: i.Current, Bounds: i.Evidence.Bounds}
	says := func(v Verdict, format string, args ...any) Checked {
		c.Verdict, c.Detail = v, fmt.Sprintf(format, args...)
		return c
	}
	e := i.Evidence
	switch {
	case i.Row.Gone:
		return says(VerdictNone, "the topic or partition does not exist any more at the source")
	case i.Row.Committed == nil && i.Row.Error != "":
		return says(VerdictUnknown, "the source: %s", i.Row.Error)
	case i.Row.Committed == nil:
		return says(VerdictNone, "")
	case e.Err != nil && !absent(e.Err):
		return says(VerdictUnknown, "the target cannot be read: %v", e.Err)
	case e.Err != nil:
		return says(VerdictMissing, "%v", e.Err)
	case i.Unstable:
		return says(VerdictUnknown, "a transaction that is still open holds a commit for it on the target")
	case i.Current == nil:
		return says(VerdictMissing, "the target group has no commit there")
	case e.Bounds == nil:
		return says(VerdictUnknown, "the target's log start and end are not known")
	}
	for _, side := range []struct {
		name string
		n    int64
		b    *offset.Bounds
	}{{"source", i.Row.Committed.Offset, i.Row.Bounds}, {"target", i.Current.Offset, e.Bounds}} {
		if side.b != nil && (side.n < side.b.Start || side.n > side.b.End) {
			return says(VerdictDiffers, "the commit %d at the %s is outside its log [%d, %d]", side.n, side.name, side.b.Start, side.b.End)
		}
	}
	if !i.Resolved() {
		return c.unresolved(i)
	}
	return c.resolved(i)
}

// absent says that a partition is not on the target, as far as a broker tells: no commit there could be read from.
func absent(err error) bool {
	var topic *NoTopicError
	var count *PartitionsError
	return errors.As(err, &topic) || errors.As(err, &count) || errors.Is(err, kerr.UnknownTopicOrPartition)
}

// unresolved is a row whose position on the target is not known. It may still be known that it is not reached.
func (c Checked) unresolved(i *Item) Checked {
	if a := i.Row.Around; a != nil && a.drained() && i.Current.Offset == i.Evidence.Bounds.End {
		c.Verdict, c.Detail = VerdictSame, "the source holds no record, and the target group has read all of its own"
		return c
	}
	if a := i.Row.Around; a != nil && i.Evidence.Stretch != nil {
		d := decision{r: i.Row, e: i.Evidence, a: a}
		if n := d.lastRead(); n >= 0 && d.late(n) {
			c.Verdict = VerdictBehind
			c.Detail = fmt.Sprintf("the target's log ends with a copy of source offset %d, before the position", d.print(i.Evidence.Stretch.Seen[n]).Offset)
			return c
		}
	}
	c.Verdict, c.Detail = VerdictUnknown, strings.Join(i.Reasons, "; ")
	return c
}

// apart is where the target group's commit is outside of the stretch in which the position lies: the offsets between the two.
func (i *Item) apart() (from, until int64) {
	low, high, at := i.Offset, max(i.Offset, i.Latest), i.Current.Offset
	switch {
	case at < low:
		return at, low
	case at > high:
		return high, at
	}
	return at, at
}

// countApart counts the records between positions and the target groups' commits where the search has not: markers and what
// compaction removed are no distance.
func countApart(ctx context.Context, cl *kgo.Client, items []*Item) {
	var walks []records.Walk
	var of []*Item
	for _, i := range items {
		if i.Current == nil || !i.Resolved() || i.Evidence.Bounds == nil {
			continue
		}
		from, until := i.apart()
		if _, counted := i.Evidence.Stretch.between(from, until); counted || from < i.Evidence.Bounds.Start || until > i.Evidence.Bounds.End {
			continue
		}
		n := int64(0)
		i.Evidence.Apart = &n
		walks = append(walks, records.Walk{Span: records.Span{Partition: i.Target, From: from, Until: until}, Bytes: searchBytes, Visit: func(records.Record) bool {
			n++
			return n < stretchTail
		}})
		of = append(of, i)
	}
	for n, end := range (records.Reader{Client: cl, Isolation: offset.ReadUncommitted}).Walk(ctx, walks) {
		i := of[n]
		if _, until := i.apart(); end.Err != nil || end.Until() < until {
			i.Evidence.Apart = nil
		}
	}
}

// resolved holds the target's commit against the position: the position itself, or a stretch in which it lies.
func (c Checked) resolved(i *Item) Checked {
	low, high, at := i.Offset, max(i.Offset, i.Latest), i.Current.Offset
	by := func(v Verdict, n int64, counted bool) Checked {
		if n == 0 {
			c.Verdict, c.Detail = VerdictSame, i.Proof
			return c
		}
		most := ""
		if !counted {
			most = "at most "
		}
		noun := "records"
		if n == 1 {
			noun = "record"
		}
		c.Verdict, c.By = v, &n
		c.Detail = fmt.Sprintf("%s by %s%d %s: %s", v, most, n, noun, i.Proof)
		return c
	}
	n, counted := i.Evidence.Stretch.between(i.apart())
	if a := i.Evidence.Apart; !counted && a != nil {
		n, counted = *a, true
	}
	within := at >= low && at <= high || counted && n == 0
	switch {
	case within && i.Translation.Again > 0:
		c.Verdict, c.Detail = VerdictUnknown, fmt.Sprintf("the position is between %d and %d: %s", low, high, i.Proof)
		return c
	case within:
		return by(VerdictSame, 0, true)
	case at < low && i.Translation.Again > 0:
		return by(VerdictBehind, high-at, false)
	case at < low:
		return by(VerdictBehind, n, counted)
	case i.Translation.Again > 0:
		return by(VerdictAhead, at-low, false)
	}
	return by(VerdictAhead, n, counted)
}

// between counts the data records of the target between two offsets. counted is false where the stretch does not hold all of
// them, and the count is of offsets then.
func (s *Stretch) between(from, until int64) (n int64, counted bool) {
	if s == nil || s.Err != nil || s.Stamped || len(s.Seen) == 0 || s.Seen[0].Offset > from || s.Until < until {
		return until - from, false
	}
	for k, run := range s.Seen {
		if run.N == 1 {
			if run.Offset >= from && run.Offset < until {
				n++
			}
			continue
		}
		end := s.Until
		if k+1 < len(s.Seen) {
			end = s.Seen[k+1].Offset
		}
		if run.Offset >= until || end <= from {
			continue
		}
		if run.Offset < from || end > until { // where its records lie exactly is not kept
			return until - from, false
		}
		n += int64(run.N)
	}
	return n, true
}
