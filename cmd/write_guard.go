package cmd

// What stands between a plan and its execution: members, guard rails, the question.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

const (
	hintStop  = "stop them, or add --wait-empty 60s; nothing was changed"
	hintDrift = "make a new plan; --allow-drift accepts commits that moved, and nothing else; nothing was changed"
)

// inUse refuses before anything is shown where every group of the plan has members.
func (w *write) inUse() error {
	var errs []error
	active := map[string]bool{}
	for _, n := range w.built.Notes {
		if n.Kind == reset.NoteActive {
			active[n.Group] = true
			errs = append(errs, fmt.Errorf("%s %s: %s", w.built.Plan.Verb, n.Group, strings.TrimSuffix(n.Text, ": executing the plan would be refused")))
		}
	}
	if w.flags.evict || len(errs) == 0 || len(active) < len(w.built.Plan.Groups) {
		return nil
	}
	return &fault{code: exitRefused, err: errors.Join(errs...), hint: hintStop}
}

// guard holds the plan to the guard rails of the cluster.
func (w *write) guard(sum reset.Summary) error {
	g := w.s.settings.Guards(w.s.cluster.ID)
	switch {
	case g.Expected != "" && g.Expected != w.s.cluster.ID:
		return faultf(exitRefused, "the profile leads to another cluster than it was made for; nothing was changed",
			"this is cluster %s, %s says %s", w.s.cluster.ID, g.ExpectedBy, g.Expected)
	case g.ReadOnly:
		return faultf(exitRefused, "nothing was changed", "cluster %s is read_only (%s)", w.s.cluster.ID, g.ReadOnlyBy)
	}
	for _, name := range w.groupNames() {
		if p, ok := g.Protects(name); ok {
			return faultf(exitRefused, "nothing was changed", "group %s is protected by %q (%s)", name, p.Pattern, p.By)
		}
	}
	if g.MaxRewind != nil && sum.Rereads > *g.MaxRewind {
		return faultf(exitRefused, "choose fewer partitions or a later position; nothing was changed",
			"up to %s records would be read again, max_rewind is %s (%s)", render.Count(sum.Rereads), render.Count(*g.MaxRewind), g.MaxRewindBy)
	}
	if g.MaxSkip != nil && sum.Skips > *g.MaxSkip {
		return faultf(exitRefused, "choose fewer partitions or an earlier position; nothing was changed",
			"up to %s records would be skipped, max_skip is %s (%s)", render.Count(sum.Skips), render.Count(*g.MaxSkip), g.MaxSkipBy)
	}
	return nil
}

// ask gets the consent that is needed: the cluster id where a guard rail wants it, a yes on a terminal.
func (w *write) ask(ctx context.Context, sum reset.Summary) error {
	g := w.s.settings.Guards(w.s.cluster.ID)
	id := w.s.cluster.ID
	st := w.app.Streams
	declined := func(err error) error {
		if err != nil {
			return err
		}
		return faultf(exitRefused, "nothing was changed", "declined")
	}
	question := fmt.Sprintf("Execute plan %s on cluster %s: %s?", w.built.Plan.ID(), id, w.summary(sum))
	switch {
	case w.flags.confirm != "" && w.flags.confirm != id:
		return faultf(exitRefused, "nothing was changed", "--confirm is %s, this is cluster %s", w.flags.confirm, id)
	case g.ConfirmClusterID && w.flags.confirm == "":
		if !st.CanPrompt() {
			return faultf(exitRefused, "add --confirm CLUSTER-ID; nothing was changed", "cluster %s must be confirmed by its id (%s)", id, g.ConfirmBy)
		}
		yes, err := st.ConfirmTyped(ctx, question, id)
		if err != nil || !yes {
			return declined(err)
		}
		return nil
	case w.flags.yes || !st.CanPrompt():
		return nil
	}
	yes, err := st.Confirm(ctx, question)
	if err != nil || !yes {
		return declined(err)
	}
	return nil
}

