// Values of rows, and the styles they may have on a terminal.

package render

import (
	"time"
)

// Cell is one value of a row. It is made by one of the constructors and copied
// freely; making one allocates nothing, except for the nested kinds (Object,
// Strings, List), which a caller with many rows makes once and reuses.
type Cell struct {
	str    string
	num    int64
	nested *nested
	kind   kind
	style  Style
}

type kind uint8

const (
	kindNone kind = iota // the zero Cell is None()
	kindInt
	kindFloat
	kindBool
	kindString
	kindName
	kindTime
	kindObject
	kindStrings
	kindNames
	kindList
	kindRawJSON
)

// nested holds what few cells need, so that the others stay small.
type nested struct {
	float   float64
	fields  []Field
	strings []string
	cells   []Cell
}

// Field is a named value: of an Object, of the head of a document, or of its end.
type Field struct {
	Key   string // snake_case, part of the JSON contract
	Value Cell
}

// F makes a Field.
func F(key string, value Cell) Field { return Field{Key: key, Value: value} }

// Style is how a cell looks on a terminal with colour. It changes nothing elsewhere.
type Style uint8

// The styles.
const (
	Plain Style = iota
	Good
	Warn
	Bad
	Dim
)

// Styled returns the cell with a style.
func (c Cell) Styled(s Style) Cell {
	c.style = s
	return c
}

// IsNone reports whether the cell holds no value.
func (c Cell) IsNone() bool { return c.kind == kindNone }

// None is the absent value: null in JSON, empty in csv, "-" in tsv and tables.
func None() Cell { return Cell{} }

// Int is a 64-bit integer, exact in every format.
func Int(n int64) Cell { return Cell{kind: kindInt, num: n} }

// Int32 is Int for partitions, epochs and broker ids.
func Int32(n int32) Cell { return Cell{kind: kindInt, num: int64(n)} }

// IntPtr is Int, or None for nil.
func IntPtr(n *int64) Cell {
	if n == nil {
		return None()
	}
	return Int(*n)
}

// Float is a floating point number; NaN and infinities are None.
func Float(f float64) Cell {
	if f-f != 0 {
		return None()
	}
	return Cell{kind: kindFloat, nested: &nested{float: f}}
}

// String is text. An empty string is "" in JSON and looks like None elsewhere.
func String(s string) Cell { return Cell{kind: kindString, str: s} }

// Name is the name of a group or of something else whose name is any bytes: in JSON as it is, in text as [offset.QuoteName]
// writes it, so that "" and a blank at the end are seen, and that a list of names can be read back.
func Name(s string) Cell { return Cell{kind: kindName, str: s} }

// Text is String, or None for the empty string.
func Text(s string) Cell {
	if s == "" {
		return None()
	}
	return String(s)
}

// Bool is true or false.
func Bool(b bool) Cell {
	c := Cell{kind: kindBool}
	if b {
		c.num = 1
	}
	return c
}

// Time is an instant, written as RFC 3339 in UTC with milliseconds, which is all
// the precision Kafka has. The zero time is None.
func Time(t time.Time) Cell {
	if t.IsZero() {
		return None()
	}
	return millis(t.UnixMilli())
}

// millis is the instant ms milliseconds after 1970, written like Time. Kafka's
// "no timestamp" (-1) is the caller's to turn into None.
func millis(ms int64) Cell { return Cell{kind: kindTime, num: ms} }

// Object is a JSON object with its fields in the given order. Text formats show
// it as compact JSON; a column of objects is usually NoTable and NoCSV.
func Object(fields ...Field) Cell {
	return Cell{kind: kindObject, nested: &nested{fields: fields}}
}

// Strings is a JSON array of strings; text formats join it with commas. nil is
// an empty array.
func Strings(s []string) Cell { return Cell{kind: kindStrings, nested: &nested{strings: s}} }

// Names are names of groups: in JSON an array of them as they are, in text as [offset.NameText] writes them, with commas between,
// so that one name is never read as two.
func Names(s []string) Cell { return Cell{kind: kindNames, nested: &nested{strings: s}} }

// List is a JSON array of any cells; text formats show it as compact JSON.
func List(cells ...Cell) Cell { return Cell{kind: kindList, nested: &nested{cells: cells}} }

// RawJSON is one value that is JSON already, compact. Text formats show it as it is, escaped like text.
func RawJSON(b []byte) Cell { return Cell{kind: kindRawJSON, str: string(b)} }
