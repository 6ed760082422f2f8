package inspect

import "time"

// GroupHealth adds up the diagnoses of a group's partitions. The zero value is a group without partitions.
type GroupHealth struct {
	// Health is the worst of the partitions'; Of and Why are where and what.
	Health Health
	Of     GroupPartition
	Worst  Diagnosis

	Partitions, Uncommitted, Unread int
	// Lag is the sum; Unread partitions are not in it.
	Lag        int64
	In, Out    float64
	HasRates   bool
	LagTime    LagTime       // the longest
	Expires    time.Duration // the soonest
	HasExpires bool

	counts          [14]int32
	eta             time.Duration
	catching, never bool
}

// Add takes one partition in.
func (g *GroupHealth) Add(p GroupPartition, d *Diagnosis) {
	if g.Partitions == 0 || d.Health.Compare(g.Health) > 0 {
		g.Health, g.Of, g.Worst = d.Health, p, *d
	}
	g.Partitions++
	g.counts[d.Health.rank()]++
	switch d.Health {
	case HealthNoCommit:
		g.Uncommitted++
	case HealthUnknown:
		g.Unread++
	case HealthFallingBehind, HealthStalled, HealthStopped, HealthPastLogEnd, HealthInvalidCommit:
		g.never = true
	case HealthCatchingUp:
		g.eta, g.catching = max(g.eta, d.ETA), true
		g.never = g.never || !d.HasETA
	}
	if d.HasLag {
		g.Lag += d.Lag
	}
	if d.HasRates {
		g.In, g.Out, g.HasRates = g.In+d.In, g.Out+d.Out, true
	}
	if d.LagTime.Known && (!g.LagTime.Known || d.LagTime.D > g.LagTime.D) {
		g.LagTime = d.LagTime
	}
	if d.HasExpires && (!g.HasExpires || d.Expires < g.Expires) {
		g.Expires, g.HasExpires = d.Expires, true
	}
}

// ETA is when the slowest partition that catches up is at its end. ok is false where one does not get there, and where a
// reader keeps its distance.
func (g *GroupHealth) ETA() (eta time.Duration, ok bool) {
	switch {
	case g.never:
		return 0, false
	case g.catching:
		return g.eta, true
	}
	return 0, g.Lag == 0 && g.Partitions > g.Unread+g.Uncommitted
}

// Count is how many partitions have a verdict.
func (g *GroupHealth) Count(h Health) int { return int(g.counts[h.rank()]) }

// Why is the worst partition's sentence.
func (g *GroupHealth) Why() string { return g.Worst.Why() }
