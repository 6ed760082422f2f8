package records_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

func atOffset(topic string, partition int32, n int64) records.Span {
	return records.Span{Partition: offset.Partition{Topic: topic, Partition: partition}, From: n, Until: records.ToEnd}
}

// findFirst asks one cluster for records. want is offset@milliseconds, "-" for none, or an error's text.
func findFirst(t *testing.T, cl *kgo.Client, iso offset.Isolation, want map[records.Span]string) {
	t.Helper()
	got := records.Reader{Client: cl, Isolation: iso}.First(t.Context(), slices.Collect(maps.Keys(want)))
	for a, w := range want {
		l, g := got[a], "-"
		if l.Err != nil {
			g = l.Err.Error()
			var out *records.OutOfRange
			if errors.As(l.Err, &out) {
				g = fmt.Sprintf("out of %d to %d", out.Start, out.End)
			}
		} else if l.Record != nil {
			g = fmt.Sprintf("%d@%d", l.Record.Offset, l.Record.Time.UnixMilli())
		}
		if g != w && !(l.Err != nil && strings.Contains(g, w)) {
			t.Errorf("%s at %d under %s: %s, want %s", a.Partition, a.From, iso, g, w)
		}
	}
}

func TestFirst(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	ts := kafkatest.F2(t, cl, "find-")
	findFirst(t, cl, offset.ReadUncommitted, map[records.Span]string{
		atOffset(ts, 0, 0): "0@1000", atOffset(ts, 0, 2): "2@2000", atOffset(ts, 0, 4): "4@3000", atOffset(ts, 0, 5): "-", atOffset(ts, 0, 6): "out of 0 to 5",
		atOffset(ts, 1, 0): "0@1000", atOffset(ts, 2, 0): "-", atOffset(ts, 9, 0): "UNKNOWN_TOPIC_OR_PARTITION", atOffset("nowhere", 0, 0): "UNKNOWN_TOPIC_OR_PARTITION",
	})
	kafkatest.DeleteRecords(t, cl, ts, 0, 3)
	findFirst(t, cl, offset.ReadUncommitted, map[records.Span]string{atOffset(ts, 0, 1): "out of 3 to 5", atOffset(ts, 0, 3): "3@6000"})
}

// Transactions: 0..2 committed, marker 3, 4..5 aborted, marker 6, 7..10 open.
func TestFirstTransactions(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.OpenF3(t, cl, "find-")
	topic := f.Topic
	time3 := recordTimes(t, cl, topic, 11)
	is := func(n int64) string { return fmt.Sprintf("%d@%d", n, time3[n]) }
	findFirst(t, cl, offset.ReadUncommitted, map[records.Span]string{atOffset(topic, 0, 0): is(0), atOffset(topic, 0, 3): is(4), atOffset(topic, 0, 6): is(7), atOffset(topic, 0, 10): is(10), atOffset(topic, 0, 11): "-"})
	findFirst(t, cl, offset.ReadCommitted, map[records.Span]string{atOffset(topic, 0, 2): is(2), atOffset(topic, 0, 3): "-", atOffset(topic, 0, 4): "-", atOffset(topic, 0, 7): "-"})
	f.End(false)
	findFirst(t, cl, offset.ReadCommitted, map[records.Span]string{atOffset(topic, 0, 7): "-"})
}

// recordTimes reads a partition's record times with an ordinary consumer.
func recordTimes(t *testing.T, cl *kgo.Client, topic string, until int64) map[int64]int64 {
	t.Helper()
	out := map[int64]int64{}
	c := kafkatest.Client(t, cl.OptValue(kgo.SeedBrokers).([]string), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	for next := int64(0); next < until; {
		fs := c.PollFetches(t.Context())
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if !r.Attrs.IsControl() {
				out[r.Offset] = r.Timestamp.UnixMilli()
			}
		})
	}
	return out
}

// Batches larger than the first request are asked for again; compressed ones are opened.
func TestFirstLargeBatches(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "big", 3)
	noise := strings.Repeat("0123456789abcdef", 200)
	for n, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.ZstdCompression()} {
		prod, err := kgo.NewClient(append(cl.Opts(), kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(20*time.Millisecond))...)
		if err != nil {
			t.Fatal(err)
		}
		var rs []*kgo.Record
		for i := range 100 {
			rs = append(rs, kafkatest.Record("big", int32(n), 1_700_000_000_000+int64(i), fmt.Sprint(i, noise[i:])))
		}
		if err := prod.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		prod.Close()
	}
	want := map[records.Span]string{}
	for n := range int32(3) {
		for _, o := range []int64{0, 1, 50, 99} {
			want[atOffset("big", n, o)] = fmt.Sprintf("%d@%d", o, 1_700_000_000_000+o)
		}
		want[atOffset("big", n, 100)] = "-"
	}
	findFirst(t, cl, offset.ReadUncommitted, want)
}

// Compaction leaves gaps: the record after the gap counts, and where nothing follows there is none.
func TestFirstCompacted(t *testing.T) {
	c, cl := kafkatest.FakeClient(t, kfake.BrokerConfigs(map[string]string{"log.segment.bytes": "200"}))
	kafkatest.CreateTopic(t, cl, "compact", 1, "cleanup.policy", "compact", "segment.bytes", "200", "min.cleanable.dirty.ratio", "0")
	for i := range 30 {
		r := kafkatest.Record("compact", 0, 5000+int64(i), strings.Repeat("x", 50))
		r.Key = []byte("same")
		if i == 0 {
			r.Key = []byte("first") // keeps the log start where it is
		}
		kafkatest.ProduceEach(t, cl, r)
	}
	c.Compact()
	times := recordTimes(t, cl, "compact", 30)
	if len(times) == 30 {
		t.Fatal("nothing was compacted")
	}
	next := int64(30)
	for o := range times {
		if o > 0 {
			next = min(next, o)
		}
	}
	findFirst(t, cl, offset.ReadUncommitted, map[records.Span]string{atOffset("compact", 0, 0): "0@5000", atOffset("compact", 0, 1): fmt.Sprintf("%d@%d", next, 5000+next), atOffset("compact", 0, 29): "29@5029"})
}

// A broker that is not the leader any more is asked again, when the metadata has been read again.
func TestFirstLeaderMoves(t *testing.T) {
	c, cl := kafkatest.FakeClient(t, kfake.NumBrokers(2))
	ts := kafkatest.F2(t, cl, "move-")
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{0}, Err: kerr.NotLeaderForPartition, Count: 2})
	findFirst(t, cl, offset.ReadUncommitted, map[records.Span]string{atOffset(ts, 0, 1): "1@5000", atOffset(ts, 1, 0): "0@1000"})
}

// A partition that never answers with what was asked ends with the context, and says why.
func TestFirstGivesUp(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	ts := kafkatest.F2(t, cl, "dead-")
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: -1})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	got := records.Reader{Client: cl}.First(ctx, []records.Span{atOffset(ts, 0, 1)})
	if l := got[atOffset(ts, 0, 1)]; l.Record != nil || !errors.Is(l.Err, context.DeadlineExceeded) && !errors.Is(l.Err, kerr.NotLeaderForPartition) {
		t.Errorf("got %+v", l)
	}
}
