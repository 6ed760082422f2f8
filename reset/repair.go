package reset

import (
	"errors"
	"fmt"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Mend says what becomes of one kind of sick commit.
type Mend string

// The ways to mend. Not every kind of sickness can have every one.
const (
	MendStart  Mend = "start"  // move it to the log start
	MendEnd    Mend = "end"    // move it to the log end
	MendDelete Mend = "delete" // remove the commit: the reader's own policy decides then
	MendClear  Mend = "clear"  // keep the offset, forget the epoch
	MendLeave  Mend = "leave"  // leave it
)

// Mends says how each kind of sick commit is mended; see DefaultMends.
type Mends struct {
	PastEnd    Mend // past the log end: end, start, delete or leave
	BelowStart Mend // below the log start: start, end, delete or leave
	Negative   Mend // a number that is no offset: delete, start, end or leave
	Gone       Mend // on a topic or partition that does not exist: delete or leave
	NewerEpoch Mend // with an epoch that the log never had: clear or leave
	NoCommit   Mend // none, while the group commits elsewhere on the topic: start, end or leave
}

// DefaultMends lose nothing that can still be read: an expired or missing commit goes to the log start, one past the end
// to the end, since everything before it was read once.
func DefaultMends() Mends {
	return Mends{PastEnd: MendEnd, BelowStart: MendStart, Negative: MendDelete, Gone: MendDelete, NewerEpoch: MendClear, NoCommit: MendStart}
}

// BuildRepair plans the repair of invalid commits in the request's scope. Healthy rows are not in the plan. It is pure.
func BuildRepair(r *Request, f *Facts, m Mends) (*Built, error) {
	b := &Built{Plan: &Plan{Verb: r.Verb, Asked: r.Asked, ClusterID: f.ClusterID, Isolation: r.Rules.Isolation}}
	return b.eachGroup(r, f, func(g *GroupFacts) error { return b.repairGroup(r, f, g, m) })
}

func (b *Built) repairGroup(r *Request, f *Facts, g *GroupFacts, m Mends) error {
	if err := g.err(); err != nil {
		return err
	}
	if g.Missing() {
		return &NotFoundError{What: "group", Name: g.Name}
	}
	in, _, err := r.partitions(g, f.Parts.Topics)
	if errors.Is(err, ErrNothingInScope) && r.Scope.All || r.leavesOut(g, in, err) {
		return nil // a group that has stored nothing there is not sick
	}
	if err != nil {
		return err
	}
	var rows []Change
	for _, c := range in {
		row, sick := m.row(r, f, g, c)
		if err := unread(f, g, c); sick && err != nil && !r.Scope.names(c.Partition) {
			// It may be healthy or not; the others are not kept from being repaired.
			b.Failed = append(b.Failed, &GroupError{Group: g.Name, Err: fmt.Errorf("%s is left alone: %w", c.Partition, err)})
			continue
		}
		if sick {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	b.Plan.Changes = append(b.Plan.Changes, rows...)
	b.addGroup(g, false)
	b.notes(g, rows, nil)
	return nil
}

// unread is why nothing is known about a partition that should exist.
func unread(f *Facts, g *GroupFacts, c chosen) error {
	if c.gone {
		return nil
	}
	one, _ := f.of(g, c.Partition, nil)
	return one.Err
}

// row judges one partition and plans its cure.
func (m Mends) row(r *Request, f *Facts, g *GroupFacts, c chosen) (row Change, sick bool) {
	one, unstable := f.of(g, c.Partition, nil)
	row = newRow(g, c.Partition, f, one)
	at := row.From
	switch {
	case c.gone:
		m.cure(&row, one, r.Rules.Isolation, m.Gone, "the topic or partition does not exist any more")
		return row, true
	case one.Err != nil:
		refuse(&row, offset.ReasonUnreadable, one.Err.Error(), "")
		return row, true
	case unstable || one.Bounds == nil:
		return row, false // it will be something else when the transaction ends
	case at == nil:
		if g.Type == inspect.TypeShare {
			return row, false // not initialised yet: the group's own configuration decides
		}
		m.cure(&row, one, r.Rules.Isolation, m.NoCommit, "no commit, while the group commits elsewhere on the topic")
		return row, true
	case at.Offset < 0:
		m.cure(&row, one, r.Rules.Isolation, m.Negative, fmt.Sprintf("the commit is %d, which is not a valid offset", at.Offset))
		return row, true
	}
	b := one.Bounds
	switch {
	case at.Offset > b.End:
		m.cure(&row, one, r.Rules.Isolation, m.PastEnd, fmt.Sprintf("the commit %d is %d past log end %d", at.Offset, at.Offset-b.End, b.End))
	case at.Offset < b.Start:
		m.cure(&row, one, r.Rules.Isolation, m.BelowStart, fmt.Sprintf("the commit %d is below log start %d: %s expired unread", at.Offset, b.Start, text.Plural(b.Start-at.Offset, "offset")))
	case newer(at.LeaderEpoch, one.EndEpoch):
		m.cure(&row, one, r.Rules.Isolation, m.NewerEpoch, fmt.Sprintf("the commit has leader epoch %s, the log is at %s: a reader would wait for it or jump", at.LeaderEpoch, one.EndEpoch))
	default:
		return row, false
	}
	return row, true
}

func newer(a, b offset.LeaderEpoch) bool {
	x, ok := a.Get()
	y, ok2 := b.Get()
	return ok && ok2 && x > y
}

func (m Mends) cure(row *Change, one offset.Facts, iso offset.Isolation, how Mend, why string) {
	row.Detail = why
	metadata := ""
	if row.From != nil {
		metadata = row.From.Metadata
	}
	switch how {
	case MendStart:
		row.Action, row.How = checkpointfile.ActionCommit, offset.ReasonLogStart
		row.To = &Commit{Offset: one.Bounds.Start, LeaderEpoch: one.StartEpoch, Metadata: metadata}
	case MendEnd:
		row.Action, row.How = checkpointfile.ActionCommit, offset.ReasonLogEnd
		// Under read_committed the end is the last stable offset: behind it lie records that may still be committed.
		row.To = &Commit{Offset: one.Bounds.EndFor(iso), LeaderEpoch: one.EndEpoch, Metadata: metadata}
		if row.To.Offset != one.Bounds.End {
			row.To.LeaderEpoch = epochBetween(one)
		}
	case MendClear:
		row.Action, row.How = checkpointfile.ActionCommit, offset.ReasonExact
		row.To = &Commit{Offset: row.From.Offset, LeaderEpoch: epochBetween(one), Metadata: metadata}
	case MendDelete:
		row.Action, row.How = checkpointfile.ActionDelete, offset.ReasonDeleted
	default:
		row.Action, row.How = checkpointfile.ActionLeave, offset.ReasonSkipped
	}
}
