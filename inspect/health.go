package inspect

import (
	"slices"
	"time"

	"github.com/koffset/koffset/offset"
)

// This file is the judgement over time: what a bounded window of samples of one partition says about its reader. It is
// pure; history.go collects the samples, trend.go has the arithmetic, grouphealth.go adds partitions up.

// Health is the verdict on a reader; the strings are stable.
type Health string

// The verdicts, from the healthiest on. Where several hold, the last of them in this order is the verdict.
const (
	HealthOK            Health = "ok"              // it keeps pace: at the end, or a constant distance behind
	HealthNoCommit      Health = "no-commit"       // nothing is committed
	HealthCatchingUp    Health = "catching-up"     // the lag shrinks
	HealthIdleLong      Health = "idle-long"       // no commit was seen for Rules.IdleAfter and nobody is in the group: its offsets will expire
	HealthFallingBehind Health = "falling-behind"  // commits move, and the lag grows all the same
	HealthRewound       Health = "rewound"         // the commit went back, and has not come to where it was
	HealthTwoCommitters Health = "two-committers"  // the commit goes back and forth: two readers write the same group
	HealthAboutToExpire Health = "about-to-expire" // retention reaches the position in less than Rules.ExpireWithin
	HealthStopped       Health = "stopped"         // records wait, none arrive, and the commit stands still; or the group has no members
	HealthStalled       Health = "stalled"         // the commit stands still while records arrive
	HealthBelowLogStart Health = "below-log-start" // retention removed what would be read next
	HealthPastLogEnd    Health = "past-log-end"    // the commit lies outside the log
	HealthInvalidCommit Health = "invalid-commit"  // a negative number is stored
	HealthUnknown       Health = "unknown"         // it could not be read
)

// Healths are all verdicts, from the healthiest on.
func Healths() []Health {
	return []Health{HealthOK, HealthNoCommit, HealthCatchingUp, HealthIdleLong, HealthFallingBehind, HealthRewound, HealthTwoCommitters,
		HealthAboutToExpire, HealthStopped, HealthStalled, HealthBelowLogStart, HealthPastLogEnd, HealthInvalidCommit, HealthUnknown}
}

// rank is the place in Healths, found without making the list: it is asked for every partition of a cluster.
func (h Health) rank() int {
	switch h {
	case HealthOK, "":
		return 0
	case HealthNoCommit:
		return 1
	case HealthCatchingUp:
		return 2
	case HealthIdleLong:
		return 3
	case HealthFallingBehind:
		return 4
	case HealthRewound:
		return 5
	case HealthTwoCommitters:
		return 6
	case HealthAboutToExpire:
		return 7
	case HealthStopped:
		return 8
	case HealthStalled:
		return 9
	case HealthBelowLogStart:
		return 10
	case HealthPastLogEnd:
		return 11
	case HealthInvalidCommit:
		return 12
	}
	return 13
}

// Compare orders by severity: negative when h is the healthier.
func (h Health) Compare(o Health) int { return h.rank() - o.rank() }

// Alarming says that somebody should look now.
func (h Health) Alarming() bool { return h.rank() >= HealthAboutToExpire.rank() }

// Rules are the thresholds of the verdicts.
type Rules struct {
	// Interval is the time between samples; zero takes it from the samples.
	Interval time.Duration
	// MinStall, and two intervals, and StallGaps times the time that the group usually takes between commits: the largest
	// of the three is how long a commit must stand still, with records waiting, to be stalled or stopped.
	MinStall  time.Duration
	StallGaps int
	// ExpireWithin is when a position counts as about to expire.
	ExpireWithin time.Duration
	// IdleAfter is how long no commit must have been seen for idle-long. Kafka drops the offsets of a group without members
	// after offsets.retention.minutes, 7 days unless configured.
	IdleAfter time.Duration
}

// DefaultRules are 60 s or three commit gaps for a stall, 6 h before expiry, 24 h for idle.
func DefaultRules() Rules {
	return Rules{MinStall: time.Minute, StallGaps: 3, ExpireWithin: 6 * time.Hour, IdleAfter: 24 * time.Hour}
}

