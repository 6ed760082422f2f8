package consume_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

func TestJoin(t *testing.T) {
	_, cl := fake(t)
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			testJoin(t, cl, "join-"+protocol, protocol == "consumer")
		})
	}
}

// Two processes share a topic; one leaves, the other takes over; everything is read, and committed to the end.
func testJoin(t *testing.T, cl *kgo.Client, name string, kip848 bool) {
	kafkatest.CreateTopic(t, cl, name, 4)
	put := func(n int) {
		t.Helper()
		for p := range int32(4) {
			kafkatest.Produce(t, cl, kafkatest.Records(name, p, n, 1000, 1)...)
		}
	}
	put(50)
	cfg := func(s consume.Sink, said *notes) consume.Config {
		return consume.Config{Client: cl, Topics: topics(name), Group: name, Policies: consume.Policies{Reset: consume.ResetEarliest}, Sink: s,
			Notify: said.add, Commit: consume.Commit{Interval: 50 * time.Millisecond}, Join: &consume.Join{Consumer: kip848}}
	}
	a, b, saidA, saidB := &collector{}, &collector{}, &notes{}, &notes{}
	one := start(t, cfg(a, saidA))
	one.reach(t, a.until(200))
	two := start(t, cfg(b, saidB))
	kafkatest.Until(t, "the second has partitions", func() bool { return saidB.has("assigned " + name) })
	put(50)
	kafkatest.Until(t, "both have read", func() bool {
		put(1)
		a.mu.Lock()
		defer a.mu.Unlock()
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(a.got) > 200 && len(b.got) > 0
	})
	one.stop(nil)
	one.wait(t)
	if one.err != nil || one.sum.Ended != consume.Cancelled {
		t.Fatalf("the first ended with %v", one.err)
	}
	if !saidA.has("handed over") {
		t.Errorf("the first did not say that it handed partitions over:\n%s", saidA.text())
	}
	put(10)
	var ends int64
	for _, bounds := range kafkatest.Bounds(t, cl, name) {
		ends += bounds.End
	}
	kafkatest.Until(t, "everything is committed", func() bool {
		var sum int64
		for _, n := range kafkatest.CommittedOffsets(t, cl, name, name) {
			sum += n
		}
		return sum == ends
	})
	two.stop(consume.ErrSuspended)
	two.wait(t)
	if two.err != nil || two.sum.Ended != consume.Suspended {
		t.Fatalf("the second ended with %v", two.err)
	}
	got := slices.Concat(a.sorted(), b.sorted())
	slices.Sort(got)
	if got = slices.Compact(got); int64(len(got)) != ends {
		t.Errorf("%d different records, want %d", len(got), ends)
	}
}

