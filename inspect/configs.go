package inspect

// What clusters are configured to keep.

import (
	"context"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ReadCommitRetention reads how long a cluster keeps the commits of a group without members (offsets.retention.minutes).
// It needs DESCRIBE_CONFIGS on the cluster; the error says why it is not known.
func ReadCommitRetention(ctx context.Context, cl *kgo.Client) (time.Duration, error) {
	cluster, err := ReadCluster(ctx, cl)
	if err != nil {
		return 0, err
	}
	if len(cluster.Brokers) == 0 {
		return 0, kerr.BrokerNotAvailable
	}
	var next atomic.Int64
	return AnyBroker(ctx, func(ctx context.Context) (time.Duration, error) {
		b := cluster.Brokers[int(next.Add(1)-1)%len(cluster.Brokers)]
		return commitRetention(ctx, cl, b.ID)
	})
}

func commitRetention(ctx context.Context, cl *kgo.Client, node int32) (time.Duration, error) {
	n, err := readNumber(ctx, cl, kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(node)), "offsets.retention.minutes")
	return time.Duration(n) * time.Minute, err
}

// ReadTombstoneRetention reads how long a compacted topic keeps the records that say that something was removed
// (delete.retention.ms). It needs DESCRIBE_CONFIGS on the topic; the error says why it is not known.
func ReadTombstoneRetention(ctx context.Context, cl *kgo.Client, topic string) (time.Duration, error) {
	return AnyBroker(ctx, func(ctx context.Context) (time.Duration, error) {
		n, err := readNumber(ctx, cl, kmsg.ConfigResourceTypeTopic, topic, "delete.retention.ms")
		return time.Duration(n) * time.Millisecond, err
	})
}

// readNumber reads one configuration that is a number above zero, and not so large that a duration could not hold it.
func readNumber(ctx context.Context, cl *kgo.Client, kind kmsg.ConfigResourceType, resource, name string) (int64, error) {
	// Raw: kadm describes topics and brokers, and this reads one key of groups too.
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, resource, []string{name}
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
			if c.Value == nil || c.Name != name {
				continue
			}
			if n, err := strconv.ParseInt(*c.Value, 10, 64); err == nil && n > 0 && n < math.MaxInt64/int64(time.Hour) {
				return n, nil
			}
		}
	}
	return 0, kerr.InvalidConfig
}
