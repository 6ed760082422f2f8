package reset

// Share groups (KIP-932): their start offsets have calls of their own.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
)

func (a *applier) readBackShare(ctx context.Context, groups []string, out standing) {
	for name, s := range inspect.ReadShareOffsets(ctx, a.cl, groups) {
		// A group that is gone has nothing stored.
		if s.Err != nil && !errors.Is(s.Err, kerr.GroupIDNotFound) {
			out.groups[name] = s.Err
		}
		for _, r := range s.Rows {
			if r.Err != nil {
				out.rows[Key{Group: name, Partition: r.Partition}] = r.Err
			}
			if r.Start != nil {
				out.stored[Key{Group: name, Partition: r.Partition}] = &Commit{Offset: *r.Start}
			}
		}
	}
}

// finishedBeyond says that a share group is further than its start offset, or may be: records beyond it are acknowledged and
// would not come again, so storing the same start offset is a change all the same.
func (g *GroupFacts) finishedBeyond(row Change) bool {
	return g.Type == inspect.TypeShare && (row.Acknowledged == nil || *row.Acknowledged > 0)
}

// ShareNote says what of a share group is lost by moving or removing its start offsets.
func ShareNote(rows []Change) string {
	var finished int64
	var unknown, fresh, moved int
	for _, c := range rows {
		switch {
		case !c.Changes():
			continue
		case c.From == nil:
			fresh++
		case c.Acknowledged == nil:
			unknown++
		default:
			finished += *c.Acknowledged
		}
		moved++
	}
	var out []string
	if finished > 0 {
		out = append(out, fmt.Sprintf("up to %s acknowledged beyond the start offset: that is forgotten, and an undo, which puts the start offset back, delivers them again",
			plural(int(finished), "record is", "records are")))
	}
	if unknown > 0 {
		out = append(out, fmt.Sprintf("on %s it is not known which records beyond the start offset are acknowledged: an undo delivers those again", plural(unknown, "partition", "partitions")))
	}
	if fresh > 0 {
		out = append(out, fmt.Sprintf("%s never initialised: an undo cannot make that so again", plural(fresh, "partition was", "partitions were")))
	}
	if moved == 0 {
		return ""
	}
	return strings.Join(out, "; ")
}
