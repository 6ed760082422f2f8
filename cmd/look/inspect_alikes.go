package look

// What a broker does not tell, and so a row cannot say: brokers before some Kafka version, and services that speak Kafka's
// protocol without being it.

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
)

// lacksNote says in one line what is missing from the answers. It asks for the broker's calls only where the list of groups
// came without types, which every Kafka since 3.8 tells: an ordinary cluster pays nothing for it.
func (p *inspection) lacksNote(ctx context.Context) {
	st := p.o.app.Streams
	var odd []string
	for _, d := range p.snap.Groups {
		if d.Err == nil && len(d.Members) == 0 && d.State != "" && d.Type == inspect.TypeClassic && !slices.Contains([]string{"Empty", "Dead", "PreparingRebalance", "CompletingRebalance"}, d.State) {
			odd = append(odd, d.Name+" is "+d.State)
		}
	}
	if len(odd) > 0 {
		more := ""
		if len(odd) > 3 {
			odd, more = odd[:3], ", …"
		}
		st.Note("%s%s without members: Kafka says Empty then, Event Hubs and others do not; koffset cannot tell whether such a group is in use, and moves none of its offsets",
			strings.Join(odd, ", "), more)
	}
	if !p.untyped || len(p.s.Cluster.Brokers) == 0 {
		return
	}
	newest, ok := inspect.Versions(ctx, p.s.Client, p.s.Cluster.Brokers[0].ID)
	if !ok {
		return
	}
	var lacks []string
	for _, l := range []struct {
		key   kmsg.Key
		since int16
		what  string
	}{
		{kmsg.ConsumerGroupDescribe, 0, "groups of the KIP-848 protocol"},
		{kmsg.ShareGroupDescribe, 0, "share groups"},
		{kmsg.OffsetFetch, 7, "commits in open transactions (no row is unstable)"},
		{kmsg.OffsetFetch, 5, "leader epochs of commits"},
		{kmsg.ListOffsets, 2, "the last stable offset"},
	} {
		if v, known := newest[l.key]; !known || v < l.since {
			lacks = append(lacks, l.what)
		}
	}
	if len(lacks) > 0 {
		st.Note("this broker is older than Kafka 3.8, or not Kafka: it does not tell %s, and no row here says it", strings.Join(lacks, ", "))
	}
}
