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
	maxUncommitted  string
	noStall         bool
	forText         string
	unknown         string
	expect          []string

	format   render.Format
	limits   inspect.Limits
	duration time.Duration
}

// NewCheck is the command check.
func NewCheck(a *cli.App) *cobra.Command {
	o := &checkOptions{app: a}
	c := &cobra.Command{
		Use: "check GROUP…", GroupID: "look",
		Short: "Thresholds with an exit status: 0 when they hold, 8 when not",
		Long: `Looks at the groups and exits with 0 when everything holds and with 8 when not, with one line for each reason on stdout. For scripts and
probes.

What always must hold: no commit is past the log end, below the log start or negative, no committed topic is gone, and no commit
is missing on a partition with records that a member holds, or whose topic the group commits to (--max-uncommitted allows some).
--max-lag bounds a group's lag, --max-partition-lag that of any partition; what lies on an uncommitted partition, or behind an open
transaction under read_committed, is in no lag, and the group's line says how much that is. --max-lag-time the age of the oldest record that is not
committed (exact: the record is fetched, which needs READ on the topic). --no-stall: no partition with records waiting stands
still for the whole of --for, or has no reader at all. --expire-within: with it, retention must not reach a commit that soon.

With --for the groups are looked at until that long has passed, and a threshold fails only when it was exceeded each time; the
command ends as soon as everything has held. --no-stall without --for takes 30s: give it longer than the group takes between
commits.

What could not be read is neither 0 nor ok: a partition without a leader, a group or topic that may not be described, a record
whose age is unknown. Then the exit status is 4, or 8 with --unknown fail; --unknown pass ignores it.

Not covered: topics that the user may not describe, which the broker leaves out without an error (--expect-topics names those that
must be seen); what a reader has read and not committed; whether the reader of a group without members runs (Flink, Spark, assign());
records that a sink took and lost.` + cli.ExitStatus(
			"  4  nothing failed, but something could not be read, or one of the named groups does not exist",
			"  5  none of the named groups exists",
			"  8  a check did not hold"),
		Example: `  koffset check billing --max-lag 10000
  koffset check billing --max-lag-time 5m --no-stall --for 60s
  koffset check --group-match 'prod-.*' --max-lag-time 15m -o json
  koffset check billing --expire-within 12h --unknown fail`,
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
	f.StringVar(&o.maxLagTime, "max-lag-time", "", "maximum age of the oldest uncommitted record, a `DURATION`")
	f.StringVar(&o.maxUncommitted, "max-uncommitted", "0", "on how many `PARTITIONS` with records a group may lack a commit that should be there; all is any number")
	f.BoolVar(&o.noStall, "no-stall", false, "no partition with records waiting may be stuck for the whole of --for")
	f.StringVar(&o.forText, "for", "", "sample for this `DURATION`; what is exceeded in every sample fails")
	f.StringVar(&o.unknown, "unknown", "", "what could not be read: `WORD` fail (exit status 8) or pass (ignore it); without it, exit status 4")
	f.StringSliceVar(&o.expect, "expect-topics", nil, "`TOPICS` that must be visible: one that is not counts as unknown")
	_ = c.RegisterFlagCompletionFunc("unknown", cobra.FixedCompletions([]string{"fail", "pass"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o *checkOptions) parse(c *cobra.Command, args []string) error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	if err := o.parseCounts(); err != nil {
		return err
	}
	if o.unknown != "" && o.unknown != "fail" && o.unknown != "pass" {
		return cli.Usagef("use --unknown fail or --unknown pass", "--unknown %q is not one of its values", o.unknown)
	}
	o.limits.FailUnknown, o.limits.Visible = o.unknown == "fail", o.expect
	if o.maxLagTime != "" {
		d, err := parseDuration("max-lag-time", o.maxLagTime)
		if err != nil {
			return err
		}
		o.limits.Age = &d
	}
	if err := o.parseFor(); err != nil {
		return err
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
	o.limits.Progress, o.limits.Expiry = o.noStall, expire
	// Here the operator says how long is too long; how long the group usually takes is not known yet.
	o.rules.MinStall, o.rules.StallGaps, o.rules.Interval = o.duration, 0, min(o.every, o.duration/2)
	if o.duration == 0 {
		o.rules.MinStall = time.Hour
	}
	return nil
}

// parseCounts reads the limits that are numbers.
func (o *checkOptions) parseCounts() error {
	for _, n := range []struct {
		flag, text string
		to         **int64
	}{{"max-lag", o.maxLag, &o.limits.Lag}, {"max-partition-lag", o.maxPartitionLag, &o.limits.PartitionLag}, {"max-uncommitted", o.maxUncommitted, &o.limits.Uncommitted}} {
		if n.text == "" || n.flag == "max-uncommitted" && n.text == "all" {
			continue
		}
		v, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil || v < 0 {
			return cli.Usagef("", "--%s %q is not a number", n.flag, n.text)
		}
		*n.to = &v
	}
	return nil
}

// parseFor reads how long is looked, and how often.
func (o *checkOptions) parseFor() (err error) {
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
	return nil
}

func (o *checkOptions) run(ctx context.Context, cmd *cobra.Command) error {
	s, err := o.app.Connect(ctx, cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	r := &inspect.Checker{Limits: o.limits, Sampler: o.sampler(s)}
	for {
		pctx, cancel := s.Phase(ctx, "read the groups")
		err := r.Look(pctx)
		if err = cli.Cause(pctx, err); err != nil {
			cancel()
			return err
		}
		cancel()
		if o.duration == 0 || r.Settled() || r.At.Sub(r.First) >= o.duration {
			break
		}
		if err := cli.Wait(ctx, min(o.every, o.duration-r.At.Sub(r.First))); err != nil {
			return err
		}
	}
	return o.print(ctx, s, r)
}

func (o *checkOptions) print(ctx context.Context, s *cli.Session, r *inspect.Checker) error {
	if !slices.ContainsFunc(r.Groups, func(g inspect.CheckedGroup) bool { return !g.Missing }) {
		if len(o.names) == 0 {
			return o.noneMatches(len(r.Missing) == 0)
		}
		return cli.Faultf(offset.KindNotFound, s.GroupHint(ctx, "check", o.names[0], nil), "no such group: %s", strings.Join(offset.NameTexts(o.names), ", "))
	}
	st, found, blind := o.app.Streams, r.Violations(), r.Blind()
	w := render.NewWriter(st, o.format, s.Meta("check", render.F("ok", o.verdict(len(found) > 0, len(blind) > 0)),
		render.F("looks", render.Int(int64(r.Looks))), render.F("for_seconds", cli.Seconds(r.At.Sub(r.First), true))))
	if o.format.IsJSON() {
		o.groupSheet(w, r)
		unknownSheet(w, blind)
	}
	if len(found) > 0 || !o.format.IsTable() {
		reasonSheet(w, found)
	}
	if err := w.Close(render.End{Incomplete: len(blind) > 0}); err != nil {
		return err
	}
	o.notes(r)
	switch {
	case len(found) > 0:
		return cli.Faultf(offset.KindCheck, "", "%s", text.Plural(len(found), "check")+" did not hold")
	case len(blind) > 0 && o.unknown != "pass":
		return cli.Quietly(offset.KindPartial)
	}
	return nil
}

// verdict is true where everything is known to hold, false where something does not, and null where nothing is known to fail but
// something could not be seen.
func (o *checkOptions) verdict(fails, blind bool) render.Cell {
	if !fails && blind && o.unknown != "pass" {
		return render.None()
	}
	return render.Bool(!fails)
}

// mostNotes bounds the warnings about what could not be seen: with a broker away it may be ten thousand partitions.
const mostNotes = 10

// notes says on stderr what could not be seen, and a line a group.
func (o *checkOptions) notes(r *inspect.Checker) {
	st, blind := o.app.Streams, r.Blind()
	for _, b := range blind[:min(len(blind), mostNotes)] {
		switch {
		case b.Group != "" && b.Topic != "":
			st.Warn("group %s, %s: %s", offset.NameText(b.Group), b.Partition, b.Why)
		case b.Group != "":
			st.Warn("group %s: %s", offset.NameText(b.Group), b.Why)
		default:
			st.Warn("%s", b.Why)
		}
	}
	if rest := len(blind) - mostNotes; rest > 0 {
		st.Warn("%s more could not be seen: -o json lists all", text.Count(int64(rest)))
	}
	if !o.format.IsTable() {
		return
	}
	for i := range r.Groups {
		if g := &r.Groups[i]; !g.Missing && g.Err == nil {
			st.Note("%s", checkSummary(g))
		}
	}
}

func (o *checkOptions) groupSheet(w *render.Writer, r *inspect.Checker) {
	w.Begin(render.Sheet{Name: "groups", Row: "group", Columns: []render.Column{
		{Key: "group"}, {Key: "type"}, {Key: "state"}, {Key: "member_count"}, {Key: "partition_count"}, {Key: "uncommitted_count"},
		{Key: "uncommitted_records"}, {Key: "held_back"}, {Key: "lag"}, {Key: "lag_seconds"}, {Key: "lag_time_basis"}, {Key: "lag_time_unknown"}, {Key: "verdict"}, {Key: "verdicts"}, {Key: "ok"}, {Key: "error"},
	}})
	for i := range r.Groups {
		g := &r.Groups[i]
		h := &g.Health
		lag := render.None()
		if h.HasLag() {
			lag = render.Int(h.Lag)
		}
		err := cli.ErrCell(g.Err)
		why, unseen := r.Unseen(g.Name)
		if g.Err == nil && unseen {
			err = render.String(why)
		}
		w.Row(render.String(g.Name), render.Text(string(g.Type)), render.Text(g.State), cli.MembersCell(len(g.Members), g.Description.Err == nil), render.Int(int64(h.Partitions)),
			render.Int(int64(h.Uncommitted)), render.Int(h.Begun), render.Int(h.Held), lag, cli.Seconds(g.LagTime.D, g.LagTime.Known), cli.BasisCell(g.LagTime), cli.UnknownCell(g.LagTime),
			render.String(string(h.Health)), cli.VerdictsCell(h.Verdicts), o.verdict(r.Fails(g.Name), unseen), err)
	}
}

func unknownSheet(w *render.Writer, blind []inspect.Blind) {
	w.Begin(render.Sheet{Name: "unknown", Row: "unknown", Columns: []render.Column{{Key: "group"}, {Key: "topic"}, {Key: "partition"}, {Key: "reason"}}})
	for _, b := range blind {
		topic, partition := partitionCells(b.GroupPartition)
		w.Row(render.Text(b.Group), topic, partition, render.String(b.Why))
	}
}

func partitionCells(p inspect.GroupPartition) (topic, partition render.Cell) {
	if p.Topic == "" {
		return render.None(), render.None()
	}
	return render.String(p.Topic), render.Int32(p.Partition.Partition)
}

func reasonSheet(w *render.Writer, reasons []inspect.Violation) {
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
		topic, partition := partitionCells(x.GroupPartition)
		w.Row(groupCell(x), topic, partition, render.String(string(x.Rule)), render.String(x.Why).Styled(render.Bad), measureCell(x.Value), measureCell(x.Limit))
	}
}

// groupCell names the group of a reason; what concerns the whole cluster has none.
func groupCell(x inspect.Violation) render.Cell {
	if x.Group == "" && x.Rule == inspect.RuleUnknown {
		return render.None()
	}
	return render.Name(x.Group)
}

// noneMatches is the end of a check of no group. Where not every broker listed its groups, that there is none is not known.
func (o *checkOptions) noneMatches(whole bool) error {
	if whole || o.unknown == "pass" {
		return cli.Faultf(offset.KindNotFound, "", "no group matches")
	}
	err := cli.MatchUnknown()
	if o.unknown == "fail" {
		return cli.Faultf(offset.KindCheck, cli.HintOf(err), "%w", err)
	}
	return err
}

func measureCell(m inspect.Measure) render.Cell {
	switch {
	case m.Count != nil:
		return render.Int(*m.Count)
	case m.Time != nil:
		return cli.Seconds(*m.Time, true)
	}
	return render.Text(m.Word)
}

func checkSummary(g *inspect.CheckedGroup) string {
	line := fmt.Sprintf("group %s: %s", offset.NameText(g.Name), g.Health.Health)
	if g.Health.HasLag() {
		line += ", lag " + text.Count(g.Health.Lag)
	}
	switch t := g.LagTime; {
	case t.Known && t.D > 0 && t.Basis == inspect.LagAtLeast:
		line += ", oldest waiting record at least " + offset.FormatDuration(t.D) + " old"
	case t.Known && t.D > 0:
		line += ", oldest waiting record " + offset.FormatDuration(t.D) + " old"
	case !t.Known && g.Health.Lag > 0:
		line += ", age of the oldest waiting record unknown"
	}
	if g.Health.Uncommitted > 0 {
		line += ", " + cli.Partitions(g.Health.Uncommitted, "uncommitted", "uncommitted")
	}
	if g.Health.Begun > 0 {
		line += fmt.Sprintf(" with up to %s, which are in no lag", text.Plural(g.Health.Begun, "record"))
	}
	if g.Health.Unstable > 0 {
		line += fmt.Sprintf(", an open transaction holds newer commits on %s", text.Plural(g.Health.Unstable, "partition"))
	}
	if g.Health.Held > 0 {
		line += fmt.Sprintf(", %s held back by an open transaction and in no lag", text.Plural(g.Health.Held, "offset"))
	}
	return line
}
