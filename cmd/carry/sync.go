package carry

// migrate sync: the same import again and again, in one direction, for groups that are idle on the target.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
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

	query migrate.Query
	every time.Duration
	sync  migrate.Syncer
	stats syncStats
}

func newMigrateSync(a *cli.App) *cobra.Command {
	o := &syncOptions{pair: pair{app: a}}
	c := &cobra.Command{
		Use:   "sync GROUP…",
		Short: "Keep groups on another cluster where they are here, until they move over",
		Long: `Exports from the source and imports on the target, every --interval, until it is stopped. A target group is only moved
forward, and only while it has no members: the first one that joins there takes over. Rows that no strategy resolves yet are
tried again in the next round. Each round that changes something is in the undo journal. A run that is stopped and started
again goes on from what the target has stored.

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
	f.IntVar(&o.rounds, "rounds", 0, "stop after `N` rounds; 0 goes on until it is stopped")
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
		return &cli.Fault{Code: cli.ExitUsage, Err: fmt.Errorf("--interval: %w", err), Hint: cli.HintOf(err)}
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
	loop := migrate.SyncLoop{Every: o.every, Last: o.rounds, Now: o.app.Now, Ended: o.ended,
		Round: func(ctx context.Context, n int) error { return o.round(ctx, source, target, args, n) }}
	if !o.write.Execute {
		loop.Last = 1
	}
	return loop.Run(ctx)
}

// ended counts a round, and ends the loop after one whose failure will not pass. What failed in one round may work in the
// next: a broker that is back, a topic that was created, a group that somebody joined while the plan was made. What was
// refused as a whole stays refused.
func (o *syncOptions) ended(n int, took time.Duration, more bool, err error) error {
	o.stats.round(o.app.Now(), took, err)
	if err == nil || !more {
		return nil
	}
	if code, _ := cli.Classify(err); !passing(err) && (code == cli.ExitUsage || code == cli.ExitDenied || code == cli.ExitRefused) {
		return err
	}
	if !partly(err) {
		o.app.Streams.Warn("round %d: %v; the next one is in %s", n, err, o.every)
	}
	return nil
}

// passing says that a refusal is about some groups at that moment, and not about the whole run.
func passing(err error) bool {
	var f *cli.Fault
	return errors.As(err, &f) && (f.Quiet || f.Moved)
}

// round is one import.
func (o *syncOptions) round(ctx context.Context, source, target *cli.Session, args []string, n int) error {
	x, err := o.export(ctx, source, args)
	if err != nil {
		return err
	}
	q := o.query
	q.Header, q.Rows = x.Header, o.sync.Pending(x)
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
	r, err := o.sync.Plan(pctx, target.Client, x, res)
	if err != nil {
		return cli.Cause(pctx, err)
	}
	cancel()
	o.stats.translated(res, len(r.Planned.Skipped))
	o.sayRound(n, r)
	if !o.write.Execute {
		return o.dryRound(ctx, target, r)
	}
	return o.apply(ctx, target, r)
}

func (o *syncOptions) sayRound(n int, r *migrate.SyncRound) {
	p := r.Planned
	sum := reset.Summarize(p.Plan)
	t := r.Result.Count()
	line := fmt.Sprintf("round %d: %s to move", n, text.Plural(sum.Changed, "partition"))
	if sum.Unchanged > 0 {
		line += fmt.Sprintf(", %s there already", text.Count(sum.Unchanged))
	}
	if t.Unresolved > 0 {
		line += fmt.Sprintf(", %s unresolved yet", text.Count(t.Unresolved))
	}
	if len(p.Skipped) > 0 {
		line += fmt.Sprintf(", %s in use on the target", text.Plural(len(p.Skipped), "group"))
	}
	o.app.Streams.Note("%s", line)
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
		return cli.Quietly(cli.ExitPartial)
	}
	return nil
}

// apply executes a round's plan. The first round asks on a terminal, later ones do not: they do what was agreed to.
func (o *syncOptions) apply(ctx context.Context, target *cli.Session, r *migrate.SyncRound) error {
	p := r.Planned
	sum := reset.Summarize(p.Plan)
	if sum.Changed > 0 {
		w := carrying(o.app, target, &o.write, p)
		if err := w.Do(ctx); err != nil {
			return err
		}
		o.write.Yes = true
	}
	o.stats.moved(sum.Changed)
	o.sync.Carried(r)
	if r.Incomplete || r.Result.Count().Unresolved > 0 && o.rounds > 0 {
		return cli.Quietly(cli.ExitPartial)
	}
	return nil
}
