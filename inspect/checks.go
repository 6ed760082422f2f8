package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/offset"
)

// CheckLimits are the thresholds that a Checker holds groups to; nil is none.
type CheckLimits struct {
	Lag, PartitionLag *int64 // records
	LagTime           *time.Duration
	Stall, Expire     bool
}

// Check is one of the things that are looked at. The words are stable.
type Check string

// The checks.
const (
	CheckStatus       Check = "status"
	CheckLag          Check = "max-lag"
	CheckPartitionLag Check = "max-partition-lag"
	CheckLagTime      Check = "max-lag-time"
	CheckStall        Check = "no-stall"
	CheckExpire       Check = "expire-within"
)

// Quantity is what a check measured, or its limit: records, a time, a status, or nothing.
type Quantity struct {
	Records *int64
	Time    *time.Duration
	Status  Status
}

func counting(n int64) Quantity        { return Quantity{Records: &n} }
func lasting(d time.Duration) Quantity { return Quantity{Time: &d} }

// Finding is why a check does not hold.
type Finding struct {
	Group        string
	Partition    offset.Partition // zero for the whole group
	Check        Check
	Text         string
	Value, Limit Quantity
}

// findingKey identifies a reason over several looks.
type findingKey struct {
	group string
	part  offset.Partition
	check Check
}

func (r Finding) key() findingKey { return findingKey{r.Group, r.Partition, r.Check} }

// CheckedGroup is a group as the last look saw it.
type CheckedGroup struct {
	Name, State string
	Type        GroupType
	Members     int
	Health      GroupHealth
	LagTime     LagTime
	Missing     bool  // there is no such group
	Err         error // it could not be read
}

// Checker looks again and again, and keeps what failed at every look.
type Checker struct {
	Limits  CheckLimits
	Sampler *Sampler

	Looks     int
	First, At time.Time // of the first look and of the last
	Missing   []error   // brokers that did not say which groups they have
	Groups    []CheckedGroup

	failing   map[findingKey]Finding
	undecided bool // a partition may still turn out to stand still
	began     map[GroupPartition]int64
}

// Open says that another look may change the answer: something fails that may recover, or a partition may still turn out to
// stand still.
func (r *Checker) Open() bool { return len(r.failing) > 0 || r.undecided }

// Fails says that something about a group failed at every look.
func (r *Checker) Fails(group string) bool {
	for k := range r.failing {
		if k.group == group {
			return true
		}
	}
	return false
}

// Findings are what failed at every look, sorted.
func (r *Checker) Findings() []Finding {
	out := make([]Finding, 0, len(r.failing))
	for _, x := range r.failing {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), a.Partition.Compare(b.Partition), cmp.Compare(a.Check, b.Check))
	})
	return out
}

// Look takes one look and intersects what fails with what failed before.
func (r *Checker) Look(ctx context.Context) error {
	failing := map[findingKey]Finding{}
	add := func(x Finding) { failing[x.key()] = x }
	groups := map[string]*GroupHealth{}
	commits := map[GroupPartition]int64{}
	waiting := map[GroupPartition]bool{}
	l, err := r.Sampler.Look(ctx, func(d *Description, row *Row, dg *Diagnosis) {
		p := GroupPartition{Group: d.Name, Partition: row.Partition}
		h := groups[d.Name]
		if h == nil {
			h = &GroupHealth{}
			groups[d.Name] = h
		}
		h.Add(p, dg)
		if row.Committed != nil {
			commits[p] = row.Committed.Offset
			waiting[p] = dg.Lag > 0 && dg.HasLag
		}
		r.judge(row, dg, add)
	})
	if err != nil {
		return err
	}
	r.Looks++
	r.At, r.Missing = l.At, l.Missing
	if r.Looks == 1 {
		r.First, r.began = l.At, commits
	}
	times := map[GroupPartition]TimedLag{}
	if r.Limits.LagTime != nil {
		times = ReadLagTimes(ctx, r.Sampler.Client, l.Snapshot)
	}
	r.Groups = r.Groups[:0]
	for i := range l.Snapshot.Groups {
		d := &l.Snapshot.Groups[i]
		g := CheckedGroup{Name: d.Name, Type: d.Type, State: d.State, Members: len(d.Members), Err: l.Snapshot.GroupErr(*d)}
		if h := groups[d.Name]; h != nil {
			g.Health, g.LagTime = *h, h.LagTime
		} else {
			g.Health.Health, g.Missing = HealthNoCommit, d.NotFound
		}
		r.judgeGroup(&g, add)
		r.Groups = append(r.Groups, g)
	}
	r.judgeTimes(times, l.At, add)
	r.Sampler.Probe(ctx, l)

	r.undecided = false
	for p, w := range waiting {
		if was, ok := r.began[p]; r.Limits.Stall && w && (!ok || was == commits[p]) {
			r.undecided = true
		}
	}
	if r.Looks == 1 {
		r.failing = failing
		return nil
	}
	for k := range r.failing {
		if x, still := failing[k]; still {
			r.failing[k] = x
		} else {
			delete(r.failing, k)
		}
	}
	// A stall shows at the end only, and expiry once a record's time was learned: neither can have failed at every look.
	for k, x := range failing {
		if k.check == CheckStall || k.check == CheckExpire {
			r.failing[k] = x
		}
	}
	return nil
}

