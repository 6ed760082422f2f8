package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

var t0 = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// series makes samples every step: commits and ends by index; the shorter one repeats its last value. A commit of none is no
// commit, of unread a failed look.
const (
	none   = -100
	unread = -200
)

func series(step time.Duration, commits, ends []int64) []Sample {
	n := max(len(commits), len(ends))
	out := make([]Sample, n)
	for i := range out {
		c, e := commits[min(i, len(commits)-1)], ends[min(i, len(ends)-1)]
		out[i] = Sample{At: t0.Add(time.Duration(i) * step), Committed: c, End: e}
		if c == none {
			out[i] = Sample{At: out[i].At, NoCommit: true, End: e}
		}
		if c == unread {
			out[i] = Sample{At: out[i].At, Unread: true}
		}
	}
	return out
}

// ramp is from, from+by, …, n numbers.
func ramp(n int, from, by int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = from + int64(i)*by
	}
	return out
}

func cat(parts ...[]int64) (out []int64) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestDiagnose(t *testing.T) {
	const sec = time.Second
	for _, tc := range []struct {
		name    string
		step    time.Duration
		commits []int64
		ends    []int64
		edit    func(*Window)
		want    Health
	}{
		{name: "at the end of an idle log", step: 5 * sec, commits: ramp(20, 100, 0), ends: ramp(20, 100, 0), want: HealthOK},
		{name: "commits follow every sample", step: 5 * sec, commits: ramp(24, 950, 50), ends: ramp(24, 1000, 50), want: HealthOK},
		{name: "commits every fourth sample: a sawtooth is not a trend", step: 5 * sec,
			commits: []int64{0, 0, 0, 0, 200, 200, 200, 200, 400, 400, 400, 400, 600, 600, 600, 600, 800, 800, 800, 800}, ends: ramp(20, 50, 50), want: HealthOK},
		{name: "a constant million behind keeps pace", step: 5 * sec, commits: ramp(24, 0, 500), ends: ramp(24, 1_000_000, 500), want: HealthOK},
		{name: "the lag shrinks", step: 5 * sec, commits: ramp(24, 0, 1500), ends: ramp(24, 100_000, 500), want: HealthCatchingUp},
		{name: "the lag shrinks, nothing arrives", step: 5 * sec, commits: ramp(24, 0, 100), ends: ramp(24, 100_000, 0), want: HealthCatchingUp},
		{name: "the lag grows though commits move", step: 5 * sec, commits: ramp(24, 0, 300), ends: ramp(24, 100_000, 500), want: HealthFallingBehind},
		{name: "slow growth of a large lag", step: 5 * sec, commits: ramp(24, 0, 4000), ends: ramp(24, 1_000_000, 5000), want: HealthFallingBehind},

		{name: "stands still for 60 s, and for 55 s with records waiting", step: 5 * sec, commits: ramp(13, 100, 0), ends: ramp(13, 100, 10), want: HealthOK},
		{name: "stands still for 60 s with records waiting", step: 5 * sec, commits: ramp(14, 100, 0), ends: ramp(14, 110, 10), want: HealthStalled},
		{name: "stands still for 55 s: within the minute", step: 5 * sec, commits: ramp(12, 100, 0), ends: ramp(12, 110, 10), want: HealthOK},
		{name: "two intervals of a minute come before the minute", step: time.Minute, commits: ramp(2, 100, 0), ends: ramp(2, 110, 10), want: HealthOK},
		{name: "two intervals of a minute passed", step: time.Minute, commits: ramp(3, 100, 0), ends: ramp(3, 110, 10), want: HealthStalled},
		{name: "a reader that commits every 60 s may stand for 180 s", step: 10 * sec,
			commits: cat(ramp(6, 0, 0), ramp(6, 600, 0), ramp(17, 1200, 0)), ends: ramp(29, 100, 100), want: HealthOK},
		{name: "a reader that commits every 60 s stands for 190 s", step: 10 * sec,
			commits: cat(ramp(6, 0, 0), ramp(6, 600, 0), ramp(20, 1200, 0)), ends: ramp(32, 100, 100), want: HealthStalled},
		{name: "a night without records is no commit gap", step: 10 * sec,
			commits: cat(ramp(300, 100, 0), ramp(3, 110, 0), ramp(8, 120, 0)), ends: cat(ramp(299, 100, 0), ramp(4, 110, 0), ramp(8, 140, 10)), want: HealthStalled},
		{name: "failed looks do not make a stall", step: 5 * sec, commits: cat([]int64{100}, ramp(3, unread, 0), ramp(10, 150, 10)), ends: ramp(14, 110, 10), want: HealthOK},
		{name: "failed looks do not hide a stall", step: 5 * sec, commits: cat(ramp(5, 100, 0), ramp(4, unread, 0), ramp(6, 100, 0)), ends: ramp(15, 110, 10), want: HealthStalled},
		{name: "records wait, none arrive", step: 5 * sec, commits: ramp(14, 100, 0), ends: ramp(14, 110, 0), edit: readers(ReadersSome), want: HealthStalled},
		{name: "records wait, none arrive, and nobody would be seen", step: 5 * sec, commits: ramp(14, 100, 0), ends: ramp(14, 110, 0), edit: readers(ReadersUnseen), want: HealthNeverLive},
		{name: "nobody would be seen, and it may take a while longer", step: 5 * sec, commits: ramp(12, 100, 0), ends: ramp(12, 110, 0), edit: readers(ReadersUnseen), want: HealthOK},
		{name: "records wait, none arrive, nobody is there", step: 5 * sec, commits: ramp(14, 100, 0), ends: ramp(14, 110, 0), edit: readers(ReadersNone), want: HealthStopped},
		{name: "only markers wait", step: 5 * sec, commits: ramp(14, 100, 0), ends: ramp(14, 101, 0), edit: func(w *Window) { w.Drained = true }, want: HealthOK},
		{name: "no members, one sample", step: sec, commits: []int64{100}, ends: []int64{110}, edit: func(w *Window) { w.Readers = ReadersNone }, want: HealthStopped},
		{name: "no members and nothing to read", step: sec, commits: []int64{100}, ends: []int64{100}, edit: func(w *Window) { w.Readers = ReadersNone }, want: HealthIdle},
		{name: "no members, but something commits", step: 5 * sec, commits: ramp(10, 0, 10), ends: ramp(10, 11, 10), edit: func(w *Window) { w.Readers = ReadersNone }, want: HealthOK},

		{name: "went back and reads on", step: 5 * sec, commits: cat(ramp(10, 1000, 10), ramp(5, 500, 10)), ends: ramp(15, 1010, 10), want: HealthRewound},
		{name: "went back and has recovered", step: 5 * sec, commits: cat(ramp(10, 1000, 10), []int64{500, 800, 1130, 1140}), ends: ramp(14, 1010, 10), want: HealthOK},
		{name: "went back in two steps is one rewind", step: 5 * sec, commits: []int64{1000, 1010, 700, 500, 510}, ends: ramp(5, 1010, 10), want: HealthRewound},
		{name: "back and forth", step: 5 * sec, commits: []int64{1000, 500, 1010, 510, 1020, 520}, ends: ramp(6, 1010, 10), want: HealthTwoCommitters},
		{name: "went back and then hangs", step: 5 * sec, commits: cat([]int64{1000}, ramp(15, 500, 0)), ends: ramp(16, 1010, 10), want: HealthStalled},

		{name: "nothing committed and a member holds it", step: sec, commits: []int64{none}, ends: []int64{100}, edit: uncommitted(ReadersSome, false, 100), want: HealthNeverCommitted},
		{name: "nothing committed on a topic that the group commits to", step: sec, commits: []int64{none}, ends: []int64{100}, edit: uncommitted(ReadersNone, true, 100), want: HealthNeverCommitted},
		{name: "nothing committed where nobody reads", step: sec, commits: []int64{none}, ends: []int64{100}, edit: uncommitted(ReadersNone, false, 100), want: HealthNoCommit},
		{name: "nothing committed and nothing there", step: sec, commits: []int64{none}, ends: []int64{0}, edit: uncommitted(ReadersSome, true, 0), want: HealthNoCommit},
		{name: "nothing committed and only markers there", step: sec, commits: []int64{none}, ends: []int64{100}, edit: func(w *Window) {
			uncommitted(ReadersSome, true, 100)(w)
			w.Drained = true
		}, want: HealthNoCommit},
		{name: "a day behind, keeping pace", step: 5 * sec, commits: ramp(24, 0, 500), ends: ramp(24, 1_000_000, 500), edit: func(w *Window) {
			w.Age = LagTime{D: 25 * time.Hour, Known: true, Basis: LagExact}
		}, want: HealthBehind},
		{name: "how far behind is unknown", step: 5 * sec, commits: ramp(24, 0, 500), ends: ramp(24, 1_000_000, 500), edit: func(w *Window) {
			w.Age = UnknownAge(AgeNoTimestamp)
		}, want: HealthOK},

		{name: "nothing committed", step: sec, commits: []int64{none}, ends: []int64{100}, want: HealthNoCommit},
		{name: "could not be read now", step: sec, commits: []int64{100, unread}, ends: []int64{100}, want: HealthUnknown},
		{name: "unknown topic", step: sec, commits: []int64{100}, ends: []int64{0}, edit: func(w *Window) { w.Status = StatusUnknownTopic }, want: HealthUnknown},
		{name: "past the end", step: sec, commits: []int64{99}, ends: []int64{5}, edit: bounds(3, 5, StatusPastLogEnd), want: HealthPastLogEnd},
		{name: "below the start", step: sec, commits: []int64{1}, ends: []int64{5}, edit: bounds(3, 5, StatusBelowLogStart), want: HealthBelowLogStart},
		{name: "below the start and standing still", step: 5 * sec, commits: ramp(20, 1, 0), ends: ramp(20, 50, 1), edit: bounds(3, 69, StatusBelowLogStart), want: HealthBelowLogStart},
		{name: "negative", step: sec, commits: []int64{-5}, ends: []int64{5}, edit: bounds(0, 5, StatusInvalidCommit), want: HealthInvalidCommit},

		{name: "retention.ms reaches it in an hour", step: 5 * sec, commits: ramp(5, 0, 10), ends: ramp(5, 1000, 10), edit: func(w *Window) {
			bounds(0, 1040, StatusOK)(w)
			w.Retention, w.Age = Retention{Known: true, Time: 24 * time.Hour}, LagTime{D: 23 * time.Hour, Known: true, Basis: LagExact}
		}, want: HealthAboutToExpire},
		{name: "retention.ms is far", step: 5 * sec, commits: ramp(5, 0, 10), ends: ramp(5, 1000, 10), edit: func(w *Window) {
			bounds(0, 1040, StatusOK)(w)
			w.Retention, w.Age = Retention{Known: true, Time: 24 * time.Hour}, LagTime{D: time.Hour, Known: true, Basis: LagExact}
		}, want: HealthOK},
		{name: "the log start comes at 10/s", step: 5 * sec, commits: ramp(5, 10_000, 10), ends: ramp(5, 20_000, 10), edit: func(w *Window) {
			bounds(0, 20_040, StatusOK)(w)
			w.StartRate = 10
		}, want: HealthAboutToExpire},
		{name: "at the end nothing expires", step: 5 * sec, commits: ramp(5, 100, 0), ends: ramp(5, 100, 0), edit: func(w *Window) {
			bounds(99, 100, StatusOK)(w)
			w.StartRate, w.Retention = 10, Retention{Known: true, Time: time.Second}
		}, want: HealthOK},

		{name: "a day without a commit, nobody there", step: time.Hour, commits: ramp(26, 100, 0), ends: ramp(26, 100, 0), edit: func(w *Window) { w.Readers = ReadersNone }, want: HealthIdleLong},
		{name: "a day without a commit, readers there", step: time.Hour, commits: ramp(26, 100, 0), ends: ramp(26, 100, 0), edit: func(w *Window) { w.Readers = ReadersSome }, want: HealthOK},
		{name: "23 hours without a commit", step: time.Hour, commits: ramp(24, 100, 0), ends: ramp(24, 100, 0), want: HealthOK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := WindowOf(series(tc.step, tc.commits, tc.ends)...)
			if tc.edit != nil {
				tc.edit(&w)
			}
			d := Diagnose(w, DefaultRules())
			if d.Health != tc.want {
				t.Errorf("health %s, want %s: %s (%+v)", d.Health, tc.want, d.Why(), d)
			}
			if why := d.Why(); (why == "") != (d.Health == HealthOK) {
				t.Errorf("%s is explained as %q", d.Health, why)
			}
		})
	}
}

