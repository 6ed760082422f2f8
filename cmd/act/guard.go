package act

// What stands between a plan and its execution: members, guard rails, the question.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// unchanged ends a refusal that has no next step.
const unchanged = "nothing was changed"

const (
	hintStop = "stop them, or add --wait-empty 60s; nothing was changed"
	// After a wait the next step is not to wait again: a producer that died leaves its transaction open for as long as it asked for.
	hintTransaction = "a transaction ends when its producer commits or aborts it, and at the latest after the producer's transaction.timeout.ms; kafka-transactions.sh finds the producer and aborts it; nothing was changed"
	hintDrift       = "make a new plan; --allow-drift accepts commits that moved, and nothing else; nothing was changed"

	hintOtherCluster = "apply it on its own cluster; koffset migrate export there and koffset migrate import here find the same records; nothing was changed"
	hintUndoneThere  = "undo it on the cluster that it was done on, with --profile or --bootstrap-server; nothing was changed"
	hintOtherTopic   = "make a new plan with a time or a word, such as @-2h or earliest; koffset reset --from-file PLAN --allow-origin other-topic takes its numbers as they are; nothing was changed"
)

// inUse refuses before anything is shown where every group of the plan has members.
func (w *Run) inUse() error {
	var errs []error
	active := map[string]bool{}
	for _, n := range w.Built.Notes {
		if n.Kind == reset.NoteActive {
			active[n.Group] = true
			errs = append(errs, fmt.Errorf("%s %s: %s", w.Built.Plan.Verb, n.Group, strings.TrimSuffix(n.Text, ": executing the plan would be refused")))
		}
	}
	if w.Flags.Evict || len(errs) == 0 || len(active) < len(w.Built.Plan.Groups) {
		return nil
	}
	return &cli.Fault{Kind: offset.KindRefused, Err: errors.Join(errs...), Hint: hintStop}
}

// guard holds the plan to the guard rails of the cluster.
func (w *Run) guard(sum reset.Summary) error {
	g := w.S.Settings.Guards(w.S.Cluster.ID)
	switch {
	case g.Expected != "" && g.Expected != w.S.Cluster.ID:
		return cli.Faultf(offset.KindRefused, "connect to that cluster, or correct the profile if it is this one",
			"this is cluster %s, %s says %s", w.S.Cluster.ID, g.ExpectedBy, g.Expected)
	case g.ReadOnly:
		return cli.Faultf(offset.KindRefused, "", "cluster %s is read_only (%s)", w.S.Cluster.ID, g.ReadOnlyBy)
	}
	for _, name := range w.groupNames() {
		if p, ok := g.Protects(name); ok {
			return cli.Faultf(offset.KindRefused, "", "group %s is protected by %q (%s)", offset.NameText(name), p.Pattern, p.By)
		}
	}
	return w.limits(sum)
}

// limits holds the plan to max_rewind and max_skip. What cannot be counted is not let through: without a limit nobody
// asked, with one nobody can tell. An undo is not held to them: it puts back where the group stood, row by row refused
// where somebody moved it since, and a limit would stand between a mistake and its repair. Rows that --allow-drift adds are
// no such rows, and are counted.
func (w *Run) limits(sum reset.Summary) error {
	g := w.S.Settings.Guards(w.S.Cluster.ID)
	if w.Built.Plan.Undoes != "" && !w.Flags.AllowDrift {
		return nil
	}
	for _, l := range []struct {
		name, what, hint string
		limit            *int64
		by               string
		most             int64
	}{
		{"max_rewind", "read again", "choose fewer partitions or a later position", g.MaxRewind, fmt.Sprint(g.MaxRewindBy), sum.MaxRereads},
		{"max_skip", "skipped", "choose fewer partitions or an earlier position", g.MaxSkip, fmt.Sprint(g.MaxSkipBy), sum.MaxSkips},
	} {
		switch {
		case l.limit == nil:
		case sum.Uncounted > 0:
			return cli.Faultf(offset.KindRefused, "", "how many records would be %s on %s is not known, %s is %s (%s)",
				l.what, text.Plural(sum.Uncounted, "partition"), l.name, text.Count(*l.limit), l.by)
		case l.most > *l.limit:
			return cli.Faultf(offset.KindRefused, l.hint,
				"up to %s records would be %s, %s is %s (%s)%s", text.Count(l.most), l.what, l.name, text.Count(*l.limit), l.by, noCommits(sum))
		}
	}
	return nil
}

