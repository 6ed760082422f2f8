package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/internal/watch"
	"github.com/koffset/koffset/offset"
)

type watchOptions struct {
	app *cli.App
	monitorFlags
	output string
	plain  bool
	count  int

	format render.Format
}

// NewWatch is the command watch.
func NewWatch(a *cli.App) *cobra.Command {
	o := &watchOptions{app: a}
	c := &cobra.Command{
		Use: "watch [GROUP…]", GroupID: "look",
		Short: "A live view: rates, lag in time, and who is stalled",
		Long: `Looks at the groups every --interval and shows state and members, committed and end offsets, lag, how fast both move, when the lag
will be gone, how old the next record is, and a verdict. On a terminal this is a live view: q leaves it, ? lists the keys. Elsewhere,
and with --plain, it is one line an interval; with -o jsonl one object an interval, with the partitions of the groups that were
named.

Verdicts, the worst first: unknown (it could not be read), invalid-commit, past-log-end, below-log-start; stalled (a member holds the
partition and commits nothing though records wait), never-committed (records and no commit, where a member holds it or the group
commits to the topic), about-to-expire (retention reaches the commit soon), stopped (records wait, no member), no-members-never-live
(the commit stands still and the group has no members to be seen: Flink, Spark, assign()), two-committers, rewound, falling-behind,
behind (--behind-after, --behind-lag), idle-long (no commit for long and no members: Kafka will drop the offsets), catching-up, idle,
no-commit, ok. A reader is stalled after the longest of --stall-after, two intervals and three times the gap it usually leaves between
commits. A lag that is only transaction markers is no stall: what looks like one is fetched from once, which needs READ on the topic.

The lag in time is interpolated from the looks (~12s), at least what was seen (>12s), exact for a commit that stands still, or
unknown (?). A lag with a + leaves out partitions that could not be counted.` + cli.ExitStatus(
			"  4  the last sample was incomplete",
			"  5  none of the named groups exists"),
		Example: `  koffset watch
  koffset watch billing
  koffset watch --group-match 'prod-.*' --interval 2s
  koffset watch billing -o jsonl --count 10`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(cmd, args); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd)
		},
	}
	o.add(c, "5s")
	o.addSlow(c)
	o.addFollow(c)
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "table", "`FORMAT`: table (the live view, or a line an interval), jsonl")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
	f.BoolVar(&o.plain, "plain", false, "a line an interval, on a terminal too")
	f.IntVar(&o.count, "count", 0, "stop after `N` samples; 0 runs until stopped")
	return c
}

func (o *watchOptions) parse(c *cobra.Command, args []string) error {
	var err error
	if o.format, err = render.ParseFormat(o.output, render.Table, render.JSONL); err != nil {
		return err
	}
	if o.count < 0 {
		return cli.Usagef("", "--count %d: a number from 0 on", o.count)
	}
	return o.monitorFlags.parse(c, args)
}

