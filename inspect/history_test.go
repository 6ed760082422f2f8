package inspect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

// look makes a snapshot of groups that commit to topics of as many partitions as there are commits.
func look(groups map[string]map[string][]int64, ends map[string][]offset.Bounds) *Snapshot {
	s := &Snapshot{commits: map[string]Commits{}, Topics: map[string]Topic{}, Log: Log{}}
	for topic, bs := range ends {
		t := Topic{Name: topic}
		for n, b := range bs {
			t.Partitions = append(t.Partitions, TopicPartition{Number: int32(n)})
			s.Log[topic] = append(s.Log[topic], PartitionLog{Bounds: b, known: knowStart | knowEnd | knowStable})
		}
		s.Topics[topic] = t
	}
	for g, topics := range groups {
		c := Commits{Group: g}
		for _, topic := range VisibleNames(s.Topics) {
			tc := TopicCommits{Topic: topic}
			for n, o := range topics[topic] {
				if o != none {
					tc.Rows = append(tc.Rows, CommitRow{Offset: o, Partition: int32(n), LeaderEpoch: -1})
				}
			}
			if len(tc.Rows) > 0 {
				c.Topics = append(c.Topics, tc)
			}
		}
		s.commits[g] = c
		s.Groups = append(s.Groups, Description{Group: Group{Name: g, Type: TypeClassic, State: "Empty"}, Application: AppOffsetsOnly})
	}
	return s
}

func full(end int64) offset.Bounds { return offset.Bounds{End: end, LastStable: end} }

// verdicts observes and returns the verdict of every row.
func verdicts(h *History, at time.Time, s *Snapshot) map[string]Diagnosis {
	out := map[string]Diagnosis{}
	h.Observe(at, s, func(_ *Description, r *Row, d *Diagnosis) {
		out[fmt.Sprintf("%s/%s", r.Group, r.Partition)] = *d
	})
	return out
}

func TestHistory(t *testing.T) {
	h := NewHistory(DefaultRules())
	at := func(i int) time.Time { return t0.Add(time.Duration(i) * 5 * time.Second) }
	var got map[string]Diagnosis
	for i := range 40 {
		n := int64(i)
		s := look(map[string]map[string][]int64{
			"follows": {"orders": {n * 10, n * 10}},
			"hangs":   {"orders": {n * 10, 0}},
			"fresh":   {"orders": {0, none}},
		}, map[string][]offset.Bounds{"orders": {full(n*10 + 5), full(n*10 + 5)}})
		if i == 3 {
			s.commits["follows"] = Commits{Group: "follows", Err: errors.New("no coordinator")}
		}
		got = verdicts(h, at(i), s)
		if _, ok := got["follows/orders:0"]; ok == (i == 3) {
			t.Fatalf("look %d: rows of a group that could not be read: %v", i, got)
		}
	}
	for row, want := range map[string]Health{
		"follows/orders:0": HealthOK, "follows/orders:1": HealthOK, "hangs/orders:0": HealthOK, "hangs/orders:1": HealthNeverLive,
		"fresh/orders:0": HealthNeverLive, "fresh/orders:1": HealthNeverCommitted,
	} {
		if got[row].Health != want {
			t.Errorf("%s is %s, want %s (%s)", row, got[row].Health, want, got[row].Why())
		}
	}
	// The end passed offset 390 at the look before the last, half an interval after it.
	if d := got["follows/orders:0"]; d.In != 2 || d.Out != 2 || d.LagTime.Basis != LagInterpolated || d.LagTime.D != 2500*time.Millisecond {
		t.Errorf("numbers: %+v", d)
	}
	w := h.Window(GroupPartition{"hangs", offset.Partition{Topic: "orders", Partition: 1}})
	if len(w) != WindowSamples || w[len(w)-1].End != 395 || w[0].At != at(16) || w[0].End != 165 {
		t.Errorf("window of %d: %+v … %+v", len(w), w[0], w[len(w)-1])
	}

	// A fetch that finds nothing between commit and end clears the suspicion until the end moves.
	suspects := h.Suspects()
	if len(suspects) != 3 {
		t.Fatalf("suspects %+v", suspects)
	}
	for _, s := range suspects {
		h.Probed(s, nil)
	}
	s := look(map[string]map[string][]int64{"hangs": {"orders": {390, 0}}}, map[string][]offset.Bounds{"orders": {full(395), full(395)}})
	if got = verdicts(h, at(40), s); got["hangs/orders:1"].Health != HealthOK || len(h.Suspects()) != 0 {
		t.Errorf("after the fetch: %+v, suspects %+v", got["hangs/orders:1"], h.Suspects())
	}
	s = look(map[string]map[string][]int64{"hangs": {"orders": {390, 0}}}, map[string][]offset.Bounds{"orders": {full(395), full(400)}})
	// What has come since waits from then on: how long the commit stood before, with nothing to read, says nothing.
	if got = verdicts(h, at(41), s); got["hangs/orders:1"].Health != HealthOK || got["hangs/orders:1"].Still != 0 || len(h.Suspects()) != 1 {
		t.Errorf("after the end moved: %+v, suspects %+v", got["hangs/orders:1"], h.Suspects())
	}
	for i := 42; i <= 53; i++ {
		want := HealthOK
		if i == 53 { // a minute after that
			want = HealthNeverLive
		}
		if got = verdicts(h, at(i), s); got["hangs/orders:1"].Health != want {
			t.Errorf("look %d: %+v, want %s", i, got["hangs/orders:1"], want)
		}
	}
}

