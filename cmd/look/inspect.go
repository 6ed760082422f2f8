// Package look has the commands that only read: inspect and resolve.
package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/completions"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

type inspectOptions struct {
	app       *cli.App
	out       cli.OutputFlag
	groups    cli.GroupFlags
	topics    cli.TopicFlags
	by        string
	states    []string
	types     []string
	isolation string
	failOn    string
	expect    []string
	order     orderFlags

	positionFrom string
	origin       cli.OriginFlag
	lagTime      bool
	lastCommit   bool
	next         bool

	// What parse made of them.
	format  render.Format
	names   []string
	matcher *offset.Matcher
	scope   cli.TopicScope
	iso     offset.Isolation
}

// NewInspect is the command inspect.
func NewInspect(a *cli.App) *cobra.Command {
	o := &inspectOptions{app: a}
	c := &cobra.Command{
		Use: "inspect [GROUP…]", GroupID: "look",
		Short: "Committed offsets against the log: lag and health of groups of every kind",
		Long: `Without a group: one row for each group. With groups: one row for each partition, with what is committed, where the log
begins and ends, the lag and a status. With --topic and no group: every group that commits to the topic.

Lag is computed from raw numbers. A commit past the log end has no lag, it is past-log-end; offsets that retention
removed are not lag, they are counted as expired. A partition without a commit is a row of its own and not in any
total, since where its reader starts is not decided by the group. Differences of offsets are at most that many records.

STATUS is what is wrong with the commit: below-log-start, past-log-end, invalid-commit, unknown-topic, error; or else the verdict on
its reader, as far as one look can tell (koffset watch tells more): never-committed, about-to-expire, stopped, behind (the next
record is more than a day old), idle, no-commit, ok; unstable (an open transaction holds a newer commit) where nothing worse holds.
In JSON and CSV they are apart.
Groups have the age of their oldest next record, > where it may be older, ? where it is unknown; --lag-time reads all ages.` + cli.ExitStatus(
			"  4  partly known: a row or a group could not be read, or one of the named groups does not exist",
			"  5  none of the named groups exists, or nothing matches",
			"  8  --fail-on unhealthy, and a row is unhealthy"),
		Example: `  koffset inspect
  koffset inspect billing -o wide
  koffset inspect billing --lag-time
  koffset inspect billing --next
  koffset inspect --top 10
  koffset inspect --sort age --min-lag 1
  koffset inspect --last-commit --inactive 7d
  koffset inspect --topic orders
  koffset inspect --group-match 'prod-.*' --by topic
  koffset inspect --all-groups --by partition -o jsonl`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(cmd, args); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd)
		},
	}
	f := c.Flags()
	o.out.Add(c)
	o.groups.Add(f)
	o.topics.Add(f)
	f.StringVar(&o.by, "by", "", "one row a `WORD`: group, topic, partition or member")
	_ = c.RegisterFlagCompletionFunc("by", completions.Words(byGroup, byTopic, byPartition, byMember))
	f.StringSliceVar(&o.states, "state", nil, "only groups in these `STATES`, such as Stable,Empty")
	f.StringSliceVar(&o.types, "type", nil, "only groups of these `TYPES`: classic, consumer, share, streams")
	f.StringVar(&o.isolation, "isolation", "read_uncommitted", "which end counts: read_uncommitted (high watermark) or read_committed (last stable offset)")
	f.StringVar(&o.failOn, "fail-on", "", "exit with status 8 when a row is `unhealthy`")
	f.StringSliceVar(&o.expect, "expect-topics", nil, "`TOPICS` that must be visible: one that is not is an error instead of a missing row")
	o.order.add(c)
	f.StringVar(&o.positionFrom, "position-from", "", "show the reader's own position beside the commits: a checkpoint's `DIR`, or the http:// address of a koffset consume --metrics-listen")
	o.origin.Add(c, f)
	a.AddRegistryFlag(c)
	_ = c.RegisterFlagCompletionFunc("position-from", cli.CheckpointCompletion)
	f.BoolVar(&o.lagTime, "lag-time", false, "how old the next record to read is, against now and against the newest record; exact: it is fetched, which needs READ on the topic")
	f.BoolVar(&o.next, "next", false, "the record that the reader of each partition gets next, and what to paste to skip it; needs READ on the topic")
	f.BoolVar(&o.lastCommit, "last-commit", false, "when each group and partition last committed, by Kafka's own record; needs READ on __consumer_offsets")
	return c
}

