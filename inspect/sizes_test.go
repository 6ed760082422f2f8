package inspect_test

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// Each partition's size is known wherever its replicas are, also to a client that has asked nothing before.
func TestReadSizes(t *testing.T) {
	c := kafkatest.Fake(t, kfake.NumBrokers(3))
	maker := kafkatest.Client(t, c.ListenAddrs())
	parts := inspect.Partitions{}
	for _, topic := range []string{"orders", "audit"} {
		kafkatest.CreateTopic(t, maker, topic, 5)
		for p := range int32(5) {
			kafkatest.Produce(t, maker, kafkatest.Records(topic, p, 3, kafkatest.F1Start, 1)...)
			if topic == "orders" {
				parts.Add(offset.Partition{Topic: topic, Partition: p})
			}
		}
	}
	fresh := kafkatest.Client(t, c.ListenAddrs())
	sizes, err := inspect.ReadSizes(t.Context(), fresh, parts)
	if err != nil || len(sizes) != 5 {
		t.Fatalf("%v, %v", sizes, err)
	}
	for p, n := range sizes {
		if p.Topic != "orders" || n <= 0 {
			t.Errorf("%s takes %d bytes", p, n)
		}
	}
	if none, err := inspect.ReadSizes(t.Context(), fresh, inspect.Partitions{}); err != nil || len(none) > 0 {
		t.Errorf("of no partitions: %v, %v", none, err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if sizes, err := inspect.ReadSizes(over, fresh, parts); !errors.Is(err, context.Canceled) || len(sizes) > 0 {
		t.Errorf("brokers that do not answer: %v, %v", sizes, err)
	}
}
