package inspect

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// ReadSizes reads how many bytes partitions take on disk, from all brokers at once; the largest replica counts, since one that
// catches up is smaller. It needs DESCRIBE on the cluster. The error says why one of the brokers does not tell: a partition that is
// not in the result has no known size, and one that is may have a larger replica there.
func ReadSizes(ctx context.Context, cl *kgo.Client, parts Partitions) (map[offset.Partition]int64, error) {
	if parts.Len() == 0 {
		return nil, nil // Kafka takes no topics for all of them
	}
	brokers, err := brokersOf(ctx, cl)
	out := map[offset.Partition]int64{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, b := range brokers {
		all.Go(func() {
			sizes, failed := brokerSizes(ctx, b, parts)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = failed
			}
			for k, n := range sizes {
				out[k] = max(out[k], n)
			}
		})
	}
	all.Wait()
	if err != nil {
		err = fmt.Errorf("read the sizes of partitions: %w", err)
	}
	return out, err
}

// brokersOf are the brokers that a client knows; one that has asked nothing yet asks for them. To ask all of them about a few
// partitions takes a round trip less than to look up first who has a replica.
func brokersOf(ctx context.Context, cl *kgo.Client) ([]*kgo.Broker, error) {
	if known := cl.DiscoveredBrokers(); len(known) > 0 {
		return known, nil
	}
	_, err := ReadCluster(ctx, cl)
	return cl.DiscoveredBrokers(), err
}

// brokerSizes are the sizes of one broker's replicas; directories that fail are left out.
func brokerSizes(ctx context.Context, b *kgo.Broker, parts Partitions) (map[offset.Partition]int64, error) {
	// Raw: kadm asks again where a broker does not answer, and sizes are worth no wait.
	req := kmsg.NewPtrDescribeLogDirsRequest()
	for topic, ns := range parts {
		t := kmsg.NewDescribeLogDirsRequestTopic()
		t.Topic, t.Partitions = topic, ns
		req.Topics = append(req.Topics, t)
	}
	answer, err := b.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.DescribeLogDirsResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	out := map[offset.Partition]int64{}
	var failed error
	for _, dir := range resp.Dirs {
		if err := kerr.ErrorForCode(dir.ErrorCode); err != nil {
			failed = err
			continue
		}
		for _, t := range dir.Topics {
			for _, p := range t.Partitions {
				if !p.IsFuture { // one that is moved to another directory is there twice
					k := offset.Partition{Topic: t.Topic, Partition: p.Partition}
					out[k] = max(out[k], p.Size)
				}
			}
		}
	}
	return out, failed
}
