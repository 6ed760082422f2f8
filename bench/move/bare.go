//go:build realkafka

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

const (
	wide    = 2000
	records = 4 // on each partition of wide
)

// fill makes topic wide of 2,000 partitions with group wide on it, and topic narrow of 100 with 100 groups on it.
func fill(ctx context.Context, addr string) error {
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
	// The first commit waits for the offsets topic to be created; it must not be done by a hundred groups at once.
	if err := commit(ctx, adm, "wide", "wide", wide); err != nil {
		return err
	}
	var eg errgroup.Group
	eg.SetLimit(16)
	for g := range 100 {
		eg.Go(func() error { return commit(ctx, adm, "many-"+strconv.Itoa(g), "narrow", 100) })
	}
	return eg.Wait()
}

func createTopics(ctx context.Context, adm *kadm.Client) error {
	keep := "-1"
	for topic, n := range map[string]int32{"narrow": 100, "wide": wide} {
		resp, err := adm.CreateTopic(ctx, n, 1, map[string]*string{"retention.ms": &keep}, topic)
		if err == nil {
			err = resp.Err
		}
		if err != nil {
			return err
		}
	}
	for ready := false; !ready; {
		m, err := adm.Metadata(ctx, "narrow", "wide")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ready = err == nil && len(m.Topics["wide"].Partitions) == wide && len(m.Topics["narrow"].Partitions) == 100
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				ready = ready && p.Err == nil
			}
		}
	}
	return nil
}

func writeRecords(ctx context.Context, cl *kgo.Client) error {
	var first error
	var mu sync.Mutex
	produce := func(topic string, p int32, ms int64) {
		cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: p, Value: []byte("x"), Timestamp: time.UnixMilli(ms)}, func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = err
			}
		})
	}
	for i := range records {
		for p := range int32(wide) {
			produce("wide", p, millisAt(i))
		}
	}
	for p := range int32(100) {
		for i := range int64(4) {
			produce("narrow", p, t0+i)
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return first
}

func commit(ctx context.Context, adm *kadm.Client, group, topic string, n int32) error {
	os := kadm.Offsets{}
	for p := range n {
		os.Add(kadm.Offset{Topic: topic, Partition: p, At: 3, LeaderEpoch: -1})
	}
	for {
		err := adm.CommitAllOffsets(ctx, group, os)
		if kerr.IsRetriable(err) && ctx.Err() == nil {
			continue
		}
		return err
	}
}

// runBare makes the requests of a reset and throws the answers away: which cluster, which groups, what they are and have
// stored, the log's bounds, the times; to execute, the commit and what is stored then.
func runBare(ctx context.Context, addr, job string, ms int64) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	meta := kmsg.NewPtrMetadataRequest()
	meta.Topics = []kmsg.MetadataRequestTopic{}
	cluster, err := meta.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	if _, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, cl); err != nil {
		return err
	}
	d := kmsg.NewPtrDescribeGroupsRequest()
	d.Groups = []string{"wide"}
	if _, err := d.RequestWith(ctx, cl); err != nil {
		return err
	}
	if err := fetch(ctx, cl); err != nil {
		return err
	}
	mt := kmsg.NewMetadataRequestTopic()
	mt.Topic = kmsg.StringPtr("wide")
	meta.Topics = append(meta.Topics, mt)
	if _, err := meta.RequestWith(ctx, cl); err != nil {
		return err
	}
	for _, ts := range []int64{-2, -1} {
		if _, err := list(ctx, cl, ts); err != nil {
			return err
		}
	}
	found, err := list(ctx, cl, ms)
	if err != nil || job == "plan" {
		return err
	}
	if err := commitFound(ctx, cl, cluster.Brokers[0].NodeID, found); err != nil {
		return err
	}
	return fetch(ctx, cl)
}

// commitFound commits what was found, at the only broker, which is the coordinator.
func commitFound(ctx context.Context, cl *kgo.Client, broker int32, found *kmsg.ListOffsetsResponse) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = "wide"
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = "wide"
	for _, t := range found.Topics {
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetCommitRequestTopicPartition()
			rp.Partition, rp.Offset = p.Partition, max(p.Offset, 0)
			rt.Partitions = append(rt.Partitions, rp)
		}
	}
	req.Topics = append(req.Topics, rt)
	resp, err := cl.Broker(int(broker)).RetriableRequest(ctx, byName{req})
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.OffsetCommitResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return fmt.Errorf("commit: %w", kerr.ErrorForCode(p.ErrorCode))
			}
		}
	}
	return nil
}

// byName keeps the commit at a version that names topics.
type byName struct{ *kmsg.OffsetCommitRequest }

func (byName) MaxVersion() int16 { return 9 }

func fetch(ctx context.Context, cl *kgo.Client) error {
	req := kmsg.NewPtrOffsetFetchRequest()
	rg := kmsg.NewOffsetFetchRequestGroup()
	rg.Group = "wide"
	req.Groups = append(req.Groups, rg)
	_, err := req.RequestWith(ctx, cl)
	return err
}

func list(ctx context.Context, cl *kgo.Client, ts int64) (*kmsg.ListOffsetsResponse, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = "wide"
	for p := range int32(wide) {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, ts
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req.RequestWith(ctx, cl)
}
