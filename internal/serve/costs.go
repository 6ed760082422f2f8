package serve

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/metrics"
)

// Costs counts what koffset asks of Kafka. It is a hook of the client: kgo.WithHooks(costs).
type Costs struct {
	byKey     [kmsg.MaxKey + 1]cost
	throttled atomic.Int64 // nanoseconds
}

type cost struct{ requests, failures, nanos, written, read atomic.Int64 }

var (
	_ kgo.HookBrokerE2E      = (*Costs)(nil)
	_ kgo.HookBrokerThrottle = (*Costs)(nil)
)

// OnBrokerE2E counts one request.
func (c *Costs) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	if key < 0 || int(key) >= len(c.byKey) {
		return
	}
	k := &c.byKey[key]
	k.requests.Add(1)
	if e2e.Err() != nil {
		k.failures.Add(1)
	}
	k.nanos.Add(int64(e2e.DurationE2E()))
	k.written.Add(int64(e2e.BytesWritten))
	k.read.Add(int64(e2e.BytesRead))
}

// OnBrokerThrottle counts the time that a broker imposes.
func (c *Costs) OnBrokerThrottle(_ kgo.BrokerMetadata, d time.Duration, _ bool) {
	c.throttled.Add(int64(d))
}

func (c *Costs) write(w *writer) {
	column := func(name string, get func(*cost) float64) {
		w.family(name, func(add func(float64, ...pair)) {
			for key := range c.byKey {
				if k := &c.byKey[key]; k.requests.Load() > 0 {
					add(get(k), metrics.NewLabel("request", kmsg.NameForKey(int16(key))))
				}
			}
		})
	}
	column("koffset_kafka_requests_total", func(k *cost) float64 { return float64(k.requests.Load()) })
	column("koffset_kafka_request_failures_total", func(k *cost) float64 { return float64(k.failures.Load()) })
	column("koffset_kafka_request_seconds_total", func(k *cost) float64 { return time.Duration(k.nanos.Load()).Seconds() })
	column("koffset_kafka_request_bytes_total", func(k *cost) float64 { return float64(k.written.Load()) })
	column("koffset_kafka_response_bytes_total", func(k *cost) float64 { return float64(k.read.Load()) })
	w.one("koffset_kafka_throttled_seconds_total", time.Duration(c.throttled.Load()).Seconds())
}
