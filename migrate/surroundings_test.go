package migrate_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// logOf reads metadata and bounds of all partitions of a topic.
func logOf(t *testing.T, cl *kgo.Client, topic string) (map[string]inspect.Topic, inspect.Log) {
	t.Helper()
	topics, err := inspect.ReadTopics(t.Context(), cl, []string{topic})
	if err != nil {
		t.Fatal(err)
	}
	return topics, inspect.ReadBounds(t.Context(), cl, inspect.PartitionsOf(topics))
}

func place(topic string, p int32, n int64) migrate.Place {
	return migrate.Place{Partition: offset.Partition{Topic: topic, Partition: p}, Offset: n}
}

// Batches that are larger than what is asked for at first come cut off, and are asked for again.
func TestLargeBatches(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "large", 3, "max.message.bytes", "10000000")
	big := derived(t, cl, kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range int32(3) {
		for i := range 12 {
			r := kafkatest.Record("large", p, int64(i+1)*1000, "")
			r.Value = bytes.Repeat([]byte{byte(i)}, 700_000)
			if err := big.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, log := logOf(t, cl, "large")
	var places []migrate.Place
	for p := range int32(3) {
		for n := range int64(13) {
			places = append(places, place("large", p, n))
		}
	}
	for p, r := range migrate.ReadSurroundings(t.Context(), cl, log, places, 0) {
		switch {
		case r.Err != nil:
			t.Errorf("%v: %v", p, r.Err)
		case p.Offset < 12 && (len(r.At) == 0 || r.At[0].Offset != p.Offset):
			t.Errorf("at %v is %+v", p, r.At)
		case p.Offset > 0 && (len(r.Before) == 0 || r.Before[0].Offset != p.Offset-1):
			t.Errorf("before %v is %+v", p, r.Before)
		}
	}
}

func derived(t *testing.T, cl *kgo.Client, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	d, err := kgo.NewClient(append(cl.Opts(), opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// Leaders that moved since the metadata was read are found again; brokers that answer with an error for a while are asked
// again; a partition that stays unreadable says so and does not hold up the others.
func TestMovedLeaders(t *testing.T) {
	c, cl := kafkatest.FakeClient(t, kfake.NumBrokers(3))
	kafkatest.CreateTopic(t, cl, "moving", 6)
	for p := range int32(6) {
		kafkatest.Produce(t, cl, kafkatest.Records("moving", p, 20, 1000, 10)...)
	}
	topics, log := logOf(t, cl, "moving")
	for p := range int32(6) {
		if err := c.MoveTopicPartition("moving", p, (topics["moving"].Partitions[p].Leader+1)%3); err != nil {
			t.Fatal(err)
		}
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{2}, Err: kerr.LeaderNotAvailable, Count: 3})
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{4}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	var places []migrate.Place
	for p := range int32(6) {
		places = append(places, place("moving", p, 10))
	}
	for p, r := range migrate.ReadSurroundings(t.Context(), cl, log, places, 0) {
		if p.Partition.Partition == 4 {
			if r.Err == nil || !strings.Contains(r.Err.Error(), "moving:4") || !strings.Contains(r.Err.Error(), "TOPIC_AUTHORIZATION_FAILED") {
				t.Errorf("a partition that may not be read gives %v", r.Err)
			}
			continue
		}
		if r.Err != nil || len(r.At) != 4 || len(r.Before) != 4 || r.At[0].Offset != 10 || r.Before[3].Offset != 6 {
			t.Errorf("%v: %+v", p, r)
		}
	}
}

// Many groups that stand at different places of one partition.
func TestManyPlacesOfOnePartition(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "one", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("one", 0, 700, 1000, 10)...)
	_, log := logOf(t, cl, "one")
	var places []migrate.Place
	for n := range int64(701) {
		places = append(places, place("one", 0, n), place("one", 0, n))
	}
	got := migrate.ReadSurroundings(t.Context(), cl, log, places, 0)
	if len(got) != 701 {
		t.Fatalf("%d places came back", len(got))
	}
	for p, r := range got {
		if r.Err != nil || p.Offset < 700 && r.At[0].Offset != p.Offset || p.Offset > 0 && r.Before[0].Offset != p.Offset-1 || (p.Offset == 700) != r.AtEnd {
			t.Errorf("%v: %+v", p, r)
		}
	}
}

// A long run of records of one time: the search says that the window was too small, and finds it with a larger one.
func TestWindow(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "burst", 1)
	}
	rs := kafkatest.Records("burst", 0, 3000, 1_700_000_000_000, 0)
	kafkatest.Produce(t, src, rs...)
	var copies []*kgo.Record
	for _, r := range append(kafkatest.Records("burst", 0, 5, 1_600_000_000_000, 0), rs...) {
		c := *r
		copies = append(copies, &c)
	}
	kafkatest.Produce(t, dst, copies...)
	kafkatest.Commit(t, src, "early", kafkatest.At("burst", 0, 100))
	if i := translate(t, src, dst, "early", migrate.Query{Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}}).Items[0]; i.Label() != "exact" || i.Offset != 105 {
		t.Errorf("100 of 3000 records of one time: %s %d, %s", i.Label(), i.Offset, i.Proof)
	}
	kafkatest.Commit(t, src, "g", kafkatest.At("burst", 0, 2500))
	for window, want := range map[int]string{100: "unresolved", 0: "exact"} {
		i := translate(t, src, dst, "g", migrate.Query{Window: window, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}}).Items[0]
		if i.Label() != want || want == "exact" && i.Offset != 2505 {
			t.Errorf("window %d: %s %d, %v; want %s", window, i.Label(), i.Offset, i.Reasons, want)
		}
		if want == "unresolved" && (!strings.Contains(fmt.Sprint(i.Reasons), "not among the 100 records") || !strings.Contains(i.Hint, "{{window}}")) {
			t.Errorf("window %d: it says %v, %q", window, i.Reasons, i.Hint)
		}
	}
}

