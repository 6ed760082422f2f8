package reset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// A plan says of a row that it is to stay: if somebody moves it before the plan is applied, that is drift as any other.
func TestRowsThatWereToStay(t *testing.T) {
	w := small()
	r := &Request{Verb: "reset", Groups: w.groups()[:1], Scope: Scope{Topics: []offset.TopicSpec{{Topic: "t"}}}, Position: at(5)}
	b, err := Build(r, w.read())
	rows := rowsOf(t, b, err)
	if rows["t:0"].Action != checkpointfile.ActionNone || rows["t:1"].Action != checkpointfile.ActionCommit {
		t.Fatalf("planned %+v", rows)
	}
	if c := Check(b.Plan, w.read(), Allowed{}); len(c.Drifts) > 0 {
		t.Fatalf("a fresh plan does not fit: %v", c.Drifts)
	}
	p0 := offset.Partition{Topic: "t", Partition: 0}
	w.stored["a"][p0] = offset.Committed{Offset: 9}
	c := Check(b.Plan, w.read(), Allowed{})
	if len(c.Drifts) != 1 || c.Drifts[0].Kind != DriftCommit || c.Drifts[0].Key.Partition != p0 || !strings.Contains(c.Drifts[0].Text, "it was to stay at 5") {
		t.Errorf("drifts %v", c.Drifts)
	}
	// Allowed to have moved, it is put where the plan has it.
	c = Check(b.Plan, w.read(), Allowed{Commits: true})
	if len(c.Drifts) > 0 || c.Rows[0].Action != checkpointfile.ActionCommit || c.Rows[0].To.Offset != 5 || c.Rows[0].From.Offset != 9 {
		t.Errorf("drifts %v, row %+v", c.Drifts, c.Rows[0])
	}
	// The epoch alone is no difference to a reader.
	w.stored["a"][p0] = offset.Committed{Offset: 5, LeaderEpoch: offset.EpochOf(4), Metadata: "m"}
	if c := Check(b.Plan, w.read(), Allowed{}); len(c.Drifts) > 0 {
		t.Errorf("drifts %v", c.Drifts)
	}
}

// The empty name is a group's: what does not fit of it is not what does not fit of all.
func TestDriftOfTheGroupWithTheEmptyName(t *testing.T) {
	c := &Checked{Drifts: []Drift{{Kind: DriftActive, Group: "", Text: "in use"}}}
	groups := []PlanGroup{{Name: ""}, {Name: "a"}}
	if by := c.byGroup(groups); len(by[""]) != 1 || len(by["a"]) != 0 {
		t.Errorf("drifts by group: %v", by)
	}
	if text := c.Drifts[0].Error(); text != `group "": in use` {
		t.Errorf("it says %q", text)
	}
	c.Drifts[0].Kind = DriftCluster
	if by := c.byGroup(groups); len(by[""]) != 1 || len(by["a"]) != 1 {
		t.Errorf("of another cluster: %v", by)
	}
}

// A topic that was made anew is another topic, also for what was to stay in it.
func TestRowsThatWereToStayInATopicMadeAnew(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(6)))
	kafkatest.DeleteTopic(t, cl, f.Topic)
	kafkatest.CreateTopic(t, cl, f.Topic, 3)
	kafkatest.Produce(t, cl, kafkatest.Records(f.Topic, 0, 10, kafkatest.F1Start, 1)...)
	kafkatest.Commit(t, cl, f.App, kafkatest.At(f.Topic, 0, 6))
	c, err := Recheck(t.Context(), cl, p, Allowed{Commits: true})
	if err != nil || len(c.Drifts) != 3 || c.Drifts[0].Kind != DriftTopic || c.Drifts[0].Key.Partition.Partition != 0 {
		t.Errorf("drifts %v, %v", c, err)
	}
}

// A delete plans "no commit there" for some rows: one that appears is not deleted unseen.
func TestRowsWithoutACommitThatGetOne(t *testing.T) {
	w := small()
	r := &Request{Verb: "delete", Groups: w.groups()[:1], Scope: Scope{Topics: []offset.TopicSpec{{Topic: "t", Partitions: []int32{0, 1}}}}}
	b, err := BuildDelete(r, w.read(), false)
	rowsOf(t, b, err)
	w.stored["a"][offset.Partition{Topic: "t", Partition: 1}] = offset.Committed{Offset: 3}
	if c := Check(b.Plan, w.read(), Allowed{}); len(c.Drifts) != 1 || !strings.Contains(c.Drifts[0].Text, "it was to stay at none and is 3") {
		t.Errorf("drifts %v", c.Drifts)
	}
	c := Check(b.Plan, w.read(), Allowed{Commits: true})
	if len(c.Drifts) > 0 || c.Rows[1].Action != checkpointfile.ActionDelete || c.Rows[1].From.Offset != 3 {
		t.Errorf("drifts %v, rows %+v", c.Drifts, c.Rows)
	}
}

