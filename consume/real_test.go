//go:build realkafka

package consume_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/find"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// real is the broker of this package's tagged tests. Its cleaner looks for work all the time, for the test of compaction, and
// its responses hold less than a batch may be, so that whatever is read comes from one partition at a time.
var real = kafkatest.Shared{Options: kafkatest.Options{Properties: map[string]string{"log.cleaner.backoff.ms": "100", "fetch.max.bytes": "100000"}}}

func TestMain(m *testing.M) { os.Exit(real.Main(m)) }

func TestRealStartModes(t *testing.T) { testStartModes(t, real.Kafka(t).Client(t), "modes-") }

func TestRealTransactions(t *testing.T) { testEndOfTransactions(t, real.Kafka(t).Client(t), "tx-") }

func TestRealCommits(t *testing.T) {
	cl := real.Kafka(t).Client(t)
	testCommitsOnCheckpoint(t, cl)
	testAutoCommit(t, nil, cl)
}

func TestRealRetention(t *testing.T) { testRetention(t, real.Kafka(t).Client(t)) }

func TestRealRetentionDuringRun(t *testing.T) {
	testRetentionDuringRun(t, real.Kafka(t).Client(t), "real-expiring")
}

func TestRealJoin(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			testJoin(t, real.Kafka(t).Client(t), "real-join-"+protocol, protocol == "consumer")
		})
	}
}

// Compaction made holes, one of them around the end.
func TestRealCompaction(t *testing.T) {
	cl := real.Kafka(t).Client(t)
	const topic = "real-compacted"
	kafkatest.CreateTopic(t, cl, topic, 1, "cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.01", "delete.retention.ms", "0")
	put := func(key string) {
		t.Helper()
		r := &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(key)}
		kafkatest.ProduceEach(t, cl, r)
	}
	for _, key := range []string{"a", "b", "k", "k", "k", "k", "c"} {
		put(key)
	}
	next := int64(7)
	read := func(end string) []string {
		t.Helper()
		sink := &collector{}
		sum, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics(topic), Start: from(t, "earliest"), End: until(t, end), Sink: sink})
		if err != nil {
			t.Fatal(err)
		}
		if end == "5" && sum.Stats.Partitions[0].Position != 5 {
			t.Fatalf("position %d, want 5", sum.Stats.Partitions[0].Position)
		}
		return sink.sorted()
	}
	// The broker cleans one log after another, every 15 s: those of other tests may come first.
	kafkatest.UntilWithin(t, 3*kafkatest.Deadline, "the records before the end are compacted away", func() bool {
		put(fmt.Sprint("filler", next)) // segments are rolled by writes only
		next++
		return slices.Equal(read("5"), span(topic, 0, 0, 2))
	})
	got := read("latest")
	if got[len(got)-1] == "" || slices.Contains(got, topic+":0@3") {
		t.Errorf("read %v", got)
	}
	// A search reads the same log by other requests: it comes to the end, and finds as many records.
	whole := records.Span{Partition: offset.Partition{Topic: topic}, Until: next}
	r := find.Scan(t.Context(), find.Query{Client: cl, Isolation: offset.ReadCommitted, Spans: []records.Span{whole}})
	if p := r.Parts[0]; !p.Whole || p.Err != nil || p.Records < int64(len(read("5"))) || p.Records > int64(len(got)) {
		t.Errorf("consume read %d records, and a search %+v", len(got), p)
	}
}

