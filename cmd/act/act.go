// Package act takes a plan from its first showing to its end: shows it, checks the guard rails, asks, applies it, reads
// back and reports. Every command that changes offsets goes through it.
package act

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// Flags are the flags of every command that changes offsets.
type Flags struct {
	Out        cli.OutputFlag
	Execute    bool
	dryRun     bool
	Yes        bool
	confirm    string
	PlanOut    string
	waitEmpty  string
	settle     string
	impact     bool
	AllowDrift bool
	Evict      bool
	evict      string

	Format    render.Format
	wait      time.Duration
	settleFor time.Duration
	evictFor  time.Duration
	impactSet bool
}

// Add adds the flags that every such command has; extra are formats of its own.
func (w *Flags) Add(c *cobra.Command, extra ...render.Format) {
	w.Out.Add(c, extra...)
	f := c.Flags()
	f.BoolVar(&w.Execute, "execute", false, "do it; without this flag nothing is changed")
	f.BoolVar(&w.dryRun, "dry-run", false, "show what would be done (what happens without --execute too)")
	f.BoolVarP(&w.Yes, "yes", "y", false, "do not ask on a terminal")
	f.StringVar(&w.confirm, "confirm", "", "the `CLUSTER-ID`, where the profile wants it confirmed")
	f.StringVar(&w.waitEmpty, "wait-empty", "", "before executing, wait up to this `DURATION` until the group has no members and no open transaction")
	f.StringVar(&w.settle, "settle", "", "after executing, watch for this `DURATION` whether another client overwrites the offsets")
}

// AddPlanOut adds --plan-out.
func (w *Flags) AddPlanOut(c *cobra.Command) {
	c.Flags().StringVar(&w.PlanOut, "plan-out", "", "write the plan to a `FILE` that koffset apply takes")
}

// AddImpact adds --impact.
func (w *Flags) AddImpact(c *cobra.Command) {
	c.Flags().BoolVar(&w.impact, "impact", false, "show the times at both ends, bytes and retention (by itself up to 200 partitions; --impact=false turns it off)")
}

// AddEvict adds the flags that send away what a stopped application left in a group.
func (w *Flags) AddEvict(c *cobra.Command) {
	c.Flags().BoolVar(&w.Evict, "evict", false, "remove static members that a stopped application left behind")
	c.Flags().StringVar(&w.evict, "evict-watch", "10s", "after evicting, watch for this `DURATION` whether a member comes back: then its application runs, and nothing is deleted")
}

// AddAllowDrift adds --allow-drift; what says what it accepts here.
func (w *Flags) AddAllowDrift(c *cobra.Command, what string) {
	c.Flags().BoolVar(&w.AllowDrift, "allow-drift", false, what)
}

// Parse reads the flags.
func (w *Flags) Parse(c *cobra.Command) error {
	var err error
	if w.Format, err = w.Out.Format(); err != nil {
		return err
	}
	if w.Execute && w.dryRun {
		return cli.Usagef("leave one of them out", "--execute and --dry-run were both given")
	}
	for _, d := range []struct {
		flag, text string
		to         *time.Duration
	}{{"wait-empty", w.waitEmpty, &w.wait}, {"settle", w.settle, &w.settleFor}, {"evict-watch", w.evict, &w.evictFor}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = offset.ParseDuration(d.text); err != nil {
			return cli.FlagFault("--"+d.flag, err)
		}
	}
	w.impactSet = c.Flags().Changed("impact")
	return nil
}

// Run takes a plan from its first showing to its end. Every command that changes offsets goes through it.
type Run struct {
	App   *cli.App
	S     *cli.Session
	Flags *Flags
	Built *reset.Built
	// Allowed and Whole are reset.Options'.
	Allowed reset.Allowed
	Whole   bool
	// Known are the names of all groups, for hints.
	Known []string
	// Wide says that several groups were asked for: Kafka's CSV then has the group's column.
	Wide bool

	// Effect says what the changed rows come to, where the plan knows better than by its numbers. Left counts rows that stay
	// as they are though nobody asked for that, so that the command is only partly done.
	Effect string
	Left   int
	// KeepFor is reset.Options'.
	KeepFor time.Duration

	impacts map[reset.Key]reset.Impact
	audited bool // a line in the audit log says what became of it
}

