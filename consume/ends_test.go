package consume_test

import (
	"fmt"
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
		{"before the start reads nothing", from(t, "9"), until(t, "7"), nil},
		{"range", consume.Start{}, consume.End{Ranges: []consume.Range{rangeOf(t, f.Topic+":1=3:6"), rangeOf(t, f.Topic+":2=0:1")}}, all(span(f.Topic, 1, 3, 6), span(f.Topic, 2, 0, 1))},
		{"range past the end", consume.Start{}, consume.End{Ranges: []consume.Range{rangeOf(t, f.Topic+":1=8:5000")}}, span(f.Topic, 1, 8, 10)},
		{"counted range", consume.Start{}, consume.End{Ranges: []consume.Range{rangeOf(t, f.Topic+":1=3+4"), rangeOf(t, f.Topic+":0=8+100")}}, all(span(f.Topic, 1, 3, 7), span(f.Topic, 0, 8, 10))},
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
	in := consume.RangeFile{ClusterID: "abc", Parts: [][]consume.Range{{rangeOf(t, "a:0=0:10"), rangeOf(t, "b:1=5+7")}, {rangeOf(t, "a:0=10:20")}}}
	var b strings.Builder
	if err := in.Write(&b); err != nil {
		t.Fatal(err)
	}
	out, err := consume.ReadRangeFile(strings.NewReader(b.String()), "f")
	if err != nil || fmt.Sprint(out) != fmt.Sprint(in) {
		t.Errorf("read %v, %v; wrote %v", out, err, in)
	}
	for _, bad := range []string{"", "1 a:0=1:2\n", "# koffset ranges 1\n0 a:0=1:2\n", "# koffset ranges 1\n1 a:0=5:2\n", "# koffset ranges 1\n1 a=5:2\n"} {
		if _, err := consume.ReadRangeFile(strings.NewReader(bad), "f"); err == nil {
			t.Errorf("%q was read", bad)
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