func bounds(start, end int64, s Status) func(*Window) {
	return func(w *Window) {
		w.Bounds, w.Status = &offset.Bounds{Start: start, End: end, LastStable: end}, s
	}
}

func readers(r Readers) func(*Window) { return func(w *Window) { w.Readers = r } }

func uncommitted(r Readers, expected bool, end int64) func(*Window) {
	return func(w *Window) {
		bounds(0, end, StatusNoCommit)(w)
		w.Readers, w.Expected = r, expected
	}
}

// A deadline is told beside what leads, and hidden by nothing.
func TestDiagnoseTellsAllThatHolds(t *testing.T) {
	w := WindowOf(series(5*time.Second, ramp(14, 100, 0), ramp(14, 110, 10))...)
	bounds(0, 240, StatusOK)(&w)
	w.Readers, w.Retention = ReadersNone, Retention{Known: true, Time: 26 * time.Hour}
	w.Age = LagTime{D: 25 * time.Hour, Known: true, Basis: LagExact, Record: 100}
	d := Diagnose(w, DefaultRules())
	if got := slices.Collect(d.Verdicts.All()); !slices.Equal(got, []Health{HealthAboutToExpire, HealthStopped, HealthBehind}) || d.Health != HealthAboutToExpire || d.Stuck() {
		t.Errorf("nobody reads: %v", got)
	}
	w.Readers = ReadersSome
	d = Diagnose(w, DefaultRules())
	if got := slices.Collect(d.Verdicts.All()); !slices.Equal(got, []Health{HealthStalled, HealthAboutToExpire, HealthBehind}) || !d.Stuck() {
		t.Errorf("a member hangs: %v", got)
	}
	if why := d.Why(); !strings.Contains(why, "retention reaches the commit in 1h") || !strings.Contains(why, "next record 1d1h old") || !strings.HasSuffix(why, "; behind") {
		t.Errorf("why: %s", why)
	}
	w.Retention.Time = 24 * time.Hour
	if why := Diagnose(w, DefaultRules()).Why(); !strings.Contains(why, "the next record can expire at any moment") || strings.Contains(why, "0ms") {
		t.Errorf("it may be removed already: %s", why)
	}
}

