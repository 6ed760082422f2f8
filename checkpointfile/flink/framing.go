package flink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/s2"
)

// Snappy's framing format, which Flink 1.18 and later put around the elements of operator state when snapshot
// compression is on: a 10 byte identifier, then chunks of type, 3 byte length, masked CRC-32C of the plain data, data.

const (
	chunkSnappy     = 0x00
	chunkPlain      = 0x01
	chunkIdentifier = 0xFF
	chunkHeader     = 4
	maxChunkPlain   = 65536
	// maxChunkBody is the checksum and the longest snappy block that 65,536 bytes can become.
	maxChunkBody = 4 + 76490
)

var (
	identifier = []byte("\xff\x06\x00\x00sNaPpY")

	errNoMoreData = errors.New("no more data")
	errChecksum   = errors.New("the checksum of a snappy chunk does not fit its data")
)

func maskedCRC(table *crc32.Table, b []byte) uint32 {
	c := crc32.Checksum(b, table)
	return (c>>15 | c<<17) + 0xa282ead8
}

// frames gives the plain bytes from one chunk header on.
type frames struct {
	c     *cursor
	table *crc32.Table
	disp  int64 // plain bytes between the chunk where reading started and buf[0]
	buf   []byte
	off   int
	ended bool
	err   error
}

func (f *frames) start(pos int64) {
	f.disp, f.buf, f.off, f.ended, f.err = 0, f.buf[:0], 0, false, nil
	f.c.seek(pos)
}

// fill decodes the next data chunk to the end of buf.
func (f *frames) fill() error {
	for {
		ch, err := nextChunk(f.c)
		if err != nil {
			return err
		}
		switch ch.kind {
		case chunkIdentifier:
			f.ended = true
			return errNoMoreData
		case chunkSnappy, chunkPlain:
			if f.off > 0 {
				f.buf = f.buf[:copy(f.buf, f.buf[f.off:])]
				f.disp += int64(f.off)
				f.off = 0
			}
			f.buf, err = ch.plain(f.table, f.buf)
			return err
		}
	}
}

