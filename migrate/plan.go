package migrate

// From translated rows to a plan that package reset applies.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// PlanOptions decide what becomes of rows that are not simply committed.
type PlanOptions struct {
	// Verb and Asked go into the plan.
	Verb, Asked string
	// SkipUnresolved leaves rows without an offset alone; without it they are refused.
	SkipUnresolved bool
	// AllowRewind moves a target group back where it stands after the translated position.
	AllowRewind bool
	// IdleOnly leaves groups out that have members on the target, instead of planning for them, and leaves alone what an open
	// transaction holds there, instead of refusing: the same import is made again later.
	IdleOnly bool
}

// Planned is a plan and what it leaves out.
type Planned struct {
	Plan   *reset.Plan
	Effect Effect
	Notes  []Note
	// Skipped are groups that IdleOnly left out.
	Skipped []string
	// Unfit are groups whose kind on the target cannot take their rows, and why.
	Unfit map[string]string
}

// Note is a fact about a target group that a reader of the plan should know.
type Note struct {
	Group string
	Text  string
	// Active says that members are there: applying would be refused.
	Active bool
}

// MakePlan turns translated rows into a plan. Rows without a commit at the source are not in it. Whether a target group has read
// further than a position is known by the records between the two. The error is set where the target's groups cannot be listed.
func MakePlan(ctx context.Context, cl *kgo.Client, res *Result, o PlanOptions) (*Planned, error) {
	var names []string
	for _, i := range res.Items {
		if len(names) == 0 || names[len(names)-1] != i.Group {
			names = append(names, i.Group)
		}
	}
	listed, err := reset.FindGroups(ctx, cl, names)
	if err != nil {
		return nil, err
	}
	described := inspect.Describe(ctx, cl, listed)
	var further []*Item
	for _, i := range res.Items {
		if i.Current != nil && i.Current.Offset > i.Offset {
			further = append(further, i)
		}
	}
	countApart(ctx, cl, further, 1)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return BuildPlan(res, described, o)
}

// BuildPlan is MakePlan without I/O: described are the target's groups. What nobody has counted is judged by the numbers alone.
func BuildPlan(res *Result, described map[string]inspect.Description, o PlanOptions) (*Planned, error) {
	p := &Planned{Plan: &reset.Plan{Verb: o.Verb, Asked: o.Asked, ClusterID: res.ClusterID, Isolation: offset.ReadUncommitted}}
	for items := range groupsOf(res.Items) {
		name := items[0].Group
		d := described[name]
		if d.Active() && o.IdleOnly {
			p.Skipped = append(p.Skipped, name)
			continue
		}
		create := d.NotFound
		kind, wrong := kindOf(items, d)
		var rows []reset.Change
		for _, i := range items {
			if i.Outcome == NoCommit {
				continue
			}
			create = create && i.Current == nil
			c := changeOf(i, o)
			if wrong != "" {
				leaveRow(&c, wrong, o)
				p.Effect.Other++
			} else {
				p.Effect.add(i, c, o)
			}
			rows = append(rows, c)
		}
		if len(rows) == 0 {
			continue
		}
		if wrong != "" {
			if p.Unfit == nil {
				p.Unfit = map[string]string{}
			}
			p.Unfit[name] = wrong
		}
		p.Plan.Changes = append(p.Plan.Changes, rows...)
		p.Plan.Groups = append(p.Plan.Groups, reset.PlanGroup{Name: name, Type: string(kind), Create: create, Application: string(d.Application)})
		p.Notes = append(p.Notes, shareNotes(name, items, rows)...)
		if d.Active() {
			p.Notes = append(p.Notes, Note{Group: name, Text: reset.Activity(d) + ": executing the plan would be refused", Active: true})
		}
	}
	slices.SortFunc(p.Plan.Groups, func(a, b reset.PlanGroup) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Plan.Changes, func(a, b reset.Change) int { return a.Key().Compare(b.Key()) })
	return p, p.Plan.Seal()
}

