package carry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

type splitOptions struct {
	app       *cli.App
	out       cli.OutputFlag
	from      string
	until     string
	group     cli.NameFlag
	isolation string
	parts     int
	max       int64
	every     string
	by        string
	file      string
	policies  cli.PositionFlags
	snap      cli.SnapshotFlags
	origin    cli.OriginFlag

	format       render.Format
	specs        []offset.TopicSpec
	start, end   offset.Position
	startR, endR offset.Rules
	step         time.Duration
	topicIDs     map[string]string // of the topics that are cut
}

// NewSplit is the command split.
func NewSplit(a *cli.App) *cobra.Command {
	o := &splitOptions{app: a}
	c := &cobra.Command{
		Use: "split TOPIC[:PARTITIONS]…", GroupID: "carry",
		Short: "Contiguous offset ranges as a work list for parallel replay",
		Long: `Cuts everything between --from and --until into parts that together hold every offset exactly once: --parts N of about
the same size, --max-offsets N each, or --every 1h of record time. Each part has at most one range of a partition.

--out FILE writes a range file: koffset consume --range-file FILE --part K reads part K and nothing else, so that N
processes replay the topic side by side. Both ends are resolved once, here. Parts are numbered from 1.

Sizes are offsets; where the topic is compacted or has transactions, fewer records. --by bytes weighs partitions by what
they take on disk.` + cli.ExitStatus(
			"  3  refused: an offset is outside the log, or a policy says fail",
			"  5  no such topic or partition"),
		Example: `  koffset split orders --parts 8 --out replay.ranges
  koffset consume --range-file replay.ranges --part 3
  koffset split orders payments --from @-7d --until @-1d/d --parts 16
  koffset split orders:0,1 --max-offsets 100000
  koffset split orders --from @2026-11-28 --until @2026-11-29 --every 1h -o json`,
		ValidArgsFunction: a.Completer().Topics(),
		RunE:              a.Timed(o.parse, o.run),
	}
	f := c.Flags()
	o.out.Add(c)
	f.StringVar(&o.from, "from", "earliest", "where the ranges begin, a position `WORD`: earliest, 1234, start+N, end-N, current, @TIME, @-2h, group:G, file:F, orders:0=42,…")
	f.StringVar(&o.until, "until", "latest", "where they end, not included, a position `WORD`; +N counts from the start")
	f.VarP(&o.group, "group", "g", "the `GROUP` whose commit current means")
	f.StringVar(&o.isolation, "isolation", "read_uncommitted", "which end latest means: read_uncommitted (high watermark) or read_committed (last stable offset)")
	f.IntVar(&o.parts, "parts", 0, "`N` parts of about the same size")
	f.Int64Var(&o.max, "max-offsets", 0, "parts of at most `N` offsets")
	f.StringVar(&o.every, "every", "", "a part for each `DURATION` of record time, such as 1h")
	f.StringVar(&o.by, "by", "offsets", "what --parts weighs: `offsets` or bytes")
	f.StringVar(&o.file, "out", "", "write a range `FILE` for koffset consume --range-file")
	o.policies.AddPolicies(f)
	o.snap.Add(f)
	o.origin.Add(c, f)
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"offsets", "bytes"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o *splitOptions) parse(c *cobra.Command, args []string, clock offset.Clock) error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	if len(args) == 0 {
		return cli.Usagef("koffset split TOPIC --parts 8", "name a topic")
	}
	for _, arg := range args {
		specs, err := offset.ParseTopicSpecs(arg)
		if err != nil {
			return err
		}
		o.specs = append(o.specs, specs...)
	}
	ways := 0
	for _, name := range []string{"parts", "max-offsets", "every"} {
		if c.Flags().Changed(name) {
			ways++
		}
	}
	switch {
	case ways != 1:
		return cli.Usagef("such as --parts 8", "give one of --parts, --max-offsets and --every, %d were given", ways)
	case c.Flags().Changed("parts") && (o.parts < 1 || o.parts > maxParts):
		return cli.Usagef("", "--parts %d: a number from 1 to %d", o.parts, maxParts)
	case c.Flags().Changed("max-offsets") && o.max < 1:
		return cli.Usagef("", "--max-offsets %d: a number from 1 on", o.max)
	case o.by != "offsets" && o.by != "bytes":
		return cli.Usagef("use offsets or bytes", "--by %q is not one of its values", o.by)
	case o.by == "bytes" && o.parts == 0:
		return cli.Usagef("add --parts N", "--by bytes needs --parts")
	}
	if o.every != "" {
		if o.step, err = offset.ParseDuration(o.every); err != nil {
			return &cli.Fault{Kind: offset.KindUsage, Err: fmt.Errorf("--every: %w", err), Hint: cli.HintOf(err)}
		}
		if o.step < time.Millisecond {
			return cli.Usagef("", "--every %s is shorter than a millisecond", o.every)
		}
	}
	return o.parseEnds(clock)
}

