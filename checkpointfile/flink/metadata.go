package flink

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// The body of _metadata, versions 2 to 7, in one forward pass. Nothing of Kafka's payloads is decoded here: the pass
// notes where they lie, and they are decoded after the body has been read to its last byte.

const (
	headerMagic = 0x4960672D
	masterMagic = 0xC96B1696

	readerStateName = "SourceReaderState"
	legacyStateName = "topic-partition-offset-states"
)

var (
	// ErrNotSnapshot says that a file is not Flink's _metadata, or one of Flink 1.0, which had no magic number.
	ErrNotSnapshot = errors.New("not a Flink _metadata file (one of Flink 1.0 has no magic number and is not read)")
	// ErrVersion says that the file is a snapshot of a version that is not read.
	ErrVersion = errors.New("metadata version not read")
	// ErrTruncated says that a file ends before what it announces.
	ErrTruncated = errTruncated
)

// dialect says how a file of version 3 differs from the table: releases changed what they wrote without a new number.
type dialect struct {
	channel111   bool // Flink 1.11: channel handles without the subtask index
	changelog114 bool // Flink 1.14: short changelog handles
}

// metadata is what the pass notes. Positions are byte positions in the file.
type metadata struct {
	version      int
	checkpointID int64
	numOperators int
	ops          []*operator // only those with a coordinator's state or a state that may be Kafka's
	channels     int64       // handles of in-flight records
	canonical    bool        // saw a handle that only canonical savepoints have
	props        properties
	propsErr     error
	files        map[string]*fileDir // directories of absolute handles
}

// fileDir counts the absolute handles into one directory.
type fileDir struct {
	n       int64
	example string
}

type operator struct {
	id          [16]byte
	name, uid   string
	parallelism int32
	subtasks    int32
	finished    bool // fully finished: no subtask has state
	coordPos    int64
	coordLen    int64
	hasReader   bool
	hasLegacy   bool
	refs        []stateRef
	sinks       []stateRef // states that may hold transactions of a Kafka sink; legacy ones are FlinkKafkaProducer's
}

func (o *operator) hex() string { return hex.EncodeToString(o.id[:]) }

// stateRef is one list state of one subtask that may be Kafka's.
type stateRef struct {
	handlePos int64 // of the operator handle's type byte
	subtask   int32
	legacy    bool
	n         int   // elements
	offsets   int64 // position of the n int64 offsets
	stream    streamHandle
}

// streamHandle is where bytes of state lie.
type streamHandle struct {
	pos, end int64 // of the handle itself
	code     byte
	dataPos  int64 // inline: the bytes
	dataLen  int64
	size     int64 // files: of the state
	start    int64 // segments: first byte in the file
	pathPos  int64 // files: of the path's UTF
}

type metaParser struct {
	c       *cursor
	version int
	d       dialect
	out     *metadata
	op      *operator
	sawChan bool // something was read whose layout depends on the dialect
	sawLog  bool
	// onFile, where set, is called with every handle that names a file. The path is valid during the call.
	onFile func(h streamHandle, path []byte)
	// onOperatorHandle, where set, is called with the extent of every operator state handle that is not null.
	onOperatorHandle func(pos, end int64, code byte, stream streamHandle)
	// onState, where set, is called with the place of the n offsets of every operator state.
	onState func(offsets int64, n int)
}

// parseMetadata reads the whole body, trying the dialects of version 3 where the first reading fails.
func parseMetadata(r io.ReaderAt, size int64) (*metadata, dialect, error) {
	first := &metaParser{c: newCursor(r, 0, size)}
	m, err := first.parse()
	if err == nil || first.version != 3 {
		return m, dialect{}, err
	}
	for _, d := range []dialect{{channel111: true}, {changelog114: true}} {
		if d.channel111 && !first.sawChan || d.changelog114 && !first.sawLog {
			continue
		}
		p := &metaParser{c: first.c, d: d}
		p.c.reset(r, 0, size)
		if m, err2 := p.parse(); err2 == nil {
			return m, d, nil
		}
	}
	return nil, dialect{}, err
}

func (p *metaParser) parse() (*metadata, error) {
	c := p.c
	p.out = &metadata{files: map[string]*fileDir{}}
	if uint32(c.i32()) != headerMagic {
		if c.err != nil && !errors.Is(c.err, errTruncated) {
			return nil, c.err
		}
		return nil, ErrNotSnapshot
	}
	v := c.i32()
	switch {
	case c.err != nil:
	case v == 1:
		return nil, fmt.Errorf("%w: version 1, of Flink 1.1 and 1.2; restore it with Flink 1.3 to 1.10 and take a new savepoint", ErrVersion)
	case v < 2 || v > 7:
		return nil, fmt.Errorf("%w: version %d, and 2 to 7 are known; is it from a newer Flink?", ErrVersion, v)
	}
	p.version, p.out.version = int(v), int(v)
	p.body()
	if c.err != nil {
		return nil, p.wrap(c.err)
	}
	if p.version >= 4 {
		p.op = nil
		p.out.props, p.out.propsErr = readProperties(c)
		if c.err != nil {
			return nil, fmt.Errorf("checkpoint properties: %w", c.err)
		}
	} else if c.left() > 0 {
		// Version 2 and 3 end with the last operator, so more bytes mean that something was misread.
		return nil, at(c.pos(), fmt.Errorf("%d bytes follow the last operator", c.left()))
	}
	return p.out, nil
}

