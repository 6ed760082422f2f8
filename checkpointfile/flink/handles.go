package flink

import (
	"bytes"
	"errors"
	"fmt"
)

// State handles. The same code numbers mean different things for operator, keyed and stream handles, so there are three
// decoders. All of them exist to find a handle's end; only files and Kafka's states are noted.

// maxDepth bounds handles inside handles: Flink nests three deep, a hostile file until the stack is full.
const maxDepth = 16

const (
	streamNull     = 0
	streamInline   = 1
	streamFile     = 2
	streamKeyGroup = 3
	streamRelative = 6
	streamSegment  = 15
	streamEmpty    = 16

	opNull    = 0
	opPlain   = 4
	opMerging = 17
)

func (p *metaParser) unknown(pos int64, kind string, code byte) {
	p.c.fail(at(pos, fmt.Errorf("unknown %s handle code %d; is the file from a newer Flink?", kind, code)))
}

// operatorHandle reads a handle of operator state. The states of managed ones that may be Kafka's are noted.
func (p *metaParser) operatorHandle(subtask int32, managed bool) {
	c := p.c
	pos := c.pos()
	code := c.u8()
	if c.err != nil || code == opNull {
		return
	}
	if code != opPlain && code != opMerging {
		p.unknown(pos, "operator state", code)
		return
	}
	first, firstSink := len(p.op.refs), len(p.op.sinks)
	var names kafkaNames
	for n := c.count(7, "operator states"); n > 0 && c.err == nil; n-- {
		p.operatorState(stateRef{handlePos: pos, subtask: subtask}, managed, &names)
	}
	if code == opMerging {
		c.skipUTF()
		c.skipUTF()
		c.flag("emptiness of a merged handle")
	}
	h := p.stream(0)
	if c.err != nil {
		return
	}
	if code == opMerging && h.code != streamSegment && h.code != streamEmpty {
		c.fail(at(h.pos, fmt.Errorf("stream handle code %d in a file-merging handle, which takes 15 or 16", h.code)))
		return
	}
	p.op.hasReader, p.op.hasLegacy = p.op.hasReader || names.reader, p.op.hasLegacy || names.legacy
	for i := first; i < len(p.op.refs); i++ {
		p.op.refs[i].stream = h
	}
	p.keepSinks(firstSink, names.hint, h)
	if p.onOperatorHandle != nil {
		p.onOperatorHandle(pos, c.pos(), code, h)
	}
}

// kafkaNames are the names of Kafka's states that a handle has.
type kafkaNames struct {
	reader, legacy, hint bool
}

// operatorState reads one state of a handle: its name, how it is dealt out, and where its elements are. ref is what is known
// of the handle already.
func (p *metaParser) operatorState(ref stateRef, managed bool, names *kafkaNames) {
	c := p.c
	name := c.utfBytes()
	isReader, isLegacy := string(name) == readerStateName, string(name) == legacyStateName
	isTwoPhase, isSink := string(name) == twoPhaseStateName, string(name) == committerStateName || string(name) == twoPhaseStateName
	names.hint = names.hint || bytes.HasPrefix(name, []byte(hintStateName))
	at0 := c.pos()
	if mode := c.u8(); mode > 2 {
		c.fail(at(at0, fmt.Errorf("distribution mode %d of an operator state", mode)))
	}
	ref.n = c.count(8, "offsets of an operator state")
	ref.offsets = c.pos()
	if managed && (isReader || isLegacy) && c.err == nil {
		names.reader = names.reader || isReader
		names.legacy = names.legacy || isLegacy
		if ref.n > 0 {
			ref.legacy = isLegacy
			p.op.refs = append(p.op.refs, ref)
		}
	}
	if managed && isSink && ref.n > 0 && c.err == nil {
		ref.legacy = isTwoPhase
		p.op.sinks = append(p.op.sinks, ref)
	}
	if p.onState != nil && c.err == nil {
		p.onState(c.pos(), ref.n)
	}
	c.skip(int64(ref.n) * 8)
}

// keepSinks says where the sinks' states from first on lie. A state of two phases is Kafka's only beside Kafka's hint: other
// operators have states of that name too.
func (p *metaParser) keepSinks(first int, hint bool, h streamHandle) {
	sinks := p.op.sinks[:first]
	for _, ref := range p.op.sinks[first:] {
		if ref.legacy && !hint {
			continue
		}
		ref.stream = h
		sinks = append(sinks, ref)
	}
	p.op.sinks = sinks
}

func (p *metaParser) deep(depth int) bool {
	if depth < maxDepth {
		return false
	}
	p.c.fail(at(p.c.pos(), errors.New("handles are nested too deep")))
	return true
}

func (p *metaParser) keyed(depth int) {
	c := p.c
	if c.err != nil || p.deep(depth) {
		return
	}
	pos := c.pos()
	code := c.u8()
	if c.err != nil {
		return
	}
	switch code {
	case 0:
	case 3, 7, 12:
		p.keyGroups(code, depth)
	case 5, 11:
		p.incremental(code, depth)
	case 8, 14:
		p.changelog(code, depth)
	case 9:
		p.changesInMemory()
	case 10, 13:
		p.changesInFiles(code, depth)
	default:
		p.unknown(pos, "keyed state", code)
	}
}

func (p *metaParser) keyGroups(code byte, depth int) {
	c := p.c
	p.out.canonical = p.out.canonical || code == 7
	c.i32()
	c.skip(int64(c.count(8, "key groups")) * 8)
	p.stream(depth + 1)
	if code == 12 {
		c.skipUTF()
	}
}