// What is unknown is no moment of expiry, and is counted.
func TestDiagnoseUnknownExpiry(t *testing.T) {
	for _, tc := range []struct {
		name      string
		retention Retention
		age       LagTime
		unknown   bool
		expires   bool
	}{
		{"configuration unreadable", Retention{}, LagTime{D: time.Hour, Known: true, Basis: LagExact}, true, false},
		{"age unknown", Retention{Known: true, Time: time.Hour}, UnknownAge(AgeFuture), true, false},
		{"age a minimum", Retention{Known: true, Time: time.Hour}, LagTime{D: time.Minute, Known: true, Basis: LagAtLeast}, true, false},
		{"kept for ever", Retention{Known: true}, UnknownAge(AgeFuture), false, false},
		{"known", Retention{Known: true, Time: time.Hour}, LagTime{D: time.Minute, Known: true, Basis: LagExact}, false, true},
	} {
		w := WindowOf(Sample{At: t0, Committed: 10, End: 20})
		bounds(0, 20, StatusOK)(&w)
		w.Retention, w.Age = tc.retention, tc.age
		if d := Diagnose(w, DefaultRules()); d.ExpiryUnknown != tc.unknown || d.HasExpires != tc.expires {
			t.Errorf("%s: unknown %v, expires %v", tc.name, d.ExpiryUnknown, d.HasExpires)
		}
	}
}

