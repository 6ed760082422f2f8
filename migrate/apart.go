package migrate

// How far two offsets of the target are apart, in records: markers and what compaction removed are no distance.

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Between is what lies between two offsets of the target.
type Between struct {
	// Records are given to every reader. Uncommitted ones are of transactions that were aborted, or are open: a reader of
	// committed records is given none of the former.
	Records, Uncommitted int64
	// Whole says that all was counted; there may be more otherwise. Err is why, where it could not be read.
	Whole bool
	Err   error
}

// empty says that nothing lies between, so that both offsets are one place.
func (b Between) empty() bool { return b.Whole && b.Records+b.Uncommitted == 0 }

// removed is what was counted from the log start on, where the stretch begins before it: what lay there is gone, and only that something
// is left is known.
func (b Between) removed(start int64) Between {
	if b.Records > 0 || b.Err != nil {
		return b
	}
	return Between{Err: fmt.Errorf("the log start is %d by now", start)}
}

// unclear says that it is not known whether the two are one place, and why.
func (b Between) unclear() (why string, yes bool) {
	switch {
	case b.Records > 0 || b.empty():
		return "", false
	case b.Uncommitted > 0:
		return fmt.Sprintf("between them lie %s of transactions that were aborted or are open, and no others: whether the group was given them depends on its isolation level",
			text.Plural(b.Uncommitted, "record")), true
	case b.Err != nil:
		return fmt.Sprintf("what lies between them could not be read: %v", b.Err), true
	}
	return "what lies between them could not be read", true
}

// gap is a stretch of the target to be counted.
type gap struct {
	part        offset.Partition
	from, until int64
	stable      int64 // the last stable offset
	most        int64 // how many records are counted before it is enough
	set         func(Between)
}

// countGaps counts what lies in stretches of logs, side by side. Up to the last stable offset the broker tells which transactions
// were aborted; behind it nobody knows yet.
func countGaps(ctx context.Context, cl *kgo.Client, gaps []gap) {
	got := make([]Between, len(gaps))
	next := make([]int64, len(gaps))
	for n, g := range gaps {
		next[n] = g.from
	}
	for _, iso := range []offset.Isolation{offset.ReadCommitted, offset.ReadUncommitted} {
		var walks []records.Walk
		var of []int
		for n, g := range gaps {
			until := g.until
			if iso == offset.ReadCommitted {
				until = min(until, g.stable)
			}
			b := &got[n]
			if b.Err != nil || b.Records >= g.most || next[n] >= until {
				continue
			}
			walks = append(walks, records.Walk{Span: records.Span{Partition: g.part, From: next[n], Until: until}, Bytes: searchBytes, Visit: func(r records.Record) bool {
				if r.Aborted || iso == offset.ReadUncommitted && r.Attrs.IsTransactional() {
					b.Uncommitted++
				} else {
					b.Records++
				}
				return b.Records < g.most
			}})
			of = append(of, n)
		}
		for i, end := range (records.Reader{Client: cl, Isolation: iso, KeepAborted: iso == offset.ReadCommitted}).Walk(ctx, walks) {
			got[of[i]].Err, next[of[i]] = end.Err, end.Until()
		}
	}
	for n, g := range gaps {
		got[n].Whole = got[n].Err == nil && next[n] >= g.until
		g.set(got[n])
	}
}

// apart is where the target group's commit is outside of the stretch in which the position lies: the offsets between the two.
func (i *Item) apart() (from, until int64) {
	low, high, at := i.Offset, max(i.Offset, i.Latest), i.Current.Offset
	switch {
	case at < low:
		return at, low
	case at > high:
		return high, at
	}
	return at, at
}

// countApart counts what lies between positions and the target groups' commits, up to so many records, or as many as the
// search has seen there.
func countApart(ctx context.Context, cl *kgo.Client, items []*Item, most int64) {
	var gaps []gap
	for _, i := range items {
		if i.Current == nil || !i.Resolved() || i.Evidence.Bounds == nil {
			continue
		}
		b := i.Evidence.Bounds
		from, until := i.apart()
		seen, counted := i.Evidence.Stretch.between(from, until)
		if from == until || counted && seen == 0 || from < b.Start || until > b.End {
			continue
		}
		most := most
		if counted && most > 1 {
			most = max(most, seen+1)
		}
		gaps = append(gaps, gap{part: i.Target, from: from, until: until, stable: b.LastStable, most: most, set: func(b Between) { i.Evidence.Apart = &b }})
	}
	countGaps(ctx, cl, gaps)
}

// between is what is known to lie between the position and the target group's commit; nil where nobody has counted, and the numbers
// are all there is.
func (i *Item) between() *Between {
	from, until := i.apart()
	if from == until {
		return &Between{Whole: true}
	}
	if a := i.Evidence.Apart; a != nil {
		return a
	}
	if n, counted := i.Evidence.Stretch.between(from, until); counted {
		return &Between{Records: n, Whole: true}
	}
	return nil
}

// standing is where a target group's commit is from a position.
type standing struct {
	verdict Verdict // same, behind, ahead, or not known
	// by is how many records that is; most says that it may be fewer.
	by   int64
	most bool
	why  string // it is not known
}

// standing holds the target's commit against the position: the position itself, or a stretch in which it lies.
func (i *Item) standing() standing {
	low, high, at := i.Offset, max(i.Offset, i.Latest), i.Current.Offset
	again := i.Translation.Again > 0
	s := standing{verdict: VerdictAhead, by: at - low, most: true}
	switch {
	case at < low && again:
		s.verdict, s.by = VerdictBehind, high-at
	case at < low:
		s.verdict, s.by = VerdictBehind, low-at
	}
	b := i.between()
	if b == nil {
		return s
	}
	if b.empty() && again {
		return standing{verdict: VerdictUnknown, why: fmt.Sprintf("the position is between %d and %d", low, high)}
	}
	if b.empty() {
		return standing{verdict: VerdictSame}
	}
	if why, yes := b.unclear(); yes {
		return standing{verdict: VerdictUnknown, why: fmt.Sprintf("the position is %d, and the target's commit %d: %s", low, at, why)}
	}
	if b.Whole && !again {
		s.by, s.most = b.Records+b.Uncommitted, b.Uncommitted > 0
	}
	return s
}

// between counts the data records of the target between two offsets. counted is false where the stretch does not hold all of
// them, and the count is of offsets then.
func (s *Stretch) between(from, until int64) (n int64, counted bool) {
	if s == nil || s.Err != nil || s.Stamped || len(s.Seen) == 0 || s.Seen[0].Offset > from || s.Until < until {
		return until - from, false
	}
	for k, run := range s.Seen {
		if run.N == 1 {
			if run.Offset >= from && run.Offset < until {
				n++
			}
			continue
		}
		end := s.Until
		if k+1 < len(s.Seen) {
			end = s.Seen[k+1].Offset
		}
		if run.Offset >= until || end <= from {
			continue
		}
		if run.Offset < from || end > until { // where its records lie exactly is not kept
			return until - from, false
		}
		n += int64(run.N)
	}
	return n, true
}
