package move

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

type applyOptions struct {
	app        *cli.App
	write      act.Flags
	outOfRange string
	rule       offset.OutOfRange
	plan       *reset.Plan
}

// NewApply is the command apply.
func NewApply(a *cli.App) *cobra.Command {
	o := &applyOptions{app: a}
	c := &cobra.Command{
		Use: "apply PLAN", GroupID: "move",
		Short: "Apply a saved plan exactly, if nothing has changed since",
		Long: `Applies a plan that --plan-out wrote: exactly its numbers, if the cluster, the topics, the commits and the log still fit.
One row that does not refuses the plan. A row that stands where the plan wants it already is done, so a second run
finishes what the first one left. Nothing is changed without --execute.` + cli.ExitStatus(
			"  1  failed: the broker refused every row",
			"  3  refused: something moved since the plan was made, or declined; nothing was changed",
			"  4  partly done or partly known; the rows say which",
			"  5  a group of the plan does not exist any more"),
		Example: `  koffset reset billing --topic orders --to-earliest --plan-out plan.json
  koffset apply plan.json
  koffset apply plan.json --execute`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.OneFile,
		RunE:              a.Connected(o.parse, o.run),
	}
	o.write.Add(c)
	o.write.AddImpact(c)
	o.write.AddAllowDrift(c, "accept commits that moved since the plan was made; nothing else is accepted")
	c.Flags().StringVar(&o.outOfRange, "out-of-range", "fail", "a target that is outside the log by now: `fail`, clamp or skip")
	return c
}

func (o *applyOptions) parse(c *cobra.Command, args []string) error {
	if err := o.write.Parse(c); err != nil {
		return err
	}
	if len(args) == 0 || args[0] == "" {
		return cli.Usagef("koffset apply plan.json", "which plan? none was given")
	}
	var err error
	if o.rule, err = offset.ParsePolicy("--out-of-range", o.outOfRange, offset.OutOfRangeFail, offset.OutOfRangeClamp, offset.OutOfRangeSkip); err != nil {
		return err
	}
	o.plan, err = o.read(args[0])
	return err
}

func (o *applyOptions) read(name string) (*reset.Plan, error) {
	data, err := o.app.ReadFile(name)
	if err != nil {
		return nil, cli.Usagef("", "%w", err)
	}
	p, _, err := checkpointfile.DecodePlan(name, data)
	if err != nil {
		return nil, cli.FileFault(err)
	}
	return p, nil
}

func (o *applyOptions) run(ctx context.Context, s *cli.Session) error {
	p := o.plan
	var names []string
	for _, g := range p.Groups {
		names = append(names, g.Name)
	}
	if err := o.write.Ready(ctx, s, names); err != nil {
		return o.write.NotPlanned(o.app, s, p.Verb, names, err)
	}
	w := &act.Run{App: o.app, S: s, Flags: &o.write, Built: &reset.Built{Plan: p}, Whole: true,
		Allowed: reset.Allowed{Commits: o.write.AllowDrift, OutOfRange: o.rule}}
	// The same check that executing makes: what would be refused is refused now, and members are only warned about.
	ctx2, cancel := s.Phase(ctx, "check the plan against the cluster")
	defer cancel()
	checked, err := reset.Recheck(ctx2, s.Client, p, w.Allowed)
	if err != nil {
		return o.write.NotPlanned(o.app, s, p.Verb, names, cli.Cause(ctx2, err))
	}
	w.Built.Said = checked.Said
	var hard []reset.Drift
	for _, d := range checked.Drifts {
		if d.Kind == reset.DriftActive {
			w.Built.Notes = append(w.Built.Notes, reset.Note{Group: d.Group, Kind: reset.NoteActive, Text: d.Text})
			continue
		}
		hard = append(hard, d)
	}
	if len(hard) > 0 {
		err := w.NotApplied(ctx2, &reset.DriftError{Drifts: hard})
		w.Refused(err)
		return err
	}
	if err := w.Inactive(ctx); err != nil {
		err = w.NotApplied(ctx, err)
		w.Refused(err)
		return err
	}
	// Shown as it would be applied now: a row that stands right already says so. The digest stays the reviewed plan's.
	now := *p
	now.Changes = checked.Rows
	w.Built.Plan = &now
	return w.Do(ctx)
}
