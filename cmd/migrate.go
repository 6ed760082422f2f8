package cmd

// migrate: a group's offsets on another cluster. This file holds what its commands share.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

func newMigrate(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "migrate", GroupID: "carry",
		Short: "Carry a group's offsets to another cluster, where the same records have other offsets",
		Long: `export writes where groups stand, with fingerprints of the records around each position; import finds the same
records on the other cluster and plans the group's offsets there; verify compares both clusters; sync does it again and
again. A record is never skipped without being asked for: every row says exact, at-most-N-again, unproven or unresolved.`,
		Example: `  koffset --profile old migrate export billing --out billing.jsonl
  koffset --profile new migrate import billing.jsonl
  koffset --profile new migrate import billing.jsonl --execute
  koffset --profile new migrate verify billing --source-profile old`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range []*cobra.Command{newMigrateExport(a), newMigrateImport(a), newMigrateVerify(a), newMigrateSync(a)} {
		c.AddCommand(sub)
	}
	return c
}

// sourceFlags name the cluster that offsets come from, where a command talks to two.
type sourceFlags struct {
	profile string
	brokers []string
	config  string
}

func (f *sourceFlags) add(fs *pflag.FlagSet, what string) {
	fs.StringVar(&f.profile, "source-profile", "", "`NAME` of the profile of the source cluster"+what)
	fs.StringSliceVar(&f.brokers, "source-bootstrap-server", nil, "brokers of the source cluster, `HOST:PORT,…`"+what)
	fs.StringVar(&f.config, "source-command-config", "", "Java client .properties `FILE` of the source cluster"+what)
}

func (f *sourceFlags) given() bool { return f.profile != "" || len(f.brokers) > 0 || f.config != "" }

// connect opens the source cluster. Credentials of the target are not taken: only the named profile or file lends some.
func (f *sourceFlags) connect(ctx context.Context, a *App, cmd *cobra.Command) (*session, error) {
	s, err := f.settings(a, cmd)
	if err != nil {
		return nil, fmt.Errorf("the source cluster: %w", err)
	}
	sess, err := a.connectWith(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("the source cluster: %w", err)
	}
	return sess, nil
}

// inputs are where the settings of the source cluster come from.
func (f *sourceFlags) inputs(a *App, cmd *cobra.Command) conn.Inputs {
	in := a.inputs(cmd)
	in.Brokers, in.BrokersSet = f.brokers, len(f.brokers) > 0
	in.Profile, in.ProfileSet = f.profile, f.profile != ""
	in.CommandConfig, in.CommandConfigSet = f.config, f.config != ""
	in.X = nil
	// The environment names one cluster: the target's.
	in.Environ = slices.DeleteFunc(slices.Clone(in.Environ), func(e string) bool {
		return strings.HasPrefix(e, "KOFFSET_") && !strings.HasPrefix(e, "KOFFSET_CONFIG=")
	})
	return in
}

func (f *sourceFlags) settings(a *App, cmd *cobra.Command) (*conn.Settings, error) {
	s, err := conn.Load(f.inputs(a, cmd))
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		a.Streams.Warn("source: %s", w)
	}
	return s, nil
}

// twoClusters refuses to compare a cluster with itself under two names, which proves nothing.
func twoClusters(source, target *session, topicsRenamed bool) error {
	if source.cluster.ID != "" && source.cluster.ID == target.cluster.ID && !topicsRenamed {
		return usagef("--source-profile or --source-bootstrap-server names the source, the ordinary flags the target",
			"source and target are one cluster, %s", source.cluster.ID)
	}
	return nil
}

// mappingFlags say what topics and groups are called on the target.
type mappingFlags struct {
	topics, groups []string
	mm2Source      string
}

func (f *mappingFlags) add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.topics, "map", nil, "a topic's name on the target, `OLD=NEW`, or '/REGEX/=NEW' with $1; repeatable")
	fs.StringArrayVar(&f.groups, "map-group", nil, "a group's name on the target, `OLD=NEW`, or '/REGEX/=NEW' with $1; repeatable")
	fs.StringVar(&f.mm2Source, "mm2-source", "", "the `ALIAS` that MirrorMaker 2 has for the source: topics are called ALIAS.TOPIC on the target, and strategy mm2 reads ALIAS's topics")
}