const (
	byGroup     = "group"
	byTopic     = "topic"
	byPartition = "partition"
	byMember    = "member"
)

func (o *inspectOptions) parse(cmd *cobra.Command, args []string) error {
	var err error
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	if o.names, o.matcher, err = o.groups.Resolve(args); err != nil {
		return err
	}
	if o.scope, err = o.topics.Resolve(cmd); err != nil {
		return err
	}
	if o.iso, err = offset.ParseIsolation(o.isolation); err != nil {
		return err
	}
	if o.failOn != "" && o.failOn != "unhealthy" {
		return cli.Usagef("use --fail-on unhealthy", "--fail-on %q is not one of its values", o.failOn)
	}
	if err := o.order.parse(cmd, o.format.IsTable() && o.app.Streams.OutTTY); err != nil {
		return err
	}
	for _, t := range o.types {
		if !slices.Contains(inspect.GroupTypes(), inspect.GroupType(strings.ToLower(t))) {
			return cli.Usagef("use classic, consumer, share or streams", "--type %q is not a kind of group", t)
		}
	}
	for _, state := range o.states {
		if err := cli.CheckState(state); err != nil {
			return err
		}
	}
	switch o.by {
	case "":
		o.by = byGroup
		if len(o.names) > 0 || o.scope.Any() {
			o.by = byPartition
		}
	case byGroup, byTopic, byPartition, byMember:
	default:
		return cli.Usagef("use group, topic, partition or member", "--by %q is not one of its values", o.by)
	}
	if o.lagTime && o.by != byPartition && o.by != byGroup {
		return cli.Usagef("add --by partition or --by group", "--lag-time needs --by partition or group, not %s", o.by)
	}
	if o.lastCommit && o.by != byPartition && o.by != byGroup {
		return cli.Usagef("add --by partition or --by group", "--last-commit needs --by partition or group, not %s", o.by)
	}
	if o.order.only != "" && o.by != byPartition && o.by != byGroup {
		return cli.Usagef("add --by partition or --by group", "--only needs --by partition or group, not %s", o.by)
	}
	if o.order.idleFor > 0 && o.by != byGroup {
		return cli.Usagef("add --by group", "--inactive needs --by group, not %s", o.by)
	}
	if err := o.origin.Parse(); err != nil {
		return err
	}
	if err := o.checkNext(cmd); err != nil {
		return err
	}
	return o.checkPosition()
}

func (o *inspectOptions) run(ctx context.Context, cmd *cobra.Command) error {
	s, err := o.app.Connect(ctx, cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	whole := ctx
	ctx, cancel := s.Phase(ctx, "read the groups")
	defer cancel()

	records.Connect(ctx, s.Client) // for the ages
	groups, ahead, partial, untyped, err := o.choose(ctx, s)
	if err != nil {
		return cli.Cause(ctx, err)
	}
	q := inspect.Query{Groups: groups, Ahead: ahead, Isolation: o.iso, Wanted: o.scope.Specs}
	if o.scope.Any() {
		q.Topics = o.scope.Matcher
		q.CommittedOnly = len(o.names) == 0
	}
	snap, err := inspect.Read(ctx, s.Client, q)
	if err != nil {
		return cli.Cause(ctx, err)
	}
	if len(o.names) == 0 {
		snap.Groups = slices.DeleteFunc(snap.Groups, func(d inspect.Description) bool { return d.Err == nil && !o.wanted(d.Group) })
	}
	out := inspection{o: o, s: s, snap: snap, partial: partial, untyped: untyped}
	if o.next {
		if out.schemas, err = o.app.Schemas(ctx, s.Settings); err != nil {
			return err
		}
	}
	if err := out.readPositions(ctx); err != nil {
		return err
	}
	out.assess(ctx)
	if err := out.readLastCommits(whole); err != nil {
		return err
	}
	return out.print(ctx)
}

// choose finds the groups to read, and begins to read them. partial says that some group is not known for sure, untyped that
// the broker's list tells no types.
func (o *inspectOptions) choose(ctx context.Context, s *cli.Session) (groups []inspect.Group, ahead *inspect.Ahead, partial, untyped bool, err error) {
	listed, missing, err := s.Cluster.ListGroupsAhead(ctx, s.Client, func(listed []inspect.Group) {
		ahead.Stop() // a list that was not whole
		ahead = inspect.ReadAhead(ctx, s.Client, o.among(listed), true)
	})
	if err != nil {
		return nil, nil, false, false, err
	}
	for _, e := range missing {
		o.app.Streams.Warn("%v: its groups are missing here", e)
		partial = true
	}
	untyped = slices.ContainsFunc(listed, func(g inspect.Group) bool { return g.Type == "" })
	groups = o.among(listed)
	if len(groups) == 0 && (len(o.names) > 0 || len(o.groups.Match) > 0) {
		if partial {
			return nil, nil, partial, untyped, cli.MatchUnknown()
		}
		return nil, nil, partial, untyped, cli.NoGroupMatches(len(listed))
	}
	return groups, ahead, partial, untyped, nil
}

// among are the groups that were asked for.
func (o *inspectOptions) among(listed []inspect.Group) (groups []inspect.Group) {
	byName := make(map[string]inspect.Group, len(listed))
	for _, g := range listed {
		byName[g.Name] = g
		if o.matcher.Match(g.Name) && o.wanted(g) {
			groups = append(groups, g)
		}
	}
	for _, n := range o.names {
		// A named group that is not in the list is asked for all the same: it may be there and not be listed, for want of
		// a right or because its broker did not answer.
		if _, ok := byName[n]; !ok {
			groups = append(groups, inspect.Group{Name: n})
		}
	}
	return groups
}

// wanted says that --state and --type let a group through. What the list does not tell (states since Kafka 2.6, types since
// 3.8) is asked again when the group is described: left out here, a filter would hide groups that match.
func (o *inspectOptions) wanted(g inspect.Group) bool {
	fold := func(list []string, v string) bool {
		return len(list) == 0 || v == "" || slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, v) })
	}
	return fold(o.states, g.State) && fold(o.types, string(g.Type))
}