// A producer whose transactions are aborted adds a marker every minute: a member that has read all makes no progress for hours, and is
// never stalled, at the looks between a marker and the fetch neither. A record that it does not read makes it so in time.
func TestHistoryOfMarkersThatKeepComing(t *testing.T) {
	h := NewHistory(DefaultRules())
	see := func(i int, end int64, from Health) {
		t.Helper()
		s := look(map[string]map[string][]int64{"g": {"x": {100}}}, map[string][]offset.Bounds{"x": {full(end)}})
		s.Groups[0].State, s.Groups[0].Members, s.Groups[0].Application = "Stable", []Member{{Told: true, Assigned: []offset.Partition{{Topic: "x"}}}}, AppNone
		if d := verdicts(h, t0.Add(time.Duration(i)*15*time.Second), s)["g/x:0"]; d.Health != from {
			t.Errorf("look %d, log end %d: %s (%s), want %s", i, end, d.Health, d.Why(), from)
		}
	}
	for i := range 240 {
		see(i, 100+int64(i/4), HealthOK)
		for _, s := range h.Suspects() {
			h.Probed(s, nil)
		}
	}
	for i := range 8 {
		want := HealthOK
		if i >= 4 {
			want = HealthStalled
		}
		see(240+i, 160, want)
		for _, s := range h.Suspects() {
			h.Probed(s, &offset.Record{Offset: 159, Time: t0.Add(time.Hour)})
		}
	}
}

// A reader that has nothing but markers in front of it has caught up, and so has its group.
func TestGroupThatHasOnlyMarkersLeft(t *testing.T) {
	for drained, want := range map[bool]bool{true: true, false: false} {
		w := WindowOf(Sample{At: t0, Committed: 100, End: 101})
		b := full(101)
		w.Bounds, w.Drained, w.Readers = &b, drained, ReadersSome
		d := Diagnose(w, DefaultRules())
		var g GroupHealth
		g.Add(GroupPartition{"g", offset.Partition{Topic: "x"}}, &d)
		if eta, ok := g.ETA(); ok != want || eta != 0 {
			t.Errorf("drained %t: caught up in %s, known %t", drained, eta, ok)
		}
	}
}

// What a fetch found makes the lag in time exact while the commit stands, and reaches back before the samples afterwards.
func TestHistoryProbed(t *testing.T) {
	h := NewHistory(DefaultRules())
	see := func(i int, commit, end int64) Diagnosis {
		return verdicts(h, t0.Add(time.Duration(i)*10*time.Second), look(map[string]map[string][]int64{"g": {"x": {commit}}}, map[string][]offset.Bounds{"x": {full(end)}}))["g/x:0"]
	}
	if d := see(0, 100, 1100); d.LagTime != UnknownAge(AgeNotRead) {
		t.Errorf("first look: %+v", d.LagTime)
	}
	if d := see(1, 100, 1100); d.LagTime != (LagTime{D: 10 * time.Second, Known: true, Basis: LagAtLeast, Record: 100}) || len(h.Suspects()) != 1 {
		t.Fatalf("second look: %+v, %d suspects", d.LagTime, len(h.Suspects()))
	}
	h.Probed(h.Suspects()[0], &offset.Record{Offset: 100, Time: t0.Add(-1000 * time.Second)})
	if d := see(2, 100, 1100); d.LagTime != (LagTime{D: 1020 * time.Second, Known: true, Basis: LagExact, Record: 100}) || len(h.Suspects()) != 0 {
		t.Errorf("after the fetch: %+v, suspects %+v", d.LagTime, h.Suspects())
	}
	// Half of the 1,000 records on the way from -1000 s to the first look.
	if d := see(3, 600, 1100); d.LagTime != (LagTime{D: 530 * time.Second, Known: true, Basis: LagInterpolated, Record: 600}) {
		t.Errorf("after a commit: %+v", d.LagTime)
	}
}