func TestDiagnoseNumbers(t *testing.T) {
	// 100 behind the end, 30/s in, 50/s out: 20/s are gained, so 5 s remain of the last lag.
	w := WindowOf(series(time.Second, ramp(11, 0, 50), ramp(11, 300, 30))...)
	d := Diagnose(w, DefaultRules())
	if d.In != 30 || d.Out != 50 || !d.HasRates || d.Lag != 100 || !d.HasETA || d.ETA != 5*time.Second {
		t.Errorf("rates and ETA: %+v", d)
	}
	// Below the log start only what still exists is lag.
	w = WindowOf(Sample{At: t0, Committed: 1, End: 5})
	bounds(3, 5, StatusBelowLogStart)(&w)
	if d := Diagnose(w, DefaultRules()); d.Lag != 2 || d.distance != 2 {
		t.Errorf("below the start: %+v", d)
	}
	// One sample has no rate, and no ETA but at the end.
	if d := Diagnose(WindowOf(Sample{At: t0, Committed: 1, End: 5}), DefaultRules()); d.HasRates || d.HasETA {
		t.Errorf("one sample: %+v", d)
	}
	if d := Diagnose(WindowOf(Sample{At: t0, Committed: 5, End: 5}), DefaultRules()); !d.HasETA || d.ETA != 0 || !d.LagTime.Known {
		t.Errorf("one sample at the end: %+v", d)
	}
	// A log that is made anew has no negative rate.
	d = Diagnose(WindowOf(series(time.Second, []int64{5000, 5000, 10, 20}, []int64{5000, 5000, 10, 20})...), DefaultRules())
	if d.In < 0 || d.Out < 0 {
		t.Errorf("negative rates: %+v", d)
	}
	if d.Health.Alarming() {
		t.Errorf("a reader that follows a new log is %s", d.Health)
	}
}

