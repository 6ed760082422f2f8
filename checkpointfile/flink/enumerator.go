package flink

import (
	"errors"
	"fmt"
)

// The enumerator's state: which partitions the source knows, and the start of those that no reader has yet. Entries that
// are assigned carry the offset as it was first assigned, never the progress.

// known is one partition in the enumerator's state.
type known struct {
	split
	unassigned bool
	hasSplit   bool  // start and stop are stored
	startPos   int64 // of start in the file
}

type enumState struct {
	kind    Kind
	version int32
	parts   []known
}

// errEnumVersion says that the layout is one that is not known: the readers' state is right without it.
var errEnumVersion = errors.New("enumerator state of an unknown version")

// enumParser parses coordinator bytes.
type enumParser struct {
	c     *cursor
	names names
}

// coordinator parses the bytes of a source coordinator. Which source it is decides the layout, and kind says it where
// the readers' splits told; unset tries all, and then only a state with partitions in it is taken for Kafka's.
func (p *enumParser) coordinator(pos, length int64, kind Kind) (*enumState, error) {
	c := p.c
	c.seek(pos)
	serde, version := c.i32(), c.i32()
	n := int64(c.count(1, "bytes of enumerator state"))
	if c.err != nil {
		return nil, c.err
	}
	if serde != 0 && serde != 1 {
		return nil, fmt.Errorf("%w: coordinator version %d", errEnumVersion, serde)
	}
	start, end := c.pos(), pos+length
	if end-start < n || serde == 1 && end-start != n {
		return nil, fmt.Errorf("%d bytes of enumerator state, and %d are stored", n, end-start)
	}
	tries := []Kind{kind}
	if kind == "" {
		tries = []Kind{KafkaSource, DynamicKafkaSource, HybridSource}
	}
	var first error
	for _, k := range tries {
		st, err := p.payload(k, version, start, start+n)
		if err == nil && (kind != "" || len(st.parts) > 0) {
			return st, nil
		}
		if first == nil {
			first = err
		}
	}
	if kind == "" {
		return nil, errNotKafka
	}
	return nil, first
}

// payload parses an enumerator's own bytes, [start, end) of the file, and demands that they are used up.
func (p *enumParser) payload(kind Kind, version int32, start, end int64) (*enumState, error) {
	c := p.c
	whole := c.end
	c.err, c.end = nil, end
	defer func() { c.err, c.end = nil, whole }()
	c.seek(start)
	st := &enumState{kind: kind, version: version}
	switch kind {
	case DynamicKafkaSource:
		p.dynamic(st)
	case HybridSource:
		return p.hybrid(version, end)
	default:
		p.kafka(st)
	}
	if c.err == nil && c.left() != 0 {
		c.failf("%d bytes follow enumerator state of version %d", c.left(), version)
	}
	if c.err != nil {
		return nil, c.err
	}
	return st, nil
}

func (p *enumParser) kafka(st *enumState) {
	c := p.c
	switch st.version {
	case 0: // by subtask, all assigned
		n := c.count(8, "readers")
		splitVersion := c.i32()
		for ; n > 0 && c.err == nil; n-- {
			c.i32()
			for k := c.count(4, "splits"); k > 0 && c.err == nil; k-- {
				p.withSplit(st, splitVersion)
			}
		}
	case 1: // assigned partitions
		for n := c.count(6, "partitions"); n > 0 && c.err == nil; n-- {
			p.partition(st)
		}
	case 2:
		for n := c.count(10, "partitions"); n > 0 && c.err == nil; n-- {
			p.partition(st)
			p.status(st)
		}
		c.flag("the end of the first discovery")
	case 3:
		n := c.count(8, "partitions")
		splitVersion := c.i32()
		for ; n > 0 && c.err == nil; n-- {
			p.withSplit(st, splitVersion)
			p.status(st)
		}
		c.flag("the end of the first discovery")
	default:
		c.fail(fmt.Errorf("%w: %d, and 0 to 3 are known", errEnumVersion, st.version))
	}
}