// Records need not be in the order of their times: one that is two years old says nothing about those behind it, and the age of
// a reader that has passed it does not rest on it for longer than until the next fetch.
func TestHistoryOfAnOldRecordAmongYoungOnes(t *testing.T) {
	h := NewHistory(DefaultRules())
	see := func(i int, commit int64) Diagnosis {
		d := verdicts(h, t0.Add(time.Duration(i)*10*time.Second), look(map[string]map[string][]int64{"g": {"x": {commit}}}, map[string][]offset.Bounds{"x": {full(100_000)}}))["g/x:0"]
		for _, s := range h.Suspects() {
			found := offset.Record{Offset: s.From, Time: t0.Add(-time.Hour)}
			if s.From == 10 {
				found.Time = t0.AddDate(-2, 0, 0)
			}
			h.Probed(s, &found)
		}
		return d
	}
	see(0, 10)
	if d := see(1, 10); d.LagTime.Basis != LagExact || d.LagTime.D < 2*365*24*time.Hour {
		t.Fatalf("the old record is next: %+v", d.LagTime)
	}
	see(2, 100)
	for i := range 20 {
		if d := see(3+i, int64(200+100*i)); !d.LagTime.Known || d.LagTime.D > 70*time.Minute || d.LagTime.D < 50*time.Minute || d.Verdicts.Has(HealthBehind) {
			t.Fatalf("look %d, past the old record: %+v, %s", 3+i, d.LagTime, d.Health)
		}
	}
	if n := h.logs["x"].parts[0].line.seeds; n > maxSeeds {
		t.Errorf("%d times of records are kept", n)
	}
}

// An age lasts no longer than the record that it rests on, nor than the topic.
func TestHistoryProbesAreOfARecord(t *testing.T) {
	h := NewHistory(DefaultRules())
	see := func(i int, id string, start, end int64) Diagnosis {
		s := look(map[string]map[string][]int64{"g": {"x": {0}}}, map[string][]offset.Bounds{"x": {{Start: start, End: end, LastStable: end}}})
		topic := s.Topics["x"]
		topic.id = id
		s.Topics["x"] = topic
		return verdicts(h, t0.Add(time.Duration(i)*10*time.Second), s)["g/x:0"]
	}
	see(0, "one", 0, 5)
	h.Probed(Suspect{GroupPartition{"g", offset.Partition{Topic: "x"}}, 0, 5, "one"}, &offset.Record{Offset: 0, Time: t0.Add(-3 * time.Hour)})
	if d := see(1, "one", 0, 5); d.LagTime.Basis != LagExact || d.LagTime.D != 3*time.Hour+10*time.Second || d.LagTime.Record != 0 {
		t.Fatalf("after the fetch: %+v", d.LagTime)
	}
	d := see(2, "one", 2, 5)
	if d.LagTime.Basis == LagExact || len(h.Suspects()) != 1 || h.Suspects()[0].From != 2 {
		t.Errorf("retention removed the record: %+v, suspects %+v", d.LagTime, h.Suspects())
	}
	h.Probed(h.Suspects()[0], &offset.Record{Offset: 2, Time: t0.Add(-time.Hour)})
	if d := see(3, "one", 2, 5); d.LagTime.D != time.Hour+30*time.Second || d.LagTime.Record != 2 {
		t.Errorf("of the record that is there: %+v", d.LagTime)
	}
	// What a fetch found of the topic before it was made anew is not the age of what is there now.
	h.Probed(Suspect{GroupPartition{"g", offset.Partition{Topic: "x"}}, 0, 5, "one"}, &offset.Record{Offset: 0, Time: t0.Add(-3 * time.Hour)})
	if d := see(4, "two", 0, 50); d.LagTime != UnknownAge(AgeNotRead) || d.HasRates {
		t.Errorf("the topic was made anew: %+v", d)
	}
}

