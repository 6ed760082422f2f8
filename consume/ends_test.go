package consume_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func rangeOf(t *testing.T, s string) consume.Range {
	t.Helper()
	r, err := consume.ParseRange(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEnds(t *testing.T) {
	_, cl := fake(t)
	f := kafkatest.F1(t, cl, "")
	for _, c := range []struct {
		name  string
		start consume.Start
		end   consume.End
		want  []string
	}{
		{"latest", from(t, "earliest"), until(t, "latest"), all(span(f.Topic, 0, 4, 10), span(f.Topic, 1, 0, 10), span(f.Topic, 2, 0, 10))},
		{"a number is exclusive", from(t, "earliest"), until(t, "7"), all(span(f.Topic, 0, 4, 7), span(f.Topic, 1, 0, 7), span(f.Topic, 2, 0, 7))},
		{"+3 counts from the start", from(t, "earliest"), until(t, "+3"), all(span(f.Topic, 0, 4, 7), span(f.Topic, 1, 0, 3), span(f.Topic, 2, 0, 3))},
		{"+30 ends at the log end", from(t, "8"), until(t, "+30"), all(span(f.Topic, 0, 8, 10), span(f.Topic, 1, 8, 10), span(f.Topic, 2, 8, 10))},
		{"a time", from(t, "earliest"), until(t, fmt.Sprintf("@%dms", kafkatest.F1Start+600)), all(span(f.Topic, 0, 4, 6), span(f.Topic, 1, 0, 6), span(f.Topic, 2, 0, 6))},
		{"a group", consume.Start{Position: position(t, f.Topic+":0=earliest,"+f.Topic+":1=earliest,"+f.Topic+":2=latest", offset.RoleStart)},
			consume.End{Until: position(t, f.Topic+":0=group:"+f.App+","+f.Topic+":1=group:"+f.App+","+f.Topic+":2=latest", offset.RoleEnd)},
			all(span(f.Topic, 0, 4, 6), span(f.Topic, 1, 0, 7))},
		{"range", consume.Start{}, consume.End{Ranges: []consume.Range{rangeOf(t, f.Topic+":1=3:6"), rangeOf(t, f.Topic+":2=0:1")}}, all(span(f.Topic, 1, 3, 6), span(f.Topic, 2, 0, 1))},
		{"counted range", consume.Start{}, consume.End{Ranges: []consume.Range{rangeOf(t, f.Topic+":1=3+4"), rangeOf(t, f.Topic+":0=8+2")}}, all(span(f.Topic, 1, 3, 7), span(f.Topic, 0, 8, 10))},
	} {
		t.Run(c.name, func(t *testing.T) {
			sink := &collector{}
			cfg := consume.Config{Client: cl, Start: c.start, End: c.end, Sink: sink}
			if len(c.end.Ranges) == 0 {
				cfg.Topics = topics(f.Topic)
			}
			sum, err := consume.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := sink.sorted(); !slices.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
			if sum.Ended != consume.Finished {
				t.Errorf("ended %s", sum.Ended)
			}
		})
	}
}

// An end that cannot be the end is refused as a start would be, or taken as a policy says; nothing was read or committed.
func TestEndRefusals(t *testing.T) {
	_, cl := fake(t)
	f := kafkatest.F1(t, cl, "")
	ranged := func(s string) consume.Config {
		return consume.Config{End: consume.End{Ranges: []consume.Range{rangeOf(t, s)}}}
	}
	for _, c := range []struct {
		name string
		cfg  consume.Config
		kind consume.ErrorKind
		says string
		// with a policy instead of the refusal
		clamped, skipped []string
	}{
		{"before the start", consume.Config{Topics: topics(f.Topic), Start: from(t, "9"), End: until(t, "7")}, consume.Refused, "the end 7 is before the start 9", nil, nil},
		{"past the log end", consume.Config{Topics: topics(f.Topic), Start: from(t, "8"), End: until(t, "9000")}, consume.Refused, "9000", all(span(f.Topic, 0, 8, 10), span(f.Topic, 1, 8, 10), span(f.Topic, 2, 8, 10)), nil},
		{"a range past the log end", ranged(f.Topic + ":1=8:5000"), consume.Refused, "the range ends at 5000, past the log end 10", span(f.Topic, 1, 8, 10), nil},
		{"of another topic", consume.Config{Topics: topics(f.Topic), Start: from(t, "earliest"), End: until(t, "nosuch:0=5")}, consume.NotFound, "the end names nosuch:0, which is not read", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(p offset.OutOfRange) ([]string, error) {
				sink := &collector{}
				cfg := c.cfg
				cfg.Client, cfg.Sink, cfg.Policies.OutOfRange, cfg.Group, cfg.Commit.Auto = cl, sink, p, "ends-"+f.Topic, true
				cfg.Policies.IfNoCommit = offset.IfNoCommitSkip
				_, err := consume.Run(t.Context(), cfg)
				return sink.sorted(), err
			}
			got, err := run("")
			var e *consume.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.says) || len(got) > 0 {
				t.Fatalf("%v, read %v", err, got)
			}
			if left := kafkatest.CommittedOffsets(t, cl, "ends-"+f.Topic, f.Topic); len(left) > 0 {
				t.Errorf("committed %v", left)
			}
			if c.kind != consume.Refused {
				return
			}
			if got, err = run(offset.OutOfRangeSkip); err != nil || !slices.Equal(got, c.skipped) {
				t.Errorf("skip: %v, read %v, want %v", err, got, c.skipped)
			}
			if left := kafkatest.CommittedOffsets(t, cl, "ends-"+f.Topic, f.Topic); len(left) > 0 {
				t.Errorf("skip: committed %v", left)
			}
		})
	}
	t.Run("a group that has passed the end", func(t *testing.T) {
		kafkatest.Commit(t, cl, "passed", kafkatest.At(f.Topic, 0, 9), kafkatest.At(f.Topic, 1, 3), kafkatest.At(f.Topic, 2, 9))
		sink := &collector{}
		_, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics(f.Topic), Group: "passed", Start: from(t, "current"), End: until(t, "7"), Sink: sink, Commit: consume.Commit{Auto: true}})
		if got := sink.sorted(); err != nil || !slices.Equal(got, span(f.Topic, 1, 3, 7)) {
			t.Errorf("%v, read %v", err, got)
		}
		if got := kafkatest.CommittedOffsets(t, cl, "passed", f.Topic); !maps.Equal(got, map[int32]int64{0: 9, 1: 7, 2: 9}) {
			t.Errorf("committed %v", got)
		}
	})
}

