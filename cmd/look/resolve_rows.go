package look

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/internal/registry"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// resolved is one partition's answer.
type resolved struct {
	part    offset.Partition
	bounds  *offset.Bounds
	target  offset.Target
	refusal *offset.Refusal
	err     error
	// found is the record at or after the offset, where it was read.
	found *offset.Record
}

func (o *resolveOptions) resolve(facts *inspect.Facts) (rows []resolved, failed int) {
	for _, p := range facts.Partitions() {
		f := facts.Of(p)
		r := resolved{part: p, bounds: f.Bounds, err: f.Err}
		if f.Err != nil {
			failed++
		} else if o.chosen {
			t, err := offset.Resolve(p, o.position, f, o.rules)
			if err != nil {
				r.refusal = err.(*offset.Refusal)
				r.err = err
			}
			r.target = t
			if o.atAnswers && t.Reason == offset.ReasonSkipped {
				r.target.Reason = offset.ReasonOutOfRange
			}
		}
		rows = append(rows, r)
	}
	return rows, failed
}

func (o *resolveOptions) print(s *cli.Session, rows []resolved, around map[offset.Partition][]hit, incomplete bool) error {
	w := render.NewWriter(o.app.Streams, o.format, s.Meta("resolve",
		render.F("isolation", render.String(o.rules.Isolation.String())), render.F("position", o.positionCell())))
	if o.chosen {
		o.targetSheet(w, rows)
	} else {
		o.boundsSheet(w, rows)
	}
	if o.show > 0 {
		o.recordSheet(w, rows, around)
	}
	return w.Close(render.End{Incomplete: incomplete})
}

func (o *resolveOptions) positionCell() render.Cell {
	if !o.chosen {
		return render.None()
	}
	return render.String(o.position.String())
}

func (o *resolveOptions) boundsSheet(w *render.Writer, rows []resolved) {
	w.Begin(render.Sheet{Name: "partitions", Row: "partition", Columns: []render.Column{
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "LOG-START-OFFSET", Key: "log_start_offset", Right: true},
		{Header: "LAST-STABLE-OFFSET", Key: "last_stable_offset", Right: true},
		{Header: "LOG-END-OFFSET", Key: "log_end_offset", Right: true},
		{Header: "OFFSETS", Key: "offset_count", Right: true},
		{Header: "AT-MOST", Key: "record_count_at_most", Right: true, NoTable: true, NoCSV: !o.count, NoJSON: !o.count},
		{Header: "ERROR", Key: "error", HideEmpty: true},
	}})
	for _, r := range rows {
		cells := []render.Cell{render.String(r.part.Topic), render.Int32(r.part.Partition), render.None(), render.None(), render.None(), render.None(), render.IntPtr(o.atMost(r)), cli.ErrCell(r.err)}
		if b := r.bounds; b != nil {
			cells[2], cells[3], cells[4], cells[5] = render.Int(b.Start), render.Int(b.LastStable), render.Int(b.End), render.Int(b.EndFor(o.rules.Isolation)-b.Start)
		}
		w.Row(cells...)
	}
}

// atMost is how many records there can be from a row's offset to the end: nil where that is not known.
func (o *resolveOptions) atMost(r resolved) *int64 {
	if r.bounds == nil || r.err != nil || o.chosen && r.target.Leave {
		return nil
	}
	from := r.bounds.Start
	if o.chosen {
		from = max(from, r.target.Offset)
	}
	n := max(0, r.bounds.EndFor(o.rules.Isolation)-from)
	return &n
}

// sayCount is the sum of --count: a bound, and what makes it one.
func (o *resolveOptions) sayCount(rows []resolved) {
	if !o.count {
		return
	}
	var sum int64
	unknown := 0
	for _, r := range rows {
		if n := o.atMost(r); n != nil {
			sum += *n
		} else {
			unknown++
		}
	}
	line := "at most " + text.Plural(sum, "record")
	if unknown > 0 {
		line += ", and those of " + text.Plural(unknown, "partition") + " that are not known"
	}
	o.app.Streams.Note("%s: offsets were counted and none was read; compaction and transactions leave offsets without a record, koffset find --count counts records", line)
}

