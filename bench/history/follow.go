//go:build realkafka

package main

// One look at many groups, asked for and followed: what watch and serve cost an interval, with and without --follow-commits.

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

const (
	followedGroups = 10_000
	followedLooks  = 5
	followedMoves  = 1_000 // groups that commit between two looks
)

// traffic counts what a client asks for.
type traffic struct{ requests, bytes atomic.Int64 }

func (t *traffic) OnBrokerE2E(_ kgo.BrokerMetadata, _ int16, e kgo.BrokerE2E) {
	t.requests.Add(1)
	t.bytes.Add(int64(e.BytesRead))
}

// follow measures a look that asks for each group against one that follows their commits, in turn.
func follow(ctx context.Context, of int) (bool, error) {
	k, err := kafkatest.StartKafka(ctx, kafkatest.Options{})
	if err != nil {
		return false, err
	}
	defer k.Close()
	writer, err := kgo.NewClient(kgo.SeedBrokers(k.Bootstrap()))
	if err != nil {
		return false, err
	}
	defer writer.Close()
	n := followedGroups / of
	if err := fill(ctx, k.Bootstrap(), 50, 0); err != nil { // makes the topics
		return false, err
	}
	if err := commitAll(ctx, writer, n, 1); err != nil {
		return false, err
	}
	var looks [2]looker
	for i := range looks {
		if looks[i], err = newLooker(k.Bootstrap(), i == 1); err != nil {
			return false, err
		}
		defer looks[i].s.Client.Close()
	}
	for round := range followedLooks + 2 {
		if err := commitAll(ctx, writer, followedMoves/of, int64(round+2)); err != nil {
			return false, err
		}
		for i := range looks {
			if err := looks[i].look(ctx, round > 1); err != nil { // the first two ask for everything, and learn the retention
				return false, err
			}
		}
	}
	fmt.Printf("%d groups of %d partitions, %d of which commit between two looks: asked for %s, followed %s\n", n, partitions, followedMoves/of, &looks[0], &looks[1])
	// A broker counts requests and bytes; the verdicts on all rows cost the same processor time either way.
	return 2*looks[1].requests < looks[0].requests && 2*looks[1].bytes < looks[0].bytes+looks[1].bytes, nil
}

// looker looks again and again.
type looker struct {
	s         *inspect.Sampler
	t         *traffic
	wall, cpu []time.Duration
	requests  int64
	bytes     int64
}

func newLooker(addr string, follows bool) (looker, error) {
	l := looker{t: &traffic{}}
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.WithHooks(l.t), kgo.DisableClientMetrics())
	if err != nil {
		return l, err
	}
	l.s = &inspect.Sampler{Client: cl, Match: func(inspect.Group) bool { return true }, History: inspect.NewHistory(inspect.DefaultRules()), NoProbes: true, Now: time.Now}
	if follows {
		l.s.Standing = (&history.Follow{Client: cl, Now: time.Now}).Standing
	}
	return l, nil
}

func (l *looker) look(ctx context.Context, counts bool) error {
	requests, bytes, began, used := l.t.requests.Load(), l.t.bytes.Load(), time.Now(), processorTime()
	look, err := l.s.Look(ctx, func(*inspect.Description, *inspect.Row, *inspect.Diagnosis) {})
	if err != nil {
		return err
	}
	if err := look.Snapshot.Unfollowed; err != nil {
		return err
	}
	if counts {
		l.wall, l.cpu = append(l.wall, time.Since(began)), append(l.cpu, processorTime()-used)
		l.requests, l.bytes = l.t.requests.Load()-requests, l.t.bytes.Load()-bytes
	}
	return nil
}

func (l *looker) String() string {
	return fmt.Sprintf("%s, %s processor time, %d requests, %.1f MB read", measure.Median(l.wall).Round(time.Millisecond), measure.Median(l.cpu).Round(time.Millisecond), l.requests, float64(l.bytes)/1e6)
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// commitAll commits all partitions for the first n groups.
func commitAll(ctx context.Context, cl *kgo.Client, n int, at int64) error {
	var eg errgroup.Group
	eg.SetLimit(16)
	for i := range n {
		eg.Go(func() error {
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Group = name(i)
			rt := kmsg.NewOffsetCommitRequestTopic()
			rt.Topic = "work"
			for p := range int32(partitions) {
				rp := kmsg.NewOffsetCommitRequestTopicPartition()
				rp.Partition, rp.Offset = p, at
				rt.Partitions = append(rt.Partitions, rp)
			}
			req.Topics = append(req.Topics, rt)
			_, err := oldCommits{req}.RequestWith(ctx, cl)
			return err
		})
	}
	return eg.Wait()
}

// oldCommits keeps the request below version 10, which has topic ids.
type oldCommits struct{ *kmsg.OffsetCommitRequest }

func (oldCommits) MaxVersion() int16 { return 9 }

// RequestWith sends it to the group's coordinator.
func (r oldCommits) RequestWith(ctx context.Context, cl *kgo.Client) (*kmsg.OffsetCommitResponse, error) {
	kresp, err := cl.Broker(1).Request(ctx, r) // the only one
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.OffsetCommitResponse)
	if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
		return nil, fmt.Errorf("commit for %s: error %d", r.Group, code)
	}
	return resp, nil
}
