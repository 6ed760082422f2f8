package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

// Query says what a snapshot holds.
type Query struct {
	// Groups are the groups to read, as the list has them. A group that is not in the list may be given with its name alone.
	Groups []Group
	// Topics restricts the rows to matching topics; nil is every topic that the groups have to do with.
	Topics *offset.Matcher
	// Wanted are topics whose every partition is shown for every group, committed or not; Only lists partitions of them
	// where not all are wanted.
	Wanted []offset.TopicSpec
	// CommittedOnly leaves a group out that has nothing to do with the wanted topics.
	CommittedOnly bool
	Isolation     offset.Isolation
	// Ahead is what was begun to be read of the groups; it is used if it is of exactly Groups.
	Ahead *Ahead
	// Standing is what was read of the groups already; nil reads it.
	Standing *Standing
	// SkipDescribe leaves the members out, for callers that only want offsets.
	SkipDescribe bool
}

// Snapshot is what a cluster said about some groups. Commits were read before ends, so that a busy group does not look
// as if it were past the end of its log.
type Snapshot struct {
	Query   Query
	Groups  []Description // sorted by name
	commits map[string]Commits
	Topics  map[string]Topic
	Log     Log
	// Share holds the start offsets of share groups, by group.
	Share map[string]ShareOffsets
	// Activity and Unfollowed are as a Standing has them.
	Activity   map[string]*Activity
	Unfollowed error
}

// Read takes a snapshot: describe, commits, then the metadata and bounds of every topic that occurs, each once. A commit
// past the end of the log is looked at a second time before it is believed. The error is set only where nothing could be
// read; everything else is an error on its group or row.
func Read(ctx context.Context, cl *kgo.Client, q Query) (*Snapshot, error) {
	s := &Snapshot{Query: q}
	names := make([]string, 0, len(q.Groups))
	for _, g := range q.Groups {
		names = append(names, g.Name)
	}
	at, ok := q.Ahead.take(q.Groups, !q.SkipDescribe)
	switch {
	case ok:
	case q.Standing != nil:
		at = *q.Standing
	default:
		at = readStanding(ctx, cl, q.Groups, !q.SkipDescribe)
	}
	s.commits, s.Share, s.Activity, s.Unfollowed = at.Commits, at.Share, at.Activity, at.Unfollowed
	desc := at.Groups
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		s.Groups = append(s.Groups, desc[n])
	}
	if err := s.readLogs(ctx, cl); err != nil {
		return nil, err
	}
	s.confirmPastEnd(ctx, cl)
	return s, nil
}

// Topics that some group committed to, is assigned, or that were asked for.
func (s *Snapshot) topicNames() []string {
	set := map[string]bool{}
	for _, c := range s.commits {
		for _, t := range c.Topics {
			set[t.Topic] = true
		}
	}
	for _, d := range s.Groups {
		for _, m := range d.Members {
			for _, p := range m.Assigned {
				set[p.Topic] = true
			}
		}
	}
	for _, sh := range s.Share {
		for _, r := range sh.Rows {
			set[r.Topic] = true
		}
	}
	for t := range set {
		if s.Query.Topics != nil && !s.Query.Topics.Match(t) {
			delete(set, t)
		}
	}
	for _, w := range s.Query.Wanted {
		set[w.Topic] = true
	}
	delete(set, "")
	return slices.Sorted(maps.Keys(set))
}

func (s *Snapshot) readLogs(ctx context.Context, cl *kgo.Client) error {
	var err error
	if s.Topics, err = ReadTopics(ctx, cl, s.topicNames()); err != nil {
		return err
	}
	parts := Partitions{}
	for name, t := range s.Topics {
		if t.Err != nil {
			continue
		}
		for _, p := range t.Partitions {
			if p.Err == nil {
				parts[name] = append(parts[name], p.Number)
			}
		}
	}
	s.Log = readBounds(ctx, cl, s.Topics, parts)
	return nil
}

// confirmPastEnd looks again at the ends of partitions whose commit lies past them: a commit read from a coordinator that
// was ahead of a leader's answer is no fault. What stays past the end keeps its first bounds.
func (s *Snapshot) confirmPastEnd(ctx context.Context, cl *kgo.Client) {
	again := Partitions{}
	for _, c := range s.commits {
		for _, t := range c.Topics {
			for _, r := range t.Rows {
				p := offset.Partition{Topic: t.Topic, Partition: r.Partition}
				if l, ok := s.Log.At(p); ok && l.Err == nil && r.Offset > l.Bounds.End {
					again.Add(p)
				}
			}
		}
	}
	if len(again) == 0 {
		return
	}
	again.Compact()
	for p, end := range readEnds(ctx, cl, s.Topics, again) {
		l := &s.Log[p.Topic][p.Partition]
		l.Bounds.End = max(l.Bounds.End, end)
		l.Bounds.LastStable = max(l.Bounds.LastStable, l.Bounds.Start)
	}
}

