package inspect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Retention is what a topic's configuration says about the removal of old records. The zero value knows nothing.
type Retention struct {
	Known  bool
	Time   time.Duration // retention.ms, and a millisecond for 0; zero: records do not expire by age
	BySize bool          // retention.bytes is set, so that the log start moves with the traffic
}

// retentionChunk bounds the topics of one DescribeConfigs request.
const retentionChunk = 1000

// ReadRetention reads the retention of topics, in as few requests as it takes. A topic whose configuration may not be read
// (it needs DESCRIBE_CONFIGS) is not in the result, and the error says why.
func ReadRetention(ctx context.Context, cl *kgo.Client, topics []string) (map[string]Retention, error) {
	out := make(map[string]Retention, len(topics))
	var errs []error
	for len(topics) > 0 {
		n := min(len(topics), retentionChunk)
		// Raw: kadm takes no names of keys, and every topic would come with all of them.
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, t := range topics[:n] {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, t
			r.ConfigNames = []string{"cleanup.policy", "retention.ms", "retention.bytes"}
			req.Resources = append(req.Resources, r)
		}
		topics = topics[n:]
		for _, s := range cl.RequestSharded(ctx, req) {
			if s.Err != nil {
				errs = append(errs, fmt.Errorf("read the retention of topics: %w", s.Err))
				continue
			}
			for _, r := range s.Resp.(*kmsg.DescribeConfigsResponse).Resources {
				if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
					errs = append(errs, fmt.Errorf("read the retention of topic %s: %w", r.ResourceName, err))
					continue
				}
				out[r.ResourceName] = retentionOf(r.Configs)
			}
		}
	}
	return out, errors.Join(errs...)
}

func retentionOf(configs []kmsg.DescribeConfigsResponseResourceConfig) Retention {
	get := func(name string) string {
		for _, c := range configs {
			if c.Name == name && c.Value != nil {
				return *c.Value
			}
		}
		return ""
	}
	// Without "delete" nothing is removed by age or size; an unnamed policy is Kafka's default, delete.
	if p := get("cleanup.policy"); p != "" && !strings.Contains(p, "delete") {
		return Retention{Known: true}
	}
	r := Retention{Known: true}
	if ms, err := strconv.ParseInt(get("retention.ms"), 10, 64); err == nil && ms >= 0 && ms < int64(1<<62/time.Millisecond) {
		r.Time = time.Duration(max(ms, 1)) * time.Millisecond // 0 removes what is older than now
	}
	if b, err := strconv.ParseInt(get("retention.bytes"), 10, 64); err == nil && b >= 0 {
		r.BySize = true
	}
	return r
}
