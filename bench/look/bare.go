//go:build realkafka

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// fill makes topic "narrow" of 100 partitions with 1,000 groups on it, and topic "wide" of 2,000 partitions with fifty
// records each, the last at 1710072000000 + partition, and group "wide" in the middle of them.
func fill(ctx context.Context, addr string) error {
	start := time.Now()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if err := createTopics(ctx, adm); err != nil {
		return err
	}
	if err := writeRecords(ctx, cl); err != nil {
		return err
	}
	// The first commit waits for the offsets topic to be created; it must not be done by a thousand groups at once.
	if err := commit(ctx, adm, "wide", "wide", 2000, 25); err != nil {
		return err
	}
	var eg errgroup.Group
	eg.SetLimit(16)
	for g := range 1000 {
		eg.Go(func() error { return commit(ctx, adm, "group-"+strconv.Itoa(g), "narrow", 100, 1) })
	}
	err = eg.Wait()
	fmt.Fprintf(os.Stderr, "look: 1,001 groups with 102,000 commits written in %s\n", time.Since(start).Round(time.Millisecond))
	return err
}

func createTopics(ctx context.Context, adm *kadm.Client) error {
	keep := "-1"
	for topic, n := range map[string]int32{"narrow": 100, "wide": 2000} {
		resp, err := adm.CreateTopic(ctx, n, 1, map[string]*string{"retention.ms": &keep}, topic)
		if err != nil {
			return err
		}
		if resp.Err != nil {
			return resp.Err
		}
	}
	for {
		// A new topic has no leaders for a moment.
		m, err := adm.Metadata(ctx, "narrow", "wide")
		if err == nil && m.Topics["wide"].Err == nil && len(m.Topics["wide"].Partitions) == 2000 && len(m.Topics["narrow"].Partitions) == 100 && allLed(m) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func writeRecords(ctx context.Context, cl *kgo.Client) error {
	var first error
	var mu sync.Mutex
	produce := func(topic string, p int32, ms int64) {
		r := &kgo.Record{Topic: topic, Partition: p, Value: fmt.Appendf(nil, "%0100d", ms)}
		r.Timestamp = millis(ms)
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = err
			}
		})
	}
	for p := range int32(2000) {
		for i := range int64(50) {
			produce("wide", p, 1710072000000+int64(p)-10*(49-i))
		}
	}
	for p := range int32(100) {
		for i := range int64(10) {
			produce("narrow", p, 1710072000000+i)
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return first
}

func allLed(m kadm.Metadata) bool {
	for _, t := range m.Topics {
		for _, p := range t.Partitions {
			if p.Err != nil {
				return false
			}
		}
	}
	return true
}

func commit(ctx context.Context, adm *kadm.Client, group, topic string, n int32, at int64) error {
	os := kadm.Offsets{}
	for p := range n {
		os.Add(kadm.Offset{Topic: topic, Partition: p, At: at, LeaderEpoch: -1})
	}
	for {
		err := adm.CommitAllOffsets(ctx, group, os)
		if kerr.IsRetriable(err) && ctx.Err() == nil {
			continue
		}
		return err
	}
}

// runBare makes the requests of a job as koffset does, and throws the answers away: the cost that no output can beat.
func runBare(ctx context.Context, addr, job string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.Ping(ctx); err != nil {
		return err
	}
	meta := kmsg.NewPtrMetadataRequest()
	meta.Topics = []kmsg.MetadataRequestTopic{}
	if _, err := meta.RequestWith(ctx, cl); err != nil {
		return err
	}
	switch job {
	case "all":
		return bareGroups(ctx, cl, nil)
	case "one":
		return bareGroups(ctx, cl, []string{"wide"})
	case "time":
		return bareTime(ctx, cl)
	}
	return fmt.Errorf("unknown job %q", job)
}

func bareGroups(ctx context.Context, cl *kgo.Client, only []string) error {
	list, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	groups := only
	topics := []string{"wide"}
	if only == nil {
		topics = []string{"narrow", "wide"}
		for _, g := range list.Groups {
			groups = append(groups, g.Group)
		}
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = groups
	if _, err := find.RequestWith(ctx, cl); err != nil {
		return err
	}
	var eg errgroup.Group
	eg.SetLimit(8)
	eg.Go(func() error {
		d := kmsg.NewPtrDescribeGroupsRequest()
		d.Groups = groups
		_, err := d.RequestWith(ctx, cl)
		return err
	})
	for rest := groups; len(rest) > 0; {
		n := min(50, len(rest))
		part := rest[:n]
		rest = rest[n:]
		eg.Go(func() error {
			req := kmsg.NewPtrOffsetFetchRequest()
			req.RequireStable = true
			for _, g := range part {
				rg := kmsg.NewOffsetFetchRequestGroup()
				rg.Group = g
				req.Groups = append(req.Groups, rg)
			}
			_, err := req.RequestWith(ctx, cl)
			return err
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	return bareBounds(ctx, cl, topics)
}

func bareBounds(ctx context.Context, cl *kgo.Client, topics []string) error {
	if err := bareMeta(ctx, cl, topics); err != nil {
		return err
	}
	var eg errgroup.Group
	for _, q := range []struct {
		ts  int64
		iso int8
	}{{-2, 0}, {-1, 0}, {-1, 1}} {
		eg.Go(func() error { return bareList(ctx, cl, topics, q.ts, q.iso) })
	}
	return eg.Wait()
}

func bareMeta(ctx context.Context, cl *kgo.Client, topics []string) error {
	req := kmsg.NewPtrMetadataRequest()
	for _, t := range topics {
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = kmsg.StringPtr(t)
		req.Topics = append(req.Topics, mt)
	}
	_, err := req.RequestWith(ctx, cl)
	return err
}

func bareList(ctx context.Context, cl *kgo.Client, topics []string, ts int64, iso int8) error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, iso
	for _, t := range topics {
		n := int32(100)
		if t == "wide" {
			n = 2000
		}
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = t
		for p := range n {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = p, ts
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	_, err := req.RequestWith(ctx, cl)
	return err
}

func bareTime(ctx context.Context, cl *kgo.Client) error {
	if err := bareBounds(ctx, cl, []string{"wide"}); err != nil {
		return err
	}
	return bareList(ctx, cl, []string{"wide"}, 1710072001000, 0)
}

func millis(ms int64) time.Time { return time.UnixMilli(ms) }
