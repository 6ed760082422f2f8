package reset

import (
	"fmt"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// Undo says how an operation is reverted.
type Undo struct {
	// Exact puts back values that lie outside the log now; without it such a row is refused.
	Exact bool
	// Moved also reverts rows whose group committed something else since.
	Moved bool
}

// Inverse makes the plan that reverts an operation: offsets, epochs and metadata as they were, and a commit that did not
// exist, or was negative, deleted again. It is pure. A row that the operation never changed is left as it is, whatever the
// journal knows of it: the stored value alone decides. The error is a *DriftError for another cluster.
func Inverse(e *checkpointfile.Entry, f *Facts, u Undo) (*Built, error) {
	from := compare(e.Origin(), e.Changes, f)
	if err := from.Err(); hasMismatch(err, offset.OtherCluster) {
		return nil, &DriftError{Drifts: []Drift{{Kind: DriftCluster, Text: err.Error(), Err: err}}}
	}
	b := &Built{Plan: &Plan{Verb: "undo", Asked: "undo " + e.ID, ClusterID: f.ClusterID, Undoes: e.ID}, Said: from.Said()}
	byGroup := rowsByGroup(e.Changes)
	for _, og := range e.Groups {
		g := f.Groups[og.Name]
		if g == nil {
			continue
		}
		if err := g.err(); err != nil {
			b.Failed = append(b.Failed, &GroupError{Group: og.Name, Err: err})
			continue
		}
		if g.Missing() && og.Type != "" {
			again := *g
			again.Type = inspect.GroupType(og.Type) // which call stores its offsets
			g = &again
		}
		var rows []Change
		for _, i := range byGroup[og.Name] {
			if e.States[i] != checkpointfile.StateFailed {
				rows = append(rows, u.row(e, e.Changes[i], f, g, from))
			}
		}
		if len(rows) == 0 {
			b.Notes = append(b.Notes, Note{Group: og.Name, Kind: NoteNothing, Text: nothingToUndo(e, og, len(byGroup[og.Name]))})
			continue
		}
		b.Plan.Changes = append(b.Plan.Changes, rows...)
		b.addGroup(g, false)
		b.notes(g, rows, nil)
	}
	b.finish()
	return b, b.Plan.Seal()
}

// nothingToUndo says why an operation on a group has no row to put back.
func nothingToUndo(e *checkpointfile.Entry, og PlanGroup, rows int) string {
	switch {
	case rows > 0:
		return fmt.Sprintf("%s changed none of its offsets, so there is nothing to put back", e.ID)
	case !og.Delete || e.GroupStates[og.Name] == checkpointfile.StateFailed:
		return fmt.Sprintf("%s did not change it, so there is nothing to put back", e.ID)
	}
	return "it stored no offsets when it was deleted, so there is nothing to put back: a group without offsets exists again as soon as a consumer joins it"
}

func (u Undo) row(e *checkpointfile.Entry, was Change, f *Facts, g *GroupFacts, from offset.Comparison) Change {
	now, unstable := f.of(g, was.Partition, nil)
	row := newRow(g, was.Partition, f, now)
	topic := f.Parts.Topics[was.Topic]
	gone := isUnknown(topic.PartitionErr(was.Partition.Partition))
	before := was.From
	if before != nil && before.Offset < 0 {
		before = nil
	}
	row.How = offset.ReasonRestored
	switch {
	case unstable:
		refuse(&row, offset.ReasonUnreadable, "a transaction that is still open holds a commit for it", "wait until the transaction ends")
	case from.Topic(was.Topic) != nil:
		refuse(&row, offset.ReasonUnreadable, from.Topic(was.Topic).Error(), "")
	case now.Err != nil && !(gone && before == nil):
		refuse(&row, offset.ReasonUnreadable, now.Err.Error(), "")
	case same(row.From, before):
		row.Action, row.To = checkpointfile.ActionNone, row.From
		row.Detail = "it is as it was before"
		if before != nil && before.LeaderEpoch != row.From.LeaderEpoch && same(row.From, was.To) {
			row.Action, row.To, row.Detail = checkpointfile.ActionCommit, before, "" // the operation changed the epoch alone
		}
	case !u.Moved && !same(row.From, was.To):
		refuse(&row, offset.ReasonMoved, fmt.Sprintf("the group moved since: %s set it to %s, it is %s now", e.ID, show(was.To), show(row.From)),
			"add {{allow-drift}} to put back what was there all the same")
	case before == nil && g.Type == inspect.TypeShare:
		refuse(&row, offset.ReasonUnreadable, "Kafka has no call that takes the start offset of one partition of a share group away again",
			"koffset delete takes away those of a whole topic, or the group")
	case before == nil:
		row.Action, row.Detail = checkpointfile.ActionDelete, "it had no commit"
	default:
		u.restore(&row, before, now)
	}
	if n := was.Acknowledged; n != nil && *n > 0 && row.Action != checkpointfile.ActionRefuse {
		row.Detail = strings.TrimPrefix(fmt.Sprintf("%s; up to %s acknowledged before: they come again", row.Detail, plural(int(*n), "record beyond it was", "records beyond it were")), "; ")
	}
	return row
}

// restore puts a value back that may lie outside the log by now.
func (u Undo) restore(row *Change, before *Commit, now offset.Facts) {
	to := *before
	row.Action, row.To = checkpointfile.ActionCommit, &to
	if b := now.Bounds; b != nil && (to.Offset < b.Start || to.Offset > b.End) {
		if !u.Exact {
			asked := to.Offset
			row.To = nil
			refuse(row, offset.ReasonOutOfRange, fmt.Sprintf("%d is outside the log now: log start %d, log end %d", to.Offset, b.Start, b.End),
				"add {{exact}} to put it back all the same")
			row.Asked = &asked
			return
		}
		row.Exact = true
		row.Detail = fmt.Sprintf("outside the log: log start %d, log end %d", b.Start, b.End)
	}
}

// UndoFacts says which groups and partitions Inverse needs: a plan-shaped list for Refresh.
func UndoFacts(e *checkpointfile.Entry) *Plan {
	return &Plan{ClusterID: e.Header.ClusterID, Groups: e.Groups, Changes: e.Changes}
}