func (o *splitOptions) parseEnds(clock offset.Clock) error {
	if err := o.origin.Parse(); err != nil {
		return err
	}
	iso, err := offset.ParseIsolation(o.isolation)
	if err != nil {
		return err
	}
	if o.startR, err = o.policies.Rules(iso); err != nil {
		return err
	}
	// The end of a range is a reader's wish, not a promise: past the log end it is the log end.
	o.endR = o.startR
	o.endR.OutOfRange = offset.OutOfRangeClamp
	if o.start, err = offset.ParsePosition(o.from, offset.RoleStart, clock); err != nil {
		return &cli.Fault{Kind: offset.KindUsage, Err: fmt.Errorf("--from: %w", err), Hint: cli.HintOf(err)}
	}
	if o.end, err = offset.ParsePosition(o.until, offset.RoleEnd, clock); err != nil {
		return &cli.Fault{Kind: offset.KindUsage, Err: fmt.Errorf("--until: %w", err), Hint: cli.HintOf(err)}
	}
	for flag, p := range map[string]offset.Position{"--from": o.start, "--until": o.end} {
		if p.NeedsGroup() && !o.group.Given {
			return cli.Usagef("add --group GROUP", "%s %s is a group's commit, and no group was named", flag, p)
		}
	}
	if from, until, yes := o.start.TurnedRound(o.end); yes {
		return cli.Usagef("did you mean them the other way round?", "--until %s is before --from %s: nothing lies between them", offset.FormatTime(until.Time), offset.FormatTime(from.Time))
	}
	return nil
}

func (o *splitOptions) run(ctx context.Context, s *cli.Session) error {
	o.app.EchoInstants(o.start)
	o.app.EchoInstants(o.end)
	pctx, cancel := s.Phase(ctx, "read the topics")
	defer cancel()
	spans, facts, err := o.spans(pctx, s)
	if err != nil {
		return cli.Cause(pctx, err)
	}
	cancel()
	pctx, cancel = s.Phase(ctx, "read the sizes and times")
	defer cancel()
	bounds := func(p offset.Partition) (offset.Bounds, bool) {
		if b := facts.Of(p).Bounds; b != nil {
			return *b, true
		}
		return offset.Bounds{}, false
	}
	if err := migrate.ReadSizes(pctx, s.Client, spans, bounds); err != nil {
		if o.by == "bytes" {
			return cli.Faultf(offset.KindDenied, "--by bytes needs DESCRIBE on the cluster; --by offsets does not", "%w", cli.Cause(pctx, err))
		}
		o.app.Streams.Note("bytes are not known: %v", err)
	}
	var parts []migrate.Part
	var times []time.Time
	switch {
	case o.every != "":
		if parts, times, err = o.byTime(pctx, s, spans); err != nil {
			return cli.Cause(pctx, err)
		}
	case o.max > 0:
		if n := (migrate.Part(spans).Len() + o.max - 1) / o.max; n > maxParts {
			return cli.Usagef("choose a larger --max-offsets", "--max-offsets %d: %s parts, %s are possible", o.max, text.Count(n), text.Count(maxParts))
		}
		parts = migrate.SplitMax(spans, o.max)
	default:
		parts = migrate.SplitInto(spans, o.parts, o.by == "bytes")
	}
	if err := o.write(s, parts); err != nil {
		return err
	}
	return o.print(s, parts, times)
}

