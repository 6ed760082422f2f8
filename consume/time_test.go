package consume_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/offset"
)

// bubble is a cluster on a network without sockets, inside a bubble in which time passes only when nothing else can happen.
type bubble struct {
	t  *testing.T
	cl *kgo.Client
}

func inBubble(t *testing.T, f func(b bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		net := new(kfake.VirtualNetwork)
		c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(net.Listen), kfake.SeedTopics(1, "t"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.Dialer(net.DialContext), kgo.DisableClientMetrics(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		f(bubble{t, cl})
	})
}

func (b bubble) put(n int, partition int32) {
	b.t.Helper()
	for range n {
		if err := b.cl.ProduceSync(b.t.Context(), &kgo.Record{Topic: "t", Partition: partition, Value: []byte("x")}).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b bubble) committed(group string) int64 {
	b.t.Helper()
	got, err := kadm.NewClient(b.cl).FetchOffsets(b.t.Context(), group)
	if err != nil {
		return -1
	}
	o, ok := got.Lookup("t", 0)
	if !ok {
		return -1
	}
	return o.At
}

// pass lets d pass.
func pass(d time.Duration) { <-time.After(d); synctest.Wait() }

func (b bubble) run(cfg consume.Config) (stop func() (consume.Summary, error)) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	type result struct {
		s   consume.Summary
		err error
	}
	done := make(chan result, 1)
	cfg.Client, cfg.Topics, cfg.Start = b.cl, topics("t"), consume.Start{Position: &offset.Position{Kind: offset.Earliest}}
	go func() {
		s, err := consume.Run(ctx, cfg)
		done <- result{s, err}
	}()
	return func() (consume.Summary, error) {
		cancel()
		r := <-done
		return r.s, r.err
	}
}

func TestAutoCommitInterval(t *testing.T) {
	inBubble(t, func(b bubble) {
		b.put(3, 0)
		stop := b.run(consume.Config{Group: "g", Commit: consume.Commit{Auto: true}, Sink: &collector{}})
		pass(4900 * time.Millisecond)
		if got := b.committed("g"); got != -1 {
			t.Errorf("committed %d before the interval of 5 s is over", got)
		}
		pass(time.Second)
		if got := b.committed("g"); got != 3 {
			t.Errorf("committed %d after 5 s, want 3", got)
		}
		b.put(1, 0)
		pass(4 * time.Second)
		if got := b.committed("g"); got != 3 {
			t.Errorf("committed %d within the second interval", got)
		}
		pass(1100 * time.Millisecond)
		if got := b.committed("g"); got != 4 {
			t.Errorf("committed %d after the second interval, want 4", got)
		}
		if _, err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A checkpoint a minute, of which each takes 40 s, with a pause of 30 s after it.
func TestCheckpointPause(t *testing.T) {
	inBubble(t, func(b bubble) {
		begin := time.Now()
		var lines []time.Duration
		sink := &collector{}
		sink.atLine = func(x consume.Barrier) (consume.Persist, error) {
			if !x.Final {
				lines = append(lines, time.Since(begin).Round(time.Second))
			}
			return func(ctx context.Context) (json.RawMessage, error) {
				if x.Final {
					return nil, nil
				}
				select {
				case <-time.After(40 * time.Second):
				case <-ctx.Done():
				}
				return nil, ctx.Err()
			}, nil
		}
		stop := b.run(consume.Config{Sink: sink, Checkpoints: consume.Checkpoints{Interval: time.Minute, MinPause: 30 * time.Second}})
		pass(5 * time.Minute)
		sum, err := stop()
		if err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{60 * time.Second, 130 * time.Second, 200 * time.Second, 270 * time.Second}
		if len(lines) != len(want) {
			t.Fatalf("checkpoints began at %v, want %v", lines, want)
		}
		for i := range want {
			if lines[i] != want[i] {
				t.Errorf("checkpoint %d began at %s, want %s", i+1, lines[i], want[i])
			}
		}
		if sum.Stats.Checkpoints.Completed < 3 {
			t.Errorf("%d completed", sum.Stats.Checkpoints.Completed)
		}
	})
}

// A checkpoint that never ends is dropped after 10 minutes, and then the run fails: none is tolerable.
func TestCheckpointDefaultTimeout(t *testing.T) {
	inBubble(t, func(b bubble) {
		begin := time.Now()
		sink := &collector{}
		sink.atLine = func(x consume.Barrier) (consume.Persist, error) {
			return func(ctx context.Context) (json.RawMessage, error) { <-ctx.Done(); return nil, ctx.Err() }, nil
		}
		ctx, cancel := context.WithCancel(b.t.Context())
		defer cancel()
		_, err := consume.Run(ctx, consume.Config{Client: b.cl, Topics: topics("t"), Start: consume.Start{Position: &offset.Position{Kind: offset.Earliest}},
			Sink: sink, Checkpoints: consume.Checkpoints{Interval: time.Minute}})
		var e *consume.Error
		if !errors.As(err, &e) || e.Kind != consume.Failed {
			t.Fatalf("ended with %v", err)
		}
		if took := time.Since(begin).Round(time.Second); took != 11*time.Minute {
			t.Errorf("failed after %s, want 11m: one minute, and ten", took)
		}
	})
}

// New partitions are looked for every five minutes, and read from their first record.
func TestDiscoveryInterval(t *testing.T) {
	inBubble(t, func(b bubble) {
		sink := &collector{}
		stop := b.run(consume.Config{Sink: sink})
		pass(time.Minute)
		if resp, err := kadm.NewClient(b.cl).CreatePartitions(b.t.Context(), 1, "t"); err != nil || resp.Error() != nil {
			t.Fatal(err, resp.Error())
		}
		pass(time.Second)
		b.cl.ForceMetadataRefresh()
		pass(10 * time.Second)
		b.put(5, 1)
		pass(3 * time.Minute)
		if got := sink.sorted(); len(got) != 0 {
			t.Errorf("read %v before the look", got)
		}
		pass(2 * time.Minute)
		if got, want := sink.sorted(), span("t", 1, 0, 5); len(got) != 5 || got[0] != want[0] {
			t.Errorf("read %v after the look, want %v", got, want)
		}
		if _, err := stop(); err != nil {
			t.Error(err)
		}
	})
}
