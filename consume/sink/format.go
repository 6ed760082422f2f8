package sink

// From a record to bytes: format strings in the spirit of kcat and kcl, JSON lines, raw values.

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Encoder appends one record to dst.
type Encoder func(dst []byte, r *kgo.Record) []byte

// Form is what the bytes of a key or value are.
type Form uint8

// The forms. Kafka's Java deserializers choose one; see FormOf.
const (
	Text  Form = iota // as they are
	Int32             // four bytes, big endian
	Int64             // eight bytes, big endian
)

// FormOf is the form that a Java deserializer class stands for: String, ByteArray, Bytes, ByteBuffer, Integer and Long.
func FormOf(class string) (Form, bool) {
	name := class[strings.LastIndexByte(class, '.')+1:]
	switch strings.TrimSuffix(name, "Deserializer") {
	case "String", "ByteArray", "Bytes", "ByteBuffer":
		return Text, true
	case "Integer":
		return Int32, true
	case "Long":
		return Int64, true
	}
	return Text, false
}

// Forms are the forms of keys and values.
type Forms struct{ Key, Value Form }

// append writes bytes in their form. What does not have the size of a number is written as it is.
func (f Form) append(dst, b []byte) []byte {
	switch {
	case f == Int32 && len(b) == 4:
		return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(b))), 10)
	case f == Int64 && len(b) == 8:
		return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(b)), 10)
	}
	return append(dst, b...)
}

// Values writes each value and a newline: "%v\n".
func Values(dst []byte, r *kgo.Record) []byte {
	return append(append(dst, r.Value...), '\n')
}

// Raw writes the values and nothing else.
func Raw(dst []byte, r *kgo.Record) []byte { return append(dst, r.Value...) }

const verbs = `%v (or %s) value, %k key, %t topic, %p partition, %o offset, %T time in milliseconds (-1 for none), %d time (- for none), %e leader epoch, %h headers, %V (or %S) and %K lengths, %H how many headers, %R value length as 4 bytes, %% a percent sign; {hex} or {base64} after %v and %k; \n \t \r \0 \\ \xFF`

// FormatVerbs is the help text of format strings.
func FormatVerbs() string { return verbs }

// ParseFormat reads a format string:
//
//	%v or %s  value          %k  key          %t  topic      %p  partition
//	%o        offset         %T  time in milliseconds        %d  time, RFC 3339 in UTC
//	%e        leader epoch   %h  headers, key=value,…        %H  how many headers
//	%V or %S  value length   %K  key length   %R  value length as 4 bytes, big endian
//	%%        a percent sign
//
// {hex} and {base64} may follow %v, %s and %k. A missing key or value is empty, with length -1. A record
// without a time has -1 for %T, as Kafka stores it, and - for %d. Backslash escapes are \n,
// \t, \r, \0, \\ and \xFF.
func ParseFormat(format string, forms Forms) (Encoder, error) {
	if format == "%v\n" || format == `%v\n` || format == "%s\n" || format == `%s\n` {
		if forms.Value == Text {
			return Values, nil
		}
	}
	var p formatParser
	for rest := format; rest != ""; {
		n, err := p.next(format, rest, forms)
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	p.flush()
	if len(p.ops) == 0 {
		return nil, fmt.Errorf("the format is empty: every record would be nothing")
	}
	return func(dst []byte, r *kgo.Record) []byte {
		for _, op := range p.ops {
			dst = op(dst, r)
		}
		return dst
	}, nil
}

// formatParser gathers what a format string writes; text that stands still is one piece.
type formatParser struct {
	ops []Encoder
	lit []byte
}

func (p *formatParser) flush() {
	if len(p.lit) > 0 {
		text := string(p.lit)
		p.ops = append(p.ops, func(dst []byte, _ *kgo.Record) []byte { return append(dst, text...) })
		p.lit = nil
	}
}

// next takes the first piece of rest, and says how long it is.
func (p *formatParser) next(format, rest string, forms Forms) (int, error) {
	switch {
	case rest[0] == '\\':
		n, b, err := escape(rest)
		if err != nil {
			return 0, err
		}
		p.lit = append(p.lit, b)
		return n, nil
	case rest[0] != '%':
		p.lit = append(p.lit, rest[0])
		return 1, nil
	case len(rest) == 1:
		return 0, fmt.Errorf("format %q ends with a single %%: write %%%% for a percent sign", format)
	case rest[1] == '%':
		p.lit = append(p.lit, '%')
		return 2, nil
	}
	n, as := 2, ""
	if form, ok := strings.CutPrefix(rest[2:], "{"); ok {
		if as, _, ok = strings.Cut(form, "}"); !ok {
			return 0, fmt.Errorf("format %q: a { is not closed", format)
		}
		if as != "" {
			n += len(as) + 2
		}
	}
	op, err := verb(rest[1], as, forms)
	if err != nil {
		return 0, err
	}
	p.flush()
	p.ops = append(p.ops, op)
	return n, nil
}

func escape(s string) (n int, b byte, err error) {
	if len(s) < 2 {
		return 0, 0, fmt.Errorf("the format ends with a single backslash")
	}
	switch s[1] {
	case 'n':
		return 2, '\n', nil
	case 't':
		return 2, '\t', nil
	case 'r':
		return 2, '\r', nil
	case '0':
		return 2, 0, nil
	case '\\':
		return 2, '\\', nil
	case 'x':
		if len(s) >= 4 {
			if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
				return 4, byte(v), nil
			}
		}
		return 0, 0, fmt.Errorf(`the format has \x without two hexadecimal digits`)
	}
	return 0, 0, fmt.Errorf(`the format has \%c: use \n, \t, \r, \0, \\ or \xFF`, s[1])
}

