// Tables. A small one is laid out by tablewriter. That costs about 40 us a row
// and the memory of all rows: 100,000 rows of 6 columns took it 2.9 s and
// 771 MB, 3.1 s in its streaming mode, and 0.1 s here. So larger ones are laid
// out here with the same look: the widths come from the first rows, the rest
// streams. A test holds the two to the same bytes.

package render

import (
	"bytes"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

const (
	// tablewriterRows is the largest table for tablewriter: 4 ms with 12 columns.
	// At 2,000 rows it would take 80 ms, longer than reading them from Kafka.
	tablewriterRows = 100
	// sampleRows are held back to learn the widths of columns: about 1 MB. A
	// later, wider value widens its column from there on.
	sampleRows = 5000
)

// table is the state of one sheet in a table format.
type table struct {
	w       *Writer
	columns []tableColumn

	// The sample: all cells' text in one piece, and for each cell where it ends.
	text   []byte
	ends   []int
	widths []int
	styles []Style
	styled bool // some cell is coloured
	rows   int

	under     below
	streaming bool
	colour    bool
	zone      *time.Location
}

type tableColumn struct {
	Column
	cell    int
	head    string // the header, or a narrower one
	width   int
	values  int  // the width of the widest value
	limit   int  // to which longer values are shortened; 0 is none
	filled  bool // some row had a value
	hidden  bool
	dropped bool // hidden because the table must fit
	below   bool // dropped, and written below each row
}

func newTable(w *Writer) *table {
	t := &table{w: w, colour: w.s.Colour(), zone: w.s.Zone()}
	for _, c := range w.columns {
		col := tableColumn{Column: w.sheet.Columns[c.cell], cell: c.cell}
		col.Header = Escape(col.Header)
		col.head = col.Header
		col.width = displayWidth([]byte(col.Header))
		t.columns = append(t.columns, col)
	}
	return t
}

func (t *table) row(cells []Cell) {
	if t.streaming {
		t.stream(cells)
		return
	}
	for i := range t.columns {
		col := &t.columns[i]
		c := &cells[col.cell]
		start := len(t.text)
		t.text = c.appendText(t.text, t.zone)
		width := displayWidth(t.text[start:])
		t.ends = append(t.ends, len(t.text))
		t.widths = append(t.widths, width)
		t.styles = append(t.styles, c.style)
		col.values, col.width = max(col.values, width), max(col.width, width)
		col.filled = col.filled || c.filled()
		t.styled = t.styled || c.style != Plain && t.colour
	}
	t.rows++
	if t.rows == sampleRows {
		t.settle()
	}
}

// settle ends the sample: what was held back is written and later rows stream.
func (t *table) settle() {
	if t.streaming {
		return
	}
	t.hide()
	t.fit()
	t.writeHeading()
	t.writeSample()
	t.startStreaming()
}

func (t *table) startStreaming() {
	t.streaming = true
	t.text, t.ends, t.widths, t.styles = t.text[:0], nil, nil, nil
}

// end writes a table that is still held back.
func (t *table) end() {
	defer t.writeBelow()
	if t.streaming {
		return
	}
	// tablewriter puts resets of its own behind coloured cells, hence only plain ones.
	if t.rows == 0 || t.rows > tablewriterRows || t.styled {
		t.settle()
		return
	}
	t.hide()
	if t.fit() {
		t.writeHeading()
		t.writeSample()
	} else {
		t.writeTitle()
		t.renderSmall()
	}
	t.startStreaming()
}

func (t *table) hide() {
	for i := range t.columns {
		t.columns[i].hidden = t.columns[i].HideEmpty && !t.columns[i].filled
	}
}

// writeTitle separates the table from the one before it.
func (t *table) writeTitle() {
	if t.w.begun > 1 {
		t.w.buf = append(t.w.buf, '\n')
	}
	if t.w.sheet.Title != "" {
		t.w.buf = append(appendClean(t.w.buf, t.w.sheet.Title), '\n')
	}
}

func (t *table) writeHeading() {
	t.writeTitle()
	t.writeHeader()
}

func (t *table) writeHeader() {
	line := len(t.w.buf)
	first := true
	for i := range t.columns {
		col := &t.columns[i]
		if !col.hidden {
			t.pad(i, first, []byte(col.head), displayWidth([]byte(col.head)), Plain)
			first = false
		}
	}
	t.newline(line)
}

func (t *table) writeSample() {
	cell, start := 0, 0
	for range t.rows {
		row, from := cell, start
		t.belowRow(func(i int) []byte {
			if i > 0 {
				from = t.ends[row+i-1]
			}
			return t.text[from:t.ends[row+i]]
		})
		line := len(t.w.buf)
		first := true
		for i := range t.columns {
			end := t.ends[cell]
			if !t.columns[i].hidden {
				t.pad(i, first, t.text[start:end], t.widths[cell], t.styles[cell])
				first = false
			}
			start = end
			cell++
		}
		t.newline(line)
		t.w.maybeFlush()
	}
}

// stream writes a row behind the sample.
func (t *table) stream(cells []Cell) {
	shown := false
	for i := range t.columns {
		if col := &t.columns[i]; col.hidden && !col.dropped && cells[col.cell].filled() {
			col.hidden = false
			shown = true
		}
	}
	if t.w.width() > 0 && t.grow(cells) {
		shown = true
	}
	t.belowRow(func(i int) []byte {
		t.text = cells[t.columns[i].cell].appendText(t.text[:0], t.zone)
		return t.text
	})
	if shown { // a value must never be dropped because its column began empty
		for i := range t.columns {
			col := &t.columns[i]
			t.text = cells[col.cell].appendText(t.text[:0], t.zone)
			if col.limit == 0 {
				col.width = max(col.width, displayWidth(t.text))
			}
		}
		t.w.buf = append(t.w.buf, '\n')
		t.writeHeader()
	}
	line := len(t.w.buf)
	first := true
	for i := range t.columns {
		col := &t.columns[i]
		if col.hidden {
			continue
		}
		c := &cells[col.cell]
		t.text = c.appendText(t.text[:0], t.zone)
		width := displayWidth(t.text)
		if col.limit == 0 {
			col.width = max(col.width, width)
		}
		t.pad(i, first, t.text, width, c.style)
		first = false
	}
	t.newline(line)
}

// pad appends a cell to the line, two spaces behind the one before it.
func (t *table) pad(i int, first bool, text []byte, width int, style Style) {
	b := t.w.buf
	if !first {
		b = append(b, "  "...)
	}
	col := &t.columns[i]
	if col.limit > 0 && width > col.limit {
		text, width = t.cutTo(col, text)
	}
	if col.Right {
		b = appendSpaces(b, col.width-width)
	}
	if style != Plain && t.colour {
		b = appendStyled(b, style, text)
	} else {
		b = append(b, text...)
	}
	if !col.Right {
		b = appendSpaces(b, col.width-width)
	}
	t.w.buf = b
}

// newline ends the line that began at start, without blanks at its end.
func (t *table) newline(start int) {
	t.w.buf = append(t.w.buf[:start], bytes.TrimRight(t.w.buf[start:], " ")...)
	t.w.buf = append(t.w.buf, '\n')
}

func appendSpaces(b []byte, n int) []byte {
	const spaces = "                                "
	for n > len(spaces) {
		b = append(b, spaces...)
		n -= len(spaces)
	}
	return append(b, spaces[:max(n, 0)]...)
}

// displayWidth is how many columns a terminal gives the text: two for CJK. It
// measures as tablewriter does, so that both layouts agree.
func displayWidth(b []byte) int {
	for _, c := range b {
		if c >= 0x80 {
			return twwidth.WidthNoCache(string(b))
		}
	}
	return len(b)
}