// Do shows the plan, and executes it where --execute says so. Whatever keeps it from being executed is in the audit log.
func (w *Run) Do(ctx context.Context) error {
	err := w.do(ctx)
	if err != nil {
		w.Refused(err)
	}
	return err
}

// Refused writes down that a command was not executed, once, unless what became of it is written down already.
func (w *Run) Refused(err error) {
	if w.audited || !w.Flags.Execute {
		return
	}
	var failed []error
	for _, g := range w.Built.Failed {
		failed = append(failed, g)
	}
	if all := errors.Join(failed...); all != nil {
		err = all // the command's own error only says that they were named
	}
	w.audit(nil, "refused", err)
}

func (w *Run) do(ctx context.Context) error {
	verb := w.Built.Plan.Verb
	if cli.IsStdout(w.Flags.PlanOut) {
		w.App.Streams.GiveOut()
	}
	for i, g := range w.Built.Failed {
		w.failGroup(ctx, g, w.Built.Failed[i+1:]...)
	}
	if len(w.Built.Plan.Groups) == 0 {
		if len(w.Built.Failed) == 0 {
			return w.nothing()
		}
		return cli.Quietly(kindOf(w.Built.Failed))
	}
	sum := reset.Summarize(w.Built.Plan)
	w.head(sum)
	if w.Flags.Execute {
		// What cannot be executed is not shown as if it could.
		if err := w.inUse(); err != nil {
			w.audit(nil, "refused", err)
			return err
		}
	}
	w.readImpact(ctx, sum)
	if sum.Refused > 0 {
		if err := w.print(nil, true); err != nil {
			return err
		}
		return w.refused(sum)
	}
	if err := w.writePlan(); err != nil {
		return err
	}
	if !w.Flags.Execute {
		return w.dry(sum)
	}
	if sum.Changed == 0 && !w.removes() {
		if err := w.print(nil, len(w.Built.Failed) > 0); err != nil {
			return err
		}
		if w.Left == 0 {
			w.App.Streams.Note("%s: %s; nothing was changed", verb, w.asRequested())
		}
		return w.partial()
	}
	return w.execute(ctx, sum)
}

// nothing is a plan without groups that failed nowhere: repair found nothing sick.
func (w *Run) nothing() error {
	w.notes()
	if err := w.print(nil, false); err != nil {
		return err
	}
	w.App.Streams.Note("nothing to %s", w.Built.Plan.Verb)
	return nil
}

// asRequested says why a plan changes nothing.
func (w *Run) asRequested() string {
	if w.Built.Plan.Verb == "delete" {
		return "nothing to delete: " + listed(w.groupNames()) + " has no commits there"
	}
	return "all offsets are already as requested"
}

// partial ends a run in which some groups were left out.
func (w *Run) partial() error {
	if len(w.Built.Failed) > 0 || w.Left > 0 {
		return cli.Quietly(offset.KindPartial)
	}
	return nil
}

// dry ends a run without --execute.
func (w *Run) dry(sum reset.Summary) error {
	if err := w.print(nil, len(w.Built.Failed) > 0); err != nil {
		return err
	}
	if err := w.guard(sum); err != nil {
		w.App.Streams.Warn("executing this would be refused: %v", err)
	}
	if sum.Changed == 0 && !w.removes() {
		if w.Left == 0 {
			w.App.Streams.Note("%s", w.asRequested())
		}
	} else if w.Flags.Format != render.KafkaCSV {
		w.App.Streams.Note("dry run: nothing was changed; add --execute to do it")
	}
	return w.partial()
}

func (w *Run) execute(ctx context.Context, sum reset.Summary) error {
	if err := w.guard(sum); err != nil {
		w.audit(nil, "refused", err)
		return cli.Saying(err, unchanged)
	}
	if err := w.auditReady(); err != nil {
		return err
	}
	shown := w.Flags.Format.IsTable()
	if shown {
		if err := w.showBefore(); err != nil {
			w.audit(nil, "refused", err)
			return err
		}
	}
	if err := w.ask(ctx, sum); err != nil {
		w.audit(nil, "refused", err)
		return err
	}
	if err := w.evictMembers(ctx); err != nil {
		w.audit(nil, "refused", err)
		return err
	}
	if err := w.Inactive(ctx); err != nil {
		err = w.NotApplied(ctx, err)
		w.audit(nil, "refused", err)
		return err
	}
	res, err := w.apply(ctx, sum)
	if err != nil {
		err = w.NotApplied(ctx, err)
		w.audit(nil, "refused", err)
		return err
	}
	return w.report(ctx, res, shown)
}

