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

// mostAges bounds what inspect fetches by itself: a record of 1,000 partitions is 4 MB at most, and some milliseconds.
const mostAges = 1000

// assess reads what the verdicts rest on: the age of the next record of some rows, or of all with --lag-time.
func (p *inspection) assess(ctx context.Context) {
	p.readAt = p.o.app.Now()
	most := mostAges
	if p.o.lagTime {
		p.times = inspect.ReadLagTimes(ctx, p.s.Client, p.snap)
		p.readAt, most = p.o.app.Now(), 0
	}
	p.judged = inspect.Assess(ctx, p.s.Client, p.snap, inspect.DefaultRules(), p.readAt, most)
	if p.o.lagTime {
		p.judged.KnowAges(p.times)
		p.judged.LeftOut = 0
	}
}

// withLagColumns puts the ages into a sheet's columns: of groups always, of partitions with --lag-time.
func (p *inspection) withLagColumns(at int, cols []render.Column, partition bool) []render.Column {
	if !p.o.lagTime && partition {
		return cols
	}
	more := []render.Column{{Header: "BEHIND-NOW", Right: true, NoJSON: true, NoCSV: true}}
	if p.o.lagTime {
		more = append(more, render.Column{Header: "BEHIND-HEAD", Right: true, NoJSON: true, NoCSV: true})
	}
	more = append(more, render.Column{Key: "lag_seconds", NoTable: true})
	if p.o.lagTime {
		more = append(more, render.Column{Key: "lag_to_head_seconds", NoTable: true})
	}
	more = append(more, render.Column{Key: "lag_time_basis", NoTable: true}, render.Column{Key: "lag_time_unknown", NoTable: true})
	if partition {
		more = append(more, render.Column{Header: "NEXT-OFFSET", Key: "next_offset", Right: true, Wide: true}, render.Column{Header: "NEXT-TIME", Key: "next_timestamp", Wide: true},
			render.Column{Header: "LAG-TIME-ERROR", Key: "lag_time_error", HideEmpty: true})
	}
	return slices.Insert(cols, at, more...)
}

// withLagCells puts a row's cells where withLagColumns put its columns. A time that could not be read is an error of the
// row: the answer is then only partly known.
func (p *inspection) withLagCells(at int, cells []render.Cell, r *inspect.Row) []render.Cell {
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
func (p *inspection) groupLagCells(at int, cells []render.Cell, h *inspect.GroupHealth, head time.Duration, hasHead bool) []render.Cell {
	found := h.Partitions > 0
	if p.o.lagTime {
		return slices.Insert(cells, at, p.lagTimeCells(h.LagTime, head, hasHead, found)...)
	}
	more := []render.Cell{render.None(), render.None(), render.None(), render.None()}
	if found && (h.LagTime.Known || h.LagTime.Unknown != "") {
		more = []render.Cell{cli.AgeCell(h.LagTime), cli.Seconds(h.LagTime.D, h.LagTime.Known), cli.BasisCell(h.LagTime), cli.UnknownCell(h.LagTime)}
	}
	return slices.Insert(cells, at, more...)
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
