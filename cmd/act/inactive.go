package act

// A group that is deleted as inactive must be inactive still: a commit of the same offsets moves nothing that the plan holds.

import (
	"context"
	"time"

	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// Inactive says which groups of the plan committed since it was made, where the plan knows when they last had. It may be the same
// offsets again, which is no drift that a comparison of numbers shows.
func (w *Run) Inactive(ctx context.Context) error {
	last := map[string]time.Time{}
	for _, g := range w.Built.Plan.Groups {
		if g.LastCommit != nil {
			last[g.Name] = *g.LastCommit
		}
	}
	if len(last) == 0 || w.Allowed.Commits {
		return nil
	}
	since, unknown, err := w.S.CommittedSince(ctx, last)
	if err != nil {
		return err
	}
	var drifts []reset.Drift
	for _, g := range w.Built.Plan.Groups {
		switch at, again := since[g.Name]; {
		case again:
			drifts = append(drifts, reset.Drift{Kind: reset.DriftCommit, Group: g.Name, Text: "it committed again at " + offset.FormatTime(at) + ", so it is not inactive"})
		case unknown[g.Name] != nil:
			drifts = append(drifts, reset.Drift{Kind: reset.DriftUnknown, Group: g.Name, Err: unknown[g.Name], Text: "whether it committed again is not known: " + unknown[g.Name].Error()})
		}
	}
	if len(drifts) > 0 {
		return &reset.DriftError{Drifts: drifts}
	}
	return nil
}