// inspection prints a snapshot.
type inspection struct {
	o       *inspectOptions
	s       *cli.Session
	snap    *inspect.Snapshot
	partial bool
	untyped bool // the list of groups came without types

	positions map[offset.Partition]int64 // of --position-from; nil without it

	// judged has the verdicts; times are the exact lags in time, where they were asked for, and readAt is when they were read.
	judged     *inspect.Assessment
	times      map[inspect.GroupPartition]inspect.TimedLag
	readAt     time.Time
	lagTimeErr error

	last    lastCommits
	next    []*nextRecord
	schemas *cli.Schemas // of next

	tally
}

// tally is what one pass over the rows counts, for the notes and the exit status.
type tally struct {
	errors    int // rows and groups that could not be read
	unhealthy int
	rows      int
	firstErr  error
	allDenied bool

	troubles
}

// troubles are what the notes say of partitions. They are counted for the rows that are shown: a warning about another group
// than those that were asked for would be taken for one of them.
type troubles struct {
	past, below, invalid, held, unstable int
	expired                              int64
}

func (t *troubles) note(r *inspect.Row) {
	switch r.Status {
	case inspect.StatusPastLogEnd:
		t.past++
	case inspect.StatusBelowLogStart:
		t.below++
		t.expired += r.ExpiredUnread
	case inspect.StatusInvalidCommit:
		t.invalid++
	}
	if r.HeldBack > 0 && r.Committed != nil {
		t.held++
	}
	if r.Unstable {
		t.unstable++
	}
}

func (t *troubles) add(o troubles) {
	t.past, t.below, t.invalid, t.held, t.unstable = t.past+o.past, t.below+o.below, t.invalid+o.invalid, t.held+o.held, t.unstable+o.unstable
	t.expired += o.expired
}

