package migrate

// Partitions that were dealt anew. The order of records, which every proof rests on, is the order within a partition; where
// the copy was made by a producer with another partitioner it is gone, though the number of partitions is the same. A record
// that is missing between copies of its neighbours may be lost to compaction, or lie on another partition: that tells.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

const (
	// missingOfRow and missingOfTopic bound how many missing records are sought on the other partitions.
	missingOfRow   = 2
	missingOfTopic = 32
	// elsewhereWindow is how many records of another partition are compared with one.
	elsewhereWindow = 512
)

// missing are records around the position that the target's partition lacks, though it has the ones around them, or none of
// them at all: the nearest first.
func missing(a *Surroundings, s *Stretch) []Fingerprint {
	if s == nil || s.Err != nil || s.Stamped {
		return nil
	}
	seen := map[int]bool{}
	for _, run := range s.Seen {
		for i, f := range a.Sought() {
			if run.Look >= 0 && f.Same(a.Sought()[run.Look]) {
				seen[i] = true
			}
		}
	}
	behind := func(side []Fingerprint, base int) int { // the farthest that is there
		for i := range slices.Backward(side) {
			if seen[base+i] {
				return i
			}
		}
		return -1
	}
	at, before := behind(a.At, 0), behind(a.Before, len(a.At))
	if at < 0 && before < 0 { // all of them, or they are not copied yet
		at, before = len(a.At), len(a.Before)
	}
	var out []Fingerprint
	for i := range max(len(a.At), len(a.Before)) {
		if i < at && i < len(a.At) && !seen[i] && !a.At[i].Aborted {
			out = append(out, a.At[i])
		}
		// One that was read is missing too where an unread one is there.
		if (i < before || at >= 0) && i < len(a.Before) && !seen[len(a.At)+i] && !a.Before[i].Aborted {
			out = append(out, a.Before[i])
		}
	}
	return slices.DeleteFunc(out, func(f Fingerprint) bool { return f.Time.IsZero() })
}

// keyOf is what binds a record to its partition: its key, or for one without a key what it holds.
func keyOf(f Fingerprint) Hash {
	if f.Key == (Hash{}) {
		return f.Value
	}
	return f.Key
}

// boundKeys are the keys of the records around the positions with their partition at the source, by source topic. It is -1
// for a key that is on several: that it is on another one of the target too says nothing.
func boundKeys(items []*Item) map[string]map[Hash]int32 {
	out := map[string]map[Hash]int32{}
	for _, i := range items {
		if i.Row.Around == nil {
			continue
		}
		of := out[i.Row.Topic]
		if of == nil {
			of = map[Hash]int32{}
			out[i.Row.Topic] = of
		}
		for _, f := range i.Row.Around.Sought() {
			n, seen := of[keyOf(f)]
			if !seen {
				n = i.Row.Partition.Partition
			}
			if n != i.Row.Partition.Partition {
				n = -1
			}
			of[keyOf(f)] = n
		}
	}
	return out
}

// sibling is a missing record sought on another partition.
type sibling struct {
	item  *Item
	fp    Fingerprint
	part  offset.Partition
	from  inspect.Lookup
	found bool
}

// readElsewhere looks for missing records on the other partitions of their topics. What is found concerns all rows of a topic.
func (t *target) readElsewhere(ctx context.Context, items []*Item) {
	var all []*sibling
	sought := map[string]int{}
	bound := boundKeys(items)
	for _, i := range items {
		topic := t.topics[i.Target.Topic]
		if len(topic.Partitions) < 2 || i.Evidence.Err != nil || i.Row.Around == nil {
			continue
		}
		lost := slices.DeleteFunc(missing(i.Row.Around, i.Evidence.Stretch), func(f Fingerprint) bool { return bound[i.Row.Topic][keyOf(f)] < 0 })
		for _, f := range lost[:min(len(lost), missingOfRow)] {
			if sought[i.Target.Topic]++; sought[i.Target.Topic] > missingOfTopic {
				break
			}
			for _, n := range topic.Numbers() {
				if n != i.Target.Partition {
					all = append(all, &sibling{item: i, fp: f, part: offset.Partition{Topic: i.Target.Topic, Partition: n}})
				}
			}
		}
	}
	t.findSiblings(ctx, all)
	words := dealtAnew(all)
	for _, i := range items {
		i.Evidence.Elsewhere = words[i.Target.Topic]
	}
}

// dealtAnew says in words, by target topic, where missing records were found. One alone may be a coincidence: most of those that
// were sought must be elsewhere, and more than one where they have no key.
func dealtAnew(all []*sibling) map[string]string {
	type record struct {
		topic string
		part  int32
		at    int64
	}
	sought, found, words := map[string]int{}, map[string]int{}, map[string]string{}
	seen, there := map[record]bool{}, map[record]bool{}
	keyed := map[string]bool{}
	for _, s := range all {
		topic := s.part.Topic
		r := record{topic, s.item.Row.Partition.Partition, s.fp.Offset}
		if !seen[r] {
			seen[r] = true
			sought[topic]++
		}
		if s.found && !there[r] {
			there[r] = true
			found[topic]++
			keyed[topic] = keyed[topic] || s.fp.Key != (Hash{})
			if words[topic] == "" {
				words[topic] = fmt.Sprintf("a record of %s (%s) is on its partition %d", s.item.Row.Partition, describe(s.fp), s.part.Partition)
			}
		}
	}
	for topic, n := range found {
		if 2*n < sought[topic] || n == 1 && !keyed[topic] {
			delete(words, topic)
		}
	}
	return words
}

func (t *target) findSiblings(ctx context.Context, all []*sibling) {
	asks := make([]*ask, 0, len(all))
	parts := inspect.Partitions{}
	for _, s := range all {
		parts.Add(s.part)
		asks = append(asks, &ask{part: s.part, at: s.fp.Time, set: func(l inspect.Lookup) { s.from = l }})
	}
	if len(all) == 0 {
		return
	}
	parts.Compact()
	log := inspect.ReadBounds(ctx, t.cl, parts)
	lookupTimes(ctx, t.cl, asks)
	var walks []records.Walk
	for _, s := range all {
		l, ok := log.At(s.part)
		if !ok || l.Err != nil || s.from.Record == nil {
			continue
		}
		n := 0
		walks = append(walks, records.Walk{Span: records.Span{Partition: s.part, From: s.from.Record.Offset, Until: l.Bounds.End}, Bytes: searchBytes, Visit: func(r records.Record) bool {
			n++
			if timeOf(r.Timestamp.UnixMilli()).Equal(s.fp.Time) {
				s.found = s.found || fingerprintOf(r).Same(s.fp)
			}
			return !s.found && n < elsewhereWindow && !r.Timestamp.After(s.fp.Time.Add(time.Minute))
		}})
	}
	t.reader().Walk(ctx, walks)
}
