package migrate

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
)

// Syncer carries the same groups again and again, in one direction. It remembers from which source offset each row of the
// target was last set, so that a round looks only at what has moved since. The zero value is ready.
type Syncer struct {
	carried map[checkpointfile.Key]int64
}

// SyncRound is what one round found and would do.
type SyncRound struct {
	Result  *Result
	Planned *Planned
	// Incomplete says that the source could not be read as a whole.
	Incomplete bool
}

// Pending are the rows of an export whose source has moved since they were carried.
func (s *Syncer) Pending(x *Export) []Row {
	var out []Row
	for _, g := range x.Groups {
		for _, r := range g.Rows {
			k := checkpointfile.Key{Group: r.Group, Partition: r.Partition}
			if was, done := s.carried[k]; done && r.Committed != nil && r.Committed.Offset == was {
				continue
			}
			out = append(out, r)
		}
	}
	return out
}

// Plan makes the plan of a round from what the translation of its pending rows found: rows that no strategy resolves yet are
// left to a later round, and groups with members on the target are left alone.
func (s *Syncer) Plan(ctx context.Context, target *kgo.Client, x *Export, res *Result) (*SyncRound, error) {
	planned, err := MakePlan(ctx, target, res, PlanOptions{Verb: "sync", Asked: "from " + x.ClusterID, SkipUnresolved: true, IdleOnly: true})
	if err != nil {
		return nil, err
	}
	return &SyncRound{Result: res, Planned: planned, Incomplete: x.Incomplete}, nil
}

// Carried records that a round's plan was executed.
func (s *Syncer) Carried(r *SyncRound) {
	if s.carried == nil {
		s.carried = map[checkpointfile.Key]int64{}
	}
	inUse := map[string]bool{}
	for _, g := range r.Planned.Skipped {
		inUse[g] = true
	}
	for _, i := range r.Result.Items {
		if i.Resolved() && !i.Unstable && !inUse[i.Group] {
			s.carried[checkpointfile.Key{Group: i.Row.Group, Partition: i.Row.Partition}] = i.Row.Committed.Offset
		}
	}
}

// SyncLoop runs rounds until the context ends, one at the beginning of every interval.
type SyncLoop struct {
	Every time.Duration
	Last  int // the number of the last round; 0 for none
	Now   func() time.Time
	// Round is one round, from 1 on.
	Round func(ctx context.Context, n int) error
	// Ended is told how each round ended, and whether another is to follow. Where it returns an error, none does: what failed
	// will not work in the next round either.
	Ended func(n int, took time.Duration, more bool, err error) error
}

// Run returns the error of the last round, or why there was none.
func (l *SyncLoop) Run(ctx context.Context) error {
	for n := 1; ; n++ {
		begin := l.Now()
		err := l.Round(ctx, n)
		more := n != l.Last && ctx.Err() == nil
		fatal := l.Ended(n, l.Now().Sub(begin), more, err)
		switch {
		case !more:
			return err
		case fatal != nil:
			return fatal
		}
		t := time.NewTimer(max(0, l.Every-l.Now().Sub(begin)))
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}