// noCommits says that a sum counts rows whose reader may start anywhere.
func noCommits(sum reset.Summary) string {
	if sum.NoCommit == 0 {
		return ""
	}
	return fmt.Sprintf("; %s had no commit or lose it, and a reader without one may start at either end of the log", text.Plural(sum.NoCommit, "partition"))
}

// ask gets the consent that is needed: the cluster id where a guard rail wants it, a yes on a terminal.
func (w *Run) ask(ctx context.Context, sum reset.Summary) error {
	g := w.S.Settings.Guards(w.S.Cluster.ID)
	id := w.S.Cluster.ID
	st := w.App.Streams
	declined := func(err error) error {
		if errors.As(err, new(cli.Stopped)) {
			return cli.Faultf(offset.KindInterrupted, "", "%w; nothing was changed", err)
		}
		if err != nil {
			return err
		}
		return cli.Faultf(offset.KindRefused, "", "declined; nothing was changed")
	}
	question := w.question(sum)
	switch {
	case w.Flags.confirm != "" && w.Flags.confirm != id:
		return cli.Faultf(offset.KindRefused, "", "--confirm is %s, this is cluster %s; nothing was changed", w.Flags.confirm, id)
	case g.ConfirmClusterID && w.Flags.confirm == "":
		if !st.CanPrompt() {
			return cli.Faultf(offset.KindRefused, "add --confirm CLUSTER-ID; nothing was changed", "cluster %s must be confirmed by its id (%s)", id, g.ConfirmBy)
		}
		yes, err := st.ConfirmTyped(ctx, question, id)
		if err != nil || !yes {
			return declined(err)
		}
		return nil
	case w.Flags.Yes || !st.CanPrompt():
		return nil
	}
	yes, err := st.Confirm(ctx, question)
	if err != nil || !yes {
		return declined(err)
	}
	return nil
}

// Waits says that Ready waits for groups.
func (w *Flags) Waits() bool { return w.wait > 0 && w.Execute }

// Ready waits until the groups are free, before a plan is made: a group in use moves its own commits.
func (w *Flags) Ready(ctx context.Context, s *cli.Session, groups []string) error {
	if !w.Waits() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.wait, errStillBusy)
	defer cancel()
	said := ""
	err := reset.WaitEmpty(ctx, s.Client, groups, func(still []string) {
		if now := strings.Join(still, "; "); now != said {
			said = now
			s.App.Streams.Note("waiting: %s", now)
		}
	})
	if errors.Is(err, errStillBusy) {
		if said == "" {
			said = "whether the group is empty could not be read"
		}
		hint := "stop the members, or wait longer; nothing was changed"
		if errors.Is(err, reset.ErrOpenTransaction) {
			hint = hintTransaction
		}
		return cli.Faultf(offset.KindRefused, hint, "still in use after %s: %s", offset.FormatDuration(w.wait), said)
	}
	return err
}

var errStillBusy = errors.New("still in use")