// A counted range with fewer records, and a range that an open transaction holds back, are not finished, and go on later.
func TestIncomplete(t *testing.T) {
	_, cl := fake(t)
	testIncomplete(t, cl, "")
}

func testIncomplete(t *testing.T, cl *kgo.Client, prefix string) {
	f := kafkatest.NewF3(t, cl, prefix)
	f.CommitThree()
	f.AbortTwo()
	f.OpenFour() // 7 to 10
	said := &notes{}
	cfg := job(t, cl, &collector{}, f.Topic)
	cfg.Topics, cfg.Start, cfg.Group, cfg.Checkpoints.Interval, cfg.Notify = nil, consume.Start{}, "", time.Hour, said.add
	cfg.End.Ranges = []consume.Range{rangeOf(t, f.Topic+":0=0:11")}
	first, sum, err := readAll(t, cfg)
	if err != nil || sum.Ended != consume.Incomplete || sum.Kept == "" || !slices.Equal(first, span(f.Topic, 0, 0, 3)) {
		t.Fatalf("%v, %+v, read %v", err, sum, first)
	}
	if !said.has("is read to 7 of 11: an open transaction holds the rest back") || !said.has("{{restore latest}}") {
		t.Errorf("said\n%s", said.text())
	}
	f.End(true)
	cfg.Checkpoints.Restore = consume.RestoreLatest
	rest, sum, err := readAll(t, cfg)
	if err != nil || sum.Ended != consume.Finished || !slices.Equal(rest, all(span(f.Topic, 0, 7, 11))) {
		t.Errorf("%v, ended %s, read %v", err, sum.Ended, rest)
	}
	counted := consume.Config{Client: cl, End: consume.End{Ranges: []consume.Range{rangeOf(t, f.Topic+":0=0+100")}}}
	got, sum, err := readAll(t, counted)
	if err != nil || sum.Ended != consume.Incomplete || len(got) != 7 || len(sum.Short) != 1 || !strings.Contains(sum.Short[0], "93 records fewer") {
		t.Errorf("counted: %v, %+v, read %v", err, sum, got)
	}
}

