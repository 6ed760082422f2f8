package consume

// What a plan shows of the logs beside their bounds: the times of the first records, and the size on disk.

import (
	"context"
	"time"

	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// reader reads records beside the run's own fetching, within the same memory bound.
func (c *Config) reader() records.Reader {
	return records.Reader{Client: c.Client, Isolation: c.isolation(), Memory: c.Fetch.Buffer}
}

// surveyTime is how long each thing may take that is read for people alone.
const surveyTime = 5 * time.Second

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
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	for s, a := range reader.First(ctx, ask) {
		if a.Record != nil {
			rows[at[s]].First = a.Record.Time
		}
	}
}

// fillSizes fills in how many bytes the backlogs take on disk, by how many the whole partitions take.
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
