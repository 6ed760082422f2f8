package reset

import (
	"errors"
	"slices"
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
	r := &Request{Verb: "reset", Groups: w.groups(), Scope: Scope{Topics: []offset.TopicSpec{{Topic: "t"}}}, Position: earliest, Patterned: map[string]bool{"a": true, "b": true}, Create: true}
	b, err := Build(r, w.read())
	if err != nil || len(b.Failed) > 0 || len(b.Plan.Groups) != 1 || b.Plan.Groups[0].Name != "a" {
		t.Errorf("groups %+v, failed %v, %v", b.Plan.Groups, b.Failed, err)
	}
	if len(b.Without) != 1 || b.Without[0] != "b" || !slices.ContainsFunc(b.Notes, func(n Note) bool {
		return n.Kind == NoteWithout && n.Text == "1 group stores nothing in scope and is left out: b"
	}) {
		t.Errorf("left out %v, notes %+v: a group that is left out is named", b.Without, b.Notes)
	}
	// A name beside a pattern does not take the guard away from what the pattern chose.
	r.Patterned = map[string]bool{"b": true}
	if b, err = Build(r, w.read()); err != nil || len(b.Plan.Groups) != 1 || b.Plan.Groups[0].Name != "a" {
		t.Errorf("groups %+v, %v", b.Plan.Groups, err)
	}
	r.Patterned = nil
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

// Under read_committed the end of a log is its last stable offset, for a repair as for a reset.
func TestRepairToTheStableEnd(t *testing.T) {
	w := small()
	p0 := offset.Partition{Topic: "t", Partition: 0}
	w.facts[p0] = offset.Facts{Bounds: &offset.Bounds{Start: 0, End: 11, LastStable: 7}, StartEpoch: offset.EpochOf(1), EndEpoch: offset.EpochOf(2)}
	w.stored["a"][p0] = offset.Committed{Offset: 15}
	for _, tc := range []struct {
		iso   offset.Isolation
		want  int64
		epoch offset.LeaderEpoch
	}{{offset.ReadUncommitted, 11, offset.EpochOf(2)}, {offset.ReadCommitted, 7, offset.LeaderEpoch{}}} {
		r := &Request{Verb: "repair", Groups: w.groups()[:1], Scope: Scope{Topics: []offset.TopicSpec{{Topic: "t", Partitions: []int32{0}}}}, Rules: offset.Rules{Isolation: tc.iso}}
		b, err := BuildRepair(r, w.read(), DefaultMends())
		row := rowsOf(t, b, err)["t:0"]
		if row.To == nil || row.To.Offset != tc.want || row.To.LeaderEpoch != tc.epoch {
			t.Errorf("%s: planned %+v, want %d", tc.iso, row.To, tc.want)
		}
	}
}

// One partition that cannot be read does not keep the others from being repaired, unless it was asked for by its number.
func TestRepairPastAnUnreadablePartition(t *testing.T) {
	w := small()
	p0, p1 := offset.Partition{Topic: "t", Partition: 0}, offset.Partition{Topic: "t", Partition: 1}
	w.facts[p0] = offset.Facts{Err: kerr.LeaderNotAvailable}
	w.stored["a"][p1] = offset.Committed{Offset: 99}
	r := &Request{Verb: "repair", Groups: w.groups()[:1], Scope: Scope{All: true}}
	b, err := BuildRepair(r, w.read(), DefaultMends())
	rows := rowsOf(t, b, err)
	if _, planned := rows["t:0"]; planned || rows["t:1"].Action != checkpointfile.ActionCommit || Summarize(b.Plan).Refused != 0 {
		t.Errorf("planned %+v", rows)
	}
	if len(b.Failed) != 1 || !errors.Is(b.Failed[0], kerr.LeaderNotAvailable) || !strings.Contains(b.Failed[0].Error(), "t:0 is left alone") {
		t.Errorf("failed %v", b.Failed)
	}
	r.Scope = Scope{Topics: []offset.TopicSpec{{Topic: "t", Partitions: []int32{0, 1}}}}
	b, err = BuildRepair(r, w.read(), DefaultMends())
	if rows = rowsOf(t, b, err); rows["t:0"].Action != checkpointfile.ActionRefuse {
		t.Errorf("planned %+v", rows["t:0"])
	}
}
