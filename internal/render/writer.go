// The writer: what the formats share.

package render

import (
	"fmt"
	"time"
)

// schemaVersion is the version of the JSON contract. Within a version fields
// are only added.
const schemaVersion = 1

// Column describes one column for every format at once. Keys are written out
// and never derived from headers: a header may be reworded, a key is a contract.
type Column struct {
	Header string // of tables, in Kafka's upper case
	Key    string // of JSON, csv and tsv, in snake_case

	Right     bool // numbers: to the right in tables
	Wide      bool // in tables only with -o wide
	HideEmpty bool // not in tables in which no row has a value
	Keep      bool // not left out for a narrow terminal, although its key may be
	NoTable   bool // not in tables
	NoJSON    bool // not in json and jsonl
	NoCSV     bool // not in csv and tsv
}

// Sheet is a sequence of rows of one kind.
type Sheet struct {
	Name    string // the JSON array: "partitions"
	Row     string // the kind of a jsonl line: "partition"
	Title   string // a line above the table, in tables only; may be empty
	NoWide  bool   // the command has no -o wide
	Columns []Column
}

// Meta is the head of a document. The zero ClusterID and GeneratedAt are null.
type Meta struct {
	Kind        string // "inspect"
	ClusterID   string
	GeneratedAt time.Time
	Extra       []Field
}

// End is the end of a document.
type End struct {
	// Incomplete says that something could not be read, so that totals are short.
	Incomplete bool
	Fields     []Field
}

// Writer writes rows in one of the formats, as they come, without holding them:
//
//		w := render.NewWriter(streams, format, meta)
//		w.Begin(sheet)
//		w.Row(cells...)
//		err := w.Close(end)
//
//	  - json: one object: the head, an array for each sheet, "incomplete" and the
//	    end's fields. Each row is on a line of its own. Valid JSON only after Close.
//	  - jsonl: an object for each row that begins with "kind"; the last line is
//	    {"kind":"end","incomplete":…} with the head and the end's fields. Output
//	    without that line was cut off.
//	  - csv: RFC 4180 with LF, a header of keys, None is an empty field. Texts are escaped as
//	    in tsv, and one that a spreadsheet would run as a formula (it begins with = + - @) has
//	    an apostrophe before it.
//	  - tsv: a header of keys; values are escaped as by [Escape], so that a line is
//	    always a row; None and the empty string are "-", since `read` and awk
//	    swallow an empty field and shift the rest.
//	  - table, wide: aligned columns two spaces apart, escaped, "-" as in tsv.
//
// Several sheets follow each other. csv and tsv then have an empty line and a new
// header between them; a command for scripts begins only one. To Begin a sheet of
// the same name again continues it: tables get a new title and header, the other
// formats just more rows.
//
// The first error is kept: all later calls do nothing, Err and Close return it.
type Writer struct {
	s      *Streams
	format Format
	meta   Meta
	buf    []byte
	err    error

	sheet   Sheet
	begun   int      // calls of Begin
	names   []string // sheets so far
	rows    int      // of the current json array
	columns []column // the sheet's columns that this format shows
	table   *table
	fitted  fitted
	page    *pager // nil where the document is written as it comes
	onTTY   bool
}

// column is a shown column: where its cell is in a row, and what is written
// before the value.
type column struct {
	cell   int
	prefix string
}

const flushAt = 32 << 10

// NewWriter begins a document. Nothing is written before the first Begin, Row or
// Close, so that a command that fails early leaves stdout empty.
func NewWriter(s *Streams, f Format, m Meta) *Writer {
	w := &Writer{s: s, format: f, meta: m, onTTY: s.OutTTY, page: s.newPager(f == Wide), buf: make([]byte, 0, flushAt+4096)}
	if f == KafkaCSV || f == Positions {
		w.err = fmt.Errorf("rows of %s cannot be written as %s", m.Kind, f)
	}
	return w
}

// Err returns the first error, for a caller with many rows that wants to stop early.
func (w *Writer) Err() error { return w.err }

