package migrate_test

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// What a share group has acknowledged beyond its start offset is a number, or not known, and stays that in a file.
func TestExportOfAShareGroup(t *testing.T) {
	one := func(n int32, committed *offset.Committed, acknowledged *int64) migrate.Row {
		return migrate.Row{Group: "s", Partition: offset.Partition{Topic: "t", Partition: n}, Committed: committed, Share: true, Acknowledged: acknowledged}
	}
	x := &migrate.Export{Header: sampleExport().Header, Groups: []migrate.Group{{Name: "s", Type: "share", State: "Empty", Rows: []migrate.Row{
		one(0, &offset.Committed{Offset: 7}, new(int64(3))), one(1, &offset.Committed{Offset: 9}, new(int64(0))), one(2, &offset.Committed{}, nil), one(3, nil, nil)}}}}
	data := write(t, x)
	got, err := migrate.ReadExport("f", bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if !reflect.DeepEqual(got.Groups, x.Groups) {
		t.Errorf("read back:\n%+v\nwant:\n%+v\n%s", got.Groups, x.Groups, data)
	}
	text := migrate.LeftBehind(got.Groups[0].Rows)
	if !strings.Contains(text, "up to 3 records") || !strings.Contains(text, "on 1 partition it is not known") {
		t.Errorf("left behind: %s", text)
	}
	if text := migrate.LeftBehind(sampleExport().Groups[0].Rows); text != "" {
		t.Errorf("a group that commits leaves behind: %s", text)
	}
	bad := bytes.Replace(data, []byte(`"acknowledged":3`), []byte(`"acknowledged":-3`), 1)
	if _, err := migrate.ReadExport("f", bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("-3 records are acknowledged: %v", err)
	}
}

// A share group on the target that has acknowledged records beyond its start offset is further than that says.
func TestBuildPlanOfAShareGroup(t *testing.T) {
	item := func(p int32, current, finished *int64) *migrate.Item {
		i := &migrate.Item{Row: row(80, 100), Group: "s", Target: offset.Partition{Topic: "t", Partition: p}, Finished: finished,
			Translation: migrate.Translation{Offset: 20, Outcome: migrate.Exact}, Evidence: migrate.Evidence{Bounds: &offset.Bounds{End: 40, LastStable: 40}}}
		i.Row.Committed = &offset.Committed{Offset: 80} // no metadata, no epoch
		i.Row.Share, i.Row.Partition, i.Row.Acknowledged = true, i.Target, new(int64(4))
		if current != nil {
			i.Current = &offset.Committed{Offset: *current}
		}
		return i
	}
	items := []*migrate.Item{item(0, nil, nil), item(1, new(int64(20)), new(int64(0))), item(2, new(int64(20)), new(int64(6))), item(3, new(int64(10)), new(int64(1))), item(4, new(int64(10)), nil)}
	res := &migrate.Result{ClusterID: "c", Items: items}
	plan := func(kind inspect.GroupType, found bool, o migrate.PlanOptions) *migrate.Planned {
		t.Helper()
		p, err := migrate.BuildPlan(res, map[string]inspect.Description{"s": {Group: inspect.Group{Name: "s", Type: kind}, NotFound: !found}}, o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	actions := func(p *migrate.Planned) (out []checkpointfile.Action) {
		for _, c := range p.Plan.Changes {
			out = append(out, c.Action)
		}
		return out
	}
	const commit, none, leave, refuse = checkpointfile.ActionCommit, checkpointfile.ActionNone, checkpointfile.ActionLeave, checkpointfile.ActionRefuse
	p := plan(inspect.TypeShare, true, migrate.PlanOptions{Verb: "import"})
	if got, want := actions(p), []checkpointfile.Action{commit, none, leave, leave, commit}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if p.Effect.Ahead != 2 || p.Effect.MostAhead != 6 || p.Effect.Left() != 2 || len(p.Notes) != 2 {
		t.Errorf("%+v, notes %+v", p.Effect, p.Notes)
	}
	if !strings.Contains(p.Notes[0].Text, "up to 8 records that the source has acknowledged") || !strings.Contains(p.Notes[1].Text, "on 1 partition it is not known which records") {
		t.Errorf("%+v", p.Notes)
	}
	p = plan(inspect.TypeShare, true, migrate.PlanOptions{Verb: "import", AllowRewind: true})
	if got, want := actions(p), []checkpointfile.Action{commit, none, commit, commit, commit}; !reflect.DeepEqual(got, want) {
		t.Errorf("with a rewind: %v, want %v", got, want)
	}
	for kind, want := range map[inspect.GroupType]string{"classic": "is a classic group", "": "is not known"} {
		p = plan(kind, true, migrate.PlanOptions{Verb: "import"})
		if got := p.Plan.Changes[0]; got.Action != refuse || !strings.Contains(got.Error, want) || reset.Summarize(p.Plan).Refused != 5 {
			t.Errorf("onto a group of kind %q: %+v", kind, p.Plan.Changes)
		}
	}
	for _, i := range items {
		i.Current, i.Finished = nil, nil
	}
	if g := plan("", false, migrate.PlanOptions{Verb: "import"}).Plan.Groups[0]; !g.Create || g.Type != string(inspect.TypeShare) {
		t.Errorf("a group that is not there is made as %+v", g)
	}
	items[4].Row.Share = false
	if p = plan("", false, migrate.PlanOptions{Verb: "import"}); p.Plan.Changes[0].Action != refuse || !strings.Contains(p.Plan.Changes[0].Error, "would become one") {
		t.Errorf("a share group and another as one: %+v", p.Plan.Changes[0])
	}
}

// A target group of a kind that takes no commits is left, and nothing is remembered as committed there.
func TestSyncOntoAShareGroup(t *testing.T) {
	i := &migrate.Item{Row: row(80, 100), Group: "g", Target: offset.Partition{Topic: "t"}, Translation: migrate.Translation{Offset: 80, Outcome: migrate.Exact},
		Evidence: migrate.Evidence{Bounds: &offset.Bounds{End: 100, LastStable: 100}}}
	res := &migrate.Result{ClusterID: "c", Items: []*migrate.Item{i}}
	p, err := migrate.BuildPlan(res, map[string]inspect.Description{"g": {Group: inspect.Group{Name: "g", Type: inspect.TypeShare}}}, migrate.PlanOptions{Verb: "sync", IdleOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.Effect != (migrate.Effect{Other: 1}) || !strings.Contains(p.Unfit["g"], "stores no commits") || p.Plan.Changes[0].Action != checkpointfile.ActionLeave {
		t.Errorf("%+v, unfit %v, %+v", p.Effect, p.Unfit, p.Plan.Changes[0])
	}
	state := migrate.OpenSyncState(t.TempDir(), "src", "dst", "test")
	s := &migrate.Syncer{State: state, Clock: time.Now}
	r := &migrate.SyncRound{Look: &migrate.SyncLook{}, Result: res, Planned: p}
	for _, note := range []func(context.Context, *migrate.SyncRound) error{s.Intend, s.Carried} {
		if err := note(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if kept, err := state.Load(); err != nil || len(kept) != 0 {
			t.Errorf("%v, remembered: %+v", err, kept)
		}
	}
}

// A share group has start offsets, and no commits: what is said of one that lacks them says so.
func TestWordsOfAShareGroup(t *testing.T) {
	i := &migrate.Item{Row: row(80, 100), Group: "s", Translation: migrate.Translation{Offset: 20, Outcome: migrate.Exact}, Evidence: migrate.Evidence{Bounds: &offset.Bounds{End: 40, LastStable: 40}}}
	for share, what := range map[bool]string{false: "commit", true: "start offset"} {
		i.Row.Share, i.Current = share, nil
		if c := migrate.Check(i); c.Detail != "the target group has no "+what+" there" {
			t.Errorf("share %t: %s", share, c.Detail)
		}
		i.Current = &offset.Committed{Offset: 50}
		if c := migrate.Check(i); c.Detail != "the "+what+" 50 at the target is outside its log [0, 40]" {
			t.Errorf("share %t: %s", share, c.Detail)
		}
		if tr := migrate.Translate(migrate.Row{Share: share}, i.Evidence, migrate.Rules{}); tr.Proof != "the group has no "+what+" there" {
			t.Errorf("share %t: %s", share, tr.Proof)
		}
	}
}
