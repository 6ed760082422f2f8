package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/text"
)

// The declared order at a few widths: narrower heads, columns that go, values that are shortened, and never a number.
func TestTableFits(t *testing.T) {
	sheet := Sheet{Name: "partitions", Columns: []Column{
		{Header: "GROUP", Key: "group"}, {Header: "TOPIC", Key: "topic"}, {Header: "PARTITION", Key: "partition", Right: true},
		{Header: "CURRENT-OFFSET", Key: "committed_offset", Right: true}, {Header: "LOG-END-OFFSET", Key: "log_end_offset", Right: true},
		{Header: "HOST", Key: "host"}, {Header: "ERROR", Key: "error", HideEmpty: true},
	}}
	row := []Cell{String("warehouse-reservations"), String("orders.v1"), Int(12), Int(123456789), Int(123456799), String("10.0.0.7"), None()}
	at := func(width int, format Format, rows ...[]Cell) (string, string) {
		var out, errs bytes.Buffer
		w := NewWriter(&Streams{Out: &out, Err: &errs, OutTTY: true, Width: width, Env: env("LANG", "C.UTF-8")}, format, Meta{})
		w.Begin(sheet)
		for _, r := range rows {
			w.Row(r...)
		}
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		return out.String(), errs.String()
	}
	for _, c := range []struct {
		width       int
		line, heads string
		says        string
	}{
		{120, "warehouse-reservations  orders.v1         12       123456789       123456799  10.0.0.7", "GROUP                   TOPIC      PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  HOST", ""},
		{80, "warehouse-reservations  orders.v1    12  123456789  123456799  10.0.0.7", "GROUP                   TOPIC      PART    CURRENT    LOG-END  HOST", ""},
		{70, "warehouse-reservations  orders.v1    12  123456789  123456799", "GROUP                   TOPIC      PART    CURRENT    LOG-END", "koffset: to fit 70 columns: HOST is left out; {{output wide}} shows all\n"},
		{50, "warehouse-reservations  orders.v1    12  123456789", "GROUP                   TOPIC      PART    CURRENT", "koffset: to fit 50 columns: HOST, LOG-END-OFFSET are left out; {{output wide}} shows all\n"},
		{42, "warehou…ations  orders.v1    12  123456789", "GROUP           TOPIC      PART    CURRENT", "koffset: to fit 42 columns: HOST, LOG-END-OFFSET are left out, GROUP is shortened; {{output wide}} shows all\n"},
		{30, "wareho…tions  orders.v1    12  123456789", "GROUP         TOPIC      PART    CURRENT", "koffset: to fit 30 columns: HOST, LOG-END-OFFSET are left out, GROUP is shortened, some rows are wider still; {{output wide}} shows all\n"},
	} {
		out, errs := at(c.width, Table, row)
		if out != c.heads+"\n"+c.line+"\n" || errs != c.says {
			t.Errorf("%d:\n%s%s\nwant\n%s\n%s\n%s", c.width, out, errs, c.heads, c.line, c.says)
		}
		if wide, errs := at(c.width, Wide, row); strings.Contains(wide, "…") || !strings.Contains(wide, "10.0.0.7") || errs != "" {
			t.Errorf("%d wide:\n%s%s", c.width, wide, errs)
		}
	}
}

