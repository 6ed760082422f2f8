package carry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
)

type exportOptions struct {
	app     *cli.App
	groups  cli.GroupFlags
	topics  cli.TopicFlags
	snap    cli.SnapshotFlags
	origin  cli.OriginFlag
	out     string
	from    string
	toStore string
	noPrint bool
	expect  []string
	idle    bool
	ahead   int

	scope cli.TopicScope
	tally exportTally
}

// exportTally counts what went out, and keeps what is said about it.
type exportTally struct {
	groups, rows, printed, none, gone, failed int
	live                                      []string
	// share is how many share groups are further than their start offsets, and shareRows are the rows of those.
	share     int
	shareRows []migrate.Row
	// unsaved says that a group is not in the store.
	unsaved bool
}

func newMigrateExport(a *cli.App) *cobra.Command {
	o := &exportOptions{app: a}
	c := &cobra.Command{
		Use:   "export GROUP…",
		Short: "Write the positions of groups, with fingerprints of the records there, to one file",
		Long: `Writes offsets, epochs, metadata, log bounds, topic ids, and a fingerprint (time, key and value hash) of the records
around each position, one JSON value a line. koffset migrate import finds the same records on another cluster by it.

Of share groups it has the start offsets; how many records are acknowledged beyond them is in it too, and comes again where they are imported.

A partition without a commit is null, never the log end. What could not be read is in the file as such, and the exit
status is 4. Brokers silently leave out commits on topics that may not be described: --expect-topics makes a topic
that does not appear an error.

--from checkpoint:DIR exports the positions of a Flink checkpoint or savepoint, or of a koffset checkpoint, under the name
of --group; --from store:URL those of a store. --to-store URL also saves the offsets in a file, a database or Redis.` + cli.ExitStatus(
			"  3  refused: a group has members and --require-idle was given; nothing was exported",
			"  4  partly known: the file says what could not be read",
			"  5  no such group, or an expected topic is not visible"),
		Example: `  koffset migrate export billing --out billing.jsonl
  koffset migrate export --all-groups --out all.jsonl
  koffset migrate export --group-match 'prod-.*' --topic-exclude '.*-internal' > prod.jsonl
  koffset migrate export billing --expect-topics orders,payments --require-idle --out billing.jsonl
  koffset migrate export --from checkpoint:/flink/savepoint-3a23c5 --group orders-job --out job.jsonl
  koffset migrate export billing --to-store 'sqlite:offsets.db?create=true'`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := func(ctx context.Context, s *cli.Session) error { return o.run(ctx, s, args) }
			return a.Connected(o.parse, run)(cmd, args)
		},
	}
	f := c.Flags()
	o.groups.Add(f)
	o.topics.Add(f)
	o.snap.Add(f)
	o.snap.AddInFlight(f)
	o.origin.Add(c, f)
	f.StringVar(&o.out, "out", "", "write the export to a `FILE` instead of standard output")
	f.StringVar(&o.from, "from", "", "export positions from `checkpoint:DIR` or store:URL instead of a group's commits")
	_ = c.RegisterFlagCompletionFunc("from", a.Completer().Snapshots())
	f.StringVar(&o.toStore, "to-store", "", "save the offsets in the store at `URL`: file:PATH, sqlite:PATH, postgres://…, mysql://…, redis://…")
	f.BoolVar(&o.noPrint, "no-fingerprint", false, "read no records: faster, and import can prove nothing on another cluster")
	addLookAhead(f, &o.ahead)
	f.StringSliceVar(&o.expect, "expect-topics", nil, "fail where one of these `TOPICS` has no visible commit")
	f.BoolVar(&o.idle, "require-idle", false, "refuse groups that have members")
	return c
}

func (o *exportOptions) parse(c *cobra.Command, args []string) error {
	err := checkLookAhead(o.ahead)
	if err != nil {
		return err
	}
	if o.scope, err = o.topics.Resolve(c); err != nil {
		return err
	}
	if err := o.origin.Parse(); err != nil {
		return err
	}
	for _, spec := range o.scope.Specs {
		if len(spec.Partitions) > 0 {
			return cli.Usagef("name the topic alone", "an export holds whole topics, --topic %s names partitions", spec)
		}
	}
	if cli.IsStdout(o.out) {
		o.out = ""
	}
	if o.from != "" {
		if !strings.HasPrefix(o.from, "checkpoint:") && !strings.HasPrefix(o.from, "store:") {
			return cli.Usagef("use checkpoint:DIR or store:URL", "--from %s cannot be exported", offset.Mask(o.from))
		}
		if strings.HasPrefix(o.from, "checkpoint:") && (len(args)+len(o.groups.Names) != 1 || o.groups.All || len(o.groups.Match) > 0) {
			return cli.Usagef("add --group NAME: the group that the offsets are for", "a checkpoint has no group of its own")
		}
	}
	if o.toStore != "" {
		if _, err := store.Parse(o.toStore); err != nil {
			return cli.AsUsage(err)
		}
	}
	return nil
}