// Members that join the group take the right to commit away: checkpoints go on, commits fail, and go on when they leave.
func TestRealMemberJoins(t *testing.T) {
	cl := real.Kafka(t).Client(t)
	for name, join := range map[string]func(testing.TB, *kgo.Client, kafkatest.MemberOptions) *kafkatest.Member{"classic": kafkatest.JoinClassic, "consumer": kafkatest.Join848} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := "real-second-" + name
			kafkatest.CreateTopic(t, cl, topic, 1)
			kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 10, 1000, 1)...)
			sink, said := &collector{}, &notes{}
			cfg := job(t, cl, sink, topic)
			cfg.Group, cfg.Notify, cfg.Checkpoints.Interval = topic, said.add, 100*time.Millisecond
			b := start(t, cfg)
			kafkatest.Until(t, "the run has committed", func() bool { return kafkatest.CommittedOffsets(t, cl, topic, topic)[0] == 10 })
			m := join(t, cl, kafkatest.MemberOptions{Group: topic, Topics: []string{topic}})
			kafkatest.Until(t, "the failed commit is told", func() bool { return said.has("the group has members of its own now") })
			kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 5, 2000, 1)...)
			kafkatest.Until(t, "a checkpoint holds the new records", func() bool {
				c, ok := newest(t, cfg)
				return ok && c.Partitions[0].Offset == 15
			})
			if got := kafkatest.CommittedOffsets(t, cl, topic, topic)[0]; got != 10 {
				t.Errorf("committed %d while a member was there", got)
			}
			m.Close()
			kafkatest.Until(t, "commits go on", func() bool { return kafkatest.CommittedOffsets(t, cl, topic, topic)[0] == 15 })
			b.stop(nil)
			b.wait(t)
			if b.err != nil || b.sum.Stats.Checkpoints.Failed != 0 || b.sum.Stats.CommitsFailed == 0 {
				t.Errorf("%v, %d checkpoints failed, %d commits failed", b.err, b.sum.Stats.Checkpoints.Failed, b.sum.Stats.CommitsFailed)
			}
		})
	}
}

// Two engines on one group, at different places: both say so, and the one behind moves nothing back.
func TestRealTwoEngines(t *testing.T) {
	cl := real.Kafka(t).Client(t)
	const topic = "real-two"
	kafkatest.CreateTopic(t, cl, topic, 1)
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 200, 1000, 1)...)
	cfg := func(said *notes, s consume.Sink) consume.Config {
		c := job(t, cl, s, topic)
		c.Group, c.Notify, c.Checkpoints.Interval, c.Policies.AllowRewind = topic, said.add, 50*time.Millisecond, false
		return c
	}
	behind, ahead := &notes{}, &notes{}
	slow := cfg(behind, &collector{})
	slow.Rate = consume.Rate{Records: 20}
	one := start(t, slow)
	kafkatest.Until(t, "the slow one has committed", func() bool { return kafkatest.CommittedOffsets(t, cl, topic, topic)[0] > 0 })
	fast := cfg(ahead, &collector{})
	fast.Start = from(t, "150")
	two := start(t, fast)
	kafkatest.Until(t, "the slow one says that another client commits", func() bool { return behind.has("another client commits to group " + topic) })
	if got := kafkatest.CommittedOffsets(t, cl, topic, topic)[0]; got != 200 {
		t.Errorf("committed %d, want 200: the slow one must not move it back", got)
	}
	for _, b := range []*background{one, two} {
		b.stop(nil)
		b.wait(t)
	}
	if one.sum.Stats.ForeignCommits == 0 {
		t.Error("the foreign commits were not counted")
	}
	if two.err != nil {
		t.Errorf("the fast one ended with %v", two.err)
	}
}

