package carry

import (
	"context"
	"fmt"
	"strings"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/reset"
)

// translate reads the evidence and translates, with progress.
func translate(ctx context.Context, a *cli.App, s *cli.Session, q migrate.Query) (*migrate.Result, error) {
	progress := a.Streams.Progress("finding records")
	defer progress.Stop()
	q.Phase = s.Phase
	q.Progress = func(done, total int) { progress.Set(int64(done), int64(total)) }
	res, err := migrate.TranslateAll(ctx, s.Client, q)
	if err != nil {
		return nil, migrateFault(cli.Cause(ctx, err))
	}
	return res, nil
}

// builtOf is a plan of migrate's as every command that writes takes it.
func builtOf(p *migrate.Planned) *reset.Built {
	b := &reset.Built{Plan: p.Plan}
	for _, n := range p.Notes {
		b.Notes = append(b.Notes, reset.Note{Group: n.Group, Kind: reset.NoteActive, Text: n.Text})
	}
	return b
}

// sayTally says how good the translation is.
func sayTally(a *cli.App, res *migrate.Result) {
	t := res.Count()
	var parts []string
	for _, p := range []struct {
		n    int
		text string
	}{{t.Exact, "exact"}, {t.Again, fmt.Sprintf("read at most %s again (%s in one partition)", render.Plural(t.SumAgain, "record"), render.Count(t.MostAgain))}, {t.Unproven, "unproven: may skip records"},
		{t.Unresolved, "unresolved"}, {t.NoCommit, "without a commit at the source"}} {
		if p.n > 0 {
			parts = append(parts, render.Count(p.n)+" "+p.text)
		}
	}
	a.Streams.Note("%s: %s", render.Plural(len(res.Items), "partition"), strings.Join(parts, ", "))
}
