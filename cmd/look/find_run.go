package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/find"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/internal/registry"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// finding is one run of find.
type finding struct {
	*findOptions
	s   *cli.Session
	all *cli.Stretches
	// unread are partitions that could not even begin to be read.
	unread []error
	report *find.Report
	// only are the partitions that a key can be on, by topic, where a partitioner was named.
	only map[string]int32
	// show is what is known of a key or value that is printed.
	show func(r *kgo.Record, b []byte) registry.Value
	// flush lets rows out that are printed as they come.
	flush func()
	// undecoded says that what was asked for is not all there, since values could not be decoded.
	undecoded bool
	// counted says in words how many there are, where that was asked.
	counted string
}

func (f *finding) run(ctx context.Context) error {
	if err := f.refused(); err != nil {
		return err
	}
	if err := f.onlyPartitions(); err != nil {
		return err
	}
	f.show = func(r *kgo.Record, b []byte) registry.Value {
		defer f.waited(time.Now())
		return f.schemas.Show(ctx, r, b)
	}
	w, match, tell, finish := f.output()
	f.scan(ctx, match, tell)
	finish()
	if err := w.Close(f.end()); err != nil {
		return err
	}
	if f.counted != "" {
		f.app.Streams.Note("%s", f.counted)
	}
	f.sayNotKnown()
	f.undecoded = f.schemas.Say(f.format.IsTable()) || f.report.NotKnown[find.NotDecoded] > 0
	return f.outcome(ctx)
}

// refused is the error of stretches that a policy refuses: all or nothing, as everywhere.
func (f *finding) refused() error {
	var refused []error
	for _, one := range f.all.List {
		if errors.As(one.Err, new(*offset.Refusal)) {
			refused = append(refused, one.Err)
		}
	}
	if len(refused) > 0 {
		return cli.RefusedRows(refused)
	}
	return nil
}

// onlyPartitions works out which partitions the key can be on, and says what that rests on.
func (f *finding) onlyPartitions() error {
	if f.chosen == "" {
		return nil
	}
	f.only = map[string]int32{}
	for _, one := range f.all.List {
		if _, done := f.only[one.Topic]; done {
			continue
		}
		total := int32(len(f.all.Topics[one.Topic].Partitions))
		p, ok := f.chosen.Partition(f.key, total)
		if !ok {
			return cli.Usagef("leave --partitioner out", "a producer with %s puts this key on any partition", f.chosen)
		}
		f.only[one.Topic] = p
		at := offset.Partition{Topic: one.Topic, Partition: p}
		if !slices.ContainsFunc(f.all.List, func(one cli.Stretch) bool { return one.Partition == at }) {
			return cli.Usagef("add it, or leave --partitioner out", "the key is on %s, which was not chosen", at)
		}
		f.app.Streams.Note("reading %s alone, where a producer with %s puts the key if the topic has %s; not so where it had fewer then, or where the producer chose the partition",
			at, f.chosen, text.Plural(total, "partition"))
	}
	return nil
}

// spans are what is to be read.
func (f *finding) spans() []records.Span {
	var out []records.Span
	for _, one := range f.all.List {
		if p, ok := f.only[one.Topic]; ok && p != one.Partition.Partition {
			continue
		}
		switch {
		case one.Err != nil:
			f.unread = append(f.unread, one.Err)
		case !one.LeftOut:
			out = append(out, records.Span{Partition: one.Partition, From: one.From, Until: one.Until})
		}
	}
	return out
}

func (f *finding) scan(ctx context.Context, match func(*kgo.Record, []string) bool, tell func(offset.Partition) func(*kgo.Record)) {
	ctx, moved, cancel := f.s.Moving(ctx, "read the records")
	defer cancel()
	f.moved = moved
	p := f.app.Streams.Progress("reading")
	defer p.Stop()
	begun := time.Now()
	f.report = find.Scan(ctx, find.Query{Client: f.s.Client, Isolation: f.between.Isolation(), Spans: f.spans(), Topics: f.all.Topics,
		Where: f.where, Max: f.max, Match: match, Tell: tell, Progress: func(done, total int64) {
			moved()
			f.flush()
			p.Say(scanLine(done, total, time.Since(begun)))
		}})
	for _, part := range f.report.Unread() {
		f.unread = append(f.unread, cli.Cause(ctx, part.Err))
	}
}

