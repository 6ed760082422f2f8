package consume_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// images collects before-images.
type images struct {
	mu   sync.Mutex
	list []consume.Before
}

func (i *images) add(_ context.Context, b []consume.Before) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, b...)
	return nil
}

// times is how often each partition is in the images.
func (i *images) times() map[int32]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := map[int32]int{}
	for _, b := range i.list {
		out[b.Partition.Partition]++
	}
	return out
}

func joining(cl *kgo.Client, topic string, s consume.Sink, said *notes) consume.Config {
	return consume.Config{Client: cl, Topics: topics(topic), Group: topic, Sink: s, Notify: said.add,
		Commit: consume.Commit{Interval: 30 * time.Millisecond}, Join: &consume.Join{}}
}

func TestMemberIdle(t *testing.T) {
	_, cl := fake(t)
	testMemberIdle(t, cl, "idle", consume.Join{})
}

// A member commits the position of idle partitions too: what comes to them while nobody reads is not passed over.
func testMemberIdle(t *testing.T, cl *kgo.Client, topic string, join consume.Join) {
	kafkatest.CreateTopic(t, cl, topic, 2)
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 1, 4, 1000, 1)...)
	first, said := &collector{}, &notes{}
	cfg := joining(cl, topic, first, said)
	cfg.Policies.Reset, cfg.Join = consume.ResetLatest, &join
	stats := make(chan func() consume.Stats, 1)
	b := startEngine(t, cfg, stats)
	read := <-stats
	kafkatest.Until(t, "the idle partitions are committed", func() bool {
		// The run learns of its commit a moment after the broker has it.
		known := !slices.ContainsFunc(read().Partitions, func(p consume.PartitionStats) bool { return p.Committed == nil })
		return known && maps.Equal(kafkatest.CommittedOffsets(t, cl, topic, topic), map[int32]int64{0: 0, 1: 4})
	})
	for _, p := range read().Partitions {
		want := map[int32]int64{0: 0, 1: 4}[p.Partition.Partition]
		if p.Position != want || p.LogEnd != want || p.Committed == nil || *p.Committed != want {
			t.Errorf("%s: position %d, log end %d, committed %v, want %d", p.Partition, p.Position, p.LogEnd, p.Committed, want)
		}
	}
	b.stop(nil)
	b.wait(t)
	if b.err != nil || len(first.got) != 0 {
		t.Fatalf("%v, read %v", b.err, first.got)
	}
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 1, 5, 2000, 1)...)
	second, again := &collector{}, &notes{}
	cfg.Sink, cfg.Notify = second, again.add
	b = start(t, cfg)
	b.reach(t, second.until(5))
	if again.has("joining again") {
		t.Errorf("the member that left was in the way:\n%s", again.text())
	}
	b.stop(nil)
	b.wait(t)
	if got := second.sorted(); b.err != nil || !slices.Equal(got, span(topic, 1, 4, 9)) {
		t.Errorf("%v, read %v", b.err, got)
	}
}

// startEngine is start, and gives the engine's Stats.
func startEngine(t *testing.T, cfg consume.Config, stats chan<- func() consume.Stats) *background {
	t.Helper()
	e, err := consume.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stats <- e.Stats
	return runEngine(t, e)
}

// runEngine runs an engine in the background.
func runEngine(t *testing.T, e *consume.Engine) *background {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	b := &background{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.sum, b.err = e.Run(ctx)
	}()
	t.Cleanup(func() { cancel(nil); <-b.done; e.Close() })
	return b
}

// running fails the test where the run has ended.
func (b *background) running(t *testing.T) bool {
	t.Helper()
	select {
	case <-b.done:
		t.Fatalf("the run ended: %v", b.err)
	default:
	}
	return true
}

