package inspect_test

import (
	"context"
	"errors"
	"fmt"
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

func atOffset(topic string, partition int32, n int64) inspect.At {
	return inspect.At{Partition: offset.Partition{Topic: topic, Partition: partition}, Offset: n}
}

// find asks one cluster for records. want is offset@milliseconds, "-" for none, or an error's text.
func findRecords(t *testing.T, cl *kgo.Client, iso offset.Isolation, want map[inspect.At]string) {
	t.Helper()
	var asks []inspect.At
	names := map[string]bool{}
	for a := range want {
		asks = append(asks, a)
		names[a.Topic] = true
	}
	var list []string
	for n := range names {
		list = append(list, n)
	}
	topics, err := inspect.ReadTopics(t.Context(), cl, list)
	if err != nil {
		t.Fatal(err)
	}
	got := inspect.FindRecords(t.Context(), cl, iso, topics, asks)
	for a, w := range want {
		l, g := got[a], "-"
		if l.Err != nil {
			g = l.Err.Error()
		} else if l.Record != nil {
			g = fmt.Sprintf("%d@%d", l.Record.Offset, l.Record.Time.UnixMilli())
		}
		if g != w && !(l.Err != nil && strings.Contains(g, w)) {
			t.Errorf("%s at %d under %s: %s, want %s", a.Partition, a.Offset, iso, g, w)
		}
	}
}

func TestFindRecords(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	ts := kafkatest.F2(t, cl, "find-")
	findRecords(t, cl, offset.ReadUncommitted, map[inspect.At]string{
		atOffset(ts, 0, 0): "0@1000", atOffset(ts, 0, 2): "2@2000", atOffset(ts, 0, 4): "4@3000", atOffset(ts, 0, 5): "-", atOffset(ts, 0, 6): "OFFSET_OUT_OF_RANGE",
		atOffset(ts, 1, 0): "0@1000", atOffset(ts, 2, 0): "-", atOffset(ts, 9, 0): "UNKNOWN_TOPIC_OR_PARTITION", atOffset("nowhere", 0, 0): "UNKNOWN_TOPIC_OR_PARTITION",
	})
	kafkatest.DeleteRecords(t, cl, ts, 0, 3)
	findRecords(t, cl, offset.ReadUncommitted, map[inspect.At]string{atOffset(ts, 0, 1): "OFFSET_OUT_OF_RANGE", atOffset(ts, 0, 3): "3@6000"})
}

// Transactions: 0..2 committed, marker 3, 4..5 aborted, marker 6, 7..10 open.
func TestFindRecordsTransactions(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.OpenF3(t, cl, "find-")
	topic := f.Topic
	time3 := firstTimes(t, cl, topic, 11)
	is := func(n int64) string { return fmt.Sprintf("%d@%d", n, time3[n]) }
	findRecords(t, cl, offset.ReadUncommitted, map[inspect.At]string{atOffset(topic, 0, 0): is(0), atOffset(topic, 0, 3): is(4), atOffset(topic, 0, 6): is(7), atOffset(topic, 0, 10): is(10), atOffset(topic, 0, 11): "-"})
	findRecords(t, cl, offset.ReadCommitted, map[inspect.At]string{atOffset(topic, 0, 2): is(2), atOffset(topic, 0, 3): "-", atOffset(topic, 0, 4): "-", atOffset(topic, 0, 7): "-"})
	f.End(false)
	findRecords(t, cl, offset.ReadCommitted, map[inspect.At]string{atOffset(topic, 0, 7): "-"})
}

// firstTimes reads a partition's record times with an ordinary consumer.
func firstTimes(t *testing.T, cl *kgo.Client, topic string, until int64) map[int64]int64 {
	t.Helper()
	out := map[int64]int64{}
	p := offset.Partition{Topic: topic}
	err := inspect.ReadRecords(t.Context(), cl.Opts(), offset.ReadUncommitted, map[offset.Partition]int64{p: 0}, map[offset.Partition]int64{p: until},
		func(r *kgo.Record) bool { out[r.Offset] = r.Timestamp.UnixMilli(); return true })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Batches larger than the first request are asked for again; compressed ones are opened.
func TestFindRecordsLargeBatches(t *testing.T) {
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
	want := map[inspect.At]string{}
	for n := range int32(3) {
		for _, o := range []int64{0, 1, 50, 99} {
			want[atOffset("big", n, o)] = fmt.Sprintf("%d@%d", o, 1_700_000_000_000+o)
		}
		want[atOffset("big", n, 100)] = "-"
	}
	findRecords(t, cl, offset.ReadUncommitted, want)
}

// Compaction leaves gaps: the record after the gap counts, and where nothing follows there is none.
func TestFindRecordsCompacted(t *testing.T) {
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
	times := firstTimes(t, cl, "compact", 30)
	if len(times) == 30 {
		t.Fatal("nothing was compacted")
	}
	next := int64(30)
	for o := range times {
		if o > 0 {
			next = min(next, o)
		}
	}
	findRecords(t, cl, offset.ReadUncommitted, map[inspect.At]string{atOffset("compact", 0, 0): "0@5000", atOffset("compact", 0, 1): fmt.Sprintf("%d@%d", next, 5000+next), atOffset("compact", 0, 29): "29@5029"})
}

// A leader that moves between metadata and fetch is found again.
func TestFindRecordsLeaderMoves(t *testing.T) {
	c, cl := kafkatest.FakeClient(t, kfake.NumBrokers(2))
	ts := kafkatest.F2(t, cl, "move-")
	topics, err := inspect.ReadTopics(t.Context(), cl, []string{ts})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range topics[ts].Partitions {
		if err := c.MoveTopicPartition(ts, p.Number, 1-p.Leader); err != nil {
			t.Fatal(err)
		}
	}
	got := inspect.FindRecords(t.Context(), cl, offset.ReadUncommitted, topics, []inspect.At{atOffset(ts, 0, 1), atOffset(ts, 1, 0)})
	for a, l := range got {
		if l.Err != nil || l.Record == nil || l.Record.Offset != a.Offset {
			t.Errorf("%s at %d: %+v", a.Partition, a.Offset, l)
		}
	}
}

// A partition that never answers with what was asked ends with the context, and says why.
func TestFindRecordsGivesUp(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	ts := kafkatest.F2(t, cl, "dead-")
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: -1})
	topics, err := inspect.ReadTopics(t.Context(), cl, []string{ts})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	got := inspect.FindRecords(ctx, cl, offset.ReadUncommitted, topics, []inspect.At{atOffset(ts, 0, 1)})
	if l := got[atOffset(ts, 0, 1)]; l.Record != nil || !errors.Is(l.Err, context.DeadlineExceeded) && !errors.Is(l.Err, kerr.NotLeaderForPartition) {
		t.Errorf("got %+v", l)
	}
}

