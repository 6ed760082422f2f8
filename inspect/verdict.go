package inspect

import (
	"iter"
	"math/bits"
	"slices"
)

// Health is the verdict on a reader; the strings are stable.
type Health string

// The verdicts, from the healthiest on. Several may hold at once; the last of them in this order leads.
const (
	HealthOK             Health = "ok"                    // it keeps pace: at the end, or a constant distance behind
	HealthNoCommit       Health = "no-commit"             // nothing is committed, and nothing says that the group reads it or that there is anything to read
	HealthIdle           Health = "idle"                  // nobody is in the group, and nothing waits
	HealthCatchingUp     Health = "catching-up"           // the lag shrinks
	HealthIdleLong       Health = "idle-long"             // no commit was seen for Rules.IdleAfter and nobody is in the group: its offsets will expire
	HealthBehind         Health = "behind"                // further behind than Rules.BehindAfter or Rules.BehindLag
	HealthFallingBehind  Health = "falling-behind"        // commits move, and the lag grows all the same
	HealthRewound        Health = "rewound"               // the commit went back, and has not come to where it was
	HealthTwoCommitters  Health = "two-committers"        // the commit goes back and forth: two readers write the same group
	HealthNeverLive      Health = "no-members-never-live" // records wait and the commit stands still; the group only commits, so whether its reader runs cannot be seen
	HealthStopped        Health = "stopped"               // records wait, and nobody is there to read them
	HealthAboutToExpire  Health = "about-to-expire"       // retention reaches the position in less than Rules.ExpireWithin
	HealthNeverCommitted Health = "never-committed"       // there are records and no commit, on a partition that a member holds or of a topic that the group commits to
	HealthStalled        Health = "stalled"               // a member holds it, records wait, and the commit stands still
	HealthBelowLogStart  Health = "below-log-start"       // retention removed what would be read next
	HealthPastLogEnd     Health = "past-log-end"          // the commit lies outside the log
	HealthInvalidCommit  Health = "invalid-commit"        // a negative number is stored
	HealthUnknown        Health = "unknown"               // it could not be read
)

const healthCount = 18

// Healths are all verdicts, from the healthiest on.
func Healths() []Health {
	return []Health{HealthOK, HealthNoCommit, HealthIdle, HealthCatchingUp, HealthIdleLong, HealthBehind, HealthFallingBehind, HealthRewound,
		HealthTwoCommitters, HealthNeverLive, HealthStopped, HealthAboutToExpire, HealthNeverCommitted, HealthStalled, HealthBelowLogStart,
		HealthPastLogEnd, HealthInvalidCommit, HealthUnknown}
}

// rank is the place in Healths, found without making the list: it is asked for every partition of a cluster.
func (h Health) rank() int {
	switch h {
	case HealthOK, "":
		return 0
	case HealthNoCommit:
		return 1
	case HealthIdle:
		return 2
	case HealthCatchingUp:
		return 3
	case HealthIdleLong:
		return 4
	case HealthBehind:
		return 5
	case HealthFallingBehind:
		return 6
	case HealthRewound:
		return 7
	case HealthTwoCommitters:
		return 8
	case HealthNeverLive:
		return 9
	case HealthStopped:
		return 10
	case HealthAboutToExpire:
		return 11
	case HealthNeverCommitted:
		return 12
	case HealthStalled:
		return 13
	case HealthBelowLogStart:
		return 14
	case HealthPastLogEnd:
		return 15
	case HealthInvalidCommit:
		return 16
	}
	return 17
}

// Compare orders by severity: negative when h is the healthier.
func (h Health) Compare(o Health) int { return h.rank() - o.rank() }

// Alarming says that somebody should look now.
func (h Health) Alarming() bool { return h.rank() >= HealthStopped.rank() }

// Worst is the most severe of some verdicts; ok for none.
func Worst(hs ...Health) Health {
	if len(hs) == 0 {
		return HealthOK
	}
	return slices.MaxFunc(hs, Health.Compare)
}

// Verdicts are several verdicts that hold at once. The zero value is ok.
type Verdicts uint32

// With adds one.
func (v Verdicts) With(h Health) Verdicts { return v | 1<<h.rank() }

// Has says that one of them is h. Ok is there when nothing else is.
func (v Verdicts) Has(h Health) bool { return v.norm()&(1<<h.rank()) != 0 }

// Worst leads.
func (v Verdicts) Worst() Health {
	return Healths()[bits.Len32(uint32(v.norm()))-1]
}

// All are the verdicts, the worst first.
func (v Verdicts) All() iter.Seq[Health] {
	return func(yield func(Health) bool) {
		all := Healths()
		for rest := v.norm(); rest != 0; {
			i := bits.Len32(uint32(rest)) - 1
			rest &^= 1 << i
			if !yield(all[i]) {
				return
			}
		}
	}
}

// norm is ok alone for none, and without ok beside anything else.
func (v Verdicts) norm() Verdicts {
	if v &^= 1; v == 0 {
		return 1
	}
	return v
}
