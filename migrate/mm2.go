package migrate

// MirrorMaker 2's two internal topics (org.apache.kafka.connect.mirror.OffsetSync and Checkpoint): which source offset is
// which target offset, and its own translation of each group.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// SyncsTopic is the topic of MirrorMaker 2's offset syncs: on the source cluster with the target's alias, or on the target
// with the source's where offset-syncs.topic.location=target.
func SyncsTopic(alias string) string { return syncsPrefix + alias + internalSuffix }

// CheckpointsTopic is the topic of its checkpoints, on the target.
func CheckpointsTopic(sourceAlias string) string {
	return sourceAlias + ".checkpoints" + internalSuffix
}

const (
	syncsPrefix    = "mm2-offset-syncs."
	internalSuffix = ".internal"
)

// SyncAliases are the aliases of the topics of offset syncs among some topic names, sorted.
func SyncAliases(names []string) []string {
	var out []string
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, syncsPrefix); ok {
			if alias, ok := strings.CutSuffix(rest, internalSuffix); ok {
				out = append(out, alias)
			}
		}
	}
	slices.Sort(out)
	return out
}

var errShort = errors.New("it ends too early")

// wire reads the big-endian fields of Kafka's own schemas.
type wire struct {
	b   []byte
	err error
}

func (w *wire) take(n int) []byte {
	if w.err != nil || n < 0 || n > len(w.b) {
		w.err = errShort
		return make([]byte, max(n, 0))
	}
	out := w.b[:n]
	w.b = w.b[n:]
	return out
}

func (w *wire) int16() int16 { return int16(binary.BigEndian.Uint16(w.take(2))) }
func (w *wire) int32() int32 { return int32(binary.BigEndian.Uint32(w.take(4))) }
func (w *wire) int64() int64 { return int64(binary.BigEndian.Uint64(w.take(8))) }

func (w *wire) string() string {
	n := w.int16()
	if n < 0 {
		w.err = errors.New("a string has a negative length")
		return ""
	}
	return string(w.take(int(n)))
}

// decodeSync reads a record of the offset syncs: key topic, partition; value upstream offset, downstream offset. A
// tombstone has no value, and ok is false.
func decodeSync(key, value []byte) (p offset.Partition, s Sync, ok bool, err error) {
	k := wire{b: key}
	p = offset.Partition{Topic: k.string(), Partition: k.int32()}
	if k.err != nil {
		return p, s, false, fmt.Errorf("an offset sync's key: %w", k.err)
	}
	if value == nil {
		return p, s, false, nil
	}
	v := wire{b: value}
	s = Sync{Source: v.int64(), Target: v.int64()}
	if v.err != nil {
		return p, s, false, fmt.Errorf("the offset sync of %s: %w", p, v.err)
	}
	return p, s, true, nil
}

// checkpointKey is one group on one partition of the target.
type checkpointKey struct {
	group string
	offset.Partition
}

// decodeCheckpoint reads a record of the checkpoints: key group, topic (the target's name), partition; value version 0,
// upstream offset, downstream offset, metadata.
func decodeCheckpoint(key, value []byte) (c checkpointKey, s Sync, ok bool, err error) {
	k := wire{b: key}
	c = checkpointKey{group: k.string(), Partition: offset.Partition{Topic: k.string(), Partition: k.int32()}}
	if k.err != nil {
		return c, s, false, fmt.Errorf("a checkpoint's key: %w", k.err)
	}
	if value == nil {
		return c, s, false, nil
	}
	v := wire{b: value}
	if version := v.int16(); v.err == nil && version != 0 {
		return c, s, false, fmt.Errorf("the checkpoint of group %s on %s has version %d, 0 is known", offset.NameText(c.group), c.Partition, version)
	}
	s = Sync{Source: v.int64(), Target: v.int64()}
	if v.err != nil {
		return c, s, false, fmt.Errorf("the checkpoint of group %s on %s: %w", offset.NameText(c.group), c.Partition, v.err)
	}
	return c, s, true, nil
}

// addSync keeps the pairs that hold together. A source offset that is smaller than the last one means that the topic was
// created again or is copied anew: what was known before is void, as in MirrorMaker itself.
func addSync(list []Sync, s Sync) []Sync {
	if s.Source < 0 || s.Target < 0 {
		return list
	}
	if n := len(list); n > 0 && (s.Source < list[n-1].Source || s.Target < list[n-1].Target) {
		list = list[:0]
	}
	if n := len(list); n > 0 && list[n-1].Source == s.Source {
		list[n-1] = s
		return list
	}
	return append(list, s)
}