func TestReadLagTimes(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	ts := kafkatest.F2(t, cl, "lag-")
	kafkatest.DeleteRecords(t, cl, ts, 0, 1)
	kafkatest.Commit(t, cl, "g", kafkatest.At(ts, 0, 0), kafkatest.At(ts, 1, 1), kafkatest.At(ts, 2, 7))
	kafkatest.Commit(t, cl, "h", kafkatest.At(ts, 0, 4), kafkatest.At(ts, 1, 0))
	snap, err := inspect.Read(t.Context(), cl, inspect.Query{Groups: []inspect.Group{{Name: "g"}, {Name: "h"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := inspect.ReadLagTimes(t.Context(), cl, snap)
	now := time.UnixMilli(10_000)
	for _, tc := range []struct {
		group     string
		partition int32
		now, head time.Duration
		ok        bool
	}{
		// The commit 0 expired: the next record is 1, of 5000; the newest is of 6000.
		{"g", 0, 5 * time.Second, time.Second, true},
		{"g", 1, 0, 0, true},
		{"g", 2, 0, 0, false}, // past the end: no lag of any kind
		{"h", 0, 7 * time.Second, 3 * time.Second, true},
		{"h", 1, 9 * time.Second, 0, true},
	} {
		l, ok := got[inspect.GroupPartition{Group: tc.group, Partition: offset.Partition{Topic: ts, Partition: tc.partition}}]
		if ok != tc.ok {
			t.Errorf("%s %d: in the result %v", tc.group, tc.partition, ok)
			continue
		}
		if !ok {
			continue
		}
		n, ok1 := l.BehindNow(now)
		h, ok2 := l.BehindHead()
		if n != tc.now || h != tc.head || !ok1 || !ok2 || l.Err != nil {
			t.Errorf("%s %d: behind now %s %v, head %s %v, %v; want %s, %s", tc.group, tc.partition, n, ok1, h, ok2, l.Err, tc.now, tc.head)
		}
	}
}

func TestTimedLagUnknown(t *testing.T) {
	for _, l := range []inspect.TimedLag{{Err: errors.New("x")}, {Next: &offset.Record{Offset: 3}}} {
		if _, ok := l.BehindNow(time.Now()); ok {
			t.Errorf("%+v has an age", l)
		}
		if _, ok := l.BehindHead(); ok {
			t.Errorf("%+v is behind its head", l)
		}
	}
}
