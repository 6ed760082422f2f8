package inspect_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func TestReadBounds(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	tx := kafkatest.OpenF3(t, cl, "")
	log := inspect.ReadBounds(t.Context(), cl, inspect.Partitions{f.Topic: {2, 0, 0, 1}, tx.Topic: {0}})
	for p, want := range map[offset.Partition]offset.Bounds{
		partitionOf(f.Topic, 0): {Start: 4, End: 10, LastStable: 10}, partitionOf(f.Topic, 1): {End: 10, LastStable: 10},
		partitionOf(f.Topic, 2): {End: 10, LastStable: 10}, partitionOf(tx.Topic, 0): {End: 11, LastStable: 7},
	} {
		l, ok := log.At(p)
		if !ok || l.Err != nil || l.Bounds != want {
			t.Errorf("%s: %+v, want %+v", p, l, want)
		}
		if n, known := l.EndEpoch.Get(); !known || n != 0 {
			t.Errorf("%s: leader epoch %v", p, l.EndEpoch)
		}
	}
	for _, p := range []offset.Partition{partitionOf(f.Topic, 3), partitionOf(f.Topic, -1), partitionOf("other", 0)} {
		if l, ok := log.At(p); ok {
			t.Errorf("%s was not asked about: %+v", p, l)
		}
	}
}

// A partition that fails is one bad row, whichever of the three questions it fails.
func TestBoundsErrorsArePerPartition(t *testing.T) {
	for _, c := range []struct {
		name string
		when func(*kmsg.ListOffsetsRequest) bool
	}{
		{"start", func(r *kmsg.ListOffsetsRequest) bool { return r.Topics[0].Partitions[0].Timestamp == -2 }},
		{"end", func(r *kmsg.ListOffsetsRequest) bool {
			return r.Topics[0].Partitions[0].Timestamp == -1 && r.IsolationLevel == 0
		}},
		{"last stable", func(r *kmsg.ListOffsetsRequest) bool { return r.IsolationLevel == 1 }},
	} {
		for _, e := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.UnknownServerError} {
			t.Run(c.name+" "+e.Message, func(t *testing.T) {
				t.Parallel()
				fake, cl := kafkatest.FakeClient(t)
				f := kafkatest.F1(t, cl, "")
				fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: f.Topic, Partitions: []int32{1}, Err: e, Count: -1,
					When: func(r kmsg.Request) bool { return c.when(r.(*kmsg.ListOffsetsRequest)) }})
				log := inspect.ReadBounds(t.Context(), cl, inspect.Partitions{f.Topic: {0, 1, 2}})
				for n := range int32(3) {
					l, ok := log.At(partitionOf(f.Topic, n))
					if !ok || n != 1 && l.Err != nil || n == 1 && !errors.Is(l.Err, e) {
						t.Errorf("partition %d: %+v", n, l)
					}
				}
			})
		}
	}
}

// What is unknown to the broker is an error at once, not a storm of retries until the deadline.
func TestBoundsOfUnknownPartitions(t *testing.T) {
	t.Parallel()
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	start := time.Now()
	log := inspect.ReadBounds(t.Context(), cl, inspect.Partitions{f.Topic: {0, 7}, "gone": {0}})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if l, _ := log.At(partitionOf(f.Topic, 0)); l.Err != nil || l.Bounds.End != 10 {
		t.Errorf("the good partition: %+v", l)
	}
	for _, p := range []offset.Partition{partitionOf(f.Topic, 7), partitionOf("gone", 0)} {
		if l, ok := log.At(p); !ok || l.Err == nil {
			t.Errorf("%s: %+v, want an error", p, l)
		}
	}
}

// A dead leader costs its own partitions only, and only until the deadline.
func TestBoundsWithoutALeader(t *testing.T) {
	t.Parallel()
	fake, cl := kafkatest.FakeClient(t, kfake.NumBrokers(2))
	kafkatest.CreateTopic(t, cl, "t", 2)
	for n := range int32(2) {
		if err := fake.MoveTopicPartition("t", n, n); err != nil {
			t.Fatal(err)
		}
	}
	fake.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if fake.CurrentNode() == 1 {
			return nil, errors.New("the connection is cut"), true
		}
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	log := inspect.ReadBounds(ctx, kafkatest.Client(t, fake.ListenAddrs(), kgo.RequestRetries(1)), inspect.Partitions{"t": {0, 1}})
	if l, _ := log.At(partitionOf("t", 0)); l.Err != nil {
		t.Errorf("the partition of the live broker: %v", l.Err)
	}
	if l, ok := log.At(partitionOf("t", 1)); !ok || l.Err == nil {
		t.Errorf("the partition of the dead broker: %+v", l)
	}
}

