package carry

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
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
		Short: "Compare the positions of groups on two clusters, record by record",
		Long: `Reads both clusters at once, finds where the source's positions are on the target as an import does, and says where the
target group is from there: at the same record, behind (it reads records again), ahead (records are skipped for it), or not
known. The exit status is 0 unless a position is ahead, different or missing.

The ordinary connection flags name the target (or --target-profile), --source-profile or --source-bootstrap-server the source.
Groups that are reading move on between the two looks: stop them first.` + cli.ExitStatus(
			"  4  partly known: a position could not be compared",
			"  5  no such group at the source, or it has no commit there",
			"  8  a target position is ahead or outside its log, or there is none"),
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
	x, err := o.export(ctx, source, args, true)
	if err != nil {
		return err
	}
	rows, err := migrate.Verify(ctx, target.Client, x, o.places, 0, target.Phase)
	if err != nil {
		return migrateFault(cli.Cause(ctx, err))
	}
	return o.print(source, target, rows, x.Incomplete)
}

// verifiedCells are a row of the table.
func verifiedCells(r migrate.Checked) []render.Cell {
	from, to := render.None(), render.None()
	if r.Row.Committed != nil {
		from = render.Int(r.Row.Committed.Offset)
	}
	if r.Current != nil {
		to = render.Int(r.Current.Offset)
	}
	verdict := render.String(string(r.Verdict))
	switch r.Verdict {
	case migrate.VerdictAhead, migrate.VerdictDiffers, migrate.VerdictMissing:
		verdict = verdict.Styled(render.Bad)
	case migrate.VerdictBehind, migrate.VerdictUnknown:
		verdict = verdict.Styled(render.Warn)
	}
	return []render.Cell{render.Name(r.Row.Group), render.Name(r.Group), render.String(r.Row.Topic), render.String(r.Target.Topic),
		render.Int32(r.Target.Partition), from, to, verdict, render.IntPtr(r.By), render.Text(r.Detail)}
}

func nothingCompared(rows []migrate.Checked) error {
	what := "commit"
	if len(rows) > 0 {
		what = rows[0].Row.Stores()
	}
	return cli.Faultf(offset.KindNotFound, "", "nothing was compared: no %s at the source", what)
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
		{Header: "BY", Key: "by", Right: true, HideEmpty: true},
		{Header: "DETAIL", Key: "detail", HideEmpty: true},
	}})
	for _, r := range rows {
		count[r.Verdict]++
		if r.Verdict == migrate.VerdictNone && !o.all && o.format.IsTable() {
			continue
		}
		w.Row(verifiedCells(r)...)
	}
	same, unknown := count[migrate.VerdictSame], count[migrate.VerdictUnknown]
	bad := count[migrate.VerdictAhead] + count[migrate.VerdictDiffers] + count[migrate.VerdictMissing]
	var fields []render.Field
	for _, f := range []struct {
		key string
		v   migrate.Verdict
	}{{"same", migrate.VerdictSame}, {"behind", migrate.VerdictBehind}, {"ahead", migrate.VerdictAhead}, {"differ", migrate.VerdictDiffers},
		{"missing", migrate.VerdictMissing}, {"unknown", migrate.VerdictUnknown}, {"no_commit", migrate.VerdictNone}} {
		fields = append(fields, render.F(f.key, render.Int(int64(count[f.v]))))
	}
	summary := render.Object(fields...)
	if err := w.Close(render.End{Incomplete: incomplete || unknown > 0, Fields: []render.Field{render.F("summary", summary)}}); err != nil {
		return err
	}
	o.app.Streams.Note("%s at the same record, %s behind, %s ahead, %s different or missing, %s not known", text.Plural(same, "partition"),
		text.Count(count[migrate.VerdictBehind]), text.Count(count[migrate.VerdictAhead]), text.Count(bad-count[migrate.VerdictAhead]), text.Count(unknown))
	switch {
	case bad > 0:
		return cli.Quietly(offset.KindCheck)
	case unknown > 0 || incomplete:
		return cli.Quietly(offset.KindPartial)
	case count[migrate.VerdictNone] == len(rows): // a check that held nothing against anything did not hold
		return nothingCompared(rows)
	}
	return nil
}
