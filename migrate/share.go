package migrate

// Share groups (KIP-932). What can be carried is the start offset of each partition, the first record that is not finished. The records
// beyond it that are acknowledged, or were delivered and how often, cannot: Kafka has no call that stores them.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// readShare reads where the target's share groups start.
func (t *target) readShare(ctx context.Context, groups []string, items []*Item) {
	if len(groups) == 0 {
		return
	}
	t.share = inspect.ReadShareOffsets(ctx, t.cl, groups)
	for _, i := range items {
		s, ok := t.share[i.Group]
		if !i.Row.Share || !ok {
			continue
		}
		// There is no share group of that name: another kind of group is found when the plan is made.
		if s.Err != nil && !errors.Is(s.Err, kerr.GroupIDNotFound) {
			i.Evidence.Err = fmt.Errorf("group %s: %w", offset.NameText(i.Group), s.Err)
		}
		switch r, _ := s.Find(i.Target); {
		case r.Err != nil:
			i.Evidence.Err = r.Err
		case r.Start != nil:
			i.Current = &offset.Committed{Offset: *r.Start}
		}
	}
}

// finish counts what the target's share groups have finished beyond their start offsets, when the logs' ends are known.
func (t *target) finish(items []*Item) {
	for _, i := range items {
		if i.Current == nil || !i.Row.Share {
			continue
		}
		r, _ := t.share[i.Group].Find(i.Target)
		if n, known := r.Acknowledged(i.Evidence.Bounds); known {
			i.Finished = &n
		}
	}
}

// finishedBeyond says that the target's share group has acknowledged records beyond its start offset, which would come again if
// that were stored anew.
func (i *Item) finishedBeyond() bool {
	return i.Row.Share && i.Current != nil && i.Finished != nil && *i.Finished > 0
}

// beyond is by how many offsets the target group has read further, at the most.
func (i *Item) beyond() int64 {
	n := i.Current.Offset - i.Offset
	if i.finishedBeyond() {
		n += *i.Finished
	}
	return n
}

// kindOf is what kind of group the target group of some items is, or will be, and why they cannot go there: a share group has start
// offsets, and every other kind commits.
func kindOf(items []*Item, d inspect.Description) (kind inspect.GroupType, wrong string) {
	share := items[0].Row.Share
	switch target := d.Type == inspect.TypeShare; {
	case slices.ContainsFunc(items, func(i *Item) bool { return i.Row.Share != share }):
		return d.Type, "a share group and a group that commits would become one"
	case share && d.NotFound:
		return inspect.TypeShare, ""
	case d.NotFound || share == target:
	case target:
		return d.Type, "the target group is a share group, which stores no commits"
	case d.Type == "":
		return d.Type, "at the source it is a share group, and of what kind the target group is, is not known"
	default:
		return d.Type, fmt.Sprintf("at the source it is a share group, and the target group is a %s group", d.Type)
	}
	return d.Type, ""
}

// leaveRow leaves a row of a group that cannot take it alone, or refuses it.
func leaveRow(c *reset.Change, text string, o PlanOptions) {
	if o.IdleOnly {
		c.Action, c.To, c.Detail = checkpointfile.ActionLeave, nil, text
		return
	}
	refuseRow(c, text, "choose another name with {{map-group OLD=NEW}}")
}

// shareNotes say what of a share group does not come along, and what of the target's is lost.
func shareNotes(group string, items []*Item, rows []reset.Change) []Note {
	if !items[0].Row.Share {
		return nil
	}
	var carried []Row
	at := map[offset.Partition]Row{}
	for _, i := range items {
		at[i.Target] = i.Row
	}
	for _, c := range rows {
		if c.Action == checkpointfile.ActionCommit {
			carried = append(carried, at[c.Partition])
		}
	}
	var out []Note
	if text := LeftBehind(carried); text != "" {
		out = append(out, Note{Group: group, Text: text})
	}
	if text := reset.ShareNote(rows); text != "" {
		out = append(out, Note{Group: group, Text: text})
	}
	return out
}

// LeftBehind says what of share groups is not in their start offsets, and comes again where those are stored. It is empty for
// rows of other groups.
func LeftBehind(rows []Row) string {
	var finished int64
	unknown := 0
	for _, r := range rows {
		switch {
		case !r.Share || r.Committed == nil:
		case r.Acknowledged == nil:
			unknown++
		default:
			finished += *r.Acknowledged
		}
	}
	var out []string
	if finished > 0 {
		verb := "are"
		if finished == 1 {
			verb = "is"
		}
		out = append(out, fmt.Sprintf("up to %s that the source has acknowledged beyond its start offsets %s delivered again", text.Plural(finished, "record"), verb))
	}
	if unknown > 0 {
		out = append(out, fmt.Sprintf("on %s it is not known which records the source has acknowledged beyond its start offset: those are delivered again", text.Plural(unknown, "partition")))
	}
	return strings.Join(out, "; ")
}
