package carry

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

type importOptions struct {
	app      *cli.App
	write    act.Flags
	groups   cli.GroupFlags
	topics   cli.TopicFlags
	strategy strategyFlags
	mapping  mappingFlags
	source   sourceFlags
	format   string
	skip     bool
	rewind   bool
	rewrite  rewriteFlags

	query   migrate.Query
	matcher *offset.Matcher
	scope   cli.TopicScope
}

func newMigrateImport(a *cli.App) *cobra.Command {
	o := &importOptions{app: a}
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Plan a group's offsets on this cluster from an export of another one",
		Long: `Finds where each position of the export is on this cluster, and shows a plan as reset does: nothing is changed without
--execute, what was there goes to the undo journal. The PROOF column says how each offset is known.

Strategies (--strategy, tried in the order given for each partition):

  same          the same number: the same cluster and topic, or the same record at it
  record        the record itself: searched from its own time on by fingerprint; a group that had read everything stands
                after the last record it read
  mm2           MirrorMaker 2's offset syncs and checkpoints: skips nothing, reads some records again
  table         pairs of offsets from --table FILE
  timestamp     the first record at or after the time of the next unread one; can skip, needs --allow-unproven
  end-distance  as far from the end as at the source; can skip, needs --allow-unproven

A row that no strategy resolves refuses the whole import, or is left alone with --skip-unresolved. A target group that
stands after the translated position is not moved back without --allow-rewind.

FILE may also be a list of offsets of another tool (--input-format kafka-csv, rpk or kcl; guessed where it is plain): it
has no fingerprints, so its numbers are unproven. Where a file names no group, as checkpoint export --as json does not without
--group, --group says which one the offsets are for.

--rewrite-checkpoint DIR --out NEW puts the offsets into a copy of a Flink savepoint instead of a group.` + cli.ExitStatus(
			"  1  failed: the broker refused every row",
			"  3  refused: a row is unresolved, a group has members, or declined; nothing was changed",
			"  4  partly done or partly known; the rows say which",
			"  5  nothing in the file matches, or a topic of MirrorMaker's does not exist"),
		Example: `  koffset --profile new migrate import billing.jsonl
  koffset --profile new migrate import billing.jsonl --execute
  koffset --profile new migrate import all.jsonl --group billing --map orders=dr.orders
  koffset --profile new migrate import all.jsonl --mm2-source old --strategy same,record,mm2 --source-profile old
  koffset --profile new migrate import job.jsonl --rewrite-checkpoint /flink/savepoint-3a23c5 --out /flink/moved`,
		ValidArgsFunction: cli.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			run := func(ctx context.Context, s *cli.Session) error { return o.run(ctx, cmd, s) }
			return a.Connected(o.parse, run)(cmd, args)
		},
	}
	f := c.Flags()
	o.write.Add(c)
	o.write.AddPlanOut(c)
	o.groups.Add(f)
	o.topics.Add(f)
	o.strategy.add(c)
	o.mapping.add(f)
	o.source.add(f, ", for MirrorMaker's offset syncs")
	f.StringVar(&o.format, "input-format", "", "what FILE is: koffset, plan, kafka-csv, rpk or kcl; guessed where it is plain")
	f.BoolVar(&o.skip, "skip-unresolved", false, "leave rows alone that no strategy resolves, instead of refusing")
	f.BoolVar(&o.rewind, "allow-rewind", false, "move a target group back where it is ahead of the translated position")
	o.rewrite.add(f)
	_ = c.RegisterFlagCompletionFunc("input-format", cobra.FixedCompletions([]string{"koffset", "plan", "kafka-csv", "rpk", "kcl"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o *importOptions) parse(c *cobra.Command, args []string) error {
	if err := o.write.Parse(c); err != nil {
		return err
	}
	if len(args) == 0 {
		return cli.Usagef("koffset migrate import FILE; - is standard input", "which export? no file was given")
	}
	if len(args) != 1 {
		return cli.Usagef("koffset migrate import FILE; - is standard input", "one file is the argument, %d were given", len(args))
	}
	var err error
	if o.query, err = o.strategy.query(o.app, c); err != nil {
		return err
	}
	if o.query.Mapping, err = o.mapping.mapping(); err != nil {
		return err
	}
	if o.scope, err = o.topics.Resolve(c); err != nil {
		return err
	}
	if o.groups.Names, o.matcher, err = o.groups.Resolve(nil); err != nil {
		return err
	}
	if err := o.rewrite.check(o); err != nil {
		return err
	}
	return o.load(args[0])
}

// load reads the file and keeps the rows that the flags choose.
func (o *importOptions) load(name string) error {
	data, err := o.app.ReadFile(name)
	if err != nil {
		return cli.Usagef("", "%w", err)
	}
	format := migrate.Format(o.format)
	if format == "" {
		var ok bool
		if format, ok = migrate.GuessFormat(data); !ok {
			return cli.Usagef("add --input-format koffset, kafka-csv, rpk or kcl", "%s: what kind of file this is cannot be told", name)
		}
	} else if !slices.Contains(migrate.Formats(), format) {
		return cli.Usagef("use koffset, plan, kafka-csv, rpk or kcl", "--input-format %q is not one of its values", o.format)
	}
	x, err := o.decode(name, format, data)
	if err != nil {
		return err
	}
	o.query.Header, o.query.Name = x.Header, name
	if err := o.nameGroup(name, x); err != nil {
		return err
	}
	if err := o.known(name, x); err != nil {
		return err
	}
	total := 0
	for _, g := range x.Groups {
		for _, r := range g.Rows {
			total++
			if o.matcher.Match(g.Name) && o.wanted(r.Partition) {
				o.query.Rows = append(o.query.Rows, r)
			}
		}
		if g.Error != "" && o.matcher.Match(g.Name) {
			return cli.Faultf(offset.KindRefused, "export it again, or leave it out with --group-exclude", "the export has not all of group %s: %s", offset.NameText(g.Name), g.Error)
		}
	}
	var internal map[string][]string
	o.query.Rows, internal = migrate.LeaveInternal(o.query.Rows, func(topic string) bool { return literal(o.scope, topic) })
	sayInternal(o.app, internal)
	if len(o.query.Rows) == 0 {
		return cli.Faultf(offset.KindNotFound, "", "nothing in %s matches, which has %s of %s", name, text.Plural(total, "partition"), text.Plural(len(x.Groups), "group"))
	}
	return nil
}

// nameGroup gives offsets that belong to no group, such as those of another tool's list or of a checkpoint, to the group that
// is named. Offsets that go into a checkpoint need none.
func (o *importOptions) nameGroup(name string, x *migrate.Export) error {
	for n := range x.Groups {
		g := &x.Groups[n]
		switch {
		case g.Name != "" || !g.Any, o.rewrite.dir != "" && len(o.groups.Names) == 0:
			continue
		case len(o.groups.Names) != 1:
			return cli.Usagef("add --group GROUP: the group that the offsets are for", "%s names no group", name)
		}
		g.Name, g.Any = o.groups.Names[0], false
		for i := range g.Rows {
			g.Rows[i].Group = g.Name
		}
	}
	return nil
}

// known says which of the named groups, and of the renamed topics and groups, are not in the file.
func (o *importOptions) known(name string, x *migrate.Export) error {
	var groups []string
	for _, g := range x.Groups {
		groups = append(groups, g.Name)
	}
	for _, n := range o.groups.Names {
		if !slices.Contains(groups, n) {
			hint := "leave it out"
			if near := text.Near(n, groups); len(near) > 0 {
				hint = "did you mean " + strings.Join(offset.NameTexts(near), ", ") + "?"
			}
			return cli.Faultf(offset.KindNotFound, hint, "group %q is not in %s, which has %s", n, name, text.Plural(len(groups), "group"))
		}
	}
	sayUnused(o.app, o.query.Mapping, x, "in "+name)
	return nil
}

func (o *importOptions) wanted(p offset.Partition) bool {
	if !o.scope.Matcher.Match(p.Topic) {
		return false
	}
	for _, spec := range o.scope.Specs {
		if spec.Topic == p.Topic {
			return len(spec.Partitions) == 0 || slices.Contains(spec.Partitions, p.Partition)
		}
	}
	return true
}

// decode reads any of the formats into an export. Lists of other tools know nothing but numbers.
func (o *importOptions) decode(name string, format migrate.Format, data []byte) (*migrate.Export, error) {
	if format == migrate.FormatExport {
		x, err := migrate.ReadExport(name, bytes.NewReader(data))
		if err != nil {
			return nil, cli.FileFault(err)
		}
		if x.Incomplete {
			o.app.Streams.Warn("%s is incomplete: something could not be read when it was exported", name)
		}
		return x, nil
	}
	by, _, err := migrate.ReadSaved(name, format, data)
	if err != nil {
		return nil, cli.FileFault(err)
	}
	if by.Any == nil {
		return migrate.ExportOf(name, by.Groups), nil
	}
	x := migrate.ExportOf(name, map[string]offset.Saved{"": *by.Any})
	x.Groups[0].Any = true // nameGroup gives it a name
	return x, nil
}

func (o *importOptions) run(ctx context.Context, c *cobra.Command, s *cli.Session) error {
	if o.source.given() {
		source, err := o.source.connect(ctx, o.app, c)
		if err != nil {
			return err
		}
		defer source.Close()
		return o.plan(ctx, s, source)
	}
	return o.plan(ctx, s, nil)
}

func (o *importOptions) plan(ctx context.Context, s, source *cli.Session) error {
	pctx, cancel := s.Phase(ctx, "read MirrorMaker's topics")
	defer cancel()
	if err := o.strategy.readMM2(pctx, o.app, &o.query, o.mapping.mm2Source, s, source); err != nil {
		return cli.Cause(pctx, err)
	}
	cancel()
	if err := o.write.Ready(ctx, s, o.targetGroups()); err != nil {
		return err
	}
	res, err := translate(ctx, o.app, s, o.query)
	if err != nil {
		return err
	}
	if o.rewrite.dir != "" {
		return o.rewrite.run(ctx, o, s, res)
	}
	pctx, cancel = s.Phase(ctx, "make the plan")
	defer cancel()
	planned, err := migrate.MakePlan(pctx, s.Client, res, migrate.PlanOptions{Verb: "import", Asked: o.asked(), SkipUnresolved: o.skip, AllowRewind: o.rewind})
	if err != nil {
		return cli.Cause(pctx, err)
	}
	cancel()
	sayTally(o.app, res)
	if len(planned.Plan.Groups) == 0 {
		o.app.Streams.Note("the export has no commit to carry")
		return nil
	}
	w := carrying(o.app, s, &o.write, planned)
	w.Left = planned.Effect.Left()
	sayLeft(o.app, planned.Effect)
	return w.Do(ctx)
}

func (o *importOptions) targetGroups() []string {
	var out []string
	for _, r := range o.query.Rows {
		name, _ := o.query.Mapping.Groups.Apply(r.Group)
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *importOptions) asked() string {
	words := make([]string, len(o.query.Rules.Strategies))
	for i, s := range o.query.Rules.Strategies {
		words[i] = string(s)
	}
	from := o.query.Header.ClusterID
	if from == "" {
		from = o.query.Header.Source
	}
	return "from " + from + " by " + strings.Join(words, ",")
}
