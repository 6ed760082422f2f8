// Package state has checkpoint: what the snapshots of engines hold that keep their own offsets, and copies of them that stand
// elsewhere.
package state

import (
	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// NewCheckpoint is the command checkpoint.
func NewCheckpoint(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "checkpoint", GroupID: "carry", Short: "Read checkpoints and savepoints of Flink and koffset, and rewrite those of Flink",
		Long: `A Flink job starts from the offsets in its own state, not from those of its consumer group: resetting the group does
not move it. koffset reads that state (metadata versions 2 to 7: Flink 1.3 and later; KafkaSource and the old
FlinkKafkaConsumer), shows it against the log, hands it on, and writes copies in which the job stands elsewhere.

The positions go into other commands too: koffset reset GROUP --to checkpoint:DIR, koffset consume --from checkpoint:DIR.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("koffset checkpoint show DIR, list DIR, export DIR or rewrite DIR --out NEW", "checkpoint needs a verb")
			}
			return cli.UnknownCommand(cmd, nil, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return nil },
	}
	c.AddCommand(newCheckpointShow(a), newCheckpointList(a), newCheckpointExport(a), newCheckpointRewrite(a))
	return c
}

func newCheckpointList(a *cli.App) *cobra.Command {
	var out cli.OutputFlag
	c := &cobra.Command{
		Use: "list DIR", Short: "The checkpoints and savepoints in a directory, the newest first", Args: oneDir,
		Long: `The checkpoints of a job, by number, or of all jobs in a directory with a folder for each. One without its _metadata file
is unfinished: Flink writes that file last, so it is still being written, or it failed.` + cli.ExitStatus("  5  the directory holds none"),
		Example: `  koffset checkpoint list /flink/checkpoints
  koffset checkpoint list /flink/savepoints -o json`,
		ValidArgsFunction: cli.CheckpointCompletion,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := out.Format()
			if err != nil {
				return err
			}
			return listCheckpoints(a, args[0], f)
		},
	}
	out.Add(c)
	return c
}

func listCheckpoints(a *cli.App, dir string, f render.Format) error {
	list, err := checkpointfile.ListSnapshots(a.Path(dir))
	if err != nil {
		return cli.SnapshotFault(err)
	}
	if len(list) == 0 {
		return cli.Faultf(offset.KindNotFound, "a job's directory has folders chk-N, or savepoint-…", "%s holds no checkpoints", dir)
	}
	w := render.NewWriter(a.Streams, f, render.Meta{Kind: "checkpoints", GeneratedAt: a.Now()})
	w.Begin(render.Sheet{Name: "checkpoints", Row: "checkpoint", Columns: []render.Column{
		{Header: "JOB", Key: "job"},
		{Header: "ID", Key: "id", Right: true},
		{Header: "KIND", Key: "kind"},
		{Header: "ENGINE", Key: "engine"},
		{Header: "STATE", Key: "state"},
		{Header: "WRITTEN", Key: "written_at"},
		{Header: "BYTES", Key: "metadata_bytes", Right: true},
		{Header: "PATH", Key: "path"},
	}})
	for _, e := range list {
		id, state, size := render.Int(e.Number), render.String("complete"), render.Int(e.Size)
		if !e.Complete {
			state, size = render.String("unfinished").Styled(render.Warn), render.None()
			if e.Kind != "checkpoint" {
				id = render.None() // a savepoint's number is in its file
			}
		}
		w.Row(render.Text(e.Job), id, render.String(string(e.Kind)), render.Text(string(e.Engine)), state, render.Time(e.Written), size, render.String(e.Path))
	}
	return w.Close(render.End{})
}
