package inspect

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/internal/records"
)

// Assessment judges the rows of a single snapshot, by the same rules as a History judges many: what needs time to be seen, a
// commit that stands still or a lag that grows, is not among its verdicts.
type Assessment struct {
	Snapshot *Snapshot
	At       time.Time
	Rules    Rules
	// ages are the next records; a row that waits and is not here has an unknown age.
	ages map[GroupPartition]TimedLag
	aged map[string]bool // the groups of ages: a look-up a row, in vain for most groups, took a twentieth of inspect's time
	// LeftOut is of how many groups no age was read, since they have too many rows that wait.
	LeftOut   int
	retention map[string]Retention
}

// Assess reads what the verdicts on a snapshot rest on beside offsets: the next records of at most most rows that wait, and
// the retention of their topics. Groups are read whole, those with the fewest such rows first, so that what is told of a group
// is not a sample. A right that is missing makes ages unknown, not the call fail.
func Assess(ctx context.Context, cl *kgo.Client, s *Snapshot, rules Rules, at time.Time, most int) *Assessment {
	a := &Assessment{Snapshot: s, At: at, Rules: rules}
	asks, topics := a.choose(most)
	var eg errgroup.Group
	eg.Go(func() error { a.retention, _ = ReadRetention(ctx, cl, topics); return nil })
	spans := make([]records.Span, 0, len(asks))
	for _, x := range asks {
		spans = append(spans, probeSpan(x))
	}
	if len(spans) > 0 {
		found := records.Reader{Client: cl, Isolation: s.Query.Isolation, Leader: s.leader}.First(ctx, spans)
		ages := make(map[GroupPartition]TimedLag, len(asks))
		for _, x := range asks {
			got := found[probeSpan(x)]
			ages[x.GroupPartition] = TimedLag{Next: got.Record, Err: got.Err}
		}
		a.KnowAges(ages)
	}
	_ = eg.Wait() // what could not be read is not in the map
	return a
}

// KnowAges tells the next records of rows, in place of those that were told before.
func (a *Assessment) KnowAges(ages map[GroupPartition]TimedLag) {
	a.ages, a.aged = ages, map[string]bool{}
	for p := range ages {
		a.aged[p.Group] = true
	}
}

// choose counts first and makes the list of the chosen groups after it: a list of all was most of what the pass cost.
func (a *Assessment) choose(most int) (asks []Suspect, topics []string) {
	type group struct {
		index, waiting int
	}
	var groups []group
	named := map[string]bool{}
	for i := range a.Snapshot.Groups {
		n, topic := 0, ""
		for x := range a.Snapshot.waiting(a.Snapshot.Groups[i]) {
			if x.Topic != topic {
				topic = x.Topic
				named[topic] = true
			}
			n++
		}
		groups = append(groups, group{i, n})
	}
	slices.SortStableFunc(groups, func(x, y group) int { return cmp.Compare(x.waiting, y.waiting) })
	for _, g := range groups {
		if len(asks)+g.waiting > most {
			a.LeftOut++
			continue
		}
		asks = slices.AppendSeq(asks, a.Snapshot.waiting(a.Snapshot.Groups[g.index]))
	}
	for t := range named {
		topics = append(topics, t)
	}
	return asks, topics
}

// waiting are a group's rows with offsets to read, each with where its reader goes on: the commit, or the log start where a
// commit should be and is not.
func (s *Snapshot) waiting(d Description) iter.Seq[Suspect] {
	return func(yield func(Suspect) bool) {
		readers := groupReadersOf(d)
		for r := range s.Rows(d) {
			if r.Bounds == nil || r.Status == StatusError {
				continue
			}
			from, ok := r.next()
			if !ok && r.Committed == nil && (readers.of(r.Member) == ReadersSome || s.commitsTo(d.Name, r.Topic)) {
				from, ok = r.Bounds.Start, true
			}
			if end := r.Bounds.EndFor(s.Query.Isolation); ok && from < end && !yield(Suspect{GroupPartition{r.Group, r.Partition}, from, end, r.TopicID}) {
				return
			}
		}
	}
}

// Rows are a group's rows with their verdicts. The pointers are valid until the next row.
func (a *Assessment) Rows(d Description) iter.Seq2[*Row, *Diagnosis] {
	return func(yield func(*Row, *Diagnosis) bool) {
		readers := groupReadersOf(d)
		topic, expected := "", false
		iso := a.Snapshot.Query.Isolation
		var r Row // one for all rows, as the verdict is: what is yielded by pointer would be new memory for each
		var dg Diagnosis
		now, aged := make([]Sample, 1), a.aged[d.Name]
		for row := range a.Snapshot.Rows(d) {
			r = row
			if r.Topic != topic {
				topic, expected = r.Topic, a.Snapshot.commitsTo(d.Name, r.Topic)
			}
			_, now[0] = r.sample(iso, a.At)
			w := WindowOf(now...)
			w.Status, w.Bounds, w.Isolation, w.Readers, w.Expected, w.Unstable, w.Retention = r.Status, r.Bounds, iso, readers.of(r.Member), expected, r.Unstable, a.retention[r.Topic]
			w.Share, w.Age = d.Type == TypeShare, UnknownAge(AgeNotRead)
			if aged {
				if t, ok := a.ages[GroupPartition{r.Group, r.Partition}]; ok {
					w.Age = t.BehindNow(a.At)
					w.Drained = t.Err == nil && t.Next == nil
				}
			}
			dg = Diagnose(w, a.Rules)
			if !yield(&r, &dg) {
				return
			}
		}
	}
}
