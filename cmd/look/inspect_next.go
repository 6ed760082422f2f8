package look

// inspect --next: the record that each reader of a group gets next. Where a reader is stuck, that is the record which it
// cannot process.

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/internal/registry"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// nextRecord is what a partition's reader gets next; found is nil where there is none, or where that is not known.
type nextRecord struct {
	row   *inspect.Row
	found *hit
	err   error
}

// checkNext refuses --next where the rows are no partitions.
func (o *inspectOptions) checkNext(cmd *cobra.Command) error {
	if !o.next && cmd.Flags().Changed("schema-registry") {
		return cli.Usagef("add --next", "--schema-registry decodes records, and none are shown")
	}
	if o.next && o.by != byPartition {
		return cli.Usagef("name a group, or add --by partition", "--next needs --by partition, not %s", o.by)
	}
	return nil
}

// readNext reads the next record of every partition that has a commit and offsets after it.
func (p *inspection) readNext(ctx context.Context) {
	if !p.o.next {
		return
	}
	show := hits{table: p.o.format.IsTable(), show: func(r *kgo.Record, b []byte) registry.Value {
		return p.schemas.Show(ctx, r, b)
	}}
	var walks []records.Walk
	for _, d := range p.snap.Groups {
		for r, dg := range p.judged.Rows(d) {
			if r.Committed == nil || r.Err != nil || r.Lag == nil || *r.Lag == 0 || r.Bounds == nil || !p.o.order.shows(r, dg) {
				continue
			}
			row := *r
			one := &nextRecord{row: &row}
			p.next = append(p.next, one)
			walks = append(walks, records.Walk{Span: records.Span{Partition: r.Partition, From: max(r.Bounds.Start, r.Committed.Offset), Until: r.Bounds.EndFor(p.o.iso)}, Visit: func(rec records.Record) bool {
				found := show.head(rec.Record)
				one.found = &found
				return false
			}})
		}
	}
	reader := records.Reader{Client: p.s.Client, Isolation: p.o.iso, Leader: func(at offset.Partition) (int32, bool) { return inspect.LeaderOf(p.snap.Topics, at) }}
	for i, end := range reader.Walk(ctx, walks) {
		if p.next[i].err = cli.Cause(ctx, end.Err); end.Err != nil {
			p.failed(end.Err)
		}
	}
}

func (p *inspection) nextSheet(w *render.Writer) {
	if !p.o.next {
		return
	}
	w.Begin(render.Sheet{Name: "next_records", Row: "next_record", Columns: append([]render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Key: "committed_offset", NoTable: true},
		{Header: "NEXT-OFFSET", Key: "offset", Right: true},
		{Header: "TIMESTAMP", Key: "timestamp"},
		{Key: "timestamp_ms", NoTable: true},
		{Header: "KEY", Key: "key"},
		{Key: "key_base64", NoTable: true},
		{Header: "SIZE", Key: "size", Right: true},
		{Header: "HEADERS", Key: "headers", HideEmpty: true},
		{Header: "VALUE", Key: "value"},
		{Key: "value_base64", NoTable: true},
		schemaColumn(),
		{Key: "cut", NoTable: true},
		{Key: "skip_to_offset", NoTable: true},
		{Header: "ERROR", Key: "error", HideEmpty: true},
	}, schemaColumns()...)})
	for _, n := range p.next {
		w.Row(n.cells(p.o.format.IsTable())...)
	}
}

func (n *nextRecord) cells(table bool) []render.Cell {
	none := render.None()
	cells := []render.Cell{render.Name(n.row.Group), render.String(n.row.Topic), render.Int32(n.row.Partition.Partition), render.Int(n.row.Committed.Offset)}
	if n.found == nil {
		why := n.err
		if why == nil {
			why = fmt.Errorf("no record up to the log end: what is there are markers or holes")
		}
		cells = append(cells, none, none, none, none, none, none, none, none, none, none, none, none, cli.ErrCell(why))
		return append(cells, schemaCells(registry.Value{}, registry.Value{})...)
	}
	f := n.found
	key, key64 := wholeCells(f.key)
	value, value64 := wholeCells(f.value)
	headers := none
	if len(f.headers) > 0 || !table {
		headers = headersCell(f.headers)
	}
	if table {
		key, value = decodedCell(f.inKey, f.key), decodedCell(f.inValue, f.value)
	}
	cells = append(cells, render.Int(f.Offset), render.Time(f.Time), millisCell(f.Time), key, key64, render.Int(int64(max(0, f.keySize)+max(0, f.valueSize))), headers,
		value, value64, schemaWord(f.inValue), render.Bool(f.isCut()), render.Int(f.Offset+1), none)
	return append(cells, schemaCells(f.inKey, f.inValue)...)
}

// sayNext gives the lines that skip the records: each shows its plan first.
func (p *inspection) sayNext() {
	if !p.o.next {
		return
	}
	defer p.schemas.Say(p.o.format.IsTable())
	if p.o.format.IsJSON() {
		return
	}
	const most = 5
	said := 0
	for _, n := range p.next {
		if n.found == nil {
			continue
		}
		if said++; said <= most {
			p.o.app.Streams.Hint("to skip the record at %s offset %d: %s", n.row.Partition, n.found.Offset,
				p.o.app.Again("reset", offset.NameText(n.row.Group), "--topic", n.row.Partition.String(), "--to", fmt.Sprint(n.found.Offset+1)))
		}
	}
	if said > most {
		p.o.app.Streams.Note("and %s; skip_to_offset in -o json has them all", text.More(said-most, "partition"))
	}
}
