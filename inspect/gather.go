package inspect

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/offset"
)

// Facts are the facts about many partitions: what offset.Resolve needs, and the topics they belong to.
type Facts struct {
	Topics map[string]Topic
	// Said is what the rule of origins wants a user to be told about GatherQuery.Saved.
	Said   []offset.Finding
	byPart map[offset.Partition]offset.Facts
}

// Of are the facts about one partition. A partition that was not asked about has an error in them.
func (f *Facts) Of(p offset.Partition) offset.Facts {
	if one, ok := f.byPart[p]; ok {
		return one
	}
	return offset.Facts{Err: errNotAsked}
}

var errNotAsked = errors.New("the partition was not read")

// Partitions are the partitions there are facts about, sorted.
func (f *Facts) Partitions() []offset.Partition {
	return slices.SortedFunc(maps.Keys(f.byPart), offset.Partition.Compare)
}

// Set replaces the facts about one partition.
func (f *Facts) Set(p offset.Partition, one offset.Facts) { f.byPart[p] = one }

// GatherQuery says what to gather.
type GatherQuery struct {
	Parts     []offset.Partition
	Position  offset.Position
	Isolation offset.Isolation
	// Commits are the group's own, for positions that need them; Saved is what a group:, file:, checkpoint: or store: position
	// says, nil for others. Both were read before, since commits are read before ends. Saved is held against the cluster
	// ClusterID by offset's rule; AllowOrigin is what that lets pass.
	Commits     *Commits
	Saved       *offset.Saved
	ClusterID   string
	AllowOrigin offset.AllowOrigin
	// Topics is the metadata, where the caller has read it already.
	Topics map[string]Topic
}

// Gather reads what a position needs to be resolved on the partitions: the bounds first, then the times, so that a record
// that arrives in between is found by the time and not passed over. A partition that does not exist, or cannot be read,
// has its error in the facts. The error is set only where nothing could be read, or an *offset.OriginError.
func Gather(ctx context.Context, cl *kgo.Client, q GatherQuery) (*Facts, error) {
	f := &Facts{Topics: q.Topics, byPart: make(map[offset.Partition]offset.Facts, len(q.Parts))}
	if f.Topics == nil {
		names := map[string]bool{}
		for _, p := range q.Parts {
			names[p.Topic] = true
		}
		var err error
		if f.Topics, err = ReadTopics(ctx, cl, slices.SortedFunc(maps.Keys(names), strings.Compare)); err != nil {
			return nil, err
		}
	}
	saved, err := q.take(f)
	if err != nil {
		return nil, err
	}
	parts := Partitions{}
	for _, p := range q.Parts {
		if err := f.Topics[p.Topic].PartitionErr(p.Partition); err != nil {
			f.byPart[p] = offset.Facts{Err: err}
			continue
		}
		parts.Add(p)
	}
	log := readBounds(ctx, cl, f.Topics, parts)
	for t, ns := range parts {
		for _, n := range ns {
			p := offset.Partition{Topic: t, Partition: n}
			f.byPart[p] = q.facts(p, log, saved)
		}
	}
	q.lookups(ctx, cl, f)
	return f, nil
}

// PartitionErr is why a partition cannot be read: UNKNOWN_TOPIC_OR_PARTITION where it does not exist.
func (t Topic) PartitionErr(n int32) error {
	if t.Err != nil {
		return t.Err
	}
	p, ok := t.find(n)
	if !ok {
		return kerr.UnknownTopicOrPartition
	}
	return p.Err
}

// take holds what the position says against the cluster.
func (q GatherQuery) take(f *Facts) (saved map[offset.Partition]offset.Foreign, err error) {
	if q.Saved == nil {
		return nil, nil
	}
	saved, f.Said, err = q.Saved.Take(Here(q.ClusterID, f.Topics), q.Parts, q.AllowOrigin)
	return saved, err
}

// Here is a cluster as offset's rule of origins compares it.
func Here(clusterID string, topics map[string]Topic) offset.Here {
	h := offset.Here{ClusterID: clusterID, TopicIDs: make(map[string]string, len(topics))}
	for name, t := range topics {
		if t.Err == nil {
			h.TopicIDs[name] = t.TopicID()
		}
	}
	return h
}

func (q GatherQuery) facts(p offset.Partition, log Log, saved map[offset.Partition]offset.Foreign) offset.Facts {
	l, ok := log.At(p)
	if !ok {
		return offset.Facts{Err: errNotAsked}
	}
	if l.Err != nil {
		return offset.Facts{Err: l.Err}
	}
	b := l.Bounds
	one := offset.Facts{Bounds: &b, StartEpoch: l.StartEpoch, EndEpoch: l.EndEpoch}
	if q.Commits != nil {
		if row, ok := q.Commits.Find(p); ok {
			one.Committed = row.Committed()
			one.Err = row.Err()
		}
	}
	if x, ok := saved[p]; ok {
		one.Foreign = &x
	}
	return one
}

// lookups asks the questions beyond the bounds, each kind in one round, all kinds at once.
func (q GatherQuery) lookups(ctx context.Context, cl *kgo.Client, f *Facts) {
	times := map[offset.Partition]offset.Instant{}
	maxes, locals, tiered := Partitions{}, Partitions{}, Partitions{}
	for p, one := range f.byPart {
		pos, ok := q.Position.For(p)
		if !ok || one.Err != nil {
			continue
		}
		switch pos.Kind {
		case offset.AtTime:
			times[p] = pos.At
		case offset.MaxTimestamp:
			maxes.Add(p)
		case offset.LocalStart:
			locals.Add(p)
		case offset.TieredEnd:
			tiered.Add(p)
		}
	}
	var eg errgroup.Group
	var mu sync.Mutex
	round := func(n int, ask func() map[offset.Partition]Lookup, set func(*offset.Facts, *offset.Record)) {
		if n == 0 {
			return
		}
		eg.Go(func() error {
			got := ask()
			mu.Lock()
			defer mu.Unlock()
			for p, l := range got {
				one := f.byPart[p]
				if l.Err != nil {
					one.Err = l.Err
				} else {
					set(&one, l.Record)
				}
				f.byPart[p] = one
			}
			return nil
		})
	}
	round(len(times), func() map[offset.Partition]Lookup { return findTimes(ctx, cl, f.Topics, q.Isolation, times) }, func(o *offset.Facts, r *offset.Record) { o.Found = r })
	round(len(maxes), func() map[offset.Partition]Lookup { return findSpecial(ctx, cl, f.Topics, maxes, askMax) }, func(o *offset.Facts, r *offset.Record) { o.Max = r })
	round(len(locals), func() map[offset.Partition]Lookup { return findSpecial(ctx, cl, f.Topics, locals, askLocalStart) }, func(o *offset.Facts, r *offset.Record) {
		if r != nil {
			o.LocalStart = &r.Offset
		}
	})
	round(len(tiered), func() map[offset.Partition]Lookup { return findSpecial(ctx, cl, f.Topics, tiered, askTiered) }, func(o *offset.Facts, r *offset.Record) {
		if r != nil {
			o.TieredEnd = &r.Offset
		}
	})
	_ = eg.Wait() // every error was told per partition
}
