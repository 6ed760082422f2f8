package look

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

type resolveOptions struct {
	app       *cli.App
	out       cli.OutputFlag
	pos       cli.PositionFlags
	group     cli.NameFlag
	snap      cli.SnapshotFlags
	origin    cli.OriginFlag
	topics    topicChoice
	isolation string
	atOffset  string
	show      int
	schemas   *cli.Schemas // of show
	count     bool

	format   render.Format
	specs    []offset.TopicSpec
	position offset.Position
	chosen   bool
	rules    offset.Rules
	at       *int64
	// atAnswers says that an offset outside the log is an answer to --at-offset, and not a row that a policy left out.
	atAnswers bool

	failures []render.Failure // topics and partitions that cannot be read
}

// NewResolve is the command resolve.
func NewResolve(a *cli.App) *cobra.Command {
	o := &resolveOptions{app: a}
	c := &cobra.Command{
		Use: "resolve TOPIC[:PARTITIONS]…", GroupID: "look",
		Short: "Which offset a time or a word means on each partition",
		Long: `Without a position: log start, last stable offset and log end of each partition. With one: the offset it means,
the time of the record there where the broker tells it, and how it was found. Of a group's commits the times
are read from the records, up to 200 partitions. It never writes.

What has no answer says so: no-record-after (records, but none at or after the time), empty-partition,
before-retention (the first record left; earlier ones may have expired). --if-none and --if-expired choose what is
taken then. The end is read before the time is looked up, so a record that lands in between is found.

--at-offset N asks the other way: the time of the record at N, or of the first one after it. --show N prints the N
records before and after the offset on each partition.

--count says how many records there are at most, from the position (without one the log start) to the end. It reads none:
offsets of compacted records and of transactions' markers count too. koffset find --count reads and counts.` + cli.ExitStatus(
			"  3  refused: an offset is outside the log, or a policy says fail",
			"  4  partly known: a partition could not be read",
			"  5  no such topic, partition or group"),
		Example: `  koffset resolve orders
  koffset resolve orders payments:0,2-5 --to @-2h
  koffset resolve --all-topics --exclude-internal -o csv
  koffset resolve orders --to-datetime 2026-11-29T10:00:00Z --if-none fail
  koffset resolve orders:0 --at-offset 1234 --show 3
  koffset resolve orders --to @-1h --count`,
		ValidArgsFunction: a.Completer().Topics(),
		RunE:              a.Timed(o.parse, o.run),
	}
	f := c.Flags()
	o.out.Add(c)
	o.pos.Add(f)
	o.pos.Completions(c)
	o.snap.Add(f)
	o.origin.Add(c, f)
	o.topics.add(f)
	f.VarP(&o.group, "group", "g", "the `GROUP` whose commit current means")
	f.StringVar(&o.isolation, "isolation", "read_uncommitted", "which end counts: read_uncommitted (high watermark) or read_committed (last stable offset)")
	f.StringVar(&o.atOffset, "at-offset", "", "the time of the record at this `OFFSET`")
	f.IntVar(&o.show, "show", 0, "print the `N` records before and after the offset")
	o.app.AddRegistryFlag(c)
	f.BoolVar(&o.count, "count", false, "at most how many records there are from the position to the end, by the offsets alone")
	return c
}

func (o *resolveOptions) parse(cmd *cobra.Command, args []string, clock offset.Clock) error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	for _, arg := range args {
		specs, err := offset.ParseTopicSpecs(arg)
		if err != nil {
			return cli.PatternFault(arg, err)
		}
		o.specs = append(o.specs, specs...)
	}
	if err = o.topics.parse(o.specs); err != nil {
		return err
	}
	if o.position, o.chosen, err = o.pos.Parse(cmd, clock); err != nil {
		return err
	}
	iso, err := offset.ParseIsolation(o.isolation)
	if err != nil {
		return err
	}
	if o.rules, err = o.pos.Rules(iso); err != nil {
		return err
	}
	if cmd.Flags().Changed("at-offset") {
		if o.chosen {
			return cli.Usagef("give one of them", "--at-offset and a position were both given")
		}
		p, err := offset.ParseOffset(o.atOffset)
		if err != nil {
			return cli.FlagFault("--at-offset", err)
		}
		o.at, o.position, o.chosen = &p.N, p, true
		if o.rules.OutOfRange == offset.OutOfRangeFail && !cmd.Flags().Changed("out-of-range") {
			// A question about an offset outside the log has an answer: it is outside. It is a row, not a refusal.
			o.rules.OutOfRange, o.atAnswers = offset.OutOfRangeSkip, true
		}
	}
	if o.show < 0 || cmd.Flags().Changed("show") && o.show == 0 {
		return cli.Usagef("", "--show must be at least 1, not %d", o.show)
	}
	if o.show > 0 && !o.chosen {
		return cli.Usagef("add --to POSITION or --at-offset N", "--show needs to know where")
	}
	if o.show == 0 && cmd.Flags().Changed("schema-registry") {
		return cli.Usagef("add --show N", "--schema-registry decodes records, and none are shown")
	}
	if err := o.origin.Parse(); err != nil {
		return err
	}
	// Nothing is moved, so nothing is skipped: that a checkpoint has records in flight is a warning here.
	o.snap.InFlight = true
	if o.position.NeedsGroup() && !o.group.Given {
		return cli.Usagef("add --group GROUP", "%s is a group's commit, and no group was named", o.position)
	}
	return nil
}