// addCheckpoint keeps translations that can all be true: a group that was moved back is no contradiction, but the larger
// source offset must have the larger target offset.
func addCheckpoint(list []Sync, s Sync) []Sync {
	if s.Source < 0 || s.Target < 0 {
		return list
	}
	list = slices.DeleteFunc(list, func(o Sync) bool {
		return o.Source == s.Source || (o.Source < s.Source) != (o.Target <= s.Target)
	})
	i, _ := slices.BinarySearchFunc(list, s.Source, func(o Sync, n int64) int { return int(min(1, max(-1, o.Source-n))) })
	return slices.Insert(list, i, s)
}

// MM2 is what MirrorMaker 2's topics say.
type MM2 struct {
	syncs       map[offset.Partition][]Sync // by source partition
	checkpoints map[checkpointKey][]Sync
	// HasSyncs and HasCheckpoints say which of the topics were read.
	HasSyncs, HasCheckpoints bool
}

// Syncs are the pairs of a source partition, sorted.
func (m *MM2) Syncs(source offset.Partition) []Sync {
	if m == nil {
		return nil
	}
	return m.syncs[source]
}

// Checkpoint is MirrorMaker's latest translation of a group at or before a position, nil where there is none. Where all of
// them lie after it, the earliest is returned, so that the caller can say so.
func (m *MM2) Checkpoint(group string, target offset.Partition, at int64) *Sync {
	if m == nil {
		return nil
	}
	list := m.checkpoints[checkpointKey{group, target}]
	for i, s := range slices.Backward(list) {
		if s.Source <= at || i == 0 {
			return &s
		}
	}
	return nil
}

// ReadSyncs reads a topic of offset syncs to its end. The error names the topic.
func (m *MM2) ReadSyncs(ctx context.Context, cl *kgo.Client, topic string) error {
	if m.syncs == nil {
		m.syncs = map[offset.Partition][]Sync{}
	}
	m.HasSyncs = true
	return readTopic(ctx, cl, topic, func(r records.Record) error {
		p, s, ok, err := decodeSync(r.Key, r.Value)
		if err != nil {
			return err
		}
		if !ok {
			delete(m.syncs, p)
			return nil
		}
		m.syncs[p] = addSync(m.syncs[p], s)
		return nil
	})
}

// ReadCheckpoints reads a topic of checkpoints to its end. The error names the topic.
func (m *MM2) ReadCheckpoints(ctx context.Context, cl *kgo.Client, topic string) error {
	if m.checkpoints == nil {
		m.checkpoints = map[checkpointKey][]Sync{}
	}
	m.HasCheckpoints = true
	return readTopic(ctx, cl, topic, func(r records.Record) error {
		k, s, ok, err := decodeCheckpoint(r.Key, r.Value)
		if err != nil {
			return err
		}
		if !ok {
			delete(m.checkpoints, k)
			return nil
		}
		m.checkpoints[k] = addCheckpoint(m.checkpoints[k], s)
		return nil
	})
}

// readTopic reads a topic from its log start to the end that it has now.
func readTopic(ctx context.Context, cl *kgo.Client, topic string, each func(records.Record) error) error {
	topics, err := inspect.ReadTopics(ctx, cl, []string{topic})
	if err != nil {
		return err
	}
	if err := topics[topic].Err; err != nil {
		return fmt.Errorf("topic %s: %w", topic, err)
	}
	log := inspect.ReadBounds(ctx, cl, inspect.PartitionsOf(topics))
	var bad error
	for _, n := range topics[topic].Numbers() {
		p := offset.Partition{Topic: topic, Partition: n}
		l, _ := log.At(p)
		if l.Err != nil {
			return fmt.Errorf("%s: %w", p, l.Err)
		}
		// One partition after the other, since each is called by one goroutine then; these topics have one.
		span := records.Span{Partition: p, From: l.Bounds.Start, Until: l.Bounds.End}
		end := records.Reader{Client: cl, Isolation: offset.ReadUncommitted}.Walk(ctx, []records.Walk{{Span: span, Visit: func(r records.Record) bool {
			if err := each(r); err != nil && bad == nil {
				bad = fmt.Errorf("topic %s, offset %d: %w", topic, r.Offset, err)
			}
			return bad == nil
		}}})[0]
		if bad != nil || end.Err != nil {
			return errors.Join(bad, end.Err)
		}
	}
	return nil
}
