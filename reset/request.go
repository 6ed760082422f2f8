package reset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// What a plan is made of lives in checkpointfile, since it is what files hold.
type (
	Plan      = checkpointfile.Plan
	PlanGroup = checkpointfile.PlanGroup
	Change    = checkpointfile.Change
	Commit    = checkpointfile.Commit
	Key       = checkpointfile.Key
)

// Request is what was asked for.
type Request struct {
	Verb  string // the command: reset, import
	Asked string // in words, for the plan
	Task  Task
	// Groups are the groups to move, as the list has them; a name alone is enough.
	Groups   []inspect.Group
	Scope    Scope
	Position offset.Position
	Rules    offset.Rules
	Metadata Metadata
	// Saved is what a group:, file:, checkpoint: or store: position says; nil for others. Build holds it against the cluster
	// by offset's rule of origins, and AllowOrigin is what that lets pass.
	Saved       *offset.SavedBy
	AllowOrigin offset.AllowOrigin
	Only        Only
	// Create allows a group that does not exist: its first commit creates it.
	Create bool
	// CreateType is the type of a group that is created: share, or empty for one that commits offsets.
	CreateType inspect.GroupType
	// Patterned are the groups that a pattern chose and no name: one that has nothing stored on the topics in scope is left
	// out instead of failing, and none gets its first commit on a topic by accident.
	Patterned map[string]bool
	// Proof is the proof of a translated offset, by partition; see Change.Proof.
	Proof map[offset.Partition]string
}

// Scope says which partitions of a group are meant. The zero Scope is the partitions that the position itself names.
type Scope struct {
	// Topics are literal topics, with all or some of their partitions.
	Topics []offset.TopicSpec
	// All is every partition of the topics that the group has commits on.
	All bool
	// Match narrows All, or a position's own partitions, to matching topics. nil is no narrowing.
	Match *offset.Matcher
}

// Only narrows the rows to those in a certain state.
type Only string

// The values of --only.
const (
	OnlyAll        Only = ""
	OnlyLagging    Only = "lagging"      // committed, and behind the end
	OnlyOutOfRange Only = "out-of-range" // committed, and outside the log
	OnlyNoCommit   Only = "no-commit"
)

// Metadata says what becomes of the commits' metadata.
type Metadata struct {
	// Replace writes Text instead of what was there; the zero value keeps it.
	Replace bool
	Text    string
}

// ParseMetadata reads --metadata: keep, clear, or the text to store.
func ParseMetadata(s string) Metadata {
	switch s {
	case "keep", "":
		return Metadata{}
	case "clear":
		return Metadata{Replace: true}
	}
	return Metadata{Replace: true, Text: s}
}

// NotFoundError is a group, topic or partition that does not exist, or that may not be described.
type NotFoundError struct {
	What string // group, topic or partition
	Name string
	Text string // the whole sentence, where it says more than that
}

// ErrorKind is always not found.
func (e *NotFoundError) ErrorKind() offset.ErrorKind { return offset.KindNotFound }

func (e *NotFoundError) Error() string {
	if e.Text != "" {
		return e.Text
	}
	return fmt.Sprintf("%s %q does not exist", e.What, e.Name)
}

// ErrNothingInScope says that the scope matches no partition of a group.
var ErrNothingInScope = offset.NewError(offset.KindNotFound, "nothing in its scope: no committed topic matches")

// NothingSavedError says that a position has no offsets for a group. It is ErrNothingInScope for errors.Is.
type NothingSavedError struct {
	Position string
	Groups   []string // that it has offsets for
}

func (e *NothingSavedError) Error() string {
	names := offset.NameTexts(e.Groups)
	const most = 5
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", n))
	}
	return fmt.Sprintf("%s has no offsets for it, only for %s", e.Position, strings.Join(names, ", "))
}

// ErrorKind is that of what it is one of.
func (e *NothingSavedError) ErrorKind() offset.ErrorKind { return offset.KindNotFound }

