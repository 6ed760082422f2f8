package monitor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

type checkOptions struct {
	app *cli.App
	monitorFlags
	out             cli.OutputFlag
	maxLag          string
	maxPartitionLag string
	maxLagTime      string
	noStall         bool
	forText         string

	format   render.Format
	limits   inspect.CheckLimits
	duration time.Duration
}

// NewCheck is the command check.
func NewCheck(a *cli.App) *cobra.Command {
	o := &checkOptions{app: a}
	c := &cobra.Command{
		Use: "check GROUP…", GroupID: "look",
		Short: "Thresholds with an exit status: 0 when they hold, 8 when not",
		Long: `Looks at the groups and exits with 0 when everything holds and with 8 when not, a line a reason on stdout. For scripts and
probes.

What always must hold: no commit is past the log end, below the log start or negative, and no committed topic is gone.
--max-lag bounds a group's lag, --max-partition-lag that of any partition, --max-lag-time the age of the oldest record that is not
committed (exact: the record is fetched, which needs READ on the topic). --no-stall: no partition with records waiting stands
still for the whole of --for, or has no reader at all. --expire-within: with it, retention must not reach a commit that soon.

With --for the groups are looked at until that long has passed, and a threshold fails only when it was exceeded at every look; the
command ends as soon as everything has held. --no-stall without --for takes 30s: give it longer than the group takes between
commits. Partitions without a commit have no lag.` + cli.ExitStatus(
			"  4  nothing failed, but a group could not be read, or one of the named groups does not exist",
			"  5  none of the named groups exists",
			"  8  a check did not hold"),
		Example: `  koffset check billing --max-lag 10000
  koffset check billing --max-lag-time 5m --no-stall --for 60s
  koffset check --group-match 'prod-.*' --max-lag-time 15m -o json
  koffset check billing --expire-within 12h`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(cmd, args); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd)
		},
	}
	o.out.Add(c)
	o.add(c, "")
	f := c.Flags()
	f.StringVar(&o.maxLag, "max-lag", "", "the most `RECORDS` that a group may be behind")
	f.StringVar(&o.maxPartitionLag, "max-partition-lag", "", "the most `RECORDS` that any partition may be behind")
	f.StringVar(&o.maxLagTime, "max-lag-time", "", "the most that the oldest uncommitted record may be old, a `DURATION`")
	f.BoolVar(&o.noStall, "no-stall", false, "no partition with records waiting may stand still for the whole of --for")
	f.StringVar(&o.forText, "for", "", "look for this `DURATION`; what was exceeded at every look fails")
	return c
}

func (o *checkOptions) parse(c *cobra.Command, args []string) error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	for _, n := range []struct {
		flag, text string
		to         **int64
	}{{"max-lag", o.maxLag, &o.limits.Lag}, {"max-partition-lag", o.maxPartitionLag, &o.limits.PartitionLag}} {
		if n.text == "" {
			continue
		}
		v, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil || v < 0 {
			return cli.Usagef("", "--%s %q is not a number of records", n.flag, n.text)
		}
		*n.to = &v
	}
	if o.maxLagTime != "" {
		d, err := parseDuration("max-lag-time", o.maxLagTime)
		if err != nil {
			return err
		}
		o.limits.LagTime = &d
	}
	if o.forText == "" && o.noStall {
		o.forText = "30s"
	}
	if o.forText != "" {
		if o.duration, err = parseDuration("for", o.forText); err != nil {
			return err
		}
		if o.duration < time.Second {
			return cli.Usagef("", "--for %s is shorter than a second", o.forText)
		}
	}
	if o.interval == "" {
		// Ten looks, at most one in 5 s: enough to tell a reader that commits rarely from one that hangs.
		o.interval = min(max(o.duration/10, 250*time.Millisecond), 5*time.Second).String()
	}
	expire := c.Flags().Changed("expire-within")
	if err := o.monitorFlags.parse(c, args); err != nil {
		return err
	}
	if len(o.names) == 0 && len(o.groups.Match) == 0 && !o.groups.All {
		return cli.Usagef("koffset check GROUP…, or --group-match, or --all-groups", "no group is named")
	}
	if o.duration > 0 && o.every > o.duration {
		return cli.Usagef("", "--interval %s is longer than --for %s", o.every, o.duration)
	}
	o.limits.Stall, o.limits.Expire = o.noStall, expire
	// Here the operator says how long is too long; how long the group usually takes is not known yet.
	o.rules.MinStall, o.rules.StallGaps, o.rules.Interval = o.duration, 0, min(o.every, o.duration/2)
	if o.duration == 0 {
		o.rules.MinStall = time.Hour
	}
	return nil
}

