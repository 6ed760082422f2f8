package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// The stories that alerts are for, recorded: groups of each kind live through storyLength refreshes of storyStep on a cluster,
// and what was scraped after each is kept. stories_real_test.go replays it through the shipped rules.
const (
	storyStep   = time.Minute
	storyLength = 45
)

// recording is the value of each sample, by refresh; NaN is absent.
type recording struct {
	samples map[string][]string
	rows    int
}

func (r *recording) take(got map[string]float64) {
	for name, v := range got {
		if !strings.HasPrefix(name, "koffset_group") && !strings.HasPrefix(name, "koffset_up") && !strings.HasPrefix(name, "koffset_refresh_timestamp") {
			continue
		}
		for len(r.samples[name]) < r.rows {
			r.samples[name] = append(r.samples[name], "_")
		}
		r.samples[name] = append(r.samples[name], fmt.Sprint(v))
	}
	r.rows++
	for name, values := range r.samples {
		if len(values) < r.rows {
			r.samples[name] = append(values, "_")
		}
	}
}

// slowReader is a member that commits what it is told to.
func slowReader(t *testing.T, c *kfake.Cluster, group, topic string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	kafkatest.Until(t, group+" reads", func() bool { return cl.PollFetches(t.Context()).NumRecords() > 0 })
	return cl
}

// recordStories lives the stories.
func recordStories(t *testing.T) *recording {
	c, cl := kafkatest.FakeClient(t)
	r := newRig(cl, func(o *Options) { o.PerPartition = false })
	now := func() int64 { return r.now.UnixMilli() }
	for _, topic := range []string{"stuck", "poison", "idle", "slow", "away", "finished"} {
		kafkatest.CreateTopic(t, cl, topic, 1)
		kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 100, now(), 0)...)
	}
	kafkatest.CreateTopic(t, cl, "expires", 1, "retention.ms", fmt.Sprint((24 * time.Hour).Milliseconds()))
	kafkatest.Produce(t, cl, kafkatest.Records("expires", 0, 100, r.now.Add(-20*time.Hour).UnixMilli(), 0)...)

	for _, g := range []string{"finished-1", "finished-2", "finished-3", "expires"} {
		topic, _, _ := strings.Cut(g, "-")
		kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: g, Topics: []string{topic}}).Close()
		kafkatest.Commit(t, cl, g, kafkatest.At(topic, 0, 40))
	}
	for g, at := range map[string]int64{"poison": 5, "idle": 100, "away": 100} {
		kafkatest.Commit(t, cl, g, kafkatest.At(g, 0, at))
	}
	// Members that hold nothing: the topic that they read now is not there, and the commit is of one that they read before.
	kafkatest.Commit(t, cl, "elsewhere", kafkatest.At("finished", 0, 40))
	kafkatest.JoinIdle(t, cl, "elsewhere", "nowhere")
	for _, g := range []string{"stuck", "poison", "idle", "away"} {
		kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: g, Topics: []string{g}}) // they commit nothing
	}
	slow := slowReader(t, c, "slow", "slow")

	rec := &recording{samples: map[string][]string{}}
	for i := range int64(storyLength) {
		r.now = r.now.Add(storyStep)
		kafkatest.Produce(t, cl, kafkatest.Records("slow", 0, 60, now(), 0)...)
		slow.CommitOffsetsSync(t.Context(), map[string]map[int32]kgo.EpochOffset{"slow": {0: {Epoch: -1, Offset: 20 * (i + 1)}}}, nil)
		if i == storyLength/2 {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "away", Err: kerr.UnknownServerError, Count: -1})
		}
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		rec.take(r.scrape(t, "gzip"))
	}
	return rec
}

// What the stories are recorded as, at their end.
func TestStories(t *testing.T) {
	rec := recordStories(t)
	last := func(name string) string {
		if v := rec.samples[name]; len(v) > 0 {
			return v[len(v)-1]
		}
		return "_"
	}
	for group, want := range map[string]inspect.Health{
		"stuck": inspect.HealthNeverCommitted, "poison": inspect.HealthStalled, "idle": inspect.HealthOK, "slow": inspect.HealthFallingBehind,
		"away": inspect.HealthUnknown, "finished-1": inspect.HealthStopped, "elsewhere": inspect.HealthStopped, "expires": inspect.HealthAboutToExpire,
	} {
		if name := fmt.Sprintf("koffset_group_verdict{group=%s,verdict=%s}", group, want); last(name) != "1" {
			var has []string
			for n := range rec.samples {
				if strings.HasPrefix(n, "koffset_group_verdict{group="+group+",") && last(n) == "1" {
					has = append(has, n)
				}
			}
			t.Errorf("%s is not %s but %s", group, want, has)
		}
	}
	for group, want := range map[string]string{"stuck": "1", "poison": "1", "idle": "0", "slow": "0", "finished-1": "0", "elsewhere": "0", "expires": "0", "away": "_"} {
		if got := last("koffset_group_stuck_partitions{group=" + group + "}"); got != want {
			t.Errorf("%s has %s stuck partitions, want %s", group, got, want)
		}
	}
	if slices.Contains(rec.samples["koffset_group_stuck_partitions{group=slow}"], "1") {
		t.Error("a slow reader was stuck for a while")
	}
}