func (o *exportOptions) run(ctx context.Context, s *cli.Session, args []string) (err error) {
	w, commit, err := o.writer()
	if err != nil {
		return err
	}
	if o.out != "" {
		defer func() { err = errors.Join(err, commit(err == nil || partly(err))) }()
	}
	sink := &exportSink{o: o, w: w, s: s}
	if o.toStore != "" {
		if sink.store, _, err = o.app.OpenStore(ctx, o.toStore); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sink.store.Close()) }()
	}
	incomplete, err := o.read(ctx, s, args, sink)
	if err != nil {
		return migrateFault(cli.Cause(ctx, err))
	}
	if err := sink.finish(ctx, incomplete); err != nil {
		return err
	}
	o.say(s)
	if incomplete || o.tally.unsaved {
		return cli.Quietly(offset.KindPartial)
	}
	return nil
}

// read reads the groups, or what --from names.
func (o *exportOptions) read(ctx context.Context, s *cli.Session, args []string, sink *exportSink) (incomplete bool, err error) {
	opts := migrate.ExportOptions{Fingerprints: !o.noPrint, LookAhead: o.ahead, CreatedAt: o.app.Now(), Version: o.app.Version, RequireIdle: o.idle, Expect: o.expect, Phase: s.Phase}
	if o.scope.Any() {
		opts.Topics = o.scope.Matcher
	}
	pctx, cancel := s.Phase(ctx, "read the groups")
	defer cancel()
	var positions map[string]offset.Saved
	switch {
	case strings.HasPrefix(o.from, "checkpoint:"):
		names, _, err := o.groups.Resolve(args)
		if err != nil {
			return false, err
		}
		found, err := o.app.PositionsOf(strings.TrimPrefix(o.from, "checkpoint:"), &o.snap)
		if err != nil {
			return false, err
		}
		positions = map[string]offset.Saved{names[0]: found}
	case o.from != "":
		names, _, err := o.groups.Resolve(args)
		if err != nil {
			return false, err
		}
		by, err := o.app.SavedInStore(pctx, strings.TrimPrefix(o.from, "store:"), names)
		if err != nil {
			return false, err
		}
		positions = by.Groups
		if by.Any != nil { // the URL names the group
			l, _ := store.Parse(strings.TrimPrefix(o.from, "store:"))
			positions = map[string]offset.Saved{l.Group: *by.Any}
		}
	default:
		var lost []error
		if opts.Groups, lost, err = knownGroups(pctx, s, &o.groups, args); err != nil {
			return false, err
		}
		for _, err := range lost { // what the others know is exported, and the last line says that it is not all
			o.app.Streams.Fail(render.Failure{Err: err, Kind: offset.KindPartial})
		}
		cancel()
		sink.progress = o.app.Streams.Progress("exporting groups")
		sink.progress.Set(0, int64(len(opts.Groups)))
		defer sink.progress.Stop()
		incomplete, err = migrate.ReadGroups(ctx, s.Client, opts, sink.sink())
		return incomplete || len(lost) > 0, err
	}
	incomplete, err = migrate.ReadPositions(pctx, s.Client, opts, offset.Mask(o.from), positions, o.origin.Allow, o.app.SayOrigin, sink.sink())
	return incomplete, cli.Cause(pctx, err)
}

// writer is where the export goes; nil with --to-store alone. commit makes a file appear, or removes what was written.
func (o *exportOptions) writer() (w io.Writer, commit func(keep bool) error, err error) {
	switch {
	case o.out != "":
		return o.file()
	case o.toStore != "":
		return nil, nil, nil
	}
	return o.app.Streams.Out, nil, nil
}

// file is whole or not there. Its mode is 0600: metadata is the applications' own data.
func (o *exportOptions) file() (io.Writer, func(bool) error, error) {
	w, end, err := o.app.CreateFile(o.out)
	if err != nil {
		return nil, nil, cli.Usagef("", "--out: %w", err)
	}
	return w, func(keep bool) error {
		if err := end(keep); err != nil {
			return fmt.Errorf("write %s: %w", o.out, err)
		}
		return nil
	}, nil
}

// exportSink writes what is read as it comes.
type exportSink struct {
	o      *exportOptions
	w      io.Writer
	s      *cli.Session
	file   *migrate.Writer
	store  store.Store
	writes []store.Write
	// topicIDs are the ids of the topics that are exported.
	topicIDs map[string]string
	// progress is nil where one group is exported.
	progress *render.Progress
}

