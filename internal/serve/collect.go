package serve

import (
	"maps"
	"slices"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/metrics"
	"github.com/koffset/koffset/offset"
)

// collection is what one refresh read, laid out for rendering. Its slices are used again by the next one.
type collection struct {
	cluster inspect.Cluster
	look    *inspect.Look
	groups  []groupData
	topics  []groupTopic
	rows    []rowData
	second  *collection // the other half, while it is read
}

type groupData struct {
	description *inspect.Description
	label       pair
	health      inspect.GroupHealth
	err         error
	activity    *inspect.Activity // nil where commits are not followed
}

// groupTopic is a group's share of one topic: its rows are rows[from:to].
type groupTopic struct {
	group, topic pair
	prefix       string // of its partitions' labels
	lag          int64
	committed    bool
	counted      bool // the lag of a partition is known
	from, to     int
}

type rowData struct {
	partition int32
	committed int64
	end       int64 // the high watermark
	lag       int64
	lagTime   inspect.LagTime
	verdicts  inspect.Verdicts
	hasCommit bool
	hasEnd    bool
	hasLag    bool
	member    *inspect.Member
	at        time.Time // of the last commit; zero where it is not known
}

func (c *collection) reset() {
	if c.second == nil {
		c.second = &collection{}
	}
	c.second.clear()
	c.clear()
}

func (c *collection) clear() {
	clear(c.groups)
	clear(c.topics)
	c.groups, c.topics, c.rows, c.look = c.groups[:0], c.topics[:0], c.rows[:0], nil
}

// add takes one row in, as Sampler.Look tells them: group by group, topic by topic.
func (c *collection) add(d *inspect.Description, r *inspect.Row, dg *inspect.Diagnosis) {
	if n := len(c.groups); n == 0 || c.groups[n-1].description != d {
		c.groups = append(c.groups, groupData{description: d, label: metrics.NewLabel("group", d.Name)})
	}
	g := &c.groups[len(c.groups)-1]
	if n := len(c.topics); n == 0 || c.topics[n-1].group != g.label || c.topics[n-1].topic.GetValue() != r.Topic {
		c.topics = append(c.topics, groupTopic{group: g.label, topic: metrics.NewLabel("topic", r.Topic), from: len(c.rows)})
		last := &c.topics[len(c.topics)-1]
		last.prefix = metrics.Prefix(last.group, last.topic)
	}
	t := &c.topics[len(c.topics)-1]
	row := rowData{partition: r.Partition.Partition, lag: dg.Lag, hasLag: dg.HasLag, lagTime: dg.LagTime, verdicts: dg.Verdicts, member: r.Member}
	switch {
	case r.Committed != nil:
		row.committed, row.hasCommit, t.committed = r.Committed.Offset, true, true
	case r.ShareStart != nil:
		row.committed, row.hasCommit = *r.ShareStart, true
	}
	if r.Bounds != nil {
		row.end, row.hasEnd = r.Bounds.End, true
	}
	c.rows = append(c.rows, row)
	t.to = len(c.rows)
	if dg.HasLag {
		t.lag, t.counted = t.lag+dg.Lag, true
	}
	g.health.Add(inspect.GroupPartition{Group: d.Name, Partition: r.Partition}, dg)
}

// join appends the half that was collected by the other goroutine.
func (c *collection) join() {
	from := len(c.rows)
	c.rows = append(c.rows, c.second.rows...)
	for _, t := range c.second.topics {
		t.from, t.to = t.from+from, t.to+from
		c.topics = append(c.topics, t)
	}
	c.groups = append(c.groups, c.second.groups...)
	c.second.clear()
}

// finish adds the groups that had no rows, with their errors, and sorts nothing: the snapshot is sorted.
func (c *collection) finish(l *inspect.Look) {
	c.look = l
	c.lastCommits()
	withRows := c.groups
	all := make([]groupData, 0, len(l.Snapshot.Groups))
	for i := range l.Snapshot.Groups {
		d := &l.Snapshot.Groups[i]
		g := groupData{description: d}
		if len(withRows) > 0 && withRows[0].description == d {
			g, withRows = withRows[0], withRows[1:]
		} else {
			g.label = metrics.NewLabel("group", d.Name)
		}
		g.activity = l.Snapshot.Activity[d.Name]
		if d.NotFound && g.health.Partitions == 0 {
			continue
		}
		if g.err = l.Snapshot.GroupErr(*d); g.err != nil {
			g.health.Health = inspect.Worst(g.health.Health, inspect.HealthUnknown)
		}
		if g.health.Health == "" {
			g.health.Health = inspect.HealthOK
			if g.health.Partitions == 0 {
				g.health.Health = inspect.HealthNoCommit
			}
		}
		all = append(all, g)
	}
	c.groups = all
}

// sortedTopics are the names of the snapshot's topics.
func (c *collection) sortedTopics() []string { return slices.Sorted(maps.Keys(c.look.Snapshot.Topics)) }

// lastCommits fills in when each partition last had a commit.
func (c *collection) lastCommits() {
	for i := range c.topics {
		t := &c.topics[i]
		a := c.look.Snapshot.Activity[t.group.GetValue()]
		if a == nil {
			continue
		}
		for j := t.from; j < t.to; j++ {
			c.rows[j].at = a.Parts[offset.Partition{Topic: t.topic.GetValue(), Partition: c.rows[j].partition}]
		}
	}
}
