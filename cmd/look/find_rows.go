package look

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/registry"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// hit is a match as it is printed.
type hit struct {
	offset.Record
	offset.Partition
	key, value         []byte // in tables as far as they are shown
	keySize, valueSize int    // whole; -1 is null
	headers            []kgo.RecordHeader
	how                []string
	inKey, inValue     registry.Value // what their schemas say
	cut                bool           // what they say is too large to be shown
}

// What is held back to be sorted: matches, and about so many bytes of them.
const (
	heldHits  = 10_000
	heldBytes = 16 << 20
)

// hits prints matches. Tables and the json document are sorted, as long as the matches can be held; what comes after that, and the
// lines of the other forms, are printed as they come.
type hits struct {
	w      *render.Writer
	show   func(*kgo.Record, []byte) registry.Value
	table  bool
	stream bool
	fresh  bool // something was printed since the last flush
	held   []hit
	bytes  int
	last   map[offset.Partition]hit // of --last, nil without
}

func (f *finding) newHits(w *render.Writer) *hits {
	h := &hits{w: w, show: f.show, table: f.format.IsTable(), stream: !f.format.IsTable() && f.format != render.JSON}
	if f.last {
		h.last = map[offset.Partition]hit{}
	}
	w.Begin(render.Sheet{Name: "records", Row: "record", Columns: append([]render.Column{
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "OFFSET", Key: "offset", Right: true},
		{Header: "TIMESTAMP", Key: "timestamp"},
		{Key: "timestamp_ms", NoTable: true},
		{Key: "leader_epoch", NoTable: true},
		{Header: "KEY", Key: "key"},
		{Key: "key_base64", NoTable: true},
		{Header: "KEY-SIZE", Key: "key_size", Right: true, Wide: true},
		{Header: "VALUE", Key: "value"},
		{Key: "value_base64", NoTable: true},
		schemaColumn(),
		{Header: "VALUE-SIZE", Key: "value_size", Right: true, Wide: true},
		{Header: "CONDITION", Key: "conditions", HideEmpty: true},
		{Header: "HEADERS", Key: "headers", Wide: true},
	}, schemaColumns()...)})
	return h
}

// add takes a match. It returns false where nobody reads the output any more.
func (h *hits) add(r *kgo.Record, how []string) (more bool) {
	one := h.hit(r, how)
	switch {
	case h.last != nil:
		h.last[one.Partition] = one
	case h.stream:
		h.row(one)
	default:
		h.held = append(h.held, one)
		if h.bytes += len(one.key) + len(one.value) + len(one.inKey.JSON) + len(one.inValue.JSON); len(h.held) > heldHits || h.bytes > heldBytes {
			h.sorted()
			h.stream = true
		}
	}
	return h.w.Err() == nil
}

// hit copies what is kept of a record.
func (h *hits) hit(r *kgo.Record, how []string) hit {
	keep := bytes.Clone
	if h.table {
		keep = shownBytes
	}
	one := hit{Record: offset.Record{Offset: r.Offset, Time: offset.TimeOf(r.Timestamp), LeaderEpoch: offset.EpochOf(r.LeaderEpoch)},
		Partition: offset.Partition{Topic: r.Topic, Partition: r.Partition}, keySize: -1, valueSize: -1, how: how}
	if r.Key != nil {
		one.key, one.keySize = keep(r.Key), len(r.Key)
	}
	if r.Value != nil {
		one.value, one.valueSize = keep(r.Value), len(r.Value)
	}
	one.inKey, one.inValue = h.show(r, r.Key), h.show(r, r.Value)
	if h.table {
		one.inKey.JSON, one.inValue.JSON = shownBytes(one.inKey.JSON), shownBytes(one.inValue.JSON)
	}
	for _, head := range r.Headers {
		one.headers = append(one.headers, kgo.RecordHeader{Key: head.Key, Value: bytes.Clone(head.Value)})
	}
	return one
}

