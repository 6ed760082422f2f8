package reset

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// small is a world with topic t of two partitions (0..10 each) and a group a that also has commits on a partition and a
// topic that are gone: what a coordinator shows before it has heard of the deletion.
func small() *world {
	b := offset.Bounds{Start: 0, End: 10, LastStable: 10}
	one := offset.Facts{Bounds: &b, StartEpoch: offset.EpochOf(3), EndEpoch: offset.EpochOf(3)}
	at := func(topic string, n int32) offset.Partition { return offset.Partition{Topic: topic, Partition: n} }
	return &world{
		topics: map[string]inspect.Topic{
			"t":    {Name: "t", Partitions: []inspect.TopicPartition{{Number: 0}, {Number: 1}}},
			"gone": {Name: "gone", Err: kerr.UnknownTopicOrPartition},
		},
		facts: map[offset.Partition]offset.Facts{at("t", 0): one, at("t", 1): one},
		stored: map[string]map[offset.Partition]offset.Committed{"a": {
			at("t", 0): {Offset: 5, LeaderEpoch: offset.EpochOf(3), Metadata: "m"}, at("t", 7): {Offset: 5}, at("gone", 0): {Offset: 5}}, "b": {}},
	}
}

func rowsOf(t *testing.T, b *Built, err error) map[string]Change {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Change{}
	for _, c := range b.Plan.Changes {
		out[c.Partition.String()] = c
	}
	return out
}

func TestGoneTopicsDoNotStopTheRest(t *testing.T) {
	w := small()
	r := &Request{Verb: "reset", Groups: w.groups()[:1], Scope: Scope{All: true}, Position: earliest}
	b, err := Build(r, w.read())
	rows := rowsOf(t, b, err)
	for p, want := range map[string]checkpointfile.Action{"t:0": checkpointfile.ActionCommit, "t:1": checkpointfile.ActionCommit, "t:7": checkpointfile.ActionLeave, "gone:0": checkpointfile.ActionLeave} {
		if rows[p].Action != want {
			t.Errorf("%s has action %q, want %s", p, rows[p].Action, want)
		}
	}
	if len(b.Notes) == 0 || b.Notes[len(b.Notes)-1].Kind != NoteGone || !strings.HasPrefix(b.Notes[len(b.Notes)-1].Text, "2 commits are on topics or partitions that do not exist") {
		t.Errorf("notes %+v", b.Notes)
	}
	if drift := Check(b.Plan, w.read(), Allowed{}).Drifts; len(drift) > 0 {
		t.Errorf("it cannot be applied: %v", drift)
	}
	// Repair deletes them.
	b, err = BuildRepair(&Request{Verb: "repair", Groups: w.groups(), Scope: Scope{All: true}, Position: earliest}, w.read(), DefaultMends())
	rows = rowsOf(t, b, err)
	for p, want := range map[string]checkpointfile.Action{"t:1": checkpointfile.ActionCommit, "t:7": checkpointfile.ActionDelete, "gone:0": checkpointfile.ActionDelete} {
		if rows[p].Action != want {
			t.Errorf("repair: %s has action %q, want %s", p, rows[p].Action, want)
		}
	}
	if _, healthy := rows["t:0"]; healthy {
		t.Error("repair: the healthy row is in the plan")
	}
	if drift := Check(b.Plan, w.read(), Allowed{}).Drifts; len(drift) > 0 {
		t.Errorf("repair cannot be applied: %v", drift)
	}
}

func TestStreamsStateIsNotReset(t *testing.T) {
	w := small()
	f := w.read()
	f.Groups["a"].Type = inspect.TypeStreams
	b, err := Build(&Request{Verb: "reset", Groups: w.groups()[:1], Scope: Scope{Topics: []offset.TopicSpec{{Topic: "t"}}}, Position: earliest}, f)
	rowsOf(t, b, err)
	if len(b.Notes) != 1 || b.Notes[0].Kind != NoteStreams || !strings.Contains(b.Notes[0].Text, "its local state is not reset") {
		t.Errorf("notes %+v", b.Notes)
	}
}

