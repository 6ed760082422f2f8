package migrate

// What clusters are configured to keep.

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
)

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
		// Raw: kadm takes no names of keys, and every topic would come with all of them.
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