// A second reset takes rows away that the first one found in their place: it says so.
func TestRowThatStoodThereIsOverwritten(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(6))) // partition 0 is at 6 already
	if p.Changes[0].Action != checkpointfile.ActionNone {
		t.Fatalf("planned %+v", p.Changes[0])
	}
	other := kafkatest.Client(t, c.ListenAddrs())
	inner := false
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		if inner {
			return nil, nil, false
		}
		c.KeepControl()
		c.SleepControl(func() {
			inner = true
			kafkatest.Commit(t, other, f.App, kafkatest.At(f.Topic, 0, 2))
		})
		return nil, nil, false
	})
	res := apply(t, cl, p, options(t, t.TempDir()))
	if r := res.Rows[0]; r.Outcome != OutcomeOverwritten || r.Now == nil || r.Now.Offset != 2 || !strings.Contains(r.Err.Error(), "it stood there already, and was overwritten") {
		t.Errorf("the row is %s: %v", r.Outcome, r.Err)
	}
	if res.Count(OutcomeChanged) != 2 || res.Bad() != 1 {
		t.Errorf("rows %+v", res.Rows)
	}
}

// The commits of a topic that a group in use does not subscribe to can be deleted, as Kafka's own tool does (KIP-496).
func TestTopicThatARunningGroupGaveUp(t *testing.T) {
	w := small()
	deletion := func(topics ...string) *Plan {
		r := &Request{Verb: "delete", Groups: w.groups()[:1], Scope: Scope{}}
		for _, name := range topics {
			r.Scope.Topics = append(r.Scope.Topics, offset.TopicSpec{Topic: name, Partitions: []int32{0}})
		}
		b, err := BuildDelete(r, w.read(), false)
		rowsOf(t, b, err)
		return b.Plan
	}
	w.topics["u"] = inspect.Topic{Name: "u", Partitions: []inspect.TopicPartition{{Number: 0}}}
	u0 := offset.Partition{Topic: "u", Partition: 0}
	w.facts[u0] = w.facts[offset.Partition{Topic: "t", Partition: 0}]
	w.stored["a"][u0] = offset.Committed{Offset: 1}
	for _, tc := range []struct {
		name    string
		members []inspect.Member
		topics  []string
		refused bool
	}{
		{"given up", []inspect.Member{{Topics: []string{"u"}}}, []string{"t"}, false},
		{"given up by all", []inspect.Member{{Topics: []string{"u"}}, {Topics: []string{"v"}}}, []string{"t"}, false},
		{"one still subscribes", []inspect.Member{{Topics: []string{"u"}}, {Topics: []string{"t"}}}, []string{"t"}, true},
		{"one of two topics", []inspect.Member{{Topics: []string{"u"}}}, []string{"t", "u"}, true},
		{"not told", []inspect.Member{{}}, []string{"t"}, true},
		{"still assigned", []inspect.Member{{Topics: []string{"u"}, Assigned: []offset.Partition{{Topic: "t"}}}}, []string{"t"}, true},
		{"no members yet", nil, []string{"t"}, true},
	} {
		f := w.read()
		f.Groups["a"].State, f.Groups["a"].Members = "Stable", tc.members
		c := Check(deletion(tc.topics...), f, Allowed{})
		if refused := len(c.Drifts) > 0; refused != tc.refused || refused && c.Drifts[0].Kind != DriftActive {
			t.Errorf("%s: drifts %v", tc.name, c.Drifts)
		}
	}
	// Moving a commit is another matter, and so is the group as a whole. The plan says so, and does not warn where it need not.
	f := w.read()
	f.Groups["a"].State, f.Groups["a"].Members = "Stable", []inspect.Member{{Topics: []string{"u"}}}
	active := func(b *Built, err error) bool {
		rowsOf(t, b, err)
		return slices.ContainsFunc(b.Notes, func(n Note) bool { return n.Kind == NoteActive })
	}
	t0 := Scope{Topics: []offset.TopicSpec{{Topic: "t", Partitions: []int32{0}}}}
	if active(BuildDelete(&Request{Verb: "delete", Groups: w.groups()[:1], Scope: t0}, f, false)) {
		t.Error("deleting what was given up is called refused")
	}
	if !active(BuildDelete(&Request{Verb: "delete", Groups: w.groups()[:1]}, f, true)) || !active(Build(&Request{Verb: "reset", Groups: w.groups()[:1], Scope: t0, Position: earliest}, f)) {
		t.Error("a group in use is not called so")
	}
	f = w.read()
	f.Groups["a"].State, f.Groups["a"].Members = "Stable", []inspect.Member{{Topics: []string{"u"}}}
	b, err := Build(&Request{Verb: "reset", Groups: w.groups()[:1], Scope: Scope{Topics: []offset.TopicSpec{{Topic: "t"}}}, Position: earliest}, w.read())
	rowsOf(t, b, err)
	if c := Check(b.Plan, f, Allowed{}); len(c.Drifts) != 1 || c.Drifts[0].Kind != DriftActive {
		t.Errorf("reset: drifts %v", c.Drifts)
	}
	b, err = BuildDelete(&Request{Verb: "delete", Groups: w.groups()[:1]}, w.read(), true)
	rowsOf(t, b, err)
	if c := Check(b.Plan, f, Allowed{}); len(c.Drifts) != 1 || c.Drifts[0].Kind != DriftActive {
		t.Errorf("delete of the group: drifts %v", c.Drifts)
	}
}

