package look

// What koffset history sums up: by partition, by day, and what was removed.

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

func (k matchKey) compare(o matchKey) int {
	return cmp.Or(strings.Compare(k.group, o.group), k.Partition.Compare(o.Partition))
}

// movement is what happened to a partition, or to a group on a day.
type movement struct {
	commits, rewinds, skips, deletes, other int64
	forward                                 int64 // offsets, of the commits that went ahead
	first, last                             time.Time
	from, to                                int64 // offsets; they mean something where there were commits
	gap                                     time.Duration
	parts                                   map[offset.Partition]bool
}

func (s *movement) add(e *history.Event) {
	switch {
	case e.Kind == history.Deleted:
		s.deletes++
		return
	case e.Kind != history.Commit && e.Kind != history.Transactional:
		s.other++
		return
	}
	s.commits++
	if s.first.IsZero() {
		s.first = e.At
		s.from = e.Commit.Offset
	} else if d := e.At.Sub(s.last); d > s.gap {
		s.gap = d
	}
	s.last = e.At
	s.to = e.Commit.Offset
	switch e.Mark {
	case history.Rewind:
		s.rewinds++
	case history.Skip:
		s.skips++
	}
	if e.Delta != nil && *e.Delta > 0 {
		s.forward += *e.Delta
	}
}

// rate is how many offsets a second the commits went ahead; none where two moments are not known.
func (s *movement) rate() render.Cell {
	if d := s.last.Sub(s.first).Seconds(); d > 0 {
		return render.Float(float64(int64(float64(s.forward)/d*10)) / 10)
	}
	return render.None()
}

func bad(n int64) render.Cell {
	if n == 0 {
		return render.Int(0)
	}
	return render.Int(n).Styled(render.Bad)
}

// partitionView sums up each partition of each group.
type partitionView struct {
	w       *render.Writer
	several bool
	sums    map[matchKey]*movement
}

func newPartitionView(w *render.Writer, several bool) *partitionView {
	return &partitionView{w: w, several: several, sums: map[matchKey]*movement{}}
}

func (v *partitionView) add(e *history.Event) {
	if e.Topic == "" {
		return
	}
	k := matchKey{e.Group, e.Partition}
	s := v.sums[k]
	if s == nil {
		s = &movement{}
		v.sums[k] = s
	}
	s.add(e)
}

func (v *partitionView) finish(*history.Report) int64 {
	v.w.Begin(render.Sheet{Name: "partitions", Row: "partition", Columns: []render.Column{
		{Header: "GROUP", Key: "group", NoTable: !v.several},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "COMMITS", Key: "commit_count", Right: true},
		{Header: "FIRST", Key: "first_commit"},
		{Header: "LAST", Key: "last_commit"},
		{Header: "FROM", Key: "first_offset", Right: true},
		{Header: "TO", Key: "last_offset", Right: true},
		{Header: "OFFSETS/S", Key: "offsets_per_second", Right: true},
		{Header: "LONGEST-GAP", Right: true, NoJSON: true, NoCSV: true},
		{Key: "longest_gap_ms", NoTable: true},
		{Header: "REWINDS", Key: "rewind_count", Right: true},
		{Header: "SKIPS", Key: "skip_count", Right: true},
		{Header: "DELETES", Key: "delete_count", Right: true},
		{Header: "OTHER", Key: "other_count", Right: true, Wide: true},
	}})
	for _, k := range slices.SortedFunc(maps.Keys(v.sums), matchKey.compare) {
		s := v.sums[k]
		gap, gapMs, from, to := render.None(), render.None(), render.None(), render.None()
		if s.commits > 0 {
			from, to = render.Int(s.from), render.Int(s.to)
		}
		if s.commits > 1 {
			gap, gapMs = render.String(cli.Short(s.gap)), render.Int(s.gap.Milliseconds())
		}
		v.w.Row(render.Name(k.group), render.String(k.Topic), render.Int32(k.Partition.Partition), render.Int(s.commits), render.Time(s.first), render.Time(s.last),
			from, to, s.rate(), gap, gapMs, bad(s.rewinds), bad(s.skips), bad(s.deletes), render.Int(s.other))
	}
	return int64(len(v.sums))
}

// dayView sums up each day of each group.
type dayView struct {
	w       *render.Writer
	several bool
	zone    *time.Location
	sums    map[dayKey]*movement
}

type dayKey struct {
	day   time.Time // its beginning
	group string
}

