package consume

// Reading what a plan is made from: topics, commits, bounds, times.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
	edge "github.com/koffset/koffset/internal/commits"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// readFacts reads everything that the plan of c needs. Commits come before bounds, so that a busy group is never past the
// end of its log; bounds come before times, so that a record which lands in between is found and not skipped.
func readFacts(ctx context.Context, c *Config) (planFacts, map[string]inspect.Topic, error) {
	var f planFacts
	var err error
	if f.cluster, err = inspect.ReadCluster(ctx, c.Client); err != nil {
		return f, nil, err
	}
	topics, parts, err := readScope(ctx, c)
	if err != nil {
		return f, nil, err
	}
	commits := inspect.Commits{}
	if c.Group != "" {
		if commits, err = c.readCommits(ctx, c.Group); err != nil {
			return f, nil, err
		}
		f.groupCommits = commits.Len()
		if f.groupCommits == 0 {
			f.nearGroups = nearGroups(ctx, c)
		}
	}
	if who, _ := c.committer(); who != CommitsNever {
		if f.members, err = c.committing(ctx); err != nil {
			return f, nil, err
		}
	}
	log := inspect.ReadBounds(ctx, c.Client, parts)
	for topic, ns := range parts {
		for _, n := range ns {
			p := offset.Partition{Topic: topic, Partition: n}
			f.parts = append(f.parts, factsOf(c, p, topics[topic], log, commits))
		}
	}
	slices.SortFunc(f.parts, func(a, b partFacts) int { return a.Compare(b.Partition) })
	here := inspect.Here(f.cluster.ID, topics)
	if err := c.checkRanges(&f, here); err != nil {
		return f, nil, err
	}
	ends := []struct {
		pos *offset.Position
		of  func(*partFacts) *offset.Facts
	}{{nil, func(p *partFacts) *offset.Facts { return &p.start }}, {c.End.Until, func(p *partFacts) *offset.Facts { return &p.end }}}
	if start := c.Start.position(); len(c.End.Ranges) == 0 {
		ends[0].pos = &start
	}
	for _, e := range ends {
		if e.pos == nil {
			continue
		}
		if err := c.addFacts(ctx, *e.pos, f.parts, e.of); err != nil {
			return f, nil, err
		}
		if err := c.addSaved(ctx, &f, here, *e.pos, e.of); err != nil {
			return f, nil, err
		}
	}
	return f, topics, nil
}

func factsOf(c *Config, p offset.Partition, t inspect.Topic, log inspect.Log, commits inspect.Commits) partFacts {
	pf := partFacts{Partition: p, topicID: t.TopicID()}
	var facts offset.Facts
	if l, ok := log.At(p); ok {
		facts.Err, facts.StartEpoch, facts.EndEpoch = l.Err, l.StartEpoch, l.EndEpoch
		if l.Err == nil {
			b := l.Bounds
			facts.Bounds = &b
		}
	}
	if row, ok := commits.Find(p); ok {
		pf.committed = row.Committed()
		facts.Committed = pf.committed
		switch {
		case row.Err() != nil:
			facts.Err = fmt.Errorf("read the commit: %w", row.Err())
		case row.Unstable() && c.Start.position().Needs().Committed:
			facts.Err = fmt.Errorf("a transaction holds a commit of group %s that is not final: %w", c.Group, kerr.UnstableOffsetCommit)
		}
	}
	pf.start, pf.end = facts, facts
	return pf
}

// readScope reads the topics' metadata and lists the partitions to read. A topic or partition that does not exist is an
// *Error of kind NotFound.
func readScope(ctx context.Context, c *Config) (map[string]inspect.Topic, inspect.Partitions, error) {
	wanted := map[string][]int32{}
	for _, t := range c.Topics {
		wanted[t.Topic] = t.Partitions
	}
	for _, r := range c.End.Ranges {
		wanted[r.Topic] = append(wanted[r.Topic], r.Partition.Partition)
	}
	names := slices.Sorted(maps.Keys(wanted))
	topics, err := inspect.ReadTopics(ctx, c.Client, names)
	if err != nil {
		return nil, nil, err
	}
	parts := inspect.Partitions{}
	for _, name := range names {
		t := topics[name]
		switch {
		case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
			return nil, nil, errorf(NotFound, nearTopics(ctx, c, name), "%s", inspect.MissingTopic(name))
		case t.Err != nil:
			return nil, nil, errorf(Failed, "", "topic %s: %w", name, t.Err)
		case len(wanted[name]) == 0:
			parts[name] = t.Numbers()
			continue
		}
		for _, n := range wanted[name] {
			if !t.Has(n) {
				return nil, nil, errorf(NotFound, "", "%s", inspect.MissingPartition(t, n))
			}
			parts[name] = append(parts[name], n)
		}
	}
	if err := c.checkMap(parts); err != nil {
		return nil, nil, err
	}
	return topics, parts, nil
}

