package read

// What consume says before and after: the plan, the explanation of the settings, the summary.

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/consumeconf"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
)

// asides are streams whose data goes where notes go: records have standard output for themselves.
func asides(a *cli.App) *render.Streams {
	s := a.Streams
	return &render.Streams{Out: s.Err, Err: s.Err, OutTTY: s.ErrTTY, ErrTTY: s.ErrTTY, Width: s.Width, Env: s.Env}
}

// shows says that the plan's table is printed.
func (o *consumeOptions) shows() bool { return !o.quiet || o.dryRun }

// show prints where every partition starts and ends, and everything that should be known before the first record.
func (o *consumeOptions) show(p *consume.Plan, cfg consume.Config, r *consumeconf.Resolved) {
	if o.shows() {
		o.table(p)
	}
	st := o.app.Streams
	for _, n := range p.Notices {
		o.notice(n)
	}
	if o.quiet {
		return
	}
	t := p.Totals()
	line := fmt.Sprintf("%s on %s", text.Plural(t.Backlog, "offset"), text.Plural(len(p.Rows), "partition"))
	if t.Bytes != nil {
		line += ", about " + text.Bytes(*t.Bytes)
	}
	if d, ok := p.CatchUp(cfg.Rate); ok {
		line += fmt.Sprintf(": at %s at most %s", cfg.Rate, text.Duration(d))
	}
	st.Note("to read: at most %s", line)
	if key := committerKey(cfg, p); key != "" {
		v := r.Get(key)
		switch {
		case key != consumeconf.AutoCommit:
			st.Note("commits are decided by %s (%s)", key, v.Source)
		case v.Text == "true":
			st.Note("auto-commit is on (%s)", v.Source)
		default:
			st.Note("auto-commit is off (%s)", v.Source)
		}
	}
	if cfg.Join == nil && cfg.End.Until == nil && len(cfg.End.Ranges) == 0 && cfg.Discovery >= 0 {
		every := cfg.Discovery
		if every == 0 {
			every = 5 * time.Minute
		}
		st.Note("checking for new partitions every %s; they are read from their log start", text.Duration(every))
	}
	info := cfg.Sink.Info()
	switch {
	case info.ExactlyOnce && cfg.Checkpoints.Dir != "" && !cfg.Checkpoints.AtLeastOnce:
		st.Note("exactly once: a restore cuts the %s in %s back to the checkpoint", info.Kind, info.Location)
	case info.ExactlyOnce && cfg.Checkpoints.AtLeastOnce:
		st.Note("at least once: a restore leaves %s %s as it is", info.Kind, info.Location)
	case info.ExactlyOnce:
		st.Note("if interrupted, start over; --checkpoint-dir DIR --checkpoint-interval 1m makes the run resumable")
	}
}

// committerKey is the setting that decides who commits.
func committerKey(cfg consume.Config, p *consume.Plan) string {
	switch {
	case cfg.Group == "" || cfg.Join != nil:
		return ""
	case p.Committer == consume.CommitsOnCheckpoint:
		return consumeconf.ChkInterval
	case cfg.Checkpoints.Interval > 0:
		return consumeconf.CommitChk
	}
	return consumeconf.AutoCommit
}

func (o *consumeOptions) table(p *consume.Plan) {
	st := asides(o.app)
	if o.dryRun {
		st = o.app.Streams
	}
	w := render.NewWriter(st, render.Table, render.Meta{Kind: "consume-plan", ClusterID: p.Cluster.ID, GeneratedAt: o.app.Now()})
	w.Begin(render.Sheet{Name: "partitions", Row: "partition", NoWide: true, Columns: []render.Column{
		{Header: "TOPIC", Key: "topic"}, {Header: "PARTITION", Key: "partition", Right: true},
		{Header: "START", Key: "start_offset", Right: true}, {Header: "HOW", Key: "how"},
		{Header: "END", Key: "end_offset", Right: true, HideEmpty: true}, {Header: "BACKLOG", Key: "backlog", Right: true},
		{Header: "FIRST-RECORD", Key: "first_record", HideEmpty: true}, {Header: "COMMITTED", Key: "committed_offset", Right: true, HideEmpty: true},
		{Header: "PASSED-OVER", Key: "passed_over", Right: true, HideEmpty: true}, {Header: "READ-AGAIN", Key: "read_again", Right: true, HideEmpty: true},
		{Header: "DETAIL", Key: "detail", HideEmpty: true},
	}})
	some := func(n int64) render.Cell {
		if n == 0 {
			return render.None()
		}
		return render.Int(n)
	}
	for _, r := range p.Rows {
		committed := render.None()
		if r.Committed != nil {
			committed = render.Int(r.Committed.Offset)
		}
		start, first := render.Int(r.Start), render.None()
		if r.Skip {
			start = render.None()
		}
		if !r.First.IsZero() {
			first = render.Time(r.First)
		}
		var detail []string
		for _, d := range []string{r.Detail, r.EndDetail} {
			if d != "" {
				detail = append(detail, d)
			}
		}
		w.Row(render.String(r.Topic), render.Int32(r.Partition.Partition), start, render.String(string(r.Reason)), render.IntPtr(r.End),
			render.Int(r.Backlog), first, committed, some(r.PassedOver), some(r.ReadAgain), render.Text(strings.Join(detail, "; ")))
	}
	_ = w.Close(render.End{}) // an error of stderr has nowhere to go; one of stdout is kept by the streams
	_ = st.Flush()
}

