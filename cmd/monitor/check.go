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
	"github.com/koffset/koffset/internal/render"
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
	limits   checkLimits
	duration time.Duration
}

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
	}{{"max-lag", o.maxLag, &o.limits.lag}, {"max-partition-lag", o.maxPartitionLag, &o.limits.partitionLag}} {
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
		o.limits.lagTime = &d
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
	o.limits.stall, o.limits.expire = o.noStall, expire
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
	r := &checkRun{limits: o.limits, sampler: o.sampler(s)}
	for n := 1; ; n++ {
		pctx, cancel := s.Phase(ctx, "read the groups")
		err := r.look(pctx)
		if err = cli.Cause(pctx, err); err != nil {
			cancel()
			return err
		}
		cancel()
		if n == 1 && o.limits.expire {
			continue // the first look learns how old the records at the commits are
		}
		if o.duration == 0 || len(r.failing) == 0 && !r.undecided || r.at.Sub(r.first) >= o.duration {
			break
		}
		if err := cli.Wait(ctx, min(o.every, o.duration-r.at.Sub(r.first))); err != nil {
			return err
		}
	}
	return o.print(s, r)
}

func (o *checkOptions) print(s *cli.Session, r *checkRun) error {
	st := o.app.Streams
	known := slices.DeleteFunc(slices.Clone(r.groups), func(g checkedGroup) bool { return g.missing })
	if len(known) == 0 {
		if len(o.names) == 0 {
			return cli.Faultf(cli.ExitNotFound, "", "no group matches")
		}
		return cli.Faultf(cli.ExitNotFound, "", "no such group: %s", strings.Join(o.names, ", "))
	}
	reasons := r.reasons()
	incomplete := len(r.missing) > 0
	for _, g := range r.groups {
		incomplete = incomplete || g.missing || g.err != nil
	}
	w := render.NewWriter(st, o.format, s.Meta("check", render.F("ok", render.Bool(len(reasons) == 0)),
		render.F("looks", render.Int(int64(r.looks))), render.F("for_seconds", cli.Seconds(r.at.Sub(r.first), true))))
	if o.format.IsJSON() {
		o.groupSheet(w, r)
	}
	if len(reasons) > 0 || !o.format.IsTable() {
		reasonSheet(w, reasons)
	}
	if err := w.Close(render.End{Incomplete: incomplete}); err != nil {
		return err
	}
	for _, e := range r.missing {
		st.Warn("%v: its groups are missing here", e)
	}
	for _, g := range r.groups {
		switch {
		case g.missing:
			st.Warn("group %q does not exist", g.name)
		case g.err != nil:
			st.Warn("group %q could not be read: %v", g.name, g.err)
		case o.format.IsTable():
			st.Note("%s", g.summary())
		}
	}
	switch {
	case len(reasons) > 0:
		return cli.Faultf(cli.ExitCheck, "", "%s", render.Plural(len(reasons), "check")+" did not hold")
	case incomplete:
		return cli.Quietly(cli.ExitPartial)
	}
	return nil
}

func (o *checkOptions) groupSheet(w *render.Writer, r *checkRun) {
	w.Begin(render.Sheet{Name: "groups", Row: "group", Columns: []render.Column{
		{Key: "group"}, {Key: "type"}, {Key: "state"}, {Key: "member_count"}, {Key: "partition_count"}, {Key: "uncommitted_count"},
		{Key: "lag"}, {Key: "lag_seconds"}, {Key: "lag_time_basis"}, {Key: "verdict"}, {Key: "ok"}, {Key: "error"},
	}})
	for _, g := range r.groups {
		err := cli.ErrCell(g.err)
		if g.missing {
			err = render.String("no such group")
		}
		lag, basis := render.None(), render.None()
		if g.health.Partitions > g.health.Uncommitted+g.health.Unread {
			lag = render.Int(g.health.Lag)
		}
		if g.lagTime.Known {
			basis = render.Text(string(g.lagTime.Basis))
		}
		w.Row(render.String(g.name), render.Text(string(g.kind)), render.Text(g.state), render.Int(int64(g.members)), render.Int(int64(g.health.Partitions)),
			render.Int(int64(g.health.Uncommitted)), lag, cli.Seconds(g.lagTime.D, g.lagTime.Known), basis, render.String(string(g.health.Health)),
			render.Bool(!g.missing && g.err == nil && !r.fails(g.name)), err)
	}
}

func reasonSheet(w *render.Writer, reasons []checkReason) {
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
		if x.part.Topic != "" {
			topic, partition = render.String(x.part.Topic), render.Int32(x.part.Partition)
		}
		w.Row(render.String(x.group), topic, partition, render.String(x.check), render.String(x.text).Styled(render.Bad), x.value, x.limit)
	}
}

func (g checkedGroup) summary() string {
	line := fmt.Sprintf("group %s: %s, lag %s", g.name, g.health.Health, render.Count(g.health.Lag))
	if g.lagTime.Known && g.lagTime.D > 0 {
		line += ", oldest waiting record " + offset.FormatDuration(g.lagTime.D) + " old"
	}
	if g.health.Uncommitted > 0 {
		line += ", " + cli.Partitions(g.health.Uncommitted, "uncommitted", "uncommitted")
	}
	return line
}