func scanLine(done, total int64, took time.Duration) string {
	line := fmt.Sprintf("%s / %s offsets", text.Count(done), text.Count(total))
	rate := float64(done) / max(took.Seconds(), 0.001)
	if rate > 1 && took > time.Second {
		line += fmt.Sprintf(", %s/s, %s left", text.Count(int64(rate)), text.Duration(time.Duration(float64(total-done)/rate*float64(time.Second))))
	}
	return line
}

func (f *finding) end() render.End {
	r := f.report
	return render.End{Incomplete: len(f.unread) > 0 || f.removed() > 0 || r.NotKnown[find.NotDecoded] > 0 || f.schemas.Failed(), Fields: []render.Field{
		render.F("record_count", render.Int(r.Records)), render.F("match_count", render.Int(r.Matches)), render.F("stopped", render.Bool(r.Stopped)),
		render.F("not_json_count", render.Int(r.NotKnown[find.NotJSON])), render.F("failed_count", render.Int(r.NotKnown[find.Failed])),
		render.F("no_time_count", render.Int(r.NotKnown[find.NoTime])), render.F("not_decoded_count", render.Int(r.NotKnown[find.NotDecoded]))}}
}

// removed is how many offsets were removed from the logs while they were read.
func (f *finding) removed() (n int64) {
	for _, p := range f.report.Parts {
		n += p.Removed
	}
	return n
}

// sayNotKnown says of which records a condition could not be asked, and what was not read.
func (f *finding) sayNotKnown() {
	st := f.app.Streams
	for _, one := range []struct {
		why  find.Answer
		one  string
		more string
	}{
		{find.NotJSON, "value is not JSON: --jq was not asked about it", "values are not JSON: --jq was not asked about them"},
		{find.Failed, "value made --jq fail, and is no match", "values made --jq fail, and are no matches"},
		{find.NoTime, "record has no time, and is in no --time-between", "records have no time, and are in no --time-between"},
		{find.NotDecoded, "value could not be decoded: --match and --jq were not asked about it", "values could not be decoded: --match and --jq were not asked about them"},
	} {
		n := f.report.NotKnown[one.why]
		if n == 0 {
			continue
		}
		words, first := one.one, f.report.First[one.why]
		if n > 1 {
			words = one.more
		}
		why := ""
		if first.Err != nil {
			why = ": " + first.Err.Error()
		}
		st.Warn("%s %s; the first is %s offset %d%s", text.Count(n), words, first.Partition, first.Offset, why)
		if hint := cli.RegistryHint(first.Err); hint != "" {
			st.Hint("%s", hint)
		}
	}
	for _, p := range f.report.Parts {
		if p.Removed > 0 {
			st.Warn("%s: %s were removed before they were read: retention was faster", p.Partition, text.Plural(p.Removed, "offset"))
		}
	}
	if f.report.Stopped {
		f.saySkipped()
	}
	f.sayHeld()
}

// sayHeld says what open transactions hold back: it is not read, and what is in it may become a match.
func (f *finding) sayHeld() {
	if f.between.Isolation() != offset.ReadCommitted {
		return
	}
	var held int64
	n, first := 0, ""
	for _, one := range f.all.List {
		b := one.Bounds
		if _, only := f.only[one.Topic]; b == nil || one.Until != b.LastStable || b.LastStable >= b.End || one.Err != nil || only && f.only[one.Topic] != one.Partition.Partition {
			continue
		}
		held += b.End - b.LastStable
		if n++; n == 1 {
			first = fmt.Sprintf("%s from %d to %d", one.Partition, b.LastStable, b.End)
		}
	}
	if n > 0 {
		f.app.Streams.Warn("open transactions hold back %s on %s (%s), which were not read; --isolation read_uncommitted reads them", text.Plural(held, "offset"), text.Plural(n, "partition"), first)
	}
}

