package flink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The splits of a FLIP-27 source. Every such source uses the same state name, so a split counts as Kafka's only if it
// fits to the last byte and its values are possible ones.

// noOffset is Java's Long.MIN_VALUE: no stopping offset, or a start that is not known (connector 5.0, migrated state).
const noOffset = math.MinInt64

var errNotKafka = errors.New("not the state of a Kafka source")

// split is one partition of a KafkaSource as it is stored.
type split struct {
	kind        Kind
	cluster     string
	topic       string
	partition   int32
	start, stop int64
	startAt     int // of the eight bytes of start, from the beginning of the parsed bytes
}

// names keeps one string per topic: five thousand partitions have a few topics.
type names map[string]string

func (n names) of(b []byte) string {
	if s, ok := n[string(b)]; ok {
		return s
	}
	s := string(b)
	n[s] = s
	return s
}

// versioned parses what SimpleVersionedSerialization writes: version, length, payload to the end.
func (n names) versioned(b []byte) (split, error) {
	if len(b) < 8 {
		return split{}, errNotKafka
	}
	version, length := int32(binary.BigEndian.Uint32(b)), int64(int32(binary.BigEndian.Uint32(b[4:])))
	if length != int64(len(b)-8) {
		return split{}, errNotKafka
	}
	s, err := n.split(version, b[8:])
	s.startAt += 8
	return s, err
}

// split parses a payload as KafkaSource's, the dynamic Kafka source's or a hybrid source's around one of these.
func (n names) split(version int32, b []byte) (split, error) {
	if version == 0 {
		if s, ok := n.kafka(b); ok {
			return s, nil
		}
		if s, ok := n.hybrid(b); ok {
			return s, nil
		}
		return split{}, errNotKafka
	}
	if s, ok := n.dynamic(version, b); ok {
		return s, nil
	}
	return split{}, errNotKafka
}

func (n names) kafka(b []byte) (split, bool) {
	topic, rest, ok := cutUTF(b)
	if !ok || len(rest) != 20 || !validTopic(topic) {
		return split{}, false
	}
	s := split{
		kind:      KafkaSource,
		partition: int32(binary.BigEndian.Uint32(rest)),
		start:     int64(binary.BigEndian.Uint64(rest[4:])),
		stop:      int64(binary.BigEndian.Uint64(rest[12:])),
		startAt:   len(b) - 16,
	}
	if s.partition < 0 || s.start < -3 && s.start != noOffset || !validStop(s.stop) {
		return split{}, false
	}
	s.topic = n.of(topic)
	return s, true
}

func validStop(v int64) bool { return v >= 0 || v == -1 || v == -3 || v == noOffset }

// dynamic parses a split of the dynamic Kafka source, versions 1 and 2.
func (n names) dynamic(version int32, b []byte) (split, bool) {
	cluster, rest, ok := cutUTF(b)
	if !ok || version < 1 || version > 2 {
		return split{}, false
	}
	if version == 2 {
		if len(rest) < 1 || rest[0] > 1 {
			return split{}, false
		}
		skip := 1 + 8*int(rest[0])
		if len(rest) < skip {
			return split{}, false
		}
		rest = rest[skip:]
	}
	if len(rest) < 4 || binary.BigEndian.Uint32(rest) != 0 {
		return split{}, false
	}
	s, ok := n.kafka(rest[4:])
	if !ok {
		return split{}, false
	}
	name, err := decodeUTF(cluster)
	if err != nil {
		return split{}, false
	}
	s.kind, s.cluster, s.startAt = DynamicKafkaSource, n.of([]byte(name)), len(b)-16
	return s, true
}

// hybrid parses a HybridSource's split, version 0, around a Kafka one.
func (n names) hybrid(b []byte) (split, bool) {
	if len(b) < 4 {
		return split{}, false
	}
	_, rest, ok := cutUTF(b[4:])
	if !ok || len(rest) < 8 || int64(int32(binary.BigEndian.Uint32(rest[4:]))) != int64(len(rest)-8) {
		return split{}, false
	}
	version, inner := int32(binary.BigEndian.Uint32(rest)), rest[8:]
	s, ok := n.kafka(inner)
	if version != 0 || !ok {
		if s, ok = n.dynamic(version, inner); !ok {
			return split{}, false
		}
	}
	s.kind, s.startAt = HybridSource, len(b)-16
	return s, true
}

// cutUTF splits a Java UTF's bytes off.
func cutUTF(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 2+n {
		return nil, nil, false
	}
	return b[2 : 2+n], b[2+n:], true
}