// The broker goes away in the middle and comes back: the run goes on, nothing is missing, nothing comes twice. Members of a
// group, dynamic and static, go on too, at least once. The partition that never has a record is committed as well, and what comes to it
// while nobody reads is read later.
func TestRealBrokerRestart(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	cl := k.Client(t)
	const topic = "restart"
	members := map[string]consume.Join{"restart-classic": {}, "restart-static": {InstanceID: "one"}, "restart-consumer": {Consumer: true}}
	names := append(slices.Sorted(maps.Keys(members)), topic)
	for _, name := range names {
		kafkatest.CreateTopic(t, cl, name, 3)
	}
	put := func(from int) {
		t.Helper()
		for _, name := range names {
			for p := range int32(2) {
				kafkatest.Produce(t, cl, kafkatest.Records(name, p, 500, int64(from), 1)...)
			}
		}
	}
	put(1000)
	sink, said := &collector{}, &notes{}
	cfg := job(t, cl, sink, topic)
	cfg.Notify, cfg.Checkpoints.Interval, cfg.Group = said.add, 50*time.Millisecond, topic
	runs, sinks, notices := []*background{start(t, cfg)}, []*collector{sink}, []*notes{said}
	for _, name := range names[:len(members)] {
		sink, said, join := &collector{}, &notes{}, members[name]
		cfg := joining(cl, name, sink, said)
		cfg.Join, cfg.Policies.Reset = &join, consume.ResetEarliest
		runs, sinks, notices = append(runs, start(t, cfg)), append(sinks, sink), append(notices, said)
	}
	for i, b := range runs {
		b.reach(t, sinks[i].until(1000))
	}
	k.Restart(t)
	put(2000)
	for i, b := range runs {
		b.reach(t, sinks[i].until(2000))
	}
	kafkatest.Until(t, "commits go on", func() bool {
		for i, name := range append([]string{topic}, names[:len(members)]...) {
			if got := kafkatest.CommittedOffsets(t, cl, name, name); !runs[i].running(t) || !maps.Equal(got, map[int32]int64{0: 1000, 1: 1000, 2: 0}) {
				return false
			}
		}
		return true
	})
	for i, b := range runs {
		b.stop(nil)
		b.wait(t)
		name := append([]string{topic}, names[:len(members)]...)[i]
		got, want := sinks[i].sorted(), all(span(name, 0, 0, 1000), span(name, 1, 0, 1000))
		if name != topic {
			got = slices.Compact(got)
		}
		if b.err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v: %d records, want %d\n%s", name, b.err, len(got), len(want), notices[i].text())
		}
	}
	if strings.Contains(said.text(), "checkpoint 1 failed") {
		t.Errorf("a checkpoint failed because the broker was away:\n%s", said.text())
	}
	for _, name := range names[:len(members)] {
		kafkatest.Produce(t, cl, kafkatest.Records(name, 2, 5, 3000, 1)...)
		later, join := &collector{}, members[name]
		cfg := joining(cl, name, later, &notes{})
		cfg.Join, cfg.Policies.Reset = &join, consume.ResetLatest // a commit is older than that
		b := start(t, cfg)
		b.reach(t, later.until(5))
		b.stop(nil)
		b.wait(t)
		if got := later.sorted(); b.err != nil || !slices.Equal(got, span(name, 2, 0, 5)) {
			t.Errorf("%s, again: %v: %v", name, b.err, got)
		}
	}
}

// Every kind of member commits idle partitions, and goes on there.
func TestRealMemberIdle(t *testing.T) {
	for name, join := range map[string]consume.Join{"dynamic": {}, "static": {InstanceID: "one"}, "consumer": {Consumer: true}, "static-consumer": {Consumer: true, InstanceID: "one"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testMemberIdle(t, real.Kafka(t).Client(t), "real-idle-"+name, join)
		})
	}
}

// A topic made again gets no commit of the old one's offsets.
func TestRealRecreatedTopic(t *testing.T) { testRecreatedTopic(t, real.Kafka(t).Client(t), "real-") }

// Restores of every kind of changed question: refused, or taken when told.
func TestRealRestoreQuestions(t *testing.T) {
	cl := real.Kafka(t).Client(t)
	testRestoreRefuses(t, cl, "real-asked")
	testRestoreSame(t, cl, "real-same")
	testRestoreWith(t, cl, "real-with")
	testRecordLimits(t, cl, "real-limits")
	testBranchWins(t, cl, "real-branch-")
}

// A broker whose process is stopped for a while (SIGSTOP) takes connections and answers nothing: the run says so, and goes on.
func TestRealBrokerStops(t *testing.T) {
	k := real.Kafka(t)
	defer k.Heal(t)
	testBrokerAway(t, k.Client(t), "real-stopped", 3*time.Second, func(away bool) {
		if away {
			k.Freeze(t)
		} else {
			k.Thaw(t)
		}
	})
}

// The kills of TestCrash, a few, each after records of its own.
func TestRealCrash(t *testing.T) {
	testCrash(t, real.Kafka(t).Client(t), "real-crash", crash{kills: 5, rate: "2500", later: true})
}

// The same of runs that read by ranges.
func TestRealCrashRanges(t *testing.T) {
	testCrashRanges(t, real.Kafka(t).Client(t), "real-crash-ranges", crash{kills: 3, rate: "2500", later: true})
}
