package consume_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

// The group's commit is the last completed checkpoint's offsets, exactly; auto-commit beside it is ignored, and said.
func TestCommitsOnCheckpoint(t *testing.T) {
	_, cl := fake(t)
	testCommitsOnCheckpoint(t, cl)
}

func testCommitsOnCheckpoint(t *testing.T, cl *kgo.Client) {
	kafkatest.CreateTopic(t, cl, "c36", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("c36", 0, 100, 1000, 1)...)
	sink, said := &collector{}, &notes{}
	cfg := job(t, cl, sink, "c36")
	cfg.Commit.Auto, cfg.Notify = true, said.add
	var images int
	cfg.BeforeCommit = func(_ context.Context, b []consume.Before) error {
		images++
		if len(b) != 1 || b[0].Committed != nil {
			t.Errorf("before-image %+v", b)
		}
		return nil
	}
	b := start(t, cfg)
	b.reach(t, sink.until(100))
	kafkatest.Until(t, "all is committed", func() bool { return kafkatest.CommittedOffsets(t, cl, "g", "c36")[0] == 100 })
	b.stop(nil)
	b.wait(t)
	if b.err != nil || images != 1 {
		t.Fatalf("%v, %d before-images", b.err, images)
	}
	if !said.has("enable.auto.commit is ignored") || !said.has("checkpoints are on, every 20ms") {
		t.Errorf("not said: %s", said.text())
	}
	if c, _ := newest(t, cfg); c.Partitions[0].Offset != 100 || c.Final != "cancelled" || c.Records != 100 || c.Group != "g" {
		t.Errorf("last checkpoint %+v", c)
	}
}

func TestAutoCommit(t *testing.T) {
	c, cl := fake(t)
	testAutoCommit(t, c, cl)
}

// c is nil for a real broker, which answers no faults on request.
func testAutoCommit(t *testing.T, c *kfake.Cluster, cl *kgo.Client) {
	kafkatest.CreateTopic(t, cl, "auto", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("auto", 0, 10, 1000, 1)...)
	base := consume.Config{Client: cl, Topics: topics("auto"), Start: from(t, "earliest")}
	t.Run("on", func(t *testing.T) {
		sink := &collector{}
		cfg := base
		cfg.Sink, cfg.Group, cfg.Commit = sink, "auto-on", consume.Commit{Auto: true, Interval: tick}
		b := start(t, cfg)
		kafkatest.Until(t, "it is committed while it runs", func() bool { return kafkatest.CommittedOffsets(t, cl, "auto-on", "auto")[0] == 10 })
		b.stop(nil)
		b.wait(t)
		if b.err != nil {
			t.Error(b.err)
		}
	})
	t.Run("never ahead of the sink", func(t *testing.T) {
		block, blocked := make(chan struct{}), make(chan struct{})
		sink := &collector{write: func(consume.Batch) error { close(blocked); <-block; return errors.New("refused") }}
		cfg := base
		cfg.Sink, cfg.Group, cfg.Commit = sink, "auto-slow", consume.Commit{Auto: true, Interval: minInterval}
		b := start(t, cfg)
		b.reach(t, blocked)
		close(block)
		b.wait(t)
		if got, ok := kafkatest.CommittedOffsets(t, cl, "auto-slow", "auto")[0]; ok && got > 0 {
			t.Errorf("committed %d, though the sink accepted nothing", got)
		}
	})
	t.Run("off", func(t *testing.T) {
		sink, said := &collector{}, &notes{}
		cfg := base
		cfg.Sink, cfg.Group, cfg.Notify, cfg.End = sink, "auto-off", said.add, until(t, "latest")
		if _, err := consume.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := kafkatest.CommittedOffsets(t, cl, "auto-off", "auto"); len(got) > 0 {
			t.Errorf("committed %v", got)
		}
		if !said.has("nothing is committed") {
			t.Errorf("not said: %s", said.text())
		}
	})
	if c == nil {
		return
	}
	t.Run("a failed commit is tried again", func(t *testing.T) {
		h := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: "auto-retry", Err: kerr.UnknownServerError, Count: 2})
		defer h.Remove()
		sink, said := &collector{}, &notes{}
		cfg := base
		cfg.Sink, cfg.Group, cfg.Notify, cfg.Commit = sink, "auto-retry", said.add, consume.Commit{Auto: true, Interval: tick}
		b := start(t, cfg)
		kafkatest.Until(t, "a later one succeeds", func() bool { return kafkatest.CommittedOffsets(t, cl, "auto-retry", "auto")[0] == 10 })
		b.stop(nil)
		b.wait(t)
		if s := b.sum.Stats; b.err != nil || s.CommitsFailed != 2 || s.CommitsSucceeded == 0 || !said.has("the next one tries again") {
			t.Errorf("%v, %d failed, %d succeeded: %s", b.err, s.CommitsFailed, s.CommitsSucceeded, said.text())
		}
	})
}

const minInterval = 10 * time.Millisecond

func TestForeignCommits(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "foreign", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("foreign", 0, 20, 1000, 1)...)
	cfg := consume.Config{Client: cl, Topics: topics("foreign"), Start: from(t, "earliest"), Commit: consume.Commit{Auto: true, Interval: tick}}
	for _, c := range []struct {
		name   string
		theirs int64
		fail   bool
		end    int64
		says   string
	}{
		{"behind us is told and overwritten", 3, false, 20, "holds 3, this run left 20 and is at 20"},
		{"ahead of us is left", 25, false, 25, "would go backwards"},
		{"fails when asked to", 3, true, 3, "another client commits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			group := strings.ReplaceAll(c.name, " ", "-")
			sink, said := &collector{}, &notes{}
			cfg := cfg
			cfg.Sink, cfg.Group, cfg.Notify, cfg.Policies.FailOnForeign = sink, group, said.add, c.fail
			b := start(t, cfg)
			kafkatest.Until(t, "the run has committed", func() bool { return kafkatest.CommittedOffsets(t, cl, group, "foreign")[0] == 20 })
			// Between its look and its commit the run can miss one, as everybody can: so again until it is noticed.
			kafkatest.Until(t, "it is noticed", func() bool {
				select {
				case <-b.done:
					return true
				default:
				}
				if !c.fail && said.has(c.says) {
					return true
				}
				kafkatest.Commit(t, cl, group, kafkatest.At("foreign", 0, c.theirs))
				return false
			})
			if c.fail {
				b.wait(t)
				if b.err == nil || !strings.Contains(b.err.Error(), c.says) {
					t.Errorf("ended with %v", b.err)
				}
			} else {
				kafkatest.Until(t, "the group holds what it should", func() bool { return kafkatest.CommittedOffsets(t, cl, group, "foreign")[0] == c.end })
				b.stop(nil)
				b.wait(t)
			}
			if b.sum.Stats.ForeignCommits == 0 {
				t.Error("not counted")
			}
			if got := kafkatest.CommittedOffsets(t, cl, group, "foreign")[0]; got != c.end {
				t.Errorf("the group holds %d, want %d", got, c.end)
			}
		})
	}
}
