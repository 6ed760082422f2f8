package consume

// How a run ends: the last checkpoint, the last commit, and what is kept.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/text"
)

// end finishes a run whose loop has ended with err, and says what was kept.
func (r *run) end(err error) (Summary, error) {
	r.stats.setPhase(PhaseStopping)
	s := Summary{Ended: Broken}
	switch {
	case err == nil:
		s.Ended = Finished
		for _, p := range r.list {
			if why, short := p.short(); short && r.left != 0 {
				s.Short, s.Ended = append(s.Short, why), Incomplete
			}
		}
	case errors.Is(err, errStop):
		s.Ended = Cancelled
		if errors.Is(context.Cause(r.ctx), ErrSuspended) {
			s.Ended = Suspended
		}
		err = nil
	}
	ctx, cancel := context.WithTimeout(r.work, r.cfg.StopTimeout)
	defer cancel()
	if r.member == nil {
		defer r.closeFetching(ctx)()
	}
	if err == nil {
		err = r.finish(ctx, &s)
	}
	if r.member != nil { // it must not leave the group before its last commit
		close(r.member.settled)
		leave := r.member.leave()
		closed := r.closeFetching(ctx)
		defer func() { closed(); leave(ctx) }()
	}
	if err != nil {
		s.Ended = Broken
	}
	r.keeper.quiesce(ctx)
	if cerr := r.cfg.Sink.Close(ctx); cerr != nil && err == nil {
		err, s.Ended = fmt.Errorf("close the sink: %w", cerr), Broken
	}
	r.retain(&s)
	r.sayShort(&s)
	s.Committed = r.commit.last
	r.stats.setPhase(PhaseEnded)
	s.Stats = r.Stats()
	return s, err
}

// closeFetching closes the fetching client, in the background: a client that waits for a broker's answer must not use up the
// time for the last checkpoint. wait waits for it.
func (r *run) closeFetching(ctx context.Context) (wait func()) {
	if r.fetch == nil {
		return func() {}
	}
	closed := make(chan struct{})
	go func() { r.fetch.CloseAllowingRebalance(); close(closed) }()
	return func() {
		select {
		case <-closed:
		case <-ctx.Done():
		}
	}
}

// finish makes the last checkpoint and the last commit.
func (r *run) finish(ctx context.Context, s *Summary) error {
	final := map[Ending]string{Finished: "finished", Incomplete: "incomplete", Cancelled: "cancelled", Suspended: "suspended"}[s.Ended]
	// The commit under way first: the last one must not be overtaken by it.
	if _, err := r.commit.finish(ctx); err != nil {
		return err
	}
	if _, err := r.keeper.line(ctx, final, true); err != nil {
		return err
	}
	failed, err := r.commit.finish(ctx)
	if err != nil {
		return err
	}
	if failed != nil {
		hint := cmp.Or(needed(failed), "the checkpoint, if there is one, holds the same offsets")
		return errorf(Failed, hint, "the last commit to group %s failed: %w", r.cfg.Group, failed)
	}
	return nil
}

// sayShort says what was asked for and not read, or read and not asked for.
func (r *run) sayShort(s *Summary) {
	if n := len(s.Short); n > 0 {
		hint := "start it again later: it reads the whole again"
		if s.Kept != "" {
			hint = "start it again later with {{restore latest}} to continue there"
		}
		const shown = 5
		why := strings.Join(s.Short[:min(shown, n)], "; ")
		if n > shown {
			why += "; and " + text.More(n-shown, "partition")
		}
		r.notify(warnf(hint, "incomplete: %s", why))
	}
	if n := r.stats.outside.Load(); n > 0 {
		r.notify(warnf("the times of the topic are not in order: filter by time behind koffset, or begin earlier and end later",
			"%s of the records are outside the window: their own times are before its start or at or after its end, and records of the window may be outside what was read", text.Count(n)))
	}
}

// onlyRunLimit says that the run ended because of its own record limit: the job can go on.
func (r *run) onlyRunLimit() bool {
	e := r.cfg.End
	if e.MaxRecords == 0 || r.left != 0 || e.JobRecords > 0 && r.total+r.stats.records.Load() >= e.JobRecords {
		return false
	}
	return !r.bounded() || slices.ContainsFunc(r.list, func(p *part) bool { return !p.done() })
}

// retain keeps or removes the checkpoints, as the retention says.
func (r *run) retain(s *Summary) {
	if r.jobDir == "" {
		return
	}
	k := &r.keeper
	ret := r.cfg.Checkpoints.Retention
	remove, why := false, ""
	switch s.Ended {
	case Finished:
		if r.onlyRunLimit() {
			why = "the record limit of this run was reached, and not the end of the job"
			break
		}
		remove, why = true, "the end was reached"
		if r.plan.Committer != CommitsNever {
			why += ", after the last commit"
		}
	case Incomplete:
		why = "the end that was asked for is not reached"
	case Suspended:
		why = "a suspension always keeps it"
	case Cancelled:
		remove, why = ret != RetainOnCancellation, "retention "+string(ret)+" on a cancellation"
	case Broken:
		remove, why = ret == NoExternalized, "retention "+string(ret)+" on a failure"
	}
	if remove {
		k.removeAll()
	}
	s.Kept, s.KeptWhy = k.path, why
}
