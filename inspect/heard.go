package inspect

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Heard remembers which broker answered last, and who coordinates which group. Metadata is read from that broker first by a
// client that was made with kgo.WithHooks(new(inspect.Heard)): its connection is open, and it is not the one that hangs. A
// group's question goes to its coordinator without looking it up first, which spares a round trip to each phase of a plan; one
// that is not the coordinator any more says so, and one that cannot be reached is looked up. The zero value is ready.
type Heard struct {
	node atomic.Int64 // 1<<32 and the broker's number in the lower half; zero is nobody

	mu           sync.Mutex
	coordinators map[string]int32
}

var _ kgo.HookBrokerRead = new(Heard)

// OnBrokerRead is kgo's hook.
func (h *Heard) OnBrokerRead(meta kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) {
	if err == nil {
		h.node.Store(1<<32 | int64(uint32(meta.NodeID)))
	}
}

// heardBy is the memory of a client, nil for one without.
func heardBy(cl *kgo.Client) *Heard {
	hooks, _ := cl.OptValue(kgo.WithHooks).([]kgo.Hook)
	for _, h := range hooks {
		if h, is := h.(*Heard); is {
			return h
		}
	}
	return nil
}

// coordinates notes who coordinates a group.
func (h *Heard) coordinates(group string, node int32) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.coordinators == nil {
		h.coordinators = map[string]int32{}
	}
	h.coordinators[group] = node
}

// coordinator is who coordinated a group when it was last told.
func (h *Heard) coordinator(group string) (node int32, ok bool) {
	if h == nil {
		return 0, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	node, ok = h.coordinators[group]
	return node, ok
}

// lastHeard is the broker that a client heard from last; seeds have negative numbers.
func lastHeard(cl *kgo.Client) (node int32, ok bool) {
	h := heardBy(cl)
	if h == nil {
		return 0, false
	}
	n := h.node.Load()
	return int32(n), n != 0
}

// topicMetadata is metadata for a caller that does not mind that kgo learns nothing of the answer: the broker that was heard
// from last is asked first, and others as metadata does.
func topicMetadata(ctx context.Context, cl *kgo.Client, req *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error) {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return AnyBroker(ctx, func(ctx context.Context) (*kmsg.MetadataResponse, error) {
		one := *req
		select {
		case <-first:
			if node, ok := lastHeard(cl); ok {
				if resp, err := requestOnce[*kmsg.MetadataResponse](ctx, cl, node, &one); err == nil {
					return resp, nil
				}
				one = *req
			}
		default:
		}
		return one.RequestWith(ctx, cl)
	})
}