// checkMap refuses a map of offsets that names partitions which are not read: a typing error there would silently start or
// end the partition that was meant somewhere else.
func (c *Config) checkMap(parts inspect.Partitions) error {
	for what, p := range map[string]*offset.Position{"start": c.Start.Position, "end": c.End.Until} {
		if p == nil || p.Kind != offset.ByPartition {
			continue
		}
		for part := range p.Map {
			if ns, ok := parts[part.Topic]; !ok || !slices.Contains(ns, part.Partition) {
				return errorf(NotFound, "", "the %s names %s, which is not read", what, part)
			}
		}
	}
	return nil
}

func nearTopics(ctx context.Context, c *Config, name string) string {
	all, err := inspect.ReadTopics(ctx, c.Client, nil)
	if err != nil {
		return ""
	}
	if meant := inspect.MeantTopic(name, all); meant != "" {
		return meant
	}
	groups, _, err := inspect.ListGroups(ctx, c.Client)
	if err == nil && slices.ContainsFunc(groups, func(g inspect.Group) bool { return g.Name == name }) {
		return offset.NameText(name) + " is a group: name its topics, and the group with {{group GROUP}}"
	}
	return ""
}

func nearGroups(ctx context.Context, c *Config) []string {
	groups, _, err := inspect.ListGroups(ctx, c.Client)
	if err != nil {
		return nil // without the right to list there are no near names
	}
	names := make([]string, 0, len(groups))
	for _, g := range groups {
		if g.Name == c.Group {
			continue
		}
		names = append(names, g.Name)
	}
	return text.Near(c.Group, names)
}

// committing looks at who could commit: the members that the group has now, unless the run becomes one, and whether the user
// may. Without the right nothing is read, since nothing of it could be committed.
func (c *Config) committing(ctx context.Context) (members []inspect.Member, err error) {
	right := make(chan edge.Right, 1)
	go func() { right <- edge.MayI(ctx, c.Client, c.Group) }()
	if c.Join == nil {
		members = groupMembers(ctx, c)
	}
	if <-right == edge.MayNotCommit {
		return nil, errorf(Failed, needsGroup, "nothing was read: committing to group %s is not allowed: %w", c.Group, kerr.GroupAuthorizationFailed)
	}
	return members, nil
}

// groupMembers are the members that the group has now: only they may commit.
func groupMembers(ctx context.Context, c *Config) []inspect.Member {
	found, err := inspect.DescribeNamed(ctx, c.Client, []string{c.Group})
	if err != nil {
		return nil // without the right to describe it, the first commit tells
	}
	return found[c.Group].Members
}

func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	text := "did you mean " + near[0]
	for _, n := range near[1:] {
		text += " or " + n
	}
	return text + "?"
}

// addFacts looks up what one position needs beside bounds and the group's own commit.
func (c *Config) addFacts(ctx context.Context, pos offset.Position, parts []partFacts, of func(*partFacts) *offset.Facts) error {
	needs := pos.Needs()
	if needs.Time {
		at := map[offset.Partition]offset.Instant{}
		for i := range parts {
			if one, ok := pos.For(parts[i].Partition); ok && one.Kind == offset.AtTime {
				at[parts[i].Partition] = one.At
			}
		}
		// With the isolation in force: under read_committed a record behind the last stable offset is not there yet.
		fill(parts, of, inspect.FindTimes(ctx, c.Client, c.isolation(), at), func(f *offset.Facts, r *offset.Record) { f.Found = r })
	}
	all := inspect.Partitions{}
	for i := range parts {
		all.Add(parts[i].Partition)
	}
	at := func(r *offset.Record) *int64 {
		if r == nil {
			return nil
		}
		return &r.Offset
	}
	if needs.MaxTimestamp {
		fill(parts, of, inspect.FindMax(ctx, c.Client, all), func(f *offset.Facts, r *offset.Record) { f.Max = r })
	}
	if needs.LocalStart {
		fill(parts, of, inspect.FindLocalStart(ctx, c.Client, all), func(f *offset.Facts, r *offset.Record) { f.LocalStart = at(r) })
	}
	if needs.TieredEnd {
		fill(parts, of, inspect.FindTieredEnd(ctx, c.Client, all), func(f *offset.Facts, r *offset.Record) { f.TieredEnd = at(r) })
	}
	return nil
}