// The before-image of each partition is kept once, before its first commit, whenever the partition came.
func TestBeforeImages(t *testing.T) {
	_, cl := fake(t)
	const topic = "images"
	kafkatest.CreateTopic(t, cl, topic, 2)
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 5, 1000, 1)...)
	kafkatest.Commit(t, cl, topic, kafkatest.At(topic, 0, 3))
	for name, edit := range map[string]func(*consume.Config){
		"member": func(c *consume.Config) { c.Join = &consume.Join{} },
		"own":    func(c *consume.Config) { c.Commit.Auto = true },
	} {
		t.Run(name, func(t *testing.T) {
			group, topic := topic, topic
			if name == "own" {
				topic, group = "images-own", "images-own"
				kafkatest.CreateTopic(t, cl, topic, 2)
				kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 5, 1000, 1)...)
				kafkatest.Commit(t, cl, group, kafkatest.At(topic, 0, 3))
			}
			kept, said := &images{}, &notes{}
			cfg := consume.Config{Client: cl, Topics: topics(topic), Group: group, Sink: &collector{}, Notify: said.add, Policies: consume.Policies{Reset: consume.ResetEarliest},
				Commit: consume.Commit{Interval: 20 * time.Millisecond}, Discovery: time.Second, BeforeCommit: kept.add}
			if name == "own" {
				cfg.Discovery = 30 * time.Millisecond
			}
			edit(&cfg)
			b := start(t, cfg)
			kafkatest.Until(t, "the first two are kept", func() bool { return b.running(t) && len(kept.times()) == 2 })
			grow(t, cl, topic, 3)
			kafkatest.Produce(t, cl, kafkatest.Records(topic, 2, 7, 1000, 1)...)
			kafkatest.Until(t, "the third is committed", func() bool { return kafkatest.CommittedOffsets(t, cl, group, topic)[2] == 7 })
			b.stop(nil)
			b.wait(t)
			if got := kept.times(); !maps.Equal(got, map[int32]int{0: 1, 1: 1, 2: 1}) {
				t.Errorf("kept %v", got)
			}
			for _, one := range kept.list {
				if has := one.Committed != nil; has != (one.Partition.Partition == 0) || has && one.Committed.Offset != 3 {
					t.Errorf("%s: before %v", one.Partition, one.Committed)
				}
				if one.TopicID == "" {
					t.Errorf("%s has no topic id", one.Partition)
				}
			}
		})
	}
}

// A member whose last commit fails has failed.
func TestMemberLastCommitFails(t *testing.T) {
	k, cl := fake(t)
	const topic = "denied"
	kafkatest.CreateTopic(t, cl, topic, 1)
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 5, 1000, 1)...)
	deny(k, topic)
	sink, said := &collector{}, &notes{}
	cfg := joining(cl, topic, sink, said)
	cfg.Policies.Reset, cfg.Commit.Interval, cfg.End.MaxRecords = consume.ResetEarliest, time.Hour, 5
	b := start(t, cfg)
	b.wait(t)
	if b.err == nil || b.sum.Ended != consume.Broken || !strings.Contains(b.err.Error(), "the last commit") || len(kafkatest.CommittedOffsets(t, cl, topic, topic)) != 0 {
		t.Errorf("%v, ended %s", b.err, b.sum.Ended)
	}
	var own *consume.Error
	if !errors.As(b.err, &own) {
		t.Errorf("%T is not an *Error", b.err)
	}
}

// deny lets every commit to a group fail.
func deny(k *kfake.Cluster, group string) {
	k.ControlKey(int16(kmsg.OffsetCommit), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		req := kreq.(*kmsg.OffsetCommitRequest)
		if req.Group != group {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, rt := range req.Topics {
			t := kmsg.NewOffsetCommitResponseTopic()
			t.Topic, t.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				p := kmsg.NewOffsetCommitResponseTopicPartition()
				p.Partition, p.ErrorCode = rp.Partition, kerr.GroupAuthorizationFailed.Code
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp, nil, true
	})
}

// Under a rate every partition of a member gets its turn.
func TestMemberRateIsFair(t *testing.T) {
	_, cl := fake(t)
	const topic = "fair"
	kafkatest.CreateTopic(t, cl, topic, 4)
	for p := range int32(4) {
		kafkatest.Produce(t, cl, kafkatest.Records(topic, p, 500, 1000, 1)...)
	}
	sink, said := &collector{}, &notes{}
	cfg := joining(cl, topic, sink, said)
	cfg.Policies.Reset, cfg.Rate, cfg.End.MaxRecords = consume.ResetEarliest, consume.Rate{Records: 200}, 200
	b := start(t, cfg)
	b.wait(t)
	per := map[string]int{}
	for _, r := range sink.got {
		per[r[:strings.Index(r, "@")]]++
	}
	if b.err != nil || len(sink.got) != 200 {
		t.Fatalf("%v, %d records", b.err, len(sink.got))
	}
	for p := range int32(4) {
		if n := per[offset.Partition{Topic: topic, Partition: p}.String()]; n < 30 || n > 70 {
			t.Errorf("partition %d got %d of 200: %v", p, n, per)
		}
	}
}

// Under a rate too a member to which nothing is assigned hears how its session ended: it would wait for ever and say nothing.
func TestMemberRateHearsItsSession(t *testing.T) {
	k, cl := fake(t)
	const topic = "unheard"
	kafkatest.CreateTopic(t, cl, topic, 1)
	k.ControlKey(int16(kmsg.JoinGroup), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.JoinGroupResponse)
		resp.ErrorCode = kerr.FencedInstanceID.Code
		return resp, nil, true
	})
	cfg := joining(cl, topic, &collector{}, &notes{})
	cfg.Rate = consume.Rate{Records: 200}
	b := start(t, cfg)
	b.wait(t)
	if !errors.Is(b.err, kerr.FencedInstanceID) {
		t.Fatal(b.err)
	}
}

