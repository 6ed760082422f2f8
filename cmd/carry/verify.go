package carry

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
)

type verifyOptions struct {
	app     *cli.App
	out     cli.OutputFlag
	groups  cli.GroupFlags
	topics  cli.TopicFlags
	mapping mappingFlags
	source  sourceFlags
	target  string
	all     bool

	format render.Format
	places migrate.Mapping
	scope  cli.TopicScope

	saidInternal bool
}

func newMigrateVerify(a *cli.App) *cobra.Command {
	o := &verifyOptions{app: a}
	c := &cobra.Command{
		Use:   "verify GROUP…",
		Short: "Compare where groups stand on two clusters, record by record",
		Long: `Reads both clusters at once and compares the records at both positions by fingerprint. A position is the same where both
groups read the same record next, or have read the same one last. Without differences the exit status is 0.

The ordinary connection flags name the target (or --target-profile), --source-profile or --source-bootstrap-server the source.
Groups that are reading move on between the two looks: stop them first.` + cli.ExitStatus(
			"  4  partly known: a position could not be compared",
			"  5  no such group at the source",
			"  8  a position differs, or the target has none"),
		Example: `  koffset --profile new migrate verify billing --source-profile old
  koffset -b new:9092 migrate verify --all-groups --source-bootstrap-server old:9092 --mm2-source old
  koffset migrate verify billing --source-profile old --target-profile new -o json`,
		ValidArgsFunction: sourceCompleter(a, &o.source).Groups(),
		RunE:              across(a, &o.source, &o.target, o.parse, o.run),
	}
	f := c.Flags()
	o.out.Add(c)
	o.groups.Add(f)
	o.topics.Add(f)
	o.mapping.add(f)
	o.source.add(f, "")
	addTargetProfile(f, &o.target)
	f.BoolVar(&o.all, "show-all", false, "show partitions without a commit at the source too")
	return c
}

func (o *verifyOptions) parse(c *cobra.Command) error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	if o.places, err = o.mapping.mapping(); err != nil {
		return err
	}
	o.scope, err = o.topics.Resolve(c)
	return err
}

func (o *verifyOptions) run(ctx context.Context, source, target *cli.Session, args []string) error {
	if err := twoClusters(source, target, o.places.Topics.Any() || o.places.Groups.Any()); err != nil {
		return err
	}
	x, err := o.export(ctx, source, args)
	if err != nil {
		return err
	}
	rows, err := migrate.Verify(ctx, target.Client, x, o.places, target.Phase)
	if err != nil {
		return migrateFault(cli.Cause(ctx, err))
	}
	return o.print(source, target, rows, x.Incomplete)
}

func (o *verifyOptions) export(ctx context.Context, source *cli.Session, args []string) (*migrate.Export, error) {
	pctx, cancel := source.Phase(ctx, "list the source's groups")
	defer cancel()
	groups, err := chosenGroups(pctx, source, &o.groups, args)
	if err != nil {
		return nil, err
	}
	cancel()
	opts := migrate.ExportOptions{Groups: groups, Fingerprints: true, CreatedAt: o.app.Now(), Version: o.app.Version, Phase: source.Phase}
	if o.scope.Any() {
		opts.Topics = o.scope.Matcher
	}
	x, err := migrate.Collect(func(to migrate.Sink) (bool, error) { return migrate.ReadGroups(ctx, source.Client, opts, to) })
	if err != nil {
		return nil, migrateFault(cli.Cause(ctx, err))
	}
	for n := range x.Groups {
		var internal map[string][]string
		g := &x.Groups[n]
		g.Rows, internal = migrate.LeaveInternal(g.Rows, func(topic string) bool { return literal(o.scope, topic) })
		if !o.saidInternal {
			sayInternal(o.app, internal)
		}
	}
	o.saidInternal = true // sync looks again and again
	for _, g := range x.Groups {
		if g.Live {
			o.app.Streams.Warn("group %s is %s at the source: what it commits meanwhile makes a difference", g.Name, g.State)
		}
	}
	return x, nil
}

func (o *verifyOptions) print(source, target *cli.Session, rows []migrate.Checked, incomplete bool) error {
	count := map[migrate.Verdict]int{}
	w := render.NewWriter(o.app.Streams, o.format, target.Meta("migrate-verify", render.F("source_cluster_id", render.String(source.Cluster.ID))))
	w.Begin(render.Sheet{Name: "partitions", Row: "partition", Columns: []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TARGET-GROUP", Key: "target_group", Wide: true},
		{Header: "TOPIC", Key: "topic"},
		{Header: "TARGET-TOPIC", Key: "target_topic", Wide: true},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "SOURCE-OFFSET", Key: "source_offset", Right: true},
		{Header: "TARGET-OFFSET", Key: "target_offset", Right: true},
		{Header: "VERDICT", Key: "verdict"},
		{Header: "DETAIL", Key: "detail", HideEmpty: true},
	}})
	for _, r := range rows {
		count[r.Verdict]++
		if r.Verdict == migrate.VerdictNone && !o.all && o.format.IsTable() {
			continue
		}
		from, to := render.None(), render.None()
		if r.Row.Committed != nil {
			from = render.Int(r.Row.Committed.Offset)
		}
		if r.Current != nil {
			to = render.Int(r.Current.Offset)
		}
		verdict := render.String(string(r.Verdict))
		switch r.Verdict {
		case migrate.VerdictDiffers, migrate.VerdictMissing:
			verdict = verdict.Styled(render.Bad)
		case migrate.VerdictUnknown:
			verdict = verdict.Styled(render.Warn)
		}
		w.Row(render.String(r.Row.Group), render.String(r.Group), render.String(r.Row.Topic), render.String(r.Target.Topic),
			render.Int32(r.Target.Partition), from, to, verdict, render.Text(r.Detail))
	}
	same, bad, unknown := count[migrate.VerdictSame], count[migrate.VerdictDiffers]+count[migrate.VerdictMissing], count[migrate.VerdictUnknown]
	summary := render.Object(render.F("same", render.Int(int64(same))), render.F("differ", render.Int(int64(count[migrate.VerdictDiffers]))),
		render.F("missing", render.Int(int64(count[migrate.VerdictMissing]))), render.F("unknown", render.Int(int64(unknown))), render.F("no_commit", render.Int(int64(count[migrate.VerdictNone]))))
	if err := w.Close(render.End{Incomplete: incomplete || unknown > 0, Fields: []render.Field{render.F("summary", summary)}}); err != nil {
		return err
	}
	o.app.Streams.Note("%s at the same record, %s different or missing, %s not known", text.Plural(same, "partition"), text.Count(bad), text.Count(unknown))
	switch {
	case bad > 0:
		return cli.Quietly(cli.ExitCheck)
	case unknown > 0 || incomplete:
		return cli.Quietly(cli.ExitPartial)
	}
	return nil
}
