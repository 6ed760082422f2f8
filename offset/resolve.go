package offset

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/koffset/koffset/internal/text"
)

// Target is the answer of Resolve for one partition.
type Target struct {
	// Leave says that a policy leaves the partition as it is; Offset means nothing then.
	Leave bool
	// Offset is the next offset to read: never negative, and inside [log start, log end] unless the rules say otherwise.
	Offset int64
	// LeaderEpoch is the epoch of that position where a broker or the copied commit told it.
	LeaderEpoch LeaderEpoch
	// Metadata is what was copied along with a foreign commit; nil where nothing was.
	Metadata *string
	Reason   Reason
	// Found is the time of the record at Offset, where the lookup told it.
	Found time.Time
	// Detail says in words what the reason leaves open, such as which end was taken where no record is after a time.
	Detail string
	// Asked is the number that was asked for, where the rules changed it.
	Asked *int64
}

// Refusal is why a position has no target on a partition under the rules in force.
type Refusal struct {
	Reason Reason
	Asked  *int64 // the number that was asked for, where there is one
	Bounds *Bounds
	Detail string
	Hint   string
	Err    error // the cause, where the partition could not be read
}

func (r *Refusal) Error() string { return r.Detail }

// ErrorKind is refused, or that of the cause where the partition could not be read.
func (r *Refusal) ErrorKind() ErrorKind {
	if r.Err != nil {
		return KindOf(r.Err)
	}
	return KindRefused
}

// Unwrap returns the cause, where the partition could not be read.
func (r *Refusal) Unwrap() error { return r.Err }

// Resolve says which offset a position means on one partition. It is pure: the same position, facts and rules give the
// same target. The error is always a *Refusal.
func Resolve(part Partition, pos Position, f Facts, r Rules) (Target, error) {
	if f.Err != nil {
		return Target{}, &Refusal{Reason: ReasonUnreadable, Detail: fmt.Sprintf("%s: %v", part, f.Err), Err: f.Err}
	}
	if f.Bounds == nil {
		return Target{}, &Refusal{Reason: ReasonUnreadable, Detail: fmt.Sprintf("%s: its log start and end are not known", part), Err: errNoBounds}
	}
	x := resolver{part: part, f: f, r: r, b: *f.Bounds, end: f.Bounds.EndFor(r.Isolation)}
	one, ok := pos.For(part)
	if !ok {
		return x.ifNoCommit(ReasonNotListed, "the map names no offset for it")
	}
	return x.resolve(one)
}

var errNoBounds = errors.New("bounds not read")

type resolver struct {
	part Partition
	f    Facts
	r    Rules
	b    Bounds
	end  int64 // under the isolation in force
}

func (x resolver) resolve(p Position) (Target, error) {
	switch p.Kind {
	case Earliest:
		return x.start(ReasonLogStart, ""), nil
	case Latest:
		return x.latest(""), nil
	case Exact:
		return x.exact(p.N)
	case FromStart:
		return x.shift(x.b.Start, p.N, "log start")
	case FromEnd:
		return x.shift(x.end, -p.N, "log end")
	case AfterStart:
		return x.after(p.N)
	case Current, FromCurrent:
		return x.current(p)
	case AtTime:
		return x.atTime(p.At)
	case MaxTimestamp:
		return x.maxTimestamp()
	case LocalStart:
		return x.tiered(x.f.LocalStart, ReasonLocalStart)
	case TieredEnd:
		return x.tiered(x.f.TieredEnd, ReasonTieredEnd)
	case OfGroup, OfFile, OfCheckpoint, OfStore:
		return x.foreign(p)
	case CurrentAt, OfGroupAt:
		return x.past(p)
	}
	return Target{}, x.refuse(ReasonUnreadable, nil, "", "%s: %q is not a position on a partition", x.part, p)
}

func (x resolver) start(why Reason, detail string) Target {
	return Target{Offset: x.b.Start, LeaderEpoch: x.f.StartEpoch, Reason: why, Detail: detail}
}

func (x resolver) latest(detail string) Target {
	why := ReasonLogEnd
	if x.r.Isolation == ReadCommitted && x.b.LastStable < x.b.End {
		why = ReasonLastStable
	}
	t := Target{Offset: x.end, Reason: why, Detail: detail}
	if why == ReasonLogEnd {
		t.LeaderEpoch = x.f.EndEpoch
	}
	return t
}