// showBefore prints the plan before it is carried out.
func (w *Run) showBefore() error {
	err := w.print(nil, len(w.Built.Failed) > 0)
	if err == nil {
		err = w.App.Streams.Flush()
	}
	if err != nil {
		// A reader that closed the pipe ends a command that only shows something well, but this one was to do something.
		return cli.Faultf(offset.KindFailed, "", "the plan could not be shown: %v; nothing was changed", err)
	}
	return nil
}

func (w *Run) apply(ctx context.Context, sum reset.Summary) (*reset.Result, error) {
	progress := w.App.Streams.Progress("writing offsets")
	progress.Set(0, int64(sum.Changed))
	defer progress.Stop()
	return reset.Apply(ctx, w.S.Client, w.Built.Plan, reset.Options{
		Allowed: w.Allowed, Whole: w.Whole, StateDir: w.S.Settings.StateDir, Operation: w.operation(), Version: w.App.Version, Clock: w.App.Now,
		Phase: w.S.Moving, KeepFor: w.KeepFor, Settle: w.Flags.settleFor, Settling: func() {
			w.App.Streams.Note("written and read back; watching for %s whether another client overwrites it", offset.FormatDuration(w.Flags.settleFor))
		}, Progress: func(n int) { progress.Add(int64(n)) },
	})
}

// report says what became of the plan. What was shown before is shown again only where a row did not end well.
func (w *Run) report(ctx context.Context, res *reset.Result, shown bool) error {
	for _, g := range res.Failed {
		w.failGroup(ctx, g)
	}
	w.failGroups(res)
	var unsaid error
	if bad := res.Bad() + len(badGroups(res)); !shown || bad > 0 {
		unsaid = w.print(res, bad > 0 || len(w.Built.Failed) > 0)
	}
	code := w.outcome(res)
	w.audit(res, auditWord(code, res), nil)
	w.said(res)
	switch {
	case unsaid != nil && !render.IsBrokenPipe(unsaid):
		return cli.Faultf(offset.KindPartial, "koffset undo lists what was done", "it was executed, and the rows could not be written: %w", unsaid)
	case code != offset.KindNone:
		return cli.Quietly(code)
	// What follows in a script must not take offsets that were not watched for quiet ones.
	case res.SettleErr != nil && ctx.Err() != nil:
		return cli.Quietly(offset.KindInterrupted)
	case res.SettleErr != nil:
		return cli.Quietly(offset.KindPartial)
	}
	return w.partial()
}

// outcome is the exit status of what was executed.
func (w *Run) outcome(res *reset.Result) offset.ErrorKind {
	failed := append(append([]*reset.GroupError{}, w.Built.Failed...), res.Failed...)
	all := append(asRows(res.Groups), res.Rows...)
	good, refused, failures, open := 0, 0, 0, 0
	for _, r := range all {
		switch r.Outcome {
		case reset.OutcomeChanged, reset.OutcomeUnchanged, reset.OutcomeDeleted:
			good++
		case reset.OutcomeRefused:
			refused++
		case reset.OutcomeFailed:
			failures++
		case reset.OutcomeUnknown, reset.OutcomeUnverified, reset.OutcomeDiffers, reset.OutcomeOverwritten:
			open++
		}
	}
	for _, g := range res.Groups {
		if g.Outcome == reset.OutcomeLeft {
			open++ // it was to be deleted
		}
	}
	bad := refused + failures
	switch {
	case open > 0:
		return offset.KindPartial
	case bad == 0 && len(failed) == 0:
		return offset.KindNone
	case good > 0 || bad == 0 && len(all) > 0:
		return offset.KindPartial
	case len(failed) > 0 && failures == 0:
		return kindOf(failed)
	}
	return rowsKind(all)
}

// operation says who does it.
func (w *Run) operation() checkpointfile.Operation {
	return checkpointfile.Operation{Command: w.App.CommandLine(), User: UserName(w.App), Host: HostName(),
		Profile: w.S.Settings.Profile, Brokers: w.S.Settings.Brokers}
}