func (p *inspection) print(ctx context.Context) error {
	found := p.dropMissing(ctx)
	if err := p.expectTopics(); err != nil {
		return err
	}
	bad, topicErr := p.checkTopics(ctx)
	if !found && len(p.snap.Groups) == 0 && !p.o.format.IsJSON() {
		return cli.Quietly(offset.KindNotFound) // a header over nothing reads like an empty group
	}
	w := render.NewWriter(p.o.app.Streams, p.o.format, p.s.Meta("inspect", render.F("isolation", render.String(p.o.iso.String()))))
	p.allDenied = true
	switch {
	case p.o.by == byGroup:
		p.groupSheet(w)
	case p.o.by == byTopic:
		p.topicSheet(w)
	case p.o.by == byMember:
		p.memberSheet(w)
	default:
		if p.o.format.IsJSON() {
			p.groupSheet(w)
			p.tally = tally{allDenied: true}
		}
		p.partitionSheet(w)
		p.readNext(ctx)
		p.nextSheet(w)
		p.partial = p.partial || p.o.next && p.schemas.Failed()
	}
	if topicErr == nil && p.rows == 0 && len(p.o.topics.Match) > 0 {
		topicErr = cli.Faultf(offset.KindNotFound, "", "no group has a commit on a topic that matches")
	}
	p.partial = p.partial || p.errors > 0 || !found || topicErr != nil
	if err := w.Close(render.End{Incomplete: p.partial}); err != nil {
		return err
	}
	for _, f := range bad {
		if p.rows > 0 {
			f.Kind = offset.KindPartial
		}
		p.o.app.Streams.Fail(f)
	}
	p.notes()
	p.lacksNote(ctx)
	p.lagTimeNote()
	p.lastNote()
	p.sayNext()
	switch {
	case !found && len(p.snap.Groups) == 0:
		return cli.Quietly(offset.KindNotFound)
	case topicErr != nil && p.rows == 0:
		return topicErr
	case p.errors > 0 && p.rows == 0 && p.allDenied && p.firstErr != nil:
		return &cli.Fault{Kind: offset.KindDenied, Err: p.firstErr, Hint: cli.RightsHint(p.firstErr)}
	case p.partial:
		return cli.Quietly(offset.KindPartial)
	case p.o.failOn != "" && p.unhealthy > 0:
		return cli.Faultf(offset.KindCheck, "", "%s of %s unhealthy", text.Count(p.unhealthy), text.Plural(p.rows, "row"))
	}
	return nil
}

// dropMissing takes groups that do not exist out of the snapshot, names them, and says whether all were found.
func (p *inspection) dropMissing(ctx context.Context) bool {
	var known []string
	for _, d := range p.snap.Groups {
		if !d.NotFound {
			known = append(known, d.Name)
		}
	}
	all := true
	p.snap.Groups = slices.DeleteFunc(p.snap.Groups, func(d inspect.Description) bool {
		if !d.NotFound || p.snap.Commits(d.Name).Len() > 0 {
			return false
		}
		all = false
		code := offset.KindNotFound
		if len(known) > 0 {
			code = offset.KindPartial
		}
		p.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("group %q does not exist", d.Name), Kind: code, Hint: p.s.GroupHint(ctx, "inspect", d.Name, nil)})
		return true
	})
	return all
}

// expectTopics turns a topic that cannot be seen into an error: a broker hides topics that may not be described from a
// group's offsets without a word, so a missing row is no proof of a missing commit.
func (p *inspection) expectTopics() error {
	for _, name := range p.o.expect {
		if t, ok := p.snap.Topics[name]; !ok || t.Err != nil {
			err := errors.New("no group here shows a commit on it")
			if ok {
				err = t.Err
			}
			p.partial = true
			p.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("expected topic %q is not visible: %w", name, err), Kind: offset.KindPartial})
		}
	}
	return nil
}

// checkTopics finds the topics of --topic that cannot be shown: a slip in a name would look like a topic that nobody
// commits to. The error is what they mean where nothing else is shown.
func (p *inspection) checkTopics(ctx context.Context) (bad []render.Failure, err error) {
	forbidden := 0
	for _, w := range p.snap.Query.Wanted {
		err := p.snap.Topics[w.Topic].Err
		if err == nil {
			continue
		}
		if cli.Denied(err) {
			forbidden++
		}
		bad = append(bad, topicFailure(ctx, p.s, w.Topic, err))
	}
	switch len(bad) {
	case 0:
		return nil, nil
	case forbidden:
		return bad, cli.Quietly(offset.KindDenied)
	}
	return bad, cli.Quietly(offset.KindNotFound)
}

func (t *tally) count(r *inspect.Row, d *inspect.Diagnosis) {
	t.rows++
	if r.Status.Unhealthy() || d.Verdicts.Has(inspect.HealthNeverCommitted) {
		t.unhealthy++
	}
	if r.Err != nil {
		t.failed(r.Err)
		return
	}
	t.allDenied = false
}

func (t *tally) failed(err error) {
	t.errors++
	if t.firstErr == nil {
		t.firstErr = err
	}
	t.allDenied = t.allDenied && cli.Denied(err)
}