// A log that was cut off, as by an election of a replica that was behind, has other records at the offsets that come again.
func TestHistoryOfALogThatWasCutOff(t *testing.T) {
	for name, found := range map[string]*offset.Record{"a record": {Offset: 3, Time: t0.Add(-3 * time.Hour)}, "nothing": nil} {
		h := NewHistory(DefaultRules())
		see := func(i int, end int64) Diagnosis {
			s := look(map[string]map[string][]int64{"g": {"x": {3}}}, map[string][]offset.Bounds{"x": {full(end)}})
			return verdicts(h, t0.Add(time.Duration(i)*10*time.Second), s)["g/x:0"]
		}
		see(0, 5)
		h.Probed(Suspect{GroupPartition{"g", offset.Partition{Topic: "x"}}, 3, 5, ""}, found)
		if d := see(1, 5); d.LagTime.Basis != LagExact && d.LagTime != NothingLeft() {
			t.Fatalf("%s: after the fetch: %+v", name, d.LagTime)
		}
		see(2, 2)
		if d := see(3, 5); d.LagTime.Basis != LagInterpolated || d.LagTime.D > 10*time.Second {
			t.Errorf("%s: after the log was cut off and written again: %+v", name, d.LagTime)
		}
	}
}

// Markers at the end are nothing to read, however long they stand there; a record without a time, or with one ahead of now, has
// no exact age.
func TestHistoryProbedWithoutATime(t *testing.T) {
	for _, tc := range []struct {
		name        string
		found       *offset.Record
		first, then LagTime
	}{
		{"markers", nil, NothingLeft(), NothingLeft()},
		{"no time", &offset.Record{Offset: 7}, UnknownAge(AgeNoTimestamp), LagTime{D: 10 * time.Second, Known: true, Basis: LagAtLeast, Record: 7}},
		{"a year ahead", &offset.Record{Offset: 7, Time: t0.AddDate(1, 0, 0)}, UnknownAge(AgeFuture), LagTime{D: 10 * time.Second, Known: true, Basis: LagAtLeast, Record: 7}},
	} {
		h := NewHistory(DefaultRules())
		h.Probed(Suspect{GroupPartition{"g", offset.Partition{Topic: "x"}}, 7, 8, ""}, tc.found)
		for i, want := range []LagTime{tc.first, tc.then} {
			s := look(map[string]map[string][]int64{"g": {"x": {7}}}, map[string][]offset.Bounds{"x": {full(8)}})
			if d := verdicts(h, t0.Add(time.Duration(i)*10*time.Second), s)["g/x:0"]; d.LagTime != want {
				t.Errorf("%s, look %d: %+v, want %+v", tc.name, i, d.LagTime, want)
			}
		}
	}
}

// A night in which only a transaction's marker was left to read is not the usual time between two commits: a reader that hangs
// in the morning is stalled after the stall time, not after three nights.
func TestHistoryMarkersAreNoGap(t *testing.T) {
	h := NewHistory(DefaultRules())
	i, x := 0, Suspect{GroupPartition{"g", offset.Partition{Topic: "x"}}, 7, 8, ""}
	see := func(commit, end int64) Diagnosis {
		s := look(map[string]map[string][]int64{"g": {"x": {commit}}}, map[string][]offset.Bounds{"x": {full(end)}})
		s.Groups[0].Application, s.Groups[0].State = AppNone, "Stable"
		s.Groups[0].Members = []Member{{ID: "m", Assigned: []offset.Partition{x.Partition}}}
		i++
		return verdicts(h, t0.Add(time.Duration(i)*15*time.Second), s)["g/x:0"]
	}
	see(7, 8) // a marker is at 7
	h.Probed(x, nil)
	for range 2000 {
		if d := see(7, 8); d.Health != HealthOK {
			t.Fatalf("at a marker: %s (%s)", d.Health, d.Why())
		}
	}
	see(7, 10)
	see(9, 10)
	see(9, 20)
	for range 4 {
		see(9, 20)
	}
	if d := see(9, 20); d.Health != HealthStalled || d.Threshold != time.Minute {
		t.Errorf("it hangs: %s after %s of %s", d.Health, d.Still, d.Threshold)
	}
}