// spans resolves both ends on every partition.
func (o *splitOptions) spans(ctx context.Context, s *cli.Session) ([]migrate.Span, *inspect.Facts, error) {
	savedStart, err := o.saved(ctx, s, o.start)
	if err != nil {
		return nil, nil, err
	}
	savedEnd, err := o.saved(ctx, s, o.end)
	if err != nil {
		return nil, nil, err
	}
	var commits *inspect.Commits
	if o.group.Given {
		c, err := inspect.ReadCommitsOf(ctx, s.Client, o.group.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("group %q: %w", o.group.Name, err)
		}
		commits = &c
	}
	topics, parts, err := o.partitions(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	o.topicIDs = map[string]string{}
	for name, id := range inspect.Here(s.Cluster.ID, topics).TopicIDs {
		if id != "" {
			o.topicIDs[name] = id
		}
	}
	facts, ends, err := o.bothEnds(ctx, s, inspect.GatherQuery{Parts: parts, Topics: topics, Position: o.start, Isolation: o.startR.Isolation, Commits: commits, Saved: savedStart,
		ClusterID: s.Cluster.ID, AllowOrigin: o.origin.Allow}, savedEnd)
	if err != nil {
		return nil, nil, err
	}
	var spans []migrate.Span
	var refused []error
	for _, p := range parts {
		// What could not be read is no refusal: the same command may work later, or for another user.
		if err := cmp.Or(facts.Of(p).Err, ends.Of(p).Err); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p, err)
		}
		span, err := o.span(p, facts.Of(p), ends.Of(p))
		switch {
		case err != nil:
			refused = append(refused, err)
		case span != nil:
			spans = append(spans, *span)
		}
	}
	if len(refused) > 0 {
		return nil, nil, cli.RefusedRows(refused)
	}
	return spans, facts, nil
}

// bothEnds reads what the start of every partition needs, which q asks for, and then what its end needs.
func (o *splitOptions) bothEnds(ctx context.Context, s *cli.Session, q inspect.GatherQuery, savedEnd *offset.Saved) (starts, ends *inspect.Facts, err error) {
	if starts, err = inspect.Gather(ctx, s.Client, q); err != nil {
		return nil, nil, err
	}
	q.Position, q.Saved = o.end, savedEnd
	if ends, err = inspect.Gather(ctx, s.Client, q); err != nil {
		return nil, nil, err
	}
	o.app.SayOrigin(starts.Said)
	if o.end.String() != o.start.String() {
		o.app.SayOrigin(ends.Said)
	}
	return starts, ends, nil
}

// span is one partition's piece, nil where a policy leaves it out.
func (o *splitOptions) span(p offset.Partition, start, end offset.Facts) (*migrate.Span, error) {
	from, err := offset.Resolve(p, o.start, start, o.startR)
	if err != nil {
		return nil, err
	}
	end.From = &from.Offset
	to, err := offset.Resolve(p, o.end, end, o.endR)
	if err != nil {
		return nil, err
	}
	if from.Leave || to.Leave {
		o.app.Streams.Note("%s is left out: %s", p, from.Detail+to.Detail)
		return nil, nil
	}
	// An end past the log end would wait for records; a range is what is there.
	until := min(to.Offset, end.Bounds.EndFor(o.endR.Isolation))
	if until < from.Offset {
		o.app.Streams.Warn("%s: --until is %d, before --from %d: nothing of it is in a range", p, until, from.Offset)
	}
	return &migrate.Span{Partition: p, From: from.Offset, To: max(from.Offset, until)}, nil
}

