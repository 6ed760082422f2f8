package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// Replay makes events of the records of one partition of [Topic]. It is told the records and the ends of transactions in the
// order of the log, and Finish at the end. It is used by one goroutine at a time.
//
// It does what Kafka's coordinator does when it loads the partition: a commit of a transaction counts from the marker that ends the
// transaction, unless a later commit was stored in between; a tombstone also removes what transactions hold for the partition.
type Replay struct {
	each      func(*Event)
	wanted    map[string]bool // nil is every group
	retention time.Duration
	counts    Counts
	coverage  Coverage

	next   int64 // the offset that comes next where none is missing
	last   time.Time
	groups map[string]*groupState
	open   map[int64][]pending
	dirty  []*groupState // whose members changed at the time of the last record
	// touched is told of each record about a group that is no commit; nil for nobody.
	touched func(group string)

	event  Event
	commit offset.Committed
	delta  int64
}

// Options of a [Replay].
type Options struct {
	// From is the offset that the records begin at.
	From int64
	// Groups are the groups to tell of; nil is all.
	Groups []string
	// Retention is how long Kafka keeps the commits of a group without members (offsets.retention.minutes); 0 is not known.
	Retention time.Duration
}

// NewReplay begins a replay. each is told the events in the order in which they took effect.
func NewReplay(o Options, each func(*Event)) *Replay {
	r := &Replay{each: each, retention: o.Retention, next: o.From, groups: map[string]*groupState{}, open: map[int64][]pending{}}
	if o.From > 0 {
		r.coverage.missing = true
	}
	if o.Groups != nil {
		r.wanted = make(map[string]bool, len(o.Groups))
		for _, g := range o.Groups {
			r.wanted[g] = true
		}
	}
	return r
}

// Counts are what was met so far.
func (r *Replay) Counts() Counts { return r.counts }

// Coverage is what is known to be missing so far.
func (r *Replay) Coverage() Coverage { return r.coverage }

// Coverage says up to which moment nothing is missing from the log.
type Coverage struct {
	missing bool
	start   time.Time // of the first record, where the log does not start at 0
	after   time.Time // the time of the last record before the first offset that is missing
}

// CompleteAt says that no record of that time or before is missing.
func (c Coverage) CompleteAt(t time.Time) bool { return !c.missing || t.Before(c.after) }

// groupState is what is known of one group.
type groupState struct {
	name   string
	topics map[string]*topicState
	life   life
}

type topicState struct {
	name  string
	parts map[int32]*partState
}

// partState is what a group has for one partition.
type partState struct {
	offset.Partition
	state state
	offset.Committed
	record    int64 // of what is stored
	at        time.Time
	expires   time.Time // where the commit itself says when, as those of Kafka before 2.1
	id        [16]byte
	committed bool // some commit was seen, so that id and at mean something
}

type state uint8

const (
	notKnown state = iota // nothing seen yet, or something that cannot be read
	stored
	removed
)

// pending is a commit of a transaction that is not over.
type pending struct {
	group  *groupState
	part   *partState
	value  offset.Committed
	at     time.Time
	record int64
	id     [16]byte
}

// Record is told the next record.
func (r *Replay) Record(raw *Raw) {
	r.step(raw.Offset, raw.Time)
	r.counts.Records++
	t, err := typeOf(raw.Key)
	if err != nil {
		r.blind(raw, "", err)
		return
	}
	if !t.known() {
		r.counts.Unknown++
		return
	}
	name, err := groupOf(raw.Key)
	switch {
	case err != nil && (t == commitRecord || t == oldCommitRecord):
		r.blind(raw, "", err)
		return
	case err != nil:
		r.damaged(raw, err)
		return
	}
	if r.wanted != nil && !r.wanted[string(name)] {
		return
	}
	g := r.group(name)
	switch t {
	case oldCommitRecord, commitRecord:
		r.commitRecord(g, raw)
	default:
		if r.touched != nil {
			r.touched(g.name)
		}
		if err := r.lifeRecord(g, t, raw); err != nil {
			r.damaged(raw, err)
		}
	}
}