// Begin starts a sheet, or continues the current one if the name is the same.
func (w *Writer) Begin(sheet Sheet) {
	if w.err != nil {
		return
	}
	again := w.begun > 0 && sheet.Name == w.sheet.Name
	if !again {
		for _, n := range w.names {
			if n == sheet.Name {
				w.err = fmt.Errorf("sheet %s of %s was begun before %s and cannot be continued", n, w.meta.Kind, w.sheet.Name)
				return
			}
		}
		w.names = append(w.names, sheet.Name)
	}
	w.endSheet(again)
	w.sheet = sheet
	w.columns = w.columns[:0]
	for i := range sheet.Columns {
		c := &sheet.Columns[i]
		switch w.format {
		case JSON, JSONL:
			if !c.NoJSON {
				w.columns = append(w.columns, column{i, string(appendJSONString(nil, c.Key)) + ":"})
			}
		case CSV, TSV:
			if !c.NoCSV {
				w.columns = append(w.columns, column{i, ""})
			}
		default:
			if !c.NoTable && (!c.Wide || w.format == Wide) {
				w.columns = append(w.columns, column{i, ""})
			}
		}
	}
	switch w.format {
	case JSON:
		w.beginJSON(again)
	case JSONL:
		w.beginJSONL()
	case CSV, TSV:
		if !again {
			w.header()
		}
	default:
		w.table = newTable(w)
	}
	w.begun++
	w.maybeFlush()
}

// Row writes one row: a cell for each column of the sheet, in that order.
func (w *Writer) Row(cells ...Cell) {
	if w.err != nil {
		return
	}
	if w.begun == 0 || len(cells) != len(w.sheet.Columns) {
		w.err = fmt.Errorf("a row of %s has %d cells for the %d columns of sheet %q", w.meta.Kind, len(cells), len(w.sheet.Columns), w.sheet.Name)
		return
	}
	switch w.format {
	case JSON:
		w.rowJSON(cells)
	case JSONL:
		w.rowJSONL(cells)
	case CSV:
		w.rowCSV(cells)
	case TSV:
		w.rowTSV(cells)
	default:
		w.table.row(cells)
	}
	w.maybeFlush()
}

// Flush writes out what is there: for a command that shows things as they happen.
// A table first settles the widths of its columns.
func (w *Writer) Flush() error {
	if w.table != nil {
		w.table.settle()
	}
	w.flush()
	w.unheld()
	if w.err == nil {
		w.err = w.s.Flush()
	}
	return w.err
}

// Close ends the document, flushes the streams and returns the first error; that
// the reader went away is none, since what a command found, and its exit status,
// are the same. The streams' Flush tells. A second Close writes nothing.
func (w *Writer) Close(end End) error {
	if err := w.close(end); !IsBrokenPipe(err) {
		return err
	}
	return nil
}

func (w *Writer) close(end End) error {
	if w.err != nil || w.s == nil {
		return w.err
	}
	w.endSheet(false)
	switch w.format {
	case JSON:
		w.closeJSON(end)
	case JSONL:
		w.closeJSONL(end)
	}
	w.flush()
	w.unheld()
	if w.err == nil {
		w.err = w.s.Flush()
	}
	w.s.endPager()
	w.sayFitted()
	w.s = nil
	return w.err
}

func (w *Writer) endSheet(again bool) {
	if w.begun == 0 {
		return
	}
	switch w.format {
	case JSON:
		if !again {
			w.buf = append(w.buf, "\n]"...)
		}
	case Table, Wide:
		w.table.end()
	}
}

func (w *Writer) maybeFlush() {
	if len(w.buf) >= flushAt {
		w.flush()
	}
}

func (w *Writer) flush() {
	if len(w.buf) == 0 || w.s == nil {
		return
	}
	var err error
	if w.page != nil {
		if err = w.page.write(w.buf); err != nil {
			w.s.Warn("the pager cannot be started, all is printed: %v", err)
			err = nil
			w.unheld()
		}
	} else {
		err = w.s.writeOut(w.buf)
	}
	if w.err == nil {
		w.err = err
	}
	w.buf = w.buf[:0]
}

// unheld writes out what was held back for a pager that is not needed.
func (w *Writer) unheld() {
	if w.page == nil || w.page.in != nil {
		return
	}
	held := w.page.held
	w.page = nil
	if len(held) == 0 {
		return
	}
	if err := w.s.writeOut(held); w.err == nil {
		w.err = err
	}
}