// A reader that stood still for a night and has kept at its end since then is stalled after the stall time when it hangs again.
func TestHistoryOneNightIsNoUsualGap(t *testing.T) {
	h := NewHistory(DefaultRules())
	i := 0
	see := func(commit, end int64) Diagnosis {
		s := look(map[string]map[string][]int64{"g": {"x": {commit}}}, map[string][]offset.Bounds{"x": {full(end)}})
		s.Groups[0].Application, s.Groups[0].State = AppNone, "Stable"
		s.Groups[0].Members = []Member{{ID: "m", Assigned: []offset.Partition{{Topic: "x"}}}}
		i++
		return verdicts(h, t0.Add(time.Duration(i)*15*time.Second), s)["g/x:0"]
	}
	for range 2000 {
		see(7, 100)
	}
	for n := range int64(20) {
		if d := see(100+n, 100+n); d.Health != HealthOK {
			t.Fatalf("it reads again: %s (%s)", d.Health, d.Why())
		}
	}
	for range 5 {
		see(119, 200)
	}
	if d := see(119, 200); d.Health != HealthStalled || d.Threshold != time.Minute {
		t.Errorf("it hangs again: %s after %s of %s", d.Health, d.Still, d.Threshold)
	}
}

// More suspects than one look may fetch are all fetched in turn, though the first ones are suspect again each time.
func TestHistorySuspectsTakeTurns(t *testing.T) {
	const parts = 2000
	commits, ends := make([]int64, parts), make([]offset.Bounds, parts)
	for i := range ends {
		commits[i], ends[i] = 1, full(9)
	}
	s := look(map[string]map[string][]int64{"a": {"x": commits}, "b": {"x": commits}}, map[string][]offset.Bounds{"x": ends})
	h := NewHistory(DefaultRules())
	asked := map[GroupPartition]bool{}
	for i := range 20 {
		verdicts(h, t0.Add(time.Duration(i)*time.Second), s)
		if len(h.Suspects()) > maxSuspects {
			t.Fatalf("%d fetches after one look", len(h.Suspects()))
		}
		for _, x := range h.Suspects() {
			asked[x.GroupPartition] = true
		}
	}
	if len(asked) != 2*parts {
		t.Errorf("%d of %d partitions were asked about", len(asked), 2*parts)
	}
}

func TestHistoryForgets(t *testing.T) {
	h := NewHistory(DefaultRules())
	here := look(map[string]map[string][]int64{"a": {"x": {1}}, "b": {"y": {1}}}, map[string][]offset.Bounds{"x": {full(9)}, "y": {full(9)}})
	verdicts(h, t0, here)
	only := look(map[string]map[string][]int64{"a": {"x": {1}}}, map[string][]offset.Bounds{"x": {full(9)}})
	for i := range WindowSamples - 1 {
		verdicts(h, t0.Add(time.Duration(i+1)*time.Second), only)
	}
	if len(h.groups) != 2 || len(h.logs) != 2 {
		t.Errorf("forgot too early: %d groups, %d topics", len(h.groups), len(h.logs))
	}
	verdicts(h, t0.Add(time.Minute), only)
	if len(h.groups) != 1 || len(h.logs) != 1 {
		t.Errorf("kept %d groups, %d topics", len(h.groups), len(h.logs))
	}
	// A group that comes back after a gap does not read old slots as samples.
	verdicts(h, t0.Add(2*time.Minute), here)
	if w := h.Window(GroupPartition{"b", offset.Partition{Topic: "y"}}); len(w) != 1 {
		t.Errorf("window after the gap: %+v", w)
	}
}

func TestHistoryLogStart(t *testing.T) {
	h := NewHistory(DefaultRules())
	h.SetRetention(map[string]Retention{"x": {Known: true, BySize: true}})
	var got map[string]Diagnosis
	for i := range 10 {
		// Every five minutes retention takes 3,000 offsets; the commit stands 6,000 above where the start is at last.
		s := look(map[string]map[string][]int64{"g": {"x": {33_000 + int64(i)}}},
			map[string][]offset.Bounds{"x": {{Start: int64(i) * 3000, End: 100_000, LastStable: 100_000}}})
		got = verdicts(h, t0.Add(time.Duration(i)*5*time.Minute), s)
		if d := got["g/x:0"]; i == 1 && d.HasExpires {
			t.Errorf("one move of the log start is a rate already: %+v", d)
		}
	}
	if d := got["g/x:0"]; d.Health != HealthAboutToExpire || d.Expires.Round(time.Second) != 10*time.Minute+time.Second {
		t.Errorf("%s in %s", d.Health, d.Expires)
	}
}