// ready waits until the groups are free, before a plan is made: a group in use moves its own commits.
func (w *writeFlags) ready(ctx context.Context, s *session, groups []string) error {
	if w.wait <= 0 || !w.execute {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.wait, errStillBusy)
	defer cancel()
	said := ""
	err := reset.WaitEmpty(ctx, s.client, groups, func(still []string) {
		if now := strings.Join(still, "; "); now != said {
			said = now
			s.app.Streams.Note("waiting: %s", now)
		}
	})
	if errors.Is(err, errStillBusy) {
		return &fault{code: exitRefused, err: err, hint: "nothing was changed"}
	}
	return err
}

var errStillBusy = errors.New("the time of --wait-empty is over")

// evictMembers removes static members after the plan was agreed to.
func (w *write) evictMembers(ctx context.Context) error {
	if !w.flags.evict {
		return nil
	}
	ctx, cancel := w.s.phase(ctx, "evict the members")
	defer cancel()
	ds, err := inspect.DescribeNamed(ctx, w.s.client, w.groupNames())
	if err != nil {
		return cause(ctx, err)
	}
	for _, name := range w.groupNames() {
		d := ds[name]
		if len(d.Members) == 0 {
			continue
		}
		gone, err := reset.Evict(ctx, w.s.client, d)
		for _, m := range gone {
			w.app.Streams.Note("group %s: evicted %s", name, m.Where())
		}
		if err != nil {
			return &fault{code: exitRefused, err: fmt.Errorf("%s %s: %w", w.built.Plan.Verb, name, err), hint: "no offset was changed"}
		}
	}
	return cause(ctx, reset.WaitEmpty(ctx, w.s.client, w.groupNames(), func([]string) {}))
}

// refused ends a plan with rows that have no target.
func (w *write) refused(sum reset.Summary) error {
	// Partitions of a topic with the same reason are one line: a topic of a hundred partitions would bury the others.
	type reason struct{ group, topic, text string }
	var order []reason
	parts := map[reason][]int32{}
	hint := ""
	for _, c := range w.built.Plan.Changes {
		if c.Error == "" {
			continue
		}
		if hint == "" {
			hint = c.Hint
		}
		k := reason{c.Group, c.Topic, c.Error}
		if parts[k] == nil {
			order = append(order, k)
		}
		parts[k] = append(parts[k], c.Partition.Partition)
	}
	const shown = 5
	var errs []error
	said := 0
	for _, k := range order[:min(shown, len(order))] {
		errs = append(errs, fmt.Errorf("%s %s: %s:%s: %s", w.built.Plan.Verb, k.group, k.topic, offset.FormatPartitionSet(parts[k]), k.text))
		said += len(parts[k])
	}
	if n := sum.Refused - said; n > 0 {
		errs = append(errs, fmt.Errorf("and %s more, all in the rows", render.Count(n)))
	}
	if hint != "" {
		hint += "; "
	}
	return &fault{code: exitRefused, err: errors.Join(errs...), hint: hint + "nothing was changed"}
}

// notApplied turns an error of Apply, after which nothing was changed, into its status.
func (w *write) notApplied(ctx context.Context, err error) error {
	var drift *reset.DriftError
	var journal *reset.JournalError
	switch {
	case errors.As(err, &drift):
		var errs []error
		for _, d := range drift.Drifts[:min(5, len(drift.Drifts))] {
			errs = append(errs, errors.New(driftText(w.built.Plan.Verb, d)))
		}
		if n := len(drift.Drifts) - len(errs); n > 0 {
			errs = append(errs, fmt.Errorf("and %d more", n))
		}
		code, hint := exitRefused, hintDrift
		switch {
		case drift.Has(reset.DriftActive):
			hint = hintStop
		case drift.Has(reset.DriftGroup):
			code, hint = exitNotFound, "make a new plan with --create; nothing was changed"
		case drift.Has(reset.DriftUnstable):
			hint = "wait until the transaction ends, or add --wait-empty 60s; nothing was changed"
		case drift.Has(reset.DriftCluster), drift.Has(reset.DriftTopic):
			hint = "nothing was changed"
		case drift.Has(reset.DriftBounds) && !drift.Has(reset.DriftCommit):
			hint = "make a new plan, or add --out-of-range clamp or skip; nothing was changed"
		case denied(err):
			code, hint = exitDenied, "nothing was changed"
		}
		return &fault{code: code, err: joined(errs), hint: hint, moved: code == exitRefused && !drift.Has(reset.DriftCluster)}
	case errors.As(err, &journal):
		return &fault{code: exitRefused, err: err, hint: "choose another folder with --state-dir"}
	}
	return cause(ctx, err)
}

