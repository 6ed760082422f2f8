package find

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// stock makes a topic of n partitions with ten records each, "0" to "9" on every partition.
func stock(t *testing.T, n int32) (*kfake.Cluster, *kgo.Client, Query) {
	t.Helper()
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", n)
	q := Query{Client: cl, Isolation: offset.ReadCommitted}
	for p := range n {
		kafkatest.Produce(t, cl, kafkatest.Records("orders", p, 10, 1710072000000, 1000)...)
		q.Spans = append(q.Spans, records.Span{Partition: offset.Partition{Topic: "orders", Partition: p}, Until: 10})
	}
	var err error
	if q.Topics, err = inspect.ReadTopics(t.Context(), cl, []string{"orders"}); err != nil {
		t.Fatal(err)
	}
	return fake, cl, q
}

func TestScanOfManyPartitions(t *testing.T) {
	t.Parallel()
	_, _, q := stock(t, 30)
	q.Where = NewWhere(ValueContains([]byte("7")))
	var got []string
	q.Match = func(r *kgo.Record, how []string) bool {
		got = append(got, fmt.Sprintf("%d/%d %s", r.Partition, r.Offset, strings.Join(how, "+")))
		return true
	}
	var done, total int64
	q.Progress = func(d, t int64) { done, total = d, t }
	r := Scan(t.Context(), q)
	if len(got) != 30 || r.Matches != 30 || r.Records != 300 || r.Stopped || len(r.Unread()) > 0 || done != 300 || total != 300 {
		t.Errorf("%d matches %v, report %+v, progress %d of %d", len(got), got, r, done, total)
	}
	if !slices.Contains(got, "29/7 value-contains") {
		t.Errorf("got %v", got)
	}
	for _, p := range r.Parts {
		if !p.Whole || p.Hit == nil || p.Hit.Offset != 7 || p.Last.Offset != 7 {
			t.Errorf("%+v", p)
		}
	}
}

func TestScanEndsWhenEnoughWasFound(t *testing.T) {
	t.Parallel()
	_, _, q := stock(t, 30)
	for _, c := range []struct {
		name string
		max  int64
		stop bool
		want int64
	}{{"the first", 1, false, 1}, {"five", 5, false, 5}, {"the caller", 0, true, 1}} {
		told := int64(0)
		q.Max, q.Match = c.max, func(*kgo.Record, []string) bool { told++; return !c.stop }
		r := Scan(t.Context(), q)
		if told != c.want || r.Matches != c.want || !r.Stopped || len(r.Unread()) > 0 {
			t.Errorf("%s: %d were told, report %+v", c.name, told, r)
		}
		for _, p := range r.Parts {
			if p.Whole && p.Read != p.Until || p.Read > p.Until {
				t.Errorf("%s: %+v", c.name, p)
			}
		}
	}
}

// What was removed before it was read is counted, and the rest is read.
func TestScanWhoseLogStartMoved(t *testing.T) {
	t.Parallel()
	_, cl, q := stock(t, 2)
	kafkatest.DeleteRecords(t, cl, "orders", 1, 4)
	r := Scan(t.Context(), q)
	if p := r.Parts[1]; p.Removed != 4 || p.Records != 6 || !p.Whole || p.Err != nil {
		t.Errorf("%+v", p)
	}
	kafkatest.DeleteRecords(t, cl, "orders", 1, 10)
	r = Scan(t.Context(), q)
	if p := r.Parts[1]; p.Removed != 10 || p.Records != 0 || p.Read != 10 || p.Err != nil {
		t.Errorf("all of it removed: %+v", p)
	}
}

// A topic of the same name is not the same topic, and one that ends before is not read to the end.
func TestScanOfATopicThatWasMadeAgain(t *testing.T) {
	t.Parallel()
	_, cl, q := stock(t, 1)
	kafkatest.DeleteTopic(t, cl, "orders")
	if r := Scan(t.Context(), q); len(r.Unread()) != 1 || r.Parts[0].Whole {
		t.Errorf("deleted: %+v", r)
	}
	kafkatest.CreateTopic(t, cl, "orders", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, 20, 1710072000000, 1000)...)
	r := Scan(t.Context(), q)
	if u := r.Unread(); len(u) != 1 || !strings.Contains(u[0].Err.Error(), "was deleted and made again") {
		t.Errorf("made again: %+v", r)
	}
	q.Topics, q.Spans[0].Until = map[string]inspect.Topic{}, 30
	r = Scan(t.Context(), q)
	if u := r.Unread(); len(u) != 1 || !strings.Contains(u[0].Err.Error(), "the log ends at 20 now, and ended at or after 30") {
		t.Errorf("shorter than it was: %+v", r)
	}
}

// An interrupted scan says how far it came, and is not whole.
func TestScanThatIsInterrupted(t *testing.T) {
	t.Parallel()
	fake, _, q := stock(t, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("Ctrl-C")
	ended := make(chan struct{})
	fake.ControlKey(kmsg.Fetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		cancel(why)
		<-ended // an answer that comes at once may be taken before the end is noticed
		return nil, nil, false
	})
	r := Scan(ctx, q)
	close(ended)
	unread := r.Unread()
	for _, p := range unread {
		if !errors.Is(p.Err, why) || p.Whole {
			t.Errorf("%+v", p)
		}
	}
	if len(unread) != 2 || r.Stopped {
		t.Errorf("%+v", r)
	}
}

// Values of 5 MB are found within a small memory, and where one does not fit the partition is named.
func TestScanOfHugeValues(t *testing.T) {
	t.Parallel()
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "huge", 2, "max.message.bytes", "8000000")
	producer := kafkatest.Client(t, fake.ListenAddrs(), kgo.ProducerBatchMaxBytes(8<<20), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	value := make([]byte, 5<<20)
	copy(value[4<<20:], "needle")
	for i := range 3 {
		kafkatest.Produce(t, producer, &kgo.Record{Topic: "huge", Key: fmt.Append(nil, i), Value: value}, &kgo.Record{Topic: "huge", Partition: 1, Value: []byte("needle")})
	}
	topics, err := inspect.ReadTopics(t.Context(), cl, []string{"huge"})
	if err != nil {
		t.Fatal(err)
	}
	q := Query{Client: cl, Isolation: offset.ReadCommitted, Topics: topics, Where: NewWhere(ValueContains([]byte("needle"))), Memory: 8 << 20,
		Spans: []records.Span{{Partition: offset.Partition{Topic: "huge"}, Until: 3}, {Partition: offset.Partition{Topic: "huge", Partition: 1}, Until: 3}}}
	if r := Scan(t.Context(), q); r.Matches != 6 || len(r.Unread()) > 0 {
		t.Errorf("%+v", r)
	}
	q.Memory = 4 << 20
	r := Scan(t.Context(), q)
	if u := r.Unread(); len(u) != 1 || !errors.Is(u[0].Err, records.ErrTooLarge) || u[0].Partition.Partition != 0 || r.Matches != 3 || r.Parts[0].Read != 0 {
		t.Errorf("%+v", r)
	}
}
