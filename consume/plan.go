package consume

// The plan of a run: where every partition starts and ends, and why. It is made before anything is read, from facts that
// are read in facts.go; everything here is pure.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Plan is what a run will do.
type Plan struct {
	Cluster   inspect.Cluster
	Start     Start
	Isolation offset.Isolation
	Group     string
	// GroupIsNew says that the group has no commit anywhere.
	GroupIsNew bool
	Committer  Committer
	// CommitterWhy is the setting that made it so, in words.
	CommitterWhy string
	// Restored is the checkpoint that the run goes on from; nil for a fresh start.
	Restored *RestoredFrom
	Rows     []PlanRow // sorted by topic and partition
	// Notices are what should be said before the first record.
	Notices []Notice
}

// RestoredFrom names a checkpoint.
type RestoredFrom struct {
	Path string
	ID   int64
	At   time.Time
}

// PlanRow is one partition of the plan.
type PlanRow struct {
	offset.Partition
	TopicID string // empty where the broker tells none
	Bounds  offset.Bounds
	// Skip says that a policy leaves the partition out; Start means nothing then.
	Skip   bool
	Start  int64
	Epoch  offset.LeaderEpoch
	Reason offset.Reason
	Detail string
	// End is exclusive; nil for a run without an end on this partition.
	End       *int64
	EndReason offset.Reason
	EndDetail string
	// Held is the end that was asked for, where an open transaction holds back what lies between End and it; nil otherwise.
	// A run that ends at End has not finished there.
	Held *int64
	// Left is how many records are read at most; nil where they are not counted.
	Left *int64
	// Committed is the group's commit; nil without one.
	Committed *offset.Committed
	// PassedOver and ReadAgain are how many offsets of the log lie between the group's commit and the start: unread ones
	// that will not be read, and read ones that will be read again.
	PassedOver, ReadAgain int64
	// Backlog is how many offsets lie between the start and the end, or the log end.
	Backlog int64
	// Bytes is about how much the backlog takes on the broker's disk; nil before [Engine.Survey], and where the broker does
	// not tell.
	Bytes *int64
	// First is the time of the first record that will be read; zero where it is not known. [Engine.Survey] looks it up.
	First time.Time
}

// ReasonRestored is why a partition of a restored run starts where it does; ReasonNewPartition is that it was found later.
const (
	ReasonRestored     offset.Reason = "restored"
	ReasonNewPartition offset.Reason = "new-partition"
)

// Totals of a plan.
type Totals struct {
	Backlog, PassedOver, ReadAgain int64
	Bytes                          *int64 // nil where no partition tells
}

// Totals adds up the rows.
func (p *Plan) Totals() Totals {
	var t Totals
	for _, r := range p.Rows {
		t.Backlog += r.Backlog
		t.PassedOver += r.PassedOver
		t.ReadAgain += r.ReadAgain
		if r.Bytes != nil {
			sum := *r.Bytes
			if t.Bytes != nil {
				sum += *t.Bytes
			}
			t.Bytes = &sum
		}
	}
	return t
}

// CatchUp is how long the backlog takes at a rate, at most; ok is false without one.
func (p *Plan) CatchUp(r Rate) (d time.Duration, ok bool) {
	t := p.Totals()
	var seconds float64
	if r.Records > 0 {
		seconds, ok = float64(t.Backlog)/r.Records, true
	}
	if r.Bytes > 0 && t.Bytes != nil {
		seconds, ok = max(seconds, float64(*t.Bytes)/r.Bytes), true
	}
	return time.Duration(seconds * float64(time.Second)), ok
}

// planFacts is what is known when a plan is made.
type planFacts struct {
	cluster inspect.Cluster
	parts   []partFacts
	// groupCommits is how many offsets the group has stored anywhere.
	groupCommits int
	nearGroups   []string
	members      []inspect.Member
	// originNotices is what is not known about where offsets come from, or was allowed.
	originNotices []Notice
}

type partFacts struct {
	offset.Partition
	topicID string
	start   offset.Facts // for the start
	end     offset.Facts // for the end: another time, another group
	// committed is the group's commit; also in start where the start needs it.
	committed *offset.Committed
}

