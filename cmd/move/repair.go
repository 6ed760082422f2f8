package move

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/completions"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

type repairOptions struct {
	app       *cli.App
	write     act.Flags
	scope     scopeFlags
	isolation string
	words     map[string]*string
	mends     reset.Mends
	req       reset.Request
}

// mendFlag is one kind of sickness and the ways to mend it, the default first.
type mendFlag struct {
	name, about string
	allowed     []reset.Mend
	to          func(*reset.Mends) *reset.Mend
}

func mendFlags() []mendFlag {
	return []mendFlag{
		{"past-end", "a commit past the log end", []reset.Mend{reset.MendEnd, reset.MendStart, reset.MendDelete, reset.MendLeave}, func(m *reset.Mends) *reset.Mend { return &m.PastEnd }},
		{"below-start", "a commit below the log start", []reset.Mend{reset.MendStart, reset.MendEnd, reset.MendDelete, reset.MendLeave}, func(m *reset.Mends) *reset.Mend { return &m.BelowStart }},
		{"negative", "a commit that is not a valid offset", []reset.Mend{reset.MendDelete, reset.MendStart, reset.MendEnd, reset.MendLeave}, func(m *reset.Mends) *reset.Mend { return &m.Negative }},
		{"gone", "a commit on a topic or partition that does not exist", []reset.Mend{reset.MendDelete, reset.MendLeave}, func(m *reset.Mends) *reset.Mend { return &m.Gone }},
		{"newer-epoch", "a commit whose leader epoch the log never had", []reset.Mend{reset.MendClear, reset.MendLeave}, func(m *reset.Mends) *reset.Mend { return &m.NewerEpoch }},
		{"no-commit", "no commit, where the group commits elsewhere on the topic", []reset.Mend{reset.MendStart, reset.MendEnd, reset.MendLeave}, func(m *reset.Mends) *reset.Mend { return &m.NoCommit }},
	}
}

// NewRepair is the command repair.
func NewRepair(a *cli.App) *cobra.Command {
	o := &repairOptions{app: a, words: map[string]*string{}}
	c := &cobra.Command{
		Use: "repair [GROUP…]", GroupID: "move",
		Short: "Find invalid commits and plan their repair",
		Long: `Looks for commits past the log end, below the log start, negative, on topics or partitions that are gone, with a leader
epoch that the log never had, and for partitions without a commit on topics that the group commits to. Without a group it
looks at all of them. The plan goes through the same checks, journal and undo as a reset, and nothing is changed without
--execute. The defaults lose nothing that can still be read.` + cli.ExitStatus(
			"  1  failed: the broker refused every row",
			"  3  refused by a safety check, or declined; nothing was changed",
			"  4  partly done or partly known; the rows say which",
			"  5  no such group or topic"),
		Example: `  koffset repair
  koffset repair billing --past-end start
  koffset repair billing --execute`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE:              a.Connected(o.parse, carriedOut(&o.write, &o.scope, "repair", o.prepare)),
	}
	o.write.Add(c, render.KafkaCSV)
	o.write.AddPlanOut(c)
	o.write.AddImpact(c)
	o.scope.add(c)
	c.Flags().StringVar(&o.isolation, "isolation", "read_uncommitted", "which end counts: read_uncommitted or read_committed")
	for _, m := range mendFlags() {
		var words []string
		text := m.about + ": `" + string(m.allowed[0]) + "`"
		for i, w := range m.allowed {
			words = append(words, string(w))
			switch {
			case i == 0:
			case i == len(m.allowed)-1:
				text += " or " + string(w)
			default:
				text += ", " + string(w)
			}
		}
		o.words[m.name] = c.Flags().String(m.name, string(m.allowed[0]), text)
		_ = c.RegisterFlagCompletionFunc(m.name, completions.Words(words...))
	}
	return c
}

func (o *repairOptions) parse(c *cobra.Command, args []string) error {
	if err := o.write.Parse(c); err != nil {
		return err
	}
	o.scope.groups.Names = append(args, o.scope.groups.Names...)
	if err := o.scope.parse(o.app, c, nil); err != nil {
		return err
	}
	if !o.scope.anyGroup() {
		o.scope.groups.All = true
	}
	iso, err := offset.ParseIsolation(o.isolation)
	if err != nil {
		return err
	}
	o.mends = reset.DefaultMends()
	for _, m := range mendFlags() {
		if *m.to(&o.mends), err = offset.ParsePolicy("--"+m.name, *o.words[m.name], m.allowed...); err != nil {
			return err
		}
	}
	scope, named, err := o.scope.scope()
	if err != nil {
		return err
	}
	if !named {
		scope.All = true
	}
	o.req = reset.Request{Verb: "repair", Asked: "repair", Task: reset.Task{Repair: &o.mends}, Scope: scope, Rules: offset.Rules{Isolation: iso},
		Position: offset.Position{Kind: offset.Earliest}}
	return nil
}

// prepare chooses the groups, waits for them, and makes the plan.
func (o *repairOptions) prepare(ctx context.Context, s *cli.Session) (*act.Run, error) {
	known, err := o.scope.chooseFor(ctx, s, &o.req)
	if err != nil {
		return nil, err
	}
	built, err := makePlan(ctx, s, &o.req)
	if err != nil {
		return nil, err
	}
	// Only groups with something to repair are waited for; what they commit until then makes another plan.
	if names := planned(built); len(names) > 0 && o.write.Waits() {
		if err := o.write.Ready(ctx, s, names); err != nil {
			return nil, err
		}
		if built, err = makePlan(ctx, s, &o.req); err != nil {
			return nil, err
		}
	}
	return &act.Run{App: o.app, S: s, Flags: &o.write, Built: built, Known: known, Wide: o.scope.several()}, nil
}

// planned are the groups of a plan.
func planned(b *reset.Built) []string {
	var out []string
	for _, g := range b.Plan.Groups {
		out = append(out, g.Name)
	}
	return out
}
