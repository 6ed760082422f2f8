package migrate

import (
	"cmp"
	"context"
	"slices"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

// From is the source group and topic of what was carried; empty where an older koffset has not written them down.
type From struct {
	Group string `json:"source_group,omitempty"`
	Topic string `json:"source_topic,omitempty"`
}

// from names the source of an item.
func (i *Item) from() From { return From{i.Row.Group, i.Row.Topic} }

// gone finds what was carried and has no commit at the source any more, while the target still has one: the topic was deleted, or
// the commit was, or it expired, or it is hidden now. Nothing else tells of it: the row is in no export.
func (s *Syncer) gone(ctx context.Context, t *target, q Query, items []*Item) []*Item {
	if q.Covers == nil {
		return nil
	}
	there := map[checkpointfile.Key]bool{} // by the names at the source: where they go may have been changed since
	for _, i := range items {
		there[checkpointfile.Key{Group: i.Row.Group, Partition: i.Row.Partition}] = i.Row.Committed != nil && !i.Row.Gone || i.Row.Error != ""
	}
	var out []*Item
	for k, c := range s.carried {
		row := Row{Group: c.From.Group, Partition: offset.Partition{Topic: c.From.Topic, Partition: k.Partition.Partition}}
		if c.TakenOver || c.From == (From{}) || there[checkpointfile.Key{Group: row.Group, Partition: row.Partition}] ||
			slices.Contains(q.Partial, row.Group) || !q.Covers(row.Group, row.Topic) {
			continue
		}
		out = append(out, &Item{Row: row, Group: k.Group, Target: k.Partition})
	}
	slices.SortFunc(out, func(a, b *Item) int { return cmp.Or(cmp.Compare(a.Group, b.Group), a.Target.Compare(b.Target)) })
	t.readCommits(ctx, out)
	return slices.DeleteFunc(out, func(i *Item) bool { return i.Current == nil && !i.Unstable && i.Evidence.Err == nil })
}
