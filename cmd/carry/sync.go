package carry

// migrate sync: the same import again and again, in one direction, for groups that are idle on the target.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

type syncOptions struct {
	pair
	write    act.Flags
	strategy strategyFlags
	interval string
	rounds   int
	listen   string
	rewind   bool
	takeBack bool

	query migrate.Query
	every time.Duration
	sync  migrate.Syncer
	stats syncStats
	// unresolved are the rows of which it was said why no strategy resolves them.
	unresolved map[string]bool
}

func newMigrateSync(a *cli.App) *cobra.Command {
	o := &syncOptions{pair: pair{app: a}}
	c := &cobra.Command{
		Use:   "sync GROUP…",
		Short: "Keep groups on another cluster where they are here, until they move over",
		Long: `Compares both clusters every --interval until it is stopped, and carries what has moved at the source. Target groups are
only moved forward (--allow-rewind follows a source that went back), and only while they have no members. What sync itself
committed is remembered in --state-dir, over restarts too: what expired or was deleted there is committed again, also before
it expires; what somebody else committed there is taken over, said once and left alone (--take-back carries over it).

Rows that no strategy resolves yet are tried again in the next round. Each round that changes something is in the undo journal.

The ordinary connection flags name the target, --source-profile or --source-bootstrap-server the source. Without --execute one
round is shown and nothing is changed.` + cli.ExitStatus(
			"  3  refused by a guard rail; nothing was changed",
			"  4  the last round was partly done or partly known",
			"  5  no such group at the source"),
		Example: `  koffset --profile new migrate sync --all-groups --source-profile old
  koffset --profile new migrate sync --all-groups --source-profile old --execute --interval 30s
  koffset --profile new migrate sync billing --source-profile old --execute --rounds 1
  koffset --profile new migrate sync --group-match 'prod-.*' --source-profile old --execute --listen 127.0.0.1:9309`,
		ValidArgsFunction: sourceCompleter(a, &o.source).Groups(),
		RunE:              o.across(o.parse, o.run),
	}
	f := c.Flags()
	o.write.Add(c)
	o.pair.add(f)
	o.strategy.add(c)
	f.StringVar(&o.interval, "interval", "60s", "the `DURATION` from one round to the next")
	f.IntVar(&o.rounds, "rounds", 0, "stop after `N` rounds; 0 runs until stopped")
	f.BoolVar(&o.rewind, "allow-rewind", false, "follow a source group that went back")
	f.BoolVar(&o.takeBack, "take-back", false, "also overwrite commits that other clients made on the target")
	f.StringVar(&o.listen, "listen", "", "serve Prometheus metrics at `HOST:PORT`/metrics")
	return c
}

func (o *syncOptions) parse(c *cobra.Command) error {
	if err := o.write.Parse(c); err != nil {
		return err
	}
	var err error
	if o.query, err = o.strategy.query(o.app, c); err != nil {
		return err
	}
	if err = o.pair.parse(c); err != nil {
		return err
	}
	o.query.Mapping = o.places
	if o.every, err = offset.ParseDuration(o.interval); err != nil {
		return cli.FlagFault("--interval", err)
	}
	if o.every < time.Second {
		return cli.Usagef("", "--interval %s is shorter than a second", o.interval)
	}
	if o.rounds < 0 {
		return cli.Usagef("", "--rounds %d: a number from 0 on", o.rounds)
	}
	return nil
}

func (o *syncOptions) run(ctx context.Context, source, target *cli.Session, args []string) error {
	if err := o.twoClusters(source, target); err != nil {
		return err
	}
	if o.listen != "" && o.write.Execute {
		stop, err := o.serve(o.listen)
		if err != nil {
			return err
		}
		defer stop()
	}
	o.sync = migrate.Syncer{State: migrate.OpenSyncState(target.Settings.StateDir, source.Cluster.ID, target.Cluster.ID, o.app.Version),
		Retention: o.retention(ctx, target), FollowBack: o.rewind, TakeBack: o.takeBack, Clock: o.app.Now}
	loop := migrate.SyncLoop{Every: o.every, Last: o.rounds, Now: o.app.Now, Ended: o.ended,
		Round: func(ctx context.Context, n int) error {
			return o.alone(ctx, func() error { return o.round(ctx, source, target, args, n) })
		}}
	if !o.write.Execute {
		loop.Last = 1
	}
	return loop.Run(ctx)
}

// unknownRetention is taken for how long the target keeps commits where it does not tell: what brokers before 2.0 did.
const unknownRetention = 24 * time.Hour

func (o *syncOptions) retention(ctx context.Context, target *cli.Session) time.Duration {
	ctx, cancel := target.Phase(ctx, "read how long commits are kept")
	defer cancel()
	d, err := inspect.ReadCommitRetention(ctx, target.Client)
	if err != nil {
		o.app.Streams.Note("how long the target keeps commits is not known (%v): they are committed again every %s", cli.Cause(ctx, err), offset.FormatDuration(unknownRetention/2))
		return unknownRetention
	}
	return d
}

