package migrate_test

// A topic that was compacted, and is not any more: its configuration says nothing of what it lost, and the holes in its log do.

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
)

// notCompacted sets a topic's cleanup.policy back to delete.
func notCompacted(t *testing.T, cl *kgo.Client, topic string) {
	t.Helper()
	kafkatest.SetTopicConfig(t, cl, topic, "cleanup.policy", "delete")
}

func TestCompactedOnceWorlds(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		w := scene{parts: 40, records: 200, batch: 4000, compactSource: true}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w.runAfter(t, rand.New(rand.NewPCG(42, seed)), func(src *kgo.Client) { notCompacted(t, src, "w") })
		})
	}
}