func TestHealthOrder(t *testing.T) {
	all := Healths()
	for i, h := range all {
		if h.rank() != i {
			t.Errorf("%s stands at %d and ranks %d", h, i, h.rank())
		}
	}
	if got := Worst(HealthCatchingUp, HealthStalled, HealthOK); got != HealthStalled {
		t.Errorf("worst is %s", got)
	}
	var v Verdicts
	if v.Worst() != HealthOK || !v.Has(HealthOK) || v.With(HealthOK).With(HealthBehind).Has(HealthOK) || v.With(HealthBehind).With(HealthIdle).Worst() != HealthBehind {
		t.Error("several verdicts")
	}
	if Worst() != HealthOK || HealthFallingBehind.Alarming() || !HealthStalled.Alarming() {
		t.Error("alarms")
	}
}

func TestReadersOf(t *testing.T) {
	for _, tc := range []struct {
		name string
		d    Description
		want Readers
	}{
		{"members", Description{Group: Group{State: "Stable"}, Members: []Member{{}}}, ReadersSome},
		{"empty consumer group", Description{Group: Group{State: "Empty", ProtocolType: "consumer"}}, ReadersNone},
		{"only commits", Description{Group: Group{State: "Empty"}, Application: AppOffsetsOnly}, ReadersUnseen},
		{"rebalancing", Description{Group: Group{State: "PreparingRebalance"}}, ReadersUnknown},
		{"not described", Description{Err: errNoCall, Group: Group{State: "Empty"}}, ReadersUnknown},
		{"no state", Description{}, ReadersUnknown},
	} {
		if got := ReadersOf(tc.d); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestReadersOfAPartition(t *testing.T) {
	held := Description{Group: Group{State: "Stable"}, Members: []Member{{Assigned: []offset.Partition{{Topic: "x"}}}}}
	rebalancing, worker := held, held
	rebalancing.State = "PreparingRebalance"
	worker.Members = []Member{{}}
	idle, half := held, held
	idle.Members, half.Members = []Member{{Told: true}, {Told: true}}, []Member{{Told: true}, {}}
	for _, tc := range []struct {
		name   string
		d      Description
		member *Member
		want   Readers
	}{
		{"held", held, &held.Members[0], ReadersSome},
		{"held by nobody in a stable group", held, nil, ReadersNone},
		{"who holds it is being settled", rebalancing, nil, ReadersSome},
		{"members that tell no partitions", worker, nil, ReadersSome},
		{"members that are known to hold nothing", idle, nil, ReadersNone},
		{"one of the members does not tell", half, nil, ReadersSome},
	} {
		if got := groupReadersOf(tc.d).of(tc.member); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestTimeline(t *testing.T) {
	var tl Timeline
	if a := tl.Age(5, t0); a.Known {
		t.Errorf("an empty timeline knows %+v", a)
	}
	for i := range 11 {
		tl.Add(t0.Add(time.Duration(i)*10*time.Second), int64(i)*100) // 10/s
	}
	now := t0.Add(100 * time.Second)
	for _, tc := range []struct {
		offset int64
		want   time.Duration
		basis  LagBasis
	}{
		{1000, 0, ""},
		{1200, 0, ""},
		{950, 5 * time.Second, LagInterpolated},
		{500, 50 * time.Second, LagInterpolated},
		{5, 99500 * time.Millisecond, LagInterpolated},
		{-1, 100 * time.Second, LagAtLeast},
	} {
		if got := tl.Age(tc.offset, now); !got.Known || got.D != tc.want || got.Basis != tc.basis {
			t.Errorf("offset %d: %+v, want %s %s", tc.offset, got, tc.want, tc.basis)
		}
	}
	if got := tl.Age(500, now.Add(time.Minute)); got.D != 110*time.Second {
		t.Errorf("a minute later: %+v", got)
	}
}

// A timeline is bounded, reaches back to its beginning all the same, and stays within a few percent of the truth.
func TestTimelineThinsOut(t *testing.T) {
	var tl Timeline
	const n = 5000
	for i := range n {
		tl.Add(t0.Add(time.Duration(i)*time.Second), int64(i)*7)
	}
	if len(tl.points) > timelinePoints || tl.points[0].end != 0 {
		t.Fatalf("%d points from %d on", len(tl.points), tl.points[0].end)
	}
	now := t0.Add((n - 1) * time.Second)
	for _, back := range []int64{0, 1, 2, 5, 100, 1000, 4000, 4999} {
		got := tl.Age((n-1-back)*7-1, now)
		want := time.Duration(back)*time.Second + time.Second/7
		if back == 4999 {
			if got.Basis != LagAtLeast {
				t.Errorf("before the beginning: %+v", got)
			}
			continue
		}
		if d := (got.D - want).Abs(); d > want/20+10*time.Millisecond {
			t.Errorf("%d s back: %s, want %s", back, got.D, want)
		}
	}
	// A log that is idle does not use up the room, and a new log forgets the old one.
	for i := range 100 {
		tl.Add(now.Add(time.Duration(i)*time.Second), n*7)
	}
	if got := tl.points[len(tl.points)-2]; got.ms != now.UnixMilli() {
		t.Errorf("the flat stretch begins at %d, want %d", got.ms, now.UnixMilli())
	}
	tl.Add(now.Add(time.Hour), 3)
	if len(tl.points) != 1 {
		t.Errorf("a log made anew keeps %d points", len(tl.points))
	}
}

// What an open transaction holds back is said: under read_committed it is in no lag, and a reader in front of it only seems to hang.
func TestHeldBack(t *testing.T) {
	b := offset.Bounds{End: 110, LastStable: 100}
	for _, tc := range []struct {
		name   string
		iso    offset.Isolation
		commit int64
		want   Health
		says   string
		held   int64
	}{
		{"nothing else waits", offset.ReadCommitted, 100, HealthOK, "10 more offsets held back by an open transaction", 10},
		{"and stable records wait", offset.ReadCommitted, 90, HealthStalled, "10 behind, age unknown; 10 more offsets held back by an open transaction", 10},
		{"it is what waits", offset.ReadUncommitted, 100, HealthStalled, "an open transaction is next: a read_committed reader waits for its end", 0},
		{"stable records wait in front of it", offset.ReadUncommitted, 90, HealthStalled, "20 behind, age unknown", 0},
	} {
		samples := make([]Sample, 14)
		for i := range samples {
			samples[i] = Sample{At: t0.Add(time.Duration(i) * 5 * time.Second), Committed: tc.commit, End: b.EndFor(tc.iso)}
		}
		w := WindowOf(samples...)
		w.Bounds, w.Readers, w.Isolation = &b, ReadersSome, tc.iso
		d := Diagnose(w, DefaultRules())
		var g GroupHealth
		g.Add(GroupPartition{"g", offset.Partition{Topic: "x"}}, &d)
		if d.Health != tc.want || !strings.HasSuffix(d.Why(), tc.says) || g.Why() != d.Why() || g.Held != tc.held {
			t.Errorf("%s: %s (%s), %d held back", tc.name, d.Health, d.Why(), g.Held)
		}
	}
	var g GroupHealth
	g.Add(GroupPartition{"g", offset.Partition{Topic: "x"}}, &Diagnosis{HasLag: true})
	g.Add(GroupPartition{"g", offset.Partition{Topic: "x", Partition: 1}}, &Diagnosis{HasLag: true, Held: 10, inNoLag: true})
	if g.Why() != "10 more offsets held back by an open transaction" {
		t.Errorf("on another partition than the worst: %q", g.Why())
	}
}

// A commit that an open transaction holds is told beside every verdict, and is the reason where there is no other commit.
func TestUnstableIsSaid(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, tc := range []struct {
		s    Sample
		want Health
		why  string
	}{
		{Sample{At: at, Committed: 10, End: 10}, HealthOK, "an open transaction holds a newer commit"},
		{Sample{At: at, Committed: 4, End: 10}, HealthStopped, "; an open transaction holds a newer commit"},
		{Sample{At: at, Unread: true}, HealthUnknown, "what is committed is not known; an open transaction holds its first commit"},
	} {
		w := WindowOf(tc.s)
		w.Status, w.Bounds, w.Unstable = StatusUnstable, &offset.Bounds{End: 10, LastStable: 10}, true
		if tc.want == HealthStopped {
			w.Readers = ReadersNone
		}
		d := Diagnose(w, DefaultRules())
		if d.Health != tc.want || !strings.HasSuffix(d.Why(), tc.why) {
			t.Errorf("%+v: %s, %q", tc.s, d.Health, d.Why())
		}
		var g GroupHealth
		g.Add(GroupPartition{}, &d)
		if g.Unstable != 1 || !strings.HasSuffix(g.Why(), tc.why) {
			t.Errorf("%+v: %d partitions, %q", tc.s, g.Unstable, g.Why())
		}
	}
}

// A share group that has finished nothing yet has no start, wherever it began: that is told, and nobody is paged for it.
func TestShareGroupWithoutAStart(t *testing.T) {
	for _, share := range []bool{false, true} {
		w := WindowOf(Sample{At: t0, NoCommit: true, End: 100})
		w.Status, w.Bounds, w.Readers, w.Share = StatusNoCommit, &offset.Bounds{End: 100, LastStable: 100}, ReadersSome, share
		d := Diagnose(w, DefaultRules())
		if d.Health != HealthNeverCommitted || d.Stuck() == share || strings.Contains(d.Why(), "where it began is not known") != share {
			t.Errorf("share %t: %s, stuck %t: %s", share, d.Health, d.Stuck(), d.Why())
		}
		if next := d.Health.Next(Description{Group: Group{Type: TypeShare}}); !strings.Contains(next, "share group") {
			t.Errorf("advice: %s", next)
		}
	}
	var still []Sample
	for i := range 20 {
		still = append(still, Sample{At: t0.Add(time.Duration(i) * 10 * time.Second), Committed: 3, End: 100})
	}
	w := WindowOf(still...)
	w.Bounds, w.Readers, w.Share = &offset.Bounds{End: 100, LastStable: 100}, ReadersSome, true
	if d := Diagnose(w, DefaultRules()); d.Health != HealthStalled || !d.Stuck() {
		t.Errorf("a share group that stands still: %s, stuck %t", d.Health, d.Stuck())
	}
}
