package migrate

// The record strategy: what a stretch of the target's log, held against the records around a position, comes to. Pure.
//
// It rests on two things. A mirror that copies a partition into a partition keeps the order of the records: behind a copy
// of a record that was read nothing unread was copied before, and in front of the copy of the next record nothing but what
// was read. And a record is itself only where no other record of the source looks like it, which the export searched for.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/internal/text"
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

// decide is the record strategy on the stretch read so far. ok is false where it does not settle the row.
func decide(r Row, e Evidence) (t Translation, ok bool) {
	d := decision{r: r, e: e, a: r.Around}
	if t, ok := d.decide(); ok || r.Around.SearchedAll {
		return t, ok
	}
	// How it would be if nothing looked alike behind what was searched. That is not known, so it is not proven.
	all := *r.Around
	all.SearchedAll, all.SearchedBack = true, true
	d.a = &all
	if t, ok = d.decide(); ok {
		t.Outcome, t.Again, t.Latest = Unproven, 0, 0
		end := int64(0)
		if r.Bounds != nil {
			end = r.Bounds.End
		}
		t.Proof += fmt.Sprintf(", but whether other records look the same is known up to source offset %d only (log end %d)", r.Around.SearchedTo, end)
	}
	return t, ok
}

// decision is one row with what is known about it.
type decision struct {
	r Row
	e Evidence
	a *Surroundings
}

func (d decision) decide() (t Translation, ok bool) {
	if d.a.drained() {
		return d.drained()
	}
	s := d.e.Stretch
	if s == nil || s.Stamped {
		return t, false
	}
	if d.r.Bounds != nil && d.r.Committed.Offset < d.r.Bounds.Start {
		if t, ok = d.expired(); ok {
			t = d.lost(t)
		}
		return t, ok
	}
	if n := d.lastRead(); n >= 0 {
		if late, _ := d.late(n); late {
			return t, false // nothing weaker: it would read again what comes later
		}
		return d.lost(d.afterRead(n)), true
	}
	for _, by := range []func() (Translation, bool){d.beforeNext, d.earlierTwins, d.timeFloor, d.logStart} {
		if t, ok = by(); ok {
			return d.lost(t), true
		}
	}
	return t, false
}

// lost weakens what is found where the source has lost records: what was taken for a copy may be of one of those, and the
// position too early. Then the record itself is there a second time, or may be behind what was searched.
func (d decision) lost(t Translation) Translation {
	s := d.e.Stretch
	if d.a.Whole {
		return t
	}
	again, latest, why := int64(0), int64(0), ""
	seen := map[int]bool{}
	for _, run := range s.Seen {
		if run.Look < 0 {
			continue
		}
		// Behind the position what was read comes again, and what was there once already.
		if run.Offset >= t.Offset && (seen[run.Look] || run.Look >= len(d.a.At)) {
			again, latest, why = run.Offset+1-t.Offset, run.Offset+1, fmt.Sprintf("the source has lost records, and ones that look alike are there up to %d", run.Offset)
		}
		seen[run.Look] = true
	}
	if !s.AtEnd {
		again, latest, why = d.e.Bounds.End-t.Offset, d.e.Bounds.End, fmt.Sprintf("the source has lost records, and the target was searched to %d for ones that look alike (log end %d)", s.Until, d.e.Bounds.End)
	}
	if again > t.Again {
		t.Outcome, t.Again, t.Latest = Again, again, max(t.Latest, latest)
		t.Proof += "; " + why
	}
	return t
}

// print is the record at the source that a run looks like.
func (d decision) print(run Run) Fingerprint { return d.fingerprint(run.Look) }

func (d decision) fingerprint(look int) Fingerprint {
	if look < len(d.a.At) {
		return d.a.At[look]
	}
	return d.a.Before[look-len(d.a.At)]
}

// told says that headers tell the run's record from all that look like it otherwise.
func (d decision) told(run Run) bool { return d.print(run).HeadersTell && run.ByHeaders }

// surelyRead says that a run can only be a copy of a record that was read.
func (d decision) surelyRead(run Run) bool {
	if run.Look < len(d.a.At) {
		return false
	}
	f := d.print(run)
	return d.a.surelyRead(f) && (f.Twins == TwinsNone || f.Twins == TwinsBefore || d.told(run))
}