func TestJoinExcludes(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "x", 1)
	for name, edit := range map[string]func(*consume.Config){
		"checkpoints": func(c *consume.Config) { c.Checkpoints.Interval = time.Second },
		"a start":     func(c *consume.Config) { c.Start = from(t, "earliest") },
		"an end":      func(c *consume.Config) { c.End = until(t, "latest") },
		"restore":     func(c *consume.Config) { c.Checkpoints.Restore = "/x" },
		"no group":    func(c *consume.Config) { c.Group = "" },
		"partitions":  func(c *consume.Config) { c.Topics[0].Partitions = []int32{0} },
	} {
		cfg := consume.Config{Client: cl, Topics: topics("x"), Group: "g", Sink: &collector{}, Join: &consume.Join{}}
		edit(&cfg)
		_, err := consume.New(t.Context(), cfg)
		var e *consume.Error
		if !errors.As(err, &e) || e.Kind != consume.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Retention passes the reader during the run: it stops with both numbers, or goes on where a policy says so.
func testRetentionDuringRun(t *testing.T, cl *kgo.Client, name string) {
	kafkatest.CreateTopic(t, cl, name, 1)
	var rs []*kgo.Record
	for i := range 4000 {
		rs = append(rs, kafkatest.Record(name, 0, int64(1000+i), fmt.Sprintf("%01000d", i)))
	}
	kafkatest.ProduceEach(t, cl, rs[0])
	for part := range slices.Chunk(rs[1:], 100) {
		kafkatest.Produce(t, cl, part...) // many batches, so that they are not fetched at once
	}
	run := func(pol consume.Policies) (*background, *collector, *notes) {
		sink, said := &collector{}, &notes{}
		hold, held := make(chan struct{}), make(chan struct{})
		first := true
		sink.write = func(consume.Batch) error {
			if first {
				first = false
				close(held)
				<-hold
			}
			return nil
		}
		b := start(t, consume.Config{Client: cl, Topics: topics(name), Start: from(t, "earliest"), End: until(t, "latest"), Policies: pol, Sink: sink, Notify: said.add,
			Fetch: consume.Fetch{MaxBytes: 64 << 10, MaxPartitionBytes: 64 << 10}})
		b.reach(t, held)
		kafkatest.DeleteRecords(t, cl, name, 0, 3900)
		close(hold)
		b.wait(t)
		return b, sink, said
	}
	b, sink, said := run(consume.Policies{IfExpired: "earliest"})
	if b.err != nil || !said.has("retention passed the reader") || !said.has("log start 3900") {
		t.Fatalf("with a policy: %v\n%s", b.err, said.text())
	}
	if got := sink.got; got[len(got)-1] != name+":0@3999" || len(got) >= 4000 {
		t.Errorf("read %d records to %s", len(got), got[len(got)-1])
	}
}

func TestRetentionDuringRun(t *testing.T) {
	_, cl := fake(t)
	testRetentionDuringRun(t, cl, "expiring")
	// Without a policy it fails, and names the numbers.
	kafkatest.CreateTopic(t, cl, "expired", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("expired", 0, 10, 1000, 1)...)
	sink := &collector{}
	b := start(t, consume.Config{Client: cl, Topics: topics("expired"), Start: from(t, "earliest"), Sink: sink})
	b.reach(t, sink.until(10))
	kafkatest.Produce(t, cl, kafkatest.Records("expired", 0, 10, 1000, 1)...)
	b.reach(t, sink.until(20))
	b.stop(nil)
	b.wait(t)
	e, err := consume.New(t.Context(), consume.Config{Client: cl, Topics: topics("expired"), Start: from(t, "earliest"), Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	kafkatest.DeleteRecords(t, cl, "expired", 0, 5) // between the plan and the first fetch
	_, err = e.Run(t.Context())
	var ce *consume.Error
	if !errors.As(err, &ce) || ce.Kind != consume.Failed || !containsAll(err.Error(), "retention passed the reader", "position 0, log start 5: 5 offsets lost") {
		t.Errorf("%v", err)
	}
}

// A topic that is deleted and created again is noticed, by a look between the two or after them.
func TestTopicRecreated(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "again", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("again", 0, 3, 1000, 1)...)
	sink := &collector{}
	b := start(t, consume.Config{Client: cl, Topics: topics("again"), Start: from(t, "earliest"), Discovery: 30 * time.Millisecond, Sink: sink})
	b.reach(t, sink.until(3))
	kafkatest.DeleteTopic(t, cl, "again")
	kafkatest.CreateTopic(t, cl, "again", 1)
	b.wait(t)
	if b.err == nil || !(containsAll(b.err.Error(), "deleted and created again") || containsAll(b.err.Error(), "topic again was deleted during the run")) {
		t.Errorf("%v", b.err)
	}
}

// A sink that takes no more stops the run in time, without a last checkpoint.
func TestStuckSink(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "stuck", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("stuck", 0, 3, 1000, 1)...)
	hold, held := make(chan struct{}), make(chan struct{})
	defer close(hold)
	sink := &collector{write: func(consume.Batch) error { close(held); <-hold; return errors.New("released") }}
	b := start(t, consume.Config{Client: cl, Topics: topics("stuck"), Start: from(t, "earliest"), Sink: sink, StopTimeout: 10 * time.Millisecond})
	b.reach(t, held)
	begin := time.Now()
	b.stop(nil)
	b.wait(t)
	if b.err == nil || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %s", b.err, time.Since(begin))
	}
}

// A stop is answered at once though the rate would let the run wait for minutes.
func TestStopUnderRate(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "slowly", 2)
	kafkatest.Produce(t, cl, kafkatest.Records("slowly", 0, 100, 1000, 1)...)
	kafkatest.Produce(t, cl, kafkatest.Records("slowly", 1, 100, 1000, 1)...)
	sink := &collector{}
	b := start(t, consume.Config{Client: cl, Topics: topics("slowly"), Start: from(t, "earliest"), Rate: consume.Rate{Records: 0.01}, Sink: sink})
	b.reach(t, sink.until(1))
	begin := time.Now()
	b.stop(consume.ErrSuspended)
	b.wait(t)
	if took := time.Since(begin); b.err != nil || took > 2*time.Second {
		t.Errorf("%v after %s", b.err, took)
	}
}
