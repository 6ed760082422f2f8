package registry

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/koffset/koffset/internal/text"
)

// avroReader decodes from the beginning of b.
type avroReader struct{ b []byte }

// long is a variable-length number.
func (r *avroReader) long() (int64, error) {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		if len(r.b) < binary.MaxVarintLen64 {
			return 0, errShort
		}
		return 0, fmt.Errorf("a number has more than 64 bits")
	}
	r.b = r.b[size:]
	return n, nil
}

func (r *avroReader) int() (int64, error) {
	n, err := r.long()
	if err == nil && n != int64(int32(n)) {
		err = fmt.Errorf("%d is not an int", n)
	}
	return n, err
}

// take is the next n bytes.
func (r *avroReader) take(n int64) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("a length is %d", n)
	}
	if n > int64(len(r.b)) {
		return nil, errShort
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out, nil
}

// sized is a length and so many bytes.
func (r *avroReader) sized() ([]byte, error) {
	n, err := r.long()
	if err != nil {
		return nil, err
	}
	return r.take(n)
}

func (r *avroReader) text() (string, error) {
	b, err := r.sized()
	if err == nil && !utf8.Valid(b) {
		err = errUTF8
	}
	return string(b), err
}

// value decodes one value as JSON. Of a union it is the value alone; bytes are base64.
func (r *avroReader) value(dst []byte, t *avroType, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	if len(dst) > maxJSON {
		return nil, errLarge
	}
	switch t.kind {
	case "record":
		return r.record(dst, t, depth)
	case "union":
		n, err := r.long()
		if err != nil {
			return nil, err
		}
		if n < 0 || n >= int64(len(t.branches)) {
			return nil, fmt.Errorf("its union has no branch %d", n)
		}
		return r.value(dst, t.branches[n], depth+1)
	case "array", "map":
		return r.blocks(dst, t, depth)
	}
	return r.scalar(dst, t)
}

func (r *avroReader) record(dst []byte, t *avroType, depth int) ([]byte, error) {
	dst = append(dst, '{')
	for i := range t.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = r.value(append(dst, t.fields[i].name...), t.fields[i].of, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// blocks are the items of an array or a map: pieces with a count each, and 0 at the end.
func (r *avroReader) blocks(dst []byte, t *avroType, depth int) ([]byte, error) {
	open, end := byte('['), byte(']')
	if t.kind == "map" {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	for first := true; ; {
		n, err := r.long()
		if err != nil {
			return nil, err
		}
		if n < 0 { // its size in bytes follows, for readers that skip it
			if _, err = r.long(); err != nil {
				return nil, err
			}
			if n = -n; n < 0 {
				return nil, fmt.Errorf("a block has %d items", n)
			}
		}
		if n == 0 {
			return append(dst, end), nil
		}
		for ; n > 0; n-- {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			if t.kind == "map" {
				key, err := r.text()
				if err != nil {
					return nil, err
				}
				dst = append(text.AppendJSON(dst, key), ':')
			}
			if dst, err = r.value(dst, t.items, depth+1); err != nil {
				return nil, err
			}
		}
	}
}

func (r *avroReader) scalar(dst []byte, t *avroType) ([]byte, error) {
	switch t.kind {
	case "null":
		return append(dst, "null"...), nil
	case "boolean":
		b, err := r.take(1)
		if err != nil {
			return nil, err
		}
		if b[0] > 1 {
			return nil, fmt.Errorf("a boolean is %d", b[0])
		}
		return strconv.AppendBool(dst, b[0] == 1), nil
	case "int", "long":
		read := r.long
		if t.kind == "int" {
			read = r.int
		}
		n, err := read()
		if err != nil {
			return nil, err
		}
		return appendAvroLong(dst, n, t.logical), nil
	case "float":
		b, err := r.take(4)
		if err != nil {
			return nil, err
		}
		return appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32), nil
	case "double":
		b, err := r.take(8)
		if err != nil {
			return nil, err
		}
		return appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)), 64), nil
	case "string":
		s, err := r.text()
		if err != nil {
			return nil, err
		}
		return text.AppendJSON(dst, s), nil
	case "enum":
		n, err := r.int()
		if err != nil {
			return nil, err
		}
		if n < 0 || n >= int64(len(t.symbols)) {
			return nil, fmt.Errorf("its enum has no symbol %d", n)
		}
		return text.AppendJSON(dst, t.symbols[n]), nil
	}
	b, err := r.bytes(t)
	if err != nil {
		return nil, err
	}
	return appendAvroBytes(dst, b, t)
}

func (r *avroReader) bytes(t *avroType) ([]byte, error) {
	if t.kind == "fixed" {
		return r.take(int64(t.size))
	}
	return r.sized()
}
