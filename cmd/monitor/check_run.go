package monitor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// checkLimits are the thresholds of check; nil is none.
type checkLimits struct {
	lag, partitionLag *int64
	lagTime           *time.Duration
	stall, expire     bool
}

// checkReason is why a check does not hold.
type checkReason struct {
	group string
	part  offset.Partition // zero for the whole group
	check string           // the flag without its dashes, or "status"
	text  string
	value render.Cell
	limit render.Cell
}

// checkKey identifies a reason over several looks.
type checkKey struct {
	group string
	part  offset.Partition
	check string
}

func (r checkReason) key() checkKey { return checkKey{r.group, r.part, r.check} }

// checkedGroup is a group as the last look saw it.
type checkedGroup struct {
	name, state string
	kind        inspect.GroupType
	members     int
	health      inspect.GroupHealth
	lagTime     inspect.LagTime
	missing     bool
	err         error
}

// checkRun looks again and again, and keeps what failed at every look.
type checkRun struct {
	limits  checkLimits
	sampler *inspect.Sampler

	looks     int
	first, at time.Time
	missing   []error
	groups    []checkedGroup
	failing   map[checkKey]checkReason
	undecided bool // a partition may still turn out to stand still
	began     map[inspect.GroupPartition]int64
}

func (r *checkRun) fails(group string) bool {
	for k := range r.failing {
		if k.group == group {
			return true
		}
	}
	return false
}

// reasons are what failed at every look, sorted.
func (r *checkRun) reasons() []checkReason {
	out := make([]checkReason, 0, len(r.failing))
	for _, x := range r.failing {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b checkReason) int {
		return cmp.Or(strings.Compare(a.group, b.group), a.part.Compare(b.part), strings.Compare(a.check, b.check))
	})
	return out
}

// look takes one look and intersects what fails with what failed before.
func (r *checkRun) look(ctx context.Context) error {
	failing := map[checkKey]checkReason{}
	add := func(x checkReason) { failing[x.key()] = x }
	groups := map[string]*inspect.GroupHealth{}
	commits := map[inspect.GroupPartition]int64{}
	waiting := map[inspect.GroupPartition]bool{}
	l, err := r.sampler.Look(ctx, func(d *inspect.Description, row *inspect.Row, dg *inspect.Diagnosis) {
		p := inspect.GroupPartition{Group: d.Name, Partition: row.Partition}
		h := groups[d.Name]
		if h == nil {
			h = &inspect.GroupHealth{}
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
	r.looks++
	r.at, r.missing = l.At, l.Missing
	if r.looks == 1 {
		r.first, r.began = l.At, commits
	}
	times := map[inspect.GroupPartition]inspect.TimedLag{}
	if r.limits.lagTime != nil {
		times = inspect.ReadLagTimes(ctx, r.sampler.Client, l.Snapshot)
	}
	r.groups = r.groups[:0]
	for i := range l.Snapshot.Groups {
		d := &l.Snapshot.Groups[i]
		g := checkedGroup{name: d.Name, kind: d.Type, state: d.State, members: len(d.Members), err: l.Snapshot.GroupErr(*d)}
		if h := groups[d.Name]; h != nil {
			g.health, g.lagTime = *h, h.LagTime
		} else {
			g.health.Health, g.missing = inspect.HealthNoCommit, d.NotFound
		}
		r.judgeGroup(&g, add)
		r.groups = append(r.groups, g)
	}
	r.judgeTimes(times, l.At, add)
	r.sampler.Probe(ctx, l)

	r.undecided = false
	for p, w := range waiting {
		if was, ok := r.began[p]; r.limits.stall && w && (!ok || was == commits[p]) {
			r.undecided = true
		}
	}
	if r.looks == 1 {
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
		if k.check == "no-stall" || k.check == "expire-within" {
			r.failing[k] = x
		}
	}
	return nil
}

// judge checks one partition.
func (r *checkRun) judge(row *inspect.Row, d *inspect.Diagnosis, add func(checkReason)) {
	is := func(check, text string, value, limit render.Cell) {
		add(checkReason{row.Group, row.Partition, check, text, value, limit})
	}
	switch row.Status {
	case inspect.StatusPastLogEnd, inspect.StatusBelowLogStart, inspect.StatusInvalidCommit:
		is("status", string(row.Status)+": "+d.Why(), render.String(string(row.Status)), render.None())
	case inspect.StatusUnknownTopic:
		if row.Committed != nil {
			is("status", "unknown-topic: the group has a commit on a partition that does not exist", render.String(string(row.Status)), render.None())
		}
	}
	if max := r.limits.partitionLag; max != nil && d.HasLag && d.Lag > *max {
		is("max-partition-lag", fmt.Sprintf("lag %d is above --max-partition-lag %d", d.Lag, *max), render.Int(d.Lag), render.Int(*max))
	}
	if r.limits.stall && (d.Health == inspect.HealthStalled || d.Health == inspect.HealthStopped) {
		is("no-stall", string(d.Health)+": "+d.Why(), cli.Seconds(d.Still, true), cli.Seconds(d.Threshold, true))
	}
	if r.limits.expire && d.HasExpires && d.Expires < r.sampler.History.Rules().ExpireWithin {
		is("expire-within", fmt.Sprintf("retention reaches the commit in %s", offset.FormatDuration(d.Expires)), cli.Seconds(d.Expires, true), cli.Seconds(r.sampler.History.Rules().ExpireWithin, true))
	}
}

// judgeGroup checks what is of the whole group.
func (r *checkRun) judgeGroup(g *checkedGroup, add func(checkReason)) {
	if max := r.limits.lag; max != nil && g.health.Lag > *max {
		add(checkReason{g.name, offset.Partition{}, "max-lag", fmt.Sprintf("lag %d is above --max-lag %d", g.health.Lag, *max), render.Int(g.health.Lag), render.Int(*max)})
	}
}

// judgeTimes checks the exact ages. A record that could not be fetched leaves the group's lag time unknown, which is said.
func (r *checkRun) judgeTimes(times map[inspect.GroupPartition]inspect.TimedLag, now time.Time, add func(checkReason)) {
	if r.limits.lagTime == nil {
		return
	}
	byName := make(map[string]*checkedGroup, len(r.groups))
	for i := range r.groups {
		r.groups[i].lagTime = inspect.LagTime{}
		byName[r.groups[i].name] = &r.groups[i]
	}
	for p, t := range times {
		g := byName[p.Group]
		if t.Err != nil {
			g.err = fmt.Errorf("the age of the record at the commit of %s: %w", p.Partition, t.Err)
			continue
		}
		age, ok := t.BehindNow(now)
		if !ok {
			continue
		}
		if !g.lagTime.Known || age > g.lagTime.D {
			g.lagTime = inspect.LagTime{D: age, Known: true, Basis: inspect.LagExact}
		}
		if age > *r.limits.lagTime {
			add(checkReason{p.Group, p.Partition, "max-lag-time", fmt.Sprintf("the next record (offset %d) is %s old, above --max-lag-time %s",
				t.Next.Offset, offset.FormatDuration(age), offset.FormatDuration(*r.limits.lagTime)), cli.Seconds(age, true), cli.Seconds(*r.limits.lagTime, true)})
		}
	}
}