// evictMembers removes static members after the plan was agreed to.
func (w *Run) evictMembers(ctx context.Context) error {
	if !w.Flags.Evict {
		return nil
	}
	pctx, cancel := w.S.Phase(ctx, "evict the members")
	defer cancel()
	evicted, err := w.evictAll(pctx)
	if err == nil {
		err = cli.Cause(pctx, reset.WaitEmpty(pctx, w.S.Client, w.groupNames(), func([]string) {}))
	}
	if err != nil || len(evicted) == 0 {
		return err
	}
	w.App.Streams.Note("watching for %s whether a member comes back", offset.FormatDuration(w.Flags.evictFor))
	if err := reset.StayEmpty(ctx, w.S.Client, evicted, w.Flags.evictFor); err != nil {
		code, _ := cli.Classify(err)
		if back := new(reset.CameBackError); errors.As(err, &back) {
			code = offset.KindRefused
		}
		return &cli.Fault{Kind: code, Err: fmt.Errorf("%s: %w; no offset was changed", w.Built.Plan.Verb, err), Hint: "stop it first"}
	}
	return nil
}

// evictAll sends the static members of the plan's groups away, and returns the groups that had any.
func (w *Run) evictAll(ctx context.Context) (evicted []string, err error) {
	ds, err := inspect.DescribeNamed(ctx, w.S.Client, w.groupNames())
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	for _, name := range w.groupNames() {
		d := ds[name]
		if len(d.Members) == 0 {
			continue
		}
		gone, err := reset.Evict(ctx, w.S.Client, d)
		for _, m := range gone {
			w.App.Streams.Note("group %s: evicted %s", offset.NameText(name), m.Where())
		}
		evicted = append(evicted, name)
		if err != nil {
			return nil, &cli.Fault{Kind: offset.KindRefused, Err: fmt.Errorf("%s %s: %w; no offset was changed", w.Built.Plan.Verb, offset.NameText(name), err)}
		}
	}
	return evicted, nil
}

// refused ends a plan with rows that have no target.
func (w *Run) refused(sum reset.Summary) error {
	// Partitions of a topic with the same reason are one line: a topic of a hundred partitions would bury the others.
	type reason struct{ group, topic, text string }
	var order []reason
	parts := map[reason][]int32{}
	hint := ""
	for _, c := range w.Built.Plan.Changes {
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
		errs = append(errs, fmt.Errorf("%s %s: %s:%s: %s", w.Built.Plan.Verb, offset.NameText(k.group), k.topic, offset.FormatPartitionSet(parts[k]), k.text))
		said += len(parts[k])
	}
	if n := sum.Refused - said; n > 0 {
		errs = append(errs, fmt.Errorf("and %s more, all in the rows", text.Count(n)))
	}
	if hint == "" {
		return cli.Saying(&cli.Fault{Kind: offset.KindRefused, Err: errors.Join(errs...)}, unchanged)
	}
	return &cli.Fault{Kind: offset.KindRefused, Err: errors.Join(errs...), Hint: hint + "; nothing was changed"}
}

// NotApplied turns an error of Apply, after which nothing was changed, into its status.
func (w *Run) NotApplied(ctx context.Context, err error) error {
	var drift *reset.DriftError
	var journal *reset.JournalError
	switch {
	case errors.As(err, &drift):
		var errs []error
		for _, d := range drift.Drifts[:min(5, len(drift.Drifts))] {
			errs = append(errs, errors.New(driftText(w.Built.Plan.Verb, d)))
		}
		if n := len(drift.Drifts) - len(errs); n > 0 {
			errs = append(errs, fmt.Errorf("and %d more", n))
		}
		code, hint := offset.KindRefused, hintDrift
		switch {
		case drift.Has(reset.DriftActive):
			hint = hintStop
		case drift.Has(reset.DriftGroup):
			code, hint = offset.KindNotFound, "make a new plan with --create; nothing was changed"
		case drift.Has(reset.DriftHidden):
			hint = "plan it again as this user, or with --allow-hidden; nothing was changed"
		case drift.Has(reset.DriftUnstable):
			hint = "wait until the transaction ends, or add --wait-empty 60s; nothing was changed"
		case drift.Has(reset.DriftCluster):
			if hint = hintOtherCluster; w.Built.Plan.Verb == "undo" {
				hint = hintUndoneThere
			}
		case drift.Has(reset.DriftTopic):
			hint = ""
			if hasOrigin(drift) {
				hint = hintOtherTopic
			}
		case drift.Has(reset.DriftBounds) && !drift.Has(reset.DriftCommit):
			hint = "make a new plan, or add --out-of-range clamp or skip; nothing was changed"
		case cli.Denied(err):
			code, hint = offset.KindDenied, ""
		}
		f := &cli.Fault{Kind: code, Err: joined(errs), Hint: hint, Moved: code == offset.KindRefused && !drift.Has(reset.DriftCluster)}
		if hint == "" {
			return cli.Saying(f, unchanged)
		}
		return f
	case errors.As(err, &journal):
		return &cli.Fault{Kind: offset.KindRefused, Err: err, Hint: "choose another folder with --state-dir"}
	}
	return cli.Cause(ctx, err)
}