// judge checks one partition.
func (r *Checker) judge(row *Row, d *Diagnosis, add func(Finding)) {
	is := func(check Check, text string, value, limit Quantity) {
		add(Finding{row.Group, row.Partition, check, text, value, limit})
	}
	switch row.Status {
	case StatusPastLogEnd, StatusBelowLogStart, StatusInvalidCommit:
		is(CheckStatus, string(row.Status)+": "+d.Why(), Quantity{Status: row.Status}, Quantity{})
	case StatusUnknownTopic:
		if row.Committed != nil {
			is(CheckStatus, "unknown-topic: the group has a commit on a partition that does not exist", Quantity{Status: row.Status}, Quantity{})
		}
	}
	if max := r.Limits.PartitionLag; max != nil && d.HasLag && d.Lag > *max {
		is(CheckPartitionLag, fmt.Sprintf("lag %d is above the limit of %d", d.Lag, *max), counting(d.Lag), counting(*max))
	}
	if r.Limits.Stall && (d.Health == HealthStalled || d.Health == HealthStopped) {
		is(CheckStall, string(d.Health)+": "+d.Why(), lasting(d.Still), lasting(d.Threshold))
	}
	if r.Limits.Expire && d.HasExpires && d.Expires < r.Sampler.History.Rules().ExpireWithin {
		is(CheckExpire, fmt.Sprintf("retention reaches the commit in %s", offset.FormatDuration(d.Expires)), lasting(d.Expires), lasting(r.Sampler.History.Rules().ExpireWithin))
	}
}

// judgeGroup checks what is of the whole group.
func (r *Checker) judgeGroup(g *CheckedGroup, add func(Finding)) {
	if max := r.Limits.Lag; max != nil && g.Health.Lag > *max {
		add(Finding{g.Name, offset.Partition{}, CheckLag, fmt.Sprintf("lag %d is above the limit of %d", g.Health.Lag, *max), counting(g.Health.Lag), counting(*max)})
	}
}

// judgeTimes checks the exact ages. A record that could not be fetched leaves the group's lag time unknown, which is said.
func (r *Checker) judgeTimes(times map[GroupPartition]TimedLag, now time.Time, add func(Finding)) {
	if r.Limits.LagTime == nil {
		return
	}
	byName := make(map[string]*CheckedGroup, len(r.Groups))
	for i := range r.Groups {
		r.Groups[i].LagTime = LagTime{}
		byName[r.Groups[i].Name] = &r.Groups[i]
	}
	for p, t := range times {
		g := byName[p.Group]
		if t.Err != nil {
			g.Err = fmt.Errorf("the age of the record at the commit of %s: %w", p.Partition, t.Err)
			continue
		}
		age, ok := t.BehindNow(now)
		if !ok {
			continue
		}
		if !g.LagTime.Known || age > g.LagTime.D {
			g.LagTime = LagTime{D: age, Known: true, Basis: LagExact}
		}
		if age > *r.Limits.LagTime {
			add(Finding{p.Group, p.Partition, CheckLagTime, fmt.Sprintf("the next record (offset %d) is %s old, above the limit of %s",
				t.Next.Offset, offset.FormatDuration(age), offset.FormatDuration(*r.Limits.LagTime)), lasting(age), lasting(*r.Limits.LagTime)})
		}
	}
}
