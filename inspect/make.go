package inspect

// Facts and commits that were not read from a cluster: what callers make to ask pure functions about them.

import (
	"maps"
	"slices"

	"github.com/koffset/koffset/offset"
)

// NewFacts makes facts about no partition yet; Set adds them.
func NewFacts(topics map[string]Topic) *Facts {
	return &Facts{Topics: topics, byPart: map[offset.Partition]offset.Facts{}}
}

// NewCommits makes a group's stored offsets.
func NewCommits(group string, stored map[offset.Partition]offset.Committed) Commits {
	c := Commits{Group: group}
	for _, p := range slices.SortedFunc(maps.Keys(stored), offset.Partition.Compare) {
		row := CommitRow{Offset: stored[p].Offset, Partition: p.Partition, LeaderEpoch: stored[p].LeaderEpoch.Wire()}
		if m := stored[p].Metadata; m != "" {
			row.extra = &commitExtra{metadata: m}
		}
		if n := len(c.Topics); n == 0 || c.Topics[n-1].Topic != p.Topic {
			c.Topics = append(c.Topics, TopicCommits{Topic: p.Topic})
		}
		t := &c.Topics[len(c.Topics)-1]
		t.Rows = append(t.Rows, row)
	}
	return c
}
