package look

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
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

// shown is a record of --show: its keys and values as far as they are shown.
type shown struct {
	offset.Record
	key, value []byte
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

func (o *resolveOptions) print(s *cli.Session, rows []resolved, around map[offset.Partition][]shown, incomplete bool) error {
	w := render.NewWriter(o.app.Streams, o.format, s.Meta("resolve",
		render.F("isolation", render.String(o.rules.Isolation.String())), render.F("position", o.positionCell())))
	if o.chosen {
		o.targetSheet(w, rows)
	} else {
		o.boundsSheet(w, rows)
	}
	if o.show > 0 {
		recordSheet(w, rows, around)
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
	of := map[records.Span]*resolved{}
	for i := range rows {
		r := &rows[i]
		if r.err == nil && !r.target.Leave && r.bounds != nil {
			of[records.Span{Partition: r.part, From: r.target.Offset, Until: r.bounds.EndFor(o.rules.Isolation)}] = r
		}
	}
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

func (o *resolveOptions) reader(s *cli.Session) records.Reader {
	return records.Reader{Client: s.Client, Isolation: o.rules.Isolation}
}

// readAround reads the records before and after each target; failed and err are as of readTimes.
func (o *resolveOptions) readAround(ctx context.Context, s *cli.Session, rows []resolved) (around map[offset.Partition][]shown, failed int, err error) {
	var walks []records.Walk
	var of []*resolved
	var got []*[]shown
	for i := range rows {
		r := &rows[i]
		if r.err != nil || r.target.Leave {
			continue
		}
		list := new([]shown)
		of, got = append(of, r), append(got, list)
		walks = append(walks, records.Walk{Visit: func(rec records.Record) bool {
			*list = append(*list, shown{rec.Place(), shownBytes(rec.Key), shownBytes(rec.Value)})
			return true
		}, Span: records.Span{Partition: r.part, From: max(r.bounds.Start, r.target.Offset-int64(o.show)),
			Until: min(r.bounds.EndFor(o.rules.Isolation), r.target.Offset+int64(o.show))}})
	}
	around = map[offset.Partition][]shown{}
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

func recordSheet(w *render.Writer, rows []resolved, around map[offset.Partition][]shown) {
	w.Begin(render.Sheet{Name: "records", Row: "record", Columns: []render.Column{
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "OFFSET", Key: "offset", Right: true},
		{Header: "FROM-TARGET", Key: "from_target", Right: true},
		{Header: "TIMESTAMP", Key: "timestamp"},
		{Header: "KEY", Key: "key"},
		{Header: "VALUE", Key: "value"},
	}})
	for _, r := range rows {
		for _, rec := range around[r.part] {
			w.Row(render.String(r.part.Topic), render.Int32(r.part.Partition), render.Int(rec.Offset), render.Int(rec.Offset-r.target.Offset),
				render.Time(rec.Time), bytesCell(rec.key), bytesCell(rec.value))
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