func newDayView(w *render.Writer, several bool, zone *time.Location) *dayView {
	return &dayView{w: w, several: several, zone: zone, sums: map[dayKey]*movement{}}
}

func (v *dayView) add(e *history.Event) {
	if e.Topic == "" {
		return
	}
	y, m, d := e.At.In(v.zone).Date()
	k := dayKey{time.Date(y, m, d, 0, 0, 0, 0, time.UTC), e.Group}
	s := v.sums[k]
	if s == nil {
		s = &movement{parts: map[offset.Partition]bool{}}
		v.sums[k] = s
	}
	s.add(e)
	s.parts[e.Partition] = true
}

func (v *dayView) finish(*history.Report) int64 {
	v.w.Begin(render.Sheet{Name: "days", Row: "day", Columns: []render.Column{
		{Header: "DAY", Key: "day"},
		{Header: "GROUP", Key: "group", NoTable: !v.several},
		{Header: "PARTITIONS", Key: "partition_count", Right: true},
		{Header: "COMMITS", Key: "commit_count", Right: true},
		{Header: "FIRST", Key: "first_commit"},
		{Header: "LAST", Key: "last_commit"},
		{Header: "OFFSETS", Key: "offset_count", Right: true},
		{Header: "REWINDS", Key: "rewind_count", Right: true},
		{Header: "SKIPS", Key: "skip_count", Right: true},
		{Header: "DELETES", Key: "delete_count", Right: true},
	}})
	keys := slices.SortedFunc(maps.Keys(v.sums), func(a, b dayKey) int { return cmp.Or(a.day.Compare(b.day), strings.Compare(a.group, b.group)) })
	for _, k := range keys {
		s := v.sums[k]
		v.w.Row(render.String(k.day.Format(time.DateOnly)), render.Name(k.group), render.Int(int64(len(s.parts))), render.Int(s.commits), render.Time(s.first), render.Time(s.last),
			render.Int(s.forward), bad(s.rewinds), bad(s.skips), bad(s.deletes))
	}
	return int64(len(v.sums))
}

// deletedView lists the commits that are removed now and whose last value can be read.
type deletedView struct {
	w    *render.Writer
	gone map[matchKey]*goneCommit
}

type goneCommit struct {
	last    *offset.Committed // nil where compaction removed it
	at      time.Time         // when it was committed
	removed time.Time
	cause   history.Cause
	topicID string
}

func newDeletedView(w *render.Writer) *deletedView {
	return &deletedView{w: w, gone: map[matchKey]*goneCommit{}}
}

func (v *deletedView) add(e *history.Event) {
	if !e.Kind.Moves() || e.Topic == "" {
		return
	}
	k := matchKey{e.Group, e.Partition}
	if e.Kind != history.Deleted {
		delete(v.gone, k)
		return
	}
	g := &goneCommit{removed: e.At, cause: e.Cause, at: e.Since, topicID: e.TopicID()}
	if e.Commit != nil {
		c := *e.Commit
		g.last = &c
	} else if before := v.gone[k]; before != nil && before.last != nil {
		return // removed once more, as a group that is deleted after its commits
	}
	v.gone[k] = g
}

func (v *deletedView) finish(*history.Report) int64 {
	v.w.Begin(render.Sheet{Name: "deleted", Row: "deleted", Columns: []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "LAST-OFFSET", Key: "last_offset", Right: true},
		{Header: "COMMITTED", Key: "committed_time"},
		{Header: "REMOVED", Key: "removed_time"},
		{Header: "CAUSE", Key: "cause"},
		{Header: "METADATA", Key: "metadata", HideEmpty: true},
		{Header: "LEADER-EPOCH", Key: "leader_epoch", Right: true, Wide: true},
		{Header: "TOPIC-ID", Key: "topic_id", Wide: true},
	}})
	for _, k := range slices.SortedFunc(maps.Keys(v.gone), matchKey.compare) {
		g := v.gone[k]
		last, meta, epoch := render.None(), render.None(), render.None()
		if g.last != nil {
			last, meta, epoch = render.Int(g.last.Offset), render.String(g.last.Metadata), leaderEpochCell(g.last.LeaderEpoch)
		}
		v.w.Row(render.Name(k.group), render.String(k.Topic), render.Int32(k.Partition.Partition), last, render.Time(g.at), render.Time(g.removed), render.Text(string(g.cause)),
			meta, epoch, render.Text(g.topicID))
	}
	return int64(len(v.gone))
}
