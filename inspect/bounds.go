package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/offset"
)

// ListOffsets takes these numbers in place of a time (Kafka's ListOffsetsRequest). They stay in this file.
const (
	askEnd        = -1
	askStart      = -2
	askMax        = -3
	askLocalStart = -4
	askTiered     = -5
)

// PartitionLog is what the log of one partition says. Bounds is meaningful only where Err is nil.
type PartitionLog struct {
	Bounds               offset.Bounds
	StartEpoch, EndEpoch offset.LeaderEpoch
	Err                  error
	known                uint8
}

const knowStart, knowEnd, knowStable = 1, 2, 4

// Log holds the logs of many partitions: by topic, then by partition number.
type Log map[string][]PartitionLog

// At returns one partition's log. ok is false where nothing was asked about it.
func (l Log) At(p offset.Partition) (PartitionLog, bool) {
	t := l[p.Topic]
	if p.Partition < 0 || int(p.Partition) >= len(t) {
		return PartitionLog{}, false
	}
	one := t[p.Partition]
	return one, one.known != 0 || one.Err != nil
}

func (l Log) grow(topic string, n int32) *PartitionLog {
	t := l[topic]
	for int(n) >= len(t) {
		t = append(t, PartitionLog{})
	}
	l[topic] = t
	return &t[n]
}

// Partitions are the partitions to ask about, by topic.
type Partitions map[string][]int32

// Add adds one partition; adding it twice is harmless only after Compact.
func (p Partitions) Add(part offset.Partition) { p[part.Topic] = append(p[part.Topic], part.Partition) }

// Compact sorts the numbers and removes what stands twice: Kafka refuses a request that names a partition twice.
func (p Partitions) Compact() {
	for t, ns := range p {
		slices.Sort(ns)
		p[t] = slices.Compact(ns)
	}
}

// Len is the number of partitions.
func (p Partitions) Len() int {
	n := 0
	for _, ns := range p {
		n += len(ns)
	}
	return n
}

// PartitionsOf are all partitions of the topics that have no error.
func PartitionsOf(topics map[string]Topic) Partitions {
	out := Partitions{}
	for name, t := range topics {
		if t.Err == nil {
			out[name] = t.Numbers()
		}
	}
	return out
}

// ReadBounds reads log start, high watermark and last stable offset of the partitions, one ListOffsets a broker and kind,
// the three kinds at once. What could not be read carries its error.
func ReadBounds(ctx context.Context, cl *kgo.Client, parts Partitions) Log {
	topics, err := ReadTopics(ctx, cl, slices.Collect(maps.Keys(parts)))
	if err != nil {
		topics = nil // each question tries by itself, and says so
	}
	return readBounds(ctx, cl, topics, parts)
}

func readBounds(ctx context.Context, cl *kgo.Client, topics map[string]Topic, parts Partitions) Log {
	parts = maps.Clone(parts)
	parts.Compact()
	log := make(Log, len(parts))
	for topic, ns := range parts {
		if len(ns) > 0 {
			log[topic] = make([]PartitionLog, ns[len(ns)-1]+1)
		}
	}
	var mu sync.Mutex
	put := func(know uint8, set func(*PartitionLog, listed)) func(string, listed) {
		return func(topic string, a listed) {
			mu.Lock()
			defer mu.Unlock()
			p := log.grow(topic, a.partition)
			if a.err != nil {
				if p.Err == nil {
					p.Err = a.err
				}
				return
			}
			p.known |= know
			set(p, a)
		}
	}
	var eg errgroup.Group
	ask := func(ts int64, iso offset.Isolation, each func(string, listed)) {
		eg.Go(func() error { listOffsets(ctx, cl, topics, iso, fixed(parts, ts), each); return nil })
	}
	ask(askStart, offset.ReadUncommitted, put(knowStart, func(p *PartitionLog, a listed) { p.Bounds.Start, p.StartEpoch = a.offset, a.epoch }))
	ask(askEnd, offset.ReadUncommitted, put(knowEnd, func(p *PartitionLog, a listed) { p.Bounds.End, p.EndEpoch = a.offset, a.epoch }))
	ask(askEnd, offset.ReadCommitted, put(knowStable, func(p *PartitionLog, a listed) { p.Bounds.LastStable = a.offset }))
	_ = eg.Wait() // every error was told per partition
	for topic, ns := range parts {
		for _, n := range ns {
			p := log.grow(topic, n)
			if p.Err == nil && p.known != knowStart|knowEnd|knowStable {
				p.Err = fmt.Errorf("the broker left %s out of its answer", offset.Partition{Topic: topic, Partition: n})
			}
			// The three answers are of three moments: records that arrive in between must not make the end the smaller one.
			p.Bounds.End = max(p.Bounds.End, p.Bounds.LastStable, p.Bounds.Start)
			p.Bounds.LastStable = max(p.Bounds.LastStable, p.Bounds.Start)
		}
	}
	return log
}

