package migrate

// Which offset a position is on another cluster. Pure: the same row and evidence give the same answer.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/offset"
)

// Strategy is a way to translate a position.
type Strategy string

// The strategies, in the order in which they are usually preferred.
const (
	Same        Strategy = "same"         // the same number: the same cluster, or the same record at it
	ByRecord    Strategy = "record"       // the record itself, found on the other cluster
	ByMM2       Strategy = "mm2"          // MirrorMaker 2's offset syncs and checkpoints
	ByTable     Strategy = "table"        // pairs of offsets from a file
	ByTimestamp Strategy = "timestamp"    // the first record at or after the time of the next unread one; it can skip
	ByDistance  Strategy = "end-distance" // as far from the end as at the source; it can skip
)

// Strategies are all strategies.
func Strategies() []Strategy {
	return []Strategy{Same, ByRecord, ByMM2, ByTable, ByTimestamp, ByDistance}
}

// DefaultStrategies are tried where none is named.
func DefaultStrategies() []Strategy { return []Strategy{Same, ByRecord} }

// Proves says that the strategy never skips an unread record.
func (s Strategy) Proves() bool { return s != ByTimestamp && s != ByDistance }

// ParseStrategies reads a list such as same,record,mm2. The error is a *offset.SyntaxError.
func ParseStrategies(list []string) ([]Strategy, error) {
	var out []Strategy
	for _, word := range list {
		s, err := offset.ParsePolicy("--strategy", strings.TrimSpace(word), Strategies()...)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out, nil
}

// Outcome says how good a translated position is.
type Outcome string

// The outcomes.
const (
	Exact      Outcome = "exact"         // the next record is the one that the group would have read next
	Again      Outcome = "at-most-again" // at most so many records are read again, none is skipped
	Unproven   Outcome = "unproven"      // may skip or repeat
	Unresolved Outcome = "unresolved"    // no strategy found an offset
	NoCommit   Outcome = "no-commit"     // the group has none there, and gets none
)

// Translation is the answer for one row.
type Translation struct {
	Offset   int64
	Outcome  Outcome
	Again    int64 // at most so many offsets are read again; with Again alone
	Strategy Strategy
	// Proof says how it is known, in words.
	Proof string
	// Reasons say why the strategies that were preferred gave no answer, one line each.
	Reasons []string
	// Hint is the next step for an unresolved row.
	Hint string
}

// Label is the outcome in words: exact, at-most-20-again, unproven, unresolved.
func (t Translation) Label() string {
	if t.Outcome == Again {
		return fmt.Sprintf("at-most-%d-again", t.Again)
	}
	return string(t.Outcome)
}

// Resolved says that there is an offset.
func (t Translation) Resolved() bool {
	return t.Outcome == Exact || t.Outcome == Again || t.Outcome == Unproven
}

// Sync says that the record at one offset of the source is at another one of the target.
type Sync struct{ Source, Target int64 }

// Evidence is what is known about one row on the target. Whatever was not asked for, or does not exist, is nil.
type Evidence struct {
	// Bounds of the target partition.
	Bounds *offset.Bounds
	// SameCluster says that source and target have one cluster id; SameTopic that the topic has one name and one id there,
	// and Recreated that it has one name and two ids.
	SameCluster, SameTopic, Recreated bool
	// AtSame are the target's records at the offsets of the row's fingerprints, by offset; nil where they were not read.
	AtSame map[int64]Fingerprint
	// At and Before are the searches for the row's fingerprints, in their order; nil where one was not looked for yet.
	At, Before []*Search
	// Unread is the first record of the target at or after the smallest time of an unread record.
	Unread *offset.Record
	// NextTime is the first record of the target at or after the time of the next unread record; asked for by timestamp.
	NextTime *offset.Record
	// Syncs are the pairs known for the partition, sorted by source offset; Table those of a file.
	Syncs, Table []Sync
	// Checkpoint is MirrorMaker 2's own translation for the group, the latest at or before the position.
	Checkpoint *Sync
	// Window is how many records a search compares.
	Window int
	// Err is why the target partition could not be read.
	Err error
}

// Rules are the inputs of Translate beside row and evidence.
type Rules struct {
	Strategies    []Strategy
	AllowUnproven bool
	// MaxAgain refuses translations that read more than so many records again; nil is no limit.
	MaxAgain *int64
}

// Translate says where the row's position is on the target. It is pure.
func Translate(r Row, e Evidence, rules Rules) Translation {
	if r.Gone {
		return Translation{Outcome: NoCommit, Proof: "the topic or partition does not exist any more at the source"}
	}
	if r.Committed == nil {
		if r.Marker != "" {
			return Translation{Outcome: Unresolved, Reasons: []string{fmt.Sprintf("the source says %q: it has not read the partition yet", r.Marker)}}
		}
		if r.Error != "" {
			return Translation{Outcome: Unresolved, Reasons: []string{"the export has no offset for it: " + r.Error}}
		}
		return Translation{Outcome: NoCommit, Proof: "the group has no commit there"}
	}
	if e.Err != nil {
		return Translation{Outcome: Unresolved, Reasons: []string{fmt.Sprintf("the target cannot be read: %v", e.Err)}}
	}
	if e.Bounds == nil {
		return Translation{Outcome: Unresolved, Reasons: []string{"the target's log start and end are not known"}}
	}
	x := translator{r: r, e: e, p: r.Committed.Offset, rules: rules}
	var reasons []string
	for _, s := range rules.Strategies {
		t, why := x.try(s)
		switch {
		case why != "":
		case t.Offset < e.Bounds.Start || t.Offset > e.Bounds.End:
			why = fmt.Sprintf("offset %d is outside the target's log [%d, %d]", t.Offset, e.Bounds.Start, e.Bounds.End)
		case t.Outcome == Again && rules.MaxAgain != nil && t.Again > *rules.MaxAgain:
			why = fmt.Sprintf("offset %d would read up to %d records again, %d are allowed", t.Offset, t.Again, *rules.MaxAgain)
		case t.Outcome == Unproven && !rules.AllowUnproven:
			why = fmt.Sprintf("offset %d is not proven: it may skip records (--allow-unproven takes it)", t.Offset)
		default:
			t.Strategy, t.Reasons = s, reasons
			return t
		}
		reasons = append(reasons, string(s)+": "+why)
	}
	return Translation{Outcome: Unresolved, Reasons: reasons, Hint: x.hint()}
}

type translator struct {
	r     Row
	e     Evidence
	p     int64
	rules Rules
}

func (x translator) try(s Strategy) (t Translation, why string) {
	switch s {
	case Same:
		return x.same()
	case ByRecord:
		return x.record()
	case ByMM2:
		return x.mm2()
	case ByTable:
		return x.pairs(x.e.Table, "the table")
	case ByTimestamp:
		return x.timestamp()
	case ByDistance:
		return x.distance()
	}
	return t, "no such strategy"
}

func (x translator) same() (t Translation, why string) {
	exact := func(format string, args ...any) (Translation, string) {
		return Translation{Offset: x.p, Outcome: Exact, Proof: fmt.Sprintf(format, args...)}, ""
	}
	switch {
	case x.e.Recreated:
		return t, "the topic was deleted and created again on this cluster: its id is another one"
	case x.e.SameCluster && x.e.SameTopic:
		return exact("the same topic of the same cluster")
	case x.e.SameCluster:
		return t, "the target is another topic of the same cluster"
	case x.r.Around == nil:
		return Translation{Offset: x.p, Outcome: Unproven, Proof: "the number as it was: nothing was compared"}, ""
	}
	if outside := x.outside(); outside != "" {
		return t, outside
	}
	if x.expired() {
		return t, fmt.Sprintf("the commit %d expired at the source (log start %d): nothing there can be compared", x.p, x.r.Bounds.Start)
	}
	for _, f := range slices.Concat(x.r.Around.At, x.r.Around.Before) {
		if got, there := x.e.AtSame[f.Offset]; there && !got.Same(f) {
			return t, fmt.Sprintf("another record is at %d on the target", f.Offset)
		}
	}
	if f, ok := x.anchor(x.r.Around.At); ok {
		return exact("the next record (%s) is at the same offset on both", describe(f))
	}
	// Behind the position a run of records that look alike may have lost one, so that the last of them is an unread one.
	if f, ok := x.anchor(x.r.Around.Before); ok && f.Twins == TwinsNone {
		return exact("the last record read (%s) is at the same offset on both", describe(f))
	}
	return t, "no record at the position is at the same offset on the target"
}

// anchor finds a record that nothing else looks like at its own offset on the target, with everything between it and the
// position at its own offset too: records that look alike prove nothing alone. It returns the record next to the position.
func (x translator) anchor(fs []Fingerprint) (Fingerprint, bool) {
	for _, f := range fs {
		if _, there := x.e.AtSame[f.Offset]; !there {
			return f, false
		}
		if f.Twins == TwinsNone {
			return fs[0], true
		}
	}
	return Fingerprint{}, false
}

func (x translator) expired() bool { return x.r.Bounds != nil && x.p < x.r.Bounds.Start }

// outside says that the position is not in the source's log, so that no record there stands for it.
func (x translator) outside() string {
	if b := x.r.Bounds; b != nil && x.p > b.End {
		return fmt.Sprintf("the commit %d is past the source's log end %d: reset the group there first", x.p, b.End)
	}
	return ""
}

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
			return Translation{Offset: b.End, Outcome: Exact, Proof: "source drained: it holds no record, and neither does the target"}, true
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
	return "wait for the mirror, add another --strategy, or --skip-unresolved"
}

