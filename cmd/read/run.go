package read

// Running consume: guard rails, the plan on stderr, the journal, metrics, progress, the summary.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/consumeconf"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// straight writes records to standard output at once: what is committed was written.
type straight struct{ s *render.Streams }

func (w straight) Write(b []byte) (int, error) { return w.s.WriteNow(b) }

// consumeFault gives the engine's errors their exit status.
func consumeFault(err error) error {
	var (
		f  *cli.Fault
		ce *consume.Error
		de *sink.DirError
	)
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.As(err, &de):
		return &cli.Fault{Kind: de.ErrorKind(), Err: err, Hint: de.Hint}
	case errors.As(err, &ce):
		kind, hint := ce.ErrorKind(), ce.Hint
		if oe := new(offset.OriginError); errors.As(ce.Err, &oe) {
			hint = cli.HintOf(oe)
			if _, allow, more := strings.Cut(hint, "; "); more && ce.Hint != "" { // no other start helps a restore
				hint = ce.Hint + "; " + allow
			}
		}
		if ce.Kind == consume.Failed && ce.Err != nil {
			inner, h := cli.Classify(ce.Err)
			hint = cmp.Or(hint, h)
			// A missing right or a broker that is gone says more than "failed".
			if inner == offset.KindDenied || inner == offset.KindUnreachable {
				kind = inner
			}
		}
		return &cli.Fault{Kind: kind, Err: err, Hint: hint}
	}
	return err
}

func (o *consumeOptions) consume(ctx context.Context, s *conn.Settings, r *consumeconf.Resolved, run consumeconf.Run) error {
	ses, err := o.app.ConnectWith(ctx, s)
	if err != nil {
		return err
	}
	defer ses.Close()
	cfg := o.config(ses, run.Config)
	var store *engineStore
	if run.Output.StoreURL != "" {
		st, err := openEngineStore(ctx, o.app, run.Output.StoreURL, cfg.Group, cfg.Checkpoints.Job, ses.Cluster.ID)
		if err != nil {
			return err
		}
		defer st.store.Close()
		cfg.Store, store = st, st
	}
	if committer, _ := cfg.Committer(); committer != consume.CommitsNever {
		if err := o.guard(ses, &cfg); err != nil {
			return err
		}
		cfg.BeforeCommit = func(_ context.Context, before []consume.Before) error { return o.journal(ses, cfg.Group, before) }
	}
	o.echo(cfg)
	engine, err := o.plan(ctx, ses, cfg)
	if err != nil {
		return err
	}
	defer engine.Close()
	if store != nil {
		store.learn(engine.Plan())
	}
	if err := o.guardPlan(ses, engine.Plan()); err != nil {
		return err
	}
	o.show(engine.Plan(), cfg, r)
	if o.dryRun {
		return nil
	}
	if run.Output.MetricsListen != "" {
		stop, err := o.serve(run.Output.MetricsListen, engine)
		if err != nil {
			return err
		}
		defer stop()
	}
	o.tuneCollector()
	return o.engage(ctx, engine)
}

// engage runs the engine, and says how that ended.
func (o *consumeOptions) engage(ctx context.Context, engine *consume.Engine) error {
	stop := o.progress(engine)
	sum, err := engine.Run(ctx)
	stop()
	o.summary(sum, err, engine.Plan().Committer)
	raw := o.schemas != nil && o.schemas.Say(false)
	switch {
	case err != nil:
		return consumeFault(err)
	case sum.Ended == consume.Incomplete:
		return cli.Quietly(offset.KindPartial) // the notice said what is missing
	case sum.Ended != consume.Finished:
		return cli.Quietly(offset.KindInterrupted) // the signal decides which
	case raw:
		return cli.Quietly(offset.KindPartial) // the warning said what was not decoded
	}
	return nil
}

// config is what the settings say, with what this process lends to the run.
func (o *consumeOptions) config(ses *cli.Session, cfg consume.Config) consume.Config {
	cfg.Client, cfg.Now = ses.Client, o.app.Now
	cfg.Notify = o.notice
	cfg.Unreachable = ses.Settings.Timeout
	cfg.Saved = func(ctx context.Context, pos offset.Position) (offset.Saved, error) {
		if pos.Kind == offset.OfStore {
			return storePosition(ctx, o.app, pos.Ref, cfg.Group)
		}
		if pos.Kind == offset.CurrentAt || pos.Kind == offset.OfGroupAt {
			return o.past(ctx, ses, pos, cfg.Group)
		}
		return o.saved(pos, cfg.Group)
	}
	return cfg
}

