package migrate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

var t0 = time.UnixMilli(1_710_072_000_000).UTC()

func fp(off int64, value byte) migrate.Fingerprint {
	return migrate.Fingerprint{Offset: off, Time: t0.Add(time.Duration(off) * time.Second), Value: migrate.Hash{value}}
}

func row(at int64, end int64) migrate.Row {
	return migrate.Row{Group: "g", Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: at, LeaderEpoch: offset.EpochOf(7), Metadata: "m"},
		Bounds: &offset.Bounds{End: end, LastStable: end}}
}

// at is a run of the target that looks like the n-th record sought.
func at(off int64, look int) migrate.Run { return migrate.Run{Offset: off, N: 1, Look: look} }

// others are n records of the target that look like none of those sought.
func others(off int64, n int) migrate.Run { return migrate.Run{Offset: off, N: n, Look: -1} }

// read is a stretch of the target from its first run on, to its end.
func read(runs ...migrate.Run) *migrate.Stretch {
	s := &migrate.Stretch{Since: t0.Add(-time.Hour), AtEnd: true, Seen: runs}
	for _, r := range runs {
		s.Scanned += r.N
	}
	if len(runs) > 0 {
		s.From = &offset.Record{Offset: runs[0].Offset, Time: t0}
	}
	return s
}