// hasOrigin says that offsets of another log are among what a plan met, and not only a topic that is gone.
func hasOrigin(err error) bool {
	var o *offset.OriginError
	return errors.As(err, &o)
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
		return fmt.Sprintf("%s %s: %s: %s", verb, offset.NameText(d.Group), d.Key.Partition, d.Text)
	case d.Kind != reset.DriftCluster:
		return fmt.Sprintf("%s %s: %s", verb, offset.NameText(d.Group), d.Text)
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

// failGroup says why a group was left out. later are those that are still to be named: what helps with all of them is said once, at
// the last.
func (w *Run) failGroup(ctx context.Context, g *reset.GroupError, later ...*reset.GroupError) {
	f := render.Failure{Err: fmt.Errorf("%s %s: %s", w.Built.Plan.Verb, offset.NameText(g.Group), groupText(g.Err)), Kind: kindOf([]*reset.GroupError{g})}
	var missing *reset.NotFoundError
	var drift *reset.DriftError
	switch {
	case errors.As(g.Err, &missing) && missing.What == "group":
		f.Hint = w.S.GroupHint(ctx, w.Built.Plan.Verb, missing.Name, w.Known)
		if w.Built.Plan.Verb == "reset" && f.Hint == cli.ListGroupsHint {
			f.Hint += "; --create makes a new one"
		}
	case errors.As(g.Err, &missing) && missing.What == "topic":
		f.Hint = w.S.TopicHint(ctx, missing.Name)
	case errors.As(g.Err, &drift) && drift.Has(reset.DriftActive):
		f.Hint = "stop them, or add --wait-empty 60s; nothing of this group was changed"
	case errors.Is(g, reset.ErrCountsFromEmpty):
		if !slices.ContainsFunc(later, func(l *reset.GroupError) bool { return errors.Is(l, reset.ErrCountsFromEmpty) }) {
			f.Hint = "--for 30d gives commits an expiry of their own, which Kafka goes by whatever became of the group's members"
		}
	case cli.Denied(g.Err):
		f.Hint = cli.RightsHint(g.Err)
	}
	w.App.Streams.Fail(f)
}

// writePlan saves the plan where --plan-out says so.
func (w *Run) writePlan() error {
	if w.Flags.PlanOut == "" {
		return nil
	}
	h := checkpointfile.Header{Version: w.App.Version, CreatedAt: w.App.Now()}
	data, err := checkpointfile.EncodePlan(h, w.Built.Plan)
	if err == nil {
		err = w.App.WriteFile(w.Flags.PlanOut, data)
	}
	if err != nil {
		return fmt.Errorf("--plan-out: %w", err)
	}
	if cli.IsStdout(w.Flags.PlanOut) {
		return nil
	}
	w.App.Streams.Note("plan %s is in %s: %s", w.Built.Plan.ID(), w.Flags.PlanOut, w.App.Again("apply", w.Flags.PlanOut))
	return nil
}
