package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// DefaultMemory bounds what decompressed batches take at once.
const DefaultMemory int64 = 32 << 20

// longestTransaction is how far before a moment reading begins: a transaction that ends after the moment began at most
// transaction.max.timeout.ms before, 15 minutes unless a broker was told otherwise.
const longestTransaction = 15 * time.Minute

// Query says what to read.
type Query struct {
	// Groups are the groups to tell of: only their partitions are read. nil is every group.
	Groups []string
	// Since leaves out what took effect before; zero begins at the log's start. What groups had before it is mostly not known then.
	Since time.Time
	// Each is told the events, by one goroutine at a time: those of one partition of [Topic] in the order in which they took effect.
	Each func(*Event)
	// Progress is told after each answer of a broker how many offsets of how many were read; nil for nobody.
	Progress func(done, total int64)
	// Memory bounds what decompressed batches take at once; 0 is [DefaultMemory].
	Memory int64
	// Now is the time.
	Now func() time.Time
}

// Report is what was read.
type Report struct {
	Counts
	// Partitions are the partitions of [Topic] that were read, by number, and Of is how many it has.
	Partitions map[int32]PartitionReport
	Of         int32
	// Retention is offsets.retention.minutes and Tombstones is delete.retention.ms of [Topic]; 0 is not known.
	Retention, Tombstones time.Duration
	// At is when the end of the logs was read.
	At time.Time
}

// PartitionReport is how reading one partition of [Topic] ended.
type PartitionReport struct {
	Coverage Coverage
	// Err is why the rest of the partition is not known.
	Err error
	// From and Until are the offsets that were to be read, and Read how far reading came.
	From, Until, Read int64
}

// For is the report of the partition that has a group's records.
func (r *Report) For(group string) PartitionReport { return r.Partitions[PartitionOf(group, r.Of)] }