// wide is a world with many groups, each with rows of its own, and a plan that deletes all of them.
func wide(t *testing.T, groups, rows int) (*Facts, *Plan) {
	t.Helper()
	w := &world{topics: map[string]inspect.Topic{}, facts: map[offset.Partition]offset.Facts{}, stored: map[string]map[offset.Partition]offset.Committed{}}
	topic := inspect.Topic{Name: "t"}
	b := offset.Bounds{Start: 0, End: 1000, LastStable: 1000}
	all := map[offset.Partition]offset.Committed{}
	for n := range int32(rows) {
		topic.Partitions = append(topic.Partitions, inspect.TopicPartition{Number: n})
		w.facts[offset.Partition{Topic: "t", Partition: n}] = offset.Facts{Bounds: &b}
		all[offset.Partition{Topic: "t", Partition: n}] = offset.Committed{Offset: 5}
	}
	w.topics["t"] = topic
	f := w.read()
	r := &Request{Verb: "delete"}
	for i := range groups {
		name := fmt.Sprintf("g%05d", i)
		d := inspect.Description{Group: inspect.Group{Name: name, Type: inspect.TypeClassic, State: "Empty"}}
		r.Groups = append(r.Groups, d.Group)
		f.Groups[name] = &GroupFacts{Description: d, Commits: inspect.NewCommits(name, all)}
	}
	built, err := BuildDelete(r, f, true)
	if err != nil {
		t.Fatal(err)
	}
	return f, built.Plan
}

// Nothing in the way from a plan to its rows grows with the square of them: 4,659 groups once took 162 s, and 100,000 rows
// that had moved 90 s. The bound is for a machine under load; it takes about a second.
func TestLargePlansAreNotQuadratic(t *testing.T) {
	for _, size := range []struct{ groups, rows int }{{4_000, 2}, {2, 50_000}} {
		f, p := wide(t, size.groups, size.rows)
		began := time.Now()
		if c := Check(p, f, Allowed{}); len(c.Drifts) > 0 {
			t.Fatal(c.Drifts[0])
		}
		for _, g := range f.Groups { // every commit moved since
			moved := map[offset.Partition]offset.Committed{}
			for _, part := range g.partitions() {
				moved[part] = offset.Committed{Offset: 6}
			}
			g.Commits = inspect.NewCommits(g.Name, moved)
		}
		c := Check(p, f, Allowed{})
		if len(c.Drifts) != size.groups*size.rows {
			t.Fatalf("%d drifts, want one a row", len(c.Drifts))
		}
		a := &applier{plan: p, res: &Result{}, o: Options{Whole: true}}
		var drift *DriftError
		if err := a.prepare(c); !errors.As(err, &drift) || len(drift.Error()) > 1000 {
			t.Fatalf("got %.200v", err)
		}
		// One group that fits still: the others are refused row by row.
		p.Groups = append(p.Groups, PlanGroup{Name: "fits"})
		a = &applier{plan: p, res: &Result{}}
		if err := a.prepare(c); err != nil {
			t.Fatal(err)
		}
		for _, r := range a.res.Rows {
			if r.Outcome != OutcomeRefused || errors.Is(r.Err, ErrBecameActive) {
				t.Fatalf("%s is %s: %v", r.Key(), r.Outcome, r.Err)
			}
		}
		e := journalOf(p.Changes, p.Groups)
		if _, err := Inverse(e, f, Undo{Moved: true}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%d groups with %d rows each took %s", size.groups, size.rows, took)
		}
	}
}
