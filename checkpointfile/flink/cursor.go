package flink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A cursor reads big-endian Java data from a part of an io.ReaderAt through one window, knows its position in the file,
// and can jump. Errors stick: after the first one every read returns zero, so a decoder checks once per loop.

// windowSize holds the largest thing that is needed in one piece: a UTF of 65,537 bytes, or one snappy chunk of 76,494.
const windowSize = 128 << 10

var errTruncated = errors.New("the file ends too early")

type cursor struct {
	r    io.ReaderAt
	end  int64 // exclusive; nothing is read from here on
	base int64 // file position of buf[0]
	buf  []byte
	off  int
	err  error
	// space is the window's memory, kept over resets. It grows with what is read, so that small files stay cheap.
	space []byte
}

func newCursor(r io.ReaderAt, start, end int64) *cursor {
	c := &cursor{}
	c.reset(r, start, end)
	return c
}

// reset points the cursor to [start, end) of r and forgets errors.
func (c *cursor) reset(r io.ReaderAt, start, end int64) {
	c.r, c.end, c.base, c.buf, c.off, c.err = r, end, start, nil, 0, nil
}

func (c *cursor) pos() int64  { return c.base + int64(c.off) }
func (c *cursor) left() int64 { return c.end - c.pos() }

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *cursor) failf(format string, args ...any) { c.fail(fmt.Errorf(format, args...)) }

// at wraps an error with the byte position, unless it has one.
func at(pos int64, err error) error {
	var p *posError
	if err == nil || errors.As(err, &p) {
		return err
	}
	return &posError{pos: pos, err: err}
}

type posError struct {
	pos int64
	err error
}

func (e *posError) Error() string { return fmt.Sprintf("byte %d: %v", e.pos, e.err) }
func (e *posError) Unwrap() error { return e.err }

// window makes at least n bytes readable at off, n <= windowSize.
func (c *cursor) window(n int) bool {
	if c.err != nil {
		return false
	}
	// The end first: a nested decoder may have moved it into what is already in the window.
	if int64(n) > c.left() {
		c.fail(at(c.pos(), fmt.Errorf("%w: %d bytes wanted, %d left", errTruncated, n, max(c.left(), 0))))
		return false
	}
	if len(c.buf)-c.off >= n {
		return true
	}
	want := int(min(int64(windowSize), c.left()))
	if cap(c.space) < want {
		c.space = make([]byte, want)
	}
	next := c.space[:want]
	kept := copy(next, c.buf[c.off:])
	at0 := c.pos()
	c.base, c.off = at0, 0
	got, err := c.r.ReadAt(next[kept:], at0+int64(kept))
	c.buf = next[:kept+got]
	if len(c.buf) < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: it shrank while it was read", errTruncated)
		}
		c.fail(at(at0, err))
		return false
	}
	return true
}

// peek returns everything in the window, at least n bytes where the range has them.
func (c *cursor) peek(n int) ([]byte, error) {
	n = int(min(int64(n), c.left(), windowSize))
	if n <= 0 || !c.window(n) {
		return nil, c.err
	}
	return c.buf[c.off:min(int64(len(c.buf)), int64(c.off)+c.left())], nil
}

// bytes returns the next n <= windowSize bytes, valid until the next read.
func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > windowSize {
		c.failf("a piece of %d bytes", n)
		return nil
	}
	if !c.window(n) {
		return nil
	}
	b := c.buf[c.off : c.off+n]
	c.off += n
	return b
}

// skip moves on by n bytes without reading them.
func (c *cursor) skip(n int64) {
	if c.err != nil {
		return
	}
	if n < 0 || n > c.left() {
		c.fail(at(c.pos(), fmt.Errorf("%w: %d bytes announced, %d left", errTruncated, n, c.left())))
		return
	}
	if n <= int64(len(c.buf)-c.off) {
		c.off += int(n)
		return
	}
	c.base, c.buf, c.off = c.pos()+n, nil, 0
}

// seek jumps to a position of the file inside the range.
func (c *cursor) seek(pos int64) {
	if c.err != nil {
		return
	}
	if pos >= c.base && pos <= c.base+int64(len(c.buf)) {
		c.off = int(pos - c.base)
		return
	}
	if pos < 0 || pos > c.end {
		c.fail(at(pos, fmt.Errorf("%w: a position past the end %d", errTruncated, c.end)))
		return
	}
	c.base, c.buf, c.off = pos, nil, 0
}

func (c *cursor) u8() byte {
	if !c.window(1) {
		return 0
	}
	b := c.buf[c.off]
	c.off++
	return b
}

func (c *cursor) u16() uint16 {
	if !c.window(2) {
		return 0
	}
	v := binary.BigEndian.Uint16(c.buf[c.off:])
	c.off += 2
	return v
}

func (c *cursor) i32() int32 {
	if !c.window(4) {
		return 0
	}
	v := binary.BigEndian.Uint32(c.buf[c.off:])
	c.off += 4
	return int32(v)
}

func (c *cursor) i64() int64 {
	if !c.window(8) {
		return 0
	}
	v := binary.BigEndian.Uint64(c.buf[c.off:])
	c.off += 8
	return int64(v)
}

// flag reads a Java boolean that must be 0 or 1.
func (c *cursor) flag(what string) bool {
	p := c.pos()
	b := c.u8()
	if b > 1 {
		c.fail(at(p, fmt.Errorf("%s is %d, not 0 or 1", what, b)))
	}
	return b == 1
}

// count reads an int32 number of things of at least size bytes each, and refuses one that the rest cannot hold: nothing
// is ever allocated or looped over on the word of a damaged file.
func (c *cursor) count(size int64, what string) int {
	p := c.pos()
	n := c.i32()
	if c.err != nil {
		return 0
	}
	if n < 0 {
		c.fail(at(p, fmt.Errorf("the number of %s is %d", what, n)))
		return 0
	}
	if int64(n)*size > c.left() {
		c.fail(at(p, fmt.Errorf("%w: %d %s announced, %d bytes left", errTruncated, n, what, c.left())))
		return 0
	}
	return int(n)
}

// utfBytes returns the encoded bytes of a Java UTF, valid until the next read.
func (c *cursor) utfBytes() []byte {
	if !c.window(2) {
		return nil
	}
	n := int(binary.BigEndian.Uint16(c.buf[c.off:]))
	if !c.window(2 + n) {
		return nil
	}
	b := c.buf[c.off+2 : c.off+2+n]
	c.off += 2 + n
	return b
}

func (c *cursor) skipUTF() { c.utfBytes() }

// utf decodes a Java UTF.
func (c *cursor) utf() string {
	p := c.pos()
	s, err := decodeUTF(c.utfBytes())
	if err != nil {
		c.fail(at(p, err))
	}
	return s
}