// makePlan puts positions and facts together. The error is an *Error that lists every partition that is refused.
func makePlan(c *Config, f planFacts, from *restored) (*Plan, error) {
	p := &Plan{Cluster: f.cluster, Start: c.Start, Isolation: c.isolation(), Group: c.Group,
		GroupIsNew: c.Group != "" && f.groupCommits == 0}
	p.Committer, p.CommitterWhy = c.committer()
	if from != nil {
		p.Restored = &from.from
	}
	var refused []error
	for _, pf := range f.parts {
		row, err := planRow(c, pf, from)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		p.Rows = append(p.Rows, row)
	}
	if len(refused) > 0 {
		return nil, refuseAll(refused)
	}
	slices.SortFunc(p.Rows, func(a, b PlanRow) int { return a.Compare(b.Partition) })
	if err := p.guard(c); err != nil {
		return nil, err
	}
	p.Notices = slices.Concat(f.originNotices, c.startNotices(p, f), c.commitNotices(p, f), c.windowNotices(p), c.heldNotices(p), c.restoreNotices(p, from))
	return p, nil
}

// refuseAll makes one error of all refused partitions. It keeps the causes, so that a missing right is still seen.
func refuseAll(errs []error) error {
	const shown = 20
	kind, hint := Refused, ""
	var lines []string
	for i, err := range errs {
		var r *offset.Refusal
		if errors.As(err, &r) {
			if r.Err != nil {
				kind = Failed
			}
			hint = cmp.Or(hint, r.Hint, needed(r.Err))
		}
		if i < shown {
			lines = append(lines, err.Error())
		}
	}
	if n := len(errs) - shown; n > 0 {
		lines = append(lines, fmt.Sprintf("and %s", text.More(n, "partition")))
	}
	return &Error{Kind: kind, Problem: "nothing was read: " + strings.Join(lines, "; "), Hint: hint, Err: errors.Join(errs...)}
}

func planRow(c *Config, f partFacts, from *restored) (PlanRow, error) {
	row := PlanRow{Partition: f.Partition, TopicID: f.topicID, Committed: f.committed}
	if f.start.Err != nil {
		_, err := offset.Resolve(f.Partition, offset.Position{Kind: offset.Earliest}, f.start, offset.Rules{})
		return row, err
	}
	row.Bounds = *f.start.Bounds
	var t offset.Target
	var err error
	switch rg, ranged := c.rangeOf(f.Partition); {
	case from != nil:
		t, err = from.resolve(c, f, &row)
	case ranged:
		t, err = resolveRange(c, f, rg, &row)
	default:
		t, err = resolveStart(c, f.Partition, f.start)
	}
	if err != nil {
		return row, err
	}
	row.Skip, row.Start, row.Epoch, row.Reason, row.Detail, row.First = t.Leave, t.Offset, t.LeaderEpoch, t.Reason, t.Detail, t.Found
	if row.Skip {
		return row, nil
	}
	if err := c.resolveEnd(f, &row); err != nil || row.Skip {
		return row, err
	}
	if err := row.checkEnd(c); err != nil || row.Skip {
		return row, err
	}
	row.compare(c.isolation(), f)
	if from != nil {
		row.PassedOver = min(row.PassedOver, from.unread(c, &row))
	}
	return row, nil
}

func (c *Config) rangeOf(p offset.Partition) (Range, bool) {
	for _, r := range c.End.Ranges {
		if r.Partition == p {
			return r, true
		}
	}
	return Range{}, false
}

// compare fills in what depends on start, end and the group's commit.
func (r *PlanRow) compare(iso offset.Isolation, f partFacts) {
	end := r.Bounds.EndFor(iso)
	if r.End != nil {
		end = *r.End
	}
	r.Backlog = max(0, end-r.Start)
	if r.Left != nil {
		r.Backlog = min(r.Backlog, *r.Left)
	}
	r.PassedOver, r.ReadAgain = passed(r.Bounds, r.Committed, r.Start)
}

// passed says how many offsets lie between a commit and a start. What retention has removed anyway counts as neither.
func passed(b offset.Bounds, c *offset.Committed, start int64) (over, again int64) {
	if c == nil || c.Offset < 0 {
		return 0, 0
	}
	at := min(max(c.Offset, b.Start), b.End)
	return max(0, start-at), max(0, at-start)
}

// startRules are the rules of resolve for the start of this run.
func (c *Config) startRules() offset.Rules {
	p := c.Policies
	r := offset.Rules{Isolation: c.isolation(), OutOfRange: p.OutOfRange, IfNone: p.IfNone, IfExpired: p.IfExpired,
		IfNoCommit: p.IfNoCommit, IfUnknown: p.IfUnknown, Marked: p.Marked}
	if c.Start.Mode() != ModeGroupOffsets {
		return r
	}
	if r.IfNoCommit == "" {
		switch p.Reset {
		case ResetEarliest:
			r.IfNoCommit = offset.IfNoCommitEarliest
		case ResetNone:
			r.IfNoCommit = offset.IfNoCommitFail
		default:
			// Kafka's clients take latest where auto.offset.reset is not set. Flink's SQL and its KafkaSource take none.
			r.IfNoCommit = offset.IfNoCommitLatest
		}
	}
	if r.IfExpired == "" {
		switch p.Reset {
		case ResetEarliest:
			r.IfExpired = offset.IfExpiredEarliest
		case ResetLatest:
			r.IfExpired = offset.IfExpiredLatest
		}
	}
	return r
}

