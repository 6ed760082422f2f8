// Tables that fit a terminal: narrower heads, columns that go, values that are shortened, in an order that is declared here
// and that the user is told. Pipes, files and -o wide always get everything.

package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/text"
)

// shortHeads are the narrower heads of a table that is too wide with its full ones.
func shortHeads() map[string]string {
	return map[string]string{
		"CURRENT-OFFSET": "CURRENT", "NEW-OFFSET": "NEW", "NEXT-OFFSET": "NEXT", "STOPPING-OFFSET": "STOPPING",
		"LOG-START-OFFSET": "LOG-START", "LOG-END-OFFSET": "LOG-END", "LAST-STABLE-OFFSET": "STABLE",
		"SOURCE-OFFSET": "SOURCE", "TARGET-OFFSET": "TARGET", "FROM-OFFSET": "FROM", "UNTIL-OFFSET": "UNTIL",
		"PARTITION": "PART", "PARTITIONS": "PARTS",
	}
}

// dropOrder are the keys of the columns that may go, the first to go first. What a row is called, what is read out of it,
// and what is wrong with it are not among them.
func dropOrder() []string {
	return []string{
		"host", "client_id", "instance_id", "application", "cluster_id", "profile", "topic_count", "type",
		"undoes", "bytes", "metadata_bytes", "first_record", "log_start_offset", "last_stable_offset", "position",
		"engine", "subtask", "stopping_offset", "partition_count", "until_timestamp", "from_timestamp", "to_timestamp",
		"undone_by", "time", "user", "written_at", "acknowledged", "uncommitted_count", "member_count", "passed_over", "read_again",
		"log_end_offset", "offset_count", "rows", "means", "source",
	}
}

// proseWidth and proseFloor are how far a sentence, a path or a list is shortened: before columns go, and after. nameFloor is
// the same for names, which are shortened last, in the middle: the ends of names are what tells them apart.
const (
	proseWidth = 24
	proseFloor = 8
	nameFloor  = 12
)

func proseKeys() []string {
	return []string{"error", "detail", "reason", "means", "proof", "application", "source", "value", "key", "command", "file", "path",
		"groups_shown", "assignment", "brokers", "about"}
}

// belowKeys are sentences that are lost when they are cut: where the terminal is too narrow for them beside the row, they stand in a
// line below it.
func belowKeys() []string { return []string{"proof", "detail"} }

func nameKeys() []string {
	return []string{"group", "topic", "job", "uid", "client_id", "host", "cluster"}
}

// fit makes the columns no wider than the terminal together. It reports whether it changed any.
func (t *table) fit() bool {
	limit := t.w.width()
	if limit == 0 || t.total() <= limit {
		return false
	}
	t.shortenHeads()
	over := func() bool { return t.total() > limit }
	full := make([]int, len(t.columns))
	for i := range t.columns {
		full[i] = t.columns[i].width
	}
	for over() && t.putBelow() {
	}
	if over() {
		t.floor(proseKeys(), proseWidth)
	}
	for _, key := range dropOrder() {
		for i := range t.columns {
			if col := &t.columns[i]; over() && !col.hidden && !col.Keep && col.Key == key {
				col.hidden, col.dropped = true, true
				addOnce(&t.w.fitted.left, col.Header)
			}
		}
	}
	if over() {
		t.floor(proseKeys(), proseFloor)
	}
	if over() {
		t.floor(nameKeys(), nameFloor)
	}
	t.giveBack(limit, full)
	if over() {
		t.w.fitted.wider = true
	}
	return true
}

// putBelow takes the widest of the columns that may stand below the row out of it. It reports whether there was one.
func (t *table) putBelow() bool {
	var widest *tableColumn
	for i := range t.columns {
		col := &t.columns[i]
		if slices.Contains(belowKeys(), col.Key) && !col.hidden && (widest == nil || col.width > widest.width) {
			widest = col
		}
	}
	if widest == nil {
		return false
	}
	widest.hidden, widest.dropped, widest.below = true, true, true
	return true
}

// What stands below a row is set in, and its second line further.
const (
	belowIndent  = "    "
	belowFurther = "      "
)

// below is what stands below the rows that were written last: the same sentences of several rows stand once, below the last of them.
type below struct {
	text []string // of each column
	rows int
}

// belowRow takes what is to stand below a row that is about to be written; text is the row's cell of a column.
func (t *table) belowRow(text func(i int) []byte) {
	if !slices.ContainsFunc(t.columns, func(c tableColumn) bool { return c.below }) {
		return
	}
	own := make([]string, len(t.columns))
	for i := range t.columns {
		if t.columns[i].below {
			own[i] = string(text(i))
		}
	}
	if !slices.Equal(own, t.under.text) {
		t.writeBelow()
	}
	t.under.text, t.under.rows = own, t.under.rows+1
}

// writeBelow writes what stands below the rows so far.
func (t *table) writeBelow() {
	for i := range t.columns {
		if col := &t.columns[i]; col.below && t.under.rows > 0 {
			t.writeProse(col, t.under.text[i], t.under.rows)
		}
	}
	t.under = below{}
}