func (p *enumParser) partition(st *enumState) {
	c := p.c
	pos := c.pos()
	topic := c.utfBytes()
	if c.err == nil && !validTopic(topic) {
		c.fail(at(pos, fmt.Errorf("topic %q in the enumerator's state", topic)))
		return
	}
	k := known{split: split{kind: KafkaSource, topic: p.names.of(topic), start: noOffset, stop: noOffset}}
	pos = c.pos()
	if k.partition = c.i32(); k.partition < 0 {
		c.fail(at(pos, fmt.Errorf("partition %d of %s in the enumerator's state", k.partition, k.topic)))
	}
	if c.err == nil {
		st.parts = append(st.parts, k)
	}
}

func (p *enumParser) withSplit(st *enumState, version int32) {
	c := p.c
	n := c.count(1, "bytes of a split")
	pos := c.pos()
	if n > maxElement {
		c.fail(at(pos, fmt.Errorf("a split of %d bytes in the enumerator's state", n)))
	}
	b := c.bytes(n)
	if c.err != nil {
		return
	}
	s, ok := p.names.kafka(b)
	if version != 0 || !ok {
		c.fail(at(pos, fmt.Errorf("a split of version %d that is not Kafka's in the enumerator's state", version)))
		return
	}
	st.parts = append(st.parts, known{split: s, hasSplit: true, startPos: pos + int64(s.startAt)})
}

func (p *enumParser) status(st *enumState) {
	c := p.c
	pos := c.pos()
	v := c.i32()
	if v != 0 && v != 1 {
		c.fail(at(pos, fmt.Errorf("assignment status %d, not 0 or 1", v)))
	}
	if c.err == nil {
		st.parts[len(st.parts)-1].unassigned = v == 1
	}
}

// hybrid unwraps the state of the source that is current in a HybridSource.
func (p *enumParser) hybrid(version int32, end int64) (*enumState, error) {
	c := p.c
	if version != 0 {
		return nil, fmt.Errorf("%w: hybrid source %d, and 0 is known", errEnumVersion, version)
	}
	c.i32() // index of the source
	inner := c.i32()
	n := int64(c.count(1, "bytes of enumerator state"))
	if c.err != nil {
		return nil, c.err
	}
	start := c.pos()
	if start+n != end {
		return nil, fmt.Errorf("%d bytes of enumerator state, and %d are stored", n, end-start)
	}
	st, err := p.payload(KafkaSource, inner, start, end)
	if err != nil {
		var err2 error
		if st, err2 = p.payload(DynamicKafkaSource, inner, start, end); err2 != nil {
			return nil, err
		}
	}
	st.kind = HybridSource
	return st, nil
}

// dynamic parses the dynamic Kafka source's state: the streams it knows, then one Kafka enumerator's state a cluster.
func (p *enumParser) dynamic(st *enumState) {
	c := p.c
	if st.version < 1 || st.version > 3 {
		c.fail(fmt.Errorf("%w: dynamic source %d, and 1 to 3 are known", errEnumVersion, st.version))
		return
	}
	for n := c.count(6, "streams"); n > 0 && c.err == nil; n-- {
		c.skipUTF()
		for k := c.count(8, "clusters"); k > 0 && c.err == nil; k-- {
			c.skipUTF()
			for t := c.count(2, "topics"); t > 0 && c.err == nil; t-- {
				c.skipUTF()
			}
			c.skipUTF() // bootstrap servers
			for range 2 {
				if st.version >= 2 && c.flag("an offsets initializer") {
					c.skip(int64(c.count(1, "bytes of an offsets initializer")))
				}
			}
		}
	}
	inner := c.i32()
	p.clusters(st, inner, false)
	if st.version == 3 {
		p.clusters(st, inner, true)
	}
}

func (p *enumParser) clusters(st *enumState, inner int32, retained bool) {
	c := p.c
	for n := c.count(6, "clusters"); n > 0 && c.err == nil; n-- {
		cluster := c.utf()
		if retained {
			c.i64()
		}
		size := int64(c.count(1, "bytes of enumerator state"))
		if c.err != nil {
			return
		}
		start := c.pos()
		sub, err := p.payload(KafkaSource, inner, start, start+size)
		if err != nil {
			c.fail(fmt.Errorf("cluster %q: %w", cluster, err))
			return
		}
		c.seek(start + size)
		for _, k := range sub.parts {
			k.kind, k.cluster = DynamicKafkaSource, cluster
			st.parts = append(st.parts, k)
		}
	}
}