// sureNext says that a run is the copy of one unread record, and of no other.
func (d decision) sureNext(run Run) bool {
	return run.Look >= 0 && run.Look < len(d.a.At) && d.sure(run)
}

// sure says that a run is the copy of one record, and of no other.
func (d decision) sure(run Run) bool {
	f := d.print(run)
	return d.a.sure(f) && (f.Twins == TwinsNone || d.told(run))
}

// maybeUnread says that a run may be a copy of an unread record: also what looks like nothing that was sought.
func (d decision) maybeUnread(run Run) bool {
	return run.Look < len(d.a.At) || !d.surelyRead(run)
}

// maybeRead says that a run may be a copy of a record that was read, or of one that is lost at the source.
func (d decision) maybeRead(run Run) bool {
	if run.Look < 0 || run.Look >= len(d.a.At) {
		return true
	}
	f := d.print(run)
	return !d.told(run) && (f.Twins == TwinsBefore || f.Twins == TwinsBoth || !d.a.SearchedBack)
}

// lastRead is the run of the last copy of a record that was surely read, in front of any that is surely unread; -1 for none.
func (d decision) lastRead() int {
	last := -1
	for n, run := range d.e.Stretch.Seen {
		if run.Look < 0 {
			continue
		}
		if d.surelyRead(run) {
			last = n
		} else if !d.maybeRead(run) {
			break
		}
	}
	return last
}

// left bounds how many records that were read, and were not copied up to the n-th run, may follow it on the target: as many as
// lay between the position and the last record before it that is known for sure, without those that were passed since. known
// is false where there is no such record. copied counts those among them that every mirror copies.
func (d decision) left(n int) (all, copied int64, known bool) {
	passed := map[int]int64{} // by what they look like
	for _, run := range slices.Backward(d.e.Stretch.Seen[:n+1]) {
		if run.Look < len(d.a.At) {
			continue
		}
		if !d.sure(run) {
			passed[run.Look]++
			continue
		}
		between := d.a.Before[:run.Look-len(d.a.At)]
		for _, f := range between {
			if !f.Aborted {
				copied++
			}
		}
		was := d.distinct(passed, between)
		return max(0, d.between(d.print(run))-was), max(0, copied-was), true
	}
	return 0, 0, false
}

// distinct counts the records of the source that were passed: a mirror that starts again copies one twice, so no more than look
// like it there.
func (d decision) distinct(passed map[int]int64, among []Fingerprint) (n int64) {
	for look, copies := range passed {
		same := int64(0)
		for _, f := range among {
			if f.Same(d.fingerprint(look)) {
				same++
			}
		}
		n += min(copies, same)
	}
	return n
}

// between counts what may have lain between a record and the position at the source: the records that lie there, or where some
// were lost or left out of the list, all offsets.
func (d decision) between(f Fingerprint) int64 {
	i := slices.IndexFunc(d.a.Before, func(b Fingerprint) bool { return b.Offset == f.Offset })
	if !d.a.Gapless || i < 0 || slices.ContainsFunc(d.a.Before[:i], func(b Fingerprint) bool { return b.Aborted }) {
		return d.r.Committed.Offset - f.Offset - 1
	}
	return int64(i)
}

// late says that the copy ends with a record before the last one read, or that it may: the nearer ones are on their way. known is
// false where it may: all that is there looks like others, so that nobody can tell which of them it is.
func (d decision) late(n int) (late, known bool) {
	s := d.e.Stretch
	if !s.AtEnd || n < len(s.Seen)-1 {
		return false, true
	}
	_, copied, known := d.left(n)
	return !known || copied > 0, known
}

// afterRead is the position behind the last copy of a record that was read.
func (d decision) afterRead(n int) Translation {
	s := d.e.Stretch
	run := s.Seen[n]
	last := d.print(run)
	t := Translation{Offset: run.Offset + 1, Outcome: Exact, Proof: fmt.Sprintf("the last record read that is there (%s) is at %d", describe(last), run.Offset)}
	rest := s.Seen[n+1:]
	if len(rest) == 0 {
		return d.alike(t, last)
	}
	if !d.maybeRead(rest[0]) {
		t.Offset, t.Proof = rest[0].Offset, d.nextIs(rest[0])
		if d.sureNext(rest[0]) {
			return d.alike(t, d.print(rest[0]))
		}
		t.Proof += ", behind the last one read"
		t = d.alike(t, last)
		t.Proof = strings.Replace(t.Proof, "no look-alike", "no look-alike of that", 1)
		return t
	}
	left, _, known := d.left(n)
	if at, ok := d.pairwise(n, last); ok && known {
		t.Offset = at
		t.Proof += "; what follows is there record by record"
		return d.alike(t, last)
	}
	if known && left == 0 {
		return d.alike(t, last)
	}
	// What follows up to the next record that is known may have been read. As few as lay between at the source are no bound:
	// a mirror that starts again copies them twice.
	if t.Again, t.Latest = d.upToNext(rest, t.Offset); t.Again > 0 {
		t.Outcome = Again
		t.Proof += "; what follows it may have been read too"
	}
	return d.alike(t, last)
}

