package look

// inspect --lag-time: how old the next record of each row is, from the records themselves.

import (
	"context"
	"slices"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
)

// lagColumn is where the columns go in: after LAG of the partition and of the group sheet.
const (
	lagColumnOfPartition = 6
	lagColumnOfGroup     = 7
)

func (p *inspection) readLagTimes(ctx context.Context) {
	if p.o.lagTime {
		p.times = inspect.ReadLagTimes(ctx, p.s.Client, p.snap)
		p.readAt = p.o.app.Now()
	}
}

// withLagColumns puts the columns of --lag-time into a sheet's.
func (p *inspection) withLagColumns(at int, cols []render.Column, partition bool) []render.Column {
	if !p.o.lagTime {
		return cols
	}
	more := []render.Column{
		{Header: "BEHIND-NOW", Right: true, NoJSON: true, NoCSV: true},
		{Header: "BEHIND-HEAD", Right: true, NoJSON: true, NoCSV: true},
		{Key: "lag_seconds", NoTable: true},
		{Key: "lag_to_head_seconds", NoTable: true},
		{Key: "lag_time_basis", NoTable: true},
		{Key: "lag_time_unknown", NoTable: true},
	}
	if partition {
		more = append(more, render.Column{Header: "NEXT-OFFSET", Key: "next_offset", Right: true, Wide: true}, render.Column{Header: "NEXT-TIME", Key: "next_timestamp", Wide: true},
			render.Column{Header: "LAG-TIME-ERROR", Key: "lag_time_error", HideEmpty: true})
	}
	return slices.Insert(cols, at, more...)
}

// withLagCells puts a row's cells where withLagColumns put its columns. A time that could not be read is an error of the
// row: the answer is then only partly known.
func (p *inspection) withLagCells(at int, cells []render.Cell, r inspect.Row) []render.Cell {
	if !p.o.lagTime {
		return cells
	}
	t, ok := p.times[inspect.GroupPartition{Group: r.Group, Partition: r.Partition}]
	next, when := render.None(), render.None()
	if ok && t.Next != nil {
		next, when = render.Int(t.Next.Offset), render.Time(t.Next.Time)
	}
	p.ageFailed(t.Err)
	head, hasHead := t.BehindHead(p.readAt)
	more := append(p.lagTimeCells(t.BehindNow(p.readAt), head, hasHead, ok), next, when, cli.ErrCell(t.Err))
	return slices.Insert(cells, at, more...)
}

// lagTimeCells are the age against now and against the newest record: for eyes, in seconds, and how they were found.
func (p *inspection) lagTimeCells(now inspect.LagTime, head time.Duration, hasHead, ok bool) []render.Cell {
	cells := []render.Cell{render.None(), render.None(), render.None(), render.None(), render.None(), render.None()}
	if !ok {
		return cells
	}
	cells[0] = cli.AgeCell(now)
	cells[2], cells[4], cells[5] = cli.Seconds(now.D, now.Known), cli.BasisCell(now), cli.UnknownCell(now)
	if now.Known && now.Basis == "" {
		cells[4] = render.String(string(inspect.LagExact)) // nothing is left: proved by a fetch
	}
	if cells[1] = render.String("?").Styled(render.Warn); hasHead {
		cells[1], cells[3] = render.String(cli.Short(head)), cli.Seconds(head, true)
	}
	return cells
}

// groupLagCells are of the group's oldest next record, and of the one that is furthest behind its partition's newest.
func (p *inspection) groupLagCells(at int, cells []render.Cell, group inspect.Description) []render.Cell {
	if !p.o.lagTime {
		return cells
	}
	var now inspect.AgeSum
	var head time.Duration
	found, hasHead := false, true
	for r := range p.snap.Rows(group) {
		t, ok := p.times[inspect.GroupPartition{Group: r.Group, Partition: r.Partition}]
		if !ok {
			continue
		}
		found = true
		p.ageFailed(t.Err)
		now.Add(t.BehindNow(p.readAt))
		d, ok := t.BehindHead(p.readAt)
		head, hasHead = max(head, d), hasHead && ok
	}
	return slices.Insert(cells, at, p.lagTimeCells(now.Oldest(), head, hasHead, found)...)
}

// ageFailed counts an age that could not be read as an error of the answer.
func (p *inspection) ageFailed(err error) {
	if err == nil {
		return
	}
	p.errors++
	if p.lagTimeErr == nil {
		p.lagTimeErr = err
	}
}

// lagTimeNote says what the times cost in rights.
func (p *inspection) lagTimeNote() {
	if p.lagTimeErr != nil {
		hint := ""
		if cli.Denied(p.lagTimeErr) {
			hint = ": fetching needs READ on the topic"
		}
		p.o.app.Streams.Warn("some lags in time could not be read: %v%s", p.lagTimeErr, hint)
	}
}