// Err is why something is not known, nil where all was read.
func (r *Report) Err() error {
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(r.Partitions)) {
		if err := r.Partitions[n].Err; err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// TopicError is why [Topic] cannot be read at all.
type TopicError struct {
	Err error // Kafka's own
}

// Unwrap is Kafka's own error.
func (e *TopicError) Unwrap() error { return e.Err }

// Denied says that the user lacks a right.
func (e *TopicError) Denied() bool { return errors.Is(e.Err, kerr.TopicAuthorizationFailed) }

// Missing says that the cluster shows no such topic.
func (e *TopicError) Missing() bool { return errors.Is(e.Err, kerr.UnknownTopicOrPartition) }

// ErrorKind is denied, not found, or failed.
func (e *TopicError) ErrorKind() offset.ErrorKind {
	switch {
	case e.Denied():
		return offset.KindDenied
	case e.Missing():
		return offset.KindNotFound
	}
	return offset.KindOf(e.Err)
}

func (e *TopicError) Error() string {
	switch {
	case e.Denied():
		return fmt.Sprintf("read %s, where Kafka keeps the commits: the user may not read it: %v", Topic, e.Err)
	case e.Missing():
		return fmt.Sprintf("read %s, where Kafka keeps the commits: the cluster shows no such topic: no group ever committed, or the service hides it", Topic)
	}
	return fmt.Sprintf("read %s, where Kafka keeps the commits: %v", Topic, e.Err)
}

// Read reads the history of groups. The error is a *TopicError where nothing can be read; a partition that cannot be read to its
// end has its error in the report.
func Read(ctx context.Context, cl *kgo.Client, q Query) (*Report, error) {
	if q.Now == nil {
		q.Now = time.Now
	}
	if q.Progress == nil {
		q.Progress = func(int64, int64) {}
	}
	out := &Report{Partitions: map[int32]PartitionReport{}}
	topics, err := out.settings(ctx, cl)
	if err != nil {
		return nil, err
	}
	parts := inspect.Partitions{}
	if q.Groups == nil {
		parts[Topic] = topics[Topic].Numbers()
	}
	for _, g := range q.Groups {
		parts.Add(offset.Partition{Topic: Topic, Partition: PartitionOf(g, out.Of)})
	}
	parts.Compact()
	spans, err := out.spans(ctx, cl, parts, q.Since)
	if err != nil {
		return nil, err
	}
	out.At = q.Now()
	out.walk(ctx, cl, q, topics, spans)
	// That a topic may be described and not be read shows when it is read.
	if err := out.Err(); err != nil && (&TopicError{err}).Denied() {
		return nil, &TopicError{kerr.TopicAuthorizationFailed}
	}
	return out, nil
}

// settings reads the topic's metadata, and what the cluster is configured to keep.
func (r *Report) settings(ctx context.Context, cl *kgo.Client) (topics map[string]inspect.Topic, err error) {
	var reads errgroup.Group
	reads.Go(func() (err error) { topics, err = inspect.ReadTopics(ctx, cl, []string{Topic}); return err })
	// What may not be asked for is not known, which is what 0 says.
	reads.Go(func() error { r.Retention, _ = inspect.ReadCommitRetention(ctx, cl); return nil })
	reads.Go(func() error { r.Tombstones, _ = inspect.ReadTombstoneRetention(ctx, cl, Topic); return nil })
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	if r.Of, err = partitionsOf(topics[Topic]); err != nil {
		return nil, err
	}
	return topics, nil
}

// spans are the stretches to read: bounds first, then times, so that nothing is between the two.
func (r *Report) spans(ctx context.Context, cl *kgo.Client, parts inspect.Partitions, since time.Time) ([]records.Span, error) {
	log := inspect.ReadBounds(ctx, cl, parts)
	from := map[offset.Partition]inspect.Lookup{}
	if !since.IsZero() {
		at := map[offset.Partition]offset.Instant{}
		for _, n := range parts[Topic] {
			at[offset.Partition{Topic: Topic, Partition: n}] = offset.Instant{Time: since.Add(-longestTransaction)}
		}
		from = inspect.FindTimes(ctx, cl, offset.ReadUncommitted, at)
	}
	var out []records.Span
	for _, n := range parts[Topic] {
		p := offset.Partition{Topic: Topic, Partition: n}
		l, _ := log.At(p)
		found, asked := from[p]
		if err := errors.Join(l.Err, found.Err); err != nil {
			r.Partitions[n] = PartitionReport{Err: fmt.Errorf("%s: %w", p, err), Coverage: Coverage{missing: true}}
			continue
		}
		s := records.Span{Partition: p, From: l.Bounds.Start, Until: l.Bounds.End}
		switch {
		case asked && found.Record == nil:
			s.From = s.Until
		case asked:
			s.From = max(s.From, found.Record.Offset)
		}
		r.Partitions[n] = PartitionReport{From: s.From, Until: s.Until, Read: s.From}
		out = append(out, s)
	}
	return out, nil
}

// walk reads the stretches side by side, each into a replay of its own.
func (r *Report) walk(ctx context.Context, cl *kgo.Client, q Query, topics map[string]inspect.Topic, spans []records.Span) {
	var mu sync.Mutex // of Each and Progress
	var total, done int64
	each := func(e *Event) {
		if e.At.Before(q.Since) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		q.Each(e)
	}
	walks := make([]records.Walk, len(spans))
	replays := make([]*Replay, len(spans))
	for i, s := range spans {
		total += s.Until - s.From
		replay := NewReplay(Options{From: s.From, Groups: q.Groups, Retention: r.Retention}, each)
		replays[i] = replay
		var raw Raw
		last := s.From
		walks[i] = records.Walk{Span: s,
			Visit: func(rec records.Record) bool {
				raw = Raw{Offset: rec.Offset, Time: rec.Timestamp, Key: rec.Key, Value: rec.Value, Transaction: rec.Attrs.IsTransactional(), Producer: rec.ProducerID}
				replay.Record(&raw)
				return true
			},
			Marker: func(m records.Marker) { replay.Marker(Marker(m)) },
			Enough: func() bool {
				mu.Lock()
				defer mu.Unlock()
				done += replay.next - last
				last = replay.next
				q.Progress(done, total)
				return false
			},
		}
	}
	reader := records.Reader{Client: cl, Memory: q.Memory, Leader: func(p offset.Partition) (int32, bool) { return inspect.LeaderOf(topics, p) }}
	if reader.Memory == 0 {
		reader.Memory = DefaultMemory
	}
	for i, end := range reader.Walk(ctx, walks) {
		n := spans[i].Partition.Partition
		replays[i].Finish(spans[i].Until) // what was not read is missing
		p := r.Partitions[n]
		p.Coverage, p.Read, p.Err = replays[i].Coverage(), end.Until(), end.Err
		r.Partitions[n] = p
		r.Counts.Add(replays[i].Counts())
	}
	q.Progress(total, total)
}