// ended counts a round, and ends the loop after one whose failure will not pass. What failed in one round may work in the
// next: a broker that is back, a topic that was created, a group that somebody joined while the plan was made. What was
// refused as a whole stays refused.
func (o *syncOptions) ended(n int, took time.Duration, more bool, err error) error {
	o.stats.round(o.app.Now(), took, err)
	if err == nil || !more {
		return nil
	}
	if code, _ := cli.Classify(err); !passing(err) && (code == offset.KindUsage || code == offset.KindDenied || code == offset.KindRefused) {
		return err
	}
	if !partly(err) {
		o.app.Streams.Warn("round %d: %s; the next one is in %s", n, strings.ReplaceAll(err.Error(), "\n", "; "), o.every)
	}
	return nil
}

// passing says that a refusal is about some groups at that moment, and not about the whole run.
func passing(err error) bool {
	var f *cli.Fault
	return errors.As(err, &f) && (f.Quiet || f.Moved)
}

// round compares both clusters, and imports what has moved.
func (o *syncOptions) round(ctx context.Context, source, target *cli.Session, args []string, n int) error {
	x, err := o.export(ctx, source, args, false)
	if err != nil {
		return err
	}
	q := o.query
	q.Header, q.Phase = x.Header, target.Phase
	q.Covers = o.covers(args)
	for _, g := range x.Groups {
		q.Rows = append(q.Rows, g.Rows...)
		if g.Error != "" {
			q.Partial = append(q.Partial, g.Name)
		}
	}
	look, err := o.sync.Look(ctx, target.Client, q)
	if err != nil {
		return notRemembered(migrateFault(cli.Cause(ctx, err)))
	}
	o.sayTakenOver(look)
	q.Rows = look.Rows
	if err := migrate.PrintRows(ctx, source.Client, q.Header, q.Rows, o.ahead, source.Phase); err != nil {
		return err
	}
	pctx, cancel := target.Phase(ctx, "read MirrorMaker's topics")
	defer cancel()
	if err := o.strategy.readMM2(pctx, o.app, &q, o.mapping.mm2Source, target, source); err != nil {
		return cli.Cause(pctx, err)
	}
	cancel()
	res, err := translate(ctx, o.app, target, q)
	if err != nil {
		return err
	}
	pctx, cancel = target.Phase(ctx, "make the plan")
	defer cancel()
	r, err := o.sync.Plan(pctx, target.Client, x, look, res)
	if err != nil {
		return cli.Cause(pctx, err)
	}
	cancel()
	o.stats.translated(r)
	o.sayRound(n, r)
	if !o.write.Execute {
		return o.dryRound(ctx, target, r)
	}
	return o.apply(ctx, target, r)
}

// covers says which rows a round reads at the source, if they are there.
func (o *syncOptions) covers(args []string) func(group, topic string) bool {
	_, groups, err := o.groups.Resolve(args)
	return func(group, topic string) bool {
		return err == nil && groups.Match(group) && (!o.scope.Any() || o.scope.Matcher.Match(topic)) &&
			(!reset.InternalTopic(group, topic) || literal(o.scope, topic))
	}
}

// notRemembered refuses where the memory of earlier commits cannot be read: that does not pass by itself.
func notRemembered(err error) error {
	var file *checkpointfile.FileError
	if errors.As(err, &file) {
		return &cli.Fault{Kind: offset.KindRefused, Err: err, Hint: file.Hint}
	}
	return err
}

// alone runs a round while no other run on the state directory is in one. A dry run commits nothing, and may run beside.
func (o *syncOptions) alone(ctx context.Context, round func() error) error {
	if !o.write.Execute {
		return round()
	}
	began := false
	err := o.sync.State.Alone(ctx, func() {
		o.app.Streams.Note("waiting for another sync between these clusters, with the same --state-dir, to end its round")
	}, func() error { began = true; return round() })
	if err != nil && !began && ctx.Err() == nil {
		return &cli.Fault{Kind: offset.KindRefused, Err: err, Hint: "choose another folder with --state-dir; nothing was changed"}
	}
	return err
}

// sayTakenOver names each row once.
func (o *syncOptions) sayTakenOver(l *migrate.SyncLook) {
	for n, i := range l.TakenOver {
		if n == 5 {
			o.app.Streams.Warn("and %s", text.More(len(l.TakenOver)-n, "partition"))
			return
		}
		at := "nothing"
		if i.Current != nil {
			at = text.Count(i.Current.Offset)
		}
		o.app.Streams.Warn("group %s, %s: taken over on the target (%s is committed there, not by this sync), and left alone from now on; --take-back carries over it", offset.NameText(i.Group), i.Target, at)
	}
}

