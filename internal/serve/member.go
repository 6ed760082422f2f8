package serve

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// A scrape is one gzip member that is put together from deflate streams which were compressed before. Several members one
// after the other would be simpler, and allowed, but curl stops after the first without a word.

// deflated is a piece of a page: a deflate stream that ends at a byte and is not finished, and what it was.
type deflated struct {
	bytes []byte
	crc   uint32
	size  int64
}

// deflate runs fill and compresses what it writes.
func deflate(fill func(io.Writer) error) (deflated, error) {
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return deflated{}, err
	}
	d := deflated{}
	if err := fill(&summing{w: z, d: &d}); err != nil {
		return deflated{}, err
	}
	// Flush ends at a byte without a last block, so that another stream may follow. It refers to nothing before itself.
	if err := z.Flush(); err != nil {
		return deflated{}, err
	}
	d.bytes = out.Bytes()
	return d, nil
}

type summing struct {
	w io.Writer
	d *deflated
}

func (s *summing) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.d.crc = crc32.Update(s.d.crc, crc32.IEEETable, b[:n])
	s.d.size += int64(n)
	return n, err
}

// writeGzip writes pieces as one gzip member (RFC 1952).
func writeGzip(w io.Writer, pieces ...deflated) error {
	if _, err := w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}); err != nil {
		return err
	}
	var crc uint32
	var size int64
	for _, p := range pieces {
		if _, err := w.Write(p.bytes); err != nil {
			return err
		}
		crc, size = combine(crc, p.crc, p.size), size+p.size
	}
	end := append([]byte{}, lastBlock...)
	end = binary.LittleEndian.AppendUint32(end, crc)
	end = binary.LittleEndian.AppendUint32(end, uint32(size))
	_, err := w.Write(end)
	return err
}

// lastBlock is an empty block that ends a deflate stream (RFC 1951: last, fixed codes, end of block).
const lastBlock = "\x03\x00"

// inflate writes what a piece was.
func (d deflated) inflate(w io.Writer) error {
	_, err := io.Copy(w, flate.NewReader(io.MultiReader(bytes.NewReader(d.bytes), bytes.NewReader([]byte(lastBlock)))))
	return err
}

// combine is the CRC-32 of two texts one after the other, from the CRC of each and the length of the second. A CRC is the
// remainder of the text as a polynomial over GF(2): the first text's is multiplied by x to the power of the bits that
// follow, and the second's added.
func combine(first, second uint32, length int64) uint32 {
	power, square := uint32(1)<<31, uint32(1)<<23 // x^0 and x^8: the highest bit is the lowest power
	for ; length > 0; length >>= 1 {
		if length&1 == 1 {
			power = multiply(power, square)
		}
		square = multiply(square, square)
	}
	return multiply(power, first) ^ second
}

// multiply multiplies two polynomials modulo that of the CRC.
func multiply(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}
