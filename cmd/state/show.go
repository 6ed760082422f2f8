package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

type checkpointShowOptions struct {
	app       *cli.App
	out       cli.OutputFlag
	snap      cli.SnapshotFlags
	against   string
	log       bool
	isolation string
	failOn    string

	format render.Format
	iso    offset.Isolation
}

func newCheckpointShow(a *cli.App) *cobra.Command {
	o := &checkpointShowOptions{app: a}
	c := &cobra.Command{
		Use: "show DIR|FILE", Short: "Show the Kafka positions in a checkpoint or savepoint", Args: oneDir,
		Long: `One row a partition of each Kafka source: the next offset that the job reads after a restore. earliest, latest and committed
stand where nothing was read yet: Flink decides at the start. STATE says who holds the partition: assigned (a reader),
unassigned (no reader yet), finished-or-lost (it was assigned, and no reader has it: it was read to its stopping offset, or
a known fault of some connectors lost it).

DIR is the directory of the _metadata file, or a job's directory, whose newest checkpoint is taken. No broker is asked
without --against GROUP or --against-log: these add the log, the lag, the group's commit and a status, so that a job that
would restore at expired offsets is seen before it does.` + cli.ExitStatus(
			"  4  partly known: the state of an operator, or a partition of the log, could not be read",
			"  5  no such source or group",
			"  8  --fail-on unhealthy, and a row is unhealthy"),
		Example: `  koffset checkpoint show /flink/savepoints/savepoint-3a23c5-2bde860a5406
  koffset checkpoint show /flink/checkpoints/a25cf6dbe20d119ec7d75281bcca8b9a --against my-job
  koffset checkpoint show DIR --operator-uid orders-source --against-log --fail-on unhealthy
  koffset checkpoint show DIR --path-map s3://bucket/flink=/mnt/flink`,
		ValidArgsFunction: cli.CheckpointCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd, args[0])
		},
	}
	f := c.Flags()
	o.out.Add(c)
	o.snap.Add(f)
	f.StringVar(&o.against, "against", "", "compare with the commits of a `GROUP` and with the log")
	f.BoolVar(&o.log, "against-log", false, "compare with the log")
	f.StringVar(&o.isolation, "isolation", "read_uncommitted", "which end counts for the lag: read_uncommitted (high watermark) or read_committed (last stable offset)")
	f.StringVar(&o.failOn, "fail-on", "", "exit with status 8 when a row is `unhealthy`")
	return c
}

func (o *checkpointShowOptions) parse() error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	if o.iso, err = offset.ParseIsolation(o.isolation); err != nil {
		return err
	}
	if o.failOn != "" && o.failOn != "unhealthy" {
		return cli.Usagef("use --fail-on unhealthy", "--fail-on %q is not one of its values", o.failOn)
	}
	if o.failOn != "" && !o.compares() {
		return cli.Usagef("add --against GROUP or --against-log", "--fail-on needs the log to compare with")
	}
	return nil
}

func (o *checkpointShowOptions) compares() bool { return o.against != "" || o.log }

// shown is one row.
type shown struct {
	flink.Partition
	source  *flink.Source
	bounds  *offset.Bounds
	commit  *offset.Committed
	verdict inspect.Verdict
	err     error
}

// notStarted is the status of a row whose place Flink chooses at the start, finished that of one which holds none.
const (
	notStarted inspect.Status = "not-started"
	noPosition inspect.Status = "no-position"
)

func (o *checkpointShowOptions) run(ctx context.Context, cmd *cobra.Command, ref string) error {
	snap, err := o.app.OpenSnapshot(ref, &o.snap)
	if err != nil {
		return err
	}
	var sources []flink.Source
	if o.snap.UID != "" || o.snap.ID != "" || o.snap.Cluster != "" || len(snap.Sources()) > 0 {
		if sources, err = o.snap.ChooseSources(snap); err != nil {
			return err
		}
	}
	var rows []shown
	for i := range sources {
		for _, p := range sources[i].Partitions {
			rows = append(rows, shown{Partition: p, source: &sources[i]})
		}
	}
	meta := render.Meta{Kind: "checkpoint", ClusterID: snap.Header.ClusterID, GeneratedAt: o.app.Now()}
	failed := 0
	if o.compares() {
		if err := cli.OneCluster(sources); err != nil {
			return err
		}
		s, err := o.app.Connect(ctx, cmd)
		if err != nil {
			return err
		}
		defer s.Close()
		meta = s.Meta("checkpoint")
		if failed, err = o.compare(ctx, s, snap.Origin(), rows); err != nil {
			return err
		}
	}
	return o.print(snap, sources, rows, meta, failed)
}