func (o *watchOptions) run(ctx context.Context, cmd *cobra.Command) error {
	s, err := o.app.Connect(ctx, cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	c := &watch.Collector{Sampler: o.sampler(s)}
	if c.Sampler.Query.CommittedOnly {
		c.Keep = func(g watch.Group) bool { return len(g.Parts) > 0 || g.Err != nil }
	}
	look := func(ctx context.Context) *watch.Frame {
		ctx, cancel := s.Phase(ctx, "read the groups")
		defer cancel()
		f := c.Look(ctx)
		f.Err = cli.Cause(ctx, f.Err)
		f.At = f.At.In(o.app.Streams.Zone())
		return f
	}
	// The first look comes before the screen: what is wrong with it is an error with its own exit status.
	first := look(ctx)
	if first.Err != nil {
		return first.Err
	}
	if err := o.found(ctx, s, first); err != nil {
		return err
	}
	if o.live() {
		return o.runLive(ctx, s, first, look)
	}
	return o.runLines(ctx, s, first, look)
}

// found says when none of the named groups is there.
func (o *watchOptions) found(ctx context.Context, s *cli.Session, f *watch.Frame) error {
	if len(o.names) == 0 && (len(f.Groups) > 0 || len(o.groups.Match) == 0) {
		return nil
	}
	if slices.ContainsFunc(f.Groups, func(g watch.Group) bool { return !g.NotFound }) {
		return nil
	}
	if len(o.names) == 0 {
		if f.Missing > 0 {
			return cli.MatchUnknown()
		}
		return cli.Faultf(offset.KindNotFound, "", "no group matches")
	}
	return cli.Faultf(offset.KindNotFound, s.GroupHint(ctx, "watch", o.names[0], nil), "no such group: %s", strings.Join(offset.NameTexts(o.names), ", "))
}

// live says whether the view can be shown.
func (o *watchOptions) live() bool {
	st := o.app.Streams
	dumb := st.Env != nil && st.Env("TERM") == "dumb"
	return o.format == render.Table && !o.plain && o.count == 0 && st.InTTY && st.OutTTY && !dumb && o.app.Keyboard != nil && o.app.Screen != nil
}

func (o *watchOptions) runLive(ctx context.Context, s *cli.Session, first *watch.Frame, look func(context.Context) *watch.Frame) error {
	name := s.Cluster.ID
	if p := s.Settings.Profile; p != "" {
		name = p + " " + name
	}
	m := watch.New(render.Clean("koffset watch "+name+", every "+text.Duration(o.every)), len(o.names) > 0)
	m.ASCII = !o.app.Streams.UTF8()
	next := first
	err := watch.Run(ctx, watch.Terminal{In: o.app.Keyboard, Out: o.app.Screen, Colour: o.app.Streams.Colour()}, m, o.every, func(ctx context.Context) *watch.Frame {
		if f := next; f != nil {
			next = nil
			return f
		}
		return look(ctx)
	})
	if errors.Is(err, watch.ErrInterrupted) {
		return cli.Quietly(offset.KindInterrupted)
	}
	if ctx.Err() != nil {
		return cli.Quietly(offset.KindInterrupted) // report knows which signal it was
	}
	return err
}

func (o *watchOptions) runLines(ctx context.Context, s *cli.Session, f *watch.Frame, look func(context.Context) *watch.Frame) error {
	var w *render.Writer
	if o.format == render.JSONL {
		w = render.NewWriter(o.app.Streams, o.format, s.Meta("watch"))
		w.Begin(watchSheet(o.follow))
	}
	incomplete, unfollowed := false, false
	var err error
	for n := 1; ; n++ {
		began := o.app.Now()
		unfollowed = o.sayFollowed(f, unfollowed)
		incomplete = f.Err != nil || f.Missing > 0 || slices.ContainsFunc(f.Groups, func(g watch.Group) bool { return g.Err != nil || g.NotFound || g.Health.Unread > 0 })
		if w != nil {
			w.Row(watchCells(f, len(o.names) > 0)...)
			err = w.Flush()
		} else if _, err = fmt.Fprintln(o.app.Streams.Out, watch.Line(f)); err == nil {
			err = o.app.Streams.Flush()
		}
		if err != nil || o.count > 0 && n >= o.count {
			break
		}
		if err = cli.Wait(ctx, o.every-o.app.Now().Sub(began)-f.Took); err != nil {
			err = cli.Quietly(offset.KindInterrupted)
			break
		}
		if f = look(ctx); ctx.Err() != nil {
			err = cli.Quietly(offset.KindInterrupted)
			break
		}
	}
	if w != nil {
		if cerr := w.Close(render.End{Incomplete: incomplete}); err == nil {
			err = cerr
		}
	}
	if err == nil && incomplete {
		return cli.Quietly(offset.KindPartial)
	}
	return err
}

// sayFollowed says when commits cannot be followed, and when they can again; was is what it was at the sample before.
func (o *watchOptions) sayFollowed(f *watch.Frame, was bool) bool {
	if f.Err != nil {
		return was
	}
	switch now := f.Unfollowed != nil; {
	case now && !was:
		o.app.Streams.Warn("commits are not followed, each group is asked for instead: %v", f.Unfollowed)
	case was && !now:
		o.app.Streams.Note("commits are followed now")
	}
	return f.Unfollowed != nil
}

func watchSheet(follow bool) render.Sheet {
	out := render.Sheet{Name: "looks", Row: "look", Columns: []render.Column{
		{Key: "at"}, {Key: "took_seconds"}, {Key: "lag"}, {Key: "groups"}, {Key: "brokers_unanswered"}, {Key: "error"},
	}}
	if follow {
		out.Columns = append(out.Columns, render.Column{Key: "commits_followed"})
	}
	return out
}

func watchCells(f *watch.Frame, partitions bool) []render.Cell {
	var lag int64
	groups := make([]render.Cell, 0, len(f.Groups))
	for i := range f.Groups {
		lag += f.Groups[i].Health.Lag
		groups = append(groups, watchGroup(f, &f.Groups[i], partitions))
	}
	cells := []render.Cell{render.Time(f.At), render.Float(f.Took.Seconds()), render.Int(lag), render.List(groups...), cli.Nonzero(int64(f.Missing)), cli.ErrCell(f.Err)}
	if f.Follow {
		cells = append(cells, render.Bool(f.Err == nil && f.Unfollowed == nil))
	}
	return cells
}

func watchGroup(f *watch.Frame, g *watch.Group, partitions bool) render.Cell {
	h := &g.Health
	lag, verdict := render.None(), h.Health
	if h.HasLag() {
		lag = render.Int(h.Lag)
	}
	err := cli.ErrCell(g.Err)
	if g.NotFound {
		verdict, err = inspect.HealthUnknown, render.String("no such group")
	}
	eta, hasETA := h.ETA()
	fields := []render.Field{
		render.F("group", render.Name(g.Name)), render.F("type", render.Text(g.Type)), render.F("state", render.Text(g.State)),
		render.F("member_count", cli.MembersCell(g.Members, g.Described)), render.F("partition_count", render.Int(int64(h.Partitions))),
		render.F("verdict", render.String(string(verdict))), render.F("verdicts", cli.VerdictsCell(h.Verdicts)), render.F("why", render.Text(h.Why())), render.F("lag", lag),
	}
	fields = append(fields, rateFields(h.In, h.Out, h.HasRates, eta, hasETA, h.LagTime)...)
	fields = append(fields, render.F("expires_seconds", cli.Seconds(h.Expires, h.HasExpires)), render.F("error", err))
	if f.Follow {
		fields = append(fields, activityFields(g.Activity)...)
	}
	if partitions {
		parts := make([]render.Cell, len(g.Parts))
		for i := range g.Parts {
			parts[i] = watchPart(f, g, &g.Parts[i])
		}
		fields = append(fields, render.F("partitions", render.List(parts...)))
	}
	return render.Object(fields...)
}

// activityFields are what following the commits tells of a group.
func activityFields(a *inspect.Activity) []render.Field {
	rate, count, last, since, by := render.None(), render.None(), render.None(), render.None(), render.None()
	if a != nil {
		count, last, since, by = render.Int(a.Commits), render.Time(a.Last), render.Time(a.Since), render.Text(a.Who())
		if a.HasRate {
			rate = render.Float(a.Rate)
		}
	}
	return []render.Field{render.F("commits_per_second", rate), render.F("commit_count", count), render.F("last_commit_time", last), render.F("last_commit_by", by), render.F("commits_known_since", since)}
}

func watchPart(f *watch.Frame, g *watch.Group, p *watch.Part) render.Cell {
	committed, start, end, lag := render.None(), render.None(), render.None(), render.None()
	if p.HasCommit {
		committed = render.Int(p.Committed)
	}
	if p.HasBounds {
		start, end = render.Int(p.Start), render.Int(p.End)
	}
	d := &p.Diagnosis
	if d.HasLag {
		lag = render.Int(d.Lag)
	}
	fields := []render.Field{
		render.F("topic", render.String(p.Topic)), render.F("partition", render.Int32(p.Partition.Partition)),
		render.F("committed_offset", committed), render.F("log_start_offset", start), render.F("log_end_offset", end),
		render.F("lag", lag), render.F("status", render.String(string(p.Status))), render.F("verdict", render.String(string(d.Health))), render.F("verdicts", cli.VerdictsCell(d.Verdicts)), render.F("why", render.Text(d.Why())),
	}
	fields = append(fields, rateFields(d.In, d.Out, d.HasRates, d.ETA, d.HasETA, d.LagTime)...)
	next := render.None() // the record whose age that is
	if d.LagTime.Known && d.LagTime.Basis != "" {
		next = render.Int(d.LagTime.Record)
	}
	fields = append(fields, render.F("next_offset", next), render.F("expires_seconds", cli.Seconds(d.Expires, d.HasExpires)), render.F("client", render.Text(p.Client)))
	if f.Follow {
		last := render.None()
		if g.Activity != nil {
			last = render.Time(g.Activity.Parts[p.Partition])
		}
		fields = append(fields, render.F("last_commit_time", last))
	}
	return render.Object(fields...)
}

func rateFields(in, out float64, has bool, eta time.Duration, hasETA bool, t inspect.LagTime) []render.Field {
	i, o := render.None(), render.None()
	if has {
		i, o = render.Float(in), render.Float(out)
	}
	return []render.Field{
		render.F("in_per_second", i), render.F("out_per_second", o), render.F("eta_seconds", cli.Seconds(eta, hasETA)),
		render.F("lag_seconds", cli.Seconds(t.D, t.Known)), render.F("lag_time_basis", cli.BasisCell(t)), render.F("lag_time_unknown", cli.UnknownCell(t)),
	}
}