func (x resolver) refuse(why Reason, asked *int64, hint, format string, args ...any) *Refusal {
	b := x.b
	return &Refusal{Reason: why, Asked: asked, Bounds: &b, Hint: hint, Detail: fmt.Sprintf(format, args...)}
}

// bounded accepts n where it lies in [start, end], and otherwise lets the policy decide. The end itself is a position:
// the next record to come.
func (x resolver) bounded(n int64, why Reason, epoch LeaderEpoch) (Target, error) {
	if n >= x.b.Start && n <= x.end {
		return Target{Offset: n, Reason: why, LeaderEpoch: epoch}, nil
	}
	return x.outside(n, fmt.Sprintf("offset %d", n))
}

const hintRange = "choose an offset in that range, or add {{out-of-range clamp}} or skip"

// exact is a number that was typed. One that is far outside the log, and of a length that the seconds or milliseconds of these decades
// have, was more likely meant as a time.
func (x resolver) exact(n int64) (Target, error) {
	t, err := x.bounded(n, ReasonExact, LeaderEpoch{})
	var no *Refusal
	if errors.As(err, &no) && no.Reason == ReasonOutOfRange {
		const from, to = 946684800, 4102444800 // the years 2000 and 2100
		for _, u := range []struct {
			unit string
			in   int64
		}{{"s", 1}, {"ms", 1000}} {
			if n >= from*u.in && n < to*u.in {
				no.Hint = fmt.Sprintf("write @%d%s if a time is meant; else %s", n, u.unit, hintRange)
			}
		}
	}
	return t, err
}

func (x resolver) outside(n int64, what string) (Target, error) {
	asked := &n
	side, clamped := "below log start", x.start(ReasonClampedToStart, "")
	if n > x.end {
		side, clamped = "past log end", x.latest("")
		clamped.Reason = ReasonClampedToEnd
	}
	switch x.r.OutOfRange {
	case OutOfRangeClamp:
		clamped.Asked = asked
		clamped.Detail = fmt.Sprintf("%s is %s %d", what, side, clamped.Offset)
		return clamped, nil
	case OutOfRangeSkip:
		return Target{Leave: true, Reason: ReasonSkipped, Asked: asked, Detail: fmt.Sprintf("%s is %s %d", what, side, clamped.Offset)}, nil
	}
	end := "log end"
	if x.end < x.b.End {
		end = "last stable offset"
	}
	return Target{}, x.refuse(ReasonOutOfRange, asked, hintRange,
		"%s: %s is outside the log: log start %d, %s %d", x.part, what, x.b.Start, end, x.end)
}

// shift adds a distance; an overflow is a refusal, never a wrapped number.
func (x resolver) shift(base, n int64, from string) (Target, error) {
	if (n > 0 && base > math.MaxInt64-n) || (n < 0 && base < math.MinInt64-n) {
		return Target{}, x.refuse(ReasonOutOfRange, nil, "", "%s: %s %d shifted by %d is larger than any offset", x.part, from, base, n)
	}
	to := base + n
	if to >= x.b.Start && to <= x.end {
		return Target{Offset: to, Reason: ReasonShifted}, nil
	}
	return x.outside(to, fmt.Sprintf("%s %d%+d = %d", from, base, n, to))
}

// after is "+N as an end": an end past the log end is not an error, because the run waits for the records to come.
func (x resolver) after(n int64) (Target, error) {
	from := x.b.Start
	if x.f.From != nil {
		from = *x.f.From
	}
	if from > math.MaxInt64-n {
		return Target{}, x.refuse(ReasonOutOfRange, nil, "", "%s: %d+%d is larger than any offset", x.part, from, n)
	}
	return Target{Offset: from + n, Reason: ReasonShifted}, nil
}

func (x resolver) current(p Position) (Target, error) {
	c := x.f.Committed
	if c == nil {
		return x.ifNoCommit(ReasonNoCommit, "the group has no commit for it")
	}
	if c.Offset < 0 {
		return x.ifNoCommit(ReasonNegative, fmt.Sprintf("the group's commit is %d, which is not a valid offset", c.Offset))
	}
	if p.Kind == FromCurrent && p.N != 0 {
		return x.shift(c.Offset, p.N, "commit")
	}
	return x.stored(c.Offset, c.LeaderEpoch, ReasonCommitted, "the commit")
}