// compare reads the log, and the group's commits, and judges each row. failed counts rows that could not be read. Offsets of another
// log are compared as well, since nothing is moved, and it is said; that Flink's snapshots name no cluster is known of all of them.
func (o *checkpointShowOptions) compare(ctx context.Context, s *cli.Session, from offset.Origin, rows []shown) (failed int, err error) {
	ctx, cancel := s.Phase(ctx, "read the log")
	defer cancel()
	q := inspect.GatherQuery{Position: offset.Position{Kind: offset.Current}, Isolation: o.iso}
	if o.against != "" {
		c, err := inspect.ReadCommitsOf(ctx, s.Client, o.against)
		if err != nil {
			return 0, cli.Cause(ctx, fmt.Errorf("group %q: %w", o.against, err))
		}
		if c.Len() == 0 {
			return 0, cli.Faultf(offset.KindNotFound, "koffset inspect lists all groups", "group %q has no commits", o.against)
		}
		q.Commits = &c
	}
	for _, r := range rows {
		q.Parts = append(q.Parts, offset.Partition{Topic: r.Topic, Partition: r.Partition.Partition})
	}
	facts, err := inspect.Gather(ctx, s.Client, q)
	if err != nil {
		return 0, cli.Cause(ctx, err)
	}
	used := map[offset.Partition]offset.Foreign{}
	for _, p := range q.Parts {
		used[p] = offset.Foreign{}
	}
	if from.ClusterID == "" && len(from.TopicIDs) == 0 {
		used = nil
	}
	o.app.SayOrigin(from.Compare(inspect.Here(s.Cluster.ID, facts.Topics), used, offset.AllowOrigin{offset.OtherCluster, offset.OtherTopic}).Said())
	for i := range rows {
		r := &rows[i]
		f := facts.Of(offset.Partition{Topic: r.Topic, Partition: r.Partition.Partition})
		r.bounds, r.commit, r.err = f.Bounds, f.Committed, f.Err
		switch {
		case errors.Is(r.err, kerr.UnknownTopicOrPartition):
			r.verdict.Status = inspect.StatusUnknownTopic
		case r.err != nil:
			r.verdict.Status = inspect.StatusError
			failed++
		case r.Next != nil:
			r.verdict = inspect.Judge(&offset.Committed{Offset: *r.Next}, false, r.bounds, o.iso)
		case r.Marker != "" || r.State == flink.Unassigned:
			r.verdict.Status = notStarted
		default:
			r.verdict.Status = noPosition
		}
	}
	return failed, nil
}

func unhealthy(s inspect.Status) bool { return s != notStarted && s != noPosition && s.Unhealthy() }

func (o *checkpointShowOptions) print(snap *checkpointfile.Snapshot, sources []flink.Source, rows []shown, meta render.Meta, failed int) error {
	meta.Extra = append(meta.Extra, render.F("snapshot", snapshotCell(snap)))
	w := render.NewWriter(o.app.Streams, o.format, meta)
	broken := 0
	if snap.Flink != nil {
		broken = len(snap.Flink.OperatorErrors)
	}
	switch {
	case o.format.IsJSON():
		o.sourceSheet(w, sources, rows)
	case len(rows) > 0 || !o.format.IsTable():
		o.partitionSheet(w, rows)
	}
	if err := w.Close(render.End{Incomplete: broken+failed > 0, Fields: []render.Field{render.F("operator_errors", operatorErrors(snap))}}); err != nil {
		return err
	}
	o.app.Streams.Note("%s", cli.SnapshotTitle(snap))
	if len(sources) == 0 && broken == 0 {
		o.app.Streams.Note("it has no Kafka source (%s)", text.Plural(snap.Flink.Operators, "operator"))
	}
	if o.snap.UID == "" && o.snap.ID == "" && snap.Flink != nil {
		for i := range snap.Flink.OperatorErrors {
			o.app.Streams.Fail(render.Failure{Err: &snap.Flink.OperatorErrors[i], Kind: offset.KindPartial})
		}
	}
	o.app.SnapshotWarnings(snap, sources)
	sick := 0
	for _, r := range rows {
		if unhealthy(r.verdict.Status) {
			sick++
		}
	}
	o.notes(rows)
	switch {
	case broken > 0 && o.snap.UID == "" && o.snap.ID == "", failed > 0:
		return cli.Quietly(offset.KindPartial)
	case o.failOn != "" && sick > 0:
		return cli.Faultf(offset.KindCheck, "", "%s of %s unhealthy", text.Count(sick), text.Plural(len(rows), "row"))
	}
	return nil
}

// notes says what the statuses mean for a job that restores here.
func (o *checkpointShowOptions) notes(rows []shown) {
	var below, past int
	var lost int64
	for _, r := range rows {
		switch r.verdict.Status {
		case inspect.StatusBelowLogStart:
			below++
			lost += r.verdict.ExpiredUnread
		case inspect.StatusPastLogEnd:
			past++
		}
	}
	if below > 0 {
		o.app.Streams.Warn("%s below the log start: a job that restores here has lost %s, and auto.offset.reset decides where it continues (latest where its start mode is a time or the end)",
			cli.Partitions(below, "is", "are"), text.Plural(lost, "offset"))
	}
	if past > 0 {
		o.app.Streams.Warn("%s past the log end: another cluster, or the topic was created again; auto.offset.reset decides where the job continues", cli.Partitions(past, "is", "are"))
	}
}

