package registry

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxJSON bounds what one value may become: a few bytes can stand for very many nulls.
const maxJSON = 64 << 20

// maxDepth bounds how deep a value may be nested.
const maxDepth = 1000

var (
	errDeep  = errors.New("it is nested too deep")
	errLarge = errors.New("it becomes too large")
	errUTF8  = errors.New("a text in it is not UTF-8")
)

// decodeJSON is a value of JSON Schema, which is JSON already: it is not held to the schema's rules.
func decodeJSON(dst, b []byte) ([]byte, error) {
	if !utf8.Valid(b) {
		return nil, errUTF8
	}
	out := bytes.NewBuffer(dst)
	if err := json.Compact(out, b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// appendText writes a string of UTF-8.
func appendText(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		from = i + 1
	}
	return append(append(dst, s[from:]...), '"')
}

// appendBase64 writes bytes.
func appendBase64(dst, b []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

// appendFloat writes a number of so many bits; what JSON has no number for is text.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	form := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, f, form, -1, bits)
}