// saySkipped says what was left unread when the scan was ended.
func (f *finding) saySkipped() {
	var left int64
	n := 0
	for _, p := range f.report.Parts {
		if p.Read < p.Until && p.Err == nil {
			left += p.Until - p.Read
			n++
		}
	}
	if n == 0 {
		return
	}
	word := "ended at the first match"
	if f.max > 1 {
		word = fmt.Sprintf("ended after %s", matches(f.max))
	}
	if f.report.Matches < f.max || f.max == 0 {
		word = "ended by the reader of the output"
	}
	f.app.Streams.Note("%s: %s on %s were not read, and may hold earlier and later ones", word, text.Plural(left, "offset"), text.Plural(n, "partition"))
}

// outcome writes the positions where they were asked for, and says how the run ended.
func (f *finding) outcome(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		f.sayHowFar()
		return context.Cause(ctx)
	case len(f.unread) > 0:
		return f.partly()
	case f.report.Matches == 0 && f.removed() > 0:
		return cli.Faultf(offset.KindPartial, "", "nothing was found in %s; what was removed before it was read is not known", text.Plural(f.report.Records, "record"))
	case f.report.Matches == 0 && f.undecoded:
		return cli.Faultf(offset.KindPartial, "", "nothing was found in %s%s", text.Plural(f.report.Records, "record"), f.notAsked())
	case f.report.Matches == 0:
		hint := ""
		if f.only != nil {
			hint = "leave --partitioner out to read all partitions"
		}
		return cli.Faultf(offset.KindNotFound, hint, "nothing was found in %s%s", text.Plural(f.report.Records, "record"), f.notAsked())
	}
	if n := f.report.NotKnown[find.NotDecoded]; n > 0 && f.positions() {
		return cli.Faultf(offset.KindPartial, "", "no positions were written: a match may be in what could not be decoded")
	}
	if f.positions() {
		if err := f.writePositions(ctx); err != nil {
			return err
		}
	}
	if f.removed() > 0 || f.undecoded {
		return cli.Quietly(offset.KindPartial)
	}
	return nil
}

// notAsked is how much of "nothing was found" is not known.
func (f *finding) notAsked() string {
	var n int64
	for _, k := range f.report.NotKnown {
		n += k
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; of %s it is not known", text.Count(n))
}

// partly is the end of a run that could not read everything: the partitions are named.
func (f *finding) partly() error {
	kind := offset.KindPartial
	nothing := f.report.Records == 0 && f.report.Matches == 0
	if nothing && !slices.ContainsFunc(f.report.Parts, func(p find.Part) bool { return p.Whole && p.From < p.Until }) {
		kind, _ = cli.Classify(f.unread[0])
	}
	shown := f.unread[:min(5, len(f.unread))]
	if n := len(f.unread) - len(shown); n > 0 {
		shown = append(slices.Clone(shown), fmt.Errorf("and %s", text.More(n, "partition")))
	}
	hint := ""
	switch {
	case slices.ContainsFunc(f.unread, cli.Denied):
		hint = "the user needs READ on the topic"
	case f.positions():
		hint = "no positions were written: a match may be in what was not read"
	}
	return &cli.Fault{Kind: kind, Err: errors.Join(shown...), Hint: hint}
}

// sayHowFar says how far an interrupted scan came.
func (f *finding) sayHowFar() {
	var done, total int64
	first := ""
	n := 0
	for _, p := range f.report.Parts {
		done, total = done+p.Read-p.From, total+p.Until-p.From
		if !p.Whole {
			if n++; n == 1 {
				first = fmt.Sprintf("; %s is read up to offset %d of %d", p.Partition, p.Read, p.Until)
			}
		}
	}
	if n > 1 {
		first += fmt.Sprintf(", and %s not to the end", text.More(n-1, "partition"))
	}
	f.app.Streams.Note("%s of %s offsets were read, %s found%s", text.Count(done), text.Count(total), matches(f.report.Matches), first)
}

func matches(n int64) string {
	if n == 1 {
		return "1 match"
	}
	return text.Count(n) + " matches"
}