// resolveStart is offset.Resolve with the one rule that only a consumer has: a commit past the log end is decided by the
// same policy as one below the log start, as auto.offset.reset does it.
func resolveStart(c *Config, part offset.Partition, f offset.Facts) (offset.Target, error) {
	pos, rules := c.Start.position(), c.startRules()
	t, err := offset.Resolve(part, pos, f, rules)
	var r *offset.Refusal
	if err == nil || !errors.As(err, &r) || r.Reason != offset.ReasonOutOfRange || pos.Kind != offset.Current {
		return explainStart(c, t), explainRefusal(c, err)
	}
	to := offset.Position{Kind: offset.Earliest}
	switch rules.IfExpired {
	case offset.IfExpiredEarliest:
	case offset.IfExpiredLatest:
		to.Kind = offset.Latest
	default:
		return t, explainRefusal(c, err)
	}
	t, err2 := offset.Resolve(part, to, f, rules)
	if err2 != nil {
		return t, err2
	}
	t.Detail = fmt.Sprintf("the commit %d is past the log end %d: %s taken", f.Committed.Offset, f.Bounds.End, map[offset.Kind]string{offset.Earliest: "log start", offset.Latest: "log end"}[to.Kind])
	t.Reason, t.Asked = offset.ReasonOutOfRange, &f.Committed.Offset
	return t, nil
}

// explainStart says which setting decided where there was no commit.
func explainStart(c *Config, t offset.Target) offset.Target {
	if t.Reason == offset.ReasonNoCommit && c.Start.Mode() == ModeGroupOffsets && c.Policies.IfNoCommit == "" {
		by := "auto.offset.reset=" + string(c.Policies.Reset)
		if c.Policies.Reset == "" {
			by = "auto.offset.reset is not set, which is latest"
		}
		t.Detail += " (" + by + ")"
	}
	return t
}

// explainRefusal puts the consumer's own settings into the hint.
func explainRefusal(c *Config, err error) error {
	var r *offset.Refusal
	if !errors.As(err, &r) || c.Start.Mode() != ModeGroupOffsets {
		return err
	}
	switch r.Reason {
	case offset.ReasonNoCommit:
		r.Hint = "set auto.offset.reset to earliest or latest, or {{if-no-commit earliest}}, latest or skip"
	case offset.ReasonExpired:
		lost := r.Bounds.Start - *r.Asked
		r.Detail += fmt.Sprintf(": %s lost", text.Plural(lost, "offset"))
		r.Hint = "add {{if-expired earliest}} to continue at the log start, or set auto.offset.reset"
	case offset.ReasonOutOfRange:
		r.Hint = "was the topic deleted and created again? {{if-expired earliest}} starts at the log start"
	}
	return err
}

// resolveRange starts a partition at the beginning of its range.
func resolveRange(c *Config, f partFacts, rg Range, row *PlanRow) (offset.Target, error) {
	pos := offset.Position{Kind: offset.Exact, N: rg.From}
	t, err := offset.Resolve(f.Partition, pos, f.start, c.startRules())
	if err != nil || t.Leave {
		return t, err
	}
	if rg.Count > 0 {
		n, end := rg.Count, f.start.Bounds.EndFor(c.isolation())
		row.End, row.EndReason, row.Left = &end, offset.ReasonLogEnd, &n
		row.EndDetail = fmt.Sprintf("ends after %s records, at the log end at the latest", text.Count(n))
		return t, nil
	}
	end, last := rg.To, f.start.Bounds.End
	row.End, row.EndReason = &end, offset.ReasonExact
	if end <= last {
		return t, nil
	}
	switch c.Policies.OutOfRange {
	case offset.OutOfRangeClamp:
		row.EndDetail = fmt.Sprintf("the range ends at %d, the log at %d", rg.To, last)
		end, row.EndReason = last, offset.ReasonClampedToEnd
	case offset.OutOfRangeSkip:
		return offset.Target{Leave: true, Reason: offset.ReasonSkipped, Detail: fmt.Sprintf("the range ends at %d, past the log end %d", rg.To, last)}, nil
	default:
		return t, &offset.Refusal{Reason: offset.ReasonOutOfRange, Asked: &rg.To, Bounds: f.start.Bounds,
			Detail: fmt.Sprintf("%s: the range ends at %d, past the log end %d", f.Partition, rg.To, last),
			Hint:   "was the topic created again, or is this another cluster? {{out-of-range clamp}} reads to the log end"}
	}
	return t, nil
}

