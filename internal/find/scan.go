package find

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// defaultMemory bounds what decompressed batches take at once.
const defaultMemory int64 = 64 << 20

// Query says what to look for, and where.
type Query struct {
	Client    *kgo.Client
	Isolation offset.Isolation
	// Spans are the stretches to read. One of a partition.
	Spans []records.Span
	// Topics is the metadata that the spans were made from: a topic that is another one when the scan has ended was not read.
	Topics map[string]inspect.Topic
	Where  Where
	// Max ends the scan after so many matches over all partitions; 0 is no bound.
	Max int64
	// Match is told the matches, by one goroutine at a time: those of a partition in the order of their offsets. What it is
	// told is valid during the call. It returns false to end the scan; nil only counts.
	Match func(r *kgo.Record, how []string) (more bool)
	// Tell makes a counter of a partition's matches beside Match, which is not held up by other partitions; nil is none.
	Tell func(offset.Partition) func(*kgo.Record)
	// Progress is told after each answer of a broker how many offsets of how many were read; nil for nobody.
	Progress func(done, total int64)
	// Memory bounds what decompressed batches take at once; 0 is [DefaultMemory].
	Memory int64
}

// Report is what was read and found.
type Report struct {
	Parts []Part // as the spans
	// Stopped says that Max or Match ended the scan before all was read.
	Stopped bool
	// Records are how many were read, and Matches how many matched.
	Records, Matches int64
	// NotKnown are the records of which a condition could not be asked, by why, and First where the first was met.
	NotKnown [answers]int64
	First    [answers]Place
}

// Place is where something was met, and what it said.
type Place struct {
	offset.Partition
	Offset int64
	Err    error
}

// Part is one partition of a scan.
type Part struct {
	records.Span
	// Read is the offset up to which all records are known.
	Read int64
	// Whole says that all of the span was read; where not, and Err is nil, the scan was ended.
	Whole            bool
	Records, Matches int64
	// Hit is the first match, and Last the last one; nil for none.
	Hit, Last *offset.Record
	// Removed is how many offsets retention or DeleteRecords took away before they were read.
	Removed int64
	// Err is why the rest is not known.
	Err error
}

// reportEvery is after how many records of one answer progress is told.
const reportEvery = 4096

// errEnough ends the reading when enough was found.
var errEnough = errors.New("enough was found")

// scan is one call of Scan.
type scan struct {
	Query
	report Report
	parts  []*part
	ctx    context.Context
	stop   context.CancelCauseFunc
	ended  atomic.Bool

	mu    sync.Mutex // of Match, Progress and the sums
	done  int64
	total int64
}

// part is a partition that is read, by one goroutine at a time.
type part struct {
	Part
	*scan
	tell     func(*kgo.Record)
	pos      int64 // after the last record that was visited
	reported int64
	untold   *int64 // a match that came when the scan had ended already
	unknown  [answers]int64
	first    [answers]Place
}

// Scan reads the spans side by side and asks every record. A partition that cannot be read to its end has its error in the
// report; ctx that ends is one of those.
func Scan(ctx context.Context, q Query) *Report {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &scan{Query: q, ctx: ctx, stop: stop}
	if s.Progress == nil {
		s.Progress = func(int64, int64) {}
	}
	if s.Memory == 0 {
		s.Memory = defaultMemory
	}
	for _, span := range q.Spans {
		p := &part{Part: Part{Span: span, Read: span.From}, scan: s, pos: span.From, reported: span.From}
		if q.Tell != nil {
			p.tell = q.Tell(span.Partition)
		}
		s.parts = append(s.parts, p)
		s.total += span.Until - span.From
	}
	s.read(ctx)
	s.checkTopics(ctx)
	return s.sum()
}

// read walks all parts, and those again whose log start moved past them.
func (s *scan) read(ctx context.Context) {
	reader := records.Reader{Client: s.Client, Isolation: s.Isolation, Memory: s.Memory,
		Leader: func(p offset.Partition) (int32, bool) { return inspect.LeaderOf(s.Topics, p) }}
	for todo := s.parts; len(todo) > 0; {
		walks := make([]records.Walk, len(todo))
		for i, p := range todo {
			walks[i] = records.Walk{Span: records.Span{Partition: p.Partition, From: p.Read, Until: p.Until}, Visit: p.visit, Enough: p.answered}
		}
		var again []*part
		for i, end := range reader.Walk(ctx, walks) {
			if todo[i].walked(end) {
				again = append(again, todo[i])
			}
		}
		todo = again
	}
}

