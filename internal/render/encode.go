// The two encodings of a cell, JSON and text, written append-style without
// reflection: an inspect of 102,000 partitions has over a million cells.

package render

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/koffset/koffset/offset"
)

// appendJSON appends the cell as a JSON value.
func (c *Cell) appendJSON(dst []byte) []byte {
	switch c.kind {
	case kindInt:
		return strconv.AppendInt(dst, c.num, 10)
	case kindString, kindName:
		return appendJSONString(dst, c.str)
	case kindBool:
		return strconv.AppendBool(dst, c.num != 0)
	case kindFloat:
		return appendFloat(dst, c.nested.float)
	case kindTime:
		dst = append(dst, '"')
		dst = appendTime(dst, c.num)
		return append(dst, '"')
	case kindObject:
		dst = append(dst, '{')
		for i := range c.nested.fields {
			f := &c.nested.fields[i]
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendField(dst, f)
		}
		return append(dst, '}')
	case kindStrings, kindNames:
		dst = append(dst, '[')
		for i, s := range c.nested.strings {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONString(dst, s)
		}
		return append(dst, ']')
	case kindList:
		dst = append(dst, '[')
		for i := range c.nested.cells {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c.nested.cells[i].appendJSON(dst)
		}
		return append(dst, ']')
	case kindRawJSON:
		return appendPrintable(dst, c.str)
	default:
		return append(dst, "null"...)
	}
}

// appendPrintable appends JSON, of which it escapes what does not print, as [appendJSONString] does: such a rune is in a string.
func appendPrintable(dst []byte, s string) []byte {
	for _, r := range s {
		if r != 0x7f && (r < utf8.RuneSelf || unicode.IsPrint(r)) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = appendJSONRune(dst, r)
	}
	return dst
}

func appendField(dst []byte, f *Field) []byte {
	dst = appendJSONString(dst, f.Key)
	dst = append(dst, ':')
	return f.Value.appendJSON(dst)
}

// appendRaw appends the cell as text without escaping, and nothing for None.
func (c *Cell) appendRaw(dst []byte) []byte {
	switch c.kind {
	case kindNone:
		return dst
	case kindString, kindRawJSON:
		return append(dst, c.str...)
	case kindName:
		return append(dst, offset.QuoteName(c.str)...)
	case kindTime:
		return appendTime(dst, c.num)
	case kindNames:
		return append(dst, strings.Join(offset.NameTexts(c.nested.strings), ",")...)
	case kindStrings:
		for i, s := range c.nested.strings {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, s...)
		}
		return dst
	default:
		return c.appendJSON(dst)
	}
}

// appendText appends the cell as it is shown in tables and tsv: escaped, and "-"
// for what is absent or empty, so that a row always has the same number of
// blank-separated words for awk and of fields for read. An instant is shown in
// the zone, with its distance from UTC: what is copied from a table means the
// same wherever it is pasted.
func (c *Cell) appendText(dst []byte, zone *time.Location) []byte {
	start := len(dst)
	switch c.kind {
	case kindTime:
		if zone == time.UTC {
			return appendTime(dst, c.num)
		}
		return time.UnixMilli(c.num).In(zone).AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
	case kindString, kindRawJSON:
		dst = appendEscaped(dst, c.str)
	case kindStrings:
		for i, s := range c.nested.strings {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendEscaped(dst, s)
		}
	default:
		dst = c.appendRaw(dst)
	}
	if len(dst) == start {
		dst = append(dst, '-')
	}
	return dst
}

// filled reports whether a table has something to show for the cell.
func (c *Cell) filled() bool {
	switch c.kind {
	case kindNone:
		return false
	case kindString:
		return c.str != ""
	case kindName:
		return true
	case kindStrings, kindNames:
		return len(c.nested.strings) > 0
	default:
		return true
	}
}

// appendFloat writes what encoding/json would: no exponent for ordinary sizes.
func appendFloat(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' { // e-09 is e-9 there
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// appendTime writes RFC 3339 in UTC with milliseconds. By hand, since
// time.AppendFormat takes three times as long.
func appendTime(dst []byte, ms int64) []byte {
	t := time.UnixMilli(ms).UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 { // a garbage timestamp still has to be shown
		return t.AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	}
	hour, minute, second := t.Clock()
	milli := t.Nanosecond() / int(time.Millisecond)
	dst = append(dst, digit(year/1000), digit(year/100), digit(year/10), digit(year), '-')
	dst = append(dst, digit(int(month)/10), digit(int(month)), '-', digit(day/10), digit(day), 'T')
	dst = append(dst, digit(hour/10), digit(hour), ':', digit(minute/10), digit(minute), ':')
	return append(dst, digit(second/10), digit(second), '.', digit(milli/100), digit(milli/10), digit(milli), 'Z')
}

func digit(n int) byte { return byte('0' + n%10) }

// appendJSONString writes a JSON string. Beyond what JSON demands it escapes
// everything that does not print, so that JSON on a terminal is as safe as a
// table; a reader gets the same string. Bytes that are no UTF-8 become U+FFFD,
// since JSON cannot hold them.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= ' ' && b < 0x7f && b != '"' && b != '\\' {
			i++
			continue
		}
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if (r != utf8.RuneError || size > 1) && unicode.IsPrint(r) {
				i += size
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendJSONRune(dst, r)
			i += size
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = appendU(dst, rune(b))
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendJSONRune escapes a rune, as a surrogate pair where it needs one.
func appendJSONRune(dst []byte, r rune) []byte {
	if r < 0x10000 {
		return appendU(dst, r)
	}
	r -= 0x10000
	return appendU(appendU(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
}
