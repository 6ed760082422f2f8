package migrate

// The record strategy: what the searches for the records around a position come to. Pure.

import (
	"fmt"
	"slices"

	"github.com/koffset/koffset/offset"
)

func (x translator) record() (t Translation, why string) {
	if x.r.Around == nil {
		return t, "the export has no fingerprints"
	}
	if outside := x.outside(); outside != "" {
		return t, outside
	}
	if t, ok := decide(x.r, x.e); ok {
		return t, ""
	}
	return t, x.whyNoRecord()
}

// decide is the record strategy on the searches made so far. ok is false where they do not settle it.
func decide(r Row, e Evidence) (t Translation, ok bool) {
	if r.Bounds != nil && r.Committed.Offset < r.Bounds.Start {
		return decideExpired(r, e)
	}
	if _, late := behind(r, e); late {
		return decideClean(r, e) // nothing weaker: it would read again what comes later
	}
	for _, by := range []func(Row, Evidence) (Translation, bool){decideClean, decideEarlierTwins, decideLaterTwins, decideEdges} {
		if t, ok = by(r, e); ok {
			return t, true
		}
	}
	return t, false
}

// decideClean uses matches of records that have no twin: what was found is the record itself.
func decideClean(r Row, e Evidence) (t Translation, ok bool) {
	a := r.Around
	if f, s, ok := pair(a.At, e.At, 0); ok && s.clean(f) {
		return found(s.First, s.Last-s.First, "the next record (%s) is at %d", f, s), true
	}
	between := int64(0) // records before the position that may be on the target, and would be read again
	for i := range a.Before {
		f, s, ok := pair(a.Before, e.Before, i)
		if !ok {
			break // not looked for yet: farther ones were not either
		}
		if s.clean(f) {
			if i > 0 && !s.Followed {
				return t, false // the copy ends there: the nearer ones are still on their way
			}
			if i >= keepAround { // records between the last two of the list were left out of it
				between = r.Committed.Offset - f.Offset - 1
			}
			return found(s.First+1, s.Last-s.First+between, "the last record read that is there (%s) is at %d", f, s), true
		}
		if !s.absent() {
			between++
		}
	}
	for i := range a.At {
		f, s, ok := pair(a.At, e.At, i)
		if !ok {
			break
		}
		if s.clean(f) {
			return found(s.First, s.Last-s.First, "the unread records before it are not on the target; the next one (%s) is at %d", f, s), true
		}
		if !s.absent() {
			break // it may be on the target, before the ones that follow
		}
	}
	return t, false
}

// behind says that the copy ends with a record before the last one read, and with which.
func behind(r Row, e Evidence) (Fingerprint, bool) {
	for i := range r.Around.Before {
		f, s, ok := pair(r.Around.Before, e.Before, i)
		if ok && s.clean(f) {
			return f, i > 0 && !s.Followed
		}
	}
	return Fingerprint{}, false
}

func pair(fs []Fingerprint, ss []*Search, i int) (Fingerprint, *Search, bool) {
	if i >= len(fs) || i >= len(ss) || ss[i] == nil {
		return Fingerprint{}, nil, false
	}
	return fs[i], ss[i], true
}

// decideEarlierTwins uses matches that are the record or an earlier identical one: nothing is skipped, and what is read
// again ends before the next record that is known for sure.
func decideEarlierTwins(r Row, e Evidence) (t Translation, ok bool) {
	a := r.Around
	limit := e.Bounds.End
	for i := range a.At {
		if f, s, ok := pair(a.At, e.At, i); ok && s.clean(f) {
			limit = min(limit, s.Last)
		}
	}
	if f, s, ok := pair(a.At, e.At, 0); ok && s.Matches && f.Twins == TwinsBefore {
		return found(s.First, limit-s.First, "the next record (%s), or an earlier identical one, is at %d", f, s), true
	}
	if f, s, ok := pair(a.Before, e.Before, 0); ok && s.Matches && f.Twins == TwinsBefore {
		return found(s.First+1, limit-s.First-1, "the last record read (%s), or an earlier identical one, is at %d", f, s), true
	}
	return t, false
}

// found is a position at a match. Identical records make it ambiguous: the first one is taken.
func found(at, again int64, format string, f Fingerprint, s *Search) Translation {
	t := Translation{Offset: at, Outcome: Exact, Proof: fmt.Sprintf(format, describe(f), s.First)}
	if again > 0 {
		t.Outcome, t.Again = Again, again
		if s.Last > s.First {
			t.Proof += fmt.Sprintf("; identical ones follow up to %d", s.Last)
		}
	}
	return t
}

func describe(f Fingerprint) string {
	if f.Time.IsZero() {
		return fmt.Sprintf("source offset %d, without a time", f.Offset)
	}
	return fmt.Sprintf("source offset %d, %s", f.Offset, offset.FormatTime(f.Time))
}

// decideExpired: records were removed at the source before the group read them, and may be on the target still. Nothing at
// the source tells where they begin there, so everything before the first record that is left counts as unread.
func decideExpired(r Row, e Evidence) (t Translation, ok bool) {
	if r.Around.drained() {
		return decideDrained(r, e), true
	}
	f, s, ok := pair(r.Around.At, e.At, 0)
	if !ok || !s.clean(f) {
		return t, false
	}
	m := s.Last
	t = Translation{Offset: e.Bounds.Start, Outcome: Exact}
	t.Proof = fmt.Sprintf("the commit %d expired at the source (log start %d); the first record left there is at %d, the first of the target",
		r.Committed.Offset, r.Bounds.Start, m)
	if m > e.Bounds.Start {
		t.Outcome, t.Again = Again, m-e.Bounds.Start
		t.Proof = fmt.Sprintf("the commit %d expired at the source (log start %d); the first record left there is at %d: the target's log start is taken",
			r.Committed.Offset, r.Bounds.Start, m)
	}
	return t, true
}