// visit asks one record.
func (p *part) visit(rec records.Record) (more bool) {
	p.Records++
	p.pos = rec.Offset + 1
	if p.pos >= p.Until || p.Records%reportEvery == 0 { // a walk that ends with its first answer is asked nothing
		p.answered()
	}
	answer, err := p.Where.ask(p.ctx, rec.Record)
	switch answer {
	case No:
		return true
	case Yes:
		return p.match(rec)
	}
	if err != nil && p.ctx.Err() != nil { // it is the end that kept it from an answer
		p.Records--
		p.untold = &rec.Offset
		return false
	}
	if p.unknown[answer]++; p.unknown[answer] == 1 {
		p.first[answer] = Place{p.Partition, rec.Offset, err}
	}
	return true
}

// match takes a record that matches; what comes after the scan was ended is not counted.
func (p *part) match(rec records.Record) (more bool) {
	if p.Match == nil && p.Max == 0 {
		p.note(rec)
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended.Load() {
		p.Records--
		p.untold = &rec.Offset
		return false
	}
	p.note(rec)
	p.report.Matches++
	more = p.Match == nil || p.Match(rec.Record, p.Where.how(p.ctx, rec.Record))
	if more && (p.Max == 0 || p.report.Matches < p.Max) {
		return true
	}
	p.ended.Store(true)
	p.stop(errEnough)
	return false
}

func (p *part) note(rec records.Record) {
	if p.Matches++; p.tell != nil {
		p.tell(rec.Record)
	}
	if place := rec.Place(); p.Hit == nil {
		p.Hit, p.Last = &place, &place
	} else {
		last := place
		p.Last = &last
	}
}

// answered is asked after each answer of a broker.
func (p *part) answered() (enough bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += p.pos - p.reported
	p.reported = p.pos
	p.Progress(p.done, p.total)
	return p.ended.Load()
}

// walked takes how a walk ended. again says that the log start moved, and that the rest is to be read from there.
func (p *part) walked(end records.End) (again bool) {
	if p.Read = end.Until(); p.untold != nil {
		p.Read = *p.untold
	}
	var outside *records.OutOfRange
	switch {
	case p.ended.Load() && (end.Stopped || errors.Is(end.Err, errEnough)):
		p.Whole = p.Read >= p.Until
	case errors.As(end.Err, &outside) && outside.Removed() && p.Read < p.Until:
		to := min(outside.Start, p.Until)
		p.Removed += to - p.Read
		p.Read, p.pos = to, max(p.pos, to)
		if again = to < p.Until; !again {
			p.Whole = true
		}
	case end.Err != nil:
		p.Err = end.Err
	case p.Read < p.Until:
		p.Err = fmt.Errorf("%s: the log ends at %d now, and ended at or after %d when the scan began", p.Partition, p.Read, p.Until)
	default:
		p.Whole = true
	}
	return again
}

// checkTopics looks whether the topics are still those that were to be read: one that is made anew under the same name answers
// with its own records.
func (s *scan) checkTopics(ctx context.Context) {
	if ctx.Err() != nil && !s.ended.Load() {
		return // interrupted: every part that was not read has an error
	}
	names := map[string]bool{}
	for _, p := range s.parts {
		names[p.Topic] = true
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), records.DefaultBrokerTimeout)
	defer cancel()
	now, err := inspect.ReadTopics(ctx, s.Client, list)
	for _, p := range s.parts {
		was, is := s.Topics[p.Topic], now[p.Topic]
		switch {
		case p.Err != nil:
		case err != nil:
			p.Err = fmt.Errorf("whether topic %s is still the same is not known: %w", p.Topic, err)
		case is.Err != nil:
			p.Err = fmt.Errorf("topic %s, after it was read: %w", p.Topic, is.Err)
		case was.TopicID() != "" && is.TopicID() != "" && was.TopicID() != is.TopicID():
			p.Err = fmt.Errorf("topic %s was deleted and made again while it was read", p.Topic)
		}
		if p.Err != nil {
			p.Whole = false
		}
	}
}

func (s *scan) sum() *Report {
	r := &s.report
	r.Stopped, r.Matches = s.ended.Load(), 0
	for _, p := range s.parts {
		r.Parts = append(r.Parts, p.Part)
		r.Records += p.Records
		r.Matches += p.Matches
		for a, n := range p.unknown {
			if r.NotKnown[a] == 0 && n > 0 {
				r.First[a] = p.first[a]
			}
			r.NotKnown[a] += n
		}
	}
	return r
}

// Unread are the partitions that could not be read whole though the scan was not ended.
func (r *Report) Unread() []Part {
	var out []Part
	for _, p := range r.Parts {
		if p.Err != nil {
			out = append(out, p)
		}
	}
	return out
}
