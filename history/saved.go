package history

import (
	"fmt"

	"github.com/koffset/koffset/offset"
)

// Saved is what a group had at the moment, as a source of offsets: a partition whose commit then is not known is in it as not
// known, and one that had none is not in it.
func (t *Then) Saved(r *Report, group, clusterID string) offset.Saved {
	out := offset.Saved{Offsets: map[offset.Partition]offset.Foreign{}, Origin: offset.Origin{
		From: fmt.Sprintf("the history of group %s", offset.NameText(group)), ClusterID: clusterID, At: t.At}}
	part := r.For(group)
	for _, p := range t.Partitions(group) {
		a := t.Of(group, p, part.Coverage)
		if part.Err != nil { // what was not read may be a later commit
			out.Offsets[p] = offset.Foreign{Unknown: &offset.Unknown{Why: part.Err.Error()}}
			continue
		}
		switch {
		case !a.Known:
			u := &offset.Unknown{Why: a.why()}
			if a.Oldest != nil && a.Oldest.Commit != nil {
				u.Oldest, u.OldestAt = a.Oldest.Commit, a.Oldest.At
				out.Origin.AddTopic(p.Topic, a.Oldest.TopicID)
			}
			out.Offsets[p] = offset.Foreign{Unknown: u}
		case a.Commit != nil:
			out.Offsets[p] = offset.Foreign{Committed: *a.Commit, Then: a.At}
			out.Origin.AddTopic(p.Topic, a.TopicID)
		}
	}
	switch rest := t.Of(group, offset.Partition{}, part.Coverage); {
	case part.Err != nil:
		out.Rest = &offset.Unknown{Why: part.Err.Error()}
	case !rest.Known:
		out.Rest = &offset.Unknown{Why: rest.why()}
	}
	return out
}

// why says why an answer is not known.
func (a Answer) why() string {
	switch {
	case a.Unreadable:
		return "a record of that time cannot be read"
	case a.Oldest == nil:
		return "Kafka's compaction may have removed its commits of that time, and no later one is left"
	}
	return "Kafka's compaction may have removed its commits of that time"
}
