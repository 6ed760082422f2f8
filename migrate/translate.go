package migrate

// Which offset a position is on another cluster. Pure: the same row and evidence give the same answer.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/text"
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

// ParseStrategies reads a list such as same,record,mm2. The error is a *offset.SyntaxError; what is the list's name in it.
func ParseStrategies(what string, list []string) ([]Strategy, error) {
	var out []Strategy
	for _, word := range list {
		s, err := offset.ParsePolicy(what, strings.TrimSpace(word), Strategies()...)
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
	Offset  int64
	Outcome Outcome
	// Again bounds the records of the target from Offset to the point by which a copy of everything that was read was there, each
	// as often as it lies there, and Latest is the offset that this point lies at or before; with Again alone. What a mirror copied a
	// second time behind that point comes to every reader.
	Again  int64
	Latest int64
	// Growing says that the bound is of what the target has now: nobody knows how much of what was read is still to be copied there,
	// which comes again too.
	Growing  bool
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
	// SameCluster says that source and target have one cluster id; SameTopic that the topic is proved to be the same log,
	// Recreated that it has one name and two ids on one cluster, and Renamed that it is another topic of that cluster.
	SameCluster, SameTopic, Recreated, Renamed bool
	// AtSame are the target's records at the offsets of the row's fingerprints, by offset, and the first one that lies where the
	// source has none between them and the position; nil where they were not read.
	AtSame map[int64]Fingerprint
	// Stretch is what the target's log holds of the records around the position; nil where it was not searched.
	Stretch *Stretch
	// Elsewhere says, in words, that a record of the topic lies on another partition of the target than at the source, so
	// that the partitions were dealt anew: no position of one partition says anything then. Empty where no such record was
	// found.
	Elsewhere string
	// Unread is the first record of the target at or after the smallest time of an unread record.
	Unread *offset.Record
	// NextTime is the first record of the target at or after the time of the next unread record; asked for by timestamp.
	NextTime *offset.Record
	// Syncs are the pairs known for the partition, sorted by source offset; Table those of a file.
	Syncs, Table []Sync
	// Checkpoint is MirrorMaker 2's own translation for the group, the latest at or before the position.
	Checkpoint *Sync
	// Apart is what lies on the target between the position and the target group's commit; nil where it was not counted.
	Apart *Between
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
	if r.Provisional {
		return Translation{Outcome: Unresolved, Reasons: []string{"a transaction that was open when the export was made holds a commit for it: what is stored then is not known"},
			Hint: "export it again when the transaction has ended"}
	}
	if r.Committed == nil {
		if r.Marker != "" {
			return Translation{Outcome: Unresolved, Reasons: []string{fmt.Sprintf("the source says %q: it has not read the partition yet", r.Marker)}}
		}
		if r.Error != "" {
			return Translation{Outcome: Unresolved, Reasons: []string{"the export has no offset for it: " + r.Error}}
		}
		return Translation{Outcome: NoCommit, Proof: "the group has no " + r.Stores() + " there"}
	}
	if e.Err != nil {
		why := fmt.Sprintf("the target cannot be read: %v", e.Err)
		var count *PartitionsError
		if errors.As(e.Err, &count) {
			why = count.Error() // it was read, and does not fit
		}
		return Translation{Outcome: Unresolved, Reasons: []string{why}, Hint: unreadableHint(e.Err)}
	}
	if e.Bounds == nil {
		return Translation{Outcome: Unresolved, Reasons: []string{"the target's log start and end are not known"}}
	}
	x := translator{r: r, e: e, p: r.Committed.Offset, rules: rules}
	var reasons []string
	hint := x.hint()
	for _, s := range rules.Strategies {
		t, why := x.try(s)
		if e.Elsewhere != "" && why == "" && (s == ByRecord || s == Same && !e.SameTopic) {
			t.Outcome, t.Again, t.Latest, t.Proof = Unproven, 0, 0, "records are on other partitions on the target: "+e.Elsewhere
		}
		switch {
		case why != "":
		case t.Offset < e.Bounds.Start || t.Offset > e.Bounds.End:
			why = fmt.Sprintf("offset %d is outside the target's log [%d, %d]", t.Offset, e.Bounds.Start, e.Bounds.End)
		case rules.tooMany(t) != "":
			why = rules.tooMany(t)
		case t.Outcome == Unproven && !rules.AllowUnproven:
			why = fmt.Sprintf("offset %d is not proven: it may skip records, which is not allowed: %s", t.Offset, t.Proof)
			hint = "{{allow-unproven}} takes it, or {{skip-unresolved}}"
		default:
			t.Strategy, t.Reasons = s, reasons
			return t
		}
		reasons = append(reasons, string(s)+": "+why)
	}
	return Translation{Outcome: Unresolved, Reasons: reasons, Hint: hint}
}

// tooMany says why a translation may read more records again than are allowed.
func (r Rules) tooMany(t Translation) string {
	switch {
	case t.Outcome != Again || r.MaxAgain == nil:
		return ""
	case t.Again > *r.MaxAgain:
		return fmt.Sprintf("offset %d would read up to %s again, %d are allowed", t.Offset, text.Plural(t.Again, "record"), *r.MaxAgain)
	case t.Growing:
		return fmt.Sprintf("offset %d would read up to %s again, and what the mirror has still to copy: how many that is is not known, %d are allowed", t.Offset, text.Plural(t.Again, "record"), *r.MaxAgain)
	}
	return ""
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
	case x.e.SameTopic:
		return exact("the same topic of the same cluster")
	case x.e.Renamed:
		return t, "the target is another topic of the same cluster"
	case x.e.SameCluster && x.r.Around == nil:
		return Translation{Offset: x.p, Outcome: Unproven, Proof: "the number as it was: the cluster is the same, and no topic id tells whether the topic is"}, ""
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
	// A copy that has lost one record and has another one twice is at the same offsets again: what lies between tells.
	from, until := x.r.gap()
	for at := range x.e.AtSame {
		if at >= from && at < until {
			return t, fmt.Sprintf("a record is at %d on the target, and none at the source", at)
		}
	}
	a := x.r.Around
	if f, ok := x.anchor(a.At, a.sure); ok {
		return exact("the next record (%s) is at the same offset on both; no look-alike (searched to %d)", describe(f), a.SearchedTo)
	}
	// Behind the position a run of records that look alike may have lost one, so that the last of them is an unread one.
	if f, ok := x.anchor(a.Before[:min(1, len(a.Before))], a.sure); ok {
		return exact("the last record read (%s) is at the same offset on both; no look-alike (searched to %d)", describe(f), a.SearchedTo)
	}
	return t, "no record at the position is at the same offset on the target"
}

// anchor finds a record that nothing else looks like at its own offset on the target, with everything between it and the
// position at its own offset too: records that look alike prove nothing alone. It returns the record next to the position.
func (x translator) anchor(fs []Fingerprint, sure func(Fingerprint) bool) (Fingerprint, bool) {
	for _, f := range fs {
		if _, there := x.e.AtSame[f.Offset]; !there {
			return f, false
		}
		if f.Twins == TwinsNone && sure(f) {
			return fs[0], true
		}
	}
	return Fingerprint{}, false
}

func (x translator) expired() bool { return x.r.expired() }

// outside says that the position is not in the source's log, so that no record there stands for it.
func (x translator) outside() string {
	if b := x.r.Bounds; b != nil && x.p > b.End {
		return fmt.Sprintf("the commit %d is past the source's log end %d: reset the group there first", x.p, b.End)
	}
	return ""
}

// mm2 uses the syncs where they are known, and MirrorMaker's own translation of the group otherwise. A checkpoint is believed
// no further than the syncs prove: it may be left from before a topic was created again, or from another mirror.
func (x translator) mm2() (t Translation, why string) {
	if t, why = x.pairs(x.e.Syncs, "MirrorMaker's offset syncs"); why == "" {
		return t, ""
	}
	c := x.e.Checkpoint
	switch {
	case c == nil:
		return t, why
	case c.Source > x.p:
		return t, fmt.Sprintf("MirrorMaker's checkpoint is at %d, the group at %d: it was moved back since", c.Source, x.p)
	case len(x.e.Syncs) > 0 && c.Target > x.e.Syncs[0].Target:
		return t, fmt.Sprintf("MirrorMaker's checkpoint translates %d to %d, but its offset syncs begin with %d at %d: they contradict it",
			c.Source, c.Target, x.e.Syncs[0].Source, x.e.Syncs[0].Target)
	}
	// A checkpoint tells a position that skips nothing, but not which sync it came from: how much lies between is bounded by
	// the target's end alone.
	return Translation{Offset: c.Target, Outcome: Again, Again: max(0, x.e.Bounds.End-c.Target), Latest: x.e.Bounds.End, Growing: true,
		Proof: fmt.Sprintf("MirrorMaker's checkpoint translates %d to %d; the bound is the log end %d, and what is not copied yet", c.Source, c.Target, x.e.Bounds.End)}, ""
}

// pairs applies MirrorMaker's rule: the latest pair at or before the position; at it the number itself, after it the next
// offset, since what lies between may have been copied with or without gaps, and more than once: a MirrorMaker that starts again
// copies records a second time, and the sync of the first of them may be lost, because too many waited or none could be written.
// So what is read again is bounded by the next pair, whose record was copied behind all that was read, and by the log end where
// there is none.
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
	t = Translation{Offset: s.Target + 1, Outcome: Again, Latest: x.e.Bounds.End, Proof: fmt.Sprintf("%s: %d is %d, and %d is after it", what, s.Source, s.Target, x.p)}
	between := x.p - s.Source - 1
	switch {
	case between == 0:
		t.Outcome, t.Latest = Exact, 0
		if i < len(syncs) {
			t.Offset = min(t.Offset, syncs[i].Target)
		}
		return t, ""
	case i < len(syncs): // the next one is of an unread record
		t.Latest = syncs[i].Target
		t.Offset = min(t.Offset, t.Latest)
		t.Again = t.Latest - t.Offset
		t.Proof += fmt.Sprintf(", before %d, which is %d", syncs[i].Source, syncs[i].Target)
	default: // whether the mirror has come as far as the group is not known
		t.Again, t.Growing = max(between, t.Latest-t.Offset), true
		t.Proof += fmt.Sprintf("; no later one: the bound is the log end %d, and what is not copied yet", t.Latest)
	}
	if t.Again == 0 {
		t.Outcome, t.Latest = Exact, 0
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
