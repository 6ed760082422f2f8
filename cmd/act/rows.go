package act

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// autoImpact is how many changed rows get their impact without being asked for: two records are read for each.
const autoImpact = 200

// impactTimeout bounds what is only a courtesy.
const impactTimeout = 5 * time.Second

// MayReadImpact says that the command may read records for a plan of a group or a few.
func (w *Flags) MayReadImpact() bool {
	if w.impactSet {
		return w.impact
	}
	return w.Format != render.KafkaCSV
}

func (w *Run) readImpact(ctx context.Context, sum reset.Summary) {
	want := w.Flags.impact
	if !w.Flags.impactSet {
		want = sum.Changed > 0 && sum.Changed <= autoImpact && w.Flags.Format != render.KafkaCSV && w.Built.Plan.Verb == "reset"
	}
	if !want || sum.Refused > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(impactTimeout, w.S.Settings.Timeout))
	defer cancel()
	var err error
	if w.impacts, err = reset.Impacts(ctx, w.S.Client, w.Built); err != nil && (w.Flags.impact || w.App.Global.Verbose) {
		w.App.Streams.Note("the impact is not complete: %v", err)
	}
}

func (w *Run) columns(executed bool) []render.Column {
	return []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "CURRENT-OFFSET", Key: "from_offset", Right: true},
		{Header: "NEW-OFFSET", Key: "to_offset", Right: true},
		{Header: "DELTA", Key: "delta", Right: true},
		{Header: "HOW", Key: "how"},
		{Header: "LOG-START-OFFSET", Key: "log_start_offset", Right: true, Wide: true},
		{Header: "LOG-END-OFFSET", Key: "log_end_offset", Right: true, Wide: true},
		{Header: "CURRENT-EPOCH", Key: "from_leader_epoch", Right: true, Wide: true},
		{Header: "NEW-EPOCH", Key: "to_leader_epoch", Right: true, Wide: true},
		{Header: "CURRENT-METADATA", Key: "from_metadata", Wide: true},
		{Header: "NEW-METADATA", Key: "to_metadata", Wide: true},
		{Header: "CURRENT-TIME", Key: "from_timestamp", HideEmpty: true, Wide: true},
		{Header: "NEW-TIME", Key: "to_timestamp", HideEmpty: true},
		{Header: "BYTES-AGAIN", Key: "reread_bytes", Right: true, HideEmpty: true, Wide: true},
		{Header: "EXPIRES", Key: "expires_at", HideEmpty: true, Wide: true},
		{Header: "PROOF", Key: "proof", HideEmpty: true},
		{Header: "DETAIL", Key: "detail", HideEmpty: true},
		{Header: "RESULT", Key: "result", NoTable: !executed},
		{Header: "ERROR", Key: "error", HideEmpty: true, NoTable: !executed},
	}
}

// print shows the plan, or with a result what became of it. In a table a result shows the rows that went wrong alone: the
// plan stands above them already.
func (w *Run) print(res *reset.Result, incomplete bool) error {
	if w.Flags.Format == render.KafkaCSV {
		return w.kafkaCSV(res)
	}
	doc := render.NewWriter(w.App.Streams, w.Flags.Format, w.meta(res))
	sheet := render.Sheet{Name: "changes", Row: "change", Columns: w.columns(res != nil)}
	if res != nil && w.Flags.Format.IsTable() {
		sheet.Title = "Not as planned:"
	}
	if res == nil {
		doc.Begin(sheet)
		for _, c := range w.Built.Plan.Changes {
			doc.Row(w.cells(reset.Row{Change: c, Outcome: planned(c)})...)
		}
		w.groupTable(doc, nil)
		return doc.Close(render.End{Incomplete: incomplete, Fields: w.end(nil)})
	}
	table := w.Flags.Format.IsTable()
	if !table || slices.ContainsFunc(res.Rows, func(r reset.Row) bool { return !good(r.Outcome) }) {
		doc.Begin(sheet)
		for _, r := range res.Rows {
			if !table || !good(r.Outcome) {
				doc.Row(w.cells(r)...)
			}
		}
	}
	w.groupTable(doc, res)
	return doc.Close(render.End{Incomplete: incomplete, Fields: w.end(res)})
}

func good(o reset.Outcome) bool {
	return o == reset.OutcomeChanged || o == reset.OutcomeUnchanged || o == reset.OutcomeLeft
}

func planned(c reset.Change) reset.Outcome {
	switch c.Action {
	case checkpointfile.ActionNone:
		return reset.OutcomeUnchanged
	case checkpointfile.ActionLeave:
		return reset.OutcomeLeft
	case checkpointfile.ActionRefuse:
		return reset.OutcomeRefused
	}
	return reset.OutcomePlanned
}

