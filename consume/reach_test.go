package consume_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

// muted lets every connection of a cluster break while it is set.
func muted(k *kfake.Cluster) *atomic.Bool {
	var off atomic.Bool
	k.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if off.Load() {
			return nil, errors.New("muted"), true
		}
		return nil, nil, false
	})
	return &off
}

func TestBrokerAway(t *testing.T) {
	k, cl := fake(t)
	testBrokerAway(t, cl, "away", 200*time.Millisecond, muted(k).Store)
}

// A run without an end says that its broker is away, is not healthy then, does not know its lag, and goes on.
func testBrokerAway(t *testing.T, cl *kgo.Client, topic string, silence time.Duration, away func(bool)) {
	kafkatest.CreateTopic(t, cl, topic, 2)
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 5, 1000, 1)...)
	sink, said := &collector{}, &notes{}
	e, err := consume.New(t.Context(), consume.Config{Client: cl, Topics: topics(topic), Start: from(t, "earliest"), Sink: sink, Notify: said.add,
		Silence: silence, Unreachable: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	b := runEngine(t, e)
	b.reach(t, sink.until(5))
	health := func() (int, string) {
		w := httptest.NewRecorder()
		e.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		body, _ := io.ReadAll(w.Result().Body)
		return w.Code, string(body)
	}
	if code, text := health(); code != 200 {
		t.Fatalf("at first: %d %s", code, text)
	}
	away(true)
	kafkatest.Until(t, "it is said", func() bool { return b.running(t) && said.has("no broker has answered for") })
	kafkatest.Until(t, "it is not healthy", func() bool {
		code, text := health()
		return code == 503 && strings.Contains(text, "no broker has answered")
	})
	kafkatest.Until(t, "both are silent", func() bool {
		ps := e.Stats().Partitions
		return ps[0].Silent > 0 && ps[1].Silent > 0
	})
	s := e.Stats()
	if _, known := s.Pending(); known {
		t.Error("the lag is known while the broker is away")
	}
	var m strings.Builder
	if err := consume.WriteMetrics(&m, s); err != nil || strings.Contains(m.String(), "koffset_consume_records_lag{") || !strings.Contains(m.String(), "koffset_consume_silent_partitions 2") {
		t.Errorf("%v, metrics\n%s", err, m.String())
	}
	away(false)
	kafkatest.Until(t, "it is back", func() bool { return b.running(t) && said.has("every partition answers again") })
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 1, 3, 1000, 1)...)
	b.reach(t, sink.until(8))
	kafkatest.Until(t, "it is healthy", func() bool { code, _ := health(); return code == 200 })
	if n, known := e.Stats().Pending(); !known || n != 0 {
		t.Errorf("lag %d, known %v", n, known)
	}
}

// A run with an end does not wait for ever for brokers that are gone.
func TestBrokersGone(t *testing.T) {
	k, cl := fake(t)
	off := muted(k)
	kafkatest.CreateTopic(t, cl, "gone", 2)
	for p := range int32(2) {
		kafkatest.Produce(t, cl, kafkatest.Records("gone", p, 50, 1000, 1)...)
	}
	for name, edit := range map[string]func(*consume.Config){
		"an end":  func(c *consume.Config) { c.End = until(t, "latest") },
		"a limit": func(c *consume.Config) { c.End.MaxRecords = 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			off.Store(false)
			said := &notes{}
			cfg := consume.Config{Client: cl, Topics: topics("gone"), Start: from(t, "earliest"), Notify: said.add,
				Silence: 200 * time.Millisecond, Unreachable: 500 * time.Millisecond, StopTimeout: time.Second}
			edit(&cfg)
			// The brokers go before the first record.
			cfg.Sink = &collector{}
			e, err := consume.New(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			off.Store(true)
			defer off.Store(false)
			b := runEngine(t, e)
			b.wait(t)
			var own *consume.Error
			if !errors.As(b.err, &own) || own.Kind != consume.Unreachable || !strings.Contains(b.err.Error(), "2 partitions not read to the end") {
				t.Errorf("%v", b.err)
			}
			if !said.has("no broker has answered for") {
				t.Errorf("said\n%s", said.text())
			}
		})
	}
}
