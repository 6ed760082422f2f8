package carry

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
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
	a.SayOrigin(res.Said)
	return res, nil
}

// builtOf is a plan of migrate's as every command that writes takes it.
func builtOf(p *migrate.Planned) *reset.Built {
	b := &reset.Built{Plan: p.Plan}
	for _, n := range p.Notes {
		kind := reset.NoteShare
		if n.Active {
			kind = reset.NoteActive
		}
		b.Notes = append(b.Notes, reset.Note{Group: n.Group, Kind: kind, Text: n.Text})
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
	}{{t.Exact, "exact"}, {t.Again, againText(t.Again, t.Growing, t.SumAgain, t.MostAgain)}, {t.Unproven, "unproven: may skip records"},
		{t.Unresolved, "unresolved"}, {t.NoCommit, "without a commit at the source"}} {
		if p.n > 0 {
			parts = append(parts, text.Count(p.n)+" "+p.text)
		}
	}
	a.Streams.Note("%s: %s", text.Plural(len(res.Items), "partition"), strings.Join(parts, ", "))
}

// carrying is the run of a plan that migrate made. What it does is said by its proofs: against the target's own commits,
// which a first import does not have, it could not be measured.
func carrying(a *cli.App, s *cli.Session, flags *act.Flags, p *migrate.Planned) *act.Run {
	e := p.Effect
	var parts []string
	for _, x := range []struct {
		n    int
		text string
	}{{e.Exact, "exact"}, {e.Again, againText(0, e.Growing, e.SumAgain, 0)}, {e.Unproven, "unproven, may skip records"}, {e.Refreshed, "committed again as they are"}} {
		if x.n > 0 {
			parts = append(parts, text.Count(x.n)+" "+x.text)
		}
	}
	return &act.Run{App: a, S: s, Flags: flags, Built: builtOf(p), Wide: true, Effect: strings.Join(parts, ", ")}
}

// againText says how much is read again: by rows rows, of which growing do not know how much the mirror has still to copy, sum
// records, and most by one of them.
func againText(rows, growing int, sum, most int64) string {
	out := "read at most " + text.Plural(sum, "record") + " again"
	if rows > 1 {
		out += " (" + text.Count(most) + " in one partition)"
	}
	if growing > 0 {
		out += " and what the mirror has still to copy"
	}
	return out
}

// sayLeft names what the plan leaves alone, and why.
func sayLeft(a *cli.App, e migrate.Effect) {
	if e.Ahead > 0 {
		a.Streams.Warn("%s left: the target group has read further, by %s at most; --allow-rewind moves it back", text.Plural(e.Ahead, "partition"), text.Plural(e.MostAhead, "offset"))
	}
	if e.PerhapsAhead > 0 {
		a.Streams.Warn("%s left: whether the target group has read further is not known; --allow-rewind moves it all the same", text.Plural(e.PerhapsAhead, "partition"))
	}
	if e.Unresolved > 0 {
		a.Streams.Warn("%s left: unresolved, the rows say why", text.Plural(e.Unresolved, "partition"))
	}
	if e.Other > 0 {
		a.Streams.Warn("%s left because of the target group: the rows say why", text.Plural(e.Other, "partition"))
	}
}

// sayInternal names the internal topics that are not carried.
func sayInternal(a *cli.App, internal map[string][]string) {
	for _, g := range slices.Sorted(maps.Keys(internal)) {
		a.Streams.Warn("group %s: a Streams application: its internal topics are left out (%s), and its local state does not move", offset.NameText(g), strings.Join(internal[g], ", "))
	}
}

// literal says that a topic was named, and not only matched.
func literal(s cli.TopicScope, topic string) bool {
	return slices.ContainsFunc(s.Specs, func(t offset.TopicSpec) bool { return t.Topic == topic })
}