func (p *metaParser) incremental(code byte, depth int) {
	c := p.c
	c.i64()
	c.skipUTF()
	c.i32()
	c.i32()
	if code == 11 {
		c.i64()
	}
	p.stream(depth + 1)
	p.namedStreams(depth)
	p.namedStreams(depth)
	if code == 11 {
		c.skipUTF()
	}
}

func (p *metaParser) changelog(code byte, depth int) {
	c := p.c
	p.sawLog = true
	short := p.d.changelog114 && code == 8
	c.i32()
	c.i32()
	if !short {
		c.i64()
	}
	for range 2 {
		for n := c.count(1, "keyed handles"); n > 0 && c.err == nil; n-- {
			p.keyed(depth + 1)
		}
	}
	if !short {
		c.i64()
		if code == 14 {
			c.i64()
		}
		c.skipUTF()
	}
}

func (p *metaParser) changesInMemory() {
	c := p.c
	p.sawLog = true
	c.i32()
	c.i32()
	c.i64()
	c.i64()
	for n := c.count(8, "changes"); n > 0 && c.err == nil; n-- {
		c.i32()
		c.skip(int64(c.count(1, "bytes of a change")))
	}
	if !p.d.changelog114 {
		c.skipUTF()
	}
}

func (p *metaParser) changesInFiles(code byte, depth int) {
	c := p.c
	p.sawLog = true
	c.i32()
	c.i32()
	for n := c.count(9, "change files"); n > 0 && c.err == nil; n-- {
		c.i64()
		p.stream(depth + 1)
	}
	c.i64()
	if !p.d.changelog114 || code != 10 {
		c.i64()
		c.skipUTF()
	}
	if code == 13 {
		c.skipUTF()
	}
}

func (p *metaParser) namedStreams(depth int) {
	for n := p.c.count(3, "incremental files"); n > 0 && p.c.err == nil; n-- {
		p.c.skipUTF()
		p.stream(depth + 1)
	}
}

// stream reads a stream handle of any kind.
func (p *metaParser) stream(depth int) streamHandle {
	c := p.c
	h := streamHandle{pos: c.pos()}
	if c.err != nil || p.deep(depth) {
		return h
	}
	h.code = c.u8()
	if c.err != nil {
		return h
	}
	switch h.code {
	case streamNull, streamEmpty:
	case streamInline:
		c.skipUTF()
		h.dataLen = int64(c.count(1, "inline bytes"))
		h.dataPos = c.pos()
		c.skip(h.dataLen)
	case streamFile:
		h.size = p.size()
		h.pathPos = c.pos()
		p.file(h)
	case streamRelative:
		h.pathPos = c.pos()
		path := c.utfBytes()
		if p.onFile != nil && c.err == nil {
			// The callback wants the whole handle, and the path would not outlive the read of the size.
			path = bytes.Clone(path)
		}
		h.size = p.size()
		h.end = c.pos()
		if p.onFile != nil && c.err == nil {
			p.onFile(h, path)
		}
	case streamKeyGroup:
		c.i32()
		c.skip(int64(c.count(8, "key groups")) * 8)
		p.stream(depth + 1)
	case streamSegment:
		at0 := c.pos()
		if h.start = c.i64(); h.start < 0 {
			c.fail(at(at0, fmt.Errorf("a segment that starts at %d", h.start)))
		}
		h.size = p.size()
		c.i32()
		h.pathPos = c.pos()
		p.file(h)
	default:
		p.unknown(h.pos, "stream", h.code)
	}
	h.end = c.pos()
	return h
}

func (p *metaParser) size() int64 {
	at0 := p.c.pos()
	n := p.c.i64()
	if n < 0 {
		p.c.fail(at(at0, fmt.Errorf("a state size of %d", n)))
	}
	return n
}

// file reads the absolute path of a handle (and a segment's logical id) and counts its directory.
func (p *metaParser) file(h streamHandle) {
	c := p.c
	path := c.utfBytes()
	if c.err != nil {
		return
	}
	dir := path[:max(bytes.LastIndexByte(path, '/'), 0)]
	if d := p.out.files[string(dir)]; d != nil {
		d.n++
	} else if len(p.out.files) < 1000 {
		p.out.files[string(dir)] = &fileDir{n: 1, example: string(path)}
	} else {
		// A job writes to a handful of directories; what comes after a thousand is counted together.
		if p.out.files["…"] == nil {
			p.out.files["…"] = &fileDir{example: string(path)}
		}
		p.out.files["…"].n++
	}
	if p.onFile != nil {
		path = bytes.Clone(path)
	}
	if h.code == streamSegment {
		c.skipUTF()
	}
	h.end = c.pos()
	if p.onFile != nil && c.err == nil {
		p.onFile(h, path)
	}
}

// channels reads one list of in-flight records.
func (p *metaParser) channels() {
	c := p.c
	least := int64(21)
	if p.version >= 6 {
		least = 18
	}
	for n := c.count(least, "channel handles"); n > 0 && c.err == nil; n-- {
		p.out.channels++
		p.sawChan = true
		kind := byte(1)
		pos := c.pos()
		if p.version >= 6 {
			kind = c.u8()
		}
		switch kind {
		case 1, 2:
			if !p.d.channel111 {
				c.i32()
			}
			c.i32()
			c.i32()
			c.skip(int64(c.count(8, "channel offsets")) * 8)
			p.size()
			if h := p.stream(0); h.code == streamNull && p.version == 3 {
				// Never written, and the only sign by which some files of Flink 1.11 are told from later ones.
				c.fail(at(h.pos, errors.New("a channel handle without a stream")))
			}
		case 3, 4:
			c.i32()
			p.size()
			p.stream(0)
			c.skip(int64(c.count(1, "bytes of a merged channel handle")))
		default:
			p.unknown(pos, "channel state", kind)
		}
	}
}