// upToNext counts the records of the target that may have been read up to the first that surely was not, and says where that is.
func (d decision) upToNext(runs []Run, from int64) (n, latest int64) {
	for _, run := range runs {
		if !d.maybeRead(run) {
			return n, run.Offset
		}
		n += int64(run.N)
	}
	if !d.e.Stretch.AtEnd {
		n = max(n, d.e.Bounds.End-from)
	}
	return n, d.e.Bounds.End
}

// pairwise holds the runs behind the n-th against the records of the source behind the one it is a copy of: where the copy
// has each of them up to one that is surely unread, the position lies behind as many as were read.
func (d decision) pairwise(n int, last Fingerprint) (at int64, ok bool) {
	i := slices.IndexFunc(d.a.Before, func(f Fingerprint) bool { return f.Offset == last.Offset })
	if i < 0 || slices.ContainsFunc(d.a.Before[:i], func(f Fingerprint) bool { return f.Aborted }) {
		return 0, false // between aborted ones some may have been left out of the list
	}
	source := slices.Clone(d.a.Before[:i])
	slices.Reverse(source)
	source = append(source, d.a.At...)
	rest := d.e.Stretch.Seen[n+1:]
	for k, f := range source {
		if k >= len(rest) || rest[k].Look < 0 || rest[k].N != 1 || !f.Same(d.print(rest[k])) {
			return 0, false
		}
		if d.sureNext(rest[k]) {
			return rest[i].Offset, true
		}
	}
	return 0, false
}

// beforeNext is the position at the copy of an unread record where no record that was read is there.
func (d decision) beforeNext() (t Translation, ok bool) {
	s := d.e.Stretch
	k := slices.IndexFunc(s.Seen, d.sureNext)
	if k < 0 || !d.covers(s.Seen[k].Look) {
		return t, false
	}
	// A copy in front of it that may be of an unread record is not skipped.
	first := slices.IndexFunc(s.Seen[:k+1], func(run Run) bool { return run.Look >= 0 && d.maybeUnread(run) })
	t = Translation{Offset: s.Seen[first].Offset, Outcome: Exact, Proof: d.nextIs(s.Seen[k])}
	if first < k {
		if t.Again, t.Latest = d.upToNext(s.Seen[first:], t.Offset); t.Again > 0 {
			t.Outcome = Again
			t.Proof += fmt.Sprintf("; ones that may be unread are there from %d on", t.Offset)
		}
	}
	return d.alike(t, d.print(s.Seen[k])), true
}

// covers says that the stretch began no later than any of the unread records up to one of them, so that each would have been
// seen in it.
func (d decision) covers(look int) bool {
	s := d.e.Stretch
	return s.Since.IsZero() || !slices.ContainsFunc(d.a.At[:look+1], func(f Fingerprint) bool { return f.Time.IsZero() || f.Time.Before(s.Since) })
}

func (d decision) nextIs(run Run) string {
	if run.Look == 0 {
		return fmt.Sprintf("the next record (%s) is at %d", describe(d.print(run)), run.Offset)
	}
	return fmt.Sprintf("the unread records before it are not on the target; the next one (%s) is at %d", describe(d.print(run)), run.Offset)
}

// alike adds to the proof what is known of look-alikes of the record that it rests on.
func (d decision) alike(t Translation, f Fingerprint) Translation {
	switch {
	case !d.r.Around.SearchedAll:
	case f.HeadersTell:
		t.Proof += "; its headers tell it from its look-alikes"
	case f.Twins == TwinsBefore:
		t.Proof += "; look-alikes of it were read too"
	default:
		t.Proof += fmt.Sprintf("; no look-alike (searched to %d)", d.r.Around.SearchedTo)
	}
	return t
}