// step notes an offset, and that what changed before a later moment is complete.
func (r *Replay) step(at int64, t time.Time) {
	if r.last.IsZero() && r.coverage.missing {
		r.coverage.start = t
	}
	if at > r.next && !r.coverage.missing {
		r.coverage = Coverage{missing: true, after: r.last}
	}
	r.next = max(r.next, at+1)
	if len(r.dirty) > 0 && !t.Equal(r.last) {
		r.flush()
	}
	r.last = t
}

// damaged counts a record that cannot be decoded.
func (r *Replay) damaged(raw *Raw, err error) {
	r.counts.Damaged++
	if errors.Is(err, errNewer) {
		r.counts.Newer++
	}
	if r.counts.FirstDamaged == nil {
		r.counts.FirstDamaged = fmt.Errorf("the record at %d: %w", raw.Offset, err)
	}
}

// blind tells of a record that may be a commit of anybody, or of anything of one group.
func (r *Replay) blind(raw *Raw, group string, err error) {
	r.damaged(raw, err)
	r.event = Event{Kind: Unreadable, Group: group, At: raw.Time, Written: raw.Time, Record: raw.Offset, Err: err}
	r.each(&r.event)
}

func (r *Replay) group(name []byte) *groupState {
	g := r.groups[string(name)]
	if g == nil {
		g = &groupState{name: string(name), topics: map[string]*topicState{}}
		r.groups[g.name] = g
	}
	return g
}

func (g *groupState) part(topic []byte, n int32) *partState {
	t := g.topics[string(topic)]
	if t == nil {
		t = &topicState{name: string(topic), parts: map[int32]*partState{}}
		g.topics[t.name] = t
	}
	p := t.parts[n]
	if p == nil {
		p = &partState{Partition: offset.Partition{Topic: t.name, Partition: n}}
		t.parts[n] = p
	}
	return p
}

func (r *Replay) commitRecord(g *groupState, raw *Raw) {
	topic, n, err := commitKey(raw.Key)
	if err != nil {
		r.blind(raw, g.name, err)
		return
	}
	p := g.part(topic, n)
	if raw.Value == nil {
		r.tombstone(g, p, raw)
		return
	}
	var v kmsg.OffsetCommitValue
	if err := commitValue(raw.Value, &v); err != nil {
		r.damaged(raw, err)
		r.begin(Unreadable, g, p, raw.Time, raw.Time, raw.Offset)
		r.event.Err = err
		p.state, p.record = notKnown, raw.Offset
		r.each(&r.event)
		return
	}
	value := offset.Committed{Offset: v.Offset, LeaderEpoch: offset.EpochOf(v.LeaderEpoch), Metadata: v.Metadata}
	if value.Metadata != p.Metadata { // it is part of the record, and outlives it
		value.Metadata = strings.Clone(value.Metadata)
	} else {
		value.Metadata = p.Metadata
	}
	if raw.Transaction {
		r.open[raw.Producer] = append(r.open[raw.Producer], pending{g, p, value, raw.Time, raw.Offset, v.TopicID})
		return
	}
	r.apply(Commit, pending{g, p, value, raw.Time, raw.Offset, v.TopicID}, raw.Time)
	p.expires = time.Time{}
	if v.Version == 1 && v.ExpireTimestamp > 0 {
		p.expires = time.UnixMilli(v.ExpireTimestamp)
	}
}

// begin fills the event with what all events of a partition have.
func (r *Replay) begin(k Kind, g *groupState, p *partState, at, written time.Time, record int64) {
	r.flush()
	r.event = Event{Kind: k, Group: g.name, Partition: p.Partition, At: at, Written: written, Record: record, Life: g.life.now(r.coverage.missing)}
	if p.committed && p.state == stored {
		r.event.Since = p.at
	}
}

