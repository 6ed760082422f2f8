package inspect

import (
	"context"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// ShareOffsets are a share group's start offsets (KIP-932): the first record of each partition that is not finished.
type ShareOffsets struct {
	Group string
	Rows  []ShareRow // sorted
	Err   error
}

// ShareRow is one partition of a share group. The start offset alone does not say where the group is: records beyond it may be
// acknowledged already, and are then not delivered again. Start is nil until the partition is initialised; Lag is the
// broker's own count of records that are not acknowledged, nil where it tells none (before Kafka 4.2).
type ShareRow struct {
	offset.Partition
	Start *int64
	Lag   *int64
	Err   error
}

// Acknowledged is how many offsets from the start offset on are finished: the log end less the start offset less the broker's
// lag. Where the log grew between the two answers it is that much too large. known is false where one of them is missing.
func (r ShareRow) Acknowledged(b *offset.Bounds) (n int64, known bool) {
	if r.Err != nil || r.Start == nil || r.Lag == nil || b == nil {
		return 0, false
	}
	return max(0, b.End-max(*r.Start, b.Start)-*r.Lag), true
}

// Find returns the row of a partition.
func (s ShareOffsets) Find(p offset.Partition) (ShareRow, bool) {
	i, ok := slices.BinarySearchFunc(s.Rows, p, func(r ShareRow, p offset.Partition) int { return r.Compare(p) })
	if !ok {
		return ShareRow{}, false
	}
	return s.Rows[i], true
}

// ReadShareOffsets reads the start offsets of share groups.
func ReadShareOffsets(ctx context.Context, cl *kgo.Client, groups []string) map[string]ShareOffsets {
	return readShareOffsets(ctx, cl, groups, nil, nil)
}

func readShareOffsets(ctx context.Context, cl *kgo.Client, groups []string, hints map[string]int32, p *patience) map[string]ShareOffsets {
	out := make(map[string]ShareOffsets, len(groups))
	var mu sync.Mutex
	set := func(s ShareOffsets) {
		mu.Lock()
		defer mu.Unlock()
		out[s.Group] = s
	}
	ask := func(ctx context.Context, node int32, gs []string) map[string]error {
		// Raw: kadm does not ask again where no coordinator is there yet.
		req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
		for _, g := range gs {
			rg := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
			rg.GroupID, rg.Topics = g, nil
			req.Groups = append(req.Groups, rg)
		}
		resp, err := requestOnce[*kmsg.DescribeShareGroupOffsetsResponse](ctx, cl, node, req)
		if err != nil {
			return all(gs, err)
		}
		errs := map[string]error{}
		for _, g := range resp.Groups {
			if err := codeErr(g.ErrorCode, g.ErrorMessage); err != nil {
				errs[g.GroupID] = err
				continue
			}
			set(ShareOffsets{Group: g.GroupID, Rows: shareRowsOf(g)})
		}
		return errs
	}
	a := asker{cl: cl, chunk: commitChunk, hints: hints, reads: true, p: p, ask: ask, fail: func(g string, err error) { set(ShareOffsets{Group: g, Err: err}) }}
	a.run(ctx, groups)
	return out
}

func shareRowsOf(g kmsg.DescribeShareGroupOffsetsResponseGroup) []ShareRow {
	var rows []ShareRow
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			r := ShareRow{Partition: offset.Partition{Topic: t.Topic, Partition: p.Partition}, Err: kerr.ErrorForCode(p.ErrorCode)}
			if p.StartOffset >= 0 {
				r.Start = &p.StartOffset
			}
			if p.Lag >= 0 {
				r.Lag = &p.Lag
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b ShareRow) int { return a.Compare(b.Partition) })
	return rows
}

func (s *Snapshot) shareRows(d Description, yield func(Row) bool) {
	members := map[offset.Partition]*Member{}
	for i := range d.Members {
		for _, p := range d.Members[i].Assigned {
			members[p] = &d.Members[i] // several members may share a partition; one is named
		}
	}
	for _, sr := range s.Share[d.Name].Rows {
		if !s.chosenPartition(sr.Partition) {
			continue
		}
		b := s.batch(d.Name, sr.Topic)
		b.lags = make([]int64, 1)
		r := b.row(sr.Partition.Partition, members[sr.Partition])
		r.ShareStart = sr.Start
		if sr.Err != nil {
			r.Err, r.Status = sr.Err, StatusError
		} else if sr.Start != nil && r.Bounds != nil {
			r.Verdict = Judge(&offset.Committed{Offset: *sr.Start}, false, r.Bounds, s.Query.Isolation)
			if sr.Lag != nil {
				r.Lag = sr.Lag // the broker leaves out records that are already acknowledged
			}
			if n, known := sr.Acknowledged(r.Bounds); known {
				r.Acknowledged = &n
			}
		}
		if !yield(r) {
			return
		}
	}
}