// sorted prints what was held back.
func (h *hits) sorted() {
	for _, one := range h.last {
		h.held = append(h.held, one)
	}
	slices.SortFunc(h.held, func(a, b hit) int {
		return cmp.Or(a.Partition.Compare(b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	for _, one := range h.held {
		h.row(one)
	}
	h.held, h.bytes = nil, 0
}

// flush lets lines out that are printed as they come.
func (h *hits) flush() {
	if h.fresh && !h.table {
		_ = h.w.Flush() // the writer keeps its error
	}
	h.fresh = false
}

func (h *hits) row(one hit) {
	key, key64 := wholeCells(one.key)
	value, value64 := wholeCells(one.value)
	if h.table {
		key, value = decodedCell(one.inKey, one.key), decodedCell(one.inValue, one.value)
	}
	cells := []render.Cell{render.String(one.Topic), render.Int32(one.Partition.Partition), render.Int(one.Offset), render.Time(one.Time), millisCell(one.Time), leaderEpochCell(one.LeaderEpoch),
		key, key64, sizeCell(one.keySize), value, value64, schemaWord(one.inValue), sizeCell(one.valueSize), render.Strings(one.how), headersCell(one.headers)}
	h.w.Row(append(cells, schemaCells(one.inKey, one.inValue)...)...)
	h.fresh = true
}

// wholeCells are a key or value in text, or in base64 where it is not text: no byte is lost.
func wholeCells(b []byte) (plain, base render.Cell) {
	switch {
	case b == nil:
		return render.None(), render.None()
	case utf8.Valid(b):
		return render.String(string(b)), render.None()
	}
	return render.None(), render.String(base64.StdEncoding.EncodeToString(b))
}

// schemaColumn has the schema of a value in tables.
func schemaColumn() render.Column {
	return render.Column{Header: "SCHEMA-ID", Key: "schema", NoJSON: true, NoCSV: true, HideEmpty: true}
}

// schemaColumns are what is known of schemas in the other forms: the last columns, so that those before keep their places.
func schemaColumns() []render.Column {
	return []render.Column{
		{Key: "key_decoded", NoTable: true}, {Key: "key_schema_id", NoTable: true}, {Key: "possible_key_schema_id", NoTable: true},
		{Key: "value_decoded", NoTable: true}, {Key: "schema_id", NoTable: true}, {Key: "possible_schema_id", NoTable: true},
	}
}

// schemaWord is the cell of [schemaColumn]: an id with a question mark is one that bytes only look like.
func schemaWord(v registry.Value) render.Cell {
	switch {
	case v.ID == 0:
		return render.None()
	case v.Known:
		return render.Int32(v.ID)
	}
	return render.String(fmt.Sprint(v.ID, "?"))
}

// schemaCells are those of [schemaColumns], which tell an id that the registry has from one that bytes only look like.
func schemaCells(key, value registry.Value) (cells []render.Cell) {
	for _, v := range []registry.Value{key, value} {
		decoded, sure, possible := render.None(), render.None(), render.None()
		if v.JSON != nil {
			decoded = render.RawJSON(v.JSON)
		}
		switch {
		case v.ID == 0:
		case v.Known:
			sure = render.Int32(v.ID)
		default:
			possible = render.Int32(v.ID)
		}
		cells = append(cells, decoded, sure, possible)
	}
	return cells
}

// decodedCell shows what bytes are, or else the bytes.
func decodedCell(v registry.Value, b []byte) render.Cell {
	if v.JSON != nil {
		b = v.JSON
	}
	return bytesCell(b)
}

func sizeCell(n int) render.Cell {
	if n < 0 {
		return render.None()
	}
	return render.Int(int64(n))
}

func headersCell(headers []kgo.RecordHeader) render.Cell {
	cells := make([]render.Cell, len(headers))
	for i, head := range headers {
		value, base := wholeCells(head.Value)
		fields := []render.Field{render.F("key", render.String(head.Key)), render.F("value", value)}
		if !utf8.ValidString(head.Key) { // no broker makes sure that it is
			fields = append(fields, render.F("key_base64", render.String(base64.StdEncoding.EncodeToString([]byte(head.Key)))))
		}
		if !base.IsNone() {
			fields = append(fields, render.F("value_base64", base))
		}
		cells[i] = render.Object(fields...)
	}
	return render.List(cells...)
}

// headBytes is how much of a key and a value is kept of each of many partitions, in every form.
const headBytes = 4 << 10

// decodedBytes is how large a decoded key or value may be that is shown of each of many partitions: a piece of JSON is none.
const decodedBytes = 64 << 10

// whole is JSON that is not too large, or nothing.
func (h *hit) whole(b []byte) []byte {
	if len(b) > decodedBytes {
		h.cut = true
		return nil
	}
	return b
}

// head is hit with no more of the key and the value than is kept of each of many partitions.
func (h *hits) head(r *kgo.Record) hit {
	one := h.hit(r, nil)
	one.key, one.value = head(one.key), head(one.value)
	one.inKey.JSON, one.inValue.JSON = one.whole(one.inKey.JSON), one.whole(one.inValue.JSON)
	return one
}

// isCut says that not all of the record is there.
func (h *hit) isCut() bool { return len(h.key) < h.keySize || len(h.value) < h.valueSize || h.cut }

// head is the beginning of a key or value, whole characters of it where it is text.
func head(b []byte) []byte {
	if len(b) <= headBytes {
		return b
	}
	n := headBytes
	for n > headBytes-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return bytes.Clone(b[:n])
}
