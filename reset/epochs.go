package reset

// The leader epoch of a target that is neither end of the log.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// epochRounds bounds the search: 2^20 leader changes of one partition.
const epochRounds = 20

// search is the range of epochs that a target's can still be in.
type search struct {
	row    int
	lo, hi int32
}

// fillEpochs finds the leader epoch of targets where the log has seen more than one leader, by asking where epochs end and
// halving the range, all partitions in one request a round. What cannot be found stays unknown: a reader then does without
// the check for truncation, which is what every other tool leaves it with.
func fillEpochs(ctx context.Context, cl *kgo.Client, p *Plan, f *Facts) {
	byPart := map[offset.Partition][]search{}
	for i, c := range p.Changes {
		if c.Action != checkpointfile.ActionCommit || f.Groups[c.Group] == nil || f.Groups[c.Group].Type == inspect.TypeShare {
			continue
		}
		if _, known := c.To.LeaderEpoch.Get(); known {
			continue
		}
		one := f.Parts.Of(c.Partition)
		lo, ok := one.StartEpoch.Get()
		hi, ok2 := one.EndEpoch.Get()
		if ok && ok2 && lo < hi && one.Bounds != nil && c.To.Offset <= one.Bounds.End {
			byPart[c.Partition] = append(byPart[c.Partition], search{i, lo, hi})
		}
	}
	for range epochRounds {
		// One partition may stand once in a request: rows of several groups on it take turns.
		ask, asked := map[offset.Partition]int32{}, map[offset.Partition]int{}
		for part, list := range byPart {
			for n, s := range list {
				if s.lo < s.hi {
					ask[part], asked[part] = s.lo+(s.hi-s.lo)/2, n
					break
				}
			}
		}
		if len(ask) == 0 {
			break
		}
		ends := epochEnds(ctx, cl, ask)
		for part, mid := range ask {
			s := &byPart[part][asked[part]]
			got, ok := ends[part]
			switch {
			case !ok:
				s.lo, s.hi = 0, -1 // not told: stays unknown
			case p.Changes[s.row].To.Offset < got.end:
				s.hi = got.epoch
			default:
				s.lo = mid + 1
			}
		}
	}
	for _, list := range byPart {
		for _, s := range list {
			if s.lo == s.hi {
				p.Changes[s.row].To.LeaderEpoch = offset.EpochOf(s.hi)
			}
		}
	}
}

type epochEnd struct {
	epoch int32
	end   int64 // exclusive
}

// epochEnds asks for the largest epoch that is not above the one given, and where it ends.
func epochEnds(ctx context.Context, cl *kgo.Client, ask map[offset.Partition]int32) map[offset.Partition]epochEnd {
	// Raw: kadm fails the whole call for one partition that is forbidden.
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	at := map[string]int{}
	for part, epoch := range ask {
		i, ok := at[part.Topic]
		if !ok {
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = part.Topic
			i = len(req.Topics)
			at[part.Topic] = i
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.LeaderEpoch = part.Partition, epoch
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	out := map[offset.Partition]epochEnd{}
	for _, s := range cl.RequestSharded(ctx, req) {
		if s.Err != nil {
			continue // its partitions stay unknown
		}
		for _, t := range s.Resp.(*kmsg.OffsetForLeaderEpochResponse).Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode == 0 && p.EndOffset >= 0 && p.LeaderEpoch >= 0 {
					out[offset.Partition{Topic: t.Topic, Partition: p.Partition}] = epochEnd{p.LeaderEpoch, p.EndOffset}
				}
			}
		}
	}
	return out
}