func (w *Run) meta(res *reset.Result) render.Meta {
	p := w.Built.Plan
	profile := render.Text(w.S.Settings.Profile)
	undo := render.None()
	if res != nil {
		undo = render.Text(res.UndoID)
	}
	return w.S.Meta(p.Verb, render.F("profile", profile), render.F("brokers", render.Strings(w.S.Settings.Brokers)),
		render.F("plan_id", render.String(p.ID())), render.F("plan_digest", render.String(p.Digest)), render.F("undo_id", undo),
		render.F("undoes", render.Text(p.Undoes)), render.F("isolation", render.String(p.Isolation.String())), render.F("executed", render.Bool(res != nil)))
}

// end is the end of the document: the sums, and the groups that were left out.
func (w *Run) end(res *reset.Result) []render.Field {
	sum := reset.Summarize(w.Built.Plan)
	changed, unchanged, refused := sum.Changed, sum.Unchanged, sum.Refused
	failed := w.Built.Failed
	if res != nil {
		changed, unchanged = res.Count(reset.OutcomeChanged), res.Count(reset.OutcomeUnchanged)
		refused = res.Count(reset.OutcomeRefused, reset.OutcomeFailed)
		failed = append(append([]*reset.GroupError{}, failed...), res.Failed...)
	}
	var groups []render.Cell
	for _, g := range failed {
		groups = append(groups, render.Object(render.F("group", render.String(g.Group)), render.F("error", render.String(groupText(g.Err)))))
	}
	return []render.Field{
		render.F("summary", render.Object(
			render.F("changed", render.Int(int64(changed))), render.F("unchanged", render.Int(int64(unchanged))),
			render.F("refused", render.Int(int64(refused))), render.F("left", render.Int(int64(sum.Left))),
			render.F("rereads", amount(sum, sum.MaxRereads)), render.F("skips", amount(sum, sum.MaxSkips)),
			render.F("no_commit", render.Int(int64(sum.NoCommit))), render.F("uncounted", render.Int(int64(sum.Uncounted))))),
		render.F("failed_groups", render.List(groups...)),
		w.groupField(res), render.F("groups_without_commits", render.Strings(w.Built.Without)),
	}
}

func (w *Run) cells(r reset.Row) []render.Cell {
	n := render.None()
	from, to, delta := n, n, n
	fromEpoch, toEpoch, fromMeta, toMeta := n, n, n, n
	if r.From != nil {
		from, fromEpoch, fromMeta = render.Int(r.From.Offset), epochCell(r.From.LeaderEpoch), render.String(r.From.Metadata)
	}
	if r.To != nil {
		to, toEpoch, toMeta = render.Int(r.To.Offset), epochCell(r.To.LeaderEpoch), render.String(r.To.Metadata)
		if r.From != nil && r.From.Offset >= 0 {
			delta = render.Int(r.To.Offset - r.From.Offset)
		}
	}
	how := render.String(string(r.How))
	detail := r.Detail
	switch {
	case r.Action == checkpointfile.ActionRefuse:
		how, detail = how.Styled(render.Bad), r.Error
	case r.Action == checkpointfile.ActionLeave, r.Asked != nil, r.How.None():
		how = how.Styled(render.Warn)
	}
	result := render.String(string(r.Outcome))
	if !good(r.Outcome) && r.Outcome != reset.OutcomePlanned {
		result = result.Styled(render.Bad)
	}
	failure := n
	switch {
	case r.Err != nil:
		failure = render.String(rowText(r))
	case r.Action == checkpointfile.ActionRefuse:
		failure = render.String(r.Error)
	}
	i := w.impacts[r.Key()]
	return []render.Cell{render.Name(r.Group), render.String(r.Topic), render.Int32(r.Partition.Partition), from, to, delta, how,
		render.IntPtr(r.LogStart), render.IntPtr(r.LogEnd), fromEpoch, toEpoch, fromMeta, toMeta,
		render.Time(i.FromTime), render.Time(i.ToTime), render.IntPtr(i.Bytes), render.Time(i.Expires),
		render.Text(r.Proof), render.Text(detail), result, failure}
}

// rowText leaves out what the row's own columns say.
func rowText(r reset.Row) string { return groupText(r.Err) }

func epochCell(e offset.LeaderEpoch) render.Cell {
	if n, ok := e.Get(); ok {
		return render.Int32(n)
	}
	return render.None()
}

