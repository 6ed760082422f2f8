package render

import (
	"io"
	"testing"

	"github.com/koffset/koffset/internal/text"
)

// benchRows is the size of the cluster that koffset's speed is judged on.
const benchRows = 102_000

func benchColumns() []Column {
	return []Column{
		{Header: "GROUP", Key: "group"}, {Header: "TOPIC", Key: "topic"}, {Header: "PARTITION", Key: "partition", Right: true},
		{Header: "CURRENT-OFFSET", Key: "committed_offset", Right: true}, {Header: "LOG-END-OFFSET", Key: "log_end_offset", Right: true},
		{Header: "LAG", Key: "lag", Right: true}, {Header: "STATUS", Key: "status"}, {Header: "METADATA", Key: "metadata"},
		{Header: "EPOCH", Key: "leader_epoch", Right: true}, {Header: "LOG-START-OFFSET", Key: "log_start_offset", Right: true},
		{Header: "TIME", Key: "time"}, {Header: "ERROR", Key: "error", HideEmpty: true},
	}
}

func BenchmarkRows(b *testing.B) {
	for _, f := range []Format{JSONL, JSON, TSV, CSV, Table} {
		b.Run(f.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				writeBench(NewWriter(&Streams{Out: io.Discard}, f, Meta{Kind: "inspect"}), benchRows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}

func BenchmarkTables(b *testing.B) {
	for _, n := range []int{10, 100, tablewriterRows, tablewriterRows + 1, 2000} {
		b.Run(text.Count(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				writeBench(NewWriter(&Streams{Out: io.Discard}, Table, Meta{Kind: "inspect"}), n)
			}
		})
	}
}

func writeBench(w *Writer, rows int) {
	w.Begin(Sheet{Name: "partitions", Row: "partition", Columns: benchColumns()})
	for i := range rows {
		n := int64(i)
		w.Row(String("group-name-0123"), String("topic-name-45"), Int32(int32(i%100)), Int(n*1000), Int(n*1000+17), Int(17),
			String("ok"), String(""), Int32(4), Int(n), millis(1_772_000_000_000+n), None())
	}
	if err := w.Close(End{}); err != nil {
		panic(err)
	}
}

// Rows must not allocate: over a million cells would keep the collector busy.
func TestRowsDoNotAllocate(t *testing.T) {
	for _, f := range RowFormats() {
		allocs := testing.AllocsPerRun(1, func() {
			writeBench(NewWriter(&Streams{Out: io.Discard}, f, Meta{Kind: "inspect"}), 20_000)
		})
		if allocs > 300 {
			t.Errorf("%s: 20,000 rows made %.0f allocations", f, allocs)
		}
	}
}
