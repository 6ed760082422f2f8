package look

// inspect --last-commit and --inactive: when groups last committed, from Kafka's own record of the commits.

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// lastCommits knows when groups last committed; nothing where that was not asked for or may not be read.
type lastCommits struct {
	then   *history.Then
	report *history.Report
	at     time.Time // when they were read

	leftOut []string // groups that --inactive left out, as nothing is known of when they last committed
}

// lastCommit is when one partition of a group, or a group, last committed.
type lastCommit struct {
	asked bool // there is a commit
	known bool
	time.Time
}

// readLastCommits reads the offsets topic where it is needed. --inactive does without where it may not be read, and says so.
func (p *inspection) readLastCommits(ctx context.Context) error {
	if !p.o.lastCommit && p.o.order.idleFor == 0 {
		return nil
	}
	then := &history.Then{At: history.Ever()}
	q := history.Query{Each: then.Add}
	if len(p.o.names) > 0 && len(p.o.groups.Match) == 0 && !p.o.groups.All {
		q.Groups = p.o.names
	}
	r, err := p.s.ReadHistory(ctx, q)
	var unreadable *history.TopicError
	switch {
	case err == nil:
	case errors.As(err, &unreadable) && !p.o.lastCommit:
		p.o.app.Streams.Warn("%v: --inactive goes by how long the next record has waited", unreadable)
		return nil
	default:
		return err
	}
	p.last.then, p.last.report, p.last.at = then, r, p.o.app.Now()
	if err := r.Err(); err != nil {
		p.partial = true
		p.o.app.Streams.Fail(render.Failure{Err: err, Kind: offset.KindPartial})
	}
	return nil
}

// of is when a row's commit was made.
func (l *lastCommits) of(r *inspect.Row) lastCommit {
	if l.then == nil || r.Committed == nil {
		return lastCommit{}
	}
	at, known := l.then.LastCommit(l.report, r.Group, r.Partition)
	return lastCommit{asked: true, known: known, Time: at}
}

// ofGroup is when a group last committed anything that it still has. Not known of one of its commits is not known: that one may be
// the last.
func (l *lastCommits) ofGroup(s *inspect.Snapshot, group string) lastCommit {
	var out lastCommit
	if l.then == nil {
		return out
	}
	for _, t := range s.Commits(group).Topics {
		for _, c := range t.Rows {
			if c.Committed() == nil {
				continue
			}
			at, known := l.then.LastCommit(l.report, group, offset.Partition{Topic: t.Topic, Partition: c.Partition})
			if !known {
				return lastCommit{asked: true}
			}
			out.asked, out.known = true, true
			if at.After(out.Time) {
				out.Time = at
			}
		}
	}
	return out
}

// inactive says that --inactive lets a group through: it is known to have no members, and known to have committed nothing for so
// long. Where commits' times may not be read, the record that it would read next has waited for so long.
func (p *inspection) inactive(idle time.Duration, d inspect.Description, h *inspect.GroupHealth, last lastCommit) bool {
	switch {
	case idle == 0:
		return true
	case p.last.then == nil:
		return inspect.ReadersOf(d) == inspect.ReadersNone && h.LagTime.Known && h.LagTime.Basis != "" && h.LagTime.D >= idle
	case d.Err != nil || len(d.Members) > 0:
		return false
	case !last.known:
		p.last.leftOut = append(p.last.leftOut, d.Name)
		return false
	}
	return p.last.at.Sub(last.Time) >= idle
}

// lastNote says which groups --inactive could not decide on.
func (p *inspection) lastNote() {
	if n := len(p.last.leftOut); n > 0 {
		p.o.app.Streams.Note("left out, as it is not known when they last committed: %s", text.Some(offset.NameTexts(p.last.leftOut), 5))
	}
}

// withLastColumns puts the columns of --last-commit into a sheet.
func (p *inspection) withLastColumns(at int, cols []render.Column) []render.Column {
	if !p.o.lastCommit {
		return cols
	}
	return slices.Insert(cols, at, render.Column{Header: "LAST-COMMIT", Right: true, NoJSON: true, NoCSV: true},
		render.Column{Key: "last_commit_time", NoTable: true}, render.Column{Key: "last_commit_seconds", NoTable: true}, render.Column{Key: "last_commit_known", NoTable: true})
}

// withLastCells puts the age of the last commit where withLastColumns put its columns.
func (p *inspection) withLastCells(at int, cells []render.Cell, c lastCommit) []render.Cell {
	if !p.o.lastCommit {
		return cells
	}
	age, when, seconds, known := render.None(), render.None(), render.None(), render.None()
	switch {
	case !c.asked:
	case !c.known:
		age, known = render.String("?").Styled(render.Warn), render.Bool(false)
	default:
		d := max(p.last.at.Sub(c.Time), 0)
		age, when, seconds, known = render.String(cli.Short(d)), render.Time(c.Time), cli.Seconds(d, true), render.Bool(true)
	}
	return slices.Insert(cells, at, age, when, seconds, known)
}