func (o *resolveOptions) run(ctx context.Context, s *cli.Session) error {
	o.app.EchoInstants(o.position)
	if err := s.ReadPast(ctx, o.position, o.group.Name); err != nil {
		return err
	}
	ctx, cancel := s.Phase(ctx, "read the topics")
	defer cancel()
	facts, bad, err := o.gather(ctx, s)
	if err != nil {
		return cli.Cause(ctx, err)
	}
	rows, failed := o.resolve(facts)
	if o.at != nil {
		unread, err := o.readTimes(ctx, s, rows)
		if err != nil {
			return cli.Cause(ctx, err)
		}
		failed += unread
	} else {
		o.readStored(ctx, s, rows)
	}
	around, unread, err := o.showAround(ctx, s, rows)
	if err != nil {
		return err
	}
	failed += unread
	var refused []error
	for _, r := range rows {
		if r.refusal != nil {
			refused = append(refused, r.refusal)
		}
	}
	if bad > 0 && len(rows) == 0 && !o.format.IsJSON() {
		return cli.Quietly(o.nothing())
	}
	o.warnFuture(rows)
	if err := o.print(s, rows, around, bad > 0 || failed > 0 || o.undecoded()); err != nil {
		return err
	}
	o.sayCount(rows)
	o.saySchemas()
	switch {
	case bad > 0 && len(rows) == 0:
		return cli.Quietly(o.nothing())
	case len(refused) > 0:
		return o.refusals(refused)
	case bad > 0 || failed > 0 || o.undecoded():
		return cli.Quietly(offset.KindPartial)
	}
	return o.allOutside(rows)
}

// allOutside is the end of --at-offset with an offset that is in no log: the rows say where the logs are, and a script must not
// take that for an answer.
func (o *resolveOptions) allOutside(rows []resolved) error {
	if !o.atAnswers || len(rows) == 0 || slices.ContainsFunc(rows, func(r resolved) bool { return r.err != nil || r.target.Reason != offset.ReasonOutOfRange }) {
		return nil
	}
	return cli.Faultf(offset.KindRefused, "", "offset %d is outside the log of %s", *o.at, text.Plural(len(rows), "partition"))
}

// warnFuture says that records that were found carry times which cannot be right: what is counted or searched by them is not
// either.
func (o *resolveOptions) warnFuture(rows []resolved) {
	n, latest := 0, resolved{}
	now := o.app.Now()
	for _, r := range rows {
		if at := r.at(); r.err == nil && (offset.Record{Time: at}).TimeKind(now) == offset.TimeInFuture {
			if n++; at.After(latest.at()) {
				latest = r
			}
		}
	}
	if n > 0 {
		o.app.Streams.Warn("%s found with a time in the future, such as %s on %s: the producer's clock or unit was wrong, and a search by time ends at such a record",
			text.Plural(n, "record"), offset.FormatTimeIn(latest.at(), o.app.Streams.Zone()), latest.part)
	}
}

// nothing is the exit status where no partition could be read: not found, unless every topic is there and forbidden.
func (o *resolveOptions) nothing() offset.ErrorKind {
	for _, f := range o.failures {
		if f.Kind != offset.KindDenied {
			return offset.KindNotFound
		}
	}
	return offset.KindDenied
}

