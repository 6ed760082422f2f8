package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

type rewriteOptions struct {
	app           *App
	out           outputFlag
	snap          snapshotFlags
	pos           positionFlags
	topics        topicFlags
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
	scope    topicScope
}

func newCheckpointRewrite(a *App) *cobra.Command {
	o := &rewriteOptions{app: a}
	c := &cobra.Command{
		Use: "rewrite DIR --out NEW", Short: "A copy of a Flink snapshot whose Kafka sources stand elsewhere", Args: oneDir,
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
is by the copy too; --self-contained copies it.` + exitStatus(
			"  1  failed: nothing was written",
			"  3  refused, or declined; nothing was written",
			"  5  no such source"),
		Example: `  koffset checkpoint rewrite DIR --out NEW --operator-uid orders-source --to-datetime 2026-11-29T10:00:00Z
  koffset checkpoint rewrite DIR --out NEW --topic orders:3 --shift-by 1 --execute
  koffset checkpoint rewrite DIR --out NEW --to orders:0=42,orders:1=@-2h --execute
  koffset checkpoint rewrite DIR --out NEW --all-sources --to current --if-expired earliest --execute`,
		ValidArgsFunction: checkpointCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.settings(cmd)
			if err != nil {
				return err
			}
			if err := o.parse(cmd, a.clock(s)); err != nil {
				return err
			}
			snap, err := o.open(args[0])
			if err != nil {
				return err
			}
			sess, err := a.connectWith(cmd.Context(), s)
			if err != nil {
				return err
			}
			defer sess.close()
			return o.run(cmd.Context(), sess, snap)
		},
	}
	f := c.Flags()
	o.out.add(c)
	o.snap.add(f)
	o.snap.addInFlight(f)
	o.pos.add(f)
	o.pos.completions(c)
	o.topics.add(f)
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

func (o *rewriteOptions) parse(c *cobra.Command, clock offset.Clock) error {
	var err error
	if o.format, err = o.out.format(); err != nil {
		return err
	}
	if o.execute && o.dryRun {
		return usagef("leave one of them out", "--execute and --dry-run were both given")
	}
	if o.to == "" {
		return usagef("add --out NEW: a rewrite is a copy, the snapshot itself is never changed", "where to? no --out was given")
	}
	var chosen bool
	if o.position, chosen, err = o.pos.parse(c, clock); err != nil {
		return err
	}
	if !chosen {
		return usagef("such as --to-datetime 2026-11-29T10:00:00Z, --shift-by 1, or --to WORD", "where to? no position was given")
	}
	iso, err := offset.ParseIsolation(o.isolation)
	if err != nil {
		return err
	}
	if o.rules, err = o.pos.rules(iso); err != nil {
		return err
	}
	if o.scope, err = o.topics.resolve(c); err != nil {
		return err
	}
	own := o.position.Needs().Foreign || o.position.Kind == offset.ByPartition
	if o.snap.uid == "" && o.snap.id == "" && !o.allSources && !o.scope.any() && !own {
		return usagef("add --operator-uid, --operator-id, --topic TOPIC, or --all-sources (koffset checkpoint show lists them)", "which sources? none was chosen")
	}
	if o.allSources && (o.snap.uid != "" || o.snap.id != "") {
		return usagef("leave one of them out", "--all-sources and one source were both given")
	}
	return nil
}

// open opens the snapshot and refuses what cannot be rewritten, before any broker is asked.
func (o *rewriteOptions) open(ref string) (*checkpointfile.Snapshot, error) {
	if _, err := os.Lstat(o.app.path(o.to)); err == nil {
		return nil, faultf(exitRefused, "choose another --out; a copy is never written over anything", "%s exists", o.to)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("", "--out: %w", err)
	}
	if _, err := os.Stat(filepath.Dir(o.app.path(o.to))); err != nil {
		return nil, usagef("make the directory that it is to lie in", "--out %s: %w", o.to, err)
	}
	snap, err := o.app.openSnapshot(ref, &o.snap)
	if err != nil {
		return nil, err
	}
	if snap.Flink == nil {
		return nil, usagef("koffset consume --from checkpoint:"+ref+" starts a new job from it", "%s is a checkpoint of koffset's: only Flink's are rewritten", ref)
	}
	if snap.InFlight() && !o.snap.inFlight {
		return nil, faultf(exitRefused, "take a savepoint, or an aligned checkpoint; or add --allow-in-flight",
			"%s holds in-flight records: they are processed after a restore wherever its sources start, so a source that is moved back reads them twice", snap.Path)
	}
	return snap, nil
}

func (o *rewriteOptions) run(ctx context.Context, s *session, snap *checkpointfile.Snapshot) error {
	o.app.echoInstants(o.position)
	rows, err := o.rows(ctx, s, snap)
	if err != nil {
		return err
	}
	o.app.Streams.Note("%s", snapshotTitle(snap))
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
	if len(refused) > 0 {
		if err := o.print(s, snap, rows, nil); err != nil {
			return err
		}
		return refusedRows(refused)
	}
	if len(changes) == 0 {
		if err := o.print(s, snap, rows, nil); err != nil {
			return err
		}
		o.app.Streams.Note("every partition stands there already: there is nothing to rewrite")
		return nil
	}
	rw, err := flink.PlanRewrite(snap.Flink, changes)
	if err != nil {
		var ce *flink.ChangeError
		if errors.As(err, &ce) {
			return faultf(exitRefused, "nothing was written", "%w", err)
		}
		return fmt.Errorf("plan the copy: %w", err)
	}
	return o.write(ctx, s, snap, rows, rw)
}

// write shows the plan, and writes the copy where --execute says so.
func (o *rewriteOptions) write(ctx context.Context, s *session, snap *checkpointfile.Snapshot, rows []rewriteRow, rw *flink.Rewrite) error {
	if !o.execute || o.format.IsTable() {
		if err := o.print(s, snap, rows, nil); err != nil {
			return err
		}
	}
	done, err := o.app.writeCopy(ctx, rw, snapshotCopy{to: o.to, selfContained: o.selfContained, execute: o.execute, yes: o.yes, summary: summaryOf(rows).text(len(rw.Rows))})
	if err != nil || done == nil {
		return err
	}
	if err := o.print(s, snap, rows, done); err != nil {
		return err
	}
	o.app.sayCopy(o.to, done, "")
	return nil
}

// snapshotCopy is how a rewritten snapshot is written.
type snapshotCopy struct {
	to            string // as it was typed
	selfContained bool
	execute, yes  bool
	summary       string // what the plan does
}

// writeCopy says what should be known about a rewritten snapshot, asks, and writes it. What was written is nil in a dry run.
func (a *App) writeCopy(ctx context.Context, rw *flink.Rewrite, c snapshotCopy) (*flink.Written, error) {
	st := a.Streams
	for _, w := range rw.Warnings {
		if w.Code == flink.WarnStateOutside && c.selfContained {
			continue
		}
		st.Warn("%s", w.Message)
	}
	if c.summary != "" {
		st.Note("%s", c.summary)
	}
	if !c.execute {
		st.Note("dry run: nothing was written; add --execute to write %s", c.to)
		return nil, nil
	}
	if !c.yes && st.CanPrompt() {
		yes, err := st.Confirm(ctx, "Write "+c.to+"?")
		if err != nil {
			return nil, err
		}
		if !yes {
			return nil, faultf(exitRefused, "nothing was written", "declined")
		}
	}
	done, err := rw.Write(a.path(c.to), flink.WriteOptions{SelfContained: c.selfContained})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", c.to, err)
	}
	return done, nil
}

// sayCopy ends a command that wrote a copy. where is said of the job's start.
func (a *App) sayCopy(to string, done *flink.Written, where string) {
	a.Streams.Note("wrote %s: %s, %s bytes; read back, it differs from the original in %s and in nothing else",
		to, counted(done.Files, "file"), render.Count(done.Bytes), counted(len(done.Diff), "position"))
	a.Streams.Hint("start the job from it%s: flink run -s %s …; keep the uid of the source", where, to)
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return render.Count(int64(n)) + " " + what
}
