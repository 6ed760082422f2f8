package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

type rewriteOptions struct {
	app           *cli.App
	out           cli.OutputFlag
	snap          cli.SnapshotFlags
	origin        cli.OriginFlag
	pos           cli.PositionFlags
	topics        cli.TopicFlags
	allSources    bool
	to            string
	execute       bool
	dryRun        bool
	yes           bool
	selfContained bool
	isolation     string

	format   render.Format
	position offset.Position
	rules    offset.Rules
	scope    cli.TopicScope
	snapshot *checkpointfile.Snapshot
}

func newCheckpointRewrite(a *cli.App) *cobra.Command {
	o := &rewriteOptions{app: a}
	c := &cobra.Command{
		Use: "rewrite DIR --out NEW", Short: "Copy a Flink snapshot with its Kafka sources at other offsets", Args: oneDir,
		Long: `Shows a plan, and with --execute writes NEW: the same checkpoint or savepoint, byte for byte, but for the offsets of the
chosen partitions. A stateful job that restores from it keeps all of its state and reads from there: it goes back an hour, or
over a record that it cannot read. The original is never touched, NEW never overwritten, and what was written is read back
and compared before it appears.

Which sources: --operator-uid, --operator-id, --topic, or --all-sources. Where: any position of koffset reset; current means
where the source stands in the snapshot, so --shift-by 1 skips one record. Every target is checked against the log.

What a rewind means: the records are read again by operators that have counted them already, so sums and windows count them
twice unless they are idempotent, windows that have fired take them as late, and an exactly-once sink writes them again:
exactly once means once a pass. A snapshot with in-flight records is refused without --allow-in-flight: they are processed
after a restore wherever the sources start, so after a rewind they are seen twice.

State that the snapshot shares with others (RocksDB's incremental checkpoints, savepoints before Flink 1.11) is named where it
is by the copy too; --self-contained copies it.` + cli.ExitStatus(
			"  1  failed: nothing was written",
			"  3  refused, or declined; nothing was written",
			"  5  no such source"),
		Example: `  koffset checkpoint rewrite DIR --out NEW --operator-uid orders-source --to-datetime 2026-11-29T10:00:00Z
  koffset checkpoint rewrite DIR --out NEW --topic orders:3 --shift-by 1 --execute
  koffset checkpoint rewrite DIR --out NEW --to orders:0=42,orders:1=@-2h --execute
  koffset checkpoint rewrite DIR --out NEW --all-sources --to current --if-expired earliest --execute`,
		ValidArgsFunction: cli.CheckpointCompletion,
		RunE:              a.Timed(o.parse, o.run),
	}
	f := c.Flags()
	o.out.Add(c)
	o.snap.Add(f)
	o.snap.AddInFlight(f)
	o.origin.Add(c, f)
	o.pos.Add(f)
	o.pos.Completions(c)
	o.topics.Add(f)
	f.StringVar(&o.to, "out", "", "the new `DIR`; its parent exists, it does not")
	f.BoolVar(&o.allSources, "all-sources", false, "every Kafka source of the snapshot")
	f.BoolVar(&o.execute, "execute", false, "write the copy; without this flag nothing is written")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be written (what happens without --execute too)")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask on a terminal")
	f.BoolVar(&o.selfContained, "self-contained", false, "copy state that the snapshot names by absolute path, so that the original can be deleted")
	f.StringVar(&o.isolation, "isolation", "read_uncommitted", "which end latest means: read_uncommitted (high watermark) or read_committed (last stable offset)")
	_ = c.MarkFlagDirname("out")
	return c
}