// joined is errors.Join, but a single error stays itself.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func driftText(verb string, d reset.Drift) string {
	switch {
	case d.Key != nil:
		return fmt.Sprintf("%s %s: %s: %s", verb, d.Group, d.Key.Partition, d.Text)
	case d.Group != "":
		return fmt.Sprintf("%s %s: %s", verb, d.Group, d.Text)
	}
	return verb + ": " + d.Text
}

// groupText is an error without the group's name, for a row or object that names it.
func groupText(err error) string {
	var drift *reset.DriftError
	if !errors.As(err, &drift) {
		return err.Error()
	}
	var out []string
	for _, d := range drift.Drifts[:min(3, len(drift.Drifts))] {
		t := d.Text
		if d.Key != nil {
			t = d.Key.Partition.String() + ": " + t
		}
		out = append(out, t)
	}
	if n := len(drift.Drifts) - 3; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, "; ")
}

// failGroup says why a group was left out.
func (w *write) failGroup(ctx context.Context, g *reset.GroupError) {
	f := render.Failure{Err: fmt.Errorf("%s %s: %s", w.built.Plan.Verb, g.Group, groupText(g.Err)), ExitCode: w.codeOf([]*reset.GroupError{g})}
	var missing *reset.NotFoundError
	var drift *reset.DriftError
	switch {
	case errors.As(g.Err, &missing) && missing.What == "group":
		f.Hint = "add --create to make it"
		if near := offset.Near(missing.Name, w.known); len(near) > 0 {
			f.Hint = "did you mean " + strings.Join(near, ", ") + "?"
		}
		if w.built.Plan.Verb != "reset" {
			f.Hint = strings.TrimPrefix(f.Hint, "add --create to make it")
		}
	case errors.As(g.Err, &missing) && missing.What == "topic":
		if all, err := inspect.ReadTopics(ctx, w.s.client, nil); err == nil {
			if near := offset.Near(missing.Name, inspect.VisibleNames(all)); len(near) > 0 {
				f.Hint = "did you mean " + strings.Join(near, ", ") + "?"
			}
		}
	case errors.As(g.Err, &drift) && drift.Has(reset.DriftActive):
		f.Hint = "stop them, or add --wait-empty 60s; nothing of this group was changed"
	case denied(g.Err):
		f.Hint = rightsHint(g.Err)
	}
	w.app.Streams.Fail(f)
}

// writePlan saves the plan where --plan-out says so.
func (w *write) writePlan() error {
	if w.flags.planOut == "" {
		return nil
	}
	h := checkpointfile.Header{Version: w.app.Version, CreatedAt: w.app.Now()}
	if w.flags.planOut == "-" {
		return usagef("name a file", "--plan-out writes a file, since stdout has the rows")
	}
	if err := checkpointfile.WritePlan(w.app.path(w.flags.planOut), h, w.built.Plan); err != nil {
		return err
	}
	w.app.Streams.Note("plan %s is in %s: %s", w.built.Plan.ID(), w.flags.planOut, w.app.again("apply", w.flags.planOut))
	return nil
}

// path is a file named on the command line, from the folder that koffset runs in.
func (a *App) path(name string) string {
	if filepath.IsAbs(name) || a.Dir == "" {
		return name
	}
	return filepath.Join(a.Dir, name)
}
