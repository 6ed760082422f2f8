package look

// The rows of koffset history: a commit each, and what happened to the group between them.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// mostHeld bounds the events that are held to be put in order.
const mostHeld = 1_000_000

// commitView writes an event a row, in the order of time. The events of one partition of the offsets topic come in that order and
// are written as they come; those of several are held.
type commitView struct {
	w       *render.Writer
	journal *journalMatch
	several bool
	held    []heldEvent
	dropped int64
	rows    int64
}

// heldEvent is an event with what it points to.
type heldEvent struct {
	history.Event
	commit offset.Committed
	delta  int64
}

func newCommitView(w *render.Writer, several bool, journal *journalMatch) *commitView {
	v := &commitView{w: w, journal: journal, several: several}
	w.Begin(render.Sheet{Name: "events", Row: "event", Columns: []render.Column{
		{Header: "TIME", Key: "time"},
		{Header: "GROUP", Key: "group", NoTable: !several},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "EVENT", Key: "event"},
		{Header: "OFFSET", Key: "offset", Right: true},
		{Header: "DELTA", Key: "delta", Right: true},
		{Header: "MARK", Key: "mark", HideEmpty: true},
		{Header: "BY", Key: "by"},
		{Key: "undo_id", NoTable: true},
		{Header: "METADATA", Key: "metadata", HideEmpty: true},
		{Header: "LEADER-EPOCH", Key: "leader_epoch", Right: true, Wide: true},
		{Header: "TOPIC-ID", Key: "topic_id", Wide: true},
		{Header: "CAUSE", Key: "cause", HideEmpty: true},
		{Header: "PREVIOUS", Key: "previous_time", Wide: true},
		{Header: "WRITTEN", Key: "written_time", Wide: true},
		{Header: "RECORD", Key: "record", Right: true, Wide: true},
		{Key: "group_type", NoTable: true},
		{Key: "generation", NoTable: true},
		{Key: "member_count", NoTable: true},
		{Key: "members_known", NoTable: true},
		{Key: "members", NoTable: true, NoCSV: true},
		{Header: "ERROR", Key: "error", HideEmpty: true},
	}})
	return v
}

func (v *commitView) add(e *history.Event) {
	if !v.several {
		v.row(e)
		return
	}
	if len(v.held) == mostHeld {
		v.dropped++
		return
	}
	v.held = append(v.held, heldEvent{Event: *e})
	h := &v.held[len(v.held)-1]
	if e.Commit != nil {
		h.commit = *e.Commit
	}
	if e.Delta != nil {
		h.delta = *e.Delta
	}
}

func (v *commitView) finish(*history.Report) int64 {
	slices.SortStableFunc(v.held, func(a, b heldEvent) int { return a.At.Compare(b.At) })
	for i := range v.held {
		h := &v.held[i]
		if h.Commit != nil {
			h.Commit = &h.commit
		}
		if h.Delta != nil {
			h.Delta = &h.delta
		}
		v.row(&h.Event)
	}
	return v.rows
}

func (v *commitView) row(e *history.Event) {
	v.rows++
	by := v.journal.find(e)
	topic, partition, off, delta, meta, epoch := render.None(), render.None(), render.None(), render.None(), render.None(), render.None()
	if e.Topic != "" {
		topic, partition = render.String(e.Topic), render.Int32(e.Partition.Partition)
	}
	if e.Commit != nil {
		off, meta, epoch = render.Int(e.Commit.Offset), render.String(e.Commit.Metadata), leaderEpochCell(e.Commit.LeaderEpoch)
	}
	if e.Delta != nil {
		delta = render.Int(*e.Delta)
	}
	v.w.Row(append([]render.Cell{render.Time(e.At), render.Name(e.Group), topic, partition, eventCell(e), off, delta, markCell(e.Mark),
		render.Text(whoText(e, by)), undoCell(by), meta, epoch, render.Text(e.TopicID()), render.Text(string(e.Cause)), render.Time(e.Since), render.Time(e.Written),
		render.Int(e.Record)}, append(lifeCells(e.Life), errorCell(e.Err))...)...)
}

func undoCell(by *checkpointfile.Entry) render.Cell {
	if by == nil {
		return render.None()
	}
	return render.String(by.ID)
}

func errorCell(err error) render.Cell {
	if err == nil {
		return render.None()
	}
	return render.String(err.Error())
}

func eventCell(e *history.Event) render.Cell {
	c := render.String(string(e.Kind))
	switch e.Kind {
	case history.Unreadable, history.Deleted, history.GroupDeleted:
		return c.Styled(render.Bad)
	case history.Pending, history.Aborted, history.Superseded:
		return c.Styled(render.Warn)
	case history.Members:
		return c.Styled(render.Dim)
	}
	return c
}

func markCell(m history.Mark) render.Cell {
	if m == history.NoMark {
		return render.None()
	}
	return render.String(string(m)).Styled(render.Bad)
}

// lifeCells are who was in the group, for programs.
func lifeCells(l *history.Life) []render.Cell {
	if l == nil {
		return []render.Cell{render.None(), render.None(), render.None(), render.None(), render.None()}
	}
	members := make([]render.Cell, len(l.Members))
	for i, m := range l.Members {
		members[i] = render.Object(render.F("member_id", render.String(m.ID)), render.F("client_id", render.String(m.ClientID)),
			render.F("host", render.String(strings.TrimPrefix(m.Host, "/"))), render.F("instance_id", render.Text(m.InstanceID)))
	}
	known := "all"
	if l.AtLeast {
		known = "at-least"
	}
	return []render.Cell{render.Text(l.Type), render.Int32(l.Generation), render.Int(int64(len(members))), render.String(known), render.List(members...)}
}

// left is the error of events that were too many to be put in order.
func (v *commitView) left() error {
	if v.dropped == 0 {
		return nil
	}
	return fmt.Errorf("%d events are not in the rows: at most %d of several groups can be put in order; name one group, or use --since or --by partition", v.dropped, mostHeld)
}
