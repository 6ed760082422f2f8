package flink

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/koffset/koffset/internal/flinktest"
)

// A small encoder of what no real snapshot at hand holds: other versions, other codes, other sizes.

var (
	i32, i64, cat, code = flinktest.I32, flinktest.I64, flinktest.Cat, flinktest.Code
	list                = flinktest.List // a count and the parts
	inline              = flinktest.Inline
	inFile, relFile     = flinktest.InFile, flinktest.RelFile
	element             = flinktest.Element // a split as SourceReaderState holds it
)

func utf(s string) []byte { return appendUTF(nil, s) }

// encSub is one subtask; nil handles are absent or null.
type encSub struct {
	index           int
	finished        bool
	op, rawOp       []byte
	keyed, rawKeyed []byte
	in, out         [][]byte
	ref             []byte // version 7
}

type encOp struct {
	name, uid   string
	id          byte // repeated sixteen times
	parallelism int
	coord       []byte // nil: none
	finished    bool
	subs        []encSub
}

// encMeta writes a _metadata file.
func encMeta(version int, ops ...encOp) []byte {
	return encMetaWith(version, nil, ops...)
}

func encMetaWith(version int, masters [][]byte, ops ...encOp) []byte {
	b := cat(i32(headerMagic), i32(version), i64(42), list(masters...), i32(len(ops)))
	for _, op := range ops {
		b = op.append(b, version)
	}
	if version >= 4 {
		b = append(b, realProperties()...)
	}
	return b
}

func (op encOp) append(b []byte, version int) []byte {
	if version >= 5 {
		b = append(b, cat(utf(op.name), utf(op.uid))...)
	}
	par := max(op.parallelism, len(op.subs), 1)
	b = append(b, bytes.Repeat([]byte{op.id}, 16)...)
	b = append(b, cat(i32(par), i32(128))...)
	if version == 2 {
		b = append(b, i32(1)...)
	} else if op.coord == nil {
		b = append(b, 0)
	} else {
		b = append(b, inline(op.coord)...)
	}
	if op.finished {
		return append(b, i32(-1)...)
	}
	b = append(b, i32(len(op.subs))...)
	for _, s := range op.subs {
		b = s.append(b, version)
	}
	return b
}

func (s encSub) append(b []byte, version int) []byte {
	if s.finished {
		return append(b, i32(-s.index-1)...)
	}
	b = append(b, i32(s.index)...)
	if version == 2 {
		b = append(b, cat(i64(-1), i32(0))...)
	}
	for _, h := range [][]byte{s.op, s.rawOp} {
		if h == nil {
			b = append(b, i32(0)...)
		} else {
			b = append(b, cat(i32(1), h)...)
		}
	}
	for _, h := range [][]byte{s.keyed, s.rawKeyed} {
		if h == nil {
			h = []byte{0}
		}
		b = append(b, h...)
	}
	if version >= 3 {
		b = append(b, cat(list(s.in...), list(s.out...))...)
	}
	if version >= 7 {
		if s.ref == nil {
			b = append(b, 0)
		} else {
			b = append(b, cat([]byte{1}, s.ref)...)
		}
	}
	return b
}

// realProperties is the Java object of a real checkpoint.
func realProperties() []byte {
	b, err := os.ReadFile("testdata/f22-hashmap/checkpoints/5a15acc057ea89cab90181945de82119/chk-10/_metadata")
	if err != nil {
		panic(err)
	}
	return b[bytes.LastIndex(b, []byte{0xAC, 0xED, 0x00, 0x05}):]
}

func segment(path string, start, size int) []byte {
	return code(15, i64(int64(start)), i64(int64(size)), i32(0), utf(path), utf("logical"))
}

// encState is a list state: its name and elements.
type encState struct {
	name  string
	elems [][]byte
}

// layoutOf says how elements lie in their stream.
type layoutOf int

const (
	plainV5       layoutOf = iota // proxy version 5
	plainV6                       // proxy version 6, not compressed
	chunked                       // one chunk an element
	chunkedSnappy                 // the same, compressed
	equalOffsets                  // Flink 1.18.0: all elements in common chunks, one position
	equalSnappy                   // the same, compressed
)