func (f *mappingFlags) mapping() (m migrate.Mapping, err error) {
	m.MM2Source = f.mm2Source
	if m.Topics, err = migrate.ParseRenames("--map", f.topics); err != nil {
		return m, asUsage(err)
	}
	if m.Groups, err = migrate.ParseRenames("--map-group", f.groups); err != nil {
		return m, asUsage(err)
	}
	return m, nil
}

// strategyFlags say how positions are translated.
type strategyFlags struct {
	strategies []string
	unproven   bool
	maxAgain   int64
	window     int
	table      string
	mm2Target  string
}

func (f *strategyFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringSliceVar(&f.strategies, "strategy", []string{"same", "record"}, "ways to translate in order of preference, `LIST` of same, record, mm2, table, timestamp, end-distance")
	fs.BoolVar(&f.unproven, "allow-unproven", false, "take offsets that are not proven: timestamp and end-distance can skip records")
	fs.Int64Var(&f.maxAgain, "max-again", -1, "leave a row unresolved where more than `N` records would be read again")
	fs.IntVar(&f.window, "window", migrate.DefaultWindow, "compare at most `N` records of a partition with one fingerprint")
	fs.StringVar(&f.table, "table", "", "pairs of offsets for strategy table: `FILE` of topic,partition,source_offset,target_offset")
	fs.StringVar(&f.mm2Target, "mm2-target", "", "the `ALIAS` that MirrorMaker 2 has for the target, where the source has offset syncs for several")
}

// query reads the flags into a query without rows.
func (f *strategyFlags) query(a *App, c *cobra.Command) (q migrate.Query, err error) {
	if q.Rules.Strategies, err = migrate.ParseStrategies(f.strategies); err != nil {
		return q, asUsage(err)
	}
	if len(q.Rules.Strategies) == 0 {
		return q, usagef("such as --strategy same,record", "--strategy names none")
	}
	q.Rules.AllowUnproven = f.unproven
	if c.Flags().Changed("max-again") {
		if f.maxAgain < 0 {
			return q, usagef("", "--max-again %d: a number of records from 0 on", f.maxAgain)
		}
		q.Rules.MaxAgain = &f.maxAgain
	}
	if f.window < 1 {
		return q, usagef("", "--window %d: a number of records from 1 on", f.window)
	}
	q.Window = f.window
	byTable := slices.Contains(q.Rules.Strategies, migrate.ByTable)
	if byTable != (f.table != "") {
		return q, usagef("give both, or neither", "--strategy table and --table FILE belong together")
	}
	if f.table != "" {
		data, err := a.readFile(f.table)
		if err != nil {
			return q, usagef("", "--table: %w", err)
		}
		if q.Table, err = migrate.ReadTable(f.table, data); err != nil {
			return q, fileFault(err)
		}
	}
	return q, nil
}