// WindowSamples is how many samples a Window holds at most. At an interval of 5 s that is two minutes, long enough for
// several commits of an ordinary consumer; what older samples said that still matters is in the window's Memory.
const WindowSamples = 24

// Sample is one look at one partition of one group.
type Sample struct {
	At        time.Time
	Committed int64 // meaningless where NoCommit or Unread
	End       int64 // log end under the isolation in force
	NoCommit  bool
	Unread    bool // the look failed: the numbers mean nothing, and nothing is concluded from the gap
}

// Readers says who is in the group.
type Readers uint8

// A group that only commits (assign(), Flink, Spark) has no members while it runs, so nothing follows from their absence.
const (
	ReadersUnknown Readers = iota
	ReadersSome
	ReadersNone
)

// ReadersOf is what a group's description says about its readers.
func ReadersOf(d Description) Readers {
	switch {
	case d.Err != nil:
		return ReadersUnknown
	case len(d.Members) > 0:
		return ReadersSome
	case d.Application == AppOffsetsOnly || d.State == "" || d.Active():
		return ReadersUnknown
	}
	return ReadersNone
}

// Window is all that a verdict on one partition rests on.
type Window struct {
	Samples []Sample // oldest first; the last is the present
	Memory  Memory
	// Status and Bounds are of the present: what Judge said, and the log. Bounds nil could not be read.
	Status  Status
	Bounds  *offset.Bounds
	Readers Readers
	// Drained says that a fetch found no record at or after the commit: what lies between is transaction markers or gaps
	// that compaction left. Then there is nothing to wait for.
	Drained bool
	// Age is how long ago the record at the commit was written, where known; Retention is the topic's retention.ms, zero
	// for none or unknown; StartRate is how fast the log start moves, in offsets a second, zero where it was not seen to.
	Age       LagTime
	Retention time.Duration
	StartRate float64
}

// WindowOf makes a window from all samples of a partition, as History does over time.
func WindowOf(samples ...Sample) Window {
	var w Window
	for _, s := range samples {
		w.Memory.next(s)
	}
	w.Samples = samples[max(0, len(samples)-WindowSamples):]
	w.Status = StatusOK
	return w
}

// Diagnosis is the verdict with the numbers behind it. Rates are offsets a second, over the window.
type Diagnosis struct {
	Health Health
	Lag    int64
	HasLag bool
	// In is how fast the log end moves, Out how fast the commit does. They need two samples.
	In, Out  float64
	HasRates bool
	// ETA is when the lag reaches zero at these rates.
	ETA    time.Duration
	HasETA bool
	// LagTime is how long ago the next record to read was written.
	LagTime LagTime
	// Still is how long the commit has stood still with records waiting, Threshold how long it may.
	Still, Threshold time.Duration
	// Expires is when retention reaches the position, from now, at the earliest.
	Expires    time.Duration
	HasExpires bool

	back, drops, distance int64 // for Why
	idle                  time.Duration
	readers               Readers
}

// Diagnose judges a window.
func Diagnose(w Window, r Rules) Diagnosis {
	d := Diagnosis{Health: HealthOK, readers: w.Readers}
	if len(w.Samples) == 0 {
		d.Health = HealthUnknown
		return d
	}
	now := w.Samples[len(w.Samples)-1]
	switch {
	case w.Status == StatusInvalidCommit:
		d.Health = HealthInvalidCommit
		return d
	case now.Unread || w.Status == StatusError || w.Status == StatusUnknownTopic:
		d.Health = HealthUnknown
		return d
	case now.NoCommit:
		d.Health = HealthNoCommit
		return d
	case w.Status == StatusPastLogEnd:
		d.Health = HealthPastLogEnd
		if w.Bounds != nil {
			d.distance = now.Committed - w.Bounds.End
		}
		return d
	}
	from := now.Committed
	if w.Bounds != nil {
		from = max(from, w.Bounds.Start)
	}
	d.Lag, d.HasLag = max(0, now.End-from), true
	if d.Lag == 0 {
		d.LagTime = LagTime{Known: true}
	} else if w.Age.D > 0 || w.Age.Basis != LagAtLeast { // "at least nothing" says nothing
		d.LagTime = w.Age
	}
	t := trendOf(w.Samples)
	d.In, d.Out, d.HasRates = t.in, t.out, t.hasRates
	d.eta()
	d.expiry(w, now)
	d.Health = d.verdict(w, r, now, t)
	return d
}

