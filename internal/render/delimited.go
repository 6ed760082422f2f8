// csv and tsv.

package render

import (
	"slices"
	"strings"
	"time"
)

// header writes the keys, for csv and tsv.
func (w *Writer) header() {
	if w.begun > 0 {
		w.buf = append(w.buf, '\n')
	}
	for i, c := range w.columns {
		if i > 0 {
			w.buf = append(w.buf, w.separator())
		}
		w.buf = append(w.buf, w.sheet.Columns[c.cell].Key...)
	}
	w.buf = append(w.buf, '\n')
}

func (w *Writer) separator() byte {
	if w.format == TSV {
		return '\t'
	}
	return ','
}

func (w *Writer) rowTSV(cells []Cell) {
	b := w.buf
	for i := range w.columns {
		if i > 0 {
			b = append(b, '\t')
		}
		b = cells[w.columns[i].cell].appendText(b, time.UTC)
	}
	w.buf = append(b, '\n')
}

func (w *Writer) rowCSV(cells []Cell) {
	b := w.buf
	for i := range w.columns {
		if i > 0 {
			b = append(b, ',')
		}
		c := &cells[w.columns[i].cell]
		start := len(b)
		b = c.appendRaw(b)
		switch c.kind {
		case kindNone, kindInt, kindBool, kindTime, kindFloat: // never need quotes
			continue
		}
		if c.kind != kindName && !plain(string(b[start:])) {
			b = appendEscaped(b[:start], string(b[start:]))
		}
		b = quoteCSV(notFormula(b, start), start)
	}
	w.buf = append(b, '\n')
}

// notFormula puts an apostrophe before a text that a spreadsheet would take for a formula and run: names and metadata come
// from whoever may write to the cluster.
func notFormula(b []byte, start int) []byte {
	if start < len(b) && strings.IndexByte("=+-@", b[start]) >= 0 {
		return slices.Insert(b, start, '\'')
	}
	return b
}

// quoteCSV puts b[start:] into quotes if a reader of RFC 4180 needs them.
func quoteCSV(b []byte, start int) []byte {
	quotes, need := 0, false
	for _, c := range b[start:] {
		switch c {
		case '"':
			quotes++
		case ',', '\n', '\r':
			need = true
		}
	}
	if len(b) > start && (b[start] == ' ' || b[len(b)-1] == ' ') {
		need = true // some readers trim bare fields
	}
	if quotes == 0 && !need {
		return b
	}
	value := string(b[start:])
	b = append(b[:start], '"')
	for i := 0; i < len(value); i++ {
		if value[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, value[i])
	}
	return append(b, '"')
}