// mm2 uses the syncs where they are known, and MirrorMaker's own translation of the group otherwise.
func (x translator) mm2() (t Translation, why string) {
	t, why = x.pairs(x.e.Syncs, "MirrorMaker's offset syncs")
	c := x.e.Checkpoint
	if c == nil || c.Source > x.p {
		if why != "" && c != nil {
			why = fmt.Sprintf("MirrorMaker's checkpoint is of %d, the group stands at %d: it was moved back since", c.Source, x.p)
		}
		return t, why
	}
	if why == "" && (t.Outcome == Exact || t.Offset >= c.Target) {
		return t, ""
	}
	// A checkpoint tells a position that skips nothing, but not which sync it came from: how much lies between is bounded by
	// the target's end alone.
	again := max(0, x.e.Bounds.End-c.Target)
	return Translation{Offset: c.Target, Outcome: Again, Again: again,
		Proof: fmt.Sprintf("MirrorMaker's checkpoint translates %d to %d", c.Source, c.Target)}, ""
}

// pairs applies MirrorMaker's rule: the latest pair at or before the position; at it the number itself, after it the next
// offset, since what lies between may have been copied with or without gaps.
func (x translator) pairs(syncs []Sync, what string) (t Translation, why string) {
	i, at := slices.BinarySearchFunc(syncs, x.p, func(s Sync, p int64) int { return int(min(1, max(-1, s.Source-p))) })
	if at {
		return Translation{Offset: syncs[i].Target, Outcome: Exact, Proof: fmt.Sprintf("%s: %d is %d", what, x.p, syncs[i].Target)}, ""
	}
	if len(syncs) == 0 {
		return t, what + " say nothing about the partition"
	}
	if i == 0 {
		return t, fmt.Sprintf("%s begin at %d, after the position %d", what, syncs[0].Source, x.p)
	}
	s := syncs[i-1]
	t = Translation{Offset: s.Target + 1, Outcome: Again, Again: x.p - s.Source - 1,
		Proof: fmt.Sprintf("%s: %d is %d, and %d lies after it", what, s.Source, s.Target, x.p)}
	if t.Again == 0 {
		t.Outcome = Exact
	}
	return t, ""
}

func (x translator) timestamp() (t Translation, why string) {
	switch a := x.r.Around; {
	case a == nil:
		return t, "the export does not know the time of the next record"
	case len(a.At) == 0 && a.AtEnd:
		return Translation{Offset: x.e.Bounds.End, Outcome: Unproven, Proof: "the group had read everything: the target's log end is taken"}, ""
	case len(a.At) == 0 || a.EarliestUnread.IsZero():
		return t, "the next record has no time"
	case x.e.NextTime == nil:
		return t, fmt.Sprintf("the target has no record at or after %s", offset.FormatTime(a.EarliestUnread))
	}
	return Translation{Offset: x.e.NextTime.Offset, Outcome: Unproven,
		Proof: fmt.Sprintf("the first record at or after %s, the time of the next one", offset.FormatTime(x.r.Around.EarliestUnread))}, ""
}

func (x translator) distance() (t Translation, why string) {
	if x.r.Bounds == nil {
		return t, "the source's log end is not known"
	}
	d := max(0, x.r.Bounds.End-x.p)
	at := max(x.e.Bounds.Start, x.e.Bounds.End-d)
	return Translation{Offset: at, Outcome: Unproven, Proof: fmt.Sprintf("%d before the end, as at the source", d)}, ""
}
