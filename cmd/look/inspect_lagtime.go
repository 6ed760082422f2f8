package look

// inspect --lag-time: how old the next record of each row is, from the records themselves.

import (
	"context"
	"slices"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
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
	if t.Err != nil {
		p.errors++
		if p.lagTimeErr == nil {
			p.lagTimeErr = t.Err
		}
	}
	more := append(p.lagTimeCells(t, ok), next, when, cli.ErrCell(t.Err))
	return slices.Insert(cells, at, more...)
}

func (p *inspection) lagTimeCells(t inspect.TimedLag, ok bool) []render.Cell {
	cells := []render.Cell{render.None(), render.None(), render.None(), render.None(), render.None()}
	if !ok || t.Err != nil {
		return cells
	}
	if d, ok := t.BehindNow(p.readAt); ok {
		cells[0], cells[2], cells[4] = render.String(short(d)), cli.Seconds(d, true), render.String(string(inspect.LagExact))
	}
	if d, ok := t.BehindHead(); ok {
		cells[1], cells[3] = render.String(short(d)), cli.Seconds(d, true)
	}
	return cells
}

func short(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	return offset.FormatDuration(d)
}

// groupLagCells are of the group's oldest next record.
func (p *inspection) groupLagCells(at int, cells []render.Cell, group inspect.Description) []render.Cell {
	if !p.o.lagTime {
		return cells
	}
	var worst inspect.TimedLag
	found := false
	for r := range p.snap.Rows(group) {
		t, ok := p.times[inspect.GroupPartition{Group: r.Group, Partition: r.Partition}]
		if !ok {
			continue
		}
		if t.Err != nil {
			p.errors++
			if p.lagTimeErr == nil {
				p.lagTimeErr = t.Err
			}
			continue
		}
		if !found || t.Next != nil && (worst.Next == nil || t.Next.Time.Before(worst.Next.Time)) {
			worst, found = t, true
		}
	}
	return slices.Insert(cells, at, p.lagTimeCells(worst, found)...)
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