func TestGroupHealth(t *testing.T) {
	var g GroupHealth
	if _, ok := g.ETA(); ok || g.Health != "" {
		t.Error("a group without partitions has an ETA")
	}
	p := func(n int32) GroupPartition { return GroupPartition{"g", offset.Partition{Topic: "x", Partition: n}} }
	g.Add(p(0), &Diagnosis{Health: HealthOK, HasLag: true, LagTime: LagTime{Known: true}})
	if eta, ok := g.ETA(); !ok || eta != 0 {
		t.Errorf("at the end: %s %v", eta, ok)
	}
	g.Add(p(1), &Diagnosis{Health: HealthCatchingUp, Lag: 10, HasLag: true, ETA: time.Minute, HasETA: true, LagTime: LagTime{D: time.Hour, Known: true}})
	g.Add(p(2), &Diagnosis{Health: HealthOK, Lag: 5, HasLag: true, LagTime: LagTime{D: time.Second, Known: true}})
	if eta, ok := g.ETA(); !ok || eta != time.Minute || g.Lag != 15 || g.Health != HealthCatchingUp || g.LagTime.D != time.Hour {
		t.Errorf("catching up: %s %v %+v", eta, ok, g)
	}
	g.Add(p(3), &Diagnosis{Health: HealthStalled, Lag: 1, HasLag: true})
	if _, ok := g.ETA(); ok || g.Health != HealthStalled || g.Of != p(3) || g.Count(HealthStalled) != 1 || g.Count(HealthOK) != 2 {
		t.Errorf("with a stalled one: %+v", g)
	}
}

// One unknown age neither hides the oldest that is known nor makes it exact.
func TestGroupHealthAges(t *testing.T) {
	p := func(n int32) GroupPartition { return GroupPartition{"g", offset.Partition{Topic: "x", Partition: n}} }
	exact := func(d time.Duration) LagTime { return LagTime{D: d, Known: true, Basis: LagExact, Record: 4} }
	for _, tc := range []struct {
		name    string
		ages    []LagTime
		want    LagTime
		unknown int
	}{
		{"all known", []LagTime{exact(time.Minute), exact(time.Hour), NothingLeft()}, exact(time.Hour), 0},
		{"one unknown", []LagTime{UnknownAge(AgeNoTimestamp), exact(time.Hour)}, LagTime{D: time.Hour, Known: true, Basis: LagAtLeast, Record: 4}, 1},
		{"unknown beside nothing left", []LagTime{NothingLeft(), UnknownAge(AgeFuture), UnknownAge(AgeDenied)}, UnknownAge(AgeFuture), 2},
		{"one a minimum", []LagTime{exact(time.Hour), {D: time.Second, Known: true, Basis: LagAtLeast}}, LagTime{D: time.Hour, Known: true, Basis: LagAtLeast, Record: 4}, 0},
		{"nothing left", []LagTime{NothingLeft(), NothingLeft()}, NothingLeft(), 0},
	} {
		var g GroupHealth
		for i, a := range tc.ages {
			g.Add(p(int32(i)), &Diagnosis{Health: HealthOK, HasLag: true, LagTime: a})
		}
		if g.LagTime != tc.want || g.Unaged != tc.unknown {
			t.Errorf("%s: %+v, %d unknown; want %+v, %d", tc.name, g.LagTime, g.Unaged, tc.want, tc.unknown)
		}
	}
}

