// Small tables, by tablewriter.

package render

import (
	"bytes"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// renderSmall lays the held rows out with tablewriter. It renders into memory,
// because its Render returns nil even if every write failed, and because its
// lines may end in blanks.
func (t *table) renderSmall() {
	var header []string
	var align []tw.Align
	for i := range t.columns {
		if col := &t.columns[i]; !col.hidden {
			header = append(header, col.Header)
			if col.Right {
				align = append(align, tw.AlignRight)
			} else {
				align = append(align, tw.AlignLeft)
			}
		}
	}
	columns := tw.CellAlignment{Global: tw.AlignLeft, PerColumn: align}
	var out bytes.Buffer
	table := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbolCustom("plain").WithColumn("  "),
			Settings: tw.Settings{
				Lines:      tw.LinesNone,
				Separators: tw.Separators{BetweenColumns: tw.On, ShowHeader: tw.Off, BetweenRows: tw.Off, ShowFooter: tw.Off},
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(columns),
		tablewriter.WithRowAlignmentConfig(columns),
		tablewriter.WithPadding(tw.Padding{Overwrite: true}),
		tablewriter.WithTrimSpace(tw.Off),
	)
	table.Header(header)
	cell, start := 0, 0
	for range t.rows {
		row := make([]string, 0, len(header))
		for i := range t.columns {
			end := t.ends[cell]
			if !t.columns[i].hidden {
				row = append(row, string(t.text[start:end]))
			}
			start = end
			cell++
		}
		if err := table.Append(row); err != nil && t.w.err == nil {
			t.w.err = err
		}
	}
	if err := table.Render(); err != nil && t.w.err == nil {
		t.w.err = err
	}
	for line := range bytes.Lines(out.Bytes()) {
		t.w.buf = append(t.w.buf, bytes.TrimRight(line, " \n")...)
		t.w.buf = append(t.w.buf, '\n')
		t.w.maybeFlush()
	}
}
