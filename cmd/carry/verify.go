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
	pair
	out cli.OutputFlag
	all bool

	format render.Format
}

func newMigrateVerify(a *cli.App) *cobra.Command {
	o := &verifyOptions{pair: pair{app: a}}
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
		RunE:              o.across(o.parse, o.run),
	}
	f := c.Flags()
	o.out.Add(c)
	o.pair.add(f)
	f.BoolVar(&o.all, "show-all", false, "show partitions without a commit at the source too")
	return c
}

func (o *verifyOptions) parse(c *cobra.Command) error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	return o.pair.parse(c)
}

func (o *verifyOptions) run(ctx context.Context, source, target *cli.Session, args []string) error {
	if err := o.twoClusters(source, target); err != nil {
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