func (o *splitOptions) saved(ctx context.Context, s *cli.Session, p offset.Position) (*offset.Saved, error) {
	all, err := s.LoadSaved(ctx, p, &o.snap, o.group.Name)
	if err != nil {
		return nil, err
	}
	return o.app.PickSaved(all, p, o.group.Name, o.group.Given)
}

// partitions are those that the arguments name; every one must exist.
func (o *splitOptions) partitions(ctx context.Context, s *cli.Session) (map[string]inspect.Topic, []offset.Partition, error) {
	names := map[string]bool{}
	for _, spec := range o.specs {
		names[spec.Topic] = true
	}
	topics, err := inspect.ReadTopics(ctx, s.Client, slices.Collect(maps.Keys(names)))
	if err != nil {
		return nil, nil, err
	}
	var parts []offset.Partition
	for _, spec := range o.specs {
		t := topics[spec.Topic]
		if t.Err != nil {
			hint := cli.RightsHint(t.Err)
			if hint != "" {
				return nil, nil, cli.Faultf(offset.KindDenied, hint, "topic %q: %w", spec.Topic, t.Err)
			}
			return nil, nil, cli.Faultf(offset.KindNotFound, s.TopicHint(ctx, spec.Topic), "topic %q: %w", spec.Topic, t.Err)
		}
		ns := spec.Partitions
		if len(ns) == 0 {
			ns = t.Numbers()
		}
		for _, n := range ns {
			if !t.Has(n) {
				return nil, nil, cli.Faultf(offset.KindNotFound, "", "partition %s:%d does not exist: the topic has partitions 0 to %d", spec.Topic, n, len(t.Partitions)-1)
			}
			parts = append(parts, offset.Partition{Topic: spec.Topic, Partition: n})
		}
	}
	slices.SortFunc(parts, offset.Partition.Compare)
	return topics, slices.Compact(parts), nil
}

// maxParts is what a range file takes.
const maxParts = 1_000_000

// maxSteps bounds how many parts --every makes: each is a look-up on every partition.
const maxSteps = 10_000

// byTime cuts at every step between the first and the last record of the spans. times are when the parts begin.
func (o *splitOptions) byTime(ctx context.Context, s *cli.Session, spans []migrate.Span) ([]migrate.Part, []time.Time, error) {
	parts := inspect.Partitions{}
	at := map[offset.Partition]offset.Instant{}
	for _, sp := range spans {
		if sp.Len() > 0 {
			parts.Add(sp.Partition)
			at[sp.Partition] = offset.Instant{Time: time.UnixMilli(0)}
		}
	}
	first, last, err := o.firstAndLast(ctx, s, parts, at)
	if err != nil {
		return nil, nil, err
	}
	if first.IsZero() || last.Before(first) {
		return migrate.SplitInto(spans, 1, false), []time.Time{first}, nil
	}
	steps := int64(last.Sub(first) / o.step)
	if steps >= maxSteps {
		return nil, nil, cli.Usagef("choose a longer --every, or a later --from", "%s from %s to %s are %d parts, %d are possible", o.every,
			offset.FormatTime(first), offset.FormatTime(last), steps+1, maxSteps)
	}
	times := []time.Time{first}
	var cuts []map[offset.Partition]int64
	for k := int64(1); k <= steps; k++ {
		t := first.Add(time.Duration(k) * o.step)
		for p := range at {
			at[p] = offset.Instant{Time: t}
		}
		cut := map[offset.Partition]int64{}
		for p, l := range inspect.FindTimes(ctx, s.Client, o.startR.Isolation, at) {
			if l.Err != nil {
				return nil, nil, fmt.Errorf("%s at %s: %w", p, offset.FormatTime(t), l.Err)
			}
			if l.Record != nil {
				cut[p] = l.Record.Offset
			}
		}
		times, cuts = append(times, t), append(cuts, cut)
	}
	return migrate.SplitAt(spans, cuts), times, nil
}