func (o *checkOptions) run(ctx context.Context, cmd *cobra.Command) error {
	s, err := o.app.Connect(ctx, cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	r := &inspect.Checker{Limits: o.limits, Sampler: o.sampler(s)}
	for n := 1; ; n++ {
		pctx, cancel := s.Phase(ctx, "read the groups")
		err := r.Look(pctx)
		if err = cli.Cause(pctx, err); err != nil {
			cancel()
			return err
		}
		cancel()
		if n == 1 && o.limits.Expire {
			continue // the first look learns how old the records at the commits are
		}
		if o.duration == 0 || !r.Open() || r.At.Sub(r.First) >= o.duration {
			break
		}
		if err := cli.Wait(ctx, min(o.every, o.duration-r.At.Sub(r.First))); err != nil {
			return err
		}
	}
	return o.print(s, r)
}

func (o *checkOptions) print(s *cli.Session, r *inspect.Checker) error {
	st := o.app.Streams
	known := slices.DeleteFunc(slices.Clone(r.Groups), func(g inspect.CheckedGroup) bool { return g.Missing })
	if len(known) == 0 {
		if len(o.names) == 0 {
			return cli.Faultf(cli.ExitNotFound, "", "no group matches")
		}
		return cli.Faultf(cli.ExitNotFound, "", "no such group: %s", strings.Join(o.names, ", "))
	}
	reasons := r.Findings()
	incomplete := len(r.Missing) > 0
	for _, g := range r.Groups {
		incomplete = incomplete || g.Missing || g.Err != nil
	}
	w := render.NewWriter(st, o.format, s.Meta("check", render.F("ok", render.Bool(len(reasons) == 0)),
		render.F("looks", render.Int(int64(r.Looks))), render.F("for_seconds", cli.Seconds(r.At.Sub(r.First), true))))
	if o.format.IsJSON() {
		o.groupSheet(w, r)
	}
	if len(reasons) > 0 || !o.format.IsTable() {
		reasonSheet(w, reasons)
	}
	if err := w.Close(render.End{Incomplete: incomplete}); err != nil {
		return err
	}
	for _, e := range r.Missing {
		st.Warn("%v: its groups are missing here", e)
	}
	for _, g := range r.Groups {
		switch {
		case g.Missing:
			st.Warn("group %q does not exist", g.Name)
		case g.Err != nil:
			st.Warn("group %q could not be read: %v", g.Name, g.Err)
		case o.format.IsTable():
			st.Note("%s", checkedLine(g))
		}
	}
	switch {
	case len(reasons) > 0:
		return cli.Faultf(cli.ExitCheck, "", "%s", text.Plural(len(reasons), "check")+" did not hold")
	case incomplete:
		return cli.Quietly(cli.ExitPartial)
	}
	return nil
}

func (o *checkOptions) groupSheet(w *render.Writer, r *inspect.Checker) {
	w.Begin(render.Sheet{Name: "groups", Row: "group", Columns: []render.Column{
		{Key: "group"}, {Key: "type"}, {Key: "state"}, {Key: "member_count"}, {Key: "partition_count"}, {Key: "uncommitted_count"},
		{Key: "lag"}, {Key: "lag_seconds"}, {Key: "lag_time_basis"}, {Key: "verdict"}, {Key: "ok"}, {Key: "error"},
	}})
	for _, g := range r.Groups {
		err := cli.ErrCell(g.Err)
		if g.Missing {
			err = render.String("no such group")
		}
		lag, basis := render.None(), render.None()
		if g.Health.Partitions > g.Health.Uncommitted+g.Health.Unread {
			lag = render.Int(g.Health.Lag)
		}
		if g.LagTime.Known {
			basis = render.Text(string(g.LagTime.Basis))
		}
		w.Row(render.String(g.Name), render.Text(string(g.Type)), render.Text(g.State), render.Int(int64(g.Members)), render.Int(int64(g.Health.Partitions)),
			render.Int(int64(g.Health.Uncommitted)), lag, cli.Seconds(g.LagTime.D, g.LagTime.Known), basis, render.String(string(g.Health.Health)),
			render.Bool(!g.Missing && g.Err == nil && !r.Fails(g.Name)), err)
	}
}

func reasonSheet(w *render.Writer, reasons []inspect.Finding) {
	w.Begin(render.Sheet{Name: "reasons", Row: "reason", Columns: []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TOPIC", Key: "topic", HideEmpty: true},
		{Header: "PARTITION", Key: "partition", Right: true, HideEmpty: true},
		{Header: "CHECK", Key: "check"},
		{Header: "REASON", Key: "reason"},
		{Key: "value", NoTable: true},
		{Key: "limit", NoTable: true},
	}})
	for _, x := range reasons {
		topic, partition := render.None(), render.None()
		if x.Partition.Topic != "" {
			topic, partition = render.String(x.Partition.Topic), render.Int32(x.Partition.Partition)
		}
		w.Row(render.String(x.Group), topic, partition, render.String(string(x.Check)), render.String(x.Text).Styled(render.Bad), quantityCell(x.Value), quantityCell(x.Limit))
	}
}

func quantityCell(q inspect.Quantity) render.Cell {
	switch {
	case q.Records != nil:
		return render.Int(*q.Records)
	case q.Time != nil:
		return cli.Seconds(*q.Time, true)
	}
	return render.Text(string(q.Status))
}

// checkedLine sums up one group.
func checkedLine(g inspect.CheckedGroup) string {
	line := fmt.Sprintf("group %s: %s, lag %s", g.Name, g.Health.Health, text.Count(g.Health.Lag))
	if g.LagTime.Known && g.LagTime.D > 0 {
		line += ", oldest waiting record " + offset.FormatDuration(g.LagTime.D) + " old"
	}
	if g.Health.Uncommitted > 0 {
		line += ", " + cli.Partitions(g.Health.Uncommitted, "uncommitted", "uncommitted")
	}
	return line
}
