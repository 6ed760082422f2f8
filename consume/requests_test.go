package consume_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

// requests counts what a client sends, by Kafka's number of the request.
type requests struct {
	mu sync.Mutex
	by map[int16]int
}

func (r *requests) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[int16]int{}
	}
	r.by[key]++
}

func (r *requests) count(req kmsg.Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[req.Key()]
}

// counted is a client of the cluster whose requests are counted.
func counted(t *testing.T, addrs []string) (*kgo.Client, *requests) {
	t.Helper()
	sent := &requests{}
	return kafkatest.Client(t, addrs, kgo.WithHooks(sent)), sent
}

// Many partitions come many to a response, from the first seconds on: a broker remembers the size that it was told for each
// partition when reading began, and a size below one batch would bring one partition a response.
func TestManyPartitionsShareResponses(t *testing.T) {
	c, maker := fake(t, kfake.NumBrokers(1))
	const topic, partitions = "many", 200
	kafkatest.CreateTopic(t, maker, topic, partitions)
	noise := make([]byte, 20_000) // above the first response's size
	rnd := rand.NewChaCha8([32]byte{1})
	_, _ = rnd.Read(noise) // it never fails
	var list []*kgo.Record
	for p := range int32(partitions) {
		list = append(list, &kgo.Record{Topic: topic, Partition: p, Value: noise})
	}
	kafkatest.Produce(t, maker, list...)
	cl, sent := counted(t, c.ListenAddrs())
	got, _, err := readAll(t, consume.Config{Client: cl, Topics: topics(topic), Start: consume.FromEarliest(), End: consume.UntilLatest()})
	if err != nil || len(got) != partitions {
		t.Fatalf("%v: %d records", err, len(got))
	}
	if n := sent.count(&kmsg.FetchRequest{}); n > partitions/2 {
		t.Errorf("%d partitions took %d fetches", partitions, n)
	}
}

// What a plan says for people is read for those who ask: a run that nobody looks at costs no request for it.
func TestSurvey(t *testing.T) {
	c, maker := fake(t)
	f := kafkatest.F1(t, maker, "")
	cl, sent := counted(t, c.ListenAddrs())
	e, err := consume.New(t.Context(), consume.Config{Client: cl, Topics: topics(f.Topic), Start: consume.FromEarliest(), Sink: &collector{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if n := sent.count(&kmsg.FetchRequest{}) + sent.count(&kmsg.DescribeLogDirsRequest{}); n > 0 {
		t.Errorf("%d requests for what nobody asked", n)
	}
	e.Survey(t.Context())
	for _, row := range e.Plan().Rows {
		if row.First.IsZero() || row.Bytes == nil || *row.Bytes <= 0 {
			t.Errorf("%s: the first record is of %s, its bytes are %v", row.Partition, row.First, row.Bytes)
		}
	}
}
