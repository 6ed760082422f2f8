package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/offset"
)

// Activity is what Kafka's record of the commits told of one group since it is followed. Asking a coordinator tells none of it.
type Activity struct {
	// Since is from when on every commit is known.
	Since time.Time
	// Commits is how many were seen since the group is followed; where Since is later than that, there may have been more.
	Commits int64
	// Rate is how many a second there were between the last two looks.
	Rate    float64
	HasRate bool
	// Last is when the group last committed, zero where it has not since Since.
	Last time.Time
	// By are the members that it had then, none for none; it means something where HasBy is set.
	By    []Member
	HasBy bool
	// Parts is Last by partition, of what the group still has.
	Parts map[offset.Partition]time.Time
}

// LastText says when a group last committed, as seen at now: how long ago, or that it was longer ago than the commits are known. It
// is empty where nothing is known.
func (a *Activity) LastText(now time.Time, p *offset.Partition) string {
	if a == nil {
		return ""
	}
	last := a.Last
	if p != nil {
		last = a.Parts[*p]
	}
	age := func(t time.Time) string {
		if d := now.Sub(t).Truncate(time.Second); d > 0 {
			return offset.FormatDuration(d)
		}
		return "0s"
	}
	if last.IsZero() {
		return ">" + age(a.Since)
	}
	return age(last)
}

// Who says who was in the group at its last commit; empty where that is not known.
func (a *Activity) Who() string {
	if a == nil || !a.HasBy {
		return ""
	}
	if len(a.By) == 0 {
		return "no members"
	}
	const shown = 2
	var names []string
	for _, m := range a.By[:min(shown, len(a.By))] {
		names = append(names, m.Where())
	}
	if n := len(a.By) - shown; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// Set notes what a group has stored for a partition, where that was learned otherwise than by asking for it.
func (c *Commits) Set(p offset.Partition, v offset.Committed) {
	i, ok := c.topic(p.Topic)
	if !ok {
		c.Topics = slices.Insert(c.Topics, i, TopicCommits{Topic: p.Topic})
	}
	rows := &c.Topics[i].Rows
	j, ok := rowOf(*rows, p.Partition)
	if !ok {
		*rows = slices.Insert(*rows, j, CommitRow{Partition: p.Partition})
	}
	r := &(*rows)[j]
	r.Offset, r.LeaderEpoch, r.extra = v.Offset, v.LeaderEpoch.Wire(), nil
	if v.Metadata != "" {
		r.extra = &commitExtra{metadata: v.Metadata}
	}
}

// Remove notes that a group has nothing stored for a partition any more.
func (c *Commits) Remove(p offset.Partition) {
	i, ok := c.topic(p.Topic)
	if !ok {
		return
	}
	rows := &c.Topics[i].Rows
	j, ok := rowOf(*rows, p.Partition)
	if !ok {
		return
	}
	if *rows = slices.Delete(*rows, j, j+1); len(*rows) == 0 {
		c.Topics = slices.Delete(c.Topics, i, i+1)
	}
}

// SetUnstable notes whether a transaction holds a commit for a partition. As in the answer of a coordinator, one that the group has
// nothing stored for is left out.
func (c *Commits) SetUnstable(p offset.Partition, unstable bool) {
	rows := c.on(p.Topic)
	j, ok := rowOf(rows, p.Partition)
	if !ok || rows[j].Unstable() == unstable {
		return
	}
	var x commitExtra
	if rows[j].extra != nil {
		x = *rows[j].extra
	}
	x.unstable = unstable
	rows[j].extra = &x
	if x == (commitExtra{}) {
		rows[j].extra = nil
	}
}

// Unstable says that a transaction holds a commit for one of the partitions.
func (c *Commits) Unstable() bool {
	return slices.ContainsFunc(c.Topics, func(t TopicCommits) bool { return slices.ContainsFunc(t.Rows, CommitRow.Unstable) })
}

// Has says that the group has something stored on a topic.
func (c *Commits) Has(topic string) bool { _, ok := c.topic(topic); return ok }

func (c *Commits) topic(name string) (int, bool) {
	return slices.BinarySearchFunc(c.Topics, name, func(t TopicCommits, name string) int { return strings.Compare(t.Topic, name) })
}

func rowOf(rows []CommitRow, n int32) (int, bool) {
	return slices.BinarySearchFunc(rows, n, func(r CommitRow, n int32) int { return int(r.Partition - n) })
}