// A wider value that comes behind the sample makes columns give way under a new head: no row is wider than the screen, and no
// value is lost.
func TestStreamedTableFits(t *testing.T) {
	var out, errs bytes.Buffer
	w := NewWriter(&Streams{Out: &out, Err: &errs, OutTTY: true, Width: 40}, Table, Meta{})
	w.Begin(Sheet{Name: "partitions", Columns: []Column{{Header: "GROUP", Key: "group"}, {Header: "CURRENT-OFFSET", Key: "committed_offset", Right: true},
		{Header: "HOST", Key: "host"}, {Header: "ERROR", Key: "error", HideEmpty: true}}})
	for range sampleRows + 10 {
		w.Row(String("billing"), Int(5), String("10.0.0.7"), None())
	}
	w.Row(String("billing"), Int(1234567890123456789), String("10.0.0.7"), None())
	w.Row(String("billing"), Int(6), String("10.0.0.7"), String("UNKNOWN_TOPIC_OR_PARTITION of all things"))
	if err := w.Close(End{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := displayWidth([]byte(line)) - 1; n > 40 {
			t.Fatalf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"1234567890123456789", "UNKNOWN_"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing", want)
		}
	}
	if !strings.Contains(errs.String(), "HOST is left out, ERROR is shortened") {
		t.Errorf("%s", errs.String())
	}
}

// A sentence that says why stands below its row where it does not fit beside it, whole, in lines that fit; and what fits stays beside it.
func TestSentencesStandBelowTheirRow(t *testing.T) {
	const why = "exact (record): the next record (source offset 1430) is at 710; no look-alike (searched to 1440)"
	long := strings.Repeat("x", 70) + "日本語"
	at := func(width, rows int) string {
		var out, errs bytes.Buffer
		w := NewWriter(&Streams{Out: &out, Err: &errs, OutTTY: true, Width: width, Env: env("LANG", "C.UTF-8")}, Table, Meta{})
		w.Begin(Sheet{Name: "changes", Columns: []Column{{Header: "GROUP", Key: "group"}, {Header: "NEW-OFFSET", Key: "to_offset", Right: true},
			{Header: "PROOF", Key: "proof", HideEmpty: true}, {Header: "DETAIL", Key: "detail", HideEmpty: true}}})
		for i := range rows {
			w.Row(String("billing"), Int(710), String(why+strings.Repeat("!", i%2)), None())
		}
		w.Row(String("shipping"), Int(711), None(), String(long))
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		if errs.Len() > 0 {
			t.Errorf("%d: nothing is lost, and yet %s", width, errs.String())
		}
		return out.String()
	}
	want := `GROUP     NEW
billing   710
    PROOF: exact (record): the next
      record (source offset 1430) is at
      710; no look-alike (searched to
      1440)
shipping  711
    DETAIL:
      xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      xx日本語
`
	if got := at(40, 1); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := at(400, 1); strings.Contains(got, ":\n") || strings.Count(got, "\n") != 3 {
		t.Errorf("%s", got)
	}
	for _, rows := range []int{3, sampleRows + 3} { // held back, and streamed
		out := strings.ReplaceAll(at(40, rows), "1440)!", "1440)")
		if got := strings.Count(out, "    PROOF: exact (record): the next\n"); got != rows {
			t.Errorf("%d of %d rows have their proof", got, rows)
		}
		for line := range strings.Lines(out) {
			if n := displayWidth([]byte(line)) - 1; n > 40 {
				t.Fatalf("%d columns: %s", n, line)
			}
		}
	}
}

// Of rows with the same sentence it stands once, below the last of them, with their number; held back and streamed.
func TestSameSentenceOnce(t *testing.T) {
	for _, rows := range []int{4, sampleRows + 2} {
		var out bytes.Buffer
		w := NewWriter(&Streams{Out: &out, Err: &bytes.Buffer{}, OutTTY: true, Width: 44}, Table, Meta{})
		w.Begin(Sheet{Name: "changes", Columns: []Column{{Header: "GROUP", Key: "group"}, {Header: "DETAIL", Key: "detail"}}})
		for i := range rows {
			w.Row(String(fmt.Sprint("g", i)), String("a transaction that is still open holds a commit"))
		}
		w.Row(String("last"), String("none"))
		w.Begin(Sheet{Name: "more", Columns: []Column{{Header: "GROUP", Key: "group"}}})
		w.Row(String("other"))
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("g%d DETAIL of these %s: a transaction that is still open holds a commit last DETAIL: none GROUP other", rows-1, text.Plural(rows, "row"))
		if got := out.String(); !strings.HasSuffix(strings.Join(strings.Fields(got), " "), want) || strings.Count(got, "transaction") != 1 {
			t.Errorf("%d rows end with\n%s\nwant\n%s", rows, got[max(0, len(got)-300):], want)
		}
	}
}
