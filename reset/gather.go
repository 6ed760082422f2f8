package reset

// Reading what a plan is made from, and what it is checked against.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// Facts is what the cluster said: the groups, and every partition that has to do with them.
type Facts struct {
	ClusterID string
	Groups    map[string]*GroupFacts
	Parts     *inspect.Facts
	// Visibility is read where a plan is about everything that a group stores; nil elsewhere.
	Visibility *inspect.Visibility
}

// seeAll reads what may be hidden.
func (f *Facts) seeAll(ctx context.Context, cl *kgo.Client) {
	v := inspect.ReadVisibility(ctx, cl)
	f.Visibility = &v
}

// of are the facts about one partition of one group.
func (f *Facts) of(g *GroupFacts, p offset.Partition, foreign map[offset.Partition]offset.Foreign) (one offset.Facts, unstable bool) {
	one = f.Parts.Of(p)
	c, unstable, err := g.stored(p)
	one.Committed = c
	if err != nil {
		one.Err = errors.Join(one.Err, fmt.Errorf("the group's commit: %w", err))
	}
	if x, ok := foreign[p]; ok {
		one.Foreign = &x
	}
	return one, unstable
}

func isUnknown(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}

func topicErr(t inspect.Topic) error {
	switch {
	case t.Err == nil:
		return nil
	case isUnknown(t.Err):
		return &NotFoundError{What: "topic", Name: t.Name, Text: "it may also be hidden for want of DESCRIBE on it"}
	}
	return fmt.Errorf("topic %q: %w", t.Name, t.Err)
}

func partitionRange(t inspect.Topic) string {
	ns := t.Numbers()
	if len(ns) == 1 {
		return "one partition, 0"
	}
	return fmt.Sprintf("%d partitions, %s", len(ns), offset.FormatPartitionSet(ns))
}

// Gather reads the facts for a request: the groups with their own describe calls and their commits, then the metadata of
// the topics in scope, then bounds and times. What could not be read carries its error; the error is set only where
// nothing could be read.
func Gather(ctx context.Context, cl *kgo.Client, r *Request) (*Facts, error) {
	f, err := readGroups(ctx, cl, r.Groups)
	if err != nil {
		return nil, err
	}
	if r.Scope.All && r.Task.Repair == nil {
		f.seeAll(ctx, cl)
	}
	names := map[string]bool{}
	for _, g := range f.Groups {
		for _, t := range r.topicNames(g) {
			names[t] = true
		}
	}
	topics, err := inspect.ReadTopics(ctx, cl, slices.AppendSeq([]string{}, maps.Keys(names)))
	if err != nil {
		return nil, err
	}
	parts := map[offset.Partition]bool{}
	for _, g := range f.Groups {
		// A group whose scope is wrong has its error from Build.
		in, _, _ := r.partitions(g, topics)
		for _, p := range in {
			if !p.gone {
				parts[p.Partition] = true
			}
		}
	}
	f.Parts, err = inspect.Gather(ctx, cl, inspect.GatherQuery{
		Parts: slices.Collect(maps.Keys(parts)), Position: r.Position, Isolation: r.Rules.Isolation, Topics: topics,
	})
	return f, err
}

// readGroups reads the cluster's id, the groups and what they have stored.
func readGroups(ctx context.Context, cl *kgo.Client, groups []inspect.Group) (*Facts, error) {
	c, err := inspect.ReadCluster(ctx, cl)
	if err != nil {
		return nil, err
	}
	f := &Facts{ClusterID: c.ID, Groups: map[string]*GroupFacts{}}
	described := make(chan map[string]inspect.Description, 1)
	go func() { described <- inspect.Describe(ctx, cl, groups) }()
	var stores, shares []string
	for _, g := range groups {
		if _, twice := f.Groups[g.Name]; twice {
			continue
		}
		f.Groups[g.Name] = &GroupFacts{Description: inspect.Description{Group: g}}
		if g.Type == inspect.TypeShare {
			shares = append(shares, g.Name)
		} else {
			stores = append(stores, g.Name)
		}
	}
	commits := inspect.ReadCommits(ctx, cl, stores)
	for _, one := range commits {
		f.Groups[one.Group].Commits = one
	}
	for name, one := range inspect.ReadShareOffsets(ctx, cl, shares) {
		f.Groups[name].Share = one
	}
	var late []string // share groups that only their description told to be some
	for name, d := range <-described {
		g := f.Groups[name]
		if d.Type == inspect.TypeShare && !slices.Contains(shares, name) {
			late = append(late, name)
			g.Commits = inspect.Commits{Group: name}
		}
		g.Description = d
	}
	for name, one := range inspect.ReadShareOffsets(ctx, cl, late) {
		f.Groups[name].Share = one
	}
	return f, nil
}

// Refresh reads the facts that a plan is checked against: the same calls as Gather, for exactly the plan's rows.
func Refresh(ctx context.Context, cl *kgo.Client, p *Plan) (*Facts, error) {
	names := make([]string, len(p.Groups))
	for i, g := range p.Groups {
		names[i] = g.Name
	}
	groups, err := FindGroups(ctx, cl, names)
	if err != nil {
		return nil, err
	}
	f, err := readGroups(ctx, cl, groups)
	if err != nil {
		return nil, err
	}
	parts := map[offset.Partition]bool{}
	for _, c := range p.Changes {
		if c.Changes() || c.Action == checkpointfile.ActionNone {
			parts[c.Partition] = true
		}
	}
	if slices.ContainsFunc(p.Groups, func(g PlanGroup) bool { return g.Delete && g.Hidden == "" && !g.TakeHidden }) {
		f.seeAll(ctx, cl)
	}
	for _, g := range p.Groups {
		if g.Delete {
			// Everything that it has goes with it, also what it stored since the plan was made.
			for _, part := range f.Groups[g.Name].partitions() {
				parts[part] = true
			}
		}
	}
	f.Parts, err = inspect.Gather(ctx, cl, inspect.GatherQuery{
		Parts: slices.Collect(maps.Keys(parts)), Position: offset.Position{Kind: offset.Earliest}, Isolation: p.Isolation,
	})
	return f, err
}

// FindGroups lists the cluster's groups to learn the types of the named ones; a name that is not in the list is returned
// alone, since it may exist without being listed. The error is that no broker answered.
func FindGroups(ctx context.Context, cl *kgo.Client, names []string) ([]inspect.Group, error) {
	listed, _, err := inspect.ListGroups(ctx, cl)
	if err != nil {
		return nil, err
	}
	out := make([]inspect.Group, len(names))
	for i, n := range names {
		out[i] = inspect.Group{Name: n}
		if j, ok := slices.BinarySearchFunc(listed, n, func(g inspect.Group, n string) int { return strings.Compare(g.Name, n) }); ok {
			out[i] = listed[j]
		}
	}
	return out, nil
}
