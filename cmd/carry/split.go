package carry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	app     *cli.App
	out     cli.OutputFlag
	between cli.BetweenFlags
	parts   int
	max     int64
	every   string
	by      string
	file    string

	format   render.Format
	specs    []offset.TopicSpec
	step     time.Duration
	topicIDs map[string]string // of the topics that are cut
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
	o.between.Add(a, c, "where the ranges begin", "where they end", offset.ReadUncommitted)
	f.IntVar(&o.parts, "parts", 0, "`N` parts of about the same size")
	f.Int64Var(&o.max, "max-offsets", 0, "parts of at most `N` offsets")
	f.StringVar(&o.every, "every", "", "a part for each `DURATION` of record time, such as 1h")
	f.StringVar(&o.by, "by", "offsets", "what --parts weighs: `offsets` or bytes")
	f.StringVar(&o.file, "out", "", "write a range `FILE` for koffset consume --range-file")
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
			return cli.FlagFault("--every", err)
		}
		if o.step < time.Millisecond {
			return cli.Usagef("", "--every %s is shorter than a millisecond", o.every)
		}
	}
	return o.between.Parse(clock)
}

func (o *splitOptions) run(ctx context.Context, s *cli.Session) error {
	o.app.EchoInstants(o.between.Start)
	o.app.EchoInstants(o.between.End)
	if err := o.between.ReadPast(ctx, s); err != nil {
		return err
	}
	pctx, cancel := s.Phase(ctx, "read the topics")
	defer cancel()
	spans, all, err := o.spans(pctx, s)
	if err != nil {
		return cli.Cause(pctx, err)
	}
	cancel()
	pctx, cancel = s.Phase(ctx, "read the sizes and times")
	defer cancel()
	bounds := func(p offset.Partition) (b offset.Bounds, ok bool) {
		i, ok := slices.BinarySearchFunc(all.List, p, func(one cli.Stretch, p offset.Partition) int { return one.Compare(p) })
		if ok = ok && all.List[i].Bounds != nil; ok {
			b = *all.List[i].Bounds
		}
		return b, ok
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

// spans resolves both ends on every partition. One that could not be read ends the command: a work list without it would be taken
// for whole.
func (o *splitOptions) spans(ctx context.Context, s *cli.Session) ([]migrate.Span, *cli.Stretches, error) {
	all, err := o.between.Resolve(ctx, s, o.specs)
	if err != nil {
		return nil, nil, err
	}
	o.topicIDs = map[string]string{}
	for name, id := range inspect.Here(s.Cluster.ID, all.Topics).TopicIDs {
		if id != "" {
			o.topicIDs[name] = id
		}
	}
	var spans []migrate.Span
	var refused []error
	for _, one := range all.List {
		var refusal *offset.Refusal
		switch {
		case errors.As(one.Err, &refusal):
			refused = append(refused, one.Err)
		case one.Err != nil:
			return nil, nil, one.Err
		case !one.LeftOut:
			spans = append(spans, migrate.Span{Partition: one.Partition, From: one.From, To: one.Until})
		}
	}
	if len(refused) > 0 {
		return nil, nil, cli.RefusedRows(refused)
	}
	return spans, all, nil
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
		for p, l := range inspect.FindTimes(ctx, s.Client, o.between.Isolation(), at) {
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
	if o.between.Start.Kind == offset.AtTime {
		first = o.between.Start.At.Time
	} else {
		for p, l := range inspect.FindTimes(ctx, s.Client, o.between.Isolation(), at) {
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
	if o.between.End.Kind == offset.AtTime && o.between.End.At.Time.Before(last) {
		last = o.between.End.At.Time.Add(-time.Millisecond)
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
	w := render.NewWriter(o.app.Streams, o.format, s.Meta("split", render.F("from", render.String(o.between.Start.String())), render.F("until", render.String(o.between.End.String())),
		render.F("isolation", render.String(o.between.Isolation().String()))))
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