// stored is a number that was good once: a commit, or a value from a file. Below the log start it has expired.
func (x resolver) stored(n int64, epoch LeaderEpoch, why Reason, what string) (Target, error) {
	if n >= x.b.Start {
		if n <= x.b.End {
			// A read_committed reader can stand past the last stable offset: its commit is still inside the log.
			return Target{Offset: n, LeaderEpoch: epoch, Reason: why}, nil
		}
		return x.outside(n, fmt.Sprintf("%s %d", what, n))
	}
	lost := fmt.Sprintf("%s %d is below log start %d: %s expired unread", what, n, x.b.Start, text.Plural(x.b.Start-n, "offset"))
	switch x.r.IfExpired {
	case IfExpiredEarliest:
		t := x.start(ReasonExpired, lost)
		t.Asked = &n
		return t, nil
	case IfExpiredLatest:
		t := x.latest(lost)
		t.Reason, t.Asked = ReasonExpired, &n
		return t, nil
	}
	if x.r.OutOfRange == OutOfRangeClamp || x.r.OutOfRange == OutOfRangeSkip {
		return x.outside(n, fmt.Sprintf("%s %d", what, n))
	}
	return Target{}, x.refuse(ReasonExpired, &n, "add {{if-expired earliest}} to take the log start", "%s: %s (log end %d)", x.part, lost, x.end)
}

func (x resolver) ifNoCommit(why Reason, detail string) (Target, error) {
	switch x.r.IfNoCommit {
	case IfNoCommitSkip:
		return Target{Leave: true, Reason: ReasonSkipped, Detail: detail}, nil
	case IfNoCommitEarliest:
		return x.start(why, detail+": log start taken"), nil
	case IfNoCommitLatest:
		t := x.latest(detail + ": log end taken")
		t.Reason = why
		return t, nil
	}
	return Target{}, x.refuse(why, nil, "add {{if-no-commit skip}}, earliest or latest", "%s: %s", x.part, detail)
}

func (x resolver) atTime(at Instant) (Target, error) {
	f := x.f.Found
	if f == nil || f.Offset >= x.end && x.r.Isolation == ReadCommitted {
		return x.noRecord(at)
	}
	t := Target{Offset: f.Offset, LeaderEpoch: f.LeaderEpoch, Found: f.Time, Reason: ReasonRecord}
	if f.Offset > x.b.Start || x.b.Start == 0 {
		return t, nil
	}
	// The hit is the first record left, and records before it are gone: some of those may have been at or after the time.
	t.Reason = ReasonRetention
	t.Detail = fmt.Sprintf("first retained record, of %s; earlier ones may have expired (log start %d)", FormatTime(f.Time), x.b.Start)
	if x.r.IfExpired == IfExpiredFail {
		return Target{}, x.refuse(ReasonRetention, nil, "leave out {{if-expired fail}} to start at the first record left",
			"%s: %s may be older than the log: the %s", x.part, FormatTime(at.Time), t.Detail)
	}
	return t, nil
}

func (x resolver) noRecord(at Instant) (Target, error) {
	why, detail := ReasonNoRecord, fmt.Sprintf("no record at or after %s; log end %d", FormatTime(at.Time), x.end)
	if x.b.Empty(x.r.Isolation) {
		why, detail = ReasonEmpty, fmt.Sprintf("the partition is empty; log end %d", x.end)
	}
	var t Target
	switch x.r.IfNone {
	case IfNoneFail:
		return Target{}, x.refuse(why, nil, "add {{if-none latest}}, earliest or skip", "%s: %s", x.part, detail)
	case IfNoneSkip:
		return Target{Leave: true, Reason: why, Detail: detail}, nil
	case IfNoneEarliest:
		t = x.start(why, detail+": log start taken")
	default:
		t = x.latest(detail + ": log end taken")
		t.Reason = why
	}
	return t, nil
}

func (x resolver) maxTimestamp() (Target, error) {
	m := x.f.Max
	if m == nil {
		t := x.latest("the partition is empty")
		t.Reason = ReasonEmpty
		return t, nil
	}
	return Target{Offset: m.Offset, LeaderEpoch: m.LeaderEpoch, Found: m.Time, Reason: ReasonMaxTimestamp}, nil
}

