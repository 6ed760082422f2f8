package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/koffset/koffset/offset"
)

// Checker looks at groups once or several times and keeps what broke a limit at every look. It is used by one goroutine.
type Checker struct {
	Sampler *Sampler
	Limits  Limits

	// What the looks saw. Groups, Missing and the rest are of the last one.
	Looks     int
	First, At time.Time
	Groups    []CheckedGroup
	Missing   []error // brokers that did not list their groups

	failing   []Violation
	blind     []Blind
	undecided bool // a partition may still turn out to stand still
	began     map[GroupPartition]int64
}

// Violations are what broke a limit at every look, sorted; and where Limits.FailUnknown is set, what the last look could not
// see.
func (c *Checker) Violations() []Violation {
	out := slices.Clone(c.failing)
	if c.Limits.FailUnknown {
		for _, b := range c.blind {
			out = append(out, Violation{GroupPartition: b.GroupPartition, Rule: RuleUnknown, Why: b.Why})
		}
	}
	sortViolations(out)
	return out
}

// Blind is what the last look could not see. While it is not empty, no limit is known to hold.
func (c *Checker) Blind() []Blind { return c.blind }

// Settled says that more looks cannot find anything: every limit held, and no partition is still watched for progress.
func (c *Checker) Settled() bool { return len(c.failing) == 0 && !c.undecided }

// Look takes one look. The error is set only where nothing could be read.
func (c *Checker) Look(ctx context.Context) error {
	v := verdictsOf{limits: c.Limits, within: c.Sampler.History.Rules().ExpireWithin, lacking: map[string][]offset.Partition{}, untimed: map[string][]LagTime{}}
	health := map[string]*GroupHealth{}
	commits, waiting := map[GroupPartition]int64{}, map[GroupPartition]bool{}
	l, err := c.Sampler.Look(ctx, func(d *Description, r *Row, dg *Diagnosis) {
		p := GroupPartition{d.Name, r.Partition}
		if health[d.Name] == nil {
			health[d.Name] = &GroupHealth{}
		}
		health[d.Name].Add(p, dg)
		if r.Committed != nil {
			commits[p] = r.Committed.Offset
			waiting[p] = dg.HasLag && dg.Lag > 0
		}
		v.row(r, dg)
	})
	if err != nil {
		return err
	}
	if c.Looks++; c.Looks == 1 {
		c.First, c.began = l.At, commits
	}
	c.At, c.Missing, c.Groups = l.At, l.Missing, c.Groups[:0]
	var times map[GroupPartition]TimedLag
	if c.Limits.Age != nil {
		times = readLagTimes(ctx, c.Sampler.Client, l.Snapshot, nil, false)
	}
	for i := range l.Snapshot.Groups {
		d := l.Snapshot.Groups[i]
		g := CheckedGroup{Description: d, Err: l.Snapshot.GroupErr(d)}
		if h := health[d.Name]; h != nil {
			g.Health, g.LagTime = *h, h.LagTime
		} else {
			g.Health.Health, g.Missing = HealthNoCommit, d.NotFound
		}
		v.group(&g)
		c.Groups = append(c.Groups, g)
	}
	v.ages(c.Groups, times, l.At)
	v.visible(l.Snapshot)
	for _, err := range l.Missing {
		v.unseen(GroupPartition{}, "%s", errText(err))
	}
	c.Sampler.Probe(ctx, l)
	c.keep(v)
	c.undecided = false
	for p, w := range waiting {
		if was, ok := c.began[p]; c.Limits.Progress && w && (!ok || was == commits[p]) {
			c.undecided = true
		}
	}
	return nil
}

// keep intersects what fails with what failed before.
func (c *Checker) keep(v verdictsOf) {
	c.blind = v.blind
	slices.SortFunc(c.blind, func(a, b Blind) int {
		return Violation{GroupPartition: a.GroupPartition, Rule: CheckRule(a.Why)}.compare(Violation{GroupPartition: b.GroupPartition, Rule: CheckRule(b.Why)})
	})
	before := c.failing
	c.failing = v.found
	if c.Looks == 1 {
		return
	}
	type key struct {
		GroupPartition
		rule CheckRule
	}
	failed := make(map[key]bool, len(before))
	for _, x := range before {
		failed[key{x.GroupPartition, x.Rule}] = true
	}
	// That nothing moves shows at the end only, and expiry once a record's time was read: neither can have failed at every look.
	c.failing = slices.DeleteFunc(c.failing, func(x Violation) bool {
		return x.Rule != RuleProgress && x.Rule != RuleExpiry && !failed[key{x.GroupPartition, x.Rule}]
	})
}

// Fails says that a limit does not hold for a group.
func (c *Checker) Fails(group string) bool {
	return slices.ContainsFunc(c.Violations(), func(v Violation) bool { return v.Group == group })
}

// Unseen says that a part of a group could not be seen, and names the first.
func (c *Checker) Unseen(group string) (why string, unseen bool) {
	for _, b := range c.blind {
		if b.Group == group {
			if b.Topic != "" {
				return b.Partition.String() + ": " + b.Why, true
			}
			return b.Why, true
		}
	}
	return "", false
}
