package history_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// offsetsRecord is a record of a group as its coordinator writes it.
func offsetsRecord(group string, minute int, key, value []byte) *kgo.Record {
	return &kgo.Record{Topic: history.Topic, Partition: history.PartitionOf(group, 5), Key: key, Value: value, Timestamp: at(minute)}
}

// read reads the history, and returns each group's events.
func read(t *testing.T, cl *kgo.Client, q history.Query) (*history.Report, map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	q.Each = func(e *history.Event) { got[e.Group] = append(got[e.Group], describe(e)) }
	r, err := history.Read(t.Context(), cl, q)
	if err != nil {
		t.Fatal(err)
	}
	return r, got
}

func offsetsTopic(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	c, cl := kafkatest.FakeClient(t, opts...)
	kafkatest.CreateTopic(t, cl, history.Topic, 5, "cleanup.policy", "compact")
	return c, cl
}

func TestRead(t *testing.T) {
	_, cl := offsetsTopic(t)
	for i := range 30 {
		g := fmt.Sprintf("g%d", i%3)
		kafkatest.Produce(t, cl, offsetsRecord(g, i, commitKey(g, orders), val(int64(i))))
	}
	x := kafkatest.NewTxn(t, cl, "writer")
	x.Begin()
	x.Produce(offsetsRecord("g0", 40, commitKey("g0", orders), val(100)))
	x.End(false)
	var done, total int64
	r, got := read(t, cl, history.Query{Groups: []string{"g0"}, Progress: func(d, n int64) { done, total = d, n }})
	of := history.PartitionOf("g0", 5)
	if len(r.Partitions) != 1 || r.Of != 5 || r.Err() != nil {
		t.Errorf("%+v", r)
	}
	if one := r.For("g0"); one.Read != one.Until || one.Read == 0 || done != total || total != one.Until || !one.Coverage.CompleteAt(time.Now()) {
		t.Errorf("%+v of partition %d: %d of %d", one, of, done, total)
	}
	want := []string{"0 commit orders:3 0/-/"}
	for i := 3; i < 30; i += 3 {
		want = append(want, fmt.Sprintf("%d commit orders:3 %d/-/ +3", i, i))
	}
	events := got["g0"]
	if len(events) != 11 || !slices.Equal(events[:10], want) || !strings.Contains(events[10], "aborted orders:3 100/") || len(got) != 1 {
		t.Errorf("%q", got)
	}
	// All groups, and since a moment: what was before it is read a quarter of an hour back, and not told.
	r, got = read(t, cl, history.Query{Since: at(28)})
	if len(r.Partitions) != 5 || len(got["g1"]) != 1 || len(got["g2"]) != 1 || got["g2"][0] != "29 commit orders:3 29/-/ +3" {
		t.Errorf("%+v, %q", r, got)
	}
	if r.For("g0").Coverage.CompleteAt(at(29)) && r.For("g0").From > 0 {
		t.Error("a stretch in the middle of a log is taken for all of it")
	}
	if _, got = read(t, cl, history.Query{Since: time.Now().Add(time.Hour)}); len(got) != 0 {
		t.Errorf("after the end: %q", got)
	}
}

// A topic that is hidden, and one that may not be read, are errors of their own kinds; a partition without an answer is one of
// the report, and its coverage knows nothing.
func TestReadCannot(t *testing.T) {
	_, none := kafkatest.FakeClient(t)
	_, err := history.Read(t.Context(), none, history.Query{Groups: []string{"g"}})
	var topic *history.TopicError
	if !errors.As(err, &topic) || !topic.Missing() || offset.KindOf(err) != offset.KindNotFound {
		t.Errorf("no topic: %v", err)
	}
	c, cl := offsetsTopic(t)
	kafkatest.Produce(t, cl, offsetsRecord("g", 1, commitKey("g", orders), val(1)))
	code := kerr.TopicAuthorizationFailed.Code
	c.ControlKey(kmsg.Fetch.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, rt := range req.(*kmsg.FetchRequest).Topics {
			at := kmsg.NewFetchResponseTopic()
			at.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				ap := kmsg.NewFetchResponseTopicPartition()
				ap.Partition, ap.ErrorCode = rp.Partition, code
				at.Partitions = append(at.Partitions, ap)
			}
			resp.Topics = append(resp.Topics, at)
		}
		return resp, nil, true
	})
	if _, err = history.Read(t.Context(), cl, history.Query{Groups: []string{"g"}, Each: func(*history.Event) {}}); !errors.As(err, &topic) || !topic.Denied() || offset.KindOf(err) != offset.KindDenied {
		t.Errorf("no right: %v", err)
	}
	code = kerr.UnknownServerError.Code
	r, got := read(t, cl, history.Query{Groups: []string{"g"}})
	if r.Err() == nil || len(got) != 0 || r.For("g").Read != 0 || r.For("g").Coverage.CompleteAt(at(0)) {
		t.Errorf("%+v, %q", r, got)
	}
}