func fill(parts []partFacts, of func(*partFacts) *offset.Facts, found map[offset.Partition]inspect.Lookup, set func(*offset.Facts, *offset.Record)) {
	for i := range parts {
		l, asked := found[parts[i].Partition]
		if !asked {
			continue
		}
		f := of(&parts[i])
		if l.Err != nil && f.Err == nil {
			f.Err = l.Err
		}
		set(f, l.Record)
	}
}

// addSaved answers the positions that name offsets elsewhere, as far as the rule of origins lets them be used here.
func (c *Config) addSaved(ctx context.Context, f *planFacts, here offset.Here, pos offset.Position, of func(*partFacts) *offset.Facts) error {
	ask := map[string]offset.Position{}
	for i := range f.parts {
		if one, ok := pos.For(f.parts[i].Partition); ok && one.Needs().Foreign {
			ask[one.Source()] = one
		}
	}
	for source, one := range ask {
		wanted := []offset.Partition{}
		for i := range f.parts {
			if q, ok := pos.For(f.parts[i].Partition); ok && q.Source() == source {
				wanted = append(wanted, f.parts[i].Partition)
			}
		}
		saved, err := c.readSaved(ctx, one)
		if err != nil {
			return err
		}
		got, said, err := saved.Take(here, wanted, c.AllowOrigin)
		if err != nil {
			return errorf(Refused, "", "%w", err)
		}
		f.sayOrigin(said)
		for i := range f.parts {
			if v, ok := got[f.parts[i].Partition]; ok {
				of(&f.parts[i]).Foreign = &v
			}
		}
	}
	return nil
}

func (f *planFacts) sayOrigin(said []offset.Finding) {
	for _, s := range said {
		f.originNotices = append(f.originNotices, warnf("", "%s", s.Text))
	}
}

// readCommits reads what a group has committed. The right to see it is enough, unless the run commits to it.
func (c *Config) readCommits(ctx context.Context, group string) (inspect.Commits, error) {
	commits, err := inspect.ReadCommitsOf(ctx, c.Client, group)
	if err == nil {
		return commits, nil
	}
	hint := needed(err)
	if who, _ := c.committer(); hint == needsGroup && (who == CommitsNever || group != c.Group) {
		hint = needsDescribe
	}
	return commits, errorf(Failed, hint, "read the commits of group %s: %w", group, err)
}

func (c *Config) readSaved(ctx context.Context, pos offset.Position) (offset.Saved, error) {
	if pos.Kind != offset.OfGroup {
		if c.Saved == nil {
			return offset.Saved{}, usagef("use group:G, a time or an offset", "%s cannot be read here", pos)
		}
		return c.Saved(ctx, pos)
	}
	commits, err := c.readCommits(ctx, pos.Ref)
	if err != nil {
		return offset.Saved{}, err
	}
	if commits.Len() == 0 {
		return offset.Saved{}, errorf(NotFound, didYouMean(nearGroups(ctx, &Config{Client: c.Client, Group: pos.Ref})), "group %s has no commits", pos.Ref)
	}
	return commits.Saved("", c.now()), nil
}

// checkRanges holds ranges that a file gave against the cluster: they are of the log that they were cut from.
func (c *Config) checkRanges(f *planFacts, here offset.Here) error {
	if c.End.RangesFrom == nil {
		return nil
	}
	s := offset.Saved{Origin: *c.End.RangesFrom, Offsets: map[offset.Partition]offset.Foreign{}}
	for _, r := range c.End.Ranges {
		s.Offsets[r.Partition] = offset.Foreign{Committed: offset.Committed{Offset: r.From}}
	}
	_, said, err := s.Take(here, nil, c.AllowOrigin)
	if err != nil {
		return errorf(Refused, "", "%w", err)
	}
	f.sayOrigin(said)
	return nil
}