// Is makes it one of those that have nothing in scope.
func (e *NothingSavedError) Is(target error) bool { return target == ErrNothingInScope }

// GroupError is a group that was left out of a plan, or was not applied: the others go on.
type GroupError struct {
	Group string
	Err   error
}

func (e *GroupError) Error() string {
	return fmt.Sprintf("group %s: %v", offset.NameText(e.Group), e.Err)
}

// Unwrap returns the cause.
func (e *GroupError) Unwrap() error { return e.Err }

// GroupFacts is what is known about one group.
type GroupFacts struct {
	inspect.Description
	Commits inspect.Commits
	Share   inspect.ShareOffsets
}

// Missing says that no such group exists and nothing is stored under its name.
func (g *GroupFacts) Missing() bool {
	return g.NotFound && g.Commits.Len() == 0 && len(g.Share.Rows) == 0
}

// err is why the group cannot be planned for.
func (g *GroupFacts) err() error {
	switch {
	case g.Description.Err != nil:
		return g.Description.Err
	case g.Commits.Err != nil:
		return g.Commits.Err
	}
	return g.Share.Err
}

// stored is what the group has for a partition: its commit, or a share group's start offset.
func (g *GroupFacts) stored(p offset.Partition) (c *offset.Committed, unstable bool, err error) {
	if g.Type == inspect.TypeShare {
		r, _ := g.Share.Find(p)
		if r.Start != nil {
			c = &offset.Committed{Offset: *r.Start}
		}
		return c, false, r.Err
	}
	row, ok := g.Commits.Find(p)
	if !ok {
		return nil, false, nil
	}
	return row.Committed(), row.Unstable(), row.Err()
}