// apply stores a commit, and tells of it.
func (r *Replay) apply(k Kind, c pending, at time.Time) {
	p := c.part
	r.begin(k, c.group, p, at, c.at, c.record)
	e := &r.event
	r.commit, e.ID = c.value, c.id
	e.Commit = &r.commit
	switch {
	case p.state != stored:
	case p.id != c.id && p.id != [16]byte{} && c.id != [16]byte{}:
		e.Mark = NewTopic
	default:
		r.delta = c.value.Offset - p.Offset
		if (r.delta < 0) == (c.value.Offset < p.Offset) { // numbers that no log has may be too far apart
			e.Delta = &r.delta
		}
		switch {
		case c.value.Offset < p.Offset:
			e.Mark = Rewind
		case c.value.Offset > p.Offset && e.Life.Empty() && c.group.life.had:
			e.Mark = Skip
		}
	}
	p.state, p.Committed, p.record, p.at, p.id, p.committed = stored, c.value, c.record, at, c.id, true
	r.each(e)
}

// tombstone removes a commit, and what transactions hold for the partition.
func (r *Replay) tombstone(g *groupState, p *partState, raw *Raw) {
	for _, id := range slices.Sorted(maps.Keys(r.open)) { // in one order: what is told is the same each time
		r.open[id] = slices.DeleteFunc(r.open[id], func(c pending) bool {
			if c.part != p {
				return false
			}
			r.tell(Superseded, c, raw.Time)
			return true
		})
	}
	r.begin(Deleted, g, p, raw.Time, raw.Time, raw.Offset)
	if p.state == stored {
		r.commit = p.Committed
		r.event.Commit, r.event.ID = &r.commit, p.id
		r.event.Cause = r.cause(p, raw.Time)
	}
	p.state, p.record = removed, raw.Offset
	r.each(&r.event)
}

// cause says whether a commit was old enough to expire.
func (r *Replay) cause(p *partState, at time.Time) Cause {
	switch {
	case !p.expires.IsZero():
		if at.Before(p.expires) {
			return TooYoung
		}
		return MayExpire
	case r.retention == 0:
		return CauseUnknown
	case at.Sub(p.at) < r.retention:
		return TooYoung
	}
	return MayExpire
}

// tell tells of a transaction's commit that changes nothing.
func (r *Replay) tell(k Kind, c pending, at time.Time) {
	r.begin(k, c.group, c.part, at, c.at, c.record)
	r.commit = c.value
	r.event.Commit, r.event.ID = &r.commit, c.id
	r.each(&r.event)
}

// Marker is told the end of a transaction, in its place among the records.
func (r *Replay) Marker(m Marker) {
	r.step(m.Offset, m.Time)
	held, ok := r.open[m.Producer]
	if !ok {
		r.counts.Orphans++
		return
	}
	delete(r.open, m.Producer)
	for i, c := range held {
		switch {
		case !m.Commit:
			r.tell(Aborted, c, m.Time)
		case c.part.record > c.record,
			slices.ContainsFunc(held[i+1:], func(later pending) bool { return later.part == c.part }):
			r.tell(Superseded, c, m.Time)
		default:
			r.apply(Transactional, c, m.Time)
		}
	}
}

// Finish is told where the log ends, and tells what is not over.
func (r *Replay) Finish(end int64) {
	if r.next < end && !r.coverage.missing {
		r.coverage = Coverage{missing: true, after: r.last}
	}
	r.flush()
	var all []pending
	for _, held := range r.open {
		all = append(all, held...)
	}
	slices.SortFunc(all, func(a, b pending) int { return int(a.record - b.record) })
	for _, c := range all {
		r.tell(Pending, c, c.at)
	}
	r.open = map[int64][]pending{}
}

// eachOpen tells which partitions transactions hold commits for.
func (r *Replay) eachOpen(tell func(group string, p offset.Partition)) {
	for _, held := range r.open {
		for _, c := range held {
			tell(c.group.name, c.part.Partition)
		}
	}
}

// forget drops what is known of groups that are not to be kept, but for what transactions hold.
func (r *Replay) forget(keep func(group string) bool) {
	held := map[*groupState]bool{}
	for _, list := range r.open {
		for _, c := range list {
			held[c.group] = true
		}
	}
	maps.DeleteFunc(r.groups, func(name string, g *groupState) bool { return !keep(name) && !held[g] && !g.life.dirty })
}
