//go:build realkafka

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"golang.org/x/sync/errgroup"
)

const (
	perGroup = 20 // topics that a group has a commit on
	records  = 10 // in each partition
	standing = 5  // where the groups are
)

func topicName(n int) string { return fmt.Sprintf("topic-%04d", n) }

// fill adds to what is there what is missing to the present size. The topics of a group are twenty in a row, one partition each.
func (b *bench) fill(ctx context.Context) error {
	byName := kversion.Stable()
	byName.SetMaxKeyVersion(int16(kmsg.OffsetCommit), 9) // version 10 has topic ids
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.kafka.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxVersions(byName))
	if err != nil {
		return err
	}
	defer cl.Close()
	had := b.filled
	if err := b.topics(ctx, cl, had); err != nil {
		return err
	}
	if err := produce(ctx, cl, had, b.now); err != nil {
		return err
	}
	if err := commitWide(ctx, cl, had.wide, b.now.wide); err != nil {
		return err
	}
	var eg errgroup.Group
	eg.SetLimit(32)
	for g := had.groups; g < b.now.groups; g++ {
		eg.Go(func() error {
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Group = fmt.Sprintf("group-%05d", g)
			for i := range perGroup {
				req.Topics = append(req.Topics, commitOf(topicName((g*7+i)%b.now.topics), 0))
			}
			return commit(ctx, cl, req)
		})
	}
	b.filled = b.now
	return eg.Wait()
}

func (b *bench) topics(ctx context.Context, cl *kgo.Client, had size) error {
	adm := kadm.NewClient(cl)
	adm.SetTimeoutMillis(120_000)
	keep := "-1"
	configs := map[string]*string{"retention.ms": &keep}
	for from := had.topics; from < b.now.topics; {
		var names []string
		for ; from < b.now.topics && len(names) < 250; from++ {
			names = append(names, topicName(from))
		}
		resp, err := adm.CreateTopics(ctx, 1, 1, configs, names...)
		if err == nil {
			err = resp.Error()
		}
		if err != nil {
			return fmt.Errorf("create topics: %w", err)
		}
	}
	if had.wide == 0 {
		resp, err := adm.CreateTopic(ctx, int32(b.now.wide), 1, configs, "wide")
		if err == nil {
			err = resp.Err
		}
		if err != nil {
			return fmt.Errorf("create wide: %w", err)
		}
	} else {
		resp, err := adm.UpdatePartitions(ctx, b.now.wide, "wide")
		if err == nil {
			err = resp.Error()
		}
		if err != nil {
			return fmt.Errorf("add partitions: %w", err)
		}
	}
	return b.waitLed(ctx, adm)
}

// waitLed waits until all partitions have a leader.
func (b *bench) waitLed(ctx context.Context, adm *kadm.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		m, err := adm.Metadata(ctx)
		led := 0
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				if !t.IsInternal && p.Err == nil && p.Leader >= 0 {
					led++
				}
			}
		}
		if err == nil && led == b.now.topics+b.now.wide {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d partitions have a leader: %w", led, b.now.topics+b.now.wide, ctx.Err())
		case <-tick.C:
		}
	}
}

func produce(ctx context.Context, cl *kgo.Client, had, now size) error {
	var out []*kgo.Record
	add := func(topic string, p int) {
		for i := range int64(records) {
			out = append(out, &kgo.Record{Topic: topic, Partition: int32(p), Value: fmt.Appendf(nil, "%020d", i), Timestamp: time.UnixMilli(1710072000000 + i)})
		}
	}
	for n := had.topics; n < now.topics; n++ {
		add(topicName(n), 0)
	}
	for p := had.wide; p < now.wide; p++ {
		add("wide", p)
	}
	for len(out) > 0 { // a few thousand partitions at a time: the client asks for their leaders first
		n := min(20_000, len(out))
		if err := cl.ProduceSync(ctx, out[:n]...).FirstErr(); err != nil {
			return fmt.Errorf("produce: %w", err)
		}
		out = out[n:]
	}
	return nil
}

// commitWide commits group "wide" in requests that are each one batch of the offsets topic.
func commitWide(ctx context.Context, cl *kgo.Client, from, until int) error {
	for from < until {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group = "wide"
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = "wide"
		for ; from < until && len(t.Partitions) < 2000; from++ {
			t.Partitions = append(t.Partitions, commitOf("", int32(from)).Partitions...)
		}
		req.Topics = append(req.Topics, t)
		if err := commit(ctx, cl, req); err != nil {
			return err
		}
	}
	return nil
}

func commitOf(topic string, p int32) kmsg.OffsetCommitRequestTopic {
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	c := kmsg.NewOffsetCommitRequestTopicPartition()
	c.Partition, c.Offset, c.LeaderEpoch = p, standing, -1
	t.Partitions = append(t.Partitions, c)
	return t
}

// commit tries again while the coordinator is not there yet.
func commit(ctx context.Context, cl *kgo.Client, req *kmsg.OffsetCommitRequest) error {
	for {
		resp, err := req.RequestWith(ctx, cl)
		if err != nil {
			return fmt.Errorf("commit %s: %w", req.Group, err)
		}
		err = nil
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if e := kerr.ErrorForCode(p.ErrorCode); e != nil {
					err = e
				}
			}
		}
		if !kerr.IsRetriable(err) || ctx.Err() != nil {
			return err
		}
	}
}
