package move

// delete --inactive, --state and --topic-gone: only the groups that nobody uses any more. Each is left out of the plan and named
// where it is not known to be one of them.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// deadFlags say which groups are dead.
type deadFlags struct {
	inactive  string
	states    []string
	topicGone bool

	idle time.Duration
}

func (d *deadFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.inactive, "inactive", "", "only groups without members whose last commit is at least this `DURATION` old, by Kafka's own record; needs READ on __consumer_offsets")
	f.StringSliceVar(&d.states, "state", nil, "only groups in these `STATES`, such as Empty")
	f.BoolVar(&d.topicGone, "topic-gone", false, "only groups whose commits are all on topics that do not exist any more")
}

func (d *deadFlags) any() bool { return d.inactive != "" || len(d.states) > 0 || d.topicGone }

// parse reads the flags; whole says that groups are deleted, and not some of their offsets.
func (d *deadFlags) parse(whole bool) (err error) {
	if !d.any() {
		return nil
	}
	if !whole {
		return cli.Usagef("leave the topics out", "--inactive, --state and --topic-gone choose whole groups, and topics were named")
	}
	for _, s := range d.states {
		if err := cli.CheckState(s); err != nil {
			return err
		}
	}
	if d.inactive == "" {
		return nil
	}
	if d.idle, err = offset.ParseDuration(d.inactive); err != nil {
		return cli.FlagFault("--inactive", err)
	}
	if d.idle <= 0 {
		return cli.Usagef("such as 30d", "--inactive %s is not a time", d.inactive)
	}
	return nil
}

// graves finds which groups of a plan are dead.
type graves struct {
	deadFlags
	now       time.Time
	described map[string]inspect.Description
	then      *history.Then
	report    *history.Report
	rows      map[string][]reset.Change
	hidden    map[string]bool // groups that may store what the user may not see
}

// readGraves reads what decides. It comes after the plan was made: a commit that the plan does not know is in the record, and one
// that comes later still is drift, which the check before the deletion refuses.
func (d *deadFlags) readGraves(ctx context.Context, s *cli.Session, b *reset.Built) (*graves, error) {
	g := &graves{deadFlags: *d, rows: map[string][]reset.Change{}, hidden: map[string]bool{}}
	for _, pg := range b.Plan.Groups {
		g.hidden[pg.Name] = pg.Hidden != ""
	}
	names := planned(b)
	for _, c := range b.Plan.Changes {
		g.rows[c.Group] = append(g.rows[c.Group], c)
	}
	if d.idle > 0 {
		g.then = &history.Then{At: history.Ever()}
		var err error
		if g.report, err = s.ReadHistory(ctx, history.Query{Groups: names, Each: g.then.Add}); err != nil {
			return nil, err
		}
	}
	pctx, cancel := s.Phase(ctx, "describe the groups")
	defer cancel()
	var err error
	if g.described, err = inspect.DescribeNamed(pctx, s.Client, names); err != nil {
		return nil, cli.Cause(pctx, err)
	}
	g.now = s.App.Now()
	return g, nil
}

// lives says why a group is not known to be dead; empty where it is. other says that it is plainly another group than those that
// were asked for, and not worth a line.
func (g *graves) lives(name string) (why string, other bool) {
	d, ok := g.described[name]
	switch {
	case !ok:
		return "its state is not known: it was not described", false
	case d.Err != nil:
		return fmt.Sprintf("its state is not known: %v", d.Err), false
	case len(g.states) > 0 && !slices.ContainsFunc(g.states, func(s string) bool { return strings.EqualFold(s, d.State) }):
		return "it is " + d.State, true
	}
	if g.topicGone {
		if why, other := g.topicLives(name); why != "" {
			return why, other
		}
	}
	if g.idle == 0 {
		return "", false
	}
	if len(d.Members) > 0 {
		return fmt.Sprintf("it has %s", text.Plural(len(d.Members), "member")), false
	}
	return g.commits(name)
}

// topicLives says which topic of a group is there, or is not known to be gone.
func (g *graves) topicLives(name string) (why string, other bool) {
	for _, c := range g.rows[name] {
		switch {
		case c.LogEnd != nil:
			return fmt.Sprintf("topic %s exists", c.Topic), true
		case !c.Gone:
			return fmt.Sprintf("topic %s is not known to be gone", c.Topic), false
		}
	}
	switch {
	case len(g.rows[name]) == 0:
		return "it has no commits, so nothing says which topics it read", false
	case g.hidden[name]:
		return "it may have commits on topics that you may not describe", false
	}
	return "", false
}

// commits says of a group that it committed too lately, or that it is not known when.
func (g *graves) commits(name string) (why string, other bool) {
	if len(g.rows[name]) == 0 {
		return "it has no commits, so it is not known how long it rests", false
	}
	for _, c := range g.rows[name] {
		if _, known := g.then.LastCommit(g.report, name, c.Partition); !known {
			return fmt.Sprintf("it is not known when it committed for %s", c.Partition), false
		}
	}
	if age := g.now.Sub(g.last(name)); age < g.idle {
		return fmt.Sprintf("it committed %s ago", offset.FormatDuration(max(age, 0).Truncate(time.Second))), true
	}
	return "", false
}

// last is when a group last committed anything that it still has, what the user may not see included.
func (g *graves) last(name string) (last time.Time) {
	for _, p := range g.then.Partitions(name) {
		if at, known := g.then.LastCommit(g.report, name, p); known && at.After(last) {
			last = at
		}
	}
	return last
}

// unlike says what the groups are that were plainly not asked for: only what the given settings can have left out.
func (d *deadFlags) unlike() string {
	var what []string
	if len(d.states) > 0 {
		what = append(what, "not in state "+strings.Join(d.states, " or "))
	}
	if d.topicGone {
		what = append(what, "with a commit on a topic that exists")
	}
	if d.idle > 0 {
		what = append(what, "not inactive for "+offset.FormatDuration(d.idle))
	}
	return strings.Join(what, ", or ")
}

// onlyDead takes the groups out of a plan that are not known to be dead. Those that were named, and those that may be in use, are among
// the failed ones, with why; of the others that a pattern chose it is said how many there are.
func (d *deadFlags) onlyDead(ctx context.Context, s *cli.Session, b *reset.Built, patterned map[string]bool) error {
	g, err := d.readGraves(ctx, s, b)
	if err != nil {
		return err
	}
	alive, others := map[string]bool{}, 0
	for _, name := range planned(b) {
		why, other := g.lives(name)
		switch {
		case why == "":
			continue
		case other && patterned[name]:
			others++
		default:
			b.Failed = append(b.Failed, &reset.GroupError{Group: name, Err: offset.NewError(offset.KindRefused, why)})
		}
		alive[name] = true
	}
	b.Plan.Groups = slices.DeleteFunc(b.Plan.Groups, func(g reset.PlanGroup) bool { return alive[g.Name] })
	if d.idle > 0 {
		for i := range b.Plan.Groups {
			at := g.last(b.Plan.Groups[i].Name).UTC()
			b.Plan.Groups[i].LastCommit = &at
		}
	}
	b.Plan.Changes = slices.DeleteFunc(b.Plan.Changes, func(c reset.Change) bool { return alive[c.Group] })
	b.Notes = slices.DeleteFunc(b.Notes, func(n reset.Note) bool { return !n.Several && alive[n.Group] })
	if others > 0 {
		s.App.Streams.Note("%s left out: %s", text.Plural(others, "other group"), d.unlike())
	}
	return b.Plan.Seal()
}
