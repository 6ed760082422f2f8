package cmd

// migrate sync: the same import again and again, in one direction, for groups that are idle on the target.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

type syncOptions struct {
	verifyOptions
	write    writeFlags
	strategy strategyFlags
	interval string
	rounds   int
	listen   string

	query migrate.Query
	every time.Duration
	seen  map[checkpointfile.Key]int64 // the source offset that a target row was last set from
	stats syncStats
}

func addTargetProfile(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "target-profile", "", "`NAME` of the profile of the target cluster, the same as --profile")
}

// across is the run of a command that works on two clusters at once.
func (a *App) across(f *sourceFlags, targetProfile *string, parse func(*cobra.Command) error,
	run func(ctx context.Context, source, target *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := parse(cmd); err != nil {
			return err
		}
		source, target, err := connectBoth(cmd.Context(), a, cmd, f, *targetProfile)
		if err != nil {
			return err
		}
		defer source.close()
		defer target.close()
		return run(cmd.Context(), source, target, args)
	}
}

// connectBoth connects to the source that the flags name, and to the target that the ordinary flags name.
func connectBoth(ctx context.Context, a *App, c *cobra.Command, f *sourceFlags, targetProfile string) (source, target *session, err error) {
	if !f.given() {
		return nil, nil, usagef("add --source-profile NAME or --source-bootstrap-server HOST:PORT", "which cluster is the source? none was named")
	}
	in := a.inputs(c)
	if targetProfile != "" {
		if in.ProfileSet && in.Profile != targetProfile {
			return nil, nil, usagef("leave one of them out", "--profile %s and --target-profile %s were both given", in.Profile, targetProfile)
		}
		a.global.profile = targetProfile
		if err := c.Flags().Set("profile", targetProfile); err != nil {
			return nil, nil, err
		}
	}
	if source, err = f.connect(ctx, a, c); err != nil {
		return nil, nil, err
	}
	if target, err = a.connect(ctx, c); err != nil {
		source.close()
		return nil, nil, err
	}
	return source, target, nil
}

func newMigrateSync(a *App) *cobra.Command {
	o := &syncOptions{verifyOptions: verifyOptions{app: a}, seen: map[checkpointfile.Key]int64{}}
	c := &cobra.Command{
		Use:   "sync GROUP…",
		Short: "Keep groups on another cluster where they are here, until they move over",
		Long: `Exports from the source and imports on the target, every --interval, until it is stopped. A target group is only moved
forward, and only while it has no members: the first one that joins there takes over. Rows that no strategy resolves yet are
tried again in the next round. Each round that changes something is in the undo journal. A run that is stopped and started
again goes on from what the target has stored.

The ordinary connection flags name the target, --source-profile or --source-bootstrap-server the source. Without --execute one
round is shown and nothing is changed.` + exitStatus(
			"  3  refused by a guard rail; nothing was changed",
			"  4  the last round was partly done or partly known",
			"  5  no such group at the source"),
		Example: `  koffset --profile new migrate sync --all-groups --source-profile old
  koffset --profile new migrate sync --all-groups --source-profile old --execute --interval 30s
  koffset --profile new migrate sync billing --source-profile old --execute --rounds 1
  koffset --profile new migrate sync --group-match 'prod-.*' --source-profile old --execute --listen 127.0.0.1:9309`,
		ValidArgsFunction: a.sourceCompleter(&o.source).Groups(),
		RunE:              a.across(&o.source, &o.target, o.parse, o.run),
	}
	f := c.Flags()
	o.write.add(c)
	o.groups.add(f)
	o.topics.add(f)
	o.mapping.add(f)
	o.source.add(f, "")
	o.strategy.add(c)
	addTargetProfile(f, &o.target)
	f.StringVar(&o.interval, "interval", "60s", "the `DURATION` from one round to the next")
	f.IntVar(&o.rounds, "rounds", 0, "stop after `N` rounds; 0 goes on until it is stopped")
	f.StringVar(&o.listen, "listen", "", "serve Prometheus metrics at `HOST:PORT`/metrics")
	return c
}

func (o *syncOptions) parse(c *cobra.Command) error {
	if err := o.write.parse(c); err != nil {
		return err
	}
	var err error
	if o.query, err = o.strategy.query(o.app, c); err != nil {
		return err
	}
	if o.places, err = o.mapping.mapping(); err != nil {
		return err
	}
	o.query.Mapping = o.places
	if o.scope, err = o.topics.resolve(c); err != nil {
		return err
	}
	if o.every, err = offset.ParseDuration(o.interval); err != nil {
		return &fault{code: exitUsage, err: fmt.Errorf("--interval: %w", err), hint: hintOf(err)}
	}
	if o.every < time.Second {
		return usagef("", "--interval %s is shorter than a second", o.interval)
	}
	if o.rounds < 0 {
		return usagef("", "--rounds %d: a number from 0 on", o.rounds)
	}
	return nil
}