// firstAndLast are the times between which the spans are cut: of the first and the last record, or what the ends say. at holds
// the beginning of time for every partition that has records.
func (o *splitOptions) firstAndLast(ctx context.Context, s *cli.Session, parts inspect.Partitions, at map[offset.Partition]offset.Instant) (first, last time.Time, err error) {
	if o.start.Kind == offset.AtTime {
		first = o.start.At.Time
	} else {
		for p, l := range inspect.FindTimes(ctx, s.Client, o.startR.Isolation, at) {
			if l.Err != nil {
				return first, last, fmt.Errorf("the first time of %s: %w", p, l.Err)
			}
			if l.Record != nil && (first.IsZero() || l.Record.Time.Before(first)) {
				first = l.Record.Time
			}
		}
		first = first.Truncate(o.step)
	}
	for p, l := range inspect.FindMax(ctx, s.Client, parts) {
		if l.Err != nil {
			return first, last, fmt.Errorf("the latest time of %s: %w", p, l.Err)
		}
		if l.Record != nil && l.Record.Time.After(last) {
			last = l.Record.Time
		}
	}
	if o.end.Kind == offset.AtTime && o.end.At.Time.Before(last) {
		last = o.end.At.Time.Add(-time.Millisecond)
	}
	return first, last, nil
}

// write writes the range file.
func (o *splitOptions) write(s *cli.Session, parts []migrate.Part) error {
	if o.file == "" {
		return nil
	}
	f := consume.RangeFile{ClusterID: s.Cluster.ID, CreatedAt: o.app.Now(), TopicIDs: o.topicIDs, Parts: make([][]consume.Range, len(parts))}
	for k, p := range parts {
		for _, sp := range p {
			f.Parts[k] = append(f.Parts[k], consume.Range{Partition: sp.Partition, From: sp.From, To: sp.To})
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		return err
	}
	if err := o.app.WriteFile(o.file, b.Bytes()); err != nil {
		return cli.Usagef("", "--out: %w", err)
	}
	o.app.Streams.Note("wrote %s in %s: koffset consume --range-file %s --part 1 reads the first", text.Plural(len(parts), "part"), o.file, o.file)
	return nil
}

func (o *splitOptions) print(s *cli.Session, parts []migrate.Part, times []time.Time) error {
	total := int64(0)
	w := render.NewWriter(o.app.Streams, o.format, s.Meta("split", render.F("from", render.String(o.start.String())), render.F("until", render.String(o.end.String())),
		render.F("isolation", render.String(o.startR.Isolation.String()))))
	w.Begin(render.Sheet{Name: "ranges", Row: "range", Columns: []render.Column{
		{Header: "PART", Key: "part", Right: true},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "FROM-OFFSET", Key: "from_offset", Right: true},
		{Header: "UNTIL-OFFSET", Key: "until_offset", Right: true},
		{Header: "OFFSETS", Key: "offset_count", Right: true},
		{Header: "BYTES", Key: "bytes", Right: true, HideEmpty: true},
		{Header: "FROM-TIME", Key: "from_timestamp", HideEmpty: true},
	}})
	for k, p := range parts {
		begin := render.None()
		if k < len(times) && !times[k].IsZero() {
			begin = render.Time(times[k])
		}
		for _, sp := range p {
			total += sp.Len()
			w.Row(render.Int(int64(k+1)), render.String(sp.Topic), render.Int32(sp.Partition.Partition), render.Int(sp.From), render.Int(sp.To),
				render.Int(sp.Len()), render.IntPtr(sp.Bytes), begin)
		}
	}
	if err := w.Close(render.End{Fields: []render.Field{render.F("part_count", render.Int(int64(len(parts)))), render.F("offset_count", render.Int(total))}}); err != nil {
		return err
	}
	o.app.Streams.Note("%s, %s in all", text.Plural(len(parts), "part"), text.Plural(total, "offset"))
	return nil
}