func (f *frames) peek(n int) ([]byte, error) {
	for f.err == nil && !f.ended && len(f.buf)-f.off < n {
		if f.err = f.fill(); errors.Is(f.err, errNoMoreData) {
			f.err, f.ended = nil, true
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	return f.buf[f.off:], nil
}

func (f *frames) advance(n int) { f.off += n }

// chunk is one chunk as it lies in the stream; body is valid until the cursor's next read.
type chunk struct {
	pos  int64
	kind byte
	body []byte
}

// nextChunk reads a chunk, or errNoMoreData at the end. The bodies of chunks without data are nil.
func nextChunk(c *cursor) (chunk, error) {
	ch := chunk{pos: c.pos()}
	if c.err != nil {
		return ch, c.err
	}
	if c.left() == 0 {
		return ch, errNoMoreData
	}
	h := c.bytes(chunkHeader)
	if c.err != nil {
		return ch, c.err
	}
	ch.kind = h[0]
	n := int(h[1]) | int(h[2])<<8 | int(h[3])<<16
	switch {
	case ch.kind == chunkIdentifier:
		if b := c.bytes(n); c.err == nil && !bytes.Equal(b, identifier[chunkHeader:]) {
			return ch, at(ch.pos, errors.New("a damaged snappy identifier"))
		}
	case ch.kind == chunkSnappy || ch.kind == chunkPlain:
		if n < 4 || n > maxChunkBody || ch.kind == chunkPlain && n > 4+maxChunkPlain {
			return ch, at(ch.pos, fmt.Errorf("a snappy chunk of %d bytes", n))
		}
		ch.body = c.bytes(n)
	case ch.kind >= 0x80: // may be skipped
		c.skip(int64(n))
	default:
		return ch, at(ch.pos, fmt.Errorf("a snappy chunk of the reserved type %#x", ch.kind))
	}
	return ch, c.err
}

// plain appends the chunk's data to dst, checked against its checksum.
func (ch chunk) plain(table *crc32.Table, dst []byte) ([]byte, error) {
	sum, data := binary.LittleEndian.Uint32(ch.body), ch.body[4:]
	from := len(dst)
	if ch.kind == chunkPlain {
		dst = append(dst, data...)
	} else {
		n, err := s2.DecodedLen(data)
		if err != nil || n > maxChunkPlain {
			return dst, at(ch.pos, errors.New("a damaged snappy chunk"))
		}
		out, err := s2.Decode(make([]byte, n), data)
		if err != nil {
			return dst, at(ch.pos, errors.New("a damaged snappy chunk"))
		}
		dst = append(dst, out...)
	}
	if maskedCRC(table, dst[from:]) != sum {
		return dst[:from], at(ch.pos, errChecksum)
	}
	return dst, nil
}

// encodeChunk returns a whole chunk with the given data. It keeps the old chunk's length and type where it can, so that
// nothing behind it moves; where the new data does not compress that far, the chunk is stored uncompressed and longer.
func encodeChunk(table *crc32.Table, old chunk, data []byte) []byte {
	kind, body := byte(chunkPlain), data
	if old.kind == chunkSnappy {
		if b := encodeExact(data, len(old.body)-4); b != nil {
			kind, body = chunkSnappy, b
		}
	}
	n := 4 + len(body)
	out := make([]byte, 0, chunkHeader+n)
	out = append(out, kind, byte(n), byte(n>>8), byte(n>>16))
	out = binary.LittleEndian.AppendUint32(out, maskedCRC(table, data))
	return append(out, body...)
}

// encodeExact compresses data to a snappy block of exactly n bytes, or returns nil. Snappy has many encodings of one
// input: a literal may be split, and every split costs one byte more, so a block that came out shorter is stretched.
func encodeExact(data []byte, n int) []byte {
	b := s2.EncodeSnappy(nil, data)
	if len(b) > n {
		// Ten times slower, and not often needed.
		if b = s2.EncodeSnappyBest(nil, data); len(b) > n {
			return nil
		}
	}
	_, head := binary.Uvarint(b)
	out := append(make([]byte, 0, n), b[:head]...)
	for i, spare := head, n-len(b); i < len(b); {
		tag := b[i]
		switch tag & 3 {
		case 1:
			out = append(out, b[i:i+2]...)
			i += 2
		case 2:
			out = append(out, b[i:i+3]...)
			i += 3
		case 3:
			out = append(out, b[i:i+5]...)
			i += 5
		default:
			l, k := int(tag>>2), 1
			if l >= 60 {
				k += l - 59
				l = 0
				for j := k - 1; j > 0; j-- {
					l = l<<8 | int(b[i+j])
				}
			}
			l++
			lit := b[i+k : i+k+l]
			i += k + l
			for spare > 0 && len(lit) > 1 {
				// One byte as a literal of its own takes two bytes, but the rest may now do with a shorter header.
				out = append(out, 0, lit[0])
				spare -= 1 + literalHead(len(lit)-1) - literalHead(len(lit))
				lit = lit[1:]
			}
			out = appendLiteral(out, lit)
		}
	}
	if len(out) != n {
		return nil
	}
	if back, err := s2.Decode(nil, out); err != nil || !bytes.Equal(back, data) {
		return nil
	}
	return out
}

func literalHead(n int) int {
	switch {
	case n <= 60:
		return 1
	case n <= 1<<8:
		return 2
	}
	return 3
}

func appendLiteral(dst, lit []byte) []byte {
	switch n := len(lit) - 1; {
	case n < 60:
		dst = append(dst, byte(n)<<2)
	case n < 1<<8:
		dst = append(dst, 60<<2, byte(n))
	default:
		dst = append(dst, 61<<2, byte(n), byte(n>>8))
	}
	return append(dst, lit...)
}