// at is the time of the record that was found, zero for none.
func (r resolved) at() time.Time {
	if r.found != nil {
		return r.found.Time
	}
	return r.target.Found
}

func (o *resolveOptions) targetSheet(w *render.Writer, rows []resolved) {
	w.Begin(render.Sheet{Name: "partitions", Row: "partition", Columns: []render.Column{
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "OFFSET", Key: "offset", Right: true},
		{Header: "TIMESTAMP", Key: "timestamp", HideEmpty: true},
		{Key: "timestamp_ms", NoTable: true},
		{Key: "requested_timestamp", NoTable: true},
		{Header: "LOG-START-OFFSET", Key: "log_start_offset", Right: true},
		{Header: "LOG-END-OFFSET", Key: "log_end_offset", Right: true},
		{Header: "AT-MOST", Key: "record_count_at_most", Right: true, NoTable: !o.count, NoCSV: !o.count, NoJSON: !o.count},
		{Header: "HOW", Key: "how"},
		{Header: "DETAIL", Key: "detail", HideEmpty: true},
		{Header: "ERROR", Key: "error", HideEmpty: true, NoTable: true},
	}})
	for _, r := range rows {
		at, detail := r.at(), r.target.Detail
		off, start, end, requested := render.None(), render.None(), render.None(), render.None()
		if pos, ok := o.position.For(r.part); ok && pos.Kind == offset.AtTime {
			requested = render.Time(pos.At.Time)
		}
		var how render.Cell
		if b := r.bounds; b != nil {
			start, end = render.Int(b.Start), render.Int(b.EndFor(o.rules.Isolation))
		}
		switch {
		case r.refusal != nil:
			how, detail = render.String(string(r.refusal.Reason)).Styled(render.Bad), strings.TrimPrefix(r.refusal.Detail, r.part.String()+": ")
		case r.err != nil:
			how, detail = render.String(string(offset.ReasonUnreadable)).Styled(render.Bad), cli.ShortErr(r.err)
		case r.target.Leave:
			how = render.String(string(r.target.Reason)).Styled(render.Warn)
		default:
			off, how = render.Int(r.target.Offset), render.String(string(r.target.Reason))
			if r.target.Detail != "" {
				how = how.Styled(render.Warn)
			}
		}
		if r.found != nil && r.found.Offset != r.target.Offset {
			detail = strings.TrimSpace(detail + " the first record from there on has offset " + text.Count(r.found.Offset))
		}
		w.Row(render.String(r.part.Topic), render.Int32(r.part.Partition), off, render.Time(at), millisCell(at), requested, start, end, render.IntPtr(o.atMost(r)), how, render.Text(detail), cli.ErrCell(r.err))
	}
}

// readTimes reads the first record at or after each target: an offset carries no time, only its record does. failed counts
// the rows whose record is not known; err is the reason where no row's is.
func (o *resolveOptions) readTimes(ctx context.Context, s *cli.Session, rows []resolved) (failed int, err error) {
	of := o.fromTargets(rows)
	for span, a := range o.reader(s).First(ctx, slices.Collect(maps.Keys(of))) {
		if of[span].found, of[span].err = a.Record, a.Err; a.Err != nil {
			failed, err = failed+1, a.Err
		}
	}
	if failed < len(of) {
		err = nil
	}
	return failed, err
}

// fromTargets are the stretches from the offsets that were found to the ends, of rows whose record is not known yet.
func (o *resolveOptions) fromTargets(rows []resolved) map[records.Span]*resolved {
	of := map[records.Span]*resolved{}
	for i := range rows {
		r := &rows[i]
		if r.err == nil && !r.target.Leave && r.bounds != nil && r.target.Found.IsZero() {
			of[records.Span{Partition: r.part, From: r.target.Offset, Until: r.bounds.EndFor(o.rules.Isolation)}] = r
		}
	}
	return of
}

func (o *resolveOptions) reader(s *cli.Session) records.Reader {
	return records.Reader{Client: s.Client, Isolation: o.rules.Isolation}
}