// An end at the log end of now says what an open transaction holds back from it.
func TestHeldBackIsSaid(t *testing.T) {
	_, cl := fake(t)
	f := kafkatest.NewF3(t, cl, "held-")
	f.CommitThree()
	f.OpenFour()
	defer f.End(false)
	said := &notes{}
	sum, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics(f.Topic), Start: from(t, "earliest"), End: until(t, "latest"), Sink: &collector{}, Notify: said.add})
	if err != nil || sum.Ended != consume.Finished || !said.has("open transactions hold back 4 offsets on 1 partition") {
		t.Errorf("%v, ended %s, said\n%s", err, sum.Ended, said.text())
	}
}

// A window over times that are not in order says that it may miss records, and counts what does not belong to it.
func TestUnsortedWindow(t *testing.T) {
	_, cl := fake(t)
	const t0 = 1_700_000_000_000
	at := func(ms int) string { return fmt.Sprintf("@%dms", t0+ms) }
	for name, c := range map[string]struct {
		times    []int64
		from, to int
		read     int
		says     string
	}{
		"both ends are one offset": {[]int64{9000, 2000, 3000, 12000}, 1000, 5000, 0, "both ends of the window are one offset on 1 of 1 partition"},
		"records outside":          {[]int64{1000, 2000, 500, 9000, 2500}, 800, 5000, 3, "1 of the records are outside the window"},
		"in order":                 {[]int64{1000, 2000, 3000, 4000}, 1500, 3500, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			topic := "window-" + strings.ReplaceAll(name, " ", "-")
			kafkatest.CreateTopic(t, cl, topic, 1)
			for _, ms := range c.times {
				kafkatest.ProduceEach(t, cl, kafkatest.Record(topic, 0, t0+ms, "x"))
			}
			said, sink := &notes{}, &collector{}
			_, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics(topic), Start: from(t, at(c.from)), End: until(t, at(c.to)), Sink: sink, Notify: said.add})
			if err != nil || len(sink.got) != c.read {
				t.Fatalf("%v, read %v", err, sink.got)
			}
			if c.says != "" && !said.has(c.says) || c.says == "" && said.has("window") {
				t.Errorf("said\n%s", said.text())
			}
		})
	}
}

// Exactly N over all partitions, with an end and without one.
func TestMaxRecords(t *testing.T) {
	_, cl := fake(t)
	f := kafkatest.F1(t, cl, "")
	for _, n := range []int64{1, 7, 26} {
		for _, rate := range []consume.Rate{{}, {Records: 100_000}} {
			sink := &collector{}
			sum, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics(f.Topic), Start: from(t, "earliest"),
				End: consume.End{MaxRecords: n}, Rate: rate, Sink: sink})
			if err != nil || int64(len(sink.got)) != n || sum.Stats.Records != n {
				t.Errorf("max %d at rate %v: got %d, summary %d, %v", n, rate, len(sink.got), sum.Stats.Records, err)
			}
		}
	}
}

// The last offsets before the end are markers, aborted records, an open transaction.
func TestEndOfTransactions(t *testing.T) {
	_, cl := fake(t)
	testEndOfTransactions(t, cl, "")
}

func testEndOfTransactions(t *testing.T, cl *kgo.Client, prefix string) {
	f := kafkatest.NewF3(t, cl, prefix)
	run := func(cfg consume.Config) ([]string, consume.Summary) {
		t.Helper()
		sink := &collector{}
		cfg.Client, cfg.Topics, cfg.Sink = cl, topics(f.Topic), sink
		cfg.Start, cfg.End = from(t, "earliest"), until(t, "latest")
		cfg.Group, cfg.Commit.Auto, cfg.Policies.AllowRewind = f.Topic, true, true
		sum, err := consume.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return sink.sorted(), sum
	}
	f.CommitThree()
	if got, sum := run(consume.Config{}); !slices.Equal(got, span(f.Topic, 0, 0, 3)) || sum.Committed[0].Offset != 4 {
		t.Errorf("after the commit: %v, committed %v, want 0..2 and 4: the marker counts", got, sum.Committed)
	}
	f.AbortTwo()
	if got, sum := run(consume.Config{}); !slices.Equal(got, span(f.Topic, 0, 0, 3)) || sum.Committed[0].Offset != 7 {
		t.Errorf("after the abort: %v, committed %v, want 0..2 and 7", got, sum.Committed)
	}
	f.OpenFour()
	if got, sum := run(consume.Config{}); !slices.Equal(got, span(f.Topic, 0, 0, 3)) || sum.Committed[0].Offset != 7 {
		t.Errorf("with an open transaction: %v, committed %v, want 0..2 and the last stable offset 7", got, sum.Committed)
	}
	if got, _ := run(consume.Config{ReadUncommitted: true}); !slices.Equal(got, all(span(f.Topic, 0, 0, 3), span(f.Topic, 0, 4, 6), span(f.Topic, 0, 7, 11))) {
		t.Errorf("read_uncommitted: %v", got)
	}
}

