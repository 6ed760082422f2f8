package consume

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	edge "github.com/koffset/koffset/internal/commits"
)

// sendCommit commits positions without being a member, and yields every position once with the broker's answer. ids are the
// topics that were read, by name.
func sendCommit(ctx context.Context, cl *kgo.Client, group string, positions []Position, ids map[string]string) func(yield func(Position, error) bool) {
	rows := make([]edge.Row, len(positions))
	for i, p := range positions {
		rows[i] = edge.Row{Partition: p.Partition, TopicID: edge.TopicID(ids[p.Topic]), Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}
	}
	answers := make([]error, len(positions)) // one group, so one goroutine tells at a time
	edge.Write(ctx, cl, []edge.Job{{Group: group, Op: edge.Commit, Rows: rows}}, func(_ int, rows []int, err error) {
		for _, i := range rows {
			answers[i] = err
		}
	})
	return func(yield func(Position, error) bool) {
		for i, p := range positions {
			if !yield(p, answers[i]) {
				return
			}
		}
	}
}