func TestTranslate(t *testing.T) {
	around := func(at, before []migrate.Fingerprint) *migrate.Surroundings {
		return &migrate.Surroundings{At: at, Before: before, AtEnd: len(at) == 0, SearchedTo: 100, SearchedAll: true, SearchedBack: true, Whole: true}
	}
	timed := func(a *migrate.Surroundings) *migrate.Surroundings {
		a.UnreadTimes, a.EarliestUnread = true, t0
		return a
	}
	lossy := func(a *migrate.Surroundings) *migrate.Surroundings { a.Whole = false; return a }
	gapless := func(a *migrate.Surroundings) *migrate.Surroundings { a.Gapless = true; return a }
	part := func(s *migrate.Stretch) *migrate.Stretch { s.AtEnd = false; return s }
	twin := func(f migrate.Fingerprint, t migrate.Twins) migrate.Fingerprint { f.Twins = t; return f }
	unsearched := func(a *migrate.Surroundings) *migrate.Surroundings { a.SearchedAll = false; return a }
	log := func(start, end int64) *offset.Bounds { return &offset.Bounds{Start: start, End: end, LastStable: end} }
	five := int64(5)
	for name, c := range map[string]struct {
		r       migrate.Row
		around  *migrate.Surroundings
		e       migrate.Evidence
		by      []migrate.Strategy
		allow   bool
		max     *int64
		label   string
		offset  int64
		mention string
	}{
		"same cluster": {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 20), SameCluster: true, SameTopic: true}, label: "exact", offset: 9, mention: "same topic of the same cluster"},
		"same cluster, no topic ids": {r: migrate.Row{Group: "g", Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: 9}}, by: []migrate.Strategy{migrate.Same},
			e: migrate.Evidence{Bounds: log(0, 20), SameCluster: true}, label: "unresolved", mention: "no topic id tells"},
		"recreated topic": {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 20), SameCluster: true, Recreated: true}, label: "unresolved", mention: "created again"},
		"outside the target": {r: row(100, 100), e: migrate.Evidence{Bounds: log(0, 0), SameCluster: true, SameTopic: true}, label: "unresolved",
			mention: "offset 100 is outside the target's log [0, 0]"},
		"drained": {r: row(100, 100), around: &migrate.Surroundings{AtEnd: true, AtStart: true}, e: migrate.Evidence{Bounds: log(0, 0)}, label: "exact", offset: 0, mention: "nothing to carry: neither log"},
		"drained, target is not": {r: row(100, 100), around: &migrate.Surroundings{AtEnd: true, AtStart: true}, e: migrate.Evidence{Bounds: log(0, 5)},
			label: "unresolved", mention: "the source has no record to search for"},
		"next record": {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read(others(0, 2), at(2, 0))},
			label: "exact", offset: 2, mention: "is at 2; no look-alike (searched to 100)"},
		"last record": {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1)}), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read(at(8, 0))},
			label: "exact", offset: 9, mention: "last record read"},
		"last record, copied twice": {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1)}), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read(at(4, 0), others(5, 2), at(8, 0))},
			label: "exact", offset: 9, mention: "is at 8"},
		"between both": {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, []migrate.Fingerprint{fp(8, 2)}), e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(3, 1), at(5, 0))},
			label: "exact", offset: 5, mention: "the next record"},
		"between both, with others, nothing lost": {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, []migrate.Fingerprint{fp(8, 2)}),
			e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(3, 1), others(4, 2), at(6, 0))}, label: "exact", offset: 4, mention: "the last record read"},
		"between both, with what the source lost": {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, []migrate.Fingerprint{fp(4, 2)}),
			e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(3, 1), others(4, 2), at(6, 0))}, label: "at-most-2-again", offset: 4, mention: "may have been read too"},
		"an unread look-alike, no neighbour": {r: row(9, 20), around: around([]migrate.Fingerprint{twin(fp(9, 1), migrate.TwinsAfter)}, nil),
			e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(others(0, 7), at(7, 0))}, label: "unresolved", mention: "it cannot be told which of them is on the target"},
		"an unread look-alike, by the neighbour": {r: row(9, 20), around: around([]migrate.Fingerprint{twin(fp(9, 1), migrate.TwinsAfter)}, []migrate.Fingerprint{fp(8, 2)}),
			e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(6, 1), at(7, 0))}, label: "exact", offset: 7, mention: "is at 7, behind the last one read; no look-alike of that"},
		"an unread look-alike, by time": {r: row(9, 20), around: timed(around([]migrate.Fingerprint{twin(fp(9, 1), migrate.TwinsAfter)}, nil)),
			e: migrate.Evidence{Bounds: log(0, 30), Unread: &offset.Record{Offset: 5}, Stretch: read(others(0, 7), at(7, 0))}, label: "at-most-2-again", offset: 5, mention: "as late as any unread one"},
		"the last one read has an unread look-alike": {r: row(9, 20), around: around(nil, []migrate.Fingerprint{twin(fp(8, 2), migrate.TwinsAfter)}),
			e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(7, 0))}, label: "unresolved", mention: "has look-alikes"},
		"look-alikes on both sides, record by record": {r: row(9, 20), around: around([]migrate.Fingerprint{twin(fp(8, 2), migrate.TwinsBoth), fp(10, 3)}, []migrate.Fingerprint{twin(fp(8, 2), migrate.TwinsBoth), fp(7, 4)}),
			e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(3, 3), at(4, 0), at(5, 0), at(6, 1))}, label: "exact", offset: 5, mention: "record by record"},
		"look-alikes on both sides, one lost": {r: row(9, 20), around: around([]migrate.Fingerprint{twin(fp(8, 2), migrate.TwinsBoth), fp(10, 3)}, []migrate.Fingerprint{twin(fp(8, 2), migrate.TwinsBoth), fp(7, 4)}),
			e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(3, 3), at(4, 0), at(5, 1))}, label: "at-most-1-again", offset: 4, mention: "may have been read too"},
		"the source has lost records, the target searched to its end": {r: row(9, 20), around: lossy(around([]migrate.Fingerprint{fp(9, 1)}, []migrate.Fingerprint{fp(8, 2)})), e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(3, 1), at(4, 0), others(5, 25))},
			label: "exact", offset: 4, mention: "the next record"},
		"the source has lost records, and the target has the record twice": {r: row(9, 20), around: lossy(around([]migrate.Fingerprint{fp(9, 1)}, nil)), e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(4, 0), others(5, 15), at(20, 0), others(21, 9))},
			label: "at-most-17-again", offset: 4, mention: "ones that look alike are there up to 20"},
		"the source has lost records, and the target was not searched to its end": {r: row(9, 20), around: lossy(around([]migrate.Fingerprint{fp(9, 1)}, nil)), e: migrate.Evidence{Bounds: log(0, 30), Stretch: part(read(at(4, 0), others(5, 15)))},
			label: "at-most-26-again", offset: 4, mention: "(log end 30)"},
		"not searched to the end": {r: row(9, 20), around: unsearched(around([]migrate.Fingerprint{fp(9, 1)}, nil)), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read(at(2, 0))},
			label: "unresolved", mention: "is known up to source offset 100 only (log end 20)"},
		"not searched to the end, allowed": {r: row(9, 20), around: unsearched(around([]migrate.Fingerprint{fp(9, 1)}, nil)), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read(at(2, 0))},
			allow: true, label: "unproven", offset: 2, mention: "is known up to source offset 100 only"},
		"dealt anew": {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(0, 9), Elsewhere: "a record of t:0 is on its partition 3", Stretch: read(at(2, 0))},
			label: "unresolved", mention: "records are on other partitions on the target: a record of t:0 is on its partition 3"},
		"not there yet":      {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1)}), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read()}, label: "unresolved", mention: "not on the target yet (log end 9)"},
		"stamped on arrival": {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(0, 9), Stretch: &migrate.Stretch{Stamped: true}}, label: "unresolved", mention: "LogAppendTime"},
		"window too small":   {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(0, 9), Window: 10, Stretch: part(read(others(0, 10)))}, label: "unresolved", mention: "raise {{window}}"},
		"the copy ends before": {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1), fp(18, 2), fp(17, 3)}), e: migrate.Evidence{Bounds: log(0, 5), Stretch: read(at(4, 2))},
			label: "unresolved", mention: "it ends with a copy of source offset 17"},
		"copied twice behind the last one that is known": {r: row(20, 20), around: lossy(around(nil, []migrate.Fingerprint{fp(17, 1)})), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read(at(4, 0), others(5, 4))},
			label: "at-most-4-again", offset: 5, mention: "may have been read too"},
		"behind the last record and a marker": {r: row(20, 20), around: gapless(around(nil, []migrate.Fingerprint{fp(18, 1)})), e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(4, 0), others(5, 25))},
			label: "exact", offset: 5, mention: "the last record read"},
		"behind the last record and what may be lost": {r: row(20, 20), around: lossy(around(nil, []migrate.Fingerprint{fp(18, 1)})), e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(4, 0), others(5, 25))},
			label: "at-most-25-again", offset: 5, mention: "may have been read too"},
		"one of two look-alikes copied twice": {r: row(20, 20), around: gapless(around(nil, []migrate.Fingerprint{fp(19, 1), twin(fp(18, 2), migrate.TwinsBefore), fp(17, 3)})), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read(at(3, 2), at(4, 1), at(5, 1))},
			label: "unresolved", mention: "is not on the target yet"},
		"the same offset, and another record where the source has none": {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(18, 1)}), e: migrate.Evidence{Bounds: log(0, 30), AtSame: map[int64]migrate.Fingerprint{18: fp(18, 1), 19: fp(20, 7)}},
			label: "unresolved", mention: "a record is at 19 on the target, and none at the source"},
		"the same offset, and nothing else": {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(18, 1)}), e: migrate.Evidence{Bounds: log(0, 30), AtSame: map[int64]migrate.Fingerprint{18: fp(18, 1)}},
			label: "exact", offset: 20, mention: "the same offset on both"},
		"fewer copied before": {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1), fp(18, 2), fp(17, 3)}), e: migrate.Evidence{Bounds: log(0, 9), Stretch: read(at(4, 2), others(5, 4))},
			label: "at-most-4-again", offset: 5, mention: "is at 4"},
		"expired": {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: 3}, Bounds: log(10, 20)}, around: around([]migrate.Fingerprint{fp(10, 1)}, nil),
			e: migrate.Evidence{Bounds: log(2, 30), Stretch: read(at(9, 0))}, label: "at-most-7-again", offset: 2, mention: "the commit 3 expired at the source (log start 10)"},
		"expired, drained, empty target": {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: 3}, Bounds: log(10, 10)}, around: &migrate.Surroundings{AtEnd: true, AtStart: true},
			e: migrate.Evidence{Bounds: log(4, 4)}, label: "exact", offset: 4, mention: "nothing to carry: the commit 3 expired"},
		"expired, drained": {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: 3}, Bounds: log(10, 10)}, around: &migrate.Surroundings{AtEnd: true, AtStart: true},
			e: migrate.Evidence{Bounds: log(4, 9)}, label: "at-most-5-again", offset: 4, mention: "the target's log start is taken"},
		"past the end": {r: row(25, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1)}), e: migrate.Evidence{Bounds: log(0, 30), Stretch: read(at(8, 0))}, label: "unresolved", mention: "the commit 25 is past the source's log end 20"},
		"older than the target": {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(40, 50),
			Stretch: &migrate.Stretch{Since: t0, AtEnd: true, From: &offset.Record{Offset: 40, Time: t0.Add(time.Hour)}, Seen: []migrate.Run{others(40, 10)}}}, label: "at-most-10-again", offset: 40, mention: "log start taken"},
		"mm2, the record itself":              {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 30), Syncs: []migrate.Sync{{Source: 0, Target: 1}, {Source: 9, Target: 12}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "exact", offset: 12, mention: "9 is 12"},
		"mm2, after a sync":                   {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Syncs: []migrate.Sync{{Source: 0, Target: 0}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-29-again", offset: 1, mention: "0 is 0, and 15 is after it; no later one: the bound is the log end 30"},
		"mm2, after a sync, not copied yet":   {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 10), Syncs: []migrate.Sync{{Source: 0, Target: 0}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-14-again", offset: 1, mention: "and what is not copied yet"},
		"mm2, copied twice between two syncs": {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 60), Syncs: []migrate.Sync{{Source: 0, Target: 0}, {Source: 18, Target: 40}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-39-again", offset: 1, mention: "15 is after it, before 18, which is 40"},
		"mm2, right after a sync":             {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 60), Syncs: []migrate.Sync{{Source: 14, Target: 5}, {Source: 18, Target: 40}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "exact", offset: 6, mention: "14 is 5"},
		"mm2, between two syncs":              {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Syncs: []migrate.Sync{{Source: 0, Target: 0}, {Source: 18, Target: 6}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-5-again", offset: 1, mention: "0 is 0, and 15 is after it"},
		"mm2, two syncs at one offset":        {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Syncs: []migrate.Sync{{Source: 0, Target: 0}, {Source: 18, Target: 0}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "exact", offset: 0, mention: "0 is 0"},
		"mm2, before all syncs":               {r: row(5, 20), e: migrate.Evidence{Bounds: log(0, 30), Syncs: []migrate.Sync{{Source: 9, Target: 9}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "unresolved", mention: "begin at 9, after the position 5"},
		"mm2, checkpoint":                     {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Checkpoint: &migrate.Sync{Source: 12, Target: 10}}, by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-20-again", offset: 10, mention: "checkpoint translates 12 to 10"},
		"mm2, moved back since":               {r: row(5, 20), e: migrate.Evidence{Bounds: log(0, 30), Checkpoint: &migrate.Sync{Source: 12, Target: 10}}, by: []migrate.Strategy{migrate.ByMM2}, label: "unresolved", mention: "moved back since"},
		"mm2, checkpoint beyond the syncs": {r: row(95, 200), e: migrate.Evidence{Bounds: log(0, 200), Syncs: []migrate.Sync{{Source: 80, Target: 80}}, Checkpoint: &migrate.Sync{Source: 95, Target: 91}},
			by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-119-again", offset: 81, mention: "80 is 80, and 95 is after it"},
		"mm2, checkpoint before the syncs": {r: row(95, 200), e: migrate.Evidence{Bounds: log(0, 200), Syncs: []migrate.Sync{{Source: 100, Target: 90}}, Checkpoint: &migrate.Sync{Source: 90, Target: 80}},
			by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-120-again", offset: 80, mention: "checkpoint translates 90 to 80"},
		"mm2, checkpoint that the syncs contradict": {r: row(95, 200), e: migrate.Evidence{Bounds: log(0, 200), Syncs: []migrate.Sync{{Source: 100, Target: 70}}, Checkpoint: &migrate.Sync{Source: 90, Target: 80}},
			by: []migrate.Strategy{migrate.ByMM2}, label: "unresolved", mention: "they contradict it"},
		"table":                        {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Table: []migrate.Sync{{Source: 14, Target: 3}}}, by: []migrate.Strategy{migrate.ByTable}, label: "exact", offset: 4, mention: "the table: 14 is 3"},
		"too many again":               {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Table: []migrate.Sync{{Source: 0, Target: 3}}}, by: []migrate.Strategy{migrate.ByTable}, max: &five, label: "unresolved", mention: "would read up to 26 records again, 5 are allowed"},
		"time is not proven":           {r: row(9, 20), around: &migrate.Surroundings{At: []migrate.Fingerprint{fp(9, 1)}, EarliestUnread: t0}, e: migrate.Evidence{Bounds: log(0, 30), NextTime: &offset.Record{Offset: 4}}, by: []migrate.Strategy{migrate.ByTimestamp}, label: "unresolved", mention: "{{allow-unproven}}"},
		"time, allowed":                {r: row(9, 20), around: &migrate.Surroundings{At: []migrate.Fingerprint{fp(9, 1)}, EarliestUnread: t0}, e: migrate.Evidence{Bounds: log(0, 30), NextTime: &offset.Record{Offset: 4}}, by: []migrate.Strategy{migrate.ByTimestamp}, allow: true, label: "unproven", offset: 4, mention: "2024-03-10T12:00:00Z"},
		"time at the end":              {r: row(20, 20), around: around(nil, nil), e: migrate.Evidence{Bounds: log(0, 30)}, by: []migrate.Strategy{migrate.ByTimestamp}, allow: true, label: "unproven", offset: 30, mention: "had read everything"},
		"distance":                     {r: row(15, 20), e: migrate.Evidence{Bounds: log(2, 30)}, by: []migrate.Strategy{migrate.ByDistance}, allow: true, label: "unproven", offset: 25, mention: "5 before the end"},
		"distance, clamped":            {r: row(0, 90), e: migrate.Evidence{Bounds: log(2, 30)}, by: []migrate.Strategy{migrate.ByDistance}, allow: true, label: "unproven", offset: 2, mention: "90 before the end"},
		"a number alone":               {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 30)}, label: "unresolved", mention: "not proven"},
		"order of preference":          {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 30), Table: []migrate.Sync{{Source: 9, Target: 1}}}, by: []migrate.Strategy{migrate.ByMM2, migrate.ByTable, migrate.ByDistance}, allow: true, label: "exact", offset: 1, mention: "the table"},
		"unreadable target":            {r: row(9, 20), e: migrate.Evidence{Err: errors.New("no leader")}, label: "unresolved", mention: "the target cannot be read: no leader"},
		"another number of partitions": {r: row(9, 20), e: migrate.Evidence{Err: &migrate.PartitionsError{Topic: "t", TargetTopic: "t", Source: 3, Target: 1}}, label: "unresolved", mention: " topic t has 3 partitions at the source and 1 on the target"},
		"no commit":                    {r: migrate.Row{Partition: offset.Partition{Topic: "t"}}, e: migrate.Evidence{Bounds: log(0, 3)}, label: "no-commit"},
		"not started":                  {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Marker: offset.MarkerLatest}, e: migrate.Evidence{Bounds: log(0, 3)}, label: "unresolved", mention: `says "latest"`},
		"unreadable source":            {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Error: "denied"}, e: migrate.Evidence{Bounds: log(0, 3)}, label: "unresolved", mention: "denied"},
	} {
		if c.around != nil {
			c.r.Around = c.around
		}
		if c.by == nil {
			c.by = migrate.DefaultStrategies()
		}
		got := migrate.Translate(c.r, c.e, migrate.Rules{Strategies: c.by, AllowUnproven: c.allow, MaxAgain: c.max})
		said := got.Proof + " " + strings.Join(got.Reasons, "; ") + " " + got.Hint
		if got.Label() != c.label || got.Resolved() && got.Offset != c.offset || !strings.Contains(said, c.mention) {
			t.Errorf("%s: %s %d %q, want %s %d with %q", name, got.Label(), got.Offset, said, c.label, c.offset, c.mention)
		}
	}
}

func TestParseStrategies(t *testing.T) {
	got, err := migrate.ParseStrategies("strategy", []string{"record", " mm2", "record"})
	if err != nil || len(got) != 2 || got[1] != migrate.ByMM2 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := migrate.ParseStrategies("strategy", []string{"guess"}); err == nil || !strings.Contains(err.Error(), "guess") {
		t.Errorf("an unknown one gives %v", err)
	}
}

func TestRenames(t *testing.T) {
	r, err := migrate.ParseRenames("--map", []string{"a=b", `/dc1\.(.+)/=dr.$1`, "/(?P<x>.)y/=${x}z", "dc1.special=kept"})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"a": "b", "dc1.orders": "dr.orders", "dc1.special": "kept", "xdc1.a": "xdc1.a", "qy": "qz", "aa": "aa"} {
		if got, _ := r.Apply(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
	for _, bad := range []string{"a", "=b", "a=", "/a=b", "/(/=b", "/a/="} {
		if _, err := migrate.ParseRenames("--map", []string{bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := migrate.ParseRenames("--map", []string{"a=b", "a=c"}); err == nil {
		t.Error("one name got two")
	}
}

func TestBuildPlan(t *testing.T) {
	item := func(p int32, tr migrate.Translation, current *offset.Committed) *migrate.Item {
		r := row(80, 100)
		r.Partition.Partition = p
		return &migrate.Item{Row: r, Group: "g", Target: r.Partition, Current: current, Translation: tr, Evidence: migrate.Evidence{Bounds: &offset.Bounds{End: 40, LastStable: 40}}}
	}
	exact := migrate.Translation{Offset: 20, Outcome: migrate.Exact, Strategy: migrate.ByRecord, Proof: "there"}
	res := &migrate.Result{ClusterID: "c", Items: []*migrate.Item{
		item(0, exact, nil),
		item(1, exact, &offset.Committed{Offset: 25}),
		item(2, exact, &offset.Committed{Offset: 20, Metadata: "m"}),
		item(3, exact, &offset.Committed{Offset: 3}),
		item(4, migrate.Translation{Outcome: migrate.Unresolved, Reasons: []string{"record: nowhere"}, Hint: "wait"}, nil),
		item(5, migrate.Translation{Outcome: migrate.NoCommit}, &offset.Committed{Offset: 1}),
	}}
	res.Items[3].Current.Offset = 5000 // past the target's log end 40: no record is there, so nothing was read that far
	idle := map[string]inspect.Description{"g": {NotFound: true}}
	p, err := migrate.BuildPlan(res, idle, migrate.PlanOptions{Verb: "import"})
	if err != nil {
		t.Fatal(err)
	}
	want := []checkpointfile.Action{checkpointfile.ActionCommit, checkpointfile.ActionLeave, checkpointfile.ActionNone, checkpointfile.ActionCommit, checkpointfile.ActionRefuse}
	if len(p.Plan.Changes) != len(want) {
		t.Fatalf("%d rows, want %d: a partition without a commit at the source is none", len(p.Plan.Changes), len(want))
	}
	for i, c := range p.Plan.Changes {
		if c.Action != want[i] {
			t.Errorf("row %d is %s, want %s", i, c.Action, want[i])
		}
	}
	first := p.Plan.Changes[0]
	if _, known := first.To.LeaderEpoch.Get(); known || first.To.Metadata != "m" || first.To.Offset != 20 || first.Proof != "exact (record): there" {
		t.Errorf("the first row is %+v: metadata comes along, and the source's leader epoch does not", first)
	}
	if d := p.Plan.Changes[3].Detail; !strings.Contains(d, "5000 is past its log end 40") {
		t.Errorf("a commit past the target's log end is moved back with %q", d)
	}
	if e := p.Effect; e != (migrate.Effect{Exact: 2, Already: 1, Ahead: 1, MostAhead: 5, Unresolved: 1}) || e.Left() != 2 {
		t.Errorf("the plan comes to %+v, %d left", e, e.Left())
	}
	if g := p.Plan.Groups[0]; g.Create {
		t.Error("a group that has commits on the target would be created")
	}
	p, err = migrate.BuildPlan(res, idle, migrate.PlanOptions{Verb: "import", AllowRewind: true, SkipUnresolved: true})
	if err != nil || p.Plan.Changes[1].Action != checkpointfile.ActionCommit || p.Plan.Changes[4].Action != checkpointfile.ActionLeave {
		t.Errorf("with --allow-rewind and --skip-unresolved: %+v, %v", p.Plan.Changes, err)
	}
	if s := reset.Summarize(p.Plan); s.Refused != 0 || s.Changed != 3 {
		t.Errorf("the plan comes to %+v", s)
	}
	live := map[string]inspect.Description{"g": {Group: inspect.Group{Name: "g", State: "Stable"}, Members: []inspect.Member{{ClientID: "x"}}}}
	if p, _ = migrate.BuildPlan(res, live, migrate.PlanOptions{Verb: "sync", IdleOnly: true}); len(p.Plan.Changes) != 0 || len(p.Skipped) != 1 {
		t.Errorf("a group in use was planned for: %+v", p)
	}
	// What is not known yet, or cannot be, refuses an import; sync goes on with the rest.
	held := &migrate.Result{ClusterID: "c", Items: []*migrate.Item{item(0, exact, nil), item(1, exact, nil)}}
	held.Items[0].Unstable = true
	for idleOnly, want := range map[bool]checkpointfile.Action{false: checkpointfile.ActionRefuse, true: checkpointfile.ActionLeave} {
		o := migrate.PlanOptions{Verb: "sync", IdleOnly: idleOnly}
		if p, _ = migrate.BuildPlan(held, idle, o); p.Plan.Changes[0].Action != want || p.Plan.Changes[1].Action != checkpointfile.ActionCommit {
			t.Errorf("idle only %t, an open transaction at the target: %+v", idleOnly, p.Plan.Changes)
		}
		share := map[string]inspect.Description{"g": {Group: inspect.Group{Name: "g", Type: inspect.TypeShare}}}
		if p, _ = migrate.BuildPlan(held, share, o); p.Plan.Changes[1].Action != want || p.Plan.Changes[1].To != nil {
			t.Errorf("idle only %t, a share group at the target: %+v", idleOnly, p.Plan.Changes)
		}
	}
	if p, _ = migrate.BuildPlan(res, live, migrate.PlanOptions{Verb: "import"}); len(p.Notes) != 1 || !p.Notes[0].Active {
		t.Errorf("a group in use got no note: %+v", p.Notes)
	}
}

func TestCheck(t *testing.T) {
	item := func(committed int64, tr migrate.Translation, s *migrate.Stretch) *migrate.Item {
		return &migrate.Item{Row: row(80, 100), Group: "g", Current: &offset.Committed{Offset: committed}, Translation: tr,
			Evidence: migrate.Evidence{Bounds: &offset.Bounds{End: 40, LastStable: 40}, Stretch: s}}
	}
	exact := migrate.Translation{Offset: 20, Outcome: migrate.Exact}
	again := migrate.Translation{Offset: 20, Outcome: migrate.Again, Again: 5, Latest: 25}
	known := &migrate.Stretch{Seen: []migrate.Run{others(10, 8), at(19, 1), at(20, 0), others(22, 9)}, Until: 40, AtEnd: true}
	missing := item(0, exact, nil)
	missing.Current = nil
	hidden, gone := item(20, exact, known), item(20, exact, known)
	hidden.Evidence.Err, gone.Evidence.Err = kerr.TopicAuthorizationFailed, &migrate.NoTopicError{Topic: "t"}
	drained := item(40, migrate.Translation{Outcome: migrate.Unresolved}, nil)
	drained.Row.Around = &migrate.Surroundings{AtEnd: true, AtStart: true}
	late := item(20, migrate.Translation{Outcome: migrate.Unresolved}, &migrate.Stretch{Seen: []migrate.Run{at(19, 1)}, AtEnd: true})
	late.Row.Around = &migrate.Surroundings{Before: []migrate.Fingerprint{fp(79, 1), fp(78, 2)}, SearchedAll: true, SearchedBack: true}
	// Nothing is left on either side, and the source's commit is of records that are gone.
	empty := func(committed, end int64) *migrate.Item {
		i := item(committed, migrate.Translation{Offset: 40, Outcome: migrate.Exact, Proof: "nothing to carry"}, nil)
		i.Row.Bounds, i.Evidence.Bounds = &offset.Bounds{Start: 100, End: 100, LastStable: 100}, &offset.Bounds{Start: 40, End: end, LastStable: end}
		return i
	}
	for name, c := range map[string]struct {
		i    *migrate.Item
		want migrate.Verdict
		by   int64
		says string
	}{
		"same":                          {item(20, exact, known), migrate.VerdictSame, 0, ""},
		"same, behind a gap":            {item(21, exact, &migrate.Stretch{Seen: []migrate.Run{at(10, 1), at(18, 1)}, Until: 40, AtEnd: true}), migrate.VerdictSame, 0, ""},
		"ahead":                         {item(22, exact, known), migrate.VerdictAhead, 1, "ahead by 1 record"},
		"behind":                        {item(10, exact, known), migrate.VerdictBehind, 9, "behind by 9 records"},
		"behind, not counted":           {item(12, exact, nil), migrate.VerdictBehind, 8, "behind by at most 8 records"},
		"ahead of a bound":              {item(30, again, nil), migrate.VerdictAhead, 10, "ahead by at most 10 records"},
		"behind a bound":                {item(18, again, nil), migrate.VerdictBehind, 7, "behind by at most 7 records"},
		"within a bound":                {item(22, again, nil), migrate.VerdictUnknown, 0, "between 20 and 25"},
		"unproven":                      {item(20, migrate.Translation{Outcome: migrate.Unresolved, Reasons: []string{"record: alike"}}, nil), migrate.VerdictUnknown, 0, "alike"},
		"past the log end":              {item(50, exact, nil), migrate.VerdictDiffers, 0, "outside its log [0, 40]"},
		"hidden":                        {hidden, migrate.VerdictUnknown, 0, "cannot be read"},
		"nothing left":                  {empty(40, 40), migrate.VerdictSame, 0, "nothing to carry"},
		"nothing left, and it is below": {empty(30, 40), migrate.VerdictDiffers, 0, "outside its log"},
		"nothing left at the source":    {empty(40, 45), migrate.VerdictDiffers, 0, "outside its log"},
		"no such topic":                 {gone, migrate.VerdictMissing, 0, "does not exist"},
		"none":                          {missing, migrate.VerdictMissing, 0, "no commit"},
		"drained, all read":             {drained, migrate.VerdictSame, 0, "has read all"},
		"the copy is late":              {late, migrate.VerdictBehind, 0, "ends with a copy of source offset 78"},
	} {
		got := migrate.Check(c.i)
		by := int64(0)
		if got.By != nil {
			by = *got.By
		}
		if got.Verdict != c.want || by != c.by || !strings.Contains(got.Detail, c.says) {
			t.Errorf("%s: %s by %d (%s), want %s by %d", name, got.Verdict, by, got.Detail, c.want, c.by)
		}
	}
}

func TestLeaveInternal(t *testing.T) {
	rows := func(topics ...string) (out []migrate.Row) {
		for _, topic := range topics {
			out = append(out, migrate.Row{Group: "app", Partition: offset.Partition{Topic: topic}})
		}
		return out
	}
	kept, left := migrate.LeaveInternal(rows("app-store-changelog", "orders", "app-x-repartition", "app-y-repartition", "app-x-repartition", "other-x-repartition"),
		func(topic string) bool { return topic == "app-y-repartition" })
	if len(kept) != 3 || kept[0].Topic != "orders" || kept[1].Topic != "app-y-repartition" || kept[2].Topic != "other-x-repartition" ||
		strings.Join(left["app"], ",") != "app-store-changelog,app-x-repartition" {
		t.Errorf("kept %v, left %v", kept, left)
	}
}

// A name that could be several, or none, is in quotes in a sentence.
func TestNamesInErrors(t *testing.T) {
	at := offset.Partition{Topic: "t"}
	e := &migrate.ConflictError{Group: "a, b", Partition: at, First: migrate.Row{Group: "", Partition: at}, Second: migrate.Row{Group: "c", Partition: at}}
	if got, want := e.Error(), `group "" on t:0 and group c on t:0 would both become group "a, b" on t:0`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	none := &reset.NothingSavedError{Position: "file:x", Groups: []string{"a, b", "", "c"}}
	if got, want := none.Error(), `file:x has no offsets for it, only for "a, b", "", c`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