// A leader that moved is asked again where it is now; the client still knows the old one.
func TestBoundsOfAMovedLeader(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t, kfake.NumBrokers(2))
	kafkatest.CreateTopic(t, cl, "t", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("t", 0, 3, 1000, 1)...)
	for range 2 {
		inspect.ReadBounds(t.Context(), cl, inspect.Partitions{"t": {0}})
		if err := fake.MoveTopicPartition("t", 0, 1-fake.LeaderFor("t", 0)); err != nil {
			t.Fatal(err)
		}
		l, _ := inspect.ReadBounds(t.Context(), cl, inspect.Partitions{"t": {0}}).At(partitionOf("t", 0))
		if l.Err != nil || l.Bounds.End != 3 {
			t.Errorf("%+v", l)
		}
	}
}

// The three answers are of three moments; the bounds must hold together all the same.
func TestBoundsOfAMovingLog(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 1)
	fake.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		req := kreq.(*kmsg.ListOffsetsRequest)
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		rt, rp := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
		rt.Topic = "t"
		switch {
		case req.Topics[0].Partitions[0].Timestamp == -2:
			rp.Offset = 8 // retention came after the end was asked for
		case req.IsolationLevel == 1:
			rp.Offset = 7 // and records after both
		default:
			rp.Offset = 5
		}
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	l, _ := inspect.ReadBounds(t.Context(), cl, inspect.Partitions{"t": {0}}).At(partitionOf("t", 0))
	if l.Bounds != (offset.Bounds{Start: 8, End: 8, LastStable: 8}) {
		t.Errorf("%+v", l.Bounds)
	}
}

func instant(ms int64) offset.Instant { return offset.Instant{Time: time.UnixMilli(ms).UTC()} }

// found is each partition's answer: offset@time, or none, or the error.
func found(got map[offset.Partition]inspect.Lookup, topic string, n int32) string {
	var out []string
	for p := range n {
		l, ok := got[partitionOf(topic, p)]
		switch {
		case !ok:
			out = append(out, "missing")
		case l.Err != nil:
			out = append(out, "error")
		case l.Record == nil:
			out = append(out, "none")
		default:
			out = append(out, offset.FormatTime(l.Record.Time)[11:19]+"="+string(rune('0'+l.Record.Offset)))
		}
	}
	return strings.Join(out, " ")
}

// The raw answers to the second fixture, measured on Kafka: a time inside, past the last record, and an empty partition.
func TestFindTimes(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	topic := kafkatest.F2(t, cl, "")
	ask := func(ms int64) string {
		return found(inspect.FindTimes(t.Context(), cl, offset.ReadUncommitted, map[offset.Partition]offset.Instant{
			partitionOf(topic, 0): instant(ms), partitionOf(topic, 1): instant(ms), partitionOf(topic, 2): instant(ms)}), topic, 3)
	}
	for ms, want := range map[int64]string{
		0: "00:00:01=0 00:00:01=0 none", 1000: "00:00:01=0 00:00:01=0 none", 1001: "00:00:05=1 none none",
		5001: "00:00:06=3 none none", 6000: "00:00:06=3 none none", 6001: "none none none", math.MaxInt64 / 4: "none none none",
	} {
		if got := ask(ms); got != want {
			t.Errorf("at %d ms: %s, want %s", ms, got, want)
		}
	}
	kafkatest.DeleteRecords(t, cl, topic, 0, 3)
	if got := ask(1500); got != "00:00:06=3 none none" {
		t.Errorf("after retention took the first three: %s", got)
	}

	// Times before 1970 are Kafka's commands (-1 is the end, -2 the start, -3 the largest time): none may reach it.
	sent := fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		for _, p := range r.(*kmsg.ListOffsetsRequest).Topics[0].Partitions {
			if p.Timestamp < 0 {
				return true
			}
		}
		return false
	}})
	for _, ms := range []int64{-1, -2, -3, -5, math.MinInt64 / 4} {
		if got := ask(ms); got != "00:00:06=3 00:00:01=0 none" {
			t.Errorf("at %d ms: %s", ms, got)
		}
	}
	if sent.Hits() > 0 {
		t.Errorf("%d requests held a negative time", sent.Hits())
	}
}

func TestFindEachItsOwnTime(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	sent := countRequests(fake, kmsg.ListOffsets)
	got := inspect.FindTimes(t.Context(), cl, offset.ReadUncommitted, map[offset.Partition]offset.Instant{
		partitionOf(f.Topic, 0): instant(kafkatest.F1Start), partitionOf(f.Topic, 1): instant(kafkatest.F1Start + 801), partitionOf(f.Topic, 2): instant(kafkatest.F1Start + 300)})
	if text := found(got, f.Topic, 3); text != "12:00:00=4 12:00:00=9 12:00:00=3" {
		t.Errorf("%s", text)
	}
	if sent.Hits() != 1 {
		t.Errorf("%d requests for three times on one broker", sent.Hits())
	}
}