func (o *consumeOptions) plan(ctx context.Context, ses *cli.Session, cfg consume.Config) (*consume.Engine, error) {
	for _, pos := range []*offset.Position{cfg.Start.Position, cfg.End.Until} {
		if pos == nil {
			continue
		}
		if err := ses.ReadPast(ctx, *pos, cfg.Group); err != nil {
			return nil, err
		}
	}
	ctx, cancel := ses.Phase(ctx, "resolve where to start")
	defer cancel()
	e, err := consume.New(ctx, cfg)
	if err == nil && o.shows() {
		e.Survey(ctx)
	}
	return e, cli.Cause(ctx, consumeFault(err))
}

func (o *consumeOptions) notice(n consume.Notice) {
	st := o.app.Streams
	switch {
	case n.Level == consume.Warning:
		st.Warn("%s", n.Text)
		if n.Hint != "" {
			st.Hint("%s", n.Hint)
		}
	case !o.quiet:
		st.Note("%s", n.Text)
	}
}

// echo says which instants were understood, before anything happens.
func (o *consumeOptions) echo(cfg consume.Config) {
	if o.quiet {
		return
	}
	// The plan says a start by time in UTC.
	if p := cfg.Start.Position; p != nil && (cfg.Start.Mode() != consume.ModeTimestamp || o.app.Streams.Zone() != time.UTC) {
		o.app.EchoInstants(*p)
	}
	if p := cfg.End.Until; p != nil {
		o.app.EchoInstants(*p)
	}
}

// saved reads file: and checkpoint: positions. The engine reads group: itself.
func (o *consumeOptions) saved(pos offset.Position, group string) (offset.Saved, error) {
	switch pos.Kind {
	case offset.OfFile:
		by, err := o.app.SavedInFile(pos.Ref)
		if err != nil {
			return offset.Saved{}, err
		}
		one, err := o.app.PickSaved(by, pos, group, group != "")
		if err != nil {
			return offset.Saved{}, err
		}
		return *one, nil
	case offset.OfCheckpoint:
		return o.app.PositionsOf(pos.Ref, &o.snapshot)
	}
	return offset.Saved{}, cli.Usagef("use group:G, file:F or checkpoint:DIR", "%s cannot be read here", pos)
}

// past reads where a group stood at an instant.
func (o *consumeOptions) past(ctx context.Context, ses *cli.Session, pos offset.Position, group string) (none offset.Saved, err error) {
	by, err := ses.LoadSaved(ctx, pos, &o.snapshot, group)
	if err != nil {
		return none, err
	}
	one, _ := by.For(group)
	return one, nil
}

// guard holds a run that commits to the guard rails of the cluster.
func (o *consumeOptions) guard(ses *cli.Session, cfg *consume.Config) error {
	g := ses.Settings.Guards(ses.Cluster.ID)
	id := ses.Cluster.ID
	switch {
	case g.Expected != "" && g.Expected != id:
		return cli.Faultf(offset.KindRefused, "the profile connects to a different cluster than it was made for; nothing was read",
			"this is cluster %s, %s says %s", id, g.ExpectedBy, g.Expected)
	case g.ReadOnly:
		return cli.Faultf(offset.KindRefused, "read without commits: leave checkpoints and --auto-commit out, or add --commit-on-checkpoint=false", "cluster %s is read_only (%s), and this run would commit", id, g.ReadOnlyBy)
	case o.confirm != "" && o.confirm != id:
		return cli.Faultf(offset.KindRefused, "", "--confirm is %s, this is cluster %s; nothing was read", o.confirm, id)
	case g.ConfirmClusterID && o.confirm == "":
		return cli.Faultf(offset.KindRefused, "add --confirm "+id, "commits to cluster %s must be confirmed by its id (%s)", id, g.ConfirmBy)
	}
	if p, ok := g.Protects(cfg.Group); ok {
		return cli.Faultf(offset.KindRefused, "use another group, or read without commits", "group %s is protected by %q (%s)", offset.NameText(cfg.Group), p.Pattern, p.By)
	}
	if ses.Settings.StateDir == "" {
		return cli.Faultf(offset.KindRefused, "name a folder with --state-dir", "the undo journal has no folder, and this run would commit")
	}
	if g.MaxSkip != nil && (cfg.Policies.MaxSkip == nil || *g.MaxSkip < *cfg.Policies.MaxSkip) {
		cfg.Policies.MaxSkip = g.MaxSkip
	}
	return nil
}

