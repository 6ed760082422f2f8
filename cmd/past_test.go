package cmd_test

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// A history that takes longer to read than --timeout, and moves all the while, is read to its end, and what comes after it has its
// time too.
func TestPastIsReadForAsLongAsItMoves(t *testing.T) {
	t.Parallel()
	const timeout, pause = 4 * time.Second, time.Second
	var runs sync.WaitGroup // not subtests: those that may run at once are few, and these only wait
	defer runs.Wait()
	for _, line := range []string{
		"resolve orders -g app --to current@-1h -o tsv",
		"reset app --to current@-1h",
		"reset other --topic orders --create --to group:app@-1h",
		"split orders -g app --from current@-1h --parts 1",
		"consume orders -g app --from current@-1h --until end -q",
		"find orders -g app --from current@-1h --key nobody",
	} {
		fake, slow := slowPast(t, pause)
		runs.Go(func() {
			var out, errs bytes.Buffer
			code := cmd.Run(t.Context(), append([]string{"-b", fake.ListenAddrs()[0], "--timeout", timeout.String()}, strings.Fields(line)...), cli.App{
				Streams: &render.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Environ: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir(),
			})
			if finds := strings.HasPrefix(line, "find"); !finds && code != 0 || finds && !strings.Contains(errs.String(), "nothing was found in 6 records") || slow.Load() < 5 {
				t.Errorf("%s: status %d after %d slow answers\n%s%s", line, code, slow.Load(), out.String(), errs.String())
			}
		})
	}
}

// slowPast is a cluster with a group app and five records of its commits, each of which takes a while to read.
func slowPast(t *testing.T, pause time.Duration) (*kfake.Cluster, *atomic.Int64) {
	t.Helper()
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 1)
	kafkatest.CreateTopic(t, cl, history.Topic, 1)
	kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, 10, 1710072000000, 1000)...)
	kafkatest.Commit(t, cl, "app", kafkatest.At("orders", 0, 8))
	for i := range 5 {
		k := kmsg.OffsetCommitKey{Version: 1, Group: "app", Topic: "orders"}
		v := kmsg.OffsetCommitValue{Version: 3, Offset: int64(i), LeaderEpoch: -1, CommitTimestamp: 1}
		kafkatest.Produce(t, cl, &kgo.Record{Topic: history.Topic, Timestamp: time.Now().Add(-2 * time.Hour), Key: k.AppendTo(nil), Value: v.AppendTo(nil)})
	}
	id := fake.TopicInfo(history.Topic).TopicID
	slow := new(atomic.Int64)
	fake.ControlKey(kmsg.Fetch.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		for i, rt := range req.(*kmsg.FetchRequest).Topics {
			if rt.Topic != history.Topic && rt.TopicID != id {
				continue
			}
			slow.Add(1)
			req.(*kmsg.FetchRequest).Topics[i].Partitions[0].PartitionMaxBytes = 1 // one batch
			fake.SleepControl(func() { <-time.NewTimer(pause).C })
		}
		return nil, nil, false
	})
	return fake, slow
}