// validTopic reports whether Kafka would take the name.
func validTopic(b []byte) bool {
	if len(b) == 0 || len(b) > 249 {
		return false
	}
	for _, x := range b {
		switch {
		case x >= 'a' && x <= 'z', x >= 'A' && x <= 'Z', x >= '0' && x <= '9', x == '.', x == '_', x == '-':
		default:
			return false
		}
	}
	return true
}

// Markers of the FlinkKafkaConsumer, which are other numbers than KafkaSource's.
const (
	legacyUnset    = -915623761776
	legacyEarliest = -915623761775
	legacyLatest   = -915623761774
	legacyGroup    = -915623761773
)

// legacy parses an element of topic-partition-offset-states: a KafkaTopicPartition written by Kryo and a long.
// startAt is the long's place: the last offset read.
func (n names) legacy(b []byte) (split, int, error) {
	k := kryo{b: b}
	if class := k.uvarint(); k.err == nil && class < 2 {
		return split{}, 0, fmt.Errorf("a FlinkKafkaConsumer's partition of Kryo class %d", class)
	}
	k.newObject()
	hash := k.varint()
	partition := k.varint()
	k.newObject()
	topic := k.str()
	if k.err == nil && len(k.b)-k.at < 8 {
		k.err = errShort
	}
	if k.err != nil {
		return split{}, 0, k.err
	}
	s := split{
		kind: FlinkKafkaConsumer, partition: partition, startAt: k.at,
		start: int64(binary.BigEndian.Uint64(b[k.at:])), stop: noOffset,
	}
	if !validTopic(topic) || partition < 0 {
		return s, 0, fmt.Errorf("a FlinkKafkaConsumer's partition %d of topic %q", partition, topic)
	}
	// The stored hash code doubles as a checksum over topic and partition.
	var h int32
	for _, x := range topic {
		h = 31*h + int32(x)
	}
	if h = 31*h + partition; h != hash {
		return s, 0, fmt.Errorf("the hash of %s, partition %d is %d, and %d is stored: the state is damaged", topic, partition, h, hash)
	}
	if s.start < -1 && (s.start < legacyUnset || s.start > legacyGroup) {
		return s, 0, fmt.Errorf("offset %d of %s, partition %d", s.start, topic, partition)
	}
	s.topic = n.of(topic)
	return s, k.at + 8, nil
}

// kryo reads the primitives of Kryo 2.24.
type kryo struct {
	b   []byte
	at  int
	err error
}

func (k *kryo) byte() byte {
	if k.err != nil {
		return 0
	}
	if k.at >= len(k.b) {
		k.err = errShort
		return 0
	}
	k.at++
	return k.b[k.at-1]
}

func (k *kryo) uvarint() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		x := k.byte()
		v |= uint32(x&0x7F) << shift
		if x < 0x80 {
			return v
		}
	}
	if k.err == nil {
		k.err = errors.New("a Kryo number of more than five bytes")
	}
	return 0
}

func (k *kryo) varint() int32 {
	v := k.uvarint()
	return int32(v>>1) ^ -int32(v&1)
}

// newObject reads the reference mark that says that the object itself follows.
func (k *kryo) newObject() {
	if r := k.byte(); k.err == nil && r != 1 {
		k.err = fmt.Errorf("a Kryo reference %d where an object belongs", r)
	}
}

// str reads a string: ASCII of 2 to 63 characters ends with a set high bit, others have their length in front.
func (k *kryo) str() []byte {
	first := k.byte()
	if k.err != nil {
		return nil
	}
	if first&0x80 == 0 {
		out := []byte{first}
		for k.err == nil && len(out) < 64 {
			x := k.byte()
			out = append(out, x&0x7F)
			if x&0x80 != 0 {
				return out
			}
		}
		if k.err == nil {
			k.err = errors.New("a Kryo string without an end")
		}
		return nil
	}
	n := uint32(first & 0x3F)
	if first&0x40 != 0 {
		for shift := 6; ; shift += 7 {
			x := k.byte()
			if k.err != nil {
				return nil
			}
			if shift > 20 {
				k.err = errors.New("a Kryo string of an impossible length")
				return nil
			}
			n |= uint32(x&0x7F) << shift
			if x < 0x80 {
				break
			}
		}
	}
	// The stored number is one more than the length; 0 is null. Topics are ASCII, one byte a character.
	if n == 0 || n > 250 {
		k.err = fmt.Errorf("a topic name of %d characters", int64(n)-1)
		return nil
	}
	if len(k.b)-k.at < int(n-1) {
		k.err = errShort
		return nil
	}
	s := k.b[k.at : k.at+int(n-1)]
	k.at += int(n - 1)
	return s
}