// readEnds reads the high watermarks alone, as ReadBounds does: for a second look at a few partitions.
func readEnds(ctx context.Context, cl *kgo.Client, topics map[string]Topic, parts Partitions) map[offset.Partition]int64 {
	out := map[offset.Partition]int64{}
	var mu sync.Mutex
	listOffsets(ctx, cl, topics, offset.ReadUncommitted, fixed(parts, askEnd), func(topic string, a listed) {
		mu.Lock()
		defer mu.Unlock()
		if a.err == nil {
			out[offset.Partition{Topic: topic, Partition: a.partition}] = a.offset
		}
	})
	return out
}

// Lookup is the answer of a time, max-timestamp or tiered question about one partition. Record is nil where the broker
// has no such record or offset.
type Lookup struct {
	Record *offset.Record
	Err    error
}

// ErrUnsupported is the error of a Lookup whose question the broker does not know: max-timestamp came with Kafka 3.0,
// the tiered offsets with 3.4 and 3.9.
var ErrUnsupported = errors.New("the broker does not support this request")

// FindTimes looks up the first record at or after an instant, each partition with its own. Read the bounds before: a
// record that arrives between the two questions is then found, and not skipped.
func FindTimes(ctx context.Context, cl *kgo.Client, iso offset.Isolation, at map[offset.Partition]offset.Instant) map[offset.Partition]Lookup {
	return findTimes(ctx, cl, nil, iso, at)
}

// findTimes is FindTimes with the metadata, as the other finders are; nil is read.
func findTimes(ctx context.Context, cl *kgo.Client, topics map[string]Topic, iso offset.Isolation, at map[offset.Partition]offset.Instant) map[offset.Partition]Lookup {
	asks := map[string][]listAsk{}
	for p, i := range at {
		asks[p.Topic] = append(asks[p.Topic], listAsk{p.Partition, max(i.Millis(), 0)})
	}
	return lookup(ctx, cl, topics, iso, asks, 0)
}

// FindMax looks up the record with the largest timestamp.
func FindMax(ctx context.Context, cl *kgo.Client, parts Partitions) map[offset.Partition]Lookup {
	return findSpecial(ctx, cl, nil, parts, askMax)
}

// FindLocalStart looks up the first offset that the broker keeps itself, with tiered storage.
func FindLocalStart(ctx context.Context, cl *kgo.Client, parts Partitions) map[offset.Partition]Lookup {
	return findSpecial(ctx, cl, nil, parts, askLocalStart)
}

// FindTieredEnd looks up the last offset in remote storage.
func FindTieredEnd(ctx context.Context, cl *kgo.Client, parts Partitions) map[offset.Partition]Lookup {
	return findSpecial(ctx, cl, nil, parts, askTiered)
}

// findSpecial asks one of the questions that are no times.
func findSpecial(ctx context.Context, cl *kgo.Client, topics map[string]Topic, parts Partitions, ask int64) map[offset.Partition]Lookup {
	since := map[int64]int16{askMax: 7, askLocalStart: 8, askTiered: 9}
	return lookup(ctx, cl, topics, offset.ReadUncommitted, fixed(parts, ask), since[ask])
}

// lookup asks questions that ListOffsets knows from a version on. A broker that is older takes their number for a time before
// 1970 and answers with its first record, so the version of the answer decides.
func lookup(ctx context.Context, cl *kgo.Client, topics map[string]Topic, iso offset.Isolation, asks map[string][]listAsk, since int16) map[offset.Partition]Lookup {
	out := map[offset.Partition]Lookup{}
	var mu sync.Mutex
	listOffsets(ctx, cl, topics, iso, asks, func(topic string, a listed) {
		l := Lookup{Err: a.err}
		if errors.Is(a.err, kerr.UnsupportedVersion) || errors.Is(a.err, kerr.InvalidRequest) || a.err == nil && a.version < since {
			l.Err = ErrUnsupported
		}
		if l.Err == nil && a.offset >= 0 {
			l.Record = &offset.Record{Offset: a.offset, LeaderEpoch: a.epoch, Time: a.time}
		}
		mu.Lock()
		defer mu.Unlock()
		out[offset.Partition{Topic: topic, Partition: a.partition}] = l
	})
	return out
}