func (x resolver) tiered(n *int64, why Reason) (Target, error) {
	if n == nil {
		return Target{}, x.refuse(ReasonNotTiered, nil, "", "%s: the broker knows no such offset: the topic has no tiered storage", x.part)
	}
	return x.bounded(*n, why, LeaderEpoch{})
}

func (x resolver) foreign(p Position) (Target, error) {
	f := x.f.Foreign
	if f == nil {
		return x.ifNoCommit(ReasonNotListed, fmt.Sprintf("%s has nothing for it", p))
	}
	if f.Marker != "" {
		return x.marked(p, f.Marker)
	}
	if f.Offset < 0 {
		return x.ifNoCommit(ReasonNegative, fmt.Sprintf("%s has %d, which is not a valid offset", p, f.Offset))
	}
	t, err := x.stored(f.Offset, f.LeaderEpoch, ReasonCopied, fmt.Sprintf("the offset of %s", p))
	if err == nil && t.Reason == ReasonCopied {
		t.Metadata = &f.Metadata
	}
	return t, err
}

func (x resolver) marked(p Position, m Marker) (Target, error) {
	to, how := x.r.Marked, "as was asked for"
	if to == MarkedAsWritten {
		to, how = Marked(m), "as written"
	}
	detail := fmt.Sprintf("%s says %q (not started): taken %s", p, m, how)
	var t Target
	switch to {
	case MarkedEarliest:
		t = x.start(ReasonMarker, detail)
	case MarkedLatest:
		t = x.latest(detail)
	case MarkedCommitted:
		c, err := x.current(Position{Kind: Current})
		if err != nil {
			return c, err
		}
		t = c
	default:
		return Target{}, x.refuse(ReasonMarker, nil, "add {{marker earliest}}, latest, committed or as-written",
			"%s: %s says %q: the job has not read it yet, so there is no offset", x.part, p, m)
	}
	t.Reason = ReasonMarker
	t.Detail = detail
	return t, nil
}

// past is what a group had committed at an instant.
func (x resolver) past(p Position) (Target, error) {
	f := x.f.Foreign
	switch {
	case f == nil:
		return x.ifNoCommit(ReasonNoCommit, fmt.Sprintf("the group had no commit for it at %s", FormatTime(p.At.Time)))
	case f.Unknown != nil:
		return x.unknown(p, f.Unknown)
	case f.Offset < 0:
		return x.ifNoCommit(ReasonNegative, fmt.Sprintf("the commit of %s is %d, which is not a valid offset", FormatTime(f.Then), f.Offset))
	}
	what := fmt.Sprintf("the commit of %s,", FormatTime(f.Then))
	t, err := x.stored(f.Offset, f.LeaderEpoch, ReasonThen, what)
	if err == nil && t.Reason == ReasonThen {
		t.Metadata, t.Detail = &f.Metadata, "committed "+FormatTime(f.Then)
	}
	return t, err
}

// unknown lets the policy decide where it is not known what a group had.
func (x resolver) unknown(p Position, u *Unknown) (Target, error) {
	detail := fmt.Sprintf("what the group had at %s is not known: %s", FormatTime(p.At.Time), u.Why)
	if u.Oldest != nil {
		detail += fmt.Sprintf("; the oldest commit that is left is %d of %s", u.Oldest.Offset, FormatTime(u.OldestAt))
	}
	switch x.r.IfUnknown {
	case IfUnknownSkip:
		return Target{Leave: true, Reason: ReasonNotKnown, Detail: detail}, nil
	case IfUnknownEarliest:
		return x.start(ReasonNotKnown, detail+": log start taken"), nil
	case IfUnknownLatest:
		t := x.latest(detail + ": log end taken")
		t.Reason = ReasonNotKnown
		return t, nil
	case IfUnknownOldest:
		if u.Oldest == nil || u.Oldest.Offset < 0 {
			break
		}
		t, err := x.stored(u.Oldest.Offset, u.Oldest.LeaderEpoch, ReasonNotKnown, "the oldest commit that is left,")
		if err == nil && t.Reason == ReasonNotKnown {
			t.Metadata, t.Detail = &u.Oldest.Metadata, detail+": taken"
		}
		return t, err
	}
	return Target{}, x.refuse(ReasonNotKnown, nil, "add {{if-unknown oldest-commit}}, skip, earliest or latest", "%s: %s", x.part, detail)
}