// Retention that removes records while they are read does not make a full log look drained: the place is read again from the
// new log start, and is not known where that goes on.
func TestRetentionWhileReading(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "racing", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("racing", 0, 100, 1000, 10)...)
	_, log := logOf(t, cl, "racing") // before the removal
	kafkatest.DeleteRecords(t, cl, "racing", 0, 60)
	got := migrate.ReadSurroundings(t.Context(), cl, log, []migrate.Place{place("racing", 0, 30)}, 0)[place("racing", 0, 30)]
	if got.Err != nil || got.AtEnd || got.Start != 60 || len(got.At) == 0 || got.At[0].Offset != 60 {
		t.Errorf("records were removed up to 60, and 30 is %+v", got)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.OffsetOutOfRange, Count: -1})
	got = migrate.ReadSurroundings(t.Context(), cl, log, []migrate.Place{place("racing", 0, 30)}, 0)[place("racing", 0, 30)]
	if got.Err == nil || got.AtEnd {
		t.Errorf("a log that is never in range gives %+v", got)
	}
}

// Twenty places of large records of one time are hashed as they arrive: what is kept are their hashes.
func TestSurroundingsAreSmall(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "big", 1)
	var rs []*kgo.Record
	for i := range 2000 {
		r := kafkatest.Record("big", 0, 1_700_000_000_000, "")
		r.Value = fmt.Appendf(nil, "%010000d", i)
		rs = append(rs, r)
	}
	kafkatest.Produce(t, cl, rs...)
	_, log := logOf(t, cl, "big")
	var places []migrate.Place
	for n := range int64(20) {
		places = append(places, place("big", 0, n*100))
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := migrate.ReadSurroundings(t.Context(), cl, log, places, 0)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(got) != 20 || got[places[3]].Err != nil || !got[places[3]].SearchedAll {
		t.Fatalf("%d places, %+v", len(got), got[places[3]])
	}
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 8<<20 {
		t.Errorf("%d bytes are kept for 20 places", kept)
	}
}
