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
	"golang.org/x/sync/errgroup"

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

// readBy are the topics that a group's members subscribe to or are assigned, where it matters what of the group is hidden: a
// member names its topics to whoever may describe the group, also those whose commits are left out of what the group stores.
func (f *Facts) readBy(g *GroupFacts) []string {
	if f.Visibility == nil {
		return nil
	}
	var out []string
	for _, m := range g.Members {
		out = append(out, m.Topics...)
		for _, p := range m.Assigned {
			out = append(out, p.Topic)
		}
	}
	return out
}

// hideReadBy adds to what is hidden the topics that members read and that may not be described.
func (f *Facts) hideReadBy(topics map[string]inspect.Topic) {
	if f.Visibility == nil {
		return
	}
	var hidden []string
	for _, g := range f.Groups {
		for _, name := range f.readBy(g) {
			if errors.Is(topics[name].Err, kerr.TopicAuthorizationFailed) {
				hidden = append(hidden, name)
			}
		}
	}
	v := f.Visibility.With(hidden)
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
		return &NotFoundError{What: "topic", Name: t.Name, Text: inspect.MissingTopic(t.Name)}
	}
	return fmt.Errorf("topic %q: %w", t.Name, t.Err)
}

// Gather reads the facts for a request: the groups with their own describe calls and their commits, then the metadata of
// the topics in scope, then bounds and times. What could not be read carries its error; the error is set only where
// nothing could be read.
func Gather(ctx context.Context, cl *kgo.Client, r *Request) (*Facts, error) {
	// Topics that were named need not wait for the groups.
	named := map[string]bool{}
	for _, t := range r.Scope.Topics {
		named[t.Topic] = true
	}
	f, topics, err := readGroups(ctx, cl, r.Groups, slices.AppendSeq([]string{}, maps.Keys(named)))
	if err != nil {
		return nil, err
	}
	if r.Scope.All {
		f.seeAll(ctx, cl)
	}
	more := map[string]bool{}
	for _, g := range f.Groups {
		for _, t := range slices.Concat(r.topicNames(g), f.readBy(g)) {
			if !named[t] {
				more[t] = true
			}
		}
	}
	others, err := inspect.ReadTopics(ctx, cl, slices.AppendSeq([]string{}, maps.Keys(more)))
	if err != nil {
		return nil, err
	}
	maps.Copy(topics, others)
	f.hideReadBy(topics)
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

// readGroups reads the cluster's id, the groups and what they have stored, and topics, all at once.
func readGroups(ctx context.Context, cl *kgo.Client, groups []inspect.Group, names []string) (*Facts, map[string]inspect.Topic, error) {
	var cluster inspect.Cluster
	var topics map[string]inspect.Topic
	var at inspect.Standing
	var reads errgroup.Group
	reads.Go(func() (err error) { cluster, err = inspect.ReadCluster(ctx, cl); return err })
	reads.Go(func() (err error) { topics, err = inspect.ReadTopics(ctx, cl, names); return err })
	reads.Go(func() error { at = inspect.ReadStanding(ctx, cl, groups); return nil })
	if err := reads.Wait(); err != nil {
		return nil, nil, err
	}
	f := &Facts{ClusterID: cluster.ID, Groups: make(map[string]*GroupFacts, len(at.Groups))}
	for name, d := range at.Groups {
		g := &GroupFacts{Description: d, Commits: at.Commits[name], Share: at.Share[name]}
		g.Commits.Group = name
		f.Groups[name] = g
	}
	return f, topics, nil
}

// Refresh reads the facts that a plan is checked against: the same calls as Gather, for exactly the plan's rows.
func Refresh(ctx context.Context, cl *kgo.Client, p *Plan) (*Facts, error) {
	names := map[string]bool{}
	for _, c := range p.Changes {
		if c.Changes() {
			names[c.Topic] = true
		}
	}
	f, topics, err := readGroups(ctx, cl, planned(p), slices.AppendSeq([]string{}, maps.Keys(names)))
	if err != nil {
		return nil, err
	}
	if err := f.otherKinds(ctx, cl); err != nil {
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
	for part := range parts {
		if _, read := topics[part.Topic]; !read {
			topics = nil // a group that goes has stored more since: read them all
			break
		}
	}
	f.Parts, err = inspect.Gather(ctx, cl, inspect.GatherQuery{
		Parts: slices.Collect(maps.Keys(parts)), Position: offset.Position{Kind: offset.Earliest}, Isolation: p.Isolation, Topics: topics,
	})
	return f, err
}

// planned are a plan's groups with the types that they had, which spares a list of all groups.
func planned(p *Plan) []inspect.Group {
	groups := make([]inspect.Group, len(p.Groups))
	for i, g := range p.Groups {
		groups[i] = inspect.Group{Name: g.Name, Type: inspect.GroupType(g.Type)}
	}
	return groups
}

// otherKinds reads groups again that do not exist as the kind that they were: they may be another kind by now.
func (f *Facts) otherKinds(ctx context.Context, cl *kgo.Client) error {
	var gone []inspect.Group
	for name, g := range f.Groups {
		if g.NotFound && g.Type != "" {
			gone = append(gone, inspect.Group{Name: name})
		}
	}
	if len(gone) == 0 {
		return nil
	}
	again, _, err := readGroups(ctx, cl, gone, []string{})
	if err != nil {
		return err
	}
	maps.Copy(f.Groups, again.Groups)
	return nil
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