// groupsOf yields the items of each target group; they are sorted by it.
func groupsOf(items []*Item) func(yield func([]*Item) bool) {
	return func(yield func([]*Item) bool) {
		for len(items) > 0 {
			n := 1
			for n < len(items) && items[n].Group == items[0].Group {
				n++
			}
			if !yield(items[:n]) {
				return
			}
			items = items[n:]
		}
	}
}

func refuseRow(c *reset.Change, text, hint string) {
	c.Action, c.To, c.Error, c.Hint = checkpointfile.ActionRefuse, nil, text, hint
}

func changeOf(i *Item, o PlanOptions) reset.Change {
	c := reset.Change{Group: i.Group, Partition: i.Target, TopicID: i.TopicID, How: offset.ReasonTranslated}
	if i.Current != nil {
		c.From = &reset.Commit{Offset: i.Current.Offset, LeaderEpoch: i.Current.LeaderEpoch, Metadata: i.Current.Metadata}
	}
	if b := i.Evidence.Bounds; b != nil {
		c.LogStart, c.LogEnd, c.LastStable = &b.Start, &b.End, &b.LastStable
	}
	leave := func(format string, args ...any) reset.Change {
		c.Action, c.Detail = checkpointfile.ActionLeave, fmt.Sprintf(format, args...)
		return c
	}
	switch {
	case i.Unstable && o.IdleOnly:
		return leave("a transaction that is still open holds a commit for it on the target")
	case i.Unstable:
		refuseRow(&c, "a transaction that is still open holds a commit for it on the target: what is stored then is not known yet", "wait until the transaction ends")
		return c
	case !i.Resolved() && o.SkipUnresolved:
		c.How = offset.ReasonSkipped
		return leave("unresolved: %s", reasons(i.Reasons))
	case !i.Resolved():
		c.How = offset.ReasonUnresolved
		refuseRow(&c, "unresolved: "+reasons(i.Reasons), i.Hint)
		return c
	}
	if i.Refresh && i.Current != nil {
		c.Action, c.To, c.Detail = checkpointfile.ActionCommit, c.From, "committed again before it expires"
		return c
	}
	c.Proof = i.Label() + " (" + string(i.Strategy) + "): " + i.Proof
	to := reset.Commit{Offset: i.Offset, Metadata: i.Row.Committed.Metadata} // the source's epochs mean nothing here
	c.Detail = fmt.Sprintf("%d at the source", i.Row.Committed.Offset)
	if i.Row.Share {
		c.Acknowledged = i.Finished
	}
	switch cur := i.Current; {
	case i.pastEnd():
		c.Detail = fmt.Sprintf("the target's commit %d is past its log end %d; %s", cur.Offset, i.Evidence.Bounds.End, c.Detail)
	case i.finishedBeyond() && !o.AllowRewind:
		return leave("the target is at %d and has acknowledged up to %s from there on: not moved unless a rewind is allowed, since those would come again",
			cur.Offset, text.Plural(*i.Finished, "record"))
	case i.ahead() && !o.AllowRewind:
		return leave("the target is at %d, %d ahead of %d: not moved back unless a rewind is allowed", cur.Offset, cur.Offset-i.Offset, i.Offset)
	case i.perhapsAhead() && !o.AllowRewind:
		return leave("whether the target group has read further is not known (%s): not moved back unless a rewind is allowed", i.standing().why)
	case cur != nil && cur.Offset == i.place() && cur.Metadata == to.Metadata && !i.finishedBeyond():
		c.Action, c.To, c.Detail = checkpointfile.ActionNone, c.From, ""
		return c
	default:
		to.Offset = i.place()
	}
	c.Action, c.To = checkpointfile.ActionCommit, &to
	return c
}

// pastEnd says that the target group's commit is past the log end there. It is a number without a record, so the group is
// not ahead by it.
func (i *Item) pastEnd() bool {
	return i.Current != nil && i.Evidence.Bounds != nil && i.Current.Offset > i.Evidence.Bounds.End
}

// further says that the target group's commit is a larger number than the position, within the log.
func (i *Item) further() bool {
	return i.Current != nil && i.Resolved() && i.Current.Offset > i.Offset && !i.pastEnd()
}