// writeProse writes a sentence below its rows, in lines that fit the terminal.
func (t *table) writeProse(col *tableColumn, prose string, rows int) {
	if prose == "" || prose == "-" {
		return
	}
	width := func(s string) int { return displayWidth([]byte(s)) }
	line, empty := belowIndent+col.Header+":", false
	if rows > 1 {
		line = fmt.Sprintf("%s%s of these %s:", belowIndent, col.Header, text.Plural(rows, "row"))
	}
	end := func() {
		t.w.buf = append(append(t.w.buf, line...), '\n')
		line, empty = belowFurther, true
	}
	for _, word := range strings.Fields(prose) {
		if !empty && width(line)+1+width(word) > t.w.width() {
			end()
		}
		for empty && width(line)+width(word) > t.w.width() { // longer than a line
			head, rest := split(word, t.w.width()-width(line))
			line, word = line+head, rest
			end()
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	end()
}

// split takes as much of s as fits into width, but at least one character.
func split(s string, width int) (head, rest string) {
	w := 0
	for i, r := range s {
		if w += displayWidth([]byte(string(r))); w > width && i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// total is how wide a line is.
func (t *table) total() int {
	sum := 0
	for i := range t.columns {
		if col := &t.columns[i]; !col.hidden {
			sum += col.width + 2
		}
	}
	return sum - 2
}

func (t *table) shortenHeads() {
	for i := range t.columns {
		col := &t.columns[i]
		short, ok := shortHeads()[col.Header]
		taken := slices.ContainsFunc(t.columns, func(c tableColumn) bool { return c.Header == short })
		if ok && !taken {
			col.head = short
			col.width = max(col.values, displayWidth([]byte(short)))
		}
	}
}

// floor lets the values of columns be shortened to width.
func (t *table) floor(keys []string, width int) {
	for i := range t.columns {
		if col := &t.columns[i]; !col.Right && slices.Contains(keys, col.Key) {
			least := max(width, displayWidth([]byte(col.head)))
			if col.width > least {
				col.width, col.limit = least, least
			}
		}
	}
}

// giveBack hands the room that is left to columns that were shortened, names first.
func (t *table) giveBack(limit int, full []int) {
	for _, keys := range [][]string{nameKeys(), proseKeys()} {
		for i := range t.columns {
			col := &t.columns[i]
			if room := limit - t.total(); col.limit > 0 && !col.hidden && room > 0 && slices.Contains(keys, col.Key) {
				col.width = min(full[i], col.width+room)
				col.limit = col.width
			}
		}
	}
}

// grow widens columns for a row behind the sample. It reports whether columns had to give way.
func (t *table) grow(cells []Cell) bool {
	for i := range t.columns {
		if col := &t.columns[i]; !col.hidden && col.limit == 0 {
			t.text = cells[col.cell].appendText(t.text[:0], t.zone)
			col.values = max(col.values, displayWidth(t.text))
			col.width = max(col.width, col.values)
		}
	}
	return t.fit()
}

// fitted is what a document's tables lost for the width of the terminal.
type fitted struct {
	left, short []string
	wider       bool
}

// addOnce keeps a header that is named once for all tables of the document.
func addOnce(to *[]string, header string) {
	if !slices.Contains(*to, header) {
		*to = append(*to, header)
	}
}

// width is what tables must fit into; 0 is no bound.
func (w *Writer) width() int {
	if w.format != Table || !w.onTTY {
		return 0
	}
	return w.s.Width
}

// sayFitted names what is missing on the screen, and where it is.
func (w *Writer) sayFitted() {
	f := &w.fitted
	var parts []string
	for _, p := range []struct {
		names     []string
		one, many string
	}{{f.left, "is left out", "are left out"}, {f.short, "is shortened", "are shortened"}} {
		if len(p.names) > 0 {
			verb := p.many
			if len(p.names) == 1 {
				verb = p.one
			}
			parts = append(parts, strings.Join(p.names, ", ")+" "+verb)
		}
	}
	if f.wider {
		parts = append(parts, "some rows are wider still")
	}
	if len(parts) > 0 {
		all := "{{output wide}} shows all"
		if w.sheet.NoWide {
			all = "a wider terminal shows all"
		}
		w.s.Note("%s", w.s.spelled(fmt.Sprintf("to fit %s: %s; %s", text.Plural(w.s.Width, "column"), strings.Join(parts, ", "), all)))
	}
}

// cutTo shortens a cell's text: names in the middle, all else at the end.
func (t *table) cutTo(c *tableColumn, s []byte) ([]byte, int) {
	addOnce(&t.w.fitted.short, c.Header)
	ellipsis := "…"
	if !t.w.s.UTF8() {
		ellipsis = "~"
	}
	if slices.Contains(nameKeys(), c.Key) {
		out := cutMiddle(string(s), c.limit, ellipsis)
		return []byte(out), displayWidth([]byte(out))
	}
	out, w := cut(string(s), c.limit, ellipsis)
	return []byte(out), w
}

// cutMiddle keeps both ends of s in at most width columns, with an ellipsis between.
func cutMiddle(s string, width int, ellipsis string) string {
	if width < 3 {
		out, _ := cut(s, width, ellipsis)
		return out
	}
	head, tail := []rune(s), []rune(s)
	left, right := width/2, width-1-width/2
	w := 0
	for i, r := range head {
		if w += displayWidth([]byte(string(r))); w > left {
			head = head[:i]
			break
		}
	}
	w = 0
	for i := len(tail) - 1; i >= 0; i-- {
		if w += displayWidth([]byte(string(tail[i]))); w > right {
			tail = tail[i+1:]
			break
		}
	}
	return string(head) + ellipsis + string(tail)
}