// guardPlan holds a run that commits to the profile's limits. Without a commit nobody can tell where the group's readers
// stood, at either end of the log: a first commit counts as in every other command that writes. A run that continues from a
// checkpoint says where it stood.
func (o *consumeOptions) guardPlan(ses *cli.Session, p *consume.Plan) error {
	g := ses.Settings.Guards(ses.Cluster.ID)
	if p.Committer == consume.CommitsNever {
		return nil
	}
	t := p.Totals()
	again, over, first := t.ReadAgain, t.PassedOver, 0
	for _, r := range p.Rows {
		if r.Skip || p.Restored != nil || r.Committed != nil && r.Committed.Offset >= 0 {
			continue
		}
		first++
		again += max(0, r.Bounds.End-r.Start)
		over += max(0, r.Start-r.Bounds.Start)
	}
	why := ""
	if first > 0 {
		why = fmt.Sprintf("; %s had no commit, and a reader without one may start at either end of the log", text.Plural(first, "partition"))
	}
	for _, l := range []struct {
		name, what, hint string
		limit            *int64
		by               any
		most             int64
	}{
		{"max_rewind", "read again and committed", "choose a later start, or read without commits", g.MaxRewind, g.MaxRewindBy, again},
		{"max_skip", "skipped", "choose an earlier start, or read without commits", g.MaxSkip, g.MaxSkipBy, over},
	} {
		if l.limit != nil && l.most > *l.limit {
			return cli.Faultf(offset.KindRefused, l.hint, "up to %s records would be %s, %s is %s (%s)%s",
				text.Count(l.most), l.what, l.name, text.Count(*l.limit), l.by, why)
		}
	}
	return nil
}

// tuneCollector lets garbage pile up further than by default, since records are short-lived and a collection after every
// few responses costs a fifth of the throughput; the limit keeps the pile from growing with what responses decompress to
// (measured on 1.5 GB of zeros in 100 KB: 1.7 GB without it). GOGC and GOMEMLIMIT win.
func (o *consumeOptions) tuneCollector() {
	if o.app.Env("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if o.app.Env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(512 << 20)
	}
}

// serve answers metrics and health until stop is called.
func (o *consumeOptions) serve(addr string, e *consume.Engine) (stop func(), err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, cli.Usagef("write HOST:PORT, such as 127.0.0.1:9404 or :0", "--metrics-listen %q: %w", addr, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, cli.Usagef("choose another port", "--metrics-listen: %w", err)
	}
	srv := cli.MetricsServer(e.Handler())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // always an error, when it is closed
	}()
	o.app.Streams.Note("metrics at http://%s/metrics, health at /healthz", l.Addr())
	return func() { _ = srv.Close(); <-done }, nil
}

// progress shows rate, lag, time to the end and the last checkpoint on a terminal.
func (o *consumeOptions) progress(e *consume.Engine) (stop func()) {
	p := o.app.Streams.Progress("consuming")
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(500 * time.Millisecond)
		defer t.Stop()
		last := e.Stats()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				s := e.Stats()
				p.Say(progressLine(last, s))
				last = s
			}
		}
	}()
	return func() { close(done); <-ended; p.Stop() }
}

func progressLine(last, s consume.Stats) string {
	var b strings.Builder
	span := s.At.Sub(last.At).Seconds()
	rate := 0.0
	if span > 0 {
		rate = float64(s.Records-last.Records) / span
	}
	fmt.Fprintf(&b, "%s records, %s/s", text.Count(s.Records), text.Count(int64(rate)))
	if span > 0 {
		fmt.Fprintf(&b, ", %s/s", text.Bytes(int64(float64(s.Bytes-last.Bytes)/span)))
	}
	pending, known := s.Pending()
	bounded := len(s.Partitions) > 0
	for _, p := range s.Partitions {
		bounded = bounded && p.End != nil
	}
	if bounded {
		fmt.Fprintf(&b, ", %s to go", text.Count(pending))
		if rate > 0 {
			fmt.Fprintf(&b, " (%s)", text.Duration(time.Duration(float64(pending)/rate*float64(time.Second))))
		}
	} else if known {
		fmt.Fprintf(&b, ", lag %s", text.Count(pending))
	} else {
		b.WriteString(", lag not known: a broker does not answer")
	}
	if k := s.Checkpoints; k.On && !k.LastAt.IsZero() {
		fmt.Fprintf(&b, ", chk-%d %s ago", k.LastID, text.Duration(s.At.Sub(k.LastAt).Round(time.Second)))
	}
	return b.String()
}
