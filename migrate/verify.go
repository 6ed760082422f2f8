package migrate

// Holding positions on two clusters against each other, by the records that they point at.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

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
	countApart(count, cl, res.Items, stretchTail)
	if count.Err() != nil {
		return nil, context.Cause(count)
	}
	out := make([]Checked, 0, len(res.Items))
	for _, i := range res.Items {
		c := Check(i)
		if text := LeftBehind([]Row{i.Row}); text != "" && c.Current != nil {
			c.Detail = strings.TrimPrefix(c.Detail+"; the start offsets are compared: "+text, "; ")
		}
		out = append(out, c)
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
		return says(VerdictMissing, "the target group has no %s there", i.Row.Stores())
	case e.Bounds == nil:
		return says(VerdictUnknown, "the target's log start and end are not known")
	}
	for _, side := range []struct {
		name string
		n    int64
		b    *offset.Bounds
	}{{"source", i.Row.Committed.Offset, i.Row.Bounds}, {"target", i.Current.Offset, e.Bounds}} {
		if side.b != nil && (side.n < side.b.Start || side.n > side.b.End) {
			if i.emptied() {
				return says(VerdictSame, "%s", i.Proof)
			}
			return says(VerdictDiffers, "the %s %d at the %s is outside its log [%d, %d]", i.Row.Stores(), side.n, side.name, side.b.Start, side.b.End)
		}
	}
	if !i.Resolved() {
		return c.unresolved(i)
	}
	return c.resolved(i)
}

// emptied says that there is nothing to carry, since neither log holds a record, and that the target group is at its log's end: that
// the source's commit expired is no difference.
func (i *Item) emptied() bool {
	b := i.Evidence.Bounds
	return i.Outcome == Exact && i.Row.expired() && b.Start == b.End && i.Current.Offset == b.End && i.Offset == b.End
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
		if n := d.lastRead(); n >= 0 {
			if late, known := d.late(n); late && known {
				c.Verdict = VerdictBehind
				c.Detail = fmt.Sprintf("the target's log ends with a copy of source offset %d, before the position", d.print(i.Evidence.Stretch.Seen[n]).Offset)
				return c
			}
		}
	}
	c.Verdict, c.Detail = VerdictUnknown, strings.Join(i.Reasons, "; ")
	return c
}

// resolved holds the target's commit against the position.
func (c Checked) resolved(i *Item) Checked {
	s := i.standing()
	c.Verdict = s.verdict
	switch s.verdict {
	case VerdictSame:
		c.Detail = i.Proof
	case VerdictUnknown:
		c.Detail = s.why + ": " + i.Proof
	default:
		most := ""
		if s.most {
			most = "at most "
		}
		noun := "records"
		if s.by == 1 {
			noun = "record"
		}
		c.By = &s.by
		c.Detail = fmt.Sprintf("%s by %s%d %s: %s", s.verdict, most, s.by, noun, i.Proof)
	}
	return c
}