// refusals names the first few refusals; a topic of a thousand partitions would bury the reason otherwise.
func (o *resolveOptions) refusals(errs []error) error {
	shown := errs[:min(5, len(errs))]
	if n := len(errs) - len(shown); n > 0 {
		shown = append(slices.Clone(shown), fmt.Errorf("and %s, all in the rows", text.More(n, "partition")))
	}
	return &cli.Fault{Kind: offset.KindRefused, Err: errors.Join(shown...), Hint: cli.HintOf(errs[0])}
}

// gather reads the facts. bad counts topics and partitions that do not exist; they are named on stderr.
func (o *resolveOptions) gather(ctx context.Context, s *cli.Session) (*inspect.Facts, int, error) {
	q := inspect.GatherQuery{Position: o.position, Isolation: o.rules.Isolation}
	if o.group.Given {
		c, err := o.commitsOf(ctx, s, o.group.Name)
		if err != nil {
			return nil, 0, err
		}
		q.Commits = &c
	}
	all, err := s.LoadSaved(ctx, o.position, &o.snap, o.group.Name)
	if err != nil {
		return nil, 0, err
	}
	q.ClusterID, q.AllowOrigin = s.Cluster.ID, o.origin.Allow
	if q.Saved, err = o.app.PickSaved(all, o.position, o.group.Name, o.group.Given); err != nil {
		return nil, 0, err
	}
	var internal []string
	if q.Topics, o.specs, internal, err = o.topics.choose(ctx, s.Client, o.specs); err != nil {
		return nil, 0, err
	}
	if len(internal) > 0 {
		o.app.Streams.Note("%s of Kafka's own left out: %s", text.Plural(len(internal), "topic"), text.Some(internal, 5))
	}
	bad := o.chooseParts(ctx, s, &q)
	for _, f := range o.failures {
		if len(q.Parts) > 0 {
			f.Kind = offset.KindPartial
		}
		o.app.Streams.Fail(f)
	}
	facts, err := inspect.Gather(ctx, s.Client, q)
	if err == nil {
		o.app.SayOrigin(facts.Said)
	}
	return facts, bad, err
}

// chooseParts chooses the partitions to resolve. bad counts topics and partitions that do not exist.
func (o *resolveOptions) chooseParts(ctx context.Context, s *cli.Session, q *inspect.GatherQuery) (bad int) {
	seen := map[offset.Partition]bool{}
	for _, sp := range o.specs {
		t := q.Topics[sp.Topic]
		if t.Err != nil {
			bad++
			o.failures = append(o.failures, topicFailure(ctx, s, sp.Topic, t.Err))
			continue
		}
		ns := sp.Partitions
		if len(ns) == 0 {
			ns = o.ofTopic(t)
		}
		for _, n := range ns {
			p := offset.Partition{Topic: sp.Topic, Partition: n}
			if !t.Has(n) {
				bad++
				o.failures = append(o.failures, render.Failure{Err: errors.New(inspect.MissingPartition(t, n)), Kind: offset.KindNotFound})
				continue
			}
			if !seen[p] {
				seen[p] = true
				q.Parts = append(q.Parts, p)
			}
		}
	}
	return bad
}

// ofTopic are the partitions of a topic that was named without any: those of the map, where the position is one, since
// the others were not asked about.
func (o *resolveOptions) ofTopic(t inspect.Topic) []int32 {
	var ns []int32
	for p := range o.position.Map {
		if p.Topic == t.Name {
			ns = append(ns, p.Partition)
		}
	}
	if len(ns) == 0 {
		return t.Numbers()
	}
	slices.Sort(ns)
	return ns
}

// commitsOf reads a group's commits. A broker has no commits for a group that does not exist, and no error either, so a
// slip in the name would look like a group that committed nothing.
func (o *resolveOptions) commitsOf(ctx context.Context, s *cli.Session, group string) (inspect.Commits, error) {
	c, err := inspect.ReadCommitsOf(ctx, s.Client, group)
	if err != nil {
		return c, fmt.Errorf("group %q: %w", group, err)
	}
	if c.Len() == 0 {
		d, err := inspect.DescribeNamed(ctx, s.Client, []string{group})
		if err != nil {
			return c, fmt.Errorf("group %q: %w", group, err)
		}
		if d[group].NotFound {
			return c, cli.Faultf(offset.KindNotFound, s.GroupHint(ctx, "inspect", group, nil), "group %q does not exist", group)
		}
	}
	return c, nil
}
