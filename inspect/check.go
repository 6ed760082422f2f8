package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Limits are what groups are held to. nil is no limit.
type Limits struct {
	// Lag bounds a group's lag, PartitionLag that of each partition, Age the age of each next record.
	Lag, PartitionLag *int64
	Age               *time.Duration
	// Uncommitted is on how many partitions of a group the commit may be missing that should be there (HealthNeverCommitted);
	// nil is any number.
	Uncommitted *int64
	// Progress: no partition with records to read may stand still, or be without a reader. How long is too long is in the
	// History's rules.
	Progress bool
	// Expiry: retention must not reach a commit within the History's Rules.ExpireWithin.
	Expiry bool
	// Visible are topics on which each check must see something: a broker leaves topics out that may not be described.
	Visible []string
	// FailUnknown makes a violation of what could not be read.
	FailUnknown bool
}

// CheckRule names a rule of a check; the strings are stable.
type CheckRule string

// The rules.
const (
	RuleStatus       CheckRule = "status"
	RuleLag          CheckRule = "max-lag"
	RulePartitionLag CheckRule = "max-partition-lag"
	RuleAge          CheckRule = "max-lag-time"
	RuleUncommitted  CheckRule = "max-uncommitted"
	RuleProgress     CheckRule = "no-stall"
	RuleExpiry       CheckRule = "expire-within"
	RuleUnknown      CheckRule = "unknown"
)

// Measure is a number of a violation: a count of records or partitions, a time, or a word. The zero value is none.
type Measure struct {
	Count *int64
	Time  *time.Duration
	Word  string
}

func counted(n int64) Measure       { return Measure{Count: &n} }
func timed(d time.Duration) Measure { return Measure{Time: &d} }

// Violation is a rule that does not hold for a group, or for one partition of it.
type Violation struct {
	GroupPartition // the topic is empty for the whole group
	Rule           CheckRule
	Why            string
	Value, Limit   Measure
}

func (v Violation) compare(o Violation) int {
	return cmp.Or(strings.Compare(v.Group, o.Group), v.Partition.Compare(o.Partition), strings.Compare(string(v.Rule), string(o.Rule)))
}

// Blind is something that a check could not see, so that it says nothing about it.
type Blind struct {
	GroupPartition // the topic is empty for the whole group, the group for the whole cluster
	Why            string
}

// CheckedGroup is a group as a look saw it.
type CheckedGroup struct {
	Description
	Health GroupHealth
	// LagTime is the age of the oldest next record: exact where ages were asked for.
	LagTime LagTime
	Missing bool // no such group
	Err     error
}

// verdictsOf are the violations of one look.
type verdictsOf struct {
	limits  Limits
	within  time.Duration // Rules.ExpireWithin
	found   []Violation
	blind   []Blind
	lacking map[string][]offset.Partition // never committed, by group
	untimed map[string][]LagTime          // of rows that have no next record to fetch, by group
}

func (v *verdictsOf) add(p GroupPartition, rule CheckRule, value, limit Measure, format string, args ...any) {
	v.found = append(v.found, Violation{p, rule, fmt.Sprintf(format, args...), value, limit})
}

func (v *verdictsOf) unseen(p GroupPartition, format string, args ...any) {
	v.blind = append(v.blind, Blind{p, fmt.Sprintf(format, args...)})
}

// row holds one partition to the limits.
func (v *verdictsOf) row(r *Row, d *Diagnosis) {
	p := GroupPartition{r.Group, r.Partition}
	if _, ok := r.next(); !ok && d.Health != HealthNoCommit {
		v.untimed[r.Group] = append(v.untimed[r.Group], d.LagTime)
	}
	switch r.Status {
	case StatusPastLogEnd, StatusBelowLogStart, StatusInvalidCommit:
		v.add(p, RuleStatus, Measure{Word: string(r.Status)}, Measure{}, "%s: %s", r.Status, d.why(Health(r.Status)))
	case StatusUnknownTopic:
		if r.Committed == nil {
			v.unseen(p, "the partition is not visible: %s", errText(r.Err))
			break
		}
		v.add(p, RuleStatus, Measure{Word: string(r.Status)}, Measure{}, "%s: the group has a commit on a partition that does not exist", r.Status)
	default:
		if d.Health == HealthUnknown {
			if d.pending {
				v.unseen(p, "%s", d.Why())
			} else {
				v.unseen(p, "it could not be read: %s", errText(r.Err))
			}
		}
	}
	if max := v.limits.PartitionLag; max != nil && d.HasLag && d.Lag > *max {
		v.add(p, RulePartitionLag, counted(d.Lag), counted(*max), "lag %d is above the limit of %d", d.Lag, *max)
	}
	if v.limits.Progress {
		for _, h := range []Health{HealthStalled, HealthStopped, HealthNeverLive} {
			if d.Verdicts.Has(h) {
				v.add(p, RuleProgress, timed(d.Still), timed(d.Threshold), "%s: %s", h, d.why(h))
			}
		}
	}
	if v.limits.Expiry && d.HasExpires && d.Expires < v.within {
		v.add(p, RuleExpiry, timed(d.Expires), timed(v.within), "%s", d.expires())
	}
	if v.limits.Expiry && d.ExpiryUnknown {
		v.unseen(p, "when retention reaches the commit is unknown: %s", expiryUnknown(d))
	}
	if d.Verdicts.Has(HealthNeverCommitted) {
		v.lacking[r.Group] = append(v.lacking[r.Group], r.Partition)
	}
}