func (o *syncOptions) run(ctx context.Context, source, target *session, args []string) error {
	if err := twoClusters(source, target, o.places.Topics.Any() || o.places.Groups.Any()); err != nil {
		return err
	}
	if o.listen != "" && o.write.execute {
		stop, err := o.serve(o.listen)
		if err != nil {
			return err
		}
		defer stop()
	}
	for n := 1; ; n++ {
		begin := o.app.Now()
		err := o.round(ctx, source, target, args, n)
		o.stats.round(o.app.Now(), o.app.Now().Sub(begin), err)
		last := !o.write.execute || o.rounds > 0 && n >= o.rounds
		if last || ctx.Err() != nil {
			return err
		}
		if err != nil {
			// What failed in one round may work in the next: a broker that is back, a topic that was created, a group that
			// somebody joined while the plan was made. What was refused as a whole stays refused.
			if code, _ := classify(err); !passing(err) && (code == exitUsage || code == exitDenied || code == exitRefused) {
				return err
			}
			if !partly(err) {
				o.app.Streams.Warn("round %d: %v; the next one is in %s", n, err, o.every)
			}
		}
		if err := wait(ctx, o.every-o.app.Now().Sub(begin)); err != nil {
			return err
		}
	}
}

// passing says that a refusal is about some groups at that moment, and not about the whole run.
func passing(err error) bool {
	var f *fault
	return errors.As(err, &f) && (f.quiet || f.moved)
}

// wait returns the context's cause when it ends first.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// round is one import.
func (o *syncOptions) round(ctx context.Context, source, target *session, args []string, n int) error {
	x, err := o.export(ctx, source, args)
	if err != nil {
		return err
	}
	q := o.query
	q.Header, q.Rows = x.Header, nil
	for _, g := range x.Groups {
		q.Rows = append(q.Rows, g.Rows...)
	}
	q.Rows = o.changed(q.Rows)
	pctx, cancel := target.phase(ctx, "read MirrorMaker's topics")
	defer cancel()
	if err := o.strategy.readMM2(pctx, o.app, &q, o.mapping.mm2Source, target, source); err != nil {
		return cause(pctx, err)
	}
	cancel()
	res, err := o.app.translate(ctx, target, q)
	if err != nil {
		return err
	}
	pctx, cancel = target.phase(ctx, "make the plan")
	defer cancel()
	planned, err := migrate.MakePlan(pctx, target.client, res, migrate.PlanOptions{Verb: "sync", Asked: "from " + x.ClusterID, SkipUnresolved: true, IdleOnly: true})
	if err != nil {
		return cause(pctx, err)
	}
	cancel()
	o.stats.translated(res, len(planned.Skipped))
	o.sayRound(n, res, planned)
	if !o.write.execute {
		return o.dryRound(ctx, target, planned, x.Incomplete)
	}
	return o.apply(ctx, target, res, planned, x.Incomplete)
}

// changed leaves out rows that were carried already: their source group has not moved since.
func (o *syncOptions) changed(rows []migrate.Row) []migrate.Row {
	var out []migrate.Row
	for _, r := range rows {
		k := checkpointfile.Key{Group: r.Group, Partition: r.Partition}
		if was, done := o.seen[k]; done && r.Committed != nil && r.Committed.Offset == was {
			continue
		}
		out = append(out, r)
	}
	return out
}

func (o *syncOptions) sayRound(n int, res *migrate.Result, p *migrate.Planned) {
	sum := reset.Summarize(p.Plan)
	t := res.Count()
	line := fmt.Sprintf("round %d: %s to move", n, render.Plural(sum.Changed, "partition"))
	if sum.Unchanged > 0 {
		line += fmt.Sprintf(", %s there already", render.Count(sum.Unchanged))
	}
	if t.Unresolved > 0 {
		line += fmt.Sprintf(", %s unresolved yet", render.Count(t.Unresolved))
	}
	if len(p.Skipped) > 0 {
		line += fmt.Sprintf(", %s in use on the target", render.Plural(len(p.Skipped), "group"))
	}
	o.app.Streams.Note("%s", line)
}

func (o *syncOptions) dryRound(ctx context.Context, target *session, p *migrate.Planned, incomplete bool) error {
	if len(p.Plan.Groups) == 0 {
		o.app.Streams.Note("there is nothing to carry")
	} else {
		w := &write{app: o.app, s: target, flags: &o.write, built: builtOf(p), wide: true}
		if err := w.run(ctx); err != nil {
			return err
		}
	}
	if incomplete {
		return quietly(exitPartial)
	}
	return nil
}

// apply executes a round's plan. The first round asks on a terminal, later ones do not: they do what was agreed to.
func (o *syncOptions) apply(ctx context.Context, target *session, res *migrate.Result, p *migrate.Planned, incomplete bool) error {
	sum := reset.Summarize(p.Plan)
	if sum.Changed > 0 {
		w := &write{app: o.app, s: target, flags: &o.write, built: builtOf(p), wide: true}
		if err := w.run(ctx); err != nil {
			return err
		}
		o.write.yes = true
	}
	o.stats.moved(sum.Changed)
	inUse := map[string]bool{}
	for _, g := range p.Skipped {
		inUse[g] = true
	}
	for _, i := range res.Items {
		if i.Resolved() && !i.Unstable && !inUse[i.Group] {
			o.seen[checkpointfile.Key{Group: i.Row.Group, Partition: i.Row.Partition}] = i.Row.Committed.Offset
		}
	}
	if incomplete || res.Count().Unresolved > 0 && o.rounds > 0 {
		return quietly(exitPartial)
	}
	return nil
}