// ahead says that the target group has read further than the position.
func (i *Item) ahead() bool {
	return i.finishedBeyond() || i.further() && i.standing().verdict == VerdictAhead
}

// perhapsAhead says that this is not known.
func (i *Item) perhapsAhead() bool { return i.further() && i.standing().verdict == VerdictUnknown }

// place is the number that is committed for the position: what the target group has stored, where it is further on by markers alone.
func (i *Item) place() int64 {
	if i.further() && i.standing().verdict == VerdictSame {
		return i.Current.Offset
	}
	return i.Offset
}

// Effect counts what a plan does, by how each row is known. It is made from the rows' proofs.
type Effect struct {
	// Exact, Again and Unproven are rows that the plan commits. SumAgain bounds the records that rows of Again read again, beside what
	// is still to be copied for the Growing ones.
	Exact, Again, Unproven int
	SumAgain               int64
	Growing                int
	// Already are rows that need no commit, Refreshed ones that are committed again as they are.
	Already, Refreshed int
	// Ahead are rows left because the target group has read further, MostAhead offsets at the most; PerhapsAhead those where this is
	// not known.
	Ahead, PerhapsAhead int
	MostAhead           int64
	// Unresolved are rows left because no offset is known, Skipped those of them that SkipUnresolved allowed. Other are rows
	// left because of the target group.
	Unresolved, Skipped, Other int
}

// Left is how many rows the plan leaves although nobody asked for that.
func (e Effect) Left() int { return e.Ahead + e.PerhapsAhead + e.Unresolved - e.Skipped + e.Other }

func (e *Effect) add(i *Item, c reset.Change, o PlanOptions) {
	switch {
	case c.Action == checkpointfile.ActionNone:
		e.Already++
	case i.Refresh:
		e.Refreshed++
	case c.Action == checkpointfile.ActionCommit && i.Outcome == Exact:
		e.Exact++
	case c.Action == checkpointfile.ActionCommit && i.Outcome == Again:
		e.Again, e.SumAgain = e.Again+1, e.SumAgain+i.Translation.Again
		if i.Growing {
			e.Growing++
		}
	case c.Action == checkpointfile.ActionCommit:
		e.Unproven++
	case !i.Resolved() && !i.Unstable:
		e.Unresolved++
		if o.SkipUnresolved {
			e.Skipped++
		}
	case i.ahead() && !i.Unstable:
		e.Ahead, e.MostAhead = e.Ahead+1, max(e.MostAhead, i.beyond())
	case i.perhapsAhead() && !i.Unstable:
		e.PerhapsAhead++
	default:
		e.Other++
	}
}

// Tally counts translated rows by outcome.
type Tally struct {
	Exact, Again, Unproven, Unresolved, NoCommit int
	// MostAgain is the largest number of records that one row may read again, SumAgain that of all rows.
	MostAgain, SumAgain int64
	// Growing are those of Again whose bound is of what the target has now.
	Growing int
}

// Count counts the rows of a result.
func (r *Result) Count() Tally {
	var t Tally
	for _, i := range r.Items {
		switch i.Outcome {
		case Exact:
			t.Exact++
		case Again:
			t.Again++
			t.MostAgain, t.SumAgain = max(t.MostAgain, i.Translation.Again), t.SumAgain+i.Translation.Again
			if i.Growing {
				t.Growing++
			}
		case Unproven:
			t.Unproven++
		case NoCommit:
			t.NoCommit++
		default:
			t.Unresolved++
		}
	}
	return t
}

// reasons joins why each strategy found nothing. What several of them say in the same words is said once.
func reasons(all []string) string {
	var texts []string
	who := map[string]string{}
	for _, r := range all {
		strategy, text, ok := strings.Cut(r, ": ")
		if !ok {
			strategy, text = "", r
		}
		if before, said := who[text]; said {
			who[text] = before + ", " + strategy
			continue
		}
		who[text] = strategy
		texts = append(texts, text)
	}
	for i, text := range texts {
		if who[text] != "" {
			texts[i] = who[text] + ": " + text
		}
	}
	return strings.Join(texts, "; ")
}
