package reset

import (
	"fmt"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// BuildDelete plans the removal of commits: of those in the request's scope, or with whole of everything that the groups
// have stored, and the groups themselves. It is pure. The request's position and rules are not looked at.
func BuildDelete(r *Request, f *Facts, whole bool) (*Built, error) {
	b := &Built{Plan: &Plan{Verb: r.Verb, Asked: r.Asked, ClusterID: f.ClusterID}}
	return b.eachGroup(r, f, func(g *GroupFacts) error { return b.deleteGroup(r, f, g, whole) })
}

func (b *Built) deleteGroup(r *Request, f *Facts, g *GroupFacts, whole bool) error {
	if err := g.err(); err != nil {
		return err
	}
	if g.Missing() {
		return &NotFoundError{What: "group", Name: g.Name}
	}
	var rows []Change
	if whole {
		for _, p := range g.partitions() {
			rows = append(rows, deleteRow(f, g, p))
		}
	} else {
		in, _, err := r.partitions(g, f.Parts.Topics)
		if r.leavesOut(g, in, err) {
			b.Without = append(b.Without, g.Name)
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range in {
			one, _ := f.of(g, c.Partition, nil)
			if r.Only.keeps(one, r.Rules.Isolation) {
				rows = append(rows, deleteRow(f, g, c.Partition))
			}
		}
		if g.Type == inspect.TypeShare {
			shareTopicsWhole(g, rows)
		}
	}
	b.Plan.Changes = append(b.Plan.Changes, rows...)
	b.addGroup(g, whole)
	if last := &b.Plan.Groups[len(b.Plan.Groups)-1]; whole {
		last.TakeHidden = r.Task.TakeHidden
		if v := f.Visibility; v != nil && !v.All() && !last.TakeHidden && g.Type != inspect.TypeShare {
			last.Hidden = v.String()
		}
	}
	b.notes(g, rows, nil)
	return nil
}

func deleteRow(f *Facts, g *GroupFacts, p offset.Partition) Change {
	one, unstable := f.of(g, p, nil)
	row := newRow(g, p, f, one)
	row.How = offset.ReasonDeleted
	_, _, err := g.stored(p)
	switch {
	case err != nil:
		refuse(&row, offset.ReasonUnreadable, fmt.Sprintf("the group's commit: %v", err), "")
	case unstable:
		refuse(&row, offset.ReasonUnreadable, "a transaction that is still open holds a commit for it", "wait until the transaction ends")
	case row.From == nil:
		row.Action, row.How, row.Detail = checkpointfile.ActionNone, offset.ReasonNoCommit, "there is no commit"
	default:
		row.Action = checkpointfile.ActionDelete
	}
	return row
}

// shareTopicsWhole refuses rows of topics of which only a part is named: a share group's offsets are deleted by topic.
func shareTopicsWhole(g *GroupFacts, rows []Change) {
	named := map[offset.Partition]bool{}
	for _, c := range rows {
		named[c.Partition] = true
	}
	part := map[string]offset.Partition{}
	for _, p := range g.partitions() {
		if !named[p] {
			part[p.Topic] = p
		}
	}
	for i := range rows {
		if left, ok := part[rows[i].Topic]; ok && rows[i].Action == checkpointfile.ActionDelete {
			refuse(&rows[i], offset.ReasonUnreadable, fmt.Sprintf("Kafka deletes a share group's offsets by topic, and %s is not named", left), "name the whole topic")
		}
	}
}