// The memory that the type's comment promises: it decides whether an exporter fits into its container.
func TestHistoryMemory(t *testing.T) {
	const groups, parts = 200, 100
	commits, ends := make([]int64, parts), make([]offset.Bounds, parts)
	for i := range ends {
		ends[i] = full(1000)
	}
	all := map[string]map[string][]int64{}
	for i := range groups {
		all[fmt.Sprint("group-", i)] = map[string][]int64{"x": commits}
	}
	s := look(all, map[string][]offset.Bounds{"x": ends})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	h := NewHistory(DefaultRules())
	for i := range 3 {
		h.Observe(t0.Add(time.Duration(i)*time.Second), s, func(*Description, *Row, *Diagnosis) {})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	per := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / (groups * parts)
	if per > 400 {
		t.Errorf("%d bytes a partition of a group", per)
	}
	runtime.KeepAlive(h)
	runtime.KeepAlive(s)
}

// Two goroutines see what one sees.
func TestHistoryHalves(t *testing.T) {
	one, two := NewHistory(DefaultRules()), NewHistory(DefaultRules())
	for i := range 30 {
		groups := map[string]map[string][]int64{}
		for g := range 7 {
			groups[fmt.Sprint("g", g)] = map[string][]int64{"x": ramp(1+g%3, int64(i*g), 3)}
		}
		s := look(groups, map[string][]offset.Bounds{"x": {full(int64(i) * 10), full(int64(i) * 11), full(int64(i) * 12)}})
		slices.SortFunc(s.Groups, func(a, b Description) int { return strings.Compare(a.Name, b.Name) })
		at := t0.Add(time.Duration(i) * 5 * time.Second)
		want := verdicts(one, at, s)
		got := map[string]Diagnosis{}
		var order [2][]string
		half := func(n int) func(*Description, *Row, *Diagnosis) {
			return func(_ *Description, r *Row, _ *Diagnosis) {
				order[n] = append(order[n], fmt.Sprintf("%s/%s", r.Group, r.Partition))
			}
		}
		var mu sync.Mutex
		keep := func(n int) func(*Description, *Row, *Diagnosis) {
			f := half(n)
			return func(d *Description, r *Row, dg *Diagnosis) {
				mu.Lock()
				defer mu.Unlock()
				f(d, r, dg)
				got[order[n][len(order[n])-1]] = *dg
			}
		}
		two.ObserveHalves(at, s, keep(0), keep(1))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("look %d: %v, want %v", i, got, want)
		}
		all := slices.Concat(order[0], order[1])
		if !slices.IsSorted(all) || len(order[0]) == 0 || len(order[1]) == 0 {
			t.Fatalf("look %d: rows %v and %v", i, order[0], order[1])
		}
		if !reflect.DeepEqual(one.Suspects(), two.Suspects()) {
			t.Fatalf("look %d: suspects %v, want %v", i, two.Suspects(), one.Suspects())
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	commits, ends := make([]int64, 100), make([]offset.Bounds, 100)
	for i := range ends {
		ends[i] = full(1000)
	}
	all := map[string]map[string][]int64{}
	for i := range 1020 {
		all[fmt.Sprint("group-", i)] = map[string][]int64{"x": commits}
	}
	s := look(all, map[string][]offset.Bounds{"x": ends})
	h := NewHistory(DefaultRules())
	at := t0
	for b.Loop() {
		at = at.Add(5 * time.Second)
		h.Observe(at, s, func(*Description, *Row, *Diagnosis) {})
	}
}

// The ring, its gaps and the shortcut for partitions that do not move give what all samples together give.
func TestHistoryAgreesWithAllSamples(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		h := NewHistory(DefaultRules())
		var all []Sample
		commit, end := int64(0), int64(100)
		calm := 0
		for i := range 120 {
			if calm == 0 {
				calm = rnd.IntN(40)
			}
			if calm--; calm < 8 { // busy for a while, then calm for long
				commit, end = min(commit+rnd.Int64N(30), end), end+rnd.Int64N(25)
				if rnd.IntN(30) == 0 {
					commit /= 2
				}
			}
			at := t0.Add(time.Duration(i) * 5 * time.Second)
			s := look(map[string]map[string][]int64{"g": {"x": {commit}}}, map[string][]offset.Bounds{"x": {full(end)}})
			if rnd.IntN(25) == 0 {
				s.commits["g"] = Commits{Group: "g", Err: errors.New("no answer")}
				verdicts(h, at, s)
				all = append(all, Sample{At: at, Unread: true})
				continue
			}
			all = append(all, Sample{At: at, Committed: commit, End: end})
			got := verdicts(h, at, s)["g/x:0"]
			b := full(end)
			w := WindowOf(all...)
			w.Bounds, w.Readers = &b, ReadersUnseen
			want := Diagnose(w, DefaultRules())
			if got.Health != want.Health || got.In != want.In || got.Out != want.Out || got.HasRates != want.HasRates || got.Lag != want.Lag || got.Still != want.Still {
				t.Fatalf("seed %d, look %d: %s in %v out %v still %s; all samples say %s in %v out %v still %s", seed, i,
					got.Health, got.In, got.Out, got.Still, want.Health, want.In, want.Out, want.Still)
			}
		}
	}
}