// explained prints every setting that counts with its source, and the check list.
func (o *consumeOptions) explained(s *conn.Settings, r *consumeconf.Resolved, run consumeconf.Run) error {
	format := render.Table
	switch o.output {
	case "", "text":
	case "wide":
		format = render.Wide
	case "json":
		format = render.JSON
	case "jsonl":
		format = render.JSONL
	default:
		return cli.Usagef("use text, wide, json or jsonl", "--explain -o %q is not one of its values", o.output)
	}
	w := render.NewWriter(o.app.Streams, format, render.Meta{Kind: "consume-explain", GeneratedAt: o.app.Now()})
	w.Begin(render.Sheet{Name: "settings", Row: "setting", Columns: []render.Column{
		{Header: "SETTING", Key: "setting"}, {Header: "VALUE", Key: "value"}, {Header: "SOURCE", Key: "source"}, {Header: "MEANS", Key: "means"}}})
	for _, row := range r.Explain(run) {
		w.Row(render.String(row.Key), render.Text(row.Value), render.String(row.Source), render.String(row.Meaning))
	}
	for _, row := range s.Rows() { // those of the connection that change what is printed
		if strings.HasPrefix(row.Key, "schema_registry.") {
			w.Row(render.String(row.Key), render.Text(row.Value), render.String(row.Source.String()), render.String("decodes for -o jsonl"))
		}
	}
	w.Begin(render.Sheet{Name: "checks", Row: "check", Columns: []render.Column{
		{Header: "CHECK", Key: "check"}, {Header: "OK", Key: "ok"}, {Header: "DETAIL", Key: "detail"}}})
	for _, c := range r.Checks(run) {
		ok := render.Bool(c.OK)
		if format == render.Table {
			ok = render.String("yes").Styled(render.Good)
			if !c.OK {
				ok = render.String("NO").Styled(render.Warn)
			}
		}
		w.Row(render.String(c.Name), ok, render.String(c.Detail))
	}
	if err := w.Close(render.End{}); err != nil {
		return err
	}
	// What could not run is said after it was explained.
	cfg := run.Config
	cfg.Sink = consume.SinkFunc(nil)
	return consumeFault(cfg.CheckSettings())
}

// summary says how the run ended and what was kept.
func (o *consumeOptions) summary(s consume.Summary, err error, committer consume.Committer) {
	o.journalEnd(s, err)
	st := o.app.Streams
	gone := render.IsBrokenPipe(err)
	if gone {
		st.Note("%s", readerGone(s, err, committer))
	}
	if !o.quiet && s.Ended != "" && !gone {
		line := fmt.Sprintf("%s: %s, %s", s.Ended, text.Plural(s.Stats.Records, "record"), text.Bytes(s.Stats.Bytes))
		if d := s.Stats.At.Sub(s.Stats.Started); !s.Stats.Started.IsZero() && d > 0 {
			line += fmt.Sprintf(" in %s (%s records/s)", text.Duration(d), text.Count(int64(float64(s.Stats.Records)/d.Seconds())))
		}
		if k := s.Stats.Checkpoints; k.On {
			line += fmt.Sprintf("; %s", text.Plural(k.Completed, "checkpoint"))
			if k.Failed > 0 {
				line += fmt.Sprintf(", %d failed", k.Failed)
			}
		}
		if n := s.Stats.CommitsSucceeded + s.Stats.CommitsFailed; n > 0 {
			line += "; " + text.Plural(s.Stats.CommitsSucceeded, "commit")
			if s.Stats.CommitsFailed > 0 {
				line += fmt.Sprintf(", %d failed", s.Stats.CommitsFailed)
			}
		}
		st.Note("%s", line)
	}
	switch {
	case s.Kept != "":
		// Said even when quiet: it is where to go on from.
		st.Note("checkpoint kept: %s (%s); continue with --restore latest", s.Kept, s.KeptWhy)
	case s.KeptWhy != "" && !o.quiet:
		st.Note("no checkpoint kept: %s", s.KeptWhy)
	}
}

// readerGone says how far a run came whose standard output was closed by its reader, which ends it and is no failure.
func readerGone(s consume.Summary, err error, committer consume.Committer) string {
	n := s.Stats.Records
	if part := new(sink.PartError); errors.As(err, &part) {
		n += int64(part.Records)
	}
	line := "the reader of standard output went away: stopped before a whole record was written"
	if n > 0 {
		line = fmt.Sprintf("the reader of standard output went away: stopped after %s, how many of them it read is not known", text.Plural(n, "written record"))
	}
	switch on := s.Stats.Checkpoints.On; {
	case on && committer != consume.CommitsNever:
		return line + "; no last checkpoint or commit"
	case on:
		return line + "; no last checkpoint"
	case committer != consume.CommitsNever:
		return line + "; no last commit"
	}
	return line
}
