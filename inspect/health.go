package inspect

import (
	"time"

	"github.com/koffset/koffset/offset"
)

// This file is the judgement over time: what a bounded window of samples of one partition says about its reader. It is
// pure; history.go collects the samples, trend.go has the arithmetic, grouphealth.go adds partitions up.

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
	// BehindAfter and BehindLag are from when on a reader counts as behind, whatever its trend: the age of its next record, and
	// its lag. Zero is no threshold.
	BehindAfter time.Duration
	BehindLag   int64
}

// DefaultRules are 60 s or three commit gaps for a stall, 6 h before expiry, 24 h for idle and for behind.
func DefaultRules() Rules {
	return Rules{MinStall: time.Minute, StallGaps: 3, ExpireWithin: 6 * time.Hour, IdleAfter: 24 * time.Hour, BehindAfter: 24 * time.Hour}
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

// Window is all that a verdict on one partition rests on.
type Window struct {
	Samples []Sample // oldest first; the last is the present
	Memory  Memory
	// Status and Bounds are of the present: what Judge said, and the log. Bounds nil could not be read.
	Status  Status
	Bounds  *offset.Bounds
	Readers Readers
	// Unstable says that an open transaction holds a commit for it: what the samples have is the last final one.
	Unstable bool
	// Isolation is which end the samples have.
	Isolation offset.Isolation
	// Share says that the group is a share group. A partition of it has no start until its first record is finished, wherever the
	// group began.
	Share bool
	// Expected says that the group should have a commit here: it has one on another partition of the topic.
	Expected bool
	// Drained says that a fetch found no record at or after the commit, or at all where there is none: what lies between is
	// transaction markers or gaps that compaction left. Then there is nothing to wait for.
	Drained bool
	// Age is how long ago the record at the commit was written; Retention is what is known of the topic's; StartRate is how
	// fast the log start moves, in offsets a second, zero where it was not seen to.
	Age       LagTime
	Retention Retention
	StartRate float64
}

// WindowOf makes a window from all samples of a partition, as History does over time.
func WindowOf(samples ...Sample) Window {
	var w Window
	for _, s := range samples {
		w.Memory.next(s, false)
	}
	w.Samples = samples[max(0, len(samples)-WindowSamples):]
	w.Status = StatusOK
	return w
}

// Diagnosis is the verdict with the numbers behind it. Rates are offsets a second, over the window.
type Diagnosis struct {
	// Health leads; Verdicts are all that hold.
	Health   Health
	Verdicts Verdicts
	Lag      int64
	HasLag   bool
	// In is how fast the log end moves, Out how fast the commit does. They need two samples.
	In, Out  float64
	HasRates bool
	// ETA is when the lag reaches zero at these rates.
	ETA    time.Duration
	HasETA bool
	// LagTime is how long ago the next record to read was written.
	LagTime LagTime
	// Still is how long the commit has been seen to stand still with records waiting, Threshold how long it may.
	Still, Threshold time.Duration
	// Expires is when retention reaches the position, from now, at the earliest. ExpiryUnknown says that it may, and that when
	// is unknown: the topic's configuration or the record's time could not be read.
	Expires       time.Duration
	HasExpires    bool
	ExpiryUnknown bool
	// Readers is who reads the partition.
	Readers Readers
	// Unstable says that an open transaction holds a commit: what is committed next is not known, and all of this is of the last final one.
	Unstable bool
	// Held is how many offsets an open transaction holds back from readers of committed records, from the last stable offset to the
	// log end. Under read_committed they are in no lag.
	Held int64

	pending                   bool // Unstable, and there is no commit before it
	share                     bool
	inNoLag, waits            bool  // of Held: the lag is without them; they are what is next
	at, back, drops, distance int64 // for Why
	idle                      time.Duration
}

// Stuck says that a member holds the partition and makes no progress, though there are records to read. Of a share group that has
// not finished a record yet the latter is not known: it may have begun at the end, and nothing came since.
func (d *Diagnosis) Stuck() bool {
	return d.Readers == ReadersSome && (d.Verdicts.Has(HealthStalled) || d.Verdicts.Has(HealthNeverCommitted) && !d.share)
}

// Diagnose judges a window.
func Diagnose(w Window, r Rules) Diagnosis {
	d := Diagnosis{Readers: w.Readers, Unstable: w.Unstable, share: w.Share}
	d.judge(w, r)
	d.Health = d.Verdicts.Worst()
	return d
}

func (d *Diagnosis) add(h Health) { d.Verdicts = d.Verdicts.With(h) }

func (d *Diagnosis) judge(w Window, r Rules) {
	d.LagTime = UnknownAge(AgeNotRead)
	if len(w.Samples) == 0 {
		d.add(HealthUnknown)
		return
	}
	now := w.Samples[len(w.Samples)-1]
	switch {
	case w.Status == StatusInvalidCommit:
		d.LagTime = UnknownAge(AgeNoCommit)
		d.add(HealthInvalidCommit)
		return
	case now.Unread || w.Status == StatusError || w.Status == StatusUnknownTopic:
		d.pending = w.Status == StatusUnstable
		d.add(HealthUnknown)
		return
	case now.NoCommit:
		d.withoutCommit(w)
		return
	case w.Status == StatusPastLogEnd:
		d.LagTime = UnknownAge(AgeNoCommit)
		d.add(HealthPastLogEnd)
		if w.Bounds != nil {
			d.distance = now.Committed - w.Bounds.End
		}
		return
	}
	from := now.Committed
	if w.Bounds != nil {
		from = max(from, w.Bounds.Start)
	}
	d.at = from
	d.Lag, d.HasLag = max(0, now.End-from), true
	if b := w.Bounds; b != nil && b.LastStable < b.End {
		d.Held, d.inNoLag, d.waits = b.End-b.LastStable, w.Isolation == offset.ReadCommitted, from >= b.LastStable
	}
	switch {
	case d.Lag == 0 || w.Drained:
		d.LagTime = NothingLeft()
	case w.Age.Known && w.Age.D == 0 && w.Age.Basis == LagAtLeast: // "at least nothing" says nothing
	default:
		d.LagTime = w.Age
	}
	t := trendOf(w.Samples)
	d.In, d.Out, d.HasRates = t.in, t.out, t.hasRates
	d.eta(w.Drained)
	d.expiry(w, now)
	d.verdicts(w, r, now, t)
}

// withoutCommit tells a partition that should have a commit from one that nobody asked to have one.
func (d *Diagnosis) withoutCommit(w Window) {
	empty := w.Drained || w.Bounds != nil && w.Bounds.Start >= w.Bounds.End
	switch {
	case empty || w.Bounds == nil || w.Readers != ReadersSome && !w.Expected:
		d.add(HealthNoCommit)
	default:
		d.add(HealthNeverCommitted)
		d.at, d.distance = w.Bounds.Start, w.Bounds.End-w.Bounds.Start
	}
	if d.LagTime = UnknownAge(AgeNoCommit); empty {
		d.LagTime = NothingLeft()
	}
}

func (d *Diagnosis) verdicts(w Window, r Rules, now Sample, t trend) {
	if w.Status == StatusBelowLogStart {
		if w.Bounds != nil {
			d.distance = w.Bounds.Start - now.Committed
		}
		d.add(HealthBelowLogStart)
	}
	if d.HasExpires && d.Expires < r.ExpireWithin {
		d.add(HealthAboutToExpire)
	}
	switch {
	case t.backs >= 2:
		d.drops = int64(t.backs)
		d.add(HealthTwoCommitters)
	case t.backs == 1 && now.Committed < t.peak:
		d.back = t.peak - now.Committed
		d.add(HealthRewound)
	}
	if d.Lag == 0 || w.Drained {
		d.resting(w, r, now, t)
		return
	}
	if r.BehindAfter > 0 && d.LagTime.Known && d.LagTime.D >= r.BehindAfter || r.BehindLag > 0 && d.Lag >= r.BehindLag {
		d.add(HealthBehind)
	}
	if h := d.standing(w, r, now, t); h != HealthOK {
		d.add(h)
		return
	}
	d.add(t.direction(d.Lag, r, w.Memory.gap()))
}

// standing judges a commit that does not move while records wait, by who should move it; ok where it moves, or may take a
// while longer.
func (d *Diagnosis) standing(w Window, r Rules, now Sample, t trend) Health {
	d.Threshold = r.threshold(t.interval, w.Memory.gap())
	if w.Memory.waiting != 0 {
		d.Still = now.At.Sub(time.UnixMilli(w.Memory.waiting))
	}
	stood := d.Still >= d.Threshold && len(w.Samples) > 1
	switch {
	case w.Readers == ReadersNone && (stood || !t.moved):
		return HealthStopped
	case stood && w.Readers == ReadersUnseen:
		return HealthNeverLive
	case stood:
		return HealthStalled
	}
	return HealthOK
}

// resting judges a partition where nothing waits.
func (d *Diagnosis) resting(w Window, r Rules, now Sample, t trend) {
	if w.Readers == ReadersSome {
		return
	}
	if w.Memory.since != 0 {
		d.idle = now.At.Sub(time.UnixMilli(w.Memory.since))
	}
	switch {
	case d.idle >= r.IdleAfter && r.IdleAfter > 0:
		d.add(HealthIdleLong)
	case w.Readers == ReadersNone && !t.moved:
		d.add(HealthIdle)
	}
}

// eta is set where the lag shrinks. A partition that is at its end, or has nothing but markers in front of it, is there already.
func (d *Diagnosis) eta(drained bool) {
	switch {
	case d.Lag == 0 || drained:
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
// may live longer than this. An age that is only a minimum gives no moment.
func (d *Diagnosis) expiry(w Window, now Sample) {
	if d.Lag == 0 || w.Bounds == nil || w.Drained || now.Committed < w.Bounds.Start {
		return
	}
	at := func(t time.Duration) {
		if !d.HasExpires || t < d.Expires {
			d.Expires, d.HasExpires = max(t, 0), true
		}
	}
	switch {
	case !w.Retention.Known:
		d.ExpiryUnknown = true
	case w.Retention.Time > 0 && w.Age.Known && w.Age.Basis != LagAtLeast:
		at(w.Retention.Time - w.Age.D)
	case w.Retention.Time > 0:
		d.ExpiryUnknown = true
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
