package state

// The rows of a rewrite: what is in scope, where it is to stand, and how it is shown.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// rewriteRow is one partition of one source.
type rewriteRow struct {
	flink.Partition
	source  *flink.Source
	bounds  *offset.Bounds
	target  offset.Target
	refusal *offset.Refusal
	// named says that the partition itself was asked for, and not only its source or topic.
	named bool
}

func (r *rewriteRow) at() offset.Partition {
	return offset.Partition{Topic: r.Topic, Partition: r.Partition.Partition}
}

func (r *rewriteRow) changes() bool {
	return r.refusal == nil && !r.target.Leave && (r.Next == nil || *r.Next != r.target.Offset)
}

// rows are the partitions in scope with their targets.
func (o *rewriteOptions) rows(ctx context.Context, s *cli.Session, snap *checkpointfile.Snapshot) ([]rewriteRow, error) {
	sources, err := o.snap.ChooseSources(snap)
	if err != nil {
		return nil, err
	}
	if err := cli.OneCluster(sources); err != nil {
		return nil, err
	}
	if err := s.ReadPast(ctx, o.position); err != nil {
		return nil, err
	}
	ctx, cancel := s.Phase(ctx, "read the log")
	defer cancel()
	all, err := s.LoadSaved(ctx, o.position, &o.snap)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	saved, err := o.app.PickSaved(all, o.position, "", false)
	if err != nil {
		return nil, err
	}
	var named map[offset.Partition]offset.Foreign
	if saved != nil {
		named = saved.Offsets
	}
	rows, err := o.inScope(sources, named)
	if err != nil {
		return nil, err
	}
	q := inspect.GatherQuery{Position: o.position, Isolation: o.rules.Isolation, Saved: saved, ClusterID: s.Cluster.ID, AllowOrigin: o.origin.Allow}
	for i := range rows {
		q.Parts = append(q.Parts, rows[i].at())
	}
	facts, err := inspect.Gather(ctx, s.Client, q)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	o.app.SayOrigin(facts.Said)
	for i := range rows {
		rows[i].resolve(facts, o.position, o.rules)
	}
	return rows, nil
}

// resolve finds a row's target. What a commit is to a group, the stored position is to a source.
func (r *rewriteRow) resolve(facts *inspect.Facts, pos offset.Position, rules offset.Rules) {
	f := facts.Of(r.at())
	r.bounds = f.Bounds
	if r.Next != nil {
		f.Committed = &offset.Committed{Offset: *r.Next}
	}
	if len(r.Spans) == 0 && r.State == flink.FinishedOrLost && !r.named {
		r.target = offset.Target{Leave: true, Reason: offset.ReasonNoCommit, Detail: "no reader holds it: finished, or lost by its connector; it stays as it is"}
		return
	}
	if len(r.Spans) == 0 {
		r.refusal = &offset.Refusal{Reason: offset.ReasonNoCommit, Detail: fmt.Sprintf("%s: the snapshot holds no position that could be changed (%s)", r.at(), r.State),
			Hint: "choose the other partitions with --topic TOPIC:0,2-5"}
		return
	}
	var err error
	if r.target, err = offset.Resolve(r.at(), pos, f, rules); err != nil {
		_ = errors.As(err, &r.refusal) // always one
	}
}

// inScope are the partitions of the sources that the flags, or the position itself, choose. A partition that was named and
// that no source has is refused: the job would not read it from there.
func (o *rewriteOptions) inScope(sources []flink.Source, foreign map[offset.Partition]offset.Foreign) ([]rewriteRow, error) {
	asked := o.asked()
	literal := len(o.scope.Specs) > 0
	var rows []rewriteRow
	for i := range sources {
		for _, p := range sources[i].Partitions {
			r := rewriteRow{Partition: p, source: &sources[i]}
			_, byName := asked.parts[r.at()]
			_, byTopic := asked.topics[p.Topic]
			_, own := foreign[r.at()]
			r.named = byName
			switch {
			case o.position.Kind == offset.ByPartition && !byName:
				continue
			case literal && !byName && !byTopic:
				continue
			case !literal && !o.scope.Matcher.Match(p.Topic):
				continue
			case foreign != nil && !own && !literal:
				continue // what the position does not name stays
			}
			if byName {
				asked.parts[r.at()] = true
			}
			if byTopic {
				asked.topics[p.Topic] = true
			}
			rows = append(rows, r)
		}
	}
	if missing := asked.missing(); len(missing) > 0 {
		return nil, cli.Faultf(offset.KindRefused, "a partition that a snapshot does not hold starts at the log start, or as the job's start mode says; koffset checkpoint show lists what it holds",
			"the snapshot does not hold %s", missing[0]+more(len(missing)-1))
	}
	if len(rows) == 0 {
		return nil, cli.Faultf(offset.KindNotFound, "koffset checkpoint show lists what the snapshot holds", "nothing in scope")
	}
	return rows, nil
}

// askedFor is what was named on the command line, and whether it was found.
type askedFor struct {
	parts  map[offset.Partition]bool
	topics map[string]bool
}

func (o *rewriteOptions) asked() askedFor {
	a := askedFor{map[offset.Partition]bool{}, map[string]bool{}}
	for _, spec := range o.scope.Specs {
		for _, n := range spec.Partitions {
			a.parts[offset.Partition{Topic: spec.Topic, Partition: n}] = false
		}
		if len(spec.Partitions) == 0 {
			a.topics[spec.Topic] = false
		}
	}
	for p := range o.position.Map {
		a.parts[p] = false
	}
	return a
}

