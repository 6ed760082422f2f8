package consume

// What a plan shows of the logs beside their bounds: the times of the first records, and the size on disk.

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// reader reads records beside the run's own fetching, within the same memory bound.
func (c *Config) reader() records.Reader {
	return records.Reader{Client: c.Client, Isolation: c.isolation(), Memory: c.Fetch.Buffer}
}

// firstTimes fills in the times of the first records that a plan will read. It is for people: what cannot be read stays
// unknown.
func firstTimes(ctx context.Context, reader records.Reader, rows []PlanRow) {
	const most = 2000 // of many partitions the age of the first record is no longer read by anybody
	at := map[records.Span]int{}
	var ask []records.Span
	for i, r := range rows {
		if !r.Skip && r.First.IsZero() && r.Backlog > 0 && len(ask) < most {
			s := records.Span{Partition: r.Partition, From: r.Start, Until: records.ToEnd}
			at[s] = i
			ask = append(ask, s)
		}
	}
	if len(ask) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for s, a := range reader.First(ctx, ask) {
		if a.Record != nil {
			rows[at[s]].First = a.Record.Time
		}
	}
}

// fillSizes fills in how many bytes the backlogs take on disk, by how many the whole partitions take. It is for people: without
// the right to ask, or on brokers that do not answer, sizes stay unknown.
func fillSizes(rows []PlanRow, whole map[offset.Partition]int64) {
	for i := range rows {
		r := &rows[i]
		size, known := whole[r.Partition]
		if log := r.Bounds.End - r.Bounds.Start; known && log > 0 {
			b := int64(float64(size) * float64(r.Backlog) / float64(log))
			r.Bytes = &b
		}
	}
}

// readSizes asks the brokers how many bytes each partition takes.
func readSizes(ctx context.Context, cl *kgo.Client, parts inspect.Partitions) map[offset.Partition]int64 {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	for t, ns := range parts {
		rt := kmsg.NewDescribeLogDirsRequestTopic()
		rt.Topic, rt.Partitions = t, ns
		req.Topics = append(req.Topics, rt)
	}
	out := map[offset.Partition]int64{}
	for _, s := range cl.RequestSharded(ctx, req) {
		if s.Err != nil {
			continue
		}
		for _, d := range s.Resp.(*kmsg.DescribeLogDirsResponse).Dirs {
			for _, t := range d.Topics {
				for _, p := range t.Partitions {
					if p.IsFuture {
						continue
					}
					// Every replica answers; the largest is the leader's or equal to it.
					part := offset.Partition{Topic: t.Topic, Partition: p.Partition}
					out[part] = max(out[part], p.Size)
				}
			}
		}
	}
	return out
}
