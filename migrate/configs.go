package migrate

// What clusters are configured to keep.

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
)

// ReadCommitRetention reads how long a cluster keeps the commits of a group without members (offsets.retention.minutes).
// It needs DESCRIBE_CONFIGS on the cluster; the error says why it is not known.
func ReadCommitRetention(ctx context.Context, cl *kgo.Client) (time.Duration, error) {
	cluster, err := inspect.ReadCluster(ctx, cl)
	if err != nil {
		return 0, err
	}
	if len(cluster.Brokers) == 0 {
		return 0, kerr.BrokerNotAvailable
	}
	var next atomic.Int64
	return inspect.AnyBroker(ctx, func(ctx context.Context) (time.Duration, error) {
		b := cluster.Brokers[int(next.Add(1)-1)%len(cluster.Brokers)]
		return commitRetention(ctx, cl, b.ID)
	})
}

func commitRetention(ctx context.Context, cl *kgo.Client, node int32) (time.Duration, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(node))
	r.ConfigNames = []string{"offsets.retention.minutes"}
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return 0, err
	}
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return 0, err
		}
		for _, c := range r.Configs {
			if c.Value == nil {
				continue
			}
			if n, err := strconv.ParseInt(*c.Value, 10, 64); err == nil && n > 0 {
				return time.Duration(n) * time.Minute, nil
			}
		}
	}
	return 0, kerr.InvalidConfig
}

// configChunk bounds the topics of one DescribeConfigs request.
const configChunk = 1000

// readCompacted says which topics of places are compacted, or may be: those whose configuration cannot be read too.
func readCompacted(ctx context.Context, cl *kgo.Client, places []Place) map[string]bool {
	out := map[string]bool{}
	var names []string
	for _, p := range places {
		if !out[p.Topic] {
			out[p.Topic] = true
			names = append(names, p.Topic)
		}
	}
	for part := range slices.Chunk(names, configChunk) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, name := range part {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, name, []string{"cleanup.policy"}
			req.Resources = append(req.Resources, r)
		}
		resp, err := inspect.AnyBroker(ctx, func(ctx context.Context) (*kmsg.DescribeConfigsResponse, error) {
			one := *req
			return one.RequestWith(ctx, cl)
		})
		if err != nil {
			continue
		}
		for _, r := range resp.Resources {
			for _, c := range r.Configs {
				if r.ErrorCode == 0 && c.Name == "cleanup.policy" && c.Value != nil {
					out[r.ResourceName] = strings.Contains(*c.Value, "compact")
				}
			}
		}
	}
	return out
}