// kafkaCSV writes the plan as Kafka's own tool exports it, or with a result what is stored now: three columns for one
// group, four for several.
func (w *Run) kafkaCSV(res *reset.Result) error {
	changes := w.Built.Plan.Changes
	if res != nil {
		changes = nil
		for _, r := range res.Rows {
			if good(r.Outcome) {
				changes = append(changes, r.Change)
			}
		}
	}
	var rows []checkpointfile.CSVRow
	for _, c := range changes {
		if c.To != nil {
			rows = append(rows, checkpointfile.CSVRow{Group: c.Group, Partition: c.Partition, Offset: c.To.Offset})
		}
	}
	if err := checkpointfile.WriteKafkaCSV(w.App.Streams.Out, rows, w.Wide); err != nil {
		return err
	}
	return w.App.Streams.Flush() // as the other forms: what could not be written is known before anything more is said
}

// head says what is about to be shown: which plan, on which cluster, and what in words.
func (w *Run) head(sum reset.Summary) {
	p := w.Built.Plan
	where := "cluster " + w.S.Cluster.ID
	if w.S.Settings.Profile != "" {
		where += ", profile " + w.S.Settings.Profile
	}
	where += ", " + strings.Join(w.S.Settings.Brokers, ",")
	w.App.Streams.Note("plan %s on %s: %s", p.ID(), where, w.summary(sum))
	w.notes()
}

// notes says what is to be known about the groups; of many with the same note one is named.
func (w *Run) notes() {
	w.App.SayOrigin(w.Built.Said)
	count := map[reset.NoteKind]int{}
	for _, n := range w.Built.Notes {
		count[n.Kind]++
	}
	said := map[reset.NoteKind]bool{}
	for _, n := range w.Built.Notes {
		if n.Several {
			if n.Kind == reset.NoteHidden {
				w.App.Streams.Warn("%s", n.Text)
			} else {
				w.App.Streams.Note("%s", n.Text)
			}
			continue
		}
		who := "group " + offset.NameText(n.Group)
		line := who + ": " + n.Text
		if more := count[n.Kind] - 1; more > 2 && !w.App.Global.Verbose {
			if said[n.Kind] {
				continue
			}
			said[n.Kind] = true
			line += fmt.Sprintf("; the same goes for %s", text.More(more, "group"))
		}
		switch n.Kind {
		case reset.NoteActive:
			if !w.Flags.Execute {
				w.App.Streams.Warn("%s", line)
			}
		case reset.NotePastStable, reset.NoteStreams, reset.NoteGone:
			w.App.Streams.Warn("%s", line)
		default:
			w.App.Streams.Note("%s", line)
		}
	}
}

// said sums up what was executed, and how to undo it.
func (w *Run) said(res *reset.Result) {
	if res.JournalErr != nil {
		w.App.Streams.Warn("%v: the before-image is safe, the outcomes are not in it", res.JournalErr)
	}
	if res.SettleErr != nil {
		w.App.Streams.Warn("the watch was cut short: %v", res.SettleErr)
	}
	changed := res.Count(reset.OutcomeChanged)
	line := fmt.Sprintf("%s changed and read back", text.Plural(changed, "partition"))
	switch {
	case w.removes():
		line = deleted(res.Groups)
	case w.keeps():
		line = fmt.Sprintf("%s stored again and read back", text.Plural(changed, "commit"))
	}
	for _, o := range []reset.Outcome{reset.OutcomeRefused, reset.OutcomeFailed, reset.OutcomeUnverified, reset.OutcomeDiffers, reset.OutcomeOverwritten, reset.OutcomeUnknown} {
		if n := res.Count(o); n > 0 {
			word := string(o)
			if o == reset.OutcomeDiffers && n > 1 {
				word = "differ"
			}
			line += fmt.Sprintf("; %s %s", text.Count(n), word)
		}
	}
	if n := res.Count(reset.OutcomeUnchanged); n > 0 {
		line += fmt.Sprintf("; %s as requested already", text.Count(n))
	}
	w.App.Streams.Note("%s", line)
	if w.keeps() {
		return // nothing moved: there is nothing to go back to
	}
	if res.UndoID != "" && (changed > 0 || res.Count(reset.OutcomeUnknown, reset.OutcomeUnverified) > 0) {
		way := []string{"undo", res.UndoID}
		if w.wasOutside() {
			way = append(way, "--exact")
		}
		w.App.Streams.Note("to undo: %s", w.App.Again(append(way, "--execute")...))
	}
}

// wasOutside says that the plan moves a commit away from outside the log, as a repair does: undo puts such a value back only where it
// is told to.
func (w *Run) wasOutside() bool {
	return slices.ContainsFunc(w.Built.Plan.Changes, func(c checkpointfile.Change) bool {
		return c.Changes() && c.From != nil && c.LogStart != nil && c.LogEnd != nil && (c.From.Offset < *c.LogStart || c.From.Offset > *c.LogEnd)
	})
}

func (w *Run) groupNames() []string {
	var out []string
	for _, g := range w.Built.Plan.Groups {
		out = append(out, g.Name)
	}
	return out
}