func (o *syncOptions) sayRound(n int, r *migrate.SyncRound) {
	e, t := r.Planned.Effect, r.Result.Count()
	steps := r.Look.Steps
	line := fmt.Sprintf("round %d: %s to move", n, text.Plural(e.Exact+e.Again+e.Unproven, "partition"))
	for _, x := range []struct {
		n    int
		what string
	}{{e.Already + len(steps[migrate.StepNone]), "there already"}, {len(steps[migrate.StepRestore]), "missing on the target"}, {e.Refreshed, "to commit again before they expire"},
		{t.Unresolved, "unresolved yet"}, {len(steps[migrate.StepTakenOver]), "taken over"}, {notKnown(r), "not known whether the target group has read further"}, {len(steps[migrate.StepWentBack]), "went back at the source: not followed"}, {len(steps[migrate.StepGone]), "without a commit at the source any more"}} {
		if x.n > 0 {
			line += fmt.Sprintf(", %s %s", text.Count(x.n), x.what)
		}
	}
	if e.Ahead > 0 {
		line += fmt.Sprintf(", %s left: the target group has read further", text.Count(e.Ahead))
	}
	if e.Other > 0 {
		line += fmt.Sprintf(", %s left because of the target group", text.Count(e.Other))
	}
	if n := len(r.Planned.Skipped); n > 0 {
		line += fmt.Sprintf(", %s in use on the target", text.Plural(n, "group"))
	}
	o.app.Streams.Note("%s", line)
	o.sayUnresolved(r)
}

// notKnown counts the rows that are left alone because nobody knows whether the target group has read further.
func notKnown(r *migrate.SyncRound) int {
	return r.Planned.Effect.PerhapsAhead + len(r.Look.Steps[migrate.StepNotKnown])
}

// sayUnresolved says of each row once why it is not carried: on a mirror that is behind the same ones would be named in every round.
func (o *syncOptions) sayUnresolved(r *migrate.SyncRound) {
	const most = 5
	if !o.write.Execute {
		return // the plan shows them
	}
	n := 0
	once := func(key, format string, args ...any) {
		if o.unresolved[key] {
			return
		}
		if o.unresolved == nil {
			o.unresolved = map[string]bool{}
		}
		o.unresolved[key] = true
		if n++; n <= most {
			o.app.Streams.Note(format, args...)
		}
	}
	say := func(i *migrate.Item, format string, args ...any) {
		once(i.Group+"\x00"+i.Target.String(), "group %s, %s %s", offset.NameText(i.Group), i.Target, fmt.Sprintf(format, args...))
	}
	for _, g := range slices.Sorted(maps.Keys(r.Planned.Unfit)) {
		once(g, "group %s is not carried: %s", offset.NameText(g), r.Planned.Unfit[g])
	}
	for _, i := range r.Result.Items {
		if i.Outcome == migrate.Unresolved {
			say(i, "is not carried yet: %s", strings.Join(i.Reasons, "; "))
		}
	}
	for _, i := range r.Look.Steps[migrate.StepNotKnown] {
		say(i, "is left alone for now: %s is committed on the target, not by this sync, and whether that is the same place is not known: %s", text.Count(i.Current.Offset), i.Unclear())
	}
	for _, i := range r.Look.Steps[migrate.StepGone] {
		say(i, "has no commit at the source any more: the topic or the commit was deleted, or it expired, or the user may not see it; what is on the target stays, and is not committed again before it expires")
	}
	if n > most {
		o.app.Streams.Note("and %s", text.More(n-most, "partition"))
	}
}

func (o *syncOptions) dryRound(ctx context.Context, target *cli.Session, r *migrate.SyncRound) error {
	p := r.Planned
	if len(p.Plan.Groups) == 0 {
		o.app.Streams.Note("there is nothing to carry")
	} else {
		w := carrying(o.app, target, &o.write, p)
		if err := w.Do(ctx); err != nil {
			return err
		}
	}
	if r.Incomplete {
		return cli.Quietly(offset.KindPartial)
	}
	return nil
}

// apply executes a round's plan. The first round asks on a terminal, later ones do not: they do what was agreed to.
func (o *syncOptions) apply(ctx context.Context, target *cli.Session, r *migrate.SyncRound) error {
	p := r.Planned
	sum := reset.Summarize(p.Plan)
	if sum.Changed > 0 {
		if err := o.sync.Intend(ctx, r); err != nil {
			return err
		}
		w := carrying(o.app, target, &o.write, p)
		if err := w.Do(ctx); err != nil {
			return err
		}
		o.write.Yes = true
	}
	o.stats.moved(sum.Changed - p.Effect.Refreshed)
	if err := o.sync.Carried(ctx, r); err != nil {
		return err
	}
	if r.Incomplete || r.Result.Count().Unresolved+notKnown(r)+p.Effect.Other > 0 && o.rounds > 0 {
		return cli.Quietly(offset.KindPartial)
	}
	return nil
}