func (a askedFor) missing() []string {
	var out []string
	for p, found := range a.parts {
		if !found {
			out = append(out, p.String())
		}
	}
	for t, found := range a.topics {
		if !found {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// rewriteSummary counts what a plan does. Differences of offsets are at most that many records.
type rewriteSummary struct{ changed, unchanged, refused, left, rereads, skips int64 }

func summaryOf(rows []rewriteRow) (s rewriteSummary) {
	for i := range rows {
		r := &rows[i]
		switch {
		case r.refusal != nil:
			s.refused++
		case r.target.Leave:
			s.left++
		case !r.changes():
			s.unchanged++
		default:
			s.changed++
			if r.Next == nil || r.bounds == nil {
				continue
			}
			// Offsets that retention removed cannot be skipped, and those past the end cannot have been read.
			from := min(max(*r.Next, r.bounds.Start), r.bounds.End)
			s.rereads += max(0, from-r.target.Offset)
			s.skips += max(0, r.target.Offset-from)
		}
	}
	return s
}

func (s rewriteSummary) text(n int) string {
	return fmt.Sprintf("%s: at most %s records are read again, at most %s are skipped", cli.Partitions(n, "changes", "change"), text.Count(s.rereads), text.Count(s.skips))
}

// print shows the plan, or what was written: the positions that the copy was read back with.
func (o *rewriteOptions) print(s *cli.Session, snap *checkpointfile.Snapshot, rows []rewriteRow, done *flink.Written) error {
	sum := summaryOf(rows)
	w := render.NewWriter(o.app.Streams, o.format, s.Meta("checkpoint-rewrite", render.F("position", render.String(o.position.String())),
		render.F("isolation", render.String(o.rules.Isolation.String())), render.F("out", render.String(o.app.Path(o.to))),
		render.F("executed", render.Bool(done != nil)), render.F("snapshot", snapshotCell(snap))))
	sheet := render.Sheet{Name: "changes", Row: "change", Columns: []render.Column{
		{Header: "SOURCE", Key: "source", Keep: true},
		{Header: "OPERATOR-ID", Key: "operator_id", Wide: true},
		{Header: "UID", Key: "uid", NoTable: true},
		{Header: "CLUSTER", Key: "cluster", HideEmpty: true},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "CURRENT-OFFSET", Key: "from_offset", Right: true},
		{Key: "from_marker", NoTable: true},
		{Header: "NEW-OFFSET", Key: "to_offset", Right: true},
		{Header: "DELTA", Key: "delta", Right: true},
		{Header: "HOW", Key: "how"},
		{Header: "LOG-START-OFFSET", Key: "log_start_offset", Right: true, Wide: true},
		{Header: "LOG-END-OFFSET", Key: "log_end_offset", Right: true, Wide: true},
		{Header: "DETAIL", Key: "detail", HideEmpty: true},
		{Header: "RESULT", Key: "result", NoTable: done == nil},
		{Header: "ERROR", Key: "error", NoTable: true},
	}}
	if done != nil && o.format.IsTable() {
		sheet.Title = "Written:"
	}
	w.Begin(sheet)
	for i := range rows {
		if done == nil || !o.format.IsTable() || rows[i].changes() {
			w.Row(o.cells(&rows[i], done)...)
		}
	}
	summary := render.Object(render.F("changed", render.Int(sum.changed)), render.F("unchanged", render.Int(sum.unchanged)), render.F("refused", render.Int(sum.refused)),
		render.F("left", render.Int(sum.left)), render.F("rereads", render.Int(sum.rereads)), render.F("skips", render.Int(sum.skips)))
	return w.Close(render.End{Fields: []render.Field{render.F("summary", summary)}})
}

func (o *rewriteOptions) cells(r *rewriteRow, done *flink.Written) []render.Cell {
	none := render.None()
	from, to, delta, start, end, failure := render.IntPtr(r.Next), none, none, none, none, none
	how, detail, result := render.String(string(r.target.Reason)), r.target.Detail, "planned"
	if r.bounds != nil {
		start, end = render.Int(r.bounds.Start), render.Int(r.bounds.End)
	}
	switch {
	case r.refusal != nil:
		how, detail, result = render.String(string(r.refusal.Reason)).Styled(render.Bad), strings.TrimPrefix(r.refusal.Detail, r.at().String()+": "), "refused"
		failure = render.String(detail)
	case r.target.Leave:
		how, result = how.Styled(render.Warn), "left"
	default:
		to = render.Int(r.target.Offset)
		if r.Next != nil {
			delta = render.Int(r.target.Offset - *r.Next)
		}
		if !r.changes() {
			result = "unchanged"
		}
	}
	if done != nil && result == "planned" {
		result = "unverified"
		for _, d := range done.Diff {
			if d.Source == r.source.OperatorID && d.Cluster == r.Cluster && d.Topic == r.Topic && d.Partition == r.Partition.Partition {
				to, result = render.Int(d.To), "changed"
			}
		}
	}
	if o.format.IsTable() && r.Next == nil {
		from = render.Text(string(r.Marker)).Styled(render.Warn)
	}
	return []render.Cell{render.String(checkpointfile.SourceName(*r.source)), render.String(r.source.OperatorID), render.Text(r.source.UID), render.Text(r.Cluster),
		render.String(r.Topic), render.Int32(r.Partition.Partition), from, render.Text(string(r.Marker)), to, delta, how, start, end, render.Text(detail),
		render.String(result), failure}
}