// Under read_committed a record of an open transaction is not there yet.
func TestFindTimesBehindATransaction(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("t", 0, 2, 1000, 1000)...)
	txn := kafkatest.NewTxn(t, cl, "txn")
	txn.Begin()
	txn.Produce(kafkatest.Record("t", 0, 5000, "open"))
	ask := map[offset.Partition]offset.Instant{partitionOf("t", 0): instant(2001)}
	if got := found(inspect.FindTimes(t.Context(), cl, offset.ReadUncommitted, ask), "t", 1); got != "00:00:05=2" {
		t.Errorf("uncommitted: %s", got)
	}
	if got := found(inspect.FindTimes(t.Context(), cl, offset.ReadCommitted, ask), "t", 1); got != "none" {
		t.Errorf("committed: %s", got)
	}
}

func TestFindMax(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	topic := kafkatest.F2(t, cl, "")
	if got := found(inspect.FindMax(t.Context(), cl, inspect.Partitions{topic: {0, 1, 2}}), topic, 3); got != "00:00:06=3 00:00:01=0 none" {
		t.Errorf("%s", got)
	}
}

// A broker before 3.0 takes the question for a time before 1970, and answers with its first record.
func TestQuestionsThatOldBrokersDoNotKnow(t *testing.T) {
	fake, cl := oldFake(t, "v2.8.0")
	topic := kafkatest.F2(t, cl, "")
	fake.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.ListOffsetsResponse) // what Kafka's code did then; kfake is kinder
		rt, rp := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
		rt.Topic, rp.Offset, rp.Timestamp = topic, 0, 1000
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	parts := inspect.Partitions{topic: {0}}
	for name, got := range map[string]map[offset.Partition]inspect.Lookup{
		"max-timestamp": inspect.FindMax(t.Context(), cl, parts), "earliest-local": inspect.FindLocalStart(t.Context(), cl, parts),
		"latest-tiered": inspect.FindTieredEnd(t.Context(), cl, parts),
	} {
		if l := got[partitionOf(topic, 0)]; !errors.Is(l.Err, inspect.ErrUnsupported) {
			t.Errorf("%s: %+v, want ErrUnsupported", name, l)
		}
	}
}

func TestReadTopics(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.CreateTopic(t, cl, "b", 1)
	got, err := inspect.ReadTopics(t.Context(), cl, []string{f.Topic, "nope"})
	if err != nil {
		t.Fatal(err)
	}
	if o := got[f.Topic]; o.Err != nil || len(o.Numbers()) != 3 || !o.Has(2) || o.Has(3) || o.Has(-1) || len(o.TopicID()) != 22 {
		t.Errorf("%+v", o)
	}
	if n := got["nope"]; !errors.Is(n.Err, kerr.UnknownTopicOrPartition) || n.Has(0) {
		t.Errorf("%+v", n)
	}
	sent := countRequests(fake, kmsg.Metadata)
	if none, err := inspect.ReadTopics(t.Context(), cl, []string{}); err != nil || len(none) != 0 || sent.Hits() != 0 {
		t.Errorf("no names: %v, %v, %d requests; want nothing, and not every topic", none, err, sent.Hits())
	}
	all, err := inspect.ReadTopics(t.Context(), cl, nil)
	if names := strings.Join(inspect.VisibleNames(all), " "); err != nil || !strings.Contains(names, "b") || !strings.Contains(names, f.Topic) {
		t.Errorf("all: %s, %v", names, err)
	}
	// A new partition is seen at once: kadm's metadata may be five seconds old.
	kafkatest.CreateTopic(t, cl, "new", 1)
	if got, err := inspect.ReadTopics(t.Context(), cl, []string{"new"}); err != nil || got["new"].Err != nil {
		t.Errorf("a topic of this moment: %+v, %v", got["new"], err)
	}
}

// A partition that stays without a leader is an error after the hunt for it, with the others untouched.
func TestBoundsOfALeaderThatNeverComes(t *testing.T) {
	t.Parallel()
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	h := fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: f.Topic, Partitions: []int32{1}, Err: kerr.NotLeaderForPartition, Count: -1})
	start := time.Now()
	log := inspect.ReadBounds(t.Context(), cl, inspect.Partitions{f.Topic: {0, 1, 2}})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if h.Hits() > 30 {
		t.Errorf("%d questions were asked", h.Hits())
	}
	for n := range int32(3) {
		if l, _ := log.At(partitionOf(f.Topic, n)); n != 1 && l.Err != nil || n == 1 && !errors.Is(l.Err, kerr.NotLeaderForPartition) {
			t.Errorf("partition %d: %+v", n, l)
		}
	}
}
