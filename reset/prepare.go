package reset

// The front of the package: from what was asked for to a plan.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Task is what a request is for. The zero Task moves commits to the request's position.
type Task struct {
	// Delete removes commits: those in the request's scope, or with Whole everything that the groups have stored, and the
	// groups themselves.
	Delete bool
	Whole  bool
	// TakeHidden deletes groups as a whole although they may store something that this user may not see.
	TakeHidden bool
	// Repair mends invalid commits in these ways.
	Repair *Mends
	// Keep stores again what is there.
	Keep *Keep
}

// Prepare makes the plan of a request from what the cluster says now, and seals it. The error is that nothing could be read;
// groups that could not be planned for are in Built.Failed.
func Prepare(ctx context.Context, cl *kgo.Client, r *Request) (*Built, error) {
	f, err := Gather(ctx, cl, r)
	if err != nil {
		return nil, err
	}
	b, err := r.Task.build(r, f)
	if err != nil {
		return nil, err
	}
	b.topics = f.Parts.Topics
	if r.Task.Keep == nil { // what is kept keeps its epoch, or has none
		fillEpochs(ctx, cl, b.Plan, f)
	}
	return b, b.Plan.Seal()
}

func (t Task) build(r *Request, f *Facts) (*Built, error) {
	switch {
	case t.Delete:
		return BuildDelete(r, f, t.Whole)
	case t.Repair != nil:
		return BuildRepair(r, f, *t.Repair)
	case t.Keep != nil:
		return BuildKeep(r, f, *t.Keep)
	}
	return Build(r, f)
}