// earlierTwins uses a copy that is the next record or one that was read and looks the same: nothing is skipped.
func (d decision) earlierTwins() (t Translation, ok bool) {
	s := d.e.Stretch
	k := slices.IndexFunc(s.Seen, func(run Run) bool { return run.Look == 0 })
	if k < 0 || len(d.a.At) == 0 || !d.a.SearchedAll || d.a.At[0].Twins != TwinsBefore || !d.covers(0) {
		return t, false
	}
	f := d.a.At[0]
	t = Translation{Offset: s.Seen[k].Offset, Outcome: Exact, Proof: fmt.Sprintf("the next record (%s), or an earlier identical one, is at %d", describe(f), s.Seen[k].Offset)}
	if t.Again, t.Latest = d.upToNext(s.Seen[k:], t.Offset); t.Again > 0 {
		t.Outcome = Again
	}
	return t, true
}

// timeFloor: copies are there, but which records they are of is open. The first record that is as late as any unread one is
// before all of them, whatever they look like.
func (d decision) timeFloor() (t Translation, ok bool) {
	s, u := d.e.Stretch, d.e.Unread
	k := slices.IndexFunc(s.Seen, func(run Run) bool { return run.Look >= 0 && run.Look < len(d.a.At) })
	if u == nil || k < 0 || !d.a.UnreadTimes || u.Offset > s.Seen[k].Offset {
		return t, false
	}
	limit := d.e.Bounds.End
	if n := slices.IndexFunc(s.Seen, d.sureNext); n >= 0 && s.Seen[n].Offset >= u.Offset {
		limit = s.Seen[n].Offset
	} else if f := d.print(s.Seen[k]); f.Twins == TwinsAfter && d.a.SearchedBack {
		limit = s.Seen[k].Offset // with no earlier twin, what was found is unread
	}
	t = Translation{Offset: u.Offset, Outcome: Again, Again: limit - u.Offset, Latest: limit}
	if t.Again == 0 {
		t.Outcome = Exact
	}
	t.Proof = fmt.Sprintf("identical records (%s) are at %d and elsewhere: the first record as late as any unread one is taken", describe(d.print(s.Seen[k])), s.Seen[k].Offset)
	return t, true
}

// logStart is for a target whose log begins after the position.
func (d decision) logStart() (t Translation, ok bool) {
	s, b := d.e.Stretch, d.e.Bounds
	if len(d.a.At) == 0 || slices.ContainsFunc(s.Seen, func(run Run) bool { return run.Look >= 0 }) {
		return t, false
	}
	if s.From == nil || s.From.Offset != b.Start || b.Start == 0 || !s.From.Time.After(d.a.At[0].Time) || !d.covers(0) {
		return t, false
	}
	return Translation{Offset: b.Start, Outcome: Again, Again: b.End - b.Start, Latest: b.End,
		Proof: fmt.Sprintf("the next record (%s) is older than the first one left on the target (%s): log start taken", describe(d.a.At[0]), offset.FormatTime(s.From.Time))}, true
}

// expired: records were removed at the source before the group read them, and may be on the target still. Nothing at
// the source tells where they begin there, so everything before the first record that is left counts as unread.
func (d decision) expired() (t Translation, ok bool) {
	k := slices.IndexFunc(d.e.Stretch.Seen, d.sureNext)
	if k < 0 {
		return t, false
	}
	m, start := d.e.Stretch.Seen[k].Offset, d.e.Bounds.Start
	where := "the first of the target"
	t = Translation{Offset: start, Outcome: Exact}
	if m > start {
		t.Outcome, t.Again, t.Latest, where = Again, m-start, m, "the target's log start is taken"
	}
	t.Proof = fmt.Sprintf("the commit %d expired at the source (log start %d); the first record left there is at %d: %s", d.r.Committed.Offset, d.r.Bounds.Start, m, where)
	return t, true
}

// drained says that the source's log is known to hold no record.
func (a *Surroundings) drained() bool {
	return a.AtEnd && a.AtStart && len(a.At) == 0 && len(a.Before) == 0
}