func (x *exportSink) sink() migrate.Sink {
	return migrate.Sink{
		Begin: func(h migrate.Header) (err error) {
			x.topicIDs = h.Origin("").TopicIDs
			if x.w != nil {
				x.file, err = migrate.NewWriter(x.w, h)
			}
			return err
		},
		Group: x.group,
	}
}

func (x *exportSink) group(g migrate.Group) error {
	t := &x.o.tally
	t.groups++
	if x.progress != nil {
		x.progress.Add(1)
	}
	if g.Live {
		t.live = append(t.live, g.Name)
	}
	if g.Error != "" {
		t.failed++
		x.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("export %s: %s", g.Name, g.Error), Kind: offset.KindPartial})
	}
	if text := migrate.LeftBehind(g.Rows); text != "" {
		t.share++
		for _, r := range g.Rows { // without what was read around it
			t.shareRows = append(t.shareRows, migrate.Row{Share: r.Share, Committed: r.Committed, Acknowledged: r.Acknowledged})
		}
	}
	if x.store != nil && g.Type == string(inspect.TypeShare) {
		t.unsaved = true
		x.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("export %s: a share group's start offsets are not saved in a store", offset.NameText(g.Name)), Kind: offset.KindPartial})
	}
	at := map[offset.Partition]offset.Committed{}
	for _, r := range g.Rows {
		t.rows++
		switch {
		case r.Error != "":
			if t.failed++; t.failed <= 5 {
				x.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("export %s: %s: %s", g.Name, r.Partition, r.Error), Kind: offset.KindPartial})
			}
		case r.Gone:
			t.gone++
		case r.Committed == nil && r.Marker == "":
			t.none++
		}
		if r.Around != nil {
			t.printed++
		}
		if r.Committed != nil && !r.Gone && !r.Share {
			at[r.Partition] = *r.Committed
		}
	}
	if x.store != nil && len(at) > 0 {
		x.writes = append(x.writes, store.Write{Group: g.Name, ClusterID: x.s.Cluster.ID, At: x.o.app.Now(), Positions: storePositions(at, x.topicIDs)})
	}
	if x.file == nil {
		return nil
	}
	return x.file.Group(g)
}

func (x *exportSink) finish(ctx context.Context, incomplete bool) error {
	if x.file != nil {
		if err := x.file.Close(incomplete); err != nil {
			return err
		}
	}
	if x.store == nil {
		return nil
	}
	ctx, cancel := x.s.Phase(ctx, "save to the store")
	defer cancel()
	for i, w := range x.writes {
		if err := saveTo(ctx, x.store, w); err != nil {
			if i > 0 {
				return &cli.Fault{Kind: offset.KindPartial, Err: fmt.Errorf("saved %s of %s: %w", text.Count(i), text.Plural(len(x.writes), "group"), cli.Cause(ctx, err))}
			}
			return cli.Cause(ctx, err)
		}
	}
	return nil
}

// say sums up on stderr what is in the file.
func (o *exportOptions) say(s *cli.Session) {
	t := o.tally
	line := fmt.Sprintf("%s, %s from cluster %s", text.Plural(t.groups, "group"), text.Plural(t.rows, "partition"), s.Cluster.ID)
	if !o.noPrint {
		line += fmt.Sprintf("; %s with fingerprints", text.Count(t.printed))
	}
	if t.none > 0 {
		line += fmt.Sprintf("; %s without a commit", text.Count(t.none))
	}
	if t.gone > 0 {
		line += fmt.Sprintf("; %s left over from topics that are gone", text.Count(t.gone))
	}
	if t.failed > 5 {
		line += fmt.Sprintf("; %s could not be read", text.Count(t.failed))
	}
	o.app.Streams.Note("%s", line)
	if o.toStore != "" {
		o.app.Streams.Note("saved in %s", offset.Mask(o.toStore))
	}
	if t.share > 0 {
		o.app.Streams.Note("of %s only the start offsets are in it: %s", text.Plural(t.share, "share group"), migrate.LeftBehind(t.shareRows))
	}
	if n := len(t.live); n > 0 {
		shown := strings.Join(t.live[:min(3, n)], ", ")
		if n > 3 {
			shown += fmt.Sprintf(" and %d more", n-3)
		}
		o.app.Streams.Warn("members are reading (%s): their commits move on, so export again when they have stopped", shown)
	}
	if o.from == "" && len(o.expect) == 0 {
		o.app.Streams.Note("only topics that this user may describe are in it; --expect-topics checks that")
	}
}
