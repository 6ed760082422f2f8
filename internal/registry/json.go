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
