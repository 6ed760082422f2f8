package look

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// output makes the rows that were asked for: what the scan is told of matches, and what prints the rest when it has ended.
func (f *finding) output() (w *render.Writer, match func(*kgo.Record, []string) bool, tell func(offset.Partition) func(*kgo.Record), finish func()) {
	meta := f.s.Meta("find", render.F("isolation", render.String(f.between.Isolation().String())),
		render.F("from", render.String(f.between.Start.String())), render.F("until", render.String(f.between.End.String())))
	switch {
	case f.count:
		w = render.NewWriter(f.app.Streams, f.format, meta)
		return w, nil, nil, func() { f.countSheet(w) }
	case f.by != "":
		w = render.NewWriter(f.app.Streams, f.format, meta)
		b := &buckets{next: steps(f.by, f.app.Streams.Zone())}
		return w, nil, b.of, func() { f.bucketSheet(w, b.sum()) }
	case f.format == render.Positions:
		return &render.Writer{}, nil, nil, func() {}
	}
	w = render.NewWriter(f.app.Streams, f.format, meta)
	h := f.newHits(w)
	f.flush = h.flush
	return w, h.add, nil, h.sorted
}

// countSheet has a row a partition.
func (f *finding) countSheet(w *render.Writer) {
	columns := []render.Column{
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "FROM-OFFSET", Key: "from_offset", Right: true},
		{Header: "UNTIL-OFFSET", Key: "until_offset", Right: true},
		{Header: "RECORDS", Key: "record_count", Right: true},
		{Header: "MATCHES", Key: "match_count", Right: true, NoTable: !f.where.Any()},
		{Header: "READ-UNTIL", Key: "read_until_offset", Right: true, NoTable: len(f.unread) == 0},
		{Header: "ERROR", Key: "error", HideEmpty: true},
	}
	w.Begin(render.Sheet{Name: "partitions", Row: "partition", Columns: columns})
	for _, one := range f.all.List {
		if one.Err != nil {
			w.Row(render.String(one.Topic), render.Int32(one.Partition.Partition), render.None(), render.None(), render.None(), render.None(), render.None(), cli.ErrCell(one.Err))
		}
	}
	for _, p := range f.report.Parts {
		w.Row(render.String(p.Topic), render.Int32(p.Partition.Partition), render.Int(p.From), render.Int(p.Until), render.Int(p.Records), render.Int(p.Matches), render.Int(p.Read), cli.ErrCell(p.Err))
	}
	what := text.Plural(f.report.Records, "record")
	if f.where.Any() {
		what = fmt.Sprintf("%s of %s", matches(f.report.Matches), what)
	}
	if len(f.unread) > 0 || f.removed() > 0 {
		what += " in what could be read"
	}
	f.counted = what
}

// mostBuckets bounds how many pieces of time are counted of a partition: times of records can be anything.
const mostBuckets = 100_000

// buckets count by time. Each partition has its own counts, so that none waits for another.
type buckets struct {
	next func(time.Time) (from, until time.Time)

	mu    sync.Mutex
	parts []map[int64]int64
}

// noTime is the bucket of records without a time, and noRoom that of those for which there was none.
const (
	noTime int64 = -1 << 62
	noRoom int64 = noTime + 1
)

// of is the counter of one partition.
func (b *buckets) of(offset.Partition) func(*kgo.Record) {
	counts := map[int64]int64{}
	b.mu.Lock()
	b.parts = append(b.parts, counts)
	b.mu.Unlock()
	var from, until time.Time // of the bucket that was counted last: records come about in the order of time
	last := int64(0)
	return func(r *kgo.Record) {
		t := offset.TimeOf(r.Timestamp)
		switch {
		case t.IsZero():
			counts[noTime]++
			return
		case from.IsZero() || t.Before(from) || !t.Before(until):
			from, until = b.next(t)
			if last = from.UnixMilli(); len(counts) > mostBuckets && counts[last] == 0 {
				last = noRoom
			}
		}
		counts[last]++
	}
}

// sum joins the counts of all partitions.
func (b *buckets) sum() map[int64]int64 {
	all := map[int64]int64{}
	for _, counts := range b.parts {
		for at, n := range counts {
			all[at] += n
		}
	}
	return all
}

// steps is where the hour or day of a time begins and ends, in a zone.
func steps(by string, zone *time.Location) func(time.Time) (from, until time.Time) {
	if zone == nil {
		zone = time.UTC
	}
	if by == "day" {
		return func(t time.Time) (time.Time, time.Time) {
			return offset.DayStart(t, 0, zone), offset.DayStart(t, 1, zone)
		}
	}
	return func(t time.Time) (time.Time, time.Time) {
		from := offset.HourStart(t, zone)
		return from, from.Add(time.Hour)
	}
}

// most gaps are shown as rows of 0 in a table; more of them would bury the counts.
const mostGaps = 500

// bucketSheet has a row a piece of time, with a bar on a terminal. In tables pieces without records have a row of 0.
func (f *finding) bucketSheet(w *render.Writer, counts map[int64]int64) {
	bars := f.format.IsTable() && f.app.Streams.OutTTY
	w.Begin(render.Sheet{Name: "buckets", Row: "bucket", Columns: []render.Column{
		{Header: "FROM", Key: "from_timestamp"},
		{Header: "UNTIL", Key: "until_timestamp", Wide: true},
		{Header: "RECORDS", Key: "match_count", Right: true},
		{Header: "", Key: "bar", NoJSON: true, NoCSV: true, NoTable: !bars},
	}})
	next := steps(f.by, f.app.Streams.Zone())
	most, none, over := int64(0), counts[noTime], counts[noRoom]
	delete(counts, noTime)
	delete(counts, noRoom)
	for _, n := range counts {
		most = max(most, n)
	}
	starts := slices.Sorted(maps.Keys(counts))
	if f.format.IsTable() {
		starts = filled(starts, next)
	}
	for _, ms := range starts {
		from, until := next(time.UnixMilli(ms))
		w.Row(render.Time(from), render.Time(until), render.Int(counts[ms]), render.String(bar(counts[ms], most, f.barWidth())))
	}
	if none > 0 {
		w.Row(render.None(), render.None(), render.Int(none), render.None())
		f.app.Streams.Warn("records without a time: %s, in the row without one", text.Count(none))
	}
	if over > 0 {
		f.unread = append(f.unread, fmt.Errorf("%s are in no row: their times are in more than %s different pieces", text.Plural(over, "record"), text.Count(mostBuckets)))
	}
	f.counted = text.Plural(f.report.Matches, "record")
}

// filled adds the pieces of time without a record between the first and the last, where they are few.
func filled(starts []int64, next func(time.Time) (time.Time, time.Time)) []int64 {
	if len(starts) == 0 {
		return starts
	}
	var out []int64
	for at := time.UnixMilli(starts[0]); at.UnixMilli() <= starts[len(starts)-1]; _, at = next(at) {
		if out = append(out, at.UnixMilli()); len(out) > len(starts)+mostGaps {
			return starts
		}
	}
	return out
}

// barWidth is what is left of the terminal beside the numbers.
func (f *finding) barWidth() int64 {
	const beside = 40
	if f.app.Streams.Width == 0 {
		return 40
	}
	return int64(max(10, f.app.Streams.Width-beside))
}

// bar is a count beside the largest one. A count that is not 0 has a mark.
func bar(n, most, width int64) string {
	if n == 0 || most == 0 {
		return ""
	}
	return strings.Repeat("#", int(max(1, n*width/most)))
}
