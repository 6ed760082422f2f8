package inspect

import (
	"time"

	"github.com/koffset/koffset/internal/text"
)

// GroupHealth adds up the diagnoses of a group's partitions. The zero value is a group without partitions.
type GroupHealth struct {
	// Health is the worst of the partitions'; Of and Why are where and what. Verdicts are all that hold somewhere.
	Health   Health
	Verdicts Verdicts
	Of       GroupPartition
	Worst    Diagnosis

	// Uncommitted partitions have no commit; NeverCommitted of them should have one. Unread ones could not be read. Stuck ones
	// are held by a member that makes no progress. Unaged ones hold records to read whose age is unknown.
	// Unstable ones have a commit in an open transaction.
	Partitions, Uncommitted, NeverCommitted, Unread, Stuck, Unaged, Unstable int
	// Lag is the sum over the Counted partitions: those with a commit inside their log.
	Lag      int64
	Counted  int
	In, Out  float64
	HasRates bool
	// LagTime is the longest, as AgeSum has it.
	LagTime LagTime
	// Held is what open transactions hold back under read_committed: it is in no lag. Begun is how many offsets lie on the
	// NeverCommitted partitions, which are in none either.
	Held, Begun int64
	// Expires is the soonest; ExpiryUnknown is of how many partitions it is not known.
	Expires       time.Duration
	HasExpires    bool
	ExpiryUnknown int

	ages            AgeSum
	counts          [healthCount]int32
	eta             time.Duration
	catching, never bool
	left            int // partitions that are not at their end
}

// Add takes one partition in.
func (g *GroupHealth) Add(p GroupPartition, d *Diagnosis) {
	if g.Partitions == 0 || d.Health.Compare(g.Health) > 0 {
		g.Health, g.Of, g.Worst = d.Health, p, *d
	}
	g.Partitions++
	all := d.Verdicts.With(d.Health)
	g.Verdicts |= all
	for h := range all.All() {
		g.counts[h.rank()]++
		switch h {
		case HealthNoCommit:
			g.Uncommitted++
		case HealthNeverCommitted:
			g.Uncommitted, g.NeverCommitted, g.never = g.Uncommitted+1, g.NeverCommitted+1, true
		case HealthUnknown:
			g.Unread++
		case HealthFallingBehind, HealthStalled, HealthStopped, HealthNeverLive, HealthPastLogEnd, HealthInvalidCommit:
			g.never = true
		case HealthCatchingUp:
			g.eta, g.catching = max(g.eta, d.ETA), true
			g.never = g.never || !d.HasETA
		}
	}
	if d.Stuck() {
		g.Stuck++
	}
	if d.Unstable {
		g.Unstable++
	}
	if d.HasLag {
		g.Lag, g.Counted = g.Lag+d.Lag, g.Counted+1
		if d.Lag > 0 && (!d.HasETA || d.ETA > 0) {
			g.left++
		}
	}
	if d.inNoLag {
		g.Held += d.Held
	}
	if d.Verdicts.Has(HealthNeverCommitted) {
		g.Begun += d.distance
	}
	if d.HasRates {
		g.In, g.Out, g.HasRates = g.In+d.In, g.Out+d.Out, true
	}
	if d.Health != HealthNoCommit { // it has nothing to do with the group
		g.ages.Add(d.LagTime)
	}
	g.LagTime, g.Unaged = g.ages.Oldest(), g.ages.Unknown
	if d.ExpiryUnknown {
		g.ExpiryUnknown++
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
	return 0, g.left == 0 && g.HasLag()
}

// HasLag says that Lag counts something: it is 0 for a reader at the end, and nothing for one whose commit lies past the end.
func (g *GroupHealth) HasLag() bool { return g.Counted > 0 }

// LagIncomplete says that Lag leaves out partitions whose lag is unknown.
func (g *GroupHealth) LagIncomplete() bool { return g.Partitions > g.Counted+g.Count(HealthNoCommit) }

// Count is on how many partitions a verdict holds. Several may hold on one, so that the counts may add up to more than the
// partitions.
func (g *GroupHealth) Count(h Health) int { return int(g.counts[h.rank()]) }

// Why is the worst partition's sentence, or what open transactions hold back elsewhere.
func (g *GroupHealth) Why() string {
	switch why := g.Worst.Why(); {
	case why != "":
		return why
	case g.Held > 0:
		return heldText(g.Held)
	case g.Unstable > 0:
		return "an open transaction holds newer commits on " + text.Plural(g.Unstable, "partition")
	}
	return ""
}