func verb(v byte, as string, forms Forms) (Encoder, error) {
	if as != "" && v != 'v' && v != 's' && v != 'k' {
		return nil, fmt.Errorf("the format has %%%c{%s}: only %%v, %%s and %%k take {hex} or {base64}", v, as)
	}
	number := func(of func(*kgo.Record) int64) Encoder {
		return func(dst []byte, r *kgo.Record) []byte { return strconv.AppendInt(dst, of(r), 10) }
	}
	switch v {
	case 'v', 's':
		return bytesVerb(as, forms.Value, func(r *kgo.Record) []byte { return r.Value })
	case 'k':
		return bytesVerb(as, forms.Key, func(r *kgo.Record) []byte { return r.Key })
	case 't':
		return func(dst []byte, r *kgo.Record) []byte { return append(dst, r.Topic...) }, nil
	case 'p':
		return number(func(r *kgo.Record) int64 { return int64(r.Partition) }), nil
	case 'o':
		return number(func(r *kgo.Record) int64 { return r.Offset }), nil
	case 'T':
		return number(func(r *kgo.Record) int64 { return millis(offset.TimeOf(r.Timestamp)) }), nil
	case 'e':
		return number(func(r *kgo.Record) int64 { return int64(r.LeaderEpoch) }), nil
	case 'V', 'S':
		return number(func(r *kgo.Record) int64 { return length(r.Value) }), nil
	case 'K':
		return number(func(r *kgo.Record) int64 { return length(r.Key) }), nil
	case 'H':
		return number(func(r *kgo.Record) int64 { return int64(len(r.Headers)) }), nil
	case 'R':
		return func(dst []byte, r *kgo.Record) []byte {
			return binary.BigEndian.AppendUint32(dst, uint32(int32(length(r.Value))))
		}, nil
	case 'd':
		return func(dst []byte, r *kgo.Record) []byte {
			if t := offset.TimeOf(r.Timestamp); !t.IsZero() {
				return appendTime(dst, t)
			}
			return append(dst, '-')
		}, nil
	case 'h':
		return func(dst []byte, r *kgo.Record) []byte {
			for i, h := range r.Headers {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = append(append(append(dst, h.Key...), '='), h.Value...)
			}
			return dst
		}, nil
	}
	return nil, fmt.Errorf("the format has %%%c, which is none of: %s", v, verbs)
}

// length is -1 for what is missing, as kcat prints it: an empty value and no value are different things in Kafka.
func length(b []byte) int64 {
	if b == nil {
		return -1
	}
	return int64(len(b))
}

func bytesVerb(as string, form Form, of func(*kgo.Record) []byte) (Encoder, error) {
	switch as {
	case "":
		return func(dst []byte, r *kgo.Record) []byte { return form.append(dst, of(r)) }, nil
	case "hex":
		return func(dst []byte, r *kgo.Record) []byte { return hex.AppendEncode(dst, of(r)) }, nil
	case "base64":
		return func(dst []byte, r *kgo.Record) []byte { return base64.StdEncoding.AppendEncode(dst, of(r)) }, nil
	}
	return nil, fmt.Errorf("the format has {%s}: use {hex} or {base64}", as)
}