// drained says that the source's log is known to hold no record.
func (a *Surroundings) drained() bool {
	return a.AtEnd && a.AtStart && len(a.At) == 0 && len(a.Before) == 0
}

// decideDrained: the commit expired, and nothing is left at the source. What the target still has, or nothing, is unread.
func decideDrained(r Row, e Evidence) Translation {
	t := Translation{Offset: e.Bounds.Start, Outcome: Exact}
	t.Proof = fmt.Sprintf("nothing to carry: the commit %d expired at the source (log start %d), and neither log holds a record", r.Committed.Offset, r.Bounds.Start)
	if t.Again = e.Bounds.End - e.Bounds.Start; t.Again > 0 {
		t.Outcome = Again
		t.Proof = fmt.Sprintf("the commit %d expired at the source (log start %d), which holds no record: the target's log start is taken", r.Committed.Offset, r.Bounds.Start)
	}
	return t
}

// decideLaterTwins: a match is there, but a later identical record could be it. The first record that is as late as any
// unread one is before all of them.
func decideLaterTwins(r Row, e Evidence) (t Translation, ok bool) {
	if e.Unread == nil {
		return t, false
	}
	f, s, ok := pair(r.Around.At, e.At, 0)
	if !ok || !s.Matches || e.Unread.Offset > s.First {
		return t, false
	}
	limit := e.Bounds.End
	if f.Twins == TwinsAfter {
		limit = s.Last // with no earlier twin, what was found is unread
	}
	t = Translation{Offset: e.Unread.Offset, Outcome: Again, Again: limit - e.Unread.Offset}
	if t.Again == 0 {
		t.Outcome = Exact
	}
	t.Proof = fmt.Sprintf("identical records (%s) are at %d to %d: the first record of their time is taken", describe(f), s.First, s.Last)
	return t, true
}

// decideEdges is for positions that no record marks: a drained source, or a target whose log begins after the position.
func decideEdges(r Row, e Evidence) (t Translation, ok bool) {
	a, b := r.Around, e.Bounds
	if len(a.At) == 0 && len(a.Before) == 0 {
		if a.AtEnd && a.AtStart && b.Start == b.End {
			return Translation{Offset: b.End, Outcome: Exact, Proof: "nothing to carry: neither log holds a record"}, true
		}
		return t, false
	}
	if len(a.At) == 0 || len(e.At) == 0 || e.At[0] == nil || e.At[0].Matches {
		return t, false
	}
	// Every search must have been made and failed: what was found would be better.
	for i := range a.Before {
		if i >= len(e.Before) || e.Before[i] == nil {
			return t, false
		}
	}
	if from := e.At[0].From; from != nil && from.Offset == b.Start && from.Time.After(a.At[0].Time) && b.Start > 0 {
		return Translation{Offset: b.Start, Outcome: Again, Again: b.End - b.Start,
			Proof: fmt.Sprintf("the next record (%s) is older than the first one left on the target (%s): log start taken", describe(a.At[0]), offset.FormatTime(from.Time))}, true
	}
	return t, false
}

func (x translator) whyNoRecord() string {
	a := x.r.Around
	if len(a.At) == 0 && len(a.Before) == 0 {
		return "the source holds no record to look for, and the target does"
	}
	scanned, inconclusive, twins := 0, false, false
	var err error
	late := true // nothing on the target is as late as the records
	for _, s := range slices.Concat(x.e.At, x.e.Before) {
		if s == nil {
			continue
		}
		if s.Stamped {
			return "the target stamps records when they arrive (LogAppendTime): they cannot be found by their time"
		}
		if s.Err != nil && err == nil {
			err = s.Err
		}
		scanned = max(scanned, s.Scanned)
		inconclusive = inconclusive || !s.Matches && !s.Conclusive
		twins = twins || s.Matches
		late = late && s.From == nil
	}
	if f, ok := behind(x.r, x.e); ok {
		return fmt.Sprintf("the last record read (%s) is not on the target yet: it ends with a copy of source offset %d (log end %d)",
			describe(a.Before[0]), f.Offset, x.e.Bounds.End)
	}
	what := "the next record"
	f := Fingerprint{}
	switch {
	case len(a.At) > 0:
		f = a.At[0]
	default:
		f, what = a.Before[0], "the last record read"
	}
	switch {
	case err != nil:
		return fmt.Sprintf("searching failed: %v", err)
	case twins:
		return fmt.Sprintf("%s (%s) has identical ones, and it cannot be told which of them is on the target", what, describe(f))
	case late && len(a.At) == 0:
		return fmt.Sprintf("%s (%s) is not on the target yet (log end %d)", what, describe(f), x.e.Bounds.End)
	case late:
		return fmt.Sprintf("neither %s (%s) nor the ones before it are on the target yet (log end %d)", what, describe(f), x.e.Bounds.End)
	case inconclusive:
		return fmt.Sprintf("%s (%s) is not among the %d records from its time on", what, describe(f), scanned)
	}
	return fmt.Sprintf("%s (%s) is not on the target, and neither are the ones around it", what, describe(f))
}

func (x translator) hint() string {
	for _, s := range slices.Concat(x.e.At, x.e.Before) {
		if s != nil && !s.Matches && !s.Conclusive && s.Scanned >= x.e.Window && x.e.Window > 0 {
			return fmt.Sprintf("raise --window (now %d)", x.e.Window)
		}
	}
	if c, b := x.r.Committed, x.r.Bounds; c != nil && b != nil && c.Offset > b.End {
		return "koffset repair at the source puts the commit back into its log, and then a new export; or --skip-unresolved"
	}
	return "wait for the mirror, add another --strategy, or --skip-unresolved"
}