// A partition without a commit can be left out.
func TestMemberSkips(t *testing.T) {
	_, cl := fake(t)
	const topic = "skips"
	kafkatest.CreateTopic(t, cl, topic, 2)
	for p := range int32(2) {
		kafkatest.Produce(t, cl, kafkatest.Records(topic, p, 5, 1000, 1)...)
	}
	kafkatest.Commit(t, cl, topic, kafkatest.At(topic, 0, 2))
	sink, said := &collector{}, &notes{}
	cfg := joining(cl, topic, sink, said)
	cfg.Policies.IfNoCommit = offset.IfNoCommitSkip
	b := start(t, cfg)
	b.reach(t, sink.until(3))
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 1, 5, 2000, 1)...)
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 1, 2000, 1)...)
	b.reach(t, sink.until(4))
	b.stop(nil)
	b.wait(t)
	if got := sink.sorted(); b.err != nil || !slices.Equal(got, span(topic, 0, 2, 6)) {
		t.Errorf("%v, read %v", b.err, got)
	}
	if got := kafkatest.CommittedOffsets(t, cl, topic, topic); !maps.Equal(got, map[int32]int64{0: 6}) {
		t.Errorf("committed %v", got)
	}
}

// A topic that is deleted and made again during a run gets no commit of the old one's offsets.
func TestRecreatedTopicGetsNoCommit(t *testing.T) {
	_, cl := fake(t)
	testRecreatedTopic(t, cl, "")
}

func testRecreatedTopic(t *testing.T, cl *kgo.Client, prefix string) {
	for _, how := range []string{"own", "member", "checkpoints"} {
		t.Run(how, func(t *testing.T) {
			topic := prefix + "remade-" + how
			kafkatest.CreateTopic(t, cl, topic, 1)
			kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 100, 1000, 1)...)
			sink, said := &collector{}, &notes{}
			cfg := joining(cl, topic, sink, said)
			cfg.Policies.Reset = consume.ResetEarliest
			switch how {
			case "own":
				cfg.Join, cfg.Commit.Auto = nil, true
			case "checkpoints":
				cfg.Join, cfg.Checkpoints.Interval = nil, 30*time.Millisecond
			}
			b := start(t, cfg)
			kafkatest.Until(t, "the old topic is committed", func() bool { return kafkatest.CommittedOffsets(t, cl, topic, topic)[0] == 100 })
			kafkatest.DeleteTopic(t, cl, topic)
			kafkatest.CreateTopic(t, cl, topic, 1)
			left := kafkatest.CommittedOffsets(t, cl, topic, topic)
			kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 200, 1000, 1)...)
			b.wait(t)
			if b.err == nil || !strings.Contains(b.err.Error(), "during the run") || !strings.Contains(b.err.Error(), "deleted") {
				t.Errorf("%v", b.err)
			}
			if got := kafkatest.CommittedOffsets(t, cl, topic, topic); !maps.Equal(got, left) {
				t.Errorf("the new topic has the commits %v, %v were there when it was made", got, left)
			}
		})
	}
}