func expiryUnknown(d *Diagnosis) string {
	switch {
	case d.LagTime.Known && d.LagTime.Basis == LagAtLeast:
		return "the age of the next record is only known to be at least " + offset.FormatDuration(d.LagTime.D)
	case !d.LagTime.Known:
		return "the age of the next record is unknown (" + string(d.LagTime.Unknown) + ")"
	}
	return "the topic's configuration may not be read, which needs DESCRIBE_CONFIGS"
}

// group holds a group as a whole to the limits.
func (v *verdictsOf) group(g *CheckedGroup) {
	p := GroupPartition{Group: g.Name}
	switch {
	case g.Missing:
		v.unseen(p, "no such group")
		return
	case g.Err != nil:
		v.unseen(p, "%s", errText(g.Err))
	case g.Health.Partitions == 0 && g.Application != AppConnectWorkers:
		v.unseen(p, "no commit of the group is visible: it has none, or the user may not describe its topics")
	}
	if max := v.limits.Lag; max != nil && g.Health.Lag > *max {
		v.add(p, RuleLag, counted(g.Health.Lag), counted(*max), "lag %d is above the limit of %d", g.Health.Lag, *max)
	}
	if max := v.limits.Uncommitted; max != nil {
		if list := v.lacking[g.Name]; int64(len(list)) > *max {
			v.add(p, RuleUncommitted, counted(int64(len(list))), counted(*max), "no commit on %s with records, %s", text.Plural(len(list), "partition"), neverWhy(g, list))
		}
	}
}

// neverWhy names the partitions and why they should have a commit.
func neverWhy(g *CheckedGroup, list []offset.Partition) string {
	some := text.Some(list, 5)
	if len(g.Members) > 0 {
		return "which a member holds or whose topic the group commits to: " + some
	}
	return "though the group commits to the topic: " + some
}

// ages holds the exact ages of a group's next records to the limit, and puts the oldest into the group.
func (v *verdictsOf) ages(groups []CheckedGroup, times map[GroupPartition]TimedLag, now time.Time) {
	if v.limits.Age == nil {
		return
	}
	sums := make(map[string]*AgeSum, len(groups))
	for i := range groups {
		sum := &AgeSum{}
		for _, t := range v.untimed[groups[i].Name] {
			sum.Add(t) // what a fetch was not asked for is not known to be young
		}
		sums[groups[i].Name] = sum
	}
	for p, t := range times {
		age := t.BehindNow(now)
		sums[p.Group].Add(age)
		switch {
		case t.Err != nil:
			v.unseen(p, "the age of the next record is unknown: %s", errText(t.Err))
		case !age.Known:
			v.unseen(p, "the age of the next record (offset %d) is unknown: %s", t.Next.Offset, ageWords(age.Unknown))
		case age.D > *v.limits.Age:
			v.add(p, RuleAge, timed(age.D), timed(*v.limits.Age), "the next record (offset %d) is %s old, above the limit of %s",
				age.Record, offset.FormatDuration(age.D), offset.FormatDuration(*v.limits.Age))
		}
	}
	for i := range groups {
		groups[i].LagTime = sums[groups[i].Name].Oldest()
	}
}

func ageWords(why AgeReason) string {
	switch why {
	case AgeNoTimestamp:
		return "it carries no time"
	case AgeFuture:
		return "its time is in the future"
	case AgeNoCommit:
		return "nothing is committed"
	case AgeDenied:
		return "fetching it needs READ on the topic"
	}
	return "it could not be read"
}

func errText(err error) string {
	if err == nil {
		return "the broker gave no reason"
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// visible looks for the topics that must be seen.
func (v *verdictsOf) visible(s *Snapshot) {
	for _, name := range v.limits.Visible {
		t, ok := s.Topics[name]
		switch {
		case !ok:
			v.unseen(GroupPartition{Partition: offset.Partition{Topic: name}}, "no group here shows a commit on the topic %s", name)
		case t.Err != nil:
			v.unseen(GroupPartition{Partition: offset.Partition{Topic: name}}, "the topic %s is not visible: %s", name, errText(t.Err))
		}
	}
}

func sortViolations(vs []Violation) { slices.SortFunc(vs, Violation.compare) }
