package migrate

// Holding positions on two clusters against each other, by the records that they point at.

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

// Verdict is what comparing one row came to.
type Verdict string

// The verdicts. Only differs and missing are differences.
const (
	VerdictSame    Verdict = "same-record" // both groups read the same record next, or read the same one last
	VerdictDiffers Verdict = "differs"     // they do not
	VerdictMissing Verdict = "missing"     // the target has no commit there, or no such partition
	VerdictNone    Verdict = "no-commit"   // neither has a commit there, or the source has none
	VerdictUnknown Verdict = "unknown"     // one side could not be read, or has no record to compare
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
	Detail  string
}

// Verify reads where the exported groups stand on the target and compares the records at both positions. The export must
// have fingerprints. The error is set where the target cannot be read at all. phase may be nil.
func Verify(ctx context.Context, cl *kgo.Client, x *Export, m Mapping, phase Phase) ([]Checked, error) {
	q := Query{Header: x.Header, Mapping: m, Phase: phase}
	for _, g := range x.Groups {
		q.Rows = append(q.Rows, g.Rows...)
	}
	t := &target{cl: cl}
	items, err := t.look(ctx, q)
	if err != nil {
		return nil, err
	}
	var places []Place
	for _, i := range items {
		if i.Evidence.Err == nil && i.Current != nil && i.Row.Around != nil {
			places = append(places, Place{i.Target, i.Current.Offset})
		}
	}
	got := make(map[Place]Read, len(places))
	for part := range slices.Chunk(places, exportBatch) {
		round, cancel := phase.begin(ctx, "read the target's records")
		maps.Copy(got, ReadSurroundings(round, cl, t.topics, t.log, part))
		err := context.Cause(round)
		cancel()
		if err != nil {
			return nil, err
		}
	}
	out := make([]Checked, 0, len(items))
	for _, i := range items {
		c := Checked{Row: i.Row, Group: i.Group, Target: i.Target, Current: i.Current, Bounds: i.Evidence.Bounds}
		c.Verdict, c.Detail = verdict(i, got)
		out = append(out, c)
	}
	return out, nil
}

func verdict(i *Item, got map[Place]Read) (Verdict, string) {
	switch {
	case i.Row.Gone:
		return VerdictNone, "the topic or partition does not exist any more at the source"
	case i.Row.Committed == nil && i.Row.Error != "":
		return VerdictUnknown, "the source: " + i.Row.Error
	case i.Row.Committed == nil:
		return VerdictNone, ""
	case i.Evidence.Err != nil:
		return VerdictMissing, i.Evidence.Err.Error()
	case i.Current == nil:
		return VerdictMissing, "the target group has no commit there"
	case i.Row.Around == nil:
		return VerdictUnknown, "the source's records were not read"
	case i.Evidence.Bounds == nil:
		return VerdictUnknown, "the target's log start and end are not known"
	}
	for _, side := range []struct {
		name string
		n    int64
		b    *offset.Bounds
	}{{"source", i.Row.Committed.Offset, i.Row.Bounds}, {"target", i.Current.Offset, i.Evidence.Bounds}} {
		if side.b != nil && (side.n < side.b.Start || side.n > side.b.End) {
			return VerdictDiffers, fmt.Sprintf("the commit %d at the %s is outside its log [%d, %d]", side.n, side.name, side.b.Start, side.b.End)
		}
	}
	read := got[Place{i.Target, i.Current.Offset}]
	if read.Err != nil {
		return VerdictUnknown, fmt.Sprintf("the target's records could not be read: %v", read.Err)
	}
	return CompareAt(i.Row.Around, &read.Surroundings)
}

// CompareAt says whether two positions are the same one: the next record is the same on both, or the last one read is,
// since one of the logs may lack what follows. It is pure.
func CompareAt(source, target *Surroundings) (Verdict, string) {
	at := len(source.At) > 0 && len(target.At) > 0 && source.At[0].Same(target.At[0])
	before := len(source.Before) > 0 && len(target.Before) > 0 && source.Before[0].Same(target.Before[0])
	switch {
	case at && (before || source.At[0].Twins == TwinsNone):
		return VerdictSame, "the next record is the same: " + describe(source.At[0])
	case before && source.Before[0].Twins == TwinsNone:
		return VerdictSame, "the last record read is the same: " + describe(source.Before[0])
	case at || before:
		return VerdictUnknown, "records that look alike are at both positions, and what is around them differs"
	}
	if len(source.At)+len(source.Before) == 0 {
		if target.AtEnd {
			return VerdictSame, "the source holds no record, and the target group has read all of its own"
		}
		return VerdictUnknown, "the source holds no record to compare"
	}
	if len(target.At)+len(target.Before) == 0 {
		return VerdictUnknown, "the target holds no record to compare"
	}
	next := func(s *Surroundings) string {
		if len(s.At) == 0 {
			return "at its log end"
		}
		f := s.At[0]
		if f.Time.IsZero() {
			return fmt.Sprintf("next is %d, without a time", f.Offset)
		}
		return fmt.Sprintf("next is %d of %s", f.Offset, offset.FormatTime(f.Time))
	}
	return VerdictDiffers, fmt.Sprintf("source: %s; target: %s", next(source), next(target))
}