// millis is -1 for a record without a time, as Kafka stores it and kcat prints it.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.UnixMilli()
}

func appendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
}

func appendTimes(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, `,"timestamp":null,"timestamp_ms":null`...)
	}
	dst = appendTime(append(dst, `,"timestamp":"`...), t)
	return strconv.AppendInt(append(dst, `","timestamp_ms":`...), t.UnixMilli(), 10)
}

// Schema is what is known of the schema that bytes name. The zero Schema is none.
type Schema struct {
	ID int32
	// Sure says that there is such a schema; else the bytes only look as if they named one.
	Sure bool
	// Decoded is the value as JSON in one line; nil where it could not be decoded.
	Decoded []byte
}

// JSONLines writes a JSON object a line: topic, partition, offset, timestamp and timestamp_ms, leader_epoch, key, value,
// headers. Bytes that are no UTF-8 are in key_base64, value_base64 and the like instead; what is missing is null. The name of a
// header that is no UTF-8 has its bytes in key_base64 too.
func JSONLines(forms Forms) Encoder {
	return JSONLinesDecoded(forms, func(*kgo.Record, []byte) Schema { return Schema{} })
}

// JSONLinesDecoded is JSONLines for values that name a schema. schemaOf says what is known of a key's or a
// value's schema. Where there is one, key_schema_id and schema_id name it, or possible_key_schema_id and possible_schema_id where that is not sure, and key_decoded and value_decoded
// have the value beside its bytes.
func JSONLinesDecoded(forms Forms, schemaOf func(r *kgo.Record, keyOrValue []byte) Schema) Encoder {
	return func(dst []byte, r *kgo.Record) []byte {
		dst = append(dst, `{"topic":`...)
		dst = text.AppendJSON(dst, r.Topic)
		dst = append(dst, `,"partition":`...)
		dst = strconv.AppendInt(dst, int64(r.Partition), 10)
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendInt(dst, r.Offset, 10)
		dst = appendTimes(dst, offset.TimeOf(r.Timestamp))
		dst = append(dst, `,"leader_epoch":`...)
		if r.LeaderEpoch < 0 {
			dst = append(dst, "null"...)
		} else {
			dst = strconv.AppendInt(dst, int64(r.LeaderEpoch), 10)
		}
		dst = appendField(dst, "key", r.Key, forms.Key)
		if forms.Key == Text {
			dst = appendSchema(dst, "key_schema_id", "key_decoded", schemaOf(r, r.Key))
		}
		dst = appendField(dst, "value", r.Value, forms.Value)
		if forms.Value == Text {
			dst = appendSchema(dst, "schema_id", "value_decoded", schemaOf(r, r.Value))
		}
		dst = append(dst, `,"headers":[`...)
		for i, h := range r.Headers {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendHeaderKey(append(dst, '{'), h.Key)
			dst = appendField(dst, "value", h.Value, Text)
			dst = append(dst, '}')
		}
		return append(dst, "]}\n"...)
	}
}

// appendHeaderKey writes the name of a header, and its bytes where it is no UTF-8: no broker makes sure that it is.
func appendHeaderKey(dst []byte, key string) []byte {
	dst = text.AppendJSON(append(dst, `"key":`...), key)
	if utf8.ValidString(key) {
		return dst
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, `,"key_base64":"`...), []byte(key)), '"')
}

// appendSchema writes what is known of a schema, and nothing where that is nothing.
func appendSchema(dst []byte, id, decoded string, s Schema) []byte {
	if s.ID == 0 {
		return dst
	}
	dst = append(dst, `,"`...)
	if !s.Sure {
		dst = append(dst, "possible_"...)
	}
	dst = strconv.AppendInt(append(append(dst, id...), `":`...), int64(s.ID), 10)
	if s.Decoded != nil {
		dst = append(append(append(append(dst, `,"`...), decoded...), `":`...), s.Decoded...)
	}
	return dst
}

func appendField(dst []byte, name string, b []byte, form Form) []byte {
	dst = append(append(dst, `,"`...), name...)
	switch {
	case b == nil:
		return append(dst, `":null`...)
	case form == Int32 && len(b) == 4 || form == Int64 && len(b) == 8:
		return form.append(append(dst, `":`...), b)
	case utf8.Valid(b):
		return text.AppendJSON(append(dst, `":`...), b)
	}
	dst = append(dst, `_base64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}