// Row is one partition of one group.
type Row struct {
	Group string
	offset.Partition
	Committed *offset.Committed
	// ShareStart is a share group's start offset: the first record that is not finished.
	ShareStart *int64
	// Acknowledged is how many offsets beyond it are finished already, nil where that is not known.
	Acknowledged *int64
	Bounds       *offset.Bounds
	Verdict
	Unstable bool
	Member   *Member
	TopicID  string
	Err      error
}

// Commits returns what a group has stored.
func (s *Snapshot) Commits(group string) Commits { return s.commits[group] }

// GroupErr is why a group's rows are missing or incomplete: its describe or its commits failed.
func (s *Snapshot) GroupErr(d Description) error {
	c := s.commits[d.Name]
	sh := s.Share[d.Name]
	return errors.Join(d.Err, c.Err, sh.Err)
}

// Rows are a group's partitions, sorted: every one that it committed, that a member reads, that was asked for, and the
// others of the topics that it commits to, since a partition without a commit starts somewhere else.
func (s *Snapshot) Rows(d Description) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		members := map[offset.Partition]*Member{}
		for i := range d.Members {
			for _, p := range d.Members[i].Assigned {
				members[p] = &d.Members[i]
			}
		}
		if d.Type == TypeShare {
			s.shareRows(d, yield)
			return
		}
		commits := s.commits[d.Name]
		for _, topic := range s.topicsOf(d, commits) {
			b := s.batch(d.Name, topic)
			ns := s.numbersOf(topic, commits, d)
			b.stored = commits.on(topic)
			b.committed = make([]offset.Committed, len(ns))
			b.lags = make([]int64, len(ns))
			for _, n := range ns {
				if !yield(b.row(n, members[offset.Partition{Topic: topic, Partition: n}])) {
					return
				}
			}
		}
	}
}

// batch makes the rows of one group on one topic. What the rows point to is allocated once for all of them: a snapshot of
// a hundred thousand rows spent most of its time on three small allocations a row.
type batch struct {
	group     string
	topic     Topic
	log       []PartitionLog
	iso       offset.Isolation
	stored    []CommitRow // sorted; the rows before the current one are cut off
	committed []offset.Committed
	lags      []int64
}

func (s *Snapshot) batch(group, topic string) *batch {
	t := s.Topics[topic]
	t.Name = topic
	return &batch{group: group, topic: t, log: s.Log[topic], iso: s.Query.Isolation}
}

// row makes the row of a partition; it is called with ascending numbers.
func (b *batch) row(n int32, m *Member) Row {
	r := Row{Group: b.group, Partition: offset.Partition{Topic: b.topic.Name, Partition: n}, Member: m, TopicID: b.topic.id}
	for len(b.stored) > 0 && b.stored[0].Partition < n {
		b.stored = b.stored[1:]
	}
	if len(b.stored) > 0 && b.stored[0].Partition == n {
		c := b.stored[0]
		if c.has() {
			b.committed[0] = c.value()
			r.Committed, b.committed = &b.committed[0], b.committed[1:]
		}
		r.Unstable, r.Err = c.Unstable(), c.Err()
	}
	if n >= 0 && int(n) < len(b.log) {
		if l := &b.log[n]; l.Err != nil {
			r.Err = errors.Join(r.Err, l.Err)
		} else if l.known != 0 {
			r.Bounds = &l.Bounds
		}
	}
	r.Verdict = judge(r.Committed, r.Unstable, r.Bounds, b.iso, &b.lags[0])
	b.lags = b.lags[1:]
	t := b.topic
	switch {
	case errors.Is(t.Err, kerr.UnknownTopicOrPartition) || t.Err == nil && !t.Has(n):
		r.Status, r.Err = StatusUnknownTopic, errors.Join(r.Err, kerr.UnknownTopicOrPartition)
	case t.Err != nil:
		r.Status, r.Err = StatusError, errors.Join(r.Err, t.Err)
	case r.Bounds == nil:
		r.Status = StatusError
		if r.Err == nil {
			r.Err = leaderErr(t, n)
		}
	case r.Err != nil:
		r.Status = StatusError
	}
	return r
}

// leader is who led a partition when the snapshot was taken.
func (s *Snapshot) leader(p offset.Partition) (node int32, ok bool) {
	return LeaderOf(s.Topics, p)
}

