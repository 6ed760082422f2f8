package consume_test

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/koffset/koffset/internal/kafkatest"
)

// A commit names its topic by the id that was read from, so that it cannot land on a topic that was made again. Brokers before
// 4.2 know names alone there, and those before 2.8 no ids at all: they are given the name.
func TestCommitsToOlderBrokers(t *testing.T) {
	for broker, want := range map[string]int16{"2.6": 8, "3.0": 8, "3.9": 9, "4.1": 9, "4.2": 10} {
		t.Run(broker, func(t *testing.T) {
			t.Parallel()
			versions := kversion.FromString("v" + broker)
			c, cl := kafkatest.FakeClient(t, kfake.MaxVersions(versions))
			var version, named, byID atomic.Int32
			version.Store(-1)
			c.ControlKey(kmsg.OffsetCommit.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				req := kreq.(*kmsg.OffsetCommitRequest)
				version.Store(int32(req.Version))
				for _, rt := range req.Topics {
					if rt.Topic != "" {
						named.Add(1)
					}
					if rt.TopicID != [16]byte{} {
						byID.Add(1)
					}
				}
				return nil, nil, false
			})
			testCommitsOnCheckpoint(t, cl)
			if got := version.Load(); got != int32(want) || want == 10 && byID.Load() == 0 || want < 10 && named.Load() == 0 {
				t.Errorf("version %d, want %d; %d topics by name, %d by id", got, want, named.Load(), byID.Load())
			}
		})
	}
}