// Compaction removed the records before the end.
func TestEndInCompactedHole(t *testing.T) {
	c, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "compacted", 1, "cleanup.policy", "compact")
	for i, key := range []string{"a", "b", "k", "k", "k", "k", "c", "d"} {
		r := kafkatest.Record("compacted", 0, int64(1000+i), fmt.Sprint(i))
		r.Key = []byte(key)
		kafkatest.ProduceEach(t, cl, r)
	}
	c.Compact()
	sink := &collector{}
	sum, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics("compacted"), Start: from(t, "earliest"), End: until(t, "5"), Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	if p := sum.Stats.Partitions[0]; p.Position != 5 {
		t.Errorf("position %d, want 5", p.Position)
	}
	if got := sink.sorted(); !slices.Equal(got, span("compacted", 0, 0, 2)) {
		t.Errorf("got %v, want 0 and 1", got)
	}
}

func TestRangeFile(t *testing.T) {
	in := consume.RangeFile{ClusterID: "abc", TopicIDs: map[string]string{"a": "AAAA", "b": "BBBB"}, CreatedAt: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC),
		Parts: [][]consume.Range{{rangeOf(t, "a:0=0:10"), rangeOf(t, "b:1=5+7")}, {rangeOf(t, "a:0=10:20")}, nil}}
	var b strings.Builder
	if err := in.Write(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	read := func(s string) (consume.RangeFile, error) { return consume.ReadRangeFile(strings.NewReader(s), "f") }
	out, err := read(good)
	digest := out.Digest
	if out.Digest = ""; err != nil || digest == "" || fmt.Sprint(out) != fmt.Sprint(in) {
		t.Errorf("read %v, %v; wrote %v", out, err, in)
	}
	out.Digest = digest
	if o := out.Origin("f"); o.Unsealed || o.TopicIDs["a"] != "AAAA" || o.ClusterID != "abc" || !o.At.Equal(in.CreatedAt) {
		t.Errorf("the origin is %+v", o)
	}
	if _, err := read(strings.ReplaceAll(good, "\n", "\r\n")); err != nil {
		t.Errorf("line ends are not contents: %v", err)
	}
	// One of an older koffset has neither ids nor an end.
	old, err := read("# koffset ranges 1\n# cluster abc\n1 a:0=1:2\n")
	if err != nil || old.ClusterID != "abc" || len(old.Parts) != 1 || !old.Origin("f").Unsealed {
		t.Errorf("version 1: %+v, %v", old, err)
	}
	bad := []string{"", "1 a:0=1:2\n", "# koffset ranges 1\n0 a:0=1:2\n", "# koffset ranges 1\n1 a:0=5:2\n", "# koffset ranges 1\n1 a=5:2\n",
		strings.Replace(good, "a:0=10:20", "a:0=10:19", 1), strings.Replace(good, "AAAA", "AAAB", 1), strings.Replace(good, "# cluster abc\n", "", 1),
		good + "1 c:0=1:2\n", strings.Replace(good, "# end 3", "# end 4", 1) + "x", strings.Replace(good, "# end 3", "# end 1", 1)}
	lines := strings.SplitAfter(good, "\n")
	for n := range len(lines) - 2 {
		bad = append(bad, strings.Join(lines[:n], "")) // cut off at a line end
	}
	for _, s := range bad {
		if _, err := read(s); err == nil {
			t.Errorf("%q was read", s)
		}
	}
}

func TestThrottleTakesTurns(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "even", 4)
	for p := range int32(4) {
		kafkatest.Produce(t, cl, kafkatest.Records("even", p, 500, 1000, 1)...)
	}
	sink := &collector{}
	begin := time.Now()
	_, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics("even"), Start: from(t, "earliest"),
		End: consume.End{MaxRecords: 400}, Rate: consume.Rate{Records: 800}, Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 350*time.Millisecond {
		t.Errorf("400 records at 800/s took %s", took)
	}
	counts := map[string]int{}
	for _, g := range sink.got {
		counts[strings.SplitN(g, "@", 2)[0]]++
	}
	for p, n := range counts {
		if n < 80 || n > 120 {
			t.Errorf("%s got %d of 400, want about 100: %v", p, n, counts)
		}
	}
}