func leaderErr(t Topic, n int32) error {
	if err := t.PartitionErr(n); err != nil {
		return err
	}
	return fmt.Errorf("the bounds of %s:%d were not read", t.Name, n)
}

func (s *Snapshot) chosen(topic string) bool {
	if len(s.Query.Wanted) > 0 {
		return slices.ContainsFunc(s.Query.Wanted, func(w offset.TopicSpec) bool { return w.Topic == topic })
	}
	return s.Query.Topics == nil || s.Query.Topics.Match(topic)
}

// chosenPartition is chosen for one partition: a topic may be asked for by some of its numbers.
func (s *Snapshot) chosenPartition(p offset.Partition) bool {
	if len(s.Query.Wanted) == 0 {
		return s.chosen(p.Topic)
	}
	return slices.ContainsFunc(s.Query.Wanted, func(w offset.TopicSpec) bool {
		return w.Topic == p.Topic && (len(w.Partitions) == 0 || slices.Contains(w.Partitions, p.Partition))
	})
}

func (s *Snapshot) topicsOf(d Description, c Commits) []string {
	set := map[string]bool{}
	for _, t := range c.Topics {
		set[t.Topic] = true
	}
	for _, m := range d.Members {
		for _, p := range m.Assigned {
			set[p.Topic] = true
		}
	}
	if !s.Query.CommittedOnly {
		for _, w := range s.Query.Wanted {
			set[w.Topic] = true
		}
	}
	for t := range set {
		if !s.chosen(t) || t == "" {
			delete(set, t)
		}
	}
	return slices.SortedFunc(maps.Keys(set), strings.Compare)
}

// numbersOf are the partitions of a topic that a group's rows show.
func (s *Snapshot) numbersOf(topic string, c Commits, d Description) []int32 {
	t := s.Topics[topic]
	var ns []int32
	extra := false
	if t.Err == nil {
		ns = t.Numbers()
	}
	for _, r := range c.on(topic) {
		if !t.Has(r.Partition) {
			ns, extra = append(ns, r.Partition), true
		}
	}
	for _, m := range d.Members {
		for _, p := range m.Assigned {
			if p.Topic == topic && !t.Has(p.Partition) {
				ns, extra = append(ns, p.Partition), true
			}
		}
	}
	for _, w := range s.Query.Wanted {
		for _, n := range w.Partitions {
			// What was asked for by number has a row, also where the topic has no such partition or may not be described.
			if w.Topic == topic && !t.Has(n) {
				ns, extra = append(ns, n), true
			}
		}
	}
	if extra {
		slices.Sort(ns)
		ns = slices.Compact(ns)
	}
	for _, w := range s.Query.Wanted {
		if w.Topic == topic && len(w.Partitions) > 0 {
			ns = slices.DeleteFunc(ns, func(n int32) bool { return !slices.Contains(w.Partitions, n) })
		}
	}
	return ns
}

// Totals are the sums over a group's rows. Incomplete says that a row could not be counted; the sums are then too small.
type Totals struct {
	Topics, Partitions int
	Lag                int64
	// Uncommitted partitions are not in Lag: how far behind they are depends on where their reader will start.
	Uncommitted   int
	ExpiredUnread int64
	Unhealthy     int
	Status        Status
	Incomplete    bool
	Errors        int
	// Committed is false for a group that has stored nothing at all.
	Committed bool

	last string // the topic of the row before
}

// Sum adds up a group's rows.
func (s *Snapshot) Sum(d Description) Totals {
	t := Totals{Status: StatusOK}
	for r := range s.Rows(d) {
		t.Add(r)
	}
	if err := s.GroupErr(d); err != nil {
		t.Status, t.Incomplete, t.Errors = StatusError, true, t.Errors+1
	}
	return t
}

// Add counts one row. Rows of one topic follow each other.
func (t *Totals) Add(r Row) {
	if r.Topic != t.last {
		t.Topics, t.last = t.Topics+1, r.Topic
	}
	t.Partitions++
	t.Status = Worse(t.Status, r.Status)
	t.ExpiredUnread += r.ExpiredUnread
	if r.Committed != nil || r.ShareStart != nil {
		t.Committed = true
	}
	switch {
	case r.Lag != nil:
		t.Lag += *r.Lag
	case r.Status == StatusNoCommit:
		t.Uncommitted++
	default:
		t.Incomplete = true
	}
	if r.Status.Unhealthy() {
		t.Unhealthy++
	}
	if r.Err != nil {
		t.Errors++
	}
}
