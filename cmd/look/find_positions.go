package look

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// writePositions writes the file that --from-file and file: read: an export that names its cluster and topics, so that it is
// refused where its numbers mean something else.
func (f *finding) writePositions(ctx context.Context) error {
	at := map[offset.Partition]int64{}
	var when time.Time
	var timeless *offset.Partition
	for _, p := range f.report.Parts {
		found := p.Hit
		if f.last {
			found = p.Last
		}
		if found == nil {
			continue
		}
		at[p.Partition] = found.Offset
		if f.after {
			at[p.Partition]++
		}
		switch {
		case found.Time.IsZero():
			timeless = &p.Partition
		case when.IsZero() || found.Time.Before(when):
			when = found.Time
		}
	}
	matched := len(at)
	if f.align == "time" {
		if timeless != nil {
			return cli.Faultf(offset.KindRefused, "leave --align out: the positions of the matches need no time", "--align time: the match on %s has no time", timeless)
		}
		if err := f.alignTo(ctx, when, at); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := f.export(&b, at); err != nil {
		return err
	}
	name := f.file
	if name == "" {
		name = "-"
	}
	if err := f.app.WriteFile(name, b.Bytes()); err != nil {
		return cli.Usagef("", "--out: %w", err)
	}
	f.sayPositions(name, at, matched, when)
	return nil
}

// alignTo adds the partitions without a match, at their first record at or after a time. Their ends were read before.
func (f *finding) alignTo(ctx context.Context, when time.Time, at map[offset.Partition]int64) error {
	ctx, cancel := f.s.Phase(ctx, "read the times")
	defer cancel()
	ends, ask := map[offset.Partition]int64{}, map[offset.Partition]offset.Instant{}
	for _, one := range f.all.List {
		if _, found := at[one.Partition]; found || one.Bounds == nil || one.LeftOut {
			continue
		}
		ends[one.Partition] = one.Bounds.EndFor(f.between.Isolation())
		ask[one.Partition] = offset.Instant{Time: when}
	}
	none := 0
	for p, l := range inspect.FindTimes(ctx, f.s.Client, f.between.Isolation(), ask) {
		switch {
		case l.Err != nil:
			return fmt.Errorf("--align time: %s: %w", p, cli.Cause(ctx, l.Err))
		case l.Record != nil:
			at[p] = l.Record.Offset
		default:
			at[p] = ends[p]
			none++
		}
	}
	if none > 0 {
		f.app.Streams.Note("no record at or after %s on %s: the position there is the log end", offset.FormatTimeIn(when, f.app.Streams.Zone()), text.Plural(none, "partition"))
	}
	return nil
}

func (f *finding) export(b *bytes.Buffer, at map[offset.Partition]int64) error {
	h := migrate.Header{CreatedAt: f.app.Now(), Version: f.app.Version, Source: "find", ClusterID: f.s.Cluster.ID}
	for _, name := range slices.Sorted(maps.Keys(f.all.Topics)) {
		t := f.all.Topics[name]
		h.Topics = append(h.Topics, migrate.Topic{Name: name, ID: t.TopicID(), Partitions: len(t.Partitions)})
	}
	x, err := migrate.NewWriter(b, h)
	if err != nil {
		return err
	}
	g := migrate.Group{Any: true}
	for _, one := range f.all.List {
		if n, ok := at[one.Partition]; ok {
			g.Rows = append(g.Rows, migrate.Row{Partition: one.Partition, Committed: &offset.Committed{Offset: n}, Bounds: one.Bounds})
		}
	}
	if err := x.Group(g); err != nil {
		return err
	}
	return x.Close(false)
}

// sayPositions says what the positions are, what has none, and how to use them.
func (f *finding) sayPositions(name string, at map[offset.Partition]int64, matched int, when time.Time) {
	st := f.app.Streams
	what := "at a match"
	if f.after {
		what = "after a match"
	}
	line := fmt.Sprintf("wrote the positions of %s: %s %s", text.Plural(len(at), "partition"), text.Count(matched), what)
	if n := len(at) - matched; n > 0 {
		line += fmt.Sprintf(", %s aligned to %s", text.Count(n), offset.FormatTimeIn(when, st.Zone()))
	}
	st.Note("%s", line)
	if n := len(f.all.List) - len(at); n > 0 {
		st.Note("%s without a match: not in the file; --align time adds them", text.Plural(n, "partition"))
	}
	if f.format != render.Positions && !cli.IsStdout(name) {
		st.Hint("%s", f.app.Again("reset", "GROUP", "--topic", f.listed(at), "--from-file", name))
	}
}

// listed names what is in the file as --topic takes it: reset refuses a partition that the file has nothing for.
func (f *finding) listed(at map[offset.Partition]int64) string {
	numbers := map[string][]int32{}
	for p := range at {
		numbers[p.Topic] = append(numbers[p.Topic], p.Partition)
	}
	var specs []string
	for _, topic := range slices.Sorted(maps.Keys(numbers)) {
		spec := offset.TopicSpec{Topic: topic}
		if set := numbers[topic]; len(set) < len(f.all.Topics[topic].Numbers()) {
			slices.Sort(set)
			spec.Partitions = set
		}
		specs = append(specs, spec.String())
	}
	return strings.Join(specs, ",")
}