// showAround is readAround where it was asked for, with what the values' schemas say.
func (o *resolveOptions) showAround(ctx context.Context, s *cli.Session, rows []resolved) (around map[offset.Partition][]hit, failed int, err error) {
	if o.show == 0 {
		return nil, 0, nil
	}
	if o.schemas, err = o.app.Schemas(ctx, s.Settings); err != nil {
		return nil, 0, err
	}
	around, failed, err = o.readAround(ctx, s, rows)
	return around, failed, cli.Cause(ctx, err)
}

// undecoded says that records are shown as bytes because the registry did not tell.
func (o *resolveOptions) undecoded() bool { return o.schemas != nil && o.schemas.Failed() }

func (o *resolveOptions) saySchemas() {
	if o.schemas != nil {
		o.schemas.Say(o.format.IsTable())
	}
}

// readAround reads the records before and after each target; failed and err are as of readTimes.
func (o *resolveOptions) readAround(ctx context.Context, s *cli.Session, rows []resolved) (around map[offset.Partition][]hit, failed int, err error) {
	show := hits{table: o.format.IsTable(), show: func(r *kgo.Record, b []byte) registry.Value {
		return o.schemas.Show(ctx, r, b)
	}}
	var walks []records.Walk
	var of []*resolved
	var got []*[]hit
	for i := range rows {
		r := &rows[i]
		if r.err != nil || r.target.Leave {
			continue
		}
		list := new([]hit)
		of, got = append(of, r), append(got, list)
		walks = append(walks, records.Walk{Visit: func(rec records.Record) bool {
			*list = append(*list, show.head(rec.Record))
			return true
		}, Span: records.Span{Partition: r.part, From: max(r.bounds.Start, r.target.Offset-int64(o.show)),
			Until: min(r.bounds.EndFor(o.rules.Isolation), r.target.Offset+int64(o.show))}})
	}
	around = map[offset.Partition][]hit{}
	for i, end := range o.reader(s).Walk(ctx, walks) {
		around[of[i].part] = *got[i]
		if of[i].err = end.Err; end.Err != nil {
			failed, err = failed+1, end.Err
		}
	}
	if failed < len(of) {
		err = nil
	}
	return around, failed, err
}

// recordSheet has no byte lost in what is not a table: what is not text is in base64, and what is too long for each of many partitions is
// marked as cut.
func (o *resolveOptions) recordSheet(w *render.Writer, rows []resolved, around map[offset.Partition][]hit) {
	w.Begin(render.Sheet{Name: "records", Row: "record", Columns: append([]render.Column{
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "OFFSET", Key: "offset", Right: true},
		{Header: "FROM-TARGET", Key: "from_target", Right: true},
		{Header: "TIMESTAMP", Key: "timestamp"},
		{Header: "KEY", Key: "key"},
		{Header: "VALUE", Key: "value"},
		schemaColumn(),
		{Key: "key_base64", NoTable: true},
		{Key: "value_base64", NoTable: true},
		{Key: "cut", NoTable: true},
	}, schemaColumns()...)})
	for _, r := range rows {
		for _, rec := range around[r.part] {
			key, key64 := wholeCells(rec.key)
			value, value64 := wholeCells(rec.value)
			if o.format.IsTable() {
				key, value = decodedCell(rec.inKey, rec.key), decodedCell(rec.inValue, rec.value)
			}
			cells := []render.Cell{render.String(r.part.Topic), render.Int32(r.part.Partition), render.Int(rec.Offset), render.Int(rec.Offset - r.target.Offset),
				render.Time(rec.Time), key, value, schemaWord(rec.inValue), key64, value64, render.Bool(rec.isCut())}
			w.Row(append(cells, schemaCells(rec.inKey, rec.inValue)...)...)
		}
	}
}

// showBytes is how much of a key or value is shown: enough to recognise a record by.
const showBytes = 120

// shownBytes is the beginning of a key or value, one byte longer than is shown where there is more.
func shownBytes(b []byte) []byte { return bytes.Clone(b[:min(len(b), showBytes+1)]) }

func bytesCell(b []byte) render.Cell {
	if b == nil {
		return render.None()
	}
	if len(b) > showBytes {
		cut := showBytes
		for cut > 0 && !utf8.RuneStart(b[cut]) {
			cut--
		}
		return render.String(string(b[:cut]) + "…")
	}
	return render.String(string(b))
}
