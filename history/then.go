package history

import (
	"maps"
	"slices"
	"time"

	"github.com/koffset/koffset/offset"
)

// Then finds out where groups stood at a moment. It is told the events of a [Replay] that began at the log's start, by one
// goroutine at a time.
type Then struct {
	At time.Time
	// Tombstones is how long Kafka keeps the records of removed commits (delete.retention.ms of [Topic]); 0 is not known.
	Tombstones time.Duration
	// Now is when the log was read to its end.
	Now time.Time

	groups map[string]map[offset.Partition]*thenPart
	// blind are the times of records up to At that may be a commit of anybody.
	blind []time.Time
	// blindOf is the same for one group.
	blindOf map[string][]time.Time
}

// thenPart is what was seen of one partition of a group.
type thenPart struct {
	state state
	Standing
	// first is the first event that moved it, which may be after the moment.
	first *Standing
}

// Ever is the At of a Then that finds out where groups stand now: no broker's clock is ahead of it.
func Ever() time.Time { return time.Unix(1<<40, 0) }

// LastCommit is when what a group has for a partition was committed, by a Then of [Ever]. known is false where a record cannot be
// read, or none of a commit is left: the group has none, or it came after the log was read.
func (t *Then) LastCommit(r *Report, group string, p offset.Partition) (at time.Time, known bool) {
	of := r.For(group)
	a := t.Of(group, p, of.Coverage)
	if of.Err != nil || !a.Known || a.Commit == nil {
		return time.Time{}, false
	}
	return a.At, true
}

// Standing is what a group had for a partition, and since when.
type Standing struct {
	// Commit is nil where the commit was removed.
	Commit *offset.Committed
	At     time.Time
	// TopicID is empty where Kafka did not write it down.
	TopicID string
}

// Add is told an event.
func (t *Then) Add(e *Event) {
	if !e.Kind.Moves() {
		return
	}
	if e.Topic == "" { // a record whose key cannot be read; no topic's name is empty
		if !e.At.After(t.At) {
			if e.Group == "" {
				t.blind = append(t.blind, e.At)
			} else {
				if t.blindOf == nil {
					t.blindOf = map[string][]time.Time{}
				}
				t.blindOf[e.Group] = append(t.blindOf[e.Group], e.At)
			}
		}
		return
	}
	if t.groups == nil {
		t.groups = map[string]map[offset.Partition]*thenPart{}
	}
	parts := t.groups[e.Group]
	if parts == nil {
		parts = map[offset.Partition]*thenPart{}
		t.groups[e.Group] = parts
	}
	p := parts[e.Partition]
	if p == nil {
		p = &thenPart{}
		parts[e.Partition] = p
	}
	if p.first != nil && e.At.After(t.At) {
		return
	}
	s := Standing{At: e.At, TopicID: e.TopicID()}
	if e.Commit != nil && e.Kind != Deleted {
		c := *e.Commit
		s.Commit = &c
	}
	if p.first == nil && e.Kind != Unreadable {
		first := s
		p.first = &first
	}
	if e.At.After(t.At) {
		return
	}
	p.Standing, p.state = s, stored
	switch e.Kind {
	case Deleted:
		p.state = removed
	case Unreadable:
		p.state = notKnown
	}
}

// Answer is what is known of a partition at the moment.
type Answer struct {
	// Known says that Commit is the answer: nil for none.
	Known bool
	Standing
	// Unreadable says that it is not known because of a record that cannot be read.
	Unreadable bool
	// Oldest is the first thing that is known of it after the moment, where the answer is not known; nil for nothing.
	Oldest *Standing
}

// Of is what is known of one partition of a group.
func (t *Then) Of(group string, p offset.Partition, c Coverage) Answer {
	seen := t.groups[group][p]
	switch {
	case seen == nil || seen.state == notKnown && seen.At.IsZero():
		return t.before(group, seen, c)
	case seen.state == notKnown || t.hiddenSince(group, seen.At):
		return Answer{Unreadable: true}
	}
	return Answer{Known: true, Standing: seen.Standing}
}

// before is the answer where nothing is left of the partition up to the moment.
func (t *Then) before(group string, seen *thenPart, c Coverage) Answer {
	var a Answer
	if seen != nil {
		a.Oldest = seen.first
	}
	if a.Unreadable = t.hiddenSince(group, time.Time{}); a.Unreadable {
		return a
	}
	// Where no record is missing there was none. And a commit that was there would have left a tombstone, since it is gone: those
	// of the last hours are all still there.
	a.Known = c.CompleteAt(t.At) || seen == nil && t.Tombstones > 0 && t.At.After(t.Now.Add(-t.Tombstones)) && c.start.Before(t.At)
	return a
}

// hiddenSince says that a record which cannot be read may have changed what a group has, from a time up to the moment.
func (t *Then) hiddenSince(group string, since time.Time) bool {
	late := func(at time.Time) bool { return !at.Before(since) }
	return slices.ContainsFunc(t.blind, late) || slices.ContainsFunc(t.blindOf[group], late)
}

// Partitions are those that a group has a record of, sorted.
func (t *Then) Partitions(group string) []offset.Partition {
	return slices.SortedFunc(maps.Keys(t.groups[group]), offset.Partition.Compare)
}