// topics are the topics that the group has something stored on.
func (g *GroupFacts) topics() []string {
	set := map[string]bool{}
	for _, t := range g.Commits.Topics {
		set[t.Topic] = true
	}
	for _, r := range g.Share.Rows {
		set[r.Topic] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// partitions are the partitions that the group has something stored on, sorted.
func (g *GroupFacts) partitions() []offset.Partition {
	var out []offset.Partition
	for _, t := range g.Commits.Topics {
		for _, r := range t.Rows {
			out = append(out, offset.Partition{Topic: t.Topic, Partition: r.Partition})
		}
	}
	for _, r := range g.Share.Rows {
		out = append(out, r.Partition)
	}
	return out
}

// gaveUp says that a group in use has no member that subscribes to a topic. The broker then lets its commits there be
// deleted (KIP-496), and nobody will store new ones. What a member subscribes to is not always told, which is no proof.
func (g *GroupFacts) gaveUp(topic string) bool {
	if g.Err != nil || len(g.Members) == 0 {
		return false
	}
	for _, m := range g.Members {
		if m.Topics == nil || slices.Contains(m.Topics, topic) {
			return false
		}
		for _, p := range m.Assigned {
			if p.Topic == topic {
				return false
			}
		}
	}
	return true
}

// storesOn says that the group has something stored on a topic of the partitions.
func (g *GroupFacts) storesOn(in []chosen) bool {
	own := map[string]bool{}
	for _, t := range g.topics() {
		own[t] = true
	}
	return slices.ContainsFunc(in, func(c chosen) bool { return own[c.Topic] })
}

// InternalTopic says that a topic is an internal one of the Streams application that the group is: Streams names them after
// the application id, and their offsets belong to the application's state.
func InternalTopic(group, topic string) bool {
	return strings.HasPrefix(topic, group+"-") && (strings.HasSuffix(topic, "-repartition") || strings.HasSuffix(topic, "-changelog"))
}

// saved is what the position itself says for a group.
func (r *Request) saved(group string) offset.Saved {
	s, _ := r.Saved.For(group)
	return s
}

// own are the partitions that the position itself names for a group.
func (r *Request) own(group string) []offset.Partition {
	var out []offset.Partition
	for p := range r.saved(group).Offsets {
		out = append(out, p)
	}
	for p := range r.Position.Map {
		out = append(out, p)
	}
	slices.SortFunc(out, offset.Partition.Compare)
	return slices.Compact(out)
}

// names says that a partition was asked for by its own number.
func (s Scope) names(p offset.Partition) bool {
	return slices.ContainsFunc(s.Topics, func(t offset.TopicSpec) bool { return t.Topic == p.Topic && slices.Contains(t.Partitions, p.Partition) })
}

func (s Scope) matches(topic string) bool { return s.Match == nil || s.Match.Match(topic) }

// topicNames are the topics whose metadata is needed for a group.
func (r *Request) topicNames(g *GroupFacts) []string {
	var out []string
	for _, t := range r.Scope.Topics {
		out = append(out, t.Topic)
	}
	if r.Scope.All {
		out = append(out, g.topics()...)
	}
	if len(r.Scope.Topics) == 0 && !r.Scope.All {
		for _, p := range r.own(g.Name) {
			out = append(out, p.Topic)
		}
	}
	return out
}

// chosen is one partition in a group's scope.
type chosen struct {
	offset.Partition
	gone bool // the topic or partition does not exist any more; only a commit is left
}

// partitions are the partitions in a group's scope, sorted, and the internal topics of a Streams application that were
// left out. The error is a *NotFoundError or ErrNothingInScope.
func (r *Request) partitions(g *GroupFacts, topics map[string]inspect.Topic) (out []chosen, internal []string, err error) {
	literal := func(p offset.Partition) error {
		t := topics[p.Topic]
		if err := topicErr(t); err != nil {
			return err
		}
		if !t.Has(p.Partition) {
			return &NotFoundError{What: "partition", Name: p.String(), Text: inspect.MissingPartition(t, p.Partition)}
		}
		out = append(out, chosen{Partition: p})
		return nil
	}
	for _, spec := range r.Scope.Topics {
		t := topics[spec.Topic]
		if err := topicErr(t); err != nil {
			return nil, nil, err
		}
		ns := spec.Partitions
		if len(ns) == 0 {
			ns = t.Numbers()
		}
		for _, n := range ns {
			if err := literal(offset.Partition{Topic: spec.Topic, Partition: n}); err != nil {
				return nil, nil, err
			}
		}
	}
	switch {
	case r.Scope.All:
		internal = r.committedTopics(g, topics, &out)
	case len(r.Scope.Topics) == 0:
		for _, p := range r.own(g.Name) {
			if !r.Scope.matches(p.Topic) {
				continue
			}
			if err := literal(p); err != nil {
				return nil, nil, err
			}
		}
	}
	if len(out) == 0 {
		return nil, internal, ErrNothingInScope
	}
	slices.SortFunc(out, func(a, b chosen) int { return a.Partition.Compare(b.Partition) })
	return slices.CompactFunc(out, func(a, b chosen) bool { return a.Partition == b.Partition }), internal, nil
}

// committedTopics adds every partition of the topics that the group has commits on: also those without a commit, since a
// reader would start there too.
func (r *Request) committedTopics(g *GroupFacts, topics map[string]inspect.Topic, out *[]chosen) (internal []string) {
	stored := map[string][]offset.Partition{}
	for _, p := range g.partitions() {
		stored[p.Topic] = append(stored[p.Topic], p)
	}
	for _, name := range g.topics() {
		if !r.Scope.matches(name) {
			continue
		}
		if InternalTopic(g.Name, name) {
			internal = append(internal, name)
			continue
		}
		t := topics[name]
		if t.Err == nil {
			for _, n := range t.Numbers() {
				*out = append(*out, chosen{Partition: offset.Partition{Topic: name, Partition: n}})
			}
		}
		for _, p := range stored[name] {
			if t.Err != nil || !t.Has(p.Partition) {
				*out = append(*out, chosen{Partition: p, gone: isUnknown(t.Err) || t.Err == nil})
			}
		}
	}
	return internal
}