func TestEpochOfATargetInsideOneLeadership(t *testing.T) {
	w := small()
	b, err := Build(&Request{Verb: "reset", Groups: w.groups()[:1], Scope: Scope{Topics: []offset.TopicSpec{{Topic: "t"}}}, Position: at(4)}, w.read())
	rows := rowsOf(t, b, err)
	if e, ok := rows["t:0"].To.LeaderEpoch.Get(); !ok || e != 3 {
		t.Errorf("epoch %v, want 3: both ends have it", rows["t:0"].To.LeaderEpoch)
	}
	if rows["t:0"].To.Metadata != "m" {
		t.Errorf("metadata %q", rows["t:0"].To.Metadata)
	}
}

func TestPatternsLeaveStrangersAlone(t *testing.T) {
	w := small()
	r := &Request{Verb: "reset", Groups: w.groups(), Scope: Scope{Topics: []offset.TopicSpec{{Topic: "t"}}}, Position: earliest, Pattern: true, Create: true}
	b, err := Build(r, w.read())
	if err != nil || len(b.Failed) > 0 || len(b.Plan.Groups) != 1 || b.Plan.Groups[0].Name != "a" {
		t.Errorf("groups %+v, failed %v, %v", b.Plan.Groups, b.Failed, err)
	}
	r.Pattern = false
	if b, err = Build(r, w.read()); err != nil || len(b.Plan.Groups) != 2 {
		t.Errorf("groups %+v, %v; a named group gets its first commit", b.Plan.Groups, err)
	}
}

func TestDistanceCountsWhatIsInTheLog(t *testing.T) {
	bounds := func(c Change) Change {
		start, end := int64(10), int64(20)
		c.LogStart, c.LogEnd, c.LastStable = &start, &end, &end
		return c
	}
	for _, tc := range []struct {
		from, to       *Commit
		again, skipped int64
		known          bool
	}{
		{&Commit{Offset: 15}, &Commit{Offset: 12}, 3, 0, true},
		{&Commit{Offset: 12}, &Commit{Offset: 15}, 0, 3, true},
		{&Commit{Offset: 2}, &Commit{Offset: 12}, 0, 2, true},  // 2 to 9 are gone: nobody can skip them
		{&Commit{Offset: 99}, &Commit{Offset: 12}, 8, 0, true}, // past the end: at most 12 to 19 were read
		{&Commit{Offset: -5}, &Commit{Offset: 12}, 0, 0, false},
		{nil, &Commit{Offset: 12}, 0, 0, false},
		{&Commit{Offset: 12}, nil, 0, 0, false},
	} {
		again, skipped, known := Distance(bounds(Change{From: tc.from, To: tc.to}))
		if again != tc.again || skipped != tc.skipped || known != tc.known {
			t.Errorf("%v to %v: %d again, %d skipped, %v; want %d, %d, %v", tc.from, tc.to, again, skipped, known, tc.again, tc.skipped, tc.known)
		}
	}
}

func TestActivityNamesWhoIsThere(t *testing.T) {
	d := inspect.Description{Group: inspect.Group{Name: "g", State: "Stable"}}
	for range 7 {
		d.Members = append(d.Members, inspect.Member{ClientID: "c", Host: "/10.0.0.7"})
	}
	if got := Activity(d); got != "the group is Stable with 7 members (c on 10.0.0.7, c on 10.0.0.7, c on 10.0.0.7, c on 10.0.0.7, c on 10.0.0.7, and 2 more)" {
		t.Error(got)
	}
	d.Members = d.Members[:1]
	if got := Activity(d); got != "the group is Stable with 1 member (c on 10.0.0.7)" {
		t.Error(got)
	}
	d.Members, d.State = nil, "PreparingRebalance"
	if got := Activity(d); got != "the group is PreparingRebalance" {
		t.Error(got)
	}
}