// partitionColumns are the columns of a row, without the source's.
func (o *checkpointShowOptions) partitionColumns() []render.Column {
	cols := []render.Column{
		{Header: "CLUSTER", Key: "cluster", HideEmpty: true},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "SUBTASK", Key: "subtask", Right: true, HideEmpty: true},
		{Header: "NEXT-OFFSET", Key: "next_offset", Right: true},
		{Key: "marker", NoTable: true},
		{Header: "STORED", Key: "stored_value", Right: true, Wide: true},
		{Header: "STOPPING-OFFSET", Key: "stopping_offset", Right: true, HideEmpty: true},
		{Key: "stopping_marker", NoTable: true},
		{Header: "STATE", Key: "state"},
	}
	if o.against != "" {
		cols = append(cols, render.Column{Header: "COMMITTED", Key: "committed_offset", Right: true})
	}
	if o.compares() {
		cols = append(cols,
			render.Column{Header: "LOG-START-OFFSET", Key: "log_start_offset", Right: true},
			render.Column{Header: "LOG-END-OFFSET", Key: "log_end_offset", Right: true},
			render.Column{Header: "LAG", Key: "lag", Right: true},
			render.Column{Header: "EXPIRED", Key: "expired_unread", Right: true, HideEmpty: true},
			render.Column{Header: "STATUS", Key: "status"},
			render.Column{Header: "ERROR", Key: "error", HideEmpty: true})
	}
	return cols
}

func (o *checkpointShowOptions) partitionCells(r shown) []render.Cell {
	subtask, next, stopping := render.None(), render.IntPtr(r.Next), render.IntPtr(r.Stopping)
	if r.Subtask != nil {
		subtask = render.Int32(*r.Subtask)
	}
	if o.format.IsTable() { // one column for a number or a word
		if r.Next == nil {
			next = render.Text(string(r.Marker)).Styled(render.Warn)
		}
		if r.Stopping == nil {
			stopping = render.Text(string(r.StoppingMarker))
		}
	}
	state := render.String(string(r.State))
	if r.State != flink.Assigned {
		state = state.Styled(render.Warn)
	}
	cells := []render.Cell{render.Text(r.Cluster), render.String(r.Topic), render.Int32(r.Partition.Partition), subtask, next, render.Text(string(r.Marker)),
		render.IntPtr(r.Stored), stopping, render.Text(string(r.StoppingMarker)), state}
	if o.against != "" {
		committed := render.None()
		if r.commit != nil {
			committed = render.Int(r.commit.Offset)
		}
		cells = append(cells, committed)
	}
	if o.compares() {
		start, end := render.None(), render.None()
		if r.bounds != nil {
			start, end = render.Int(r.bounds.Start), render.Int(r.bounds.End)
		}
		status := cli.StatusCell(r.verdict.Status)
		if !unhealthy(r.verdict.Status) && r.verdict.Status != inspect.StatusOK {
			status = status.Styled(render.Warn)
		}
		cells = append(cells, start, end, render.IntPtr(r.verdict.Lag), cli.Nonzero(r.verdict.ExpiredUnread), status, cli.ErrCell(r.err))
	}
	return cells
}

func (o *checkpointShowOptions) partitionSheet(w *render.Writer, rows []shown) {
	w.Begin(render.Sheet{Name: "partitions", Row: "partition", Columns: append([]render.Column{
		{Header: "SOURCE", Key: "source", Keep: true},
		{Header: "OPERATOR-ID", Key: "operator_id", Wide: true},
		{Header: "UID", Key: "uid", NoTable: true},
		{Header: "NAME", Key: "name", Wide: true},
		{Header: "KIND", Key: "kind", Wide: true},
	}, o.partitionColumns()...)})
	for _, r := range rows {
		src := r.source
		w.Row(append([]render.Cell{render.String(checkpointfile.SourceName(*src)), render.Text(src.OperatorID), render.Text(src.UID), render.Text(src.Name),
			render.String(string(src.Kind))}, o.partitionCells(r)...)...)
	}
}

func (o *checkpointShowOptions) sourceSheet(w *render.Writer, sources []flink.Source, rows []shown) {
	w.Begin(render.Sheet{Name: "sources", Row: "source", Columns: []render.Column{
		{Key: "operator_id"}, {Key: "uid"}, {Key: "name"}, {Key: "kind"}, {Key: "subtasks"}, {Key: "partitions"},
	}})
	cols := o.partitionColumns()
	for i := range sources {
		src := &sources[i]
		var parts []render.Cell
		for _, r := range rows {
			if r.source != src {
				continue
			}
			fields := make([]render.Field, 0, len(cols))
			for j, c := range o.partitionCells(r) {
				fields = append(fields, render.F(cols[j].Key, c))
			}
			parts = append(parts, render.Object(slices.Clip(fields)...))
		}
		w.Row(render.Text(src.OperatorID), render.Text(src.UID), render.Text(src.Name), render.String(string(src.Kind)), render.Int(int64(src.Subtasks)), render.List(parts...))
	}
}
