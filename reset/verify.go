package reset

// Reading back what was written, and watching whether it stays.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// verify reads back every row that was sent, also those whose request had no answer, those that stood where they should
// already, and the groups that were to be deleted. It goes on for a while after the context has ended: what became of a
// commit that was sent must not stay unknown for want of a moment.
func (a *applier) verify(ctx context.Context) {
	ctx, cancel := a.grace(ctx)
	defer cancel()
	ctx, moved, stop := a.o.Phase(ctx, "read the offsets back")
	defer stop()
	if len(a.rowsWith(OutcomeUnknown)) > 0 {
		// A broker that let a commit time out is not waited for once more as long as that.
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, a.o.Grace)
		defer end()
	}
	sent := a.rowsWith(OutcomeUnverified, OutcomeUnknown)
	stayed := a.rowsWith(OutcomeUnchanged)
	now := a.readBack(ctx, append(slices.Clone(sent), stayed...), moved)
	var good []int
	for _, i := range sent {
		if a.verified(i, now) {
			good = append(good, i)
		}
	}
	a.set(OutcomeChanged, nil, good...)
	for _, i := range stayed {
		a.stillThere(i, now)
	}
	a.verifyGroups(ctx)
}

// verified says that a row that was sent is as planned; what is wrong with it is recorded.
func (a *applier) verified(i int, now standing) bool {
	row := &a.res.Rows[i]
	if err := now.err(*row); err != nil {
		why := fmt.Errorf("not read back: %w", err)
		if row.Outcome == OutcomeUnknown {
			why = errors.Join(row.Err, why)
		}
		a.set(row.Outcome, why, i)
		return false
	}
	row.Now, row.Read = now.stored[row.Key()], true
	switch {
	case arrived(row.Change, row.Now):
		return true
	case row.Outcome == OutcomeUnverified:
		a.set(OutcomeDiffers, fmt.Errorf("the broker accepted it, but %s is stored", show(row.Now)), i)
	case errors.Is(row.Err, kerr.UnknownServerError):
		a.set(OutcomeFailed, row.Err, i) // the batch was refused: what was stored before is stored now
	default:
		// No answer came, or the coordinator's log had not confirmed it: it may still be stored.
		a.set(OutcomeUnknown, fmt.Errorf("%w; %s is stored so far", row.Err, show(row.Now)), i)
	}
	return false
}

// stillThere looks whether a row that needed nothing still stands where it should: somebody else, such as a second reset,
// may have moved it since the check.
func (a *applier) stillThere(i int, now standing) {
	row := &a.res.Rows[i]
	if err := now.err(*row); err != nil {
		a.set(OutcomeUnverified, fmt.Errorf("it stood there already, and was not read back: %w", err), i)
		return
	}
	row.Now, row.Read = now.stored[row.Key()], true
	if !same(row.From, row.Now) {
		a.set(OutcomeOverwritten, fmt.Errorf("it stood there already, and was overwritten: %s -> %s", show(row.From), show(row.Now)), i)
	}
}

// verifyGroups looks whether the groups that were to be deleted are gone.
func (a *applier) verifyGroups(ctx context.Context) {
	var look []inspect.Group
	for name, n := range a.remove {
		if o := a.res.Groups[n].Outcome; o == OutcomeUnverified || o == OutcomeUnknown {
			look = append(look, inspect.Group{Name: name, Type: inspect.GroupType(a.types[name])})
		}
	}
	for name := range a.careful {
		look = append(look, inspect.Group{Name: name, Type: inspect.GroupType(a.types[name])})
	}
	if len(look) == 0 {
		return
	}
	for name, d := range inspect.Describe(ctx, a.cl, look) {
		if _, ok := a.careful[name]; ok {
			// Brokers before 4.0 remove a group with its last commit at once: then nothing was hidden.
			if d.NotFound {
				a.setGroup(OutcomeDeleted, nil, name)
			}
			continue
		}
		g := a.res.Groups[a.remove[name]]
		switch {
		case d.NotFound:
			a.setGroup(OutcomeDeleted, nil, name)
		case d.Err != nil:
			a.setGroup(g.Outcome, errors.Join(g.Err, fmt.Errorf("not read back: %w", d.Err)), name)
		case g.Outcome == OutcomeUnverified:
			a.setGroup(OutcomeDiffers, errors.New("the broker accepted it, but the group still exists"), name)
		case errors.Is(g.Err, kerr.UnknownServerError):
			a.setGroup(OutcomeFailed, g.Err, name)
		default:
			a.setGroup(OutcomeUnknown, fmt.Errorf("%w; the group exists so far", g.Err), name)
		}
	}
}

// arrived says that what is stored is what the row wanted. The epoch is not compared: brokers before 2.1 keep none.
func arrived(c Change, now *Commit) bool {
	if c.Action == checkpointfile.ActionDelete {
		return now == nil
	}
	return now != nil && now.Offset == c.To.Offset && now.Metadata == c.To.Metadata
}

// settle watches for a while whether somebody overwrites what was written: an application that assigns its partitions
// itself has no members that could be seen.
func (a *applier) settle(ctx context.Context) {
	rows := a.rowsWith(OutcomeChanged)
	if a.o.Settle <= 0 || len(rows) == 0 {
		return
	}
	if a.o.Settling != nil {
		a.o.Settling()
	}
	over := time.NewTimer(a.o.Settle)
	defer over.Stop()
	tick := time.NewTicker(max(min(a.o.Settle/4, time.Second), 50*time.Millisecond))
	defer tick.Stop()
	for {
		last := false
		select {
		case <-ctx.Done():
			a.res.SettleErr = context.Cause(ctx)
			return
		case <-over.C:
			last = true
		case <-tick.C:
		}
		var err error
		rows, err = a.watch(ctx, rows)
		if last || len(rows) == 0 {
			// A look in between that failed is made up for by a later one: it sees an overwrite too.
			a.res.SettleErr = err
			return
		}
	}
}

// watch reads the rows once more and returns those that still stand, and why some could not be read.
func (a *applier) watch(ctx context.Context, rows []int) (still []int, err error) {
	ctx, moved, cancel := a.o.Phase(ctx, "watch the offsets")
	defer cancel()
	all := a.readBack(ctx, rows, moved)
	for _, i := range rows {
		row := &a.res.Rows[i]
		if e := all.err(*row); e != nil {
			err = fmt.Errorf("group %s: %w", offset.NameText(row.Group), e)
			still = append(still, i)
			continue
		}
		now := all.stored[row.Key()]
		if arrived(row.Change, now) {
			still = append(still, i)
			continue
		}
		row.Now = now
		a.set(OutcomeOverwritten, fmt.Errorf("overwritten: %s -> %s", show(row.To), show(now)), i)
	}
	return still, err
}

func (a *applier) rowsWith(outcomes ...Outcome) []int {
	var out []int
	for i, r := range a.res.Rows {
		if slices.Contains(outcomes, r.Outcome) {
			out = append(out, i)
		}
	}
	return out
}

// grace is a context that outlives ctx by Options.Grace.
func (a *applier) grace(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(a.o.Grace, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(out, func() { t.Stop() })
	})
	return out, func() { stop(); cancel(nil) }
}