// encStream writes an operator state stream and gives each state's offsets.
func encStream(l layoutOf, states ...encState) (data []byte, offsets [][]int64) {
	header := []byte("header that nobody reads")
	switch l {
	case plainV5:
		data = cat(i32(5), header)
	case plainV6:
		data = cat(i32(6), []byte{0}, header)
	default:
		data = cat(i32(6), []byte{1}, header)
	}
	if l == chunked || l == chunkedSnappy {
		data = append(data, identifier...)
	}
	kind := byte(chunkPlain)
	if l == chunkedSnappy || l == equalSnappy {
		kind = chunkSnappy
	}
	for _, st := range states {
		var offs []int64
		switch l {
		case equalOffsets, equalSnappy:
			data = append(data, identifier...)
			at := int64(len(data))
			all := cat(st.elems...)
			for len(all) > 0 {
				n := min(len(all), maxChunkPlain)
				data = append(data, encChunk(kind, all[:n])...)
				all = all[n:]
			}
			for range st.elems {
				offs = append(offs, at)
			}
		default:
			for _, e := range st.elems {
				offs = append(offs, int64(len(data)))
				if l == chunked || l == chunkedSnappy {
					e = encChunk(kind, e)
				}
				data = append(data, e...)
			}
		}
		offsets = append(offsets, offs)
	}
	return data, offsets
}

func encChunk(kind byte, plain []byte) []byte {
	body := plain
	if kind == chunkSnappy {
		body = s2.EncodeSnappy(nil, plain)
	}
	n := len(body) + 4
	b := []byte{kind, byte(n), byte(n >> 8), byte(n >> 16)}
	b = binary.LittleEndian.AppendUint32(b, maskedCRC(crc32.MakeTable(crc32.Castagnoli), plain))
	return append(b, body...)
}

// opHandle writes an operator state handle around a stream handle.
func opHandle(states []encState, offsets [][]int64, stream []byte) []byte {
	return code(4, opStates(states, offsets), stream)
}

func opStates(states []encState, offsets [][]int64) []byte {
	b := i32(len(states))
	for i, st := range states {
		b = append(b, cat(utf(st.name), []byte{0}, i32(len(offsets[i])))...)
		for _, o := range offsets[i] {
			b = append(b, i64(o)...)
		}
	}
	return b
}

// stateHandle is an inline handle of some states.
func stateHandle(l layoutOf, states ...encState) []byte {
	data, offs := encStream(l, states...)
	return opHandle(states, offs, inline(data))
}

func kafkaPayload(topic string, partition int, start, stop int64) []byte {
	return cat(utf(topic), i32(partition), i64(start), i64(stop))
}

func readerState(topic string, starts ...int64) encState {
	st := encState{name: readerStateName}
	for i, s := range starts {
		st.elems = append(st.elems, element(0, kafkaPayload(topic, i, s, noOffset)))
	}
	return st
}

// coordinator wraps an enumerator's bytes.
func coordinator(version int, b []byte) []byte {
	return cat(i32(1), i32(version), i32(len(b)), b)
}

// legacyElement is what Kryo and the long serializer write.
func legacyElement(topic string, partition int, last int64) []byte {
	var h int32
	for _, x := range []byte(topic) {
		h = 31*h + int32(x)
	}
	h = 31*h + int32(partition)
	b := []byte{87, 1}
	b = binary.AppendUvarint(b, uint64(uint32(h<<1)^uint32(h>>31)))
	b = binary.AppendUvarint(b, uint64(uint32(partition)<<1))
	b = append(b, 1)
	if n := len(topic); n > 1 && n < 64 {
		b = append(b, topic...)
		b[len(b)-1] |= 0x80
	} else {
		v := n + 1
		if v < 64 {
			b = append(b, 0x80|byte(v))
		} else {
			b = append(b, 0xC0|byte(v&0x3F))
			b = binary.AppendUvarint(b, uint64(v>>6))
		}
		b = append(b, topic...)
	}
	return append(b, i64(last)...)
}

func parseBytes(b []byte, files map[string][]byte) (*Snapshot, error) {
	open := func(path string, _ bool) (*StateFile, error) {
		data, ok := files[path]
		if !ok {
			return nil, &MissingFileError{Path: path, Tried: []string{path}}
		}
		return &StateFile{ReaderAt: bytes.NewReader(data), Size: int64(len(data)), Name: path}, nil
	}
	return Parse(bytes.NewReader(b), int64(len(b)), open)
}

// writeSnapshot puts an encoded snapshot into a directory.
func writeSnapshot(t testing.TB, name string, meta []byte, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for n, b := range files {
		if err := os.WriteFile(filepath.Join(dir, n), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, MetadataName), meta, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