// checkEnd holds the end against the start and against what can be read now.
func (r *PlanRow) checkEnd(c *Config) error {
	if r.End == nil {
		return nil
	}
	end := *r.End
	if stable := r.Bounds.EndFor(c.isolation()); end > stable && r.Left == nil {
		if end > r.Bounds.End {
			return &offset.Refusal{Reason: offset.ReasonOutOfRange, Asked: &end, Bounds: &r.Bounds, Hint: "was the log truncated, or the topic created again?",
				Detail: fmt.Sprintf("%s: the end %d is past the log end %d", r.Partition, end, r.Bounds.End)}
		}
		// A transaction that is open now decides later whether its records are there.
		r.Held = &end
		r.EndDetail = fmt.Sprintf("an open transaction holds back the offsets from %d on: the end is %d", stable, end)
		r.End = &stable
		return nil
	}
	order, err := offset.CheckEnd(r.Partition, r.Start, end, r.Reason == offset.ReasonCommitted || r.Reason == ReasonRestored, &r.Bounds, c.Policies.OutOfRange)
	switch order {
	case offset.EndPassed:
		// The group, or the job, has passed the end already.
		r.EndDetail = fmt.Sprintf("the end %d is before it: nothing is left to read", end)
	case offset.EndTaken:
		r.EndDetail = fmt.Sprintf("the end %d is before the start: nothing is read", end)
		r.End = &r.Start
	case offset.EndLeft:
		r.Skip, r.Reason, r.Detail = true, offset.ReasonSkipped, fmt.Sprintf("the end %d is before the start %d", end, r.Start)
	}
	return err
}

// resolveEnd resolves --until to a number that is never past the log end: a run with an end must end.
func (c *Config) resolveEnd(f partFacts, row *PlanRow) error {
	if c.End.Until == nil || row.End != nil {
		return nil
	}
	facts := f.end
	facts.From = &row.Start
	rules := offset.Rules{Isolation: c.isolation(), OutOfRange: c.Policies.OutOfRange, IfNone: offset.IfNoneLatest,
		IfExpired: offset.IfExpiredEarliest, IfNoCommit: c.Policies.IfNoCommit, IfUnknown: c.Policies.IfUnknown, Marked: c.Policies.Marked}
	t, err := offset.Resolve(f.Partition, *c.End.Until, facts, rules)
	if err != nil {
		var r *offset.Refusal
		if errors.As(err, &r) {
			r.Detail = "the end of " + r.Detail
		}
		return err
	}
	end := t.Offset
	if t.Leave { // no end on this partition: it is not read
		row.Skip = true
		row.Reason, row.Detail = offset.ReasonSkipped, t.Detail
		return nil
	}
	row.EndReason, row.EndDetail = t.Reason, t.Detail
	if last := facts.Bounds.End; end > last {
		row.EndDetail = fmt.Sprintf("%s is %d, the log ends at %d", c.End.Until, end, last)
		end = last
	}
	row.End = &end
	return nil
}

// guard holds the plan against the limits that the caller set.
func (p *Plan) guard(c *Config) error {
	t := p.Totals()
	if c.Policies.MaxSkip != nil && t.PassedOver > *c.Policies.MaxSkip {
		return errorf(Refused, "start at the group's commits, or raise {{max-skip}}",
			"group %s: starting at %s passes over %d unread offsets, at most %d are allowed", p.Group, p.startText(), t.PassedOver, *c.Policies.MaxSkip)
	}
	if p.Committer == CommitsNever || c.Policies.AllowRewind || t.ReadAgain == 0 || c.Join != nil {
		return nil
	}
	var worst PlanRow
	for _, r := range p.Rows {
		if r.ReadAgain > worst.ReadAgain {
			worst = r
		}
	}
	return errorf(Refused, "read without commits, use another group, or add {{allow-rewind}}",
		"group %s: commits would go backwards by %s (%s from %d to %d): the group's own readers would read them again",
		p.Group, text.Plural(t.ReadAgain, "offset"), worst.Partition, worst.Committed.Offset, worst.Start)
}

func (p *Plan) startText() string {
	if p.Restored != nil {
		return p.Restored.Path
	}
	return p.Start.String()
}
