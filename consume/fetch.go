package consume

// Raw questions to the leaders that no client call answers: the first records at given offsets, and the size on disk.

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// fetchV12 keeps the request below version 13, which names topics by an id that would have to be looked up first.
type fetchV12 struct{ *kmsg.FetchRequest }

func (fetchV12) MaxVersion() int16 { return 12 }

// peeked is what one fetch from an offset said.
type peeked struct {
	records []*kgo.Record // with transaction markers; the first few only
	from    int64         // what was asked for; set by the caller
	next    int64         // where a reader stands after them: past holes that compaction left
	hw, lso int64
	err     error
}

// peek fetches a little from each partition at its offset, beside the run's own fetching. Under read_committed records of
// aborted transactions are left out and passed over.
func peek(ctx context.Context, cl *kgo.Client, iso offset.Isolation, at map[offset.Partition]int64, maxBytes int32) map[offset.Partition]peeked {
	out := make(map[offset.Partition]peeked, len(at))
	leaders, err := leadersOf(ctx, cl, at)
	if err != nil {
		for p := range at {
			out[p] = peeked{err: err}
		}
		return out
	}
	var mu sync.Mutex
	var eg errgroup.Group
	eg.SetLimit(8)
	for node, parts := range leaders {
		if node < 0 {
			mu.Lock()
			for _, p := range parts {
				out[p] = peeked{err: kerr.LeaderNotAvailable}
			}
			mu.Unlock()
			continue
		}
		eg.Go(func() error {
			for p, v := range peekNode(ctx, cl, node, iso, parts, at, maxBytes) {
				mu.Lock()
				out[p] = v
				mu.Unlock()
			}
			return nil
		})
	}
	_ = eg.Wait() // every error is told per partition
	return out
}

func leadersOf(ctx context.Context, cl *kgo.Client, at map[offset.Partition]int64) (map[int32][]offset.Partition, error) {
	req := kmsg.NewPtrMetadataRequest()
	seen := map[string]bool{}
	for p := range at {
		if !seen[p.Topic] {
			seen[p.Topic] = true
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(p.Topic)
			req.Topics = append(req.Topics, t)
		}
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	out := map[int32][]offset.Partition{}
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue
		}
		for _, rp := range t.Partitions {
			p := offset.Partition{Topic: *t.Topic, Partition: rp.Partition}
			if _, want := at[p]; want {
				out[rp.Leader] = append(out[rp.Leader], p)
			}
		}
	}
	return out, nil
}

func peekNode(ctx context.Context, cl *kgo.Client, node int32, iso offset.Isolation, parts []offset.Partition, at map[offset.Partition]int64, maxBytes int32) map[offset.Partition]peeked {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = -1, 0, 1, int32(min(int64(len(parts))*int64(maxBytes), 50<<20)), -1
	kiso := kgo.ReadUncommitted()
	if iso == offset.ReadCommitted {
		req.IsolationLevel = 1
		kiso = kgo.ReadCommitted()
	}
	byTopic := map[string]int{}
	for _, p := range parts {
		i, ok := byTopic[p.Topic]
		if !ok {
			i = len(req.Topics)
			byTopic[p.Topic] = i
			rt := kmsg.NewFetchRequestTopic()
			rt.Topic = p.Topic
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = p.Partition, at[p], maxBytes, -1
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	out := make(map[offset.Partition]peeked, len(parts))
	resp, err := cl.Broker(int(node)).RetriableRequest(ctx, fetchV12{req})
	if err != nil {
		for _, p := range parts {
			out[p] = peeked{err: err}
		}
		return out
	}
	for _, rt := range resp.(*kmsg.FetchResponse).Topics {
		for i := range rt.Partitions {
			rp := &rt.Partitions[i]
			p := offset.Partition{Topic: rt.Topic, Partition: rp.Partition}
			v := peeked{hw: rp.HighWatermark, lso: rp.LastStableOffset, err: kerr.ErrorForCode(rp.ErrorCode)}
			if v.err == nil {
				opts := kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Offset: at[p], IsolationLevel: kiso, Topic: p.Topic, Partition: p.Partition}
				var fp kgo.FetchPartition
				fp, v.next = kgo.ProcessFetchPartition(opts, rp, kgo.DefaultDecompressor(), nil)
				v.records, v.err = fp.Records, fp.Err
			}
			out[p] = v
		}
	}
	for _, p := range parts {
		if _, ok := out[p]; !ok {
			out[p] = peeked{err: errors.New("the broker left the partition out of its answer")}
		}
	}
	return out
}

// firstTimes fills in the times of the first records that a plan will read. It is for people: what cannot be read stays
// unknown.
func firstTimes(ctx context.Context, cl *kgo.Client, iso offset.Isolation, rows []PlanRow) {
	const most = 2000 // of many partitions the age of the first record is no longer read by anybody
	at := map[offset.Partition]int64{}
	for _, r := range rows {
		if !r.Skip && r.First.IsZero() && r.Backlog > 0 && len(at) < most {
			at[r.Partition] = r.Start
		}
	}
	if len(at) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// A broker gives at least one batch of the first partition of a request only, so the others need room for theirs.
	found := map[offset.Partition]peeked{}
	chunk := map[offset.Partition]int64{}
	ask := func() {
		maps.Copy(found, peek(ctx, cl, iso, chunk, 256<<10))
		clear(chunk)
	}
	for p, n := range at {
		if chunk[p] = n; len(chunk) == 100 {
			ask()
		}
	}
	ask()
	for i := range rows {
		for _, r := range found[rows[i].Partition].records {
			if !r.Attrs.IsControl() && r.Offset >= rows[i].Start {
				rows[i].First = r.Timestamp.UTC()
				break
			}
		}
	}
}

// readSizes asks the brokers how many bytes each partition takes. It is for people: without the right to ask, or on
// brokers that do not answer, sizes stay unknown.
func readSizes(ctx context.Context, cl *kgo.Client, parts inspect.Partitions) map[offset.Partition]int64 {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	for t, ns := range parts {
		rt := kmsg.NewDescribeLogDirsRequestTopic()
		rt.Topic, rt.Partitions = t, ns
		req.Topics = append(req.Topics, rt)
	}
	out := map[offset.Partition]int64{}
	for _, s := range cl.RequestSharded(ctx, req) {
		if s.Err != nil {
			continue
		}
		for _, d := range s.Resp.(*kmsg.DescribeLogDirsResponse).Dirs {
			for _, t := range d.Topics {
				for _, p := range t.Partitions {
					if p.IsFuture {
						continue
					}
					// Every replica answers; the largest is the leader's or equal to it.
					part := offset.Partition{Topic: t.Topic, Partition: p.Partition}
					out[part] = max(out[part], p.Size)
				}
			}
		}
	}
	return out
}
