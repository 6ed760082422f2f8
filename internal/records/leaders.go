package records

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// leader is the broker of one partition, or why there is none.
type leader struct {
	node int32
	err  error
}

// leaders asks for the leaders of the tasks' partitions. It does not use kgo's own metadata, which may be seconds old and
// goes back to a leader that has moved.
func (r *run) leaders(ctx context.Context, tasks []*task) (func(offset.Partition) leader, error) {
	// Raw: kgo's own is seconds old, and goes back to a leader that has moved.
	req := kmsg.NewPtrMetadataRequest()
	topics := map[string]bool{}
	for _, t := range tasks {
		if !topics[t.Topic] {
			topics[t.Topic] = true
			rt := kmsg.NewMetadataRequestTopic()
			rt.Topic = kmsg.StringPtr(t.Topic)
			req.Topics = append(req.Topics, rt)
		}
	}
	resp, err := r.metadata(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("read the topics' metadata: %w", err)
	}
	found, failed := map[offset.Partition]leader{}, map[string]error{}
	for _, rt := range resp.Topics {
		if rt.Topic == nil {
			continue
		}
		if err := kerr.ErrorForCode(rt.ErrorCode); err != nil {
			failed[*rt.Topic] = err
			continue
		}
		for _, rp := range rt.Partitions {
			l := leader{node: rp.Leader}
			if rp.Leader < 0 {
				if l.err = kerr.ErrorForCode(rp.ErrorCode); l.err == nil {
					l.err = kerr.LeaderNotAvailable
				}
			}
			found[offset.Partition{Topic: *rt.Topic, Partition: rp.Partition}] = l
		}
	}
	return func(p offset.Partition) leader {
		if err := failed[p.Topic]; err != nil {
			return leader{err: err}
		}
		l, ok := found[p]
		if !ok {
			return leader{err: kerr.UnknownTopicOrPartition}
		}
		return l
	}, nil
}

// metadata asks several brokers in turn, as kgo goes round them: one that hangs must not cost the partitions of the others.
func (r *run) metadata(ctx context.Context, req *kmsg.MetadataRequest) (resp *kmsg.MetadataResponse, err error) {
	const tries = 3
	for range tries {
		try, cancel := context.WithTimeout(ctx, r.BrokerTimeout/tries)
		resp, err = req.RequestWith(try, r.Client)
		hung := err != nil && try.Err() != nil && ctx.Err() == nil
		cancel()
		if !hung {
			break
		}
	}
	return resp, err
}
