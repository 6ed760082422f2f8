package render

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// layOut renders the rows as a table, by tablewriter if small, else by our own layout.
func layOut(t *testing.T, columns []Column, rows [][]Cell, small bool) string {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&Streams{Out: &out}, Table, Meta{})
	w.Begin(Sheet{Name: "rows", Columns: columns})
	for _, r := range rows {
		w.Row(r...)
	}
	if !small {
		w.table.settle()
	}
	if err := w.Close(End{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestOwnLayoutLooksLikeTablewriter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "a", "orders", "consumer-billing-1-5c0c5b1e", "with space", "two  spaces", "注文データ", "mix混ed", "é", "e\u0301",
		"👍", "👩‍💻", "\x1b[31mred\x1b[0m", "tab\there", "-", "…", "ｆｕｌｌ", "العربية", " x ", "%d", `c:\dir`, "--", "│"}
	for n := range 200 {
		columns := make([]Column, 1+rng.IntN(7))
		for i := range columns {
			columns[i] = Column{Header: texts[rng.IntN(4)], Key: "k", Right: rng.IntN(2) == 0, HideEmpty: rng.IntN(3) == 0}
			if columns[i].Header == "" || columns[i].Header == "a" {
				columns[i].Header = fmt.Sprintf("COL.%d_X", i)
			}
		}
		rows := make([][]Cell, 1+rng.IntN(12))
		for r := range rows {
			for range columns {
				switch rng.IntN(4) {
				case 0:
					rows[r] = append(rows[r], Int(rng.Int64N(1e9)>>rng.IntN(30)))
				case 1:
					rows[r] = append(rows[r], None())
				default:
					rows[r] = append(rows[r], String(texts[rng.IntN(len(texts))]))
				}
			}
		}
		small, own := layOut(t, columns, rows, true), layOut(t, columns, rows, false)
		if small != own {
			t.Fatalf("case %d\ntablewriter:\n%s\nown:\n%s\n%q\n%q", n, small, own, small, own)
		}
		for line := range strings.Lines(own) {
			if strings.HasSuffix(line, " \n") {
				t.Fatalf("blank at the end of %q", line)
			}
		}
	}
}

func TestLargeTablesStream(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&Streams{Out: &out}, Table, Meta{})
	w.Begin(Sheet{Name: "rows", Columns: []Column{{Header: "GROUP"}, {Header: "LAG", Right: true}, {Header: "ERROR", HideEmpty: true}, {Header: "END", Right: true}}})
	const late = sampleRows + 10
	for i := range late {
		w.Row(String("g"), Int(int64(i)), None(), Int(1))
	}
	if out.Len() == 0 {
		t.Error("nothing was written while rows came")
	}
	if len(w.table.ends) != 0 {
		t.Error("rows are still held behind the sample")
	}
	w.Row(String("a-much-longer-group"), Int(7), None(), Int(1))
	w.Row(String("g"), Int(8), None(), Int(1))
	w.Row(String("g"), Int(9), String("denied"), Int(1))
	w.Row(String("g"), Int(10), None(), Int(1))
	if err := w.Close(End{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if lines[0] != "GROUP   LAG  END" || lines[1] != "g         0    1" || lines[late] != "g      5009    1" {
		t.Errorf("head: %q, %q, %q", lines[0], lines[1], lines[late])
	}
	want := []string{
		"a-much-longer-group     7    1",
		"g                       8    1",
		"",
		"GROUP                 LAG  ERROR   END",
		"g                       9  denied    1",
		"g                      10  -         1",
		"",
	}
	if got := lines[late+1:]; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("tail:\n%s", strings.Join(got, "\n"))
	}
}

func TestColourChangesNothingElse(t *testing.T) {
	render := func(colour ColourMode) string {
		var out bytes.Buffer
		s := &Streams{Out: &out}
		s.SetColour(colour)
		w := NewWriter(s, Table, Meta{})
		w.Begin(Sheet{Name: "rows", Columns: []Column{{Header: "STATUS"}, {Header: "LAG", Right: true}}})
		w.Row(String("ok").Styled(Good), Int(1))
		w.Row(String("below-log-start").Styled(Bad), Int(20).Styled(Warn))
		w.Row(String("past\x1b[0m").Styled(Dim), Int(3))
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	plain, coloured := render(ColourNever), render(ColourAlways)
	if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b[31mbelow-log-start\x1b[0m   \x1b[33m20\x1b[0m\n") {
		t.Errorf("plain %q, coloured %q", plain, coloured)
	}
	for _, code := range []string{"\x1b[0m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m"} {
		coloured = strings.ReplaceAll(coloured, code, "")
	}
	if coloured != plain {
		t.Errorf("plain\n%s\ncoloured, codes removed\n%s", plain, coloured)
	}
}
