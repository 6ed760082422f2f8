package inspect

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions asks a broker which calls it knows: the newest version of each. ok is false where it did not say.
func Versions(ctx context.Context, cl *kgo.Client, node int32) (newest map[kmsg.Key]int16, ok bool) {
	// Raw: kadm asks every broker; this one alone is of interest.
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "koffset", "1" // empty ones are INVALID_REQUEST
	kresp, err := cl.Broker(int(node)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, false
	}
	resp := kresp.(*kmsg.ApiVersionsResponse)
	if resp.ErrorCode != 0 {
		return nil, false
	}
	newest = make(map[kmsg.Key]int16, len(resp.ApiKeys))
	for _, k := range resp.ApiKeys {
		newest[kmsg.Key(k.ApiKey)] = k.MaxVersion
	}
	return newest, true
}
