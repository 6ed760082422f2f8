package consume

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

func TestCommitter(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want Committer
	}{
		{"no group", Config{Commit: Commit{Auto: true}}, CommitsNever},
		{"nothing", Config{Group: "g"}, CommitsNever},
		{"auto", Config{Group: "g", Commit: Commit{Auto: true}}, CommitsByInterval},
		{"checkpoints", Config{Group: "g", Checkpoints: Checkpoints{Interval: time.Second}}, CommitsOnCheckpoint},
		{"checkpoints win over auto", Config{Group: "g", Commit: Commit{Auto: true}, Checkpoints: Checkpoints{Interval: time.Second}}, CommitsOnCheckpoint},
		{"checkpoints without commits, auto stays ignored", Config{Group: "g", Commit: Commit{Auto: true, NotOnCheckpoint: true}, Checkpoints: Checkpoints{Interval: time.Second}}, CommitsNever},
		{"join", Config{Group: "g", Join: &Join{}}, CommitsByInterval},
	} {
		if got, why := c.cfg.Committer(); got != c.want || why == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, got, why, c.want)
		}
	}
}

func TestJudgeCommit(t *testing.T) {
	at := func(n int64) *offset.Committed { return &offset.Committed{Offset: n} }
	for _, c := range []struct {
		name string
		now  *offset.Committed
		ours []int64
		next int64
		want commitVerdict
	}{
		{"nothing there", nil, []int64{5}, 9, commitOurs},
		{"as we left it", at(5), []int64{5}, 9, commitOurs},
		{"an earlier one of ours, whose successor got lost", at(5), []int64{5, 7}, 9, commitOurs},
		{"somebody behind us", at(6), []int64{5}, 9, commitForeign},
		{"somebody at our place", at(9), []int64{5}, 9, commitForeign},
		{"somebody ahead of us", at(10), []int64{5}, 9, commitBackward},
		{"somebody, where nothing was", at(3), nil, 9, commitForeign},
		{"somebody ahead, where nothing was", at(30), nil, 9, commitBackward},
	} {
		if got := judgeCommit(c.now, c.ours, c.next); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestPassed(t *testing.T) {
	b := offset.Bounds{Start: 10, End: 100, LastStable: 100}
	for _, c := range []struct{ committed, start, over, again int64 }{
		{50, 50, 0, 0}, {50, 80, 30, 0}, {50, 20, 0, 30},
		{5, 30, 20, 0},   // 5 to 10 are gone anyway
		{5, 10, 0, 0},    // expired: nothing is passed over, nothing comes again
		{120, 100, 0, 0}, // past the end
		{120, 90, 0, 10}, // only what exists can come again
		{-5, 50, 0, 0},   // no offset
	} {
		over, again := passed(b, &offset.Committed{Offset: c.committed}, c.start)
		if over != c.over || again != c.again {
			t.Errorf("committed %d, start %d: passed over %d, again %d; want %d, %d", c.committed, c.start, over, again, c.over, c.again)
		}
	}
	if over, again := passed(b, nil, 50); over != 0 || again != 0 {
		t.Error("without a commit nothing is passed over")
	}
}

// A commit outside the log is decided by --if-expired or an explicit auto.offset.reset, as a consumer does, and by nothing
// in other modes.
func TestCommitOutsideTheLog(t *testing.T) {
	part := offset.Partition{Topic: "t"}
	facts := func(n int64) offset.Facts {
		return offset.Facts{Bounds: &offset.Bounds{Start: 10, End: 100, LastStable: 90}, Committed: &offset.Committed{Offset: n}}
	}
	for _, c := range []struct {
		committed int64
		pol       Policies
		want      int64 // -1 is refused
	}{
		{5, Policies{}, -1}, {5, Policies{Reset: ResetNone}, -1}, {5, Policies{Reset: ResetEarliest}, 10}, {5, Policies{Reset: ResetLatest}, 90},
		{5, Policies{Reset: ResetLatest, IfExpired: offset.IfExpiredEarliest}, 10}, {5, Policies{Reset: ResetEarliest, IfExpired: offset.IfExpiredFail}, -1},
		{120, Policies{}, -1}, {120, Policies{Reset: ResetEarliest}, 10}, {120, Policies{Reset: ResetLatest}, 90}, {120, Policies{OutOfRange: offset.OutOfRangeClamp}, 90},
		{95, Policies{}, 95},
	} {
		got, err := resolveStart(&Config{Policies: c.pol}, part, facts(c.committed))
		switch {
		case c.want < 0 && err == nil:
			t.Errorf("commit %d, %+v: starts at %d, want a refusal", c.committed, c.pol, got.Offset)
		case c.want >= 0 && (err != nil || got.Offset != c.want):
			t.Errorf("commit %d, %+v: %d, %v; want %d", c.committed, c.pol, got.Offset, err, c.want)
		case c.want >= 0 && got.Offset != c.committed && got.Detail == "":
			t.Errorf("commit %d, %+v: the jump to %d is not explained", c.committed, c.pol, got.Offset)
		}
	}
}

func TestParseSpecificOffsets(t *testing.T) {
	got, err := ParseSpecificOffsets(" partition:0,offset:42 ; topic:b,partition:1,offset:300;", "a")
	if err != nil || len(got) != 2 || got[offset.Partition{Topic: "a"}].N != 42 || got[offset.Partition{Topic: "b", Partition: 1}].N != 300 {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "partition:0", "partition:0,offset:-1", "partition:0,offset:x", "partition:-1,offset:1", "offset:1", "partition:0,offset:1;;", "partition:0,offset:1;partition:0,offset:1", "partition:0,offset:1,color:red", "0:42"} {
		if got, err := ParseSpecificOffsets(bad, "a"); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
	if _, err := ParseSpecificOffsets("partition:0,offset:1", ""); err == nil || !strings.Contains(err.Error(), "names no topic") {
		t.Errorf("without a topic: %v", err)
	}
}

func recordsAt(offsets ...int64) []*kgo.Record {
	var out []*kgo.Record
	for _, n := range offsets {
		r := &kgo.Record{Offset: max(n, -n), Value: []byte("x"), LeaderEpoch: 3}
		if n < 0 { // a marker
			r.Attrs = controlAttrs()
		}
		out = append(out, r)
	}
	return out
}

// controlAttrs are the attributes of a transaction marker; only a decoded batch has them, so one is decoded.
func controlAttrs() kgo.RecordAttrs {
	var a kgo.RecordAttrs
	for _, r := range decodedMarker() {
		a = r.Attrs
	}
	return a
}

func TestAdmit(t *testing.T) {
	end, left := func(n int64) *int64 { return &n }, func(n int64) *int64 { return &n }
	for _, c := range []struct {
		name string
		row  PlanRow
		in   []int64
		run  int64
		want []int64
		seen int64
		over bool
	}{
		{"all", PlanRow{}, []int64{0, 1, 2}, -1, []int64{0, 1, 2}, 3, false},
		{"markers are passed over", PlanRow{}, []int64{0, 1, -2}, -1, []int64{0, 1}, 3, false},
		{"before the end", PlanRow{End: end(2)}, []int64{0, 1, 2, 3}, -1, []int64{0, 1}, 2, true},
		{"a hole at the end", PlanRow{End: end(5)}, []int64{0, 1, 9}, -1, []int64{0, 1}, 5, true},
		{"a marker reaches the end", PlanRow{End: end(3)}, []int64{0, 1, -2}, -1, []int64{0, 1}, 3, true},
		{"counted", PlanRow{End: end(9), Left: left(2)}, []int64{0, -1, 2, 3}, -1, []int64{0, 2}, 3, true},
		{"the run's own bound", PlanRow{}, []int64{0, 1, 2, 3}, 3, []int64{0, 1, 2}, 3, false},
		{"again after a leader moved", PlanRow{Start: 2}, []int64{0, 1, 2, 3}, -1, []int64{2, 3}, 4, false},
	} {
		p := newPart(c.row)
		a := p.admit(recordsAt(c.in...), c.run)
		var got []int64
		for _, r := range a.records {
			got = append(got, r.Offset)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || p.seen != c.seen || p.over() != c.over || a.bytes != int64(len(got)) {
			t.Errorf("%s: took %v, seen %d, over %v; want %v, %d, %v", c.name, got, p.seen, p.over(), c.want, c.seen, c.over)
		}
	}
}

func TestPacer(t *testing.T) {
	run := func(r Rate, n int, bytes int64) time.Duration {
		now := at(0)
		p := newPacer(r, now)
		for range n {
			now = now.Add(p.wait(now))
			p.spend(now, 1, bytes)
		}
		return now.Sub(at(0))
	}
	for _, c := range []struct {
		rate  Rate
		n     int
		bytes int64
		want  float64 // seconds, less the burst of a tenth
	}{{Rate{Records: 50}, 500, 0, 10}, {Rate{Bytes: 1000}, 100, 100, 10}, {Rate{Records: 1000, Bytes: 100}, 100, 10, 10}} {
		if got := run(c.rate, c.n, c.bytes).Seconds(); math.Abs(got-c.want) > 0.2 {
			t.Errorf("%v: %d pieces took %.2f s, want about %.0f", c.rate, c.n, got, c.want)
		}
	}
	// A ramp begins at a twentieth and ends at the full rate.
	p := newPacer(Rate{Records: 100, Ramp: 10 * time.Second}, at(0))
	for s, want := range map[float64]float64{0: 5, 5: 50, 10: 100, 60: 100} {
		if got := p.current(at(s)).Records; math.Abs(got-want) > 0.01 {
			t.Errorf("after %v s of the ramp: %v/s, want %v", s, got, want)
		}
	}
	// What takes longer than can be counted is no rate without a bound.
	p = newPacer(Rate{Bytes: 1.0 / 3600}, at(0))
	p.spend(at(0), 1, 8<<20)
	if got := p.wait(at(0)); got < 300*24*time.Hour {
		t.Errorf("8 MiB at a byte an hour wait %s", got)
	}
	// A pause saves nothing up.
	p = newPacer(Rate{Records: 10}, at(0))
	p.spend(at(100), 10, 0)
	if got := p.wait(at(100)); got < 800*time.Millisecond {
		t.Errorf("after a pause the next piece may go after %s, want about 0.9 s", got)
	}
}

func TestSizer(t *testing.T) {
	s := newSizer(&Config{Fetch: Fetch{MaxBytes: 8 << 20, MaxPartitionBytes: 1 << 20, Buffer: 64 << 20}})
	feed := func(in, out int) {
		s.OnFetchBatchRead(kgo.BrokerMetadata{}, "t", 0, kgo.FetchBatchMetrics{CompressedBytes: in, UncompressedBytes: out})
		s.adapt()
	}
	for range 10 {
		feed(100, 4000)
	}
	if s.bytes != fetchFirst {
		t.Errorf("a few bytes made it grow to %d", s.bytes)
	}
	for range 10 {
		feed(int(s.bytes), 2*int(s.bytes))
	}
	if s.bytes != 8<<20 {
		t.Errorf("at 2x: %d, the limit is 8 MiB", s.bytes)
	}
	feed(1<<20, 100<<20)
	if got := float64(s.bytes) * 100; got > 65<<20 {
		t.Errorf("at 100x one response may come to %.0f MiB, the buffer is 64", got/(1<<20))
	}
	feed(4<<10, 60<<20)
	if s.bytes > 8<<10 {
		t.Errorf("at 15,000x: %d", s.bytes)
	}
	for range 80 {
		feed(10<<20, 10<<20)
	}
	if !near(int64(s.bytes), 8<<20) {
		t.Errorf("back at 1x: %d", s.bytes)
	}
}

func TestGapWatch(t *testing.T) {
	var g gapWatch
	look := func(i int, s gapSample) gapCause { s.at = at(float64(i)); return g.add(s) }
	for i := range 8 {
		if got := look(i, gapSample{uncommitted: 5, lag: int64(i % 2), completed: int64(i), commits: int64(i)}); got != gapNone {
			t.Fatalf("a steady run: %s", got)
		}
	}
	for name, c := range map[gapCause]func(i int64) gapSample{
		gapCheckpoints: func(i int64) gapSample { return gapSample{uncommitted: 10 * i, commits: 1, completed: 1} },
		gapCommits:     func(i int64) gapSample { return gapSample{uncommitted: 10 * i, commits: 1, completed: i, failed: i} },
		gapSlowCommits: func(i int64) gapSample { return gapSample{uncommitted: 10 * i, commits: 1, completed: i, failed: 1} },
		gapReading:     func(i int64) gapSample { return gapSample{lag: 10 * i, commits: i, completed: i} },
		gapSink: func(i int64) gapSample {
			return gapSample{lag: 10 * i, commits: i, completed: i, blocked: time.Duration(i) * 900 * time.Millisecond}
		},
	} {
		g = gapWatch{}
		var got gapCause
		for i := range 4 {
			if got = look(i, c(int64(i))); i < 3 && got != gapNone {
				t.Errorf("%s: told after %d steps", name, i)
			}
		}
		if got != name {
			t.Errorf("%q, want %q", got, name)
		}
	}
	g = gapWatch{}
	for i := range 6 {
		if got := look(i, gapSample{lag: int64(i) * 10, limited: true, completed: int64(i), commits: int64(i)}); got != gapNone {
			t.Errorf("a reader under a rate is meant to fall behind: %s", got)
		}
	}
}

// A run that starts has no partitions yet: what is left is not known, and not nothing.
func TestPendingOfAStart(t *testing.T) {
	for phase, want := range map[Phase]bool{PhaseStarting: false, PhaseRunning: true, PhaseStopping: true, PhaseEnded: true} {
		if n, known := (Stats{Phase: phase}).Pending(); known != want || n != 0 {
			t.Errorf("%s: %d, known %t", phase, n, known)
		}
	}
	var b strings.Builder
	if err := WriteMetrics(&b, Stats{Phase: PhaseStarting}); err != nil || strings.Contains(b.String(), "\nkoffset_consume_pending_records ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestMetricsAndHealth(t *testing.T) {
	cur, com, end := int64(41), int64(42), int64(100)
	s := Stats{At: at(100), Started: at(0), Phase: PhaseRunning, Records: 42, Bytes: 420, SinkBlocked: 1500 * time.Millisecond,
		Checkpoints: CheckpointStats{On: true, Completed: 3, LastAt: at(95), LastDuration: 20 * time.Millisecond, LastSize: 900},
		Partitions: []PartitionStats{
			{Partition: offset.Partition{Topic: "a.b", Partition: 0}, Position: 42, Current: &cur, Committed: &com, End: &end, LogEnd: 50, Records: 42},
			{Partition: offset.Partition{Topic: "a.b", Partition: 1}, Position: 7, LogEnd: 7},
		}}
	var b strings.Builder
	if err := WriteMetrics(&b, s); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, line := range []string{
		`koffset_consume_current_offset{topic="a.b",partition="0"} 41`, `koffset_consume_committed_offset{topic="a.b",partition="0"} 42`,
		`koffset_consume_uncommitted_records{topic="a.b",partition="0"} 0`, `koffset_consume_records_lag{topic="a.b",partition="0"} 8`,
		`koffset_consume_pending_records 58`, `koffset_consume_sink_blocked_seconds_total 1.5`, `koffset_consume_checkpoints_completed_total 3`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(text, `koffset_consume_current_offset{topic="a.b",partition="1"}`) {
		t.Error("a partition without a record has no current offset")
	}
	got, err := ReadMetrics(strings.NewReader(text))
	if err != nil || len(got) != 2 || got[0].Offset != 42 || got[1].Topic != "a.b" || got[1].Partition.Partition != 1 {
		t.Errorf("read back %v, %v", got, err)
	}
	if _, err := ReadMetrics(strings.NewReader("up 1\n")); err == nil {
		t.Error("metrics of something else were read")
	}
	k := Checkpoints{Interval: 5 * time.Second, Timeout: 10 * time.Second}
	if why := s.Unhealthy(k); why != "" {
		t.Errorf("a run that is well: %s", why)
	}
	s.At = at(130)
	if why := s.Unhealthy(k); !strings.Contains(why, "no checkpoint has completed for 35s") {
		t.Errorf("checkpoints that do not complete: %q", why)
	}
	if why := (Stats{Phase: PhaseEnded}).Unhealthy(k); why == "" {
		t.Error("a run that has ended is not well")
	}
}