// drained: nothing is left at the source to tell where the position is. What expired there and is still on the target is unread.
func (d decision) drained() (t Translation, ok bool) {
	b, expired := d.e.Bounds, d.r.expired()
	switch {
	case b.Start == b.End && expired:
		return Translation{Offset: b.End, Outcome: Exact,
			Proof: fmt.Sprintf("nothing to carry: the commit %d expired at the source (log start %d), and neither log holds a record", d.r.Committed.Offset, d.r.Bounds.Start)}, true
	case b.Start == b.End:
		return Translation{Offset: b.End, Outcome: Exact, Proof: "nothing to carry: neither log holds a record"}, true
	case expired:
		return Translation{Offset: b.Start, Outcome: Again, Again: b.End - b.Start, Latest: b.End,
			Proof: fmt.Sprintf("the commit %d expired at the source (log start %d), which holds no record: the target's log start is taken", d.r.Committed.Offset, d.r.Bounds.Start)}, true
	}
	return t, false
}

func describe(f Fingerprint) string {
	if f.Time.IsZero() {
		return fmt.Sprintf("source offset %d, without a time", f.Offset)
	}
	return fmt.Sprintf("source offset %d, %s", f.Offset, offset.FormatTime(f.Time))
}

// whyNoRecord says why the stretch settles nothing.
func (x translator) whyNoRecord() string {
	a, s := x.r.Around, x.e.Stretch
	d := decision{r: x.r, e: x.e, a: a}
	switch {
	case a.drained():
		return "the source has no record to search for, and the target has some"
	case len(a.At)+len(a.Before) == 0:
		return "the source has no record to search for"
	case s == nil:
		return "the target was not searched"
	case s.Stamped:
		return "the target stamps records when they arrive (LogAppendTime): they cannot be found by their time"
	case s.Err != nil:
		return fmt.Sprintf("searching failed: %v", s.Err)
	}
	if n := d.lastRead(); n >= 0 {
		if _, known := d.late(n); !known {
			return fmt.Sprintf("the last record read (%s) has look-alikes that were read too, and how many of them are on the target yet cannot be told (log end %d)",
				describe(a.Before[0]), x.e.Bounds.End)
		}
		return fmt.Sprintf("the last record read (%s) is not on the target yet: it ends with a copy of source offset %d (log end %d)",
			describe(a.Before[0]), d.print(s.Seen[n]).Offset, x.e.Bounds.End)
	}
	what, f := "the last record read", Fingerprint{}
	if len(a.At) > 0 {
		what, f = "the next record", a.At[0]
	} else {
		f = a.Before[0]
	}
	switch {
	case slices.ContainsFunc(s.Seen, func(run Run) bool { return run.Look >= 0 }):
		return fmt.Sprintf("%s (%s) has look-alikes, and it cannot be told which of them is on the target", what, describe(f))
	case s.From == nil && !s.Since.IsZero() && len(a.At) == 0:
		return fmt.Sprintf("%s (%s) is not on the target yet (log end %d)", what, describe(f), x.e.Bounds.End)
	case s.From == nil && !s.Since.IsZero():
		return fmt.Sprintf("neither %s (%s) nor the ones before it are on the target yet (log end %d)", what, describe(f), x.e.Bounds.End)
	case !s.AtEnd:
		return fmt.Sprintf("%s (%s) is not among the %s from its time on", what, describe(f), text.Plural(s.Scanned, "record"))
	}
	return fmt.Sprintf("%s (%s) is not on the target, and neither are the ones around it", what, describe(f))
}

// unreadableHint is the next step where the target cannot be read.
func unreadableHint(err error) string {
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return "the user needs READ on the topic on the target; {{skip-unresolved}} does the others"
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return "the user needs READ on the group on the target; {{skip-unresolved}} does the others"
	}
	return "{{skip-unresolved}} does the others"
}

func (x translator) hint() string {
	if s := x.e.Stretch; s != nil && s.Err != nil {
		return unreadableHint(s.Err)
	}
	if s := x.e.Stretch; s != nil && !s.AtEnd && x.e.Window > 0 && s.Scanned >= x.e.Window {
		return fmt.Sprintf("raise {{window}} (now %d)", x.e.Window)
	}
	if c, b := x.r.Committed, x.r.Bounds; c != nil && b != nil && c.Offset > b.End {
		return "{{repair}} at the source puts the commit back into its log, and then a new export; or {{skip-unresolved}}"
	}
	return "wait for the mirror, add another {{strategy}}, or {{skip-unresolved}}"
}
