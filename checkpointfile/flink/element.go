package flink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The elements of one list state. The metadata holds the position of every element in its stream, so neither the
// stream's header nor the serializers it describes are interpreted, apart from the version and the compression flag.

// maxElement bounds one element. A Kafka split takes 34 bytes and its topic, a dynamic or hybrid one some names more.
const maxElement = 96 << 10

var (
	errShort = errors.New("more bytes are needed")
	errLarge = fmt.Errorf("an element of more than %d bytes", maxElement)
)

// place names the bytes of one element inside its stream.
type place struct {
	// pos is where the element starts in the stream; in compressed state, where the chunk lies from which disp plain
	// bytes are counted.
	pos        int64
	disp       int64
	compressed bool
}

// elements reads the elements of states, with buffers that are kept from one state to the next.
type elements struct {
	meta    *cursor // over _metadata, for the offsets
	data    *cursor
	frames  frames
	table   *crc32.Table
	sameOff bool // the last state had equal offsets
}

func newElements(r io.ReaderAt, size int64) *elements {
	e := &elements{meta: newCursor(r, 0, size), data: &cursor{}, table: crc32.MakeTable(crc32.Castagnoli)}
	e.frames.c, e.frames.table = e.data, e.table
	return e
}

// each calls decode with the bytes of every element of ref, whose stream is bytes [start, end) of r. decode says how
// many bytes the element has, or errShort to be called again with more.
func (e *elements) each(ref *stateRef, r io.ReaderAt, start, end int64, decode func(b []byte, p place) (int, error)) error {
	e.sameOff, e.meta.err = false, nil
	e.data.reset(r, start, end)
	proxy := e.data.i32()
	if e.data.err == nil && (proxy < 1 || proxy > 6) {
		return at(start, fmt.Errorf("operator state of version %d, and 1 to 6 are known; is it from a newer Flink?", proxy))
	}
	compressed := proxy >= 6 && e.data.flag("the compression flag")
	if e.data.err != nil {
		return e.data.err
	}
	head := e.data.pos() - start
	same, err := e.equalOffsets(ref)
	if err != nil {
		return err
	}
	e.sameOff = same
	if same && !compressed {
		return fmt.Errorf("%d elements at one position of uncompressed state", ref.n)
	}
	e.meta.seek(ref.offsets)
	for i := range ref.n {
		off := e.meta.i64()
		if e.meta.err != nil {
			return e.meta.err
		}
		if off < head || off >= end-start {
			return fmt.Errorf("element %d of %d at position %d of a stream of %d bytes", i, ref.n, off, end-start)
		}
		if !compressed {
			e.data.seek(start + off)
			err = e.one(e.data.peek, func(n int) { e.data.skip(int64(n)) }, decode, func() place { return place{pos: off} })
		} else {
			if i == 0 || !same {
				e.frames.start(start + off)
			}
			err = e.one(e.frames.peek, e.frames.advance, decode, func() place {
				return place{pos: off, disp: e.frames.disp + int64(e.frames.off), compressed: true}
			})
		}
		if err != nil {
			return fmt.Errorf("element %d of %d at position %d: %w", i, ref.n, off, err)
		}
	}
	return nil
}

func (e *elements) one(peek func(int) ([]byte, error), advance func(int), decode func([]byte, place) (int, error), where func() place) error {
	for need := 1; ; {
		b, err := peek(need)
		if err != nil {
			return err
		}
		if len(b) < need {
			return fmt.Errorf("%w: %d bytes of an element", errTruncated, len(b))
		}
		n, err := decode(b, where())
		switch {
		case errors.Is(err, errShort) && len(b) < maxElement:
			need = len(b) + 1
		case errors.Is(err, errShort):
			return errLarge
		case err != nil:
			return err
		default:
			advance(n)
			return nil
		}
	}
}

// equalOffsets reports whether all of several offsets are the same: Flink 1.18.0 and 1.18.1 wrote that with compression
// (FLINK-34063), and the elements lie back to back from there. Flink itself then reads the first one n times.
func (e *elements) equalOffsets(ref *stateRef) (bool, error) {
	if ref.n < 2 {
		return false, nil
	}
	e.meta.seek(ref.offsets)
	first := e.meta.i64()
	for range ref.n - 1 {
		if e.meta.i64() != first {
			return false, e.meta.err
		}
	}
	return true, e.meta.err
}

// lengthPrefixed returns the bytes of an element that starts with its length, as SourceReaderState's do.
func lengthPrefixed(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, errShort
	}
	n := int64(int32(binary.BigEndian.Uint32(b)))
	if n < 0 {
		return nil, fmt.Errorf("an element of %d bytes", n)
	}
	if n > maxElement-4 {
		return nil, errLarge
	}
	if int64(len(b)) < 4+n {
		return nil, errShort
	}
	return b[4 : 4+n], nil
}