func (p *metaParser) wrap(err error) error {
	err = at(p.c.pos(), err)
	if p.op == nil {
		return err
	}
	if p.op.name != "" {
		return fmt.Errorf("operator %s (%s): %w", p.op.hex(), p.op.name, err)
	}
	return fmt.Errorf("operator %s: %w", p.op.hex(), err)
}

func (p *metaParser) body() {
	c, m := p.c, p.out
	at0 := c.pos()
	if m.checkpointID = c.i64(); m.checkpointID < 0 {
		c.fail(at(at0, fmt.Errorf("checkpoint id %d", m.checkpointID)))
	}
	for n := c.count(8, "master states"); n > 0 && c.err == nil; n-- {
		at0 := c.pos()
		if magic := uint32(c.i32()); c.err == nil && magic != masterMagic {
			c.fail(at(at0, fmt.Errorf("a master state starts with %08x, not %08x", magic, uint32(masterMagic))))
		}
		c.skip(int64(c.count(1, "bytes of a master state")))
	}
	m.numOperators = c.count(28, "operators")
	for n := m.numOperators; n > 0 && c.err == nil; n-- {
		p.operator()
	}
}

func (p *metaParser) operator() {
	c := p.c
	// The previous operator's memory is taken again unless something refers to it: a file of any size costs nothing
	// but its Kafka sources.
	if p.op == nil || len(p.out.ops) > 0 && p.out.ops[len(p.out.ops)-1] == p.op {
		p.op = new(operator)
	} else {
		*p.op = operator{}
	}
	op := p.op
	if p.version >= 5 {
		op.name, op.uid = c.utf(), c.utf()
	}
	copy(op.id[:], c.bytes(16))
	at0 := c.pos()
	if op.parallelism = c.i32(); op.parallelism < 0 {
		c.fail(at(at0, fmt.Errorf("parallelism %d", op.parallelism)))
	}
	c.i32() // max parallelism
	if p.version == 2 {
		c.i32() // chain length, always 1
	} else {
		at0 := c.pos()
		h := p.stream(0)
		if h.code > 1 {
			c.fail(at(at0, fmt.Errorf("coordinator state by handle code %d, and only inline bytes are possible", h.code)))
		}
		op.coordPos, op.coordLen = h.dataPos, h.dataLen
	}
	at0 = c.pos()
	n := c.i32()
	switch {
	case c.err != nil:
	case n == -1 && p.version >= 3:
		op.finished = true
	case n < 0:
		c.fail(at(at0, fmt.Errorf("the number of subtasks is %d", n)))
	case int64(n)*4 > c.left():
		c.fail(at(at0, fmt.Errorf("%w: %d subtasks announced, %d bytes left", errTruncated, n, c.left())))
	default:
		op.subtasks = n
		for i := int32(0); i < n && c.err == nil; i++ {
			p.subtask()
		}
	}
	if c.err == nil && (op.coordLen > 0 || op.hasReader || op.hasLegacy || len(op.refs)+len(op.sinks) > 0) {
		p.out.ops = append(p.out.ops, op)
	}
}

func (p *metaParser) subtask() {
	c := p.c
	at0 := c.pos()
	index := c.i32()
	if index < 0 && p.version >= 3 {
		index = -(index + 1)
		p.checkIndex(at0, index)
		return // finished: nothing follows
	}
	p.checkIndex(at0, index)
	if p.version == 2 {
		c.i64()
		at0 := c.pos()
		if legacy := c.i32(); legacy > 0 {
			c.fail(at(at0, errors.New("state of Flink 1.1 inside version 2; restore it with Flink 1.3 to 1.7 and take a new savepoint")))
		}
	}
	if p.present("managed operator state") {
		p.operatorHandle(index, true)
	}
	if p.present("raw operator state") {
		p.operatorHandle(index, false)
	}
	p.keyed(0)
	p.keyed(0)
	if p.version >= 3 {
		p.channels()
		p.channels()
	}
	if p.version >= 7 && c.flag("the reference to another checkpoint") {
		c.i64()
	}
}

func (p *metaParser) checkIndex(pos int64, index int32) {
	if p.c.err == nil && (index < 0 || index >= p.op.parallelism) {
		p.c.fail(at(pos, fmt.Errorf("subtask %d of parallelism %d", index, p.op.parallelism)))
	}
}

// present reads an int32 that must be 0 or 1.
func (p *metaParser) present(what string) bool {
	at0 := p.c.pos()
	v := p.c.i32()
	if v != 0 && v != 1 {
		p.c.fail(at(at0, fmt.Errorf("the presence of %s is %d, not 0 or 1", what, v)))
	}
	return v == 1
}
