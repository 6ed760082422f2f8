package carry

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

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
	fs.IntVar(&f.window, "window", migrate.DefaultWindow, "compare at most `N` records of a partition of the target with one position")
	fs.StringVar(&f.table, "table", "", "pairs of offsets for strategy table: `FILE` of topic,partition,source_offset,target_offset")
	fs.StringVar(&f.mm2Target, "mm2-target", "", "the `ALIAS` that MirrorMaker 2 has for the target, where the source has offset syncs for several")
}

// query reads the flags into a query without rows.
func (f *strategyFlags) query(a *cli.App, c *cobra.Command) (q migrate.Query, err error) {
	if q.Rules.Strategies, err = migrate.ParseStrategies("--strategy", f.strategies); err != nil {
		return q, cli.AsUsage(err)
	}
	if len(q.Rules.Strategies) == 0 {
		return q, cli.Usagef("such as --strategy same,record", "--strategy names none")
	}
	q.Rules.AllowUnproven = f.unproven
	if c.Flags().Changed("max-again") {
		if f.maxAgain < 0 {
			return q, cli.Usagef("", "--max-again %d: a number of records from 0 on", f.maxAgain)
		}
		q.Rules.MaxAgain = &f.maxAgain
	}
	if f.window < 1 {
		return q, cli.Usagef("", "--window must be at least 1, not %d", f.window)
	}
	q.Window = f.window
	byTable := slices.Contains(q.Rules.Strategies, migrate.ByTable)
	if byTable != (f.table != "") {
		return q, cli.Usagef("give both, or neither", "--strategy table and --table FILE belong together")
	}
	if f.table != "" {
		data, err := a.ReadFile(f.table)
		if err != nil {
			return q, cli.Usagef("", "--table: %w", err)
		}
		if q.Table, err = migrate.ReadTable(f.table, data); err != nil {
			return q, cli.FileFault(err)
		}
	}
	return q, nil
}

// readMM2 reads MirrorMaker 2's topics where the strategy is asked for: checkpoints from the target, offset syncs from
// wherever they are.
func (f *strategyFlags) readMM2(ctx context.Context, a *cli.App, q *migrate.Query, mm2Source string, target, source *cli.Session) error {
	if !slices.Contains(q.Rules.Strategies, migrate.ByMM2) {
		return nil
	}
	if mm2Source == "" {
		return cli.Usagef("add --mm2-source ALIAS", "strategy mm2 needs the name that MirrorMaker 2 has for the source")
	}
	m := &migrate.MM2{}
	names, err := inspect.ReadTopics(ctx, target.Client, []string{migrate.CheckpointsTopic(mm2Source), migrate.SyncsTopic(mm2Source)})
	if err != nil {
		return err
	}
	if names[migrate.CheckpointsTopic(mm2Source)].Err == nil {
		if err := m.ReadCheckpoints(ctx, target.Client, migrate.CheckpointsTopic(mm2Source)); err != nil {
			return err
		}
	}
	if names[migrate.SyncsTopic(mm2Source)].Err == nil {
		if err := m.ReadSyncs(ctx, target.Client, migrate.SyncsTopic(mm2Source)); err != nil {
			return err
		}
	}
	if source != nil && !m.HasSyncs {
		if err := f.sourceSyncs(ctx, m, source); err != nil {
			return err
		}
	}
	if !m.HasSyncs && !m.HasCheckpoints {
		return cli.Faultf(offset.KindNotFound, "--source-profile or --source-bootstrap-server reads the offset syncs at the source; --mm2-source must be the alias in MirrorMaker's clusters=",
			"MirrorMaker 2 has neither %s nor %s on the target", migrate.CheckpointsTopic(mm2Source), migrate.SyncsTopic(mm2Source))
	}
	if !m.HasSyncs {
		a.Streams.Note("MirrorMaker's offset syncs are at the source: with --source-profile or --source-bootstrap-server fewer records are read again")
	}
	q.MM2 = m
	return nil
}

func (f *strategyFlags) sourceSyncs(ctx context.Context, m *migrate.MM2, source *cli.Session) error {
	alias := f.mm2Target
	if alias == "" {
		all, err := inspect.ReadTopics(ctx, source.Client, nil)
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
			return cli.Usagef("add --mm2-target with one of "+strings.Join(found, ", "), "the source has offset syncs for %d targets", len(found))
		}
	}
	return m.ReadSyncs(ctx, source.Client, migrate.SyncsTopic(alias))
}

// addLookAhead is the flag of every command that takes fingerprints.
func addLookAhead(fs *pflag.FlagSet, n *int) {
	fs.IntVar(n, "look-ahead", migrate.DefaultLookAhead, "search `N` records after each position for look-alikes; where more follow, a proof is not exact")
}

func checkLookAhead(n int) error {
	if n < 1 {
		return cli.Usagef("", "--look-ahead must be at least 1, not %d", n)
	}
	return nil
}
