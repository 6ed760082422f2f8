package move

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

type deleteOptions struct {
	app   *cli.App
	write act.Flags
	scope scopeFlags
	only  cli.OnlyFlag
	dead  deadFlags
	req   reset.Request

	takeHidden bool
}

// NewDelete is the command delete.
func NewDelete(a *cli.App) *cobra.Command {
	o := &deleteOptions{app: a}
	c := &cobra.Command{
		Use: "delete GROUP…", GroupID: "move",
		Short: "Delete a group, or with --topic some of its offsets",
		Long: `Without --topic: the group with everything it stored. With --topic, or --all-topics: only those offsets; their reader
then starts where its own auto.offset.reset says. What was stored goes to the undo journal first, and koffset undo commits it
again. A group with members is refused.

The broker leaves out commits on topics that you may not describe. Where there may be such, the commits that can be seen are
deleted one by one, and the group itself is left (status 4); --allow-hidden deletes it, and what was hidden is not in the journal.

--evict removes static members (group.instance.id) that a stopped application left behind, before it deletes, and watches
whether one comes back, since its application then runs; dynamic members are never removed. Nothing is changed, and nobody evicted, without --execute.

--inactive 30d, --state Empty and --topic-gone clean up: of the groups that are named or matched, only those that are all of it. When a
group last committed is read from __consumer_offsets. A group that may be in use, or of which that is not known, is left and named.` + cli.ExitStatus(
			"  1  failed: the broker refused every row",
			"  3  refused: the group is in use, or declined; nothing was changed",
			"  4  partly done or partly known; the rows say which",
			"  5  no such group, topic or partition"),
		Example: `  koffset delete old-billing
  koffset delete old-billing --execute
  koffset delete billing --topic orders:3 --execute
  koffset delete --all-groups --inactive 30d --state Empty`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE:              a.Connected(o.parse, carriedOut(&o.write, &o.scope, "delete", o.prepare)),
	}
	o.write.Add(c)
	o.write.AddPlanOut(c)
	o.scope.add(c)
	o.only.Add(c)
	o.dead.add(c)
	o.write.AddEvict(c)
	c.Flags().BoolVar(&o.takeHidden, "allow-hidden", false, "delete the group although it may have commits on topics that you may not describe")
	return c
}

func (o *deleteOptions) parse(c *cobra.Command, args []string) error {
	if err := o.write.Parse(c); err != nil {
		return err
	}
	if err := o.scope.parse(o.app, c, args); err != nil {
		return err
	}
	if err := o.only.Check(); err != nil {
		return err
	}
	if !o.scope.anyGroup() {
		return cli.Usagef("koffset delete GROUP", "which group? none was given")
	}
	scope, named, err := o.scope.scope()
	if err != nil {
		return err
	}
	if !named && (o.only != "" || len(o.scope.topics.Exclude) > 0) {
		return cli.Usagef("add --all-topics", "some offsets were chosen, and no topics")
	}
	if err := o.dead.parse(!named); err != nil {
		return err
	}
	o.req = reset.Request{Verb: "delete", Asked: "delete", Task: reset.Task{Delete: true, Whole: !named, TakeHidden: o.takeHidden}, Scope: scope, Only: reset.Only(o.only),
		Position: offset.Position{Kind: offset.Earliest}}
	if !named {
		o.req.Scope = reset.Scope{All: true}
	}
	return nil
}

// prepare chooses the groups, waits for them, and makes the plan.
func (o *deleteOptions) prepare(ctx context.Context, s *cli.Session) (*act.Run, error) {
	known, err := o.scope.chooseFor(ctx, s, &o.req)
	if err != nil {
		return nil, err
	}
	if !o.dead.any() { // which groups are waited for is not known before it is known which are dead, and those have no members
		if err := o.write.Ready(ctx, s, groupsOf(o.req.Groups)); err != nil {
			return nil, err
		}
	}
	built, err := makePlan(ctx, s, &o.req)
	if err != nil {
		return nil, err
	}
	if o.dead.any() {
		if err := o.dead.onlyDead(ctx, s, built, o.req.Patterned); err != nil {
			return nil, err
		}
	}
	return &act.Run{App: o.app, S: s, Flags: &o.write, Built: built, Known: known, Wide: o.scope.several()}, nil
}
