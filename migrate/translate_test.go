package migrate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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

func hit(n int64) *migrate.Search {
	return &migrate.Search{Matches: true, First: n, Last: n, Followed: true, From: &offset.Record{Offset: n}}
}

func TestTranslate(t *testing.T) {
	around := func(at, before []migrate.Fingerprint) *migrate.Surroundings {
		return &migrate.Surroundings{At: at, Before: before, AtEnd: len(at) == 0}
	}
	log := func(start, end int64) *offset.Bounds { return &offset.Bounds{Start: start, End: end, LastStable: end} }
	miss := &migrate.Search{Conclusive: true, From: &offset.Record{Offset: 3}}
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
		"same cluster":    {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 20), SameCluster: true, SameTopic: true}, label: "exact", offset: 9, mention: "same topic of the same cluster"},
		"recreated topic": {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 20), SameCluster: true, Recreated: true}, label: "unresolved", mention: "created again"},
		"outside the target": {r: row(100, 100), e: migrate.Evidence{Bounds: log(0, 0), SameCluster: true, SameTopic: true}, label: "unresolved",
			mention: "offset 100 is outside the target's log [0, 0]"},
		"drained": {r: row(100, 100), around: &migrate.Surroundings{AtEnd: true, AtStart: true}, e: migrate.Evidence{Bounds: log(0, 0)}, label: "exact", offset: 0, mention: "nothing to carry: neither log"},
		"drained, target is not": {r: row(100, 100), around: &migrate.Surroundings{AtEnd: true, AtStart: true}, e: migrate.Evidence{Bounds: log(0, 5)},
			label: "unresolved", mention: "the source holds no record to look for"},
		"next record":         {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(0, 9), At: []*migrate.Search{hit(2)}}, label: "exact", offset: 2, mention: "is at 2"},
		"last record":         {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1)}), e: migrate.Evidence{Bounds: log(0, 9), Before: []*migrate.Search{hit(8)}}, label: "exact", offset: 9, mention: "last record read"},
		"last record, twice":  {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1)}), e: migrate.Evidence{Bounds: log(0, 9), Before: []*migrate.Search{{Matches: true, First: 4, Last: 8}}}, label: "at-most-4-again", offset: 5, mention: "identical ones follow up to 8"},
		"not there yet":       {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1)}), e: migrate.Evidence{Bounds: log(0, 9), Before: []*migrate.Search{{Conclusive: true}}}, label: "unresolved", mention: "not on the target yet (log end 9)"},
		"stamped on arrival":  {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(0, 9), At: []*migrate.Search{{Stamped: true}}}, label: "unresolved", mention: "LogAppendTime"},
		"window too small":    {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(0, 9), Window: 10, At: []*migrate.Search{{Scanned: 10, From: &offset.Record{}}}}, label: "unresolved", mention: "raise --window"},
		"fewer copied before": {r: row(20, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1), fp(18, 2), fp(17, 3)}), e: migrate.Evidence{Bounds: log(0, 9), Before: []*migrate.Search{miss, {From: &offset.Record{}}, hit(4)}}, label: "at-most-1-again", offset: 5, mention: "is at 4"},
		"expired":             {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: 3}, Bounds: log(10, 20)}, around: around([]migrate.Fingerprint{fp(10, 1)}, nil), e: migrate.Evidence{Bounds: log(2, 30), At: []*migrate.Search{hit(9)}}, label: "at-most-7-again", offset: 2, mention: "the commit 3 expired at the source (log start 10)"},
		"expired, drained, empty target": {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: 3}, Bounds: log(10, 10)}, around: &migrate.Surroundings{AtEnd: true, AtStart: true},
			e: migrate.Evidence{Bounds: log(4, 4)}, label: "exact", offset: 4, mention: "nothing to carry: the commit 3 expired"},
		"expired, drained": {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: 3}, Bounds: log(10, 10)}, around: &migrate.Surroundings{AtEnd: true, AtStart: true},
			e: migrate.Evidence{Bounds: log(4, 9)}, label: "at-most-5-again", offset: 4, mention: "the target's log start is taken"},
		"past the end": {r: row(25, 20), around: around(nil, []migrate.Fingerprint{fp(19, 1)}), e: migrate.Evidence{Bounds: log(0, 30), Before: []*migrate.Search{hit(8)}}, label: "unresolved", mention: "the commit 25 is past the source's log end 20"},
		"older than the target": {r: row(9, 20), around: around([]migrate.Fingerprint{fp(9, 1)}, nil), e: migrate.Evidence{Bounds: log(40, 50),
			At: []*migrate.Search{{Conclusive: true, From: &offset.Record{Offset: 40, Time: t0.Add(time.Hour)}}}}, label: "at-most-10-again", offset: 40, mention: "log start taken"},
		"mm2, the record itself": {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 30), Syncs: []migrate.Sync{{Source: 0, Target: 1}, {Source: 9, Target: 12}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "exact", offset: 12, mention: "9 is 12"},
		"mm2, after a sync":      {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Syncs: []migrate.Sync{{Source: 0, Target: 0}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-14-again", offset: 1, mention: "0 is 0, and 15 lies after it"},
		"mm2, before all syncs":  {r: row(5, 20), e: migrate.Evidence{Bounds: log(0, 30), Syncs: []migrate.Sync{{Source: 9, Target: 9}}}, by: []migrate.Strategy{migrate.ByMM2}, label: "unresolved", mention: "begin at 9, after the position 5"},
		"mm2, checkpoint":        {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Checkpoint: &migrate.Sync{Source: 12, Target: 10}}, by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-20-again", offset: 10, mention: "checkpoint translates 12 to 10"},
		"mm2, moved back since":  {r: row(5, 20), e: migrate.Evidence{Bounds: log(0, 30), Checkpoint: &migrate.Sync{Source: 12, Target: 10}}, by: []migrate.Strategy{migrate.ByMM2}, label: "unresolved", mention: "moved back since"},
		"mm2, checkpoint beyond the syncs": {r: row(95, 200), e: migrate.Evidence{Bounds: log(0, 200), Syncs: []migrate.Sync{{Source: 80, Target: 80}}, Checkpoint: &migrate.Sync{Source: 95, Target: 91}},
			by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-14-again", offset: 81, mention: "80 is 80, and 95 lies after it"},
		"mm2, checkpoint before the syncs": {r: row(95, 200), e: migrate.Evidence{Bounds: log(0, 200), Syncs: []migrate.Sync{{Source: 100, Target: 90}}, Checkpoint: &migrate.Sync{Source: 90, Target: 80}},
			by: []migrate.Strategy{migrate.ByMM2}, label: "at-most-120-again", offset: 80, mention: "checkpoint translates 90 to 80"},
		"mm2, checkpoint that the syncs contradict": {r: row(95, 200), e: migrate.Evidence{Bounds: log(0, 200), Syncs: []migrate.Sync{{Source: 100, Target: 70}}, Checkpoint: &migrate.Sync{Source: 90, Target: 80}},
			by: []migrate.Strategy{migrate.ByMM2}, label: "unresolved", mention: "they contradict it"},
		"table":               {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Table: []migrate.Sync{{Source: 14, Target: 3}}}, by: []migrate.Strategy{migrate.ByTable}, label: "exact", offset: 4, mention: "the table: 14 is 3"},
		"too many again":      {r: row(15, 20), e: migrate.Evidence{Bounds: log(0, 30), Table: []migrate.Sync{{Source: 0, Target: 3}}}, by: []migrate.Strategy{migrate.ByTable}, max: &five, label: "unresolved", mention: "would read up to 14 records again, 5 are allowed"},
		"time is not proven":  {r: row(9, 20), around: &migrate.Surroundings{At: []migrate.Fingerprint{fp(9, 1)}, EarliestUnread: t0}, e: migrate.Evidence{Bounds: log(0, 30), NextTime: &offset.Record{Offset: 4}}, by: []migrate.Strategy{migrate.ByTimestamp}, label: "unresolved", mention: "--allow-unproven"},
		"time, allowed":       {r: row(9, 20), around: &migrate.Surroundings{At: []migrate.Fingerprint{fp(9, 1)}, EarliestUnread: t0}, e: migrate.Evidence{Bounds: log(0, 30), NextTime: &offset.Record{Offset: 4}}, by: []migrate.Strategy{migrate.ByTimestamp}, allow: true, label: "unproven", offset: 4, mention: "2024-03-10T12:00:00Z"},
		"time at the end":     {r: row(20, 20), around: around(nil, nil), e: migrate.Evidence{Bounds: log(0, 30)}, by: []migrate.Strategy{migrate.ByTimestamp}, allow: true, label: "unproven", offset: 30, mention: "had read everything"},
		"distance":            {r: row(15, 20), e: migrate.Evidence{Bounds: log(2, 30)}, by: []migrate.Strategy{migrate.ByDistance}, allow: true, label: "unproven", offset: 25, mention: "5 before the end"},
		"distance, clamped":   {r: row(0, 90), e: migrate.Evidence{Bounds: log(2, 30)}, by: []migrate.Strategy{migrate.ByDistance}, allow: true, label: "unproven", offset: 2, mention: "90 before the end"},
		"a number alone":      {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 30)}, label: "unresolved", mention: "not proven"},
		"order of preference": {r: row(9, 20), e: migrate.Evidence{Bounds: log(0, 30), Table: []migrate.Sync{{Source: 9, Target: 1}}}, by: []migrate.Strategy{migrate.ByMM2, migrate.ByTable, migrate.ByDistance}, allow: true, label: "exact", offset: 1, mention: "the table"},
		"unreadable target":   {r: row(9, 20), e: migrate.Evidence{Err: errors.New("no leader")}, label: "unresolved", mention: "the target cannot be read: no leader"},
		"no commit":           {r: migrate.Row{Partition: offset.Partition{Topic: "t"}}, e: migrate.Evidence{Bounds: log(0, 3)}, label: "no-commit"},
		"not started":         {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Marker: offset.MarkerLatest}, e: migrate.Evidence{Bounds: log(0, 3)}, label: "unresolved", mention: `says "latest"`},
		"unreadable source":   {r: migrate.Row{Partition: offset.Partition{Topic: "t"}, Error: "denied"}, e: migrate.Evidence{Bounds: log(0, 3)}, label: "unresolved", mention: "denied"},
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
	got, err := migrate.ParseStrategies([]string{"record", " mm2", "record"})
	if err != nil || len(got) != 2 || got[1] != migrate.ByMM2 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := migrate.ParseStrategies([]string{"guess"}); err == nil || !strings.Contains(err.Error(), "guess") {
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

func TestCompareAt(t *testing.T) {
	a, b, c := fp(1, 1), fp(2, 2), fp(3, 3)
	twin := a
	twin.Twins = migrate.TwinsBoth
	at := func(next, last *migrate.Fingerprint) *migrate.Surroundings {
		s := &migrate.Surroundings{AtEnd: next == nil, AtStart: last == nil}
		if next != nil {
			s.At = []migrate.Fingerprint{*next}
		}
		if last != nil {
			s.Before = []migrate.Fingerprint{*last}
		}
		return s
	}
	moved := b
	moved.Offset = 77
	for name, x := range map[string]struct {
		s, t *migrate.Surroundings
		want migrate.Verdict
	}{
		"same next":             {at(&b, &a), at(&moved, nil), migrate.VerdictSame},
		"same last":             {at(&b, &a), at(nil, &a), migrate.VerdictSame},
		"one behind":            {at(&c, &b), at(&b, &a), migrate.VerdictDiffers},
		"drained, all read":     {at(nil, nil), at(nil, &c), migrate.VerdictSame},
		"drained, not all read": {at(nil, nil), at(&c, nil), migrate.VerdictUnknown},
		"look-alikes":           {at(&twin, &c), at(&a, &b), migrate.VerdictUnknown},
		"look-alikes, sure":     {at(&twin, &c), at(&a, &c), migrate.VerdictSame},
		"empty target":          {at(&a, nil), at(nil, nil), migrate.VerdictUnknown},
	} {
		if got, why := migrate.CompareAt(x.s, x.t); got != x.want {
			t.Errorf("%s: %s (%s), want %s", name, got, why, x.want)
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