// readMM2 reads MirrorMaker 2's topics where the strategy is asked for: checkpoints from the target, offset syncs from
// wherever they are.
func (f *strategyFlags) readMM2(ctx context.Context, a *App, q *migrate.Query, mm2Source string, target, source *session) error {
	if !slices.Contains(q.Rules.Strategies, migrate.ByMM2) {
		return nil
	}
	if mm2Source == "" {
		return usagef("add --mm2-source ALIAS", "strategy mm2 needs the name that MirrorMaker 2 has for the source")
	}
	m := &migrate.MM2{}
	names, err := inspect.ReadTopics(ctx, target.client, []string{migrate.CheckpointsTopic(mm2Source), migrate.SyncsTopic(mm2Source)})
	if err != nil {
		return err
	}
	if names[migrate.CheckpointsTopic(mm2Source)].Err == nil {
		if err := m.ReadCheckpoints(ctx, target.client, migrate.CheckpointsTopic(mm2Source)); err != nil {
			return err
		}
	}
	if names[migrate.SyncsTopic(mm2Source)].Err == nil {
		if err := m.ReadSyncs(ctx, target.client, migrate.SyncsTopic(mm2Source)); err != nil {
			return err
		}
	}
	if source != nil && !m.HasSyncs {
		if err := f.sourceSyncs(ctx, m, source); err != nil {
			return err
		}
	}
	if !m.HasSyncs && !m.HasCheckpoints {
		return faultf(exitNotFound, "--source-profile or --source-bootstrap-server reads the offset syncs at the source; --mm2-source must be the alias in MirrorMaker's clusters=",
			"MirrorMaker 2 has neither %s nor %s on the target", migrate.CheckpointsTopic(mm2Source), migrate.SyncsTopic(mm2Source))
	}
	if !m.HasSyncs {
		a.Streams.Note("MirrorMaker's offset syncs are at the source: with --source-profile or --source-bootstrap-server fewer records are read again")
	}
	q.MM2 = m
	return nil
}

func (f *strategyFlags) sourceSyncs(ctx context.Context, m *migrate.MM2, source *session) error {
	alias := f.mm2Target
	if alias == "" {
		all, err := inspect.ReadTopics(ctx, source.client, nil)
		if err != nil {
			return err
		}
		found := migrate.SyncAliases(inspect.VisibleNames(all))
		switch len(found) {
		case 0:
			return nil
		case 1:
			alias = found[0]
		default:
			return usagef("add --mm2-target with one of "+strings.Join(found, ", "), "the source has offset syncs for %d targets", len(found))
		}
	}
	return m.ReadSyncs(ctx, source.client, migrate.SyncsTopic(alias))
}

// chosenGroups are the groups of a cluster that arguments and flags name; every name must be in the list.
func chosenGroups(ctx context.Context, s *session, g *groupFlags, args []string) ([]inspect.Group, error) {
	names, m, err := g.resolve(args)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && len(g.match) == 0 && !g.all {
		return nil, usagef("name groups, or use --group-match REGEX or --all-groups", "which groups? none was given")
	}
	listed, missing, err := inspect.ListGroups(ctx, s.client)
	if err != nil {
		return nil, cause(ctx, err)
	}
	if len(missing) > 0 && (g.all || len(g.match) > 0) {
		return nil, fmt.Errorf("the list of groups is not complete: %w", errors.Join(missing...))
	}
	var out []inspect.Group
	have := map[string]bool{}
	var known []string
	for _, x := range listed {
		known = append(known, x.Name)
		have[x.Name] = true
		named := slices.Contains(names, x.Name)
		if x.Type == inspect.TypeShare && !named {
			continue // it has no commits; by name it is an error of its own
		}
		if m.Match(x.Name) {
			out = append(out, x)
		}
	}
	for _, n := range names {
		if !have[n] {
			hint := "koffset inspect lists the groups"
			if near := offset.Near(n, known); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, ", ") + "?"
			}
			return nil, faultf(exitNotFound, hint, "group %q does not exist", n)
		}
	}
	if len(out) == 0 {
		return nil, faultf(exitNotFound, "", "no group matches (%d groups on the cluster)", len(listed))
	}
	return out, nil
}

// migrateFault gives errors of package migrate their exit status and next step.
func migrateFault(err error) error {
	var live *migrate.LiveError
	var hidden *migrate.HiddenError
	var conflict *migrate.ConflictError
	switch {
	case errors.As(err, &live):
		return &fault{code: exitRefused, err: err, hint: "stop them, or leave out --require-idle; nothing was exported"}
	case errors.As(err, &hidden):
		return &fault{code: exitNotFound, err: err, hint: "the user needs DESCRIBE on the topic to see commits on it; nothing was exported"}
	case errors.As(err, &conflict):
		return &fault{code: exitUsage, err: err, hint: "change --map or --map-group"}
	}
	return err
}