func (d *Diagnosis) verdict(w Window, r Rules, now Sample, t trend) Health {
	if w.Status == StatusBelowLogStart {
		if w.Bounds != nil {
			d.distance = w.Bounds.Start - now.Committed
		}
		return HealthBelowLogStart
	}
	waiting := d.Lag > 0 && !w.Drained
	d.Threshold = r.threshold(t.interval, w.Memory.gap())
	if waiting && w.Memory.waiting != 0 {
		d.Still = now.At.Sub(time.UnixMilli(w.Memory.waiting))
	}
	stood := waiting && d.Still >= d.Threshold && len(w.Samples) > 1
	switch {
	case stood && now.End > w.Memory.endAtMove:
		return HealthStalled
	case stood:
		return HealthStopped
	case waiting && w.Readers == ReadersNone && !t.moved:
		return HealthStopped
	}
	if d.HasExpires && d.Expires < r.ExpireWithin {
		return HealthAboutToExpire
	}
	if t.backs >= 2 {
		d.drops = int64(t.backs)
		return HealthTwoCommitters
	}
	if t.backs == 1 && now.Committed < t.peak {
		d.back = t.peak - now.Committed
		return HealthRewound
	}
	if waiting {
		if h := t.direction(d.Lag, r, w.Memory.gap()); h != HealthOK {
			return h
		}
	}
	if d.idle = now.At.Sub(time.UnixMilli(w.Memory.since)); !waiting && w.Readers != ReadersSome && w.Memory.since != 0 && d.idle >= r.IdleAfter {
		return HealthIdleLong
	}
	return HealthOK
}

// eta is set where the lag shrinks. A partition that is at its end is there already.
func (d *Diagnosis) eta() {
	switch {
	case d.Lag == 0:
		d.HasETA = true
	case d.HasRates && d.Out > d.In:
		secs := float64(d.Lag) / (d.Out - d.In)
		if secs < (100 * 365 * 24 * time.Hour).Seconds() {
			d.ETA, d.HasETA = time.Duration(secs*float64(time.Second)), true
		}
	}
}

// expiry is the earlier of two moments: when the record at the commit becomes older than retention.ms, and when the log
// start, at the speed seen, reaches the commit. Kafka removes whole segments, whose youngest record counts, so the record
// may live longer than this.
func (d *Diagnosis) expiry(w Window, now Sample) {
	if d.Lag == 0 || w.Bounds == nil || w.Drained || now.Committed < w.Bounds.Start {
		return
	}
	at := func(t time.Duration) {
		if !d.HasExpires || t < d.Expires {
			d.Expires, d.HasExpires = max(t, 0), true
		}
	}
	if w.Retention > 0 && w.Age.Known {
		at(w.Retention - w.Age.D)
	}
	if w.StartRate > 0 {
		if secs := float64(now.Committed-w.Bounds.Start) / w.StartRate; secs < (365 * 24 * time.Hour).Seconds() {
			at(time.Duration(secs * float64(time.Second)))
		}
	}
}

// threshold is how long a commit may stand still.
func (r Rules) threshold(interval, gap time.Duration) time.Duration {
	if r.Interval > 0 {
		interval = r.Interval
	}
	return max(2*interval, time.Duration(r.StallGaps)*gap, r.MinStall)
}

// Worst is the most severe of some verdicts; ok for none.
func Worst(hs ...Health) Health {
	if len(hs) == 0 {
		return HealthOK
	}
	return slices.MaxFunc(hs, Health.Compare)
}
