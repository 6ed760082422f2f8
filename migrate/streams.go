package migrate

import (
	"slices"

	"github.com/koffset/koffset/reset"
)

// LeaveInternal takes the rows of internal topics of Kafka Streams applications out: the application makes those topics
// anew on the target, and their offsets belong to its local state. Topics that named is true for stay. left are the topics
// that were taken out, by group, sorted.
func LeaveInternal(rows []Row, named func(topic string) bool) (kept []Row, left map[string][]string) {
	left = map[string][]string{}
	for _, r := range rows {
		if !reset.InternalTopic(r.Group, r.Topic) || named(r.Topic) {
			kept = append(kept, r)
			continue
		}
		if i, there := slices.BinarySearch(left[r.Group], r.Topic); !there {
			left[r.Group] = slices.Insert(left[r.Group], i, r.Topic)
		}
	}
	return kept, left
}
