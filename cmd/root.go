package cmd

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/carry"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/cmd/look"
	"github.com/koffset/koffset/cmd/monitor"
	"github.com/koffset/koffset/cmd/move"
	"github.com/koffset/koffset/cmd/read"
	"github.com/koffset/koffset/cmd/setup"
	"github.com/koffset/koffset/cmd/state"
	"github.com/koffset/koffset/internal/render"
)

// Root is the whole command tree, for programs that document it.
func Root(app cli.App) *cobra.Command {
	if app.Streams == nil {
		app.Streams = &render.Streams{Out: io.Discard, Err: io.Discard}
	}
	app.Fill()
	return newRoot(&app)
}

func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "koffset",
		Short: "Look at, move and carry the offsets of Apache Kafka's consumer groups",
		Long: `koffset looks at the offsets of Apache Kafka's consumer groups (inspect, resolve), moves them
(reset, undo), carries them between clusters, and consumes from an exact place.

Nothing is changed that was not shown first: every command that writes is a dry run
without --execute. Data goes to stdout, everything else to stderr.` + cli.ExitStatus(
			"  0  done; a dry run that would change things too",
			"  1  failed",
			"  3  refused by a safety check, or declined; nothing was changed",
			"  4  partly done or partly known; the output says which rows",
			"  5  no such group or topic; find found nothing",
			"  8  a check did not hold"),
		Example: `  koffset demo                             see it work, without a cluster
  koffset -b kafka:9092 inspect            all groups in one screen
  koffset -b kafka:9092 inspect billing    the partitions of one group
  koffset -b kafka:9092 resolve orders --to @-2h`,
		SilenceUsage: true, SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, a.Args, args)
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return begin(a, cmd) },
	}
	root.SetOut(a.Streams.Out)
	root.SetErr(a.Streams.Err)
	root.SetIn(a.Streams.In)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.FlagError(cmd, a.Args, err) })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand(a))
	root.Version = setup.VersionLine(a)
	root.SetVersionTemplate("{{.Version}}")
	root.DisableAutoGenTag = true
	a.AddGlobalFlags(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: "look", Title: "Look and ask:"},
		&cobra.Group{ID: "move", Title: "Move:"},
		&cobra.Group{ID: "carry", Title: "Carry and consume:"},
		&cobra.Group{ID: "other", Title: "Set up and learn:"},
	)
	root.SetHelpCommandGroupID("other")
	for _, c := range commands(a) {
		a.CompleteFlags(c)
		root.AddCommand(c)
	}
	a.CompleteGlobals(root)
	tidyUsage(root)
	return root
}

// begin is what every command does before it runs: how its output looks, and that a wait is shown.
func begin(a *cli.App, cmd *cobra.Command) error {
	mode, err := render.ParseColour(a.Global.Color)
	if err != nil {
		return cli.Usagef("", "--color %w", err)
	}
	a.Streams.SetColour(mode)
	a.Streams.SetPager(!a.Global.NoPager)
	if f := cmd.Flags().Lookup("output"); f != nil {
		a.Streams.ErrorsAsJSON(f.Value.String() == "json" || f.Value.String() == "jsonl")
	}
	a.Started = true
	if !runsOn(cmd) {
		a.Waiting = a.Streams.Waiting(strings.TrimPrefix(cmd.CommandPath(), "koffset "))
	}
	return cli.RefuseEmpty(cmd)
}

// runsOn says that a command stays until it is ended, or shows by itself what it does.
func runsOn(cmd *cobra.Command) bool {
	switch cmd.Name() {
	case "watch", "serve", "sandbox", "demo", "consume", "sync", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return true
	}
	return false
}

// helpCommand is cobra's, but a name that is no command's is an error: its own prints the root's help and succeeds.
func helpCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", GroupID: "other", Short: "Help about a command",
		Long: "The help of a command: koffset help reset, koffset help migrate import.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cli.UnknownCommand(cmd.Root(), args, args)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			c, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []cobra.Completion
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), word) {
					out = append(out, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// commands are all commands, in the order of the help.
func commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		look.NewInspect(a), look.NewResolve(a), look.NewFind(a), look.NewHistory(a), monitor.NewWatch(a), monitor.NewCheck(a), monitor.NewServe(a),
		move.NewReset(a), move.NewApply(a), move.NewUndo(a), move.NewDelete(a), move.NewRepair(a), move.NewKeep(a),
		carry.NewMigrate(a), carry.NewSplit(a), state.NewCheckpoint(a), read.NewConsume(a),
		setup.NewProfile(a), setup.NewSandbox(a), setup.NewDemo(a, Run), setup.NewCompletion(a), setup.NewVersion(a),
	}
}
