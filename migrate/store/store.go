// Package store keeps positions outside Kafka: in a file here, in databases and Redis in the packages beside it, each of
// which links its own driver and no other.
//
// A position is the next offset to read, as a commit is. It is kept by group, topic and partition, together with the id of
// the cluster that it is about, since the same number means another record on another cluster: a save for one cluster over
// positions of another is refused.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/koffset/koffset/offset"
)

// Position is what is kept for one partition.
type Position struct {
	offset.Partition
	offset.Committed
	// TopicID is the topic that the offset is of, as Kafka prints ids; empty where it is not known.
	TopicID string
}

// Saved is what a store has for one group.
type Saved struct {
	// ClusterID is empty where the positions were saved without one, or where there are none.
	ClusterID string
	// At is when the newest of them was saved.
	At time.Time
	// Positions are sorted by topic and partition; none where the group is not known.
	Positions []Position
}

// Write is one save: all of its positions or none.
type Write struct {
	Group     string
	ClusterID string // empty where it is not known
	At        time.Time
	Positions []Position
}

// Check refuses what must not be stored.
func (w Write) Check() error {
	if w.Group == "" {
		return fmt.Errorf("the group name is empty")
	}
	seen := make(map[offset.Partition]bool, len(w.Positions))
	for _, p := range w.Positions {
		switch {
		case p.Offset < 0 || p.Partition.Partition < 0 || p.Topic == "":
			return fmt.Errorf("group %s, %s: %d is not a position", offset.NameText(w.Group), p.Partition, p.Offset)
		case seen[p.Partition]:
			return fmt.Errorf("group %s: %s is in it twice", offset.NameText(w.Group), p.Partition)
		}
		seen[p.Partition] = true
	}
	return nil
}

// Store is a place where positions are kept. Its methods may be called from several goroutines.
type Store interface {
	// Load returns what a group has; a group that is not known has no positions and no error.
	Load(ctx context.Context, group string) (Saved, error)
	// Save stores positions, all or none; other partitions of the group keep theirs. The error is a *ClusterError where the
	// group's positions are of another cluster, and a *MissingError where the place does not exist.
	Save(ctx context.Context, w Write) error
	// Groups are the names of the groups that have positions, sorted.
	Groups(ctx context.Context) ([]string, error)
	Close() error
}

// ClusterError says that a group's positions are of another cluster than the ones to be saved.
type ClusterError struct {
	Group, Stored, Wanted string
}

// ErrorKind is always refused.
func (e *ClusterError) ErrorKind() offset.ErrorKind { return offset.KindRefused }

func (e *ClusterError) Error() string {
	return fmt.Sprintf("group %s: its stored positions belong to cluster %s, not %s", offset.NameText(e.Group), e.Stored, e.Wanted)
}

// SameCluster returns a *ClusterError where both ids are known and differ.
func SameCluster(group, stored, wanted string) error {
	if stored == "" || wanted == "" || stored == wanted {
		return nil
	}
	return &ClusterError{Group: group, Stored: stored, Wanted: wanted}
}

// MissingError says that a store's table or file does not exist.
type MissingError struct {
	What string // such as table koffset_offsets
	Err  error
}

// ErrorKind is always not found.
func (e *MissingError) ErrorKind() offset.ErrorKind { return offset.KindNotFound }

func (e *MissingError) Error() string {
	return e.What + " does not exist (create=true in the store's URL makes it)"
}

// Unwrap returns the driver's error.
func (e *MissingError) Unwrap() error { return e.Err }

// Sort puts positions into the order that Load returns.
func Sort(ps []Position) {
	slices.SortFunc(ps, func(a, b Position) int { return a.Partition.Compare(b.Partition) })
}

// Of are the positions with where they come from.
func (s Saved) Of(l Location, group string) offset.Saved {
	out := offset.Saved{Offsets: make(map[offset.Partition]offset.Foreign, len(s.Positions)), Origin: offset.Origin{
		From: fmt.Sprintf("store %s (group %s)", l, offset.NameText(group)), ClusterID: s.ClusterID, At: s.At}}
	for _, p := range s.Positions {
		out.Offsets[p.Partition] = offset.Foreign{Committed: p.Committed}
		out.Origin.AddTopic(p.Topic, p.TopicID)
	}
	return out
}