func (o *rewriteOptions) parse(c *cobra.Command, args []string, clock offset.Clock) error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	if err := o.origin.Parse(); err != nil {
		return err
	}
	if o.execute && o.dryRun {
		return cli.Usagef("leave one of them out", "--execute and --dry-run were both given")
	}
	if o.to == "" {
		return cli.Usagef("add --out NEW: a rewrite is a copy, the snapshot itself is never changed", "where to? no --out was given")
	}
	var chosen bool
	if o.position, chosen, err = o.pos.Parse(c, clock); err != nil {
		return err
	}
	if !chosen {
		return cli.Usagef("such as --to-datetime 2026-11-29T10:00:00Z, --shift-by 1, or --to WORD", "where to? no position was given")
	}
	iso, err := offset.ParseIsolation(o.isolation)
	if err != nil {
		return err
	}
	if o.rules, err = o.pos.Rules(iso); err != nil {
		return err
	}
	if o.scope, err = o.topics.Resolve(c); err != nil {
		return err
	}
	if o.position.NeedsGroup() && o.position.Kind == offset.CurrentAt {
		return cli.Usagef("name the group: --to group:GROUP@"+offset.FormatTime(o.position.At.Time), "%s is a group's commit, and a snapshot is no group", o.position)
	}
	own := o.position.Needs().Foreign || o.position.Kind == offset.ByPartition
	if o.snap.UID == "" && o.snap.ID == "" && !o.allSources && !o.scope.Any() && !own {
		return cli.Usagef("add --operator-uid, --operator-id, --topic TOPIC, or --all-sources (koffset checkpoint show lists them)", "which sources? none was chosen")
	}
	if o.allSources && (o.snap.UID != "" || o.snap.ID != "") {
		return cli.Usagef("leave one of them out", "--all-sources and one source were both given")
	}
	o.snapshot, err = o.open(args[0])
	return err
}

// open opens the snapshot and refuses what cannot be rewritten, before any broker is asked.
func (o *rewriteOptions) open(ref string) (*checkpointfile.Snapshot, error) {
	if _, err := os.Lstat(o.app.Path(o.to)); err == nil {
		return nil, cli.Faultf(offset.KindRefused, "choose another --out; a copy is never written over anything", "%s exists", o.to)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("", "--out: %w", err)
	}
	if _, err := os.Stat(filepath.Dir(o.app.Path(o.to))); err != nil {
		return nil, cli.Usagef("create its parent directory first", "--out %s: %w", o.to, err)
	}
	snap, err := o.app.OpenSnapshot(ref, &o.snap)
	if err != nil {
		return nil, err
	}
	if snap.Flink == nil {
		return nil, cli.Usagef("koffset consume --from checkpoint:"+ref+" starts a new job from it", "%s is a checkpoint of koffset's: only Flink's are rewritten", ref)
	}
	if snap.InFlight() && !o.snap.InFlight {
		return nil, cli.Faultf(offset.KindRefused, "take a savepoint, or an aligned checkpoint; or add --allow-in-flight",
			"%s holds in-flight records: they are processed after a restore wherever its sources start, so a source that is moved back reads them twice", snap.Path)
	}
	return snap, nil
}

func (o *rewriteOptions) run(ctx context.Context, s *cli.Session) error {
	snap := o.snapshot
	o.app.EchoInstants(o.position)
	rows, err := o.rows(ctx, s, snap)
	if err != nil {
		return err
	}
	o.app.Streams.Note("%s", cli.SnapshotTitle(snap))
	var refused []error
	var changes []flink.Change
	for i := range rows {
		r := &rows[i]
		switch {
		case r.refusal != nil:
			refused = append(refused, r.refusal)
		case r.changes():
			changes = append(changes, flink.Change{Source: r.source.OperatorID, Cluster: r.Cluster, Topic: r.Topic, Partition: r.Partition.Partition, NewNext: r.target.Offset})
		}
	}
	c := act.SnapshotCopy{Of: snap.Flink, Changes: changes, Same: "every partition is at that offset already: nothing to rewrite",
		To: o.to, SelfContained: o.selfContained, Execute: o.execute, Yes: o.yes, Table: o.format.IsTable(), Summary: summaryOf(rows).text,
		Print: func(done *flink.Written) error { return o.print(s, snap, rows, done) }}
	if len(refused) > 0 {
		c.Refused = cli.RefusedRows(refused)
	}
	return c.Do(ctx, o.app)
}
