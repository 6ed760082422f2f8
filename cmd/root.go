package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// Root is the whole command tree, for programs that document it.
func Root(app App) *cobra.Command {
	if app.Streams == nil {
		app.Streams = &render.Streams{Out: io.Discard, Err: io.Discard}
	}
	app.fill()
	return newRoot(&app)
}

func newRoot(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "koffset",
		Short: "Look at, move and carry the offsets of Apache Kafka's consumer groups",
		Long: `koffset looks at the offsets of Apache Kafka's consumer groups (inspect, resolve), moves them
(reset, undo), carries them between clusters, and consumes from an exact place.

Nothing is changed that was not shown first: every command that writes is a dry run
without --execute. Data goes to stdout, everything else to stderr.`,
		Example: `  koffset demo                             see it work, without a cluster
  koffset -b kafka:9092 inspect            all groups in one screen
  koffset -b kafka:9092 inspect billing    the partitions of one group
  koffset -b kafka:9092 resolve orders --to @-2h`,
		SilenceUsage: true, SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			mode, err := render.ParseColour(a.global.color)
			if err != nil {
				return usagef("", "%w", err)
			}
			a.Streams.SetColour(mode)
			if f := cmd.Flags().Lookup("output"); f != nil {
				a.Streams.ErrorsAsJSON(f.Value.String() == "json" || f.Value.String() == "jsonl")
			}
			a.started = true
			return nil
		},
	}
	root.SetOut(a.Streams.Out)
	root.SetErr(a.Streams.Err)
	root.SetIn(a.Streams.In)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.CompletionOptions.DisableDefaultCmd = true
	root.DisableAutoGenTag = true
	a.addGlobalFlags(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: "look", Title: "Look and ask:"},
		&cobra.Group{ID: "move", Title: "Move:"},
		&cobra.Group{ID: "carry", Title: "Carry and consume:"},
		&cobra.Group{ID: "other", Title: "Set up and learn:"},
	)
	root.SetHelpCommandGroupID("other")
	for _, c := range a.commands() {
		a.completeFlags(c)
		root.AddCommand(c)
	}
	a.completeGlobals(root)
	tidyUsage(root)
	return root
}

// commands are all commands, in the order of the help.
func (a *App) commands() []*cobra.Command {
	return []*cobra.Command{
		newInspect(a), newResolve(a), newWatch(a), newCheck(a), newServe(a),
		newReset(a), newApply(a), newUndo(a), newDelete(a), newRepair(a),
		newMigrate(a), newSplit(a), newCheckpoint(a), newConsume(a),
		newProfile(a), newSandbox(a), newDemo(a, Run), newCompletion(a), newVersion(a),
	}
}

func (a *App) addGlobalFlags(f *pflag.FlagSet) {
	g := &a.global
	f.StringSliceVarP(&g.brokers, "bootstrap-server", "b", nil, "brokers to start from, `HOST:PORT,…`")
	f.StringVar(&g.profile, "profile", "", "`NAME` of the profile to use")
	f.StringVar(&g.config, "config", "", "configuration `FILE` (default: $XDG_CONFIG_HOME/koffset/config.yaml)")
	f.StringVar(&g.commandConfig, "command-config", "", "an ordinary Java client .properties `FILE`")
	f.StringArrayVarP(&g.x, "set", "X", nil, "one setting, `KEY=VALUE`; repeatable")
	f.StringVar(&g.timeout, "timeout", "30s", "bound of each phase that talks to Kafka, a `DURATION` such as 30s")
	f.StringVar(&g.tz, "tz", "UTC", "time `ZONE` of times that name none, such as Europe/Berlin")
	f.StringVar(&g.stateDir, "state-dir", "", "`DIR` of the undo journal and the audit log (default: $XDG_STATE_HOME/koffset)")
	f.StringVar(&g.color, "color", "auto", "auto, always or never")
	f.BoolVarP(&g.verbose, "verbose", "v", false, "log brokers, retries and requests to stderr")
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	hint := "see koffset --help"
	if own, ok := foreignCommands()[name]; ok {
		hint = own
	} else if near := offset.Near(name, known); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef(hint, "unknown command %q", name)
}

// foreignCommands are words of other tools, with ours.
func foreignCommands() map[string]string {
	return map[string]string{
		"describe": "koffset inspect GROUP", "list": "koffset inspect", "ls": "koffset inspect", "groups": "koffset inspect", "group": "koffset inspect GROUP",
		"lag": "koffset inspect GROUP", "seek": "koffset reset GROUP --to POSITION", "rewind": "koffset reset GROUP --to POSITION", "offsets": "koffset resolve TOPIC",
		"get-offsets": "koffset resolve TOPIC", "rollback": "koffset undo", "delete-offsets": "koffset delete GROUP --topic TOPIC",
		"monitor": "koffset watch", "export": "koffset migrate export", "import": "koffset migrate import",
	}
}

// foreignFlags are flags of other tools, with our spelling.
func foreignFlags() map[string]string {
	return map[string]string{
		"describe": "koffset inspect GROUP", "list": "koffset inspect", "reset-offsets": "koffset reset GROUP --to-earliest (or another position)",
		"delete-offsets": "koffset delete GROUP --topic TOPIC", "delete": "koffset delete GROUP", "to-file": "--plan-out FILE saves a plan",
		"e": "--execute", "members": "koffset inspect GROUP --by member", "verbose": "-o wide", "offsets": "koffset inspect GROUP",
		"from-beginning": "--from earliest", "format": "-o FORMAT", "oldest": "--to-earliest", "newest": "--to-latest", "regex": "--group-match REGEX",
		"yaml": "-o json", "time": "--to @TIME", "broker-list": "-b HOST:PORT", "brokers": "-b HOST:PORT", "bootstrap-servers": "-b HOST:PORT",
	}
}

func flagError(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if own, ok := foreignFlags()[name]; ok {
			hint = "here it is " + own
		} else {
			var known []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
			if near := offset.Near(name, known); len(near) > 0 && len(name) > 1 { // a letter is near to everything
				hint = "did you mean --" + near[0] + "?"
			}
		}
	}
	return usagef(hint, "%s: %w", cmd.CommandPath(), err)
}

// exitStatus is the end of a command's help.
func exitStatus(lines ...string) string {
	return "\n\nExit status:\n  0  done\n  2  usage or configuration\n" + strings.Join(lines, "\n") +
		"\n  6  unreachable or timed out\n  7  not authenticated or not authorised\n  130, 143  interrupted"
}
