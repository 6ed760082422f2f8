package reset

// Groups that are deleted as a whole: an outcome of their own, read back.

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// empty makes a group that exists and stores nothing.
func empty(t *testing.T, cl *kgo.Client, name, topic string) {
	t.Helper()
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: name, Topics: []string{topic}}).Close()
	kafkatest.WaitGroupState(t, cl, name, "Empty")
}

func planDelete(t *testing.T, cl *kgo.Client, groups ...string) *Plan {
	t.Helper()
	r := &Request{Verb: "delete", Scope: Scope{All: true}, Position: earliest}
	for _, g := range groups {
		r.Groups = append(r.Groups, inspect.Group{Name: g})
	}
	f, err := Gather(t.Context(), cl, r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := BuildDelete(r, f, true)
	if err != nil || len(b.Failed) > 0 {
		t.Fatal(err, b.Failed)
	}
	return b.Plan
}

func exists(t *testing.T, cl *kgo.Client, name string) bool {
	t.Helper()
	ds, err := inspect.DescribeNamed(t.Context(), cl, []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return !ds[name].NotFound
}

// The coordinator moves while a group without commits is deleted: it is asked again, and the group is looked for.
func TestDeleteOfAGroupThatStoresNothing(t *testing.T) {
	c, cl := kafkatest.FakeClient(t, kfake.NumBrokers(3))
	f := kafkatest.F1(t, cl, "")
	empty(t, cl, "bare", f.Topic)
	p := planDelete(t, cl, "bare")
	if len(p.Groups) != 1 || !p.Groups[0].Delete || len(p.Changes) != 0 {
		t.Fatalf("plan %+v", p)
	}
	moved := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DeleteGroups}, Err: kerr.NotCoordinator, Count: 1})
	dir := t.TempDir()
	res := apply(t, cl, p, options(t, dir))
	if len(res.Groups) != 1 || res.Groups[0].Outcome != OutcomeDeleted || res.Groups[0].Bad() || moved.Hits() != 1 {
		t.Errorf("groups %+v, %d faults", res.Groups, moved.Hits())
	}
	if exists(t, cl, "bare") {
		t.Error("the group still exists")
	}
	if e := entry(t, dir); e.GroupStates["bare"] != checkpointfile.StateVerified || e.Outcome != "done" || !e.Groups[0].Delete {
		t.Errorf("the journal says %v, %q", e.GroupStates, e.Outcome)
	}
	// Applied once more there is nothing left, and no request is made.
	asked := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DeleteGroups}, Observe: true, Count: -1})
	res = apply(t, cl, p, options(t, t.TempDir()))
	if len(res.Groups) != 1 || res.Groups[0].Outcome != OutcomeUnchanged || res.UndoID != "" || asked.Hits() != 0 {
		t.Errorf("groups %+v, %d requests", res.Groups, asked.Hits())
	}
}

// What the broker says of a group is not what is true of it.
func TestDeleteIsReadBack(t *testing.T) {
	for _, tc := range []struct {
		name string
		code int16
		want Outcome
		text string
		end  string
	}{
		{"accepted, and nothing done", 0, OutcomeDiffers, "the broker accepted it, but the group still exists", "failed"},
		{"timed out", kerr.RequestTimedOut.Code, OutcomeUnknown, "the group exists so far", "unknown"},
		{"failed in the broker", kerr.UnknownServerError.Code, OutcomeFailed, "UNKNOWN_SERVER_ERROR", "failed"},
		{"denied", kerr.GroupAuthorizationFailed.Code, OutcomeFailed, "the user needs DELETE on the group", "failed"},
		{"somebody joined", kerr.NonEmptyGroup.Code, OutcomeFailed, "the group became active between the check and the write", "failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, cl := kafkatest.FakeClient(t)
			f := kafkatest.F1(t, cl, "")
			empty(t, cl, "bare", f.Topic)
			p := planDelete(t, cl, "bare")
			c.ControlKey(int16(kmsg.DeleteGroups), func(req kmsg.Request) (kmsg.Response, error, bool) {
				resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
				g := kmsg.NewDeleteGroupsResponseGroup()
				g.Group, g.ErrorCode = "bare", tc.code
				resp.Groups = append(resp.Groups, g)
				return resp, nil, true
			})
			dir := t.TempDir()
			res := apply(t, cl, p, options(t, dir))
			if g := res.Groups[0]; g.Outcome != tc.want || g.Err == nil || !strings.Contains(g.Err.Error(), tc.text) {
				t.Errorf("the group is %s: %v", g.Outcome, g.Err)
			}
			if e := entry(t, dir); e.Outcome != tc.end {
				t.Errorf("the journal says %v, %q", e.GroupStates, e.Outcome)
			}
		})
	}
}

// One group in use beside one that goes: each has its own outcome.
func TestDeleteOfSeveralGroups(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := planDelete(t, cl, f.App, f.App2)
	m := kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: f.App, Topics: []string{f.Topic}})
	res := apply(t, cl, p, options(t, t.TempDir()))
	m.Close()
	if len(res.Groups) != 2 || res.Groups[0].Outcome != OutcomeRefused || res.Groups[1].Outcome != OutcomeDeleted {
		t.Fatalf("groups %+v", res.Groups)
	}
	var drift *DriftError
	if !errors.As(res.Groups[0].Err, &drift) || !drift.Has(DriftActive) {
		t.Errorf("got %v", res.Groups[0].Err)
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
	if exists(t, cl, f.App2) {
		t.Error("app2 still exists")
	}
}

// The commits of a large group go before the group. Somebody joins in between: the group stays, what went is said to have
// gone, and undo puts it back.
func TestDeleteOfALargeGroupThatIsRefusedHalfWay(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	const parts = 1000
	kafkatest.CreateTopic(t, cl, "wide", parts)
	long := strings.Repeat("g", 1200)
	commits := make([]kafkatest.Committed, parts)
	for i := range commits {
		commits[i] = kafkatest.At("wide", int32(i), 0)
	}
	kafkatest.Commit(t, cl, long, commits[:parts/2]...)
	kafkatest.Commit(t, cl, long, commits[parts/2:]...)
	p := planDelete(t, cl, long)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DeleteGroups}, Err: kerr.NonEmptyGroup, Count: 1})
	dir := t.TempDir()
	res := apply(t, cl, p, options(t, dir))
	if g := res.Groups[0]; g.Outcome != OutcomeFailed || !errors.Is(g.Err, ErrBecameActive) {
		t.Errorf("the group is %s: %v", g.Outcome, g.Err)
	}
	if n := res.Count(OutcomeChanged); n != parts {
		t.Errorf("%d of %d rows changed, the first is %s: %v", n, parts, res.Rows[0].Outcome, res.Rows[0].Err)
	}
	if left := len(kafkatest.CommittedOffsets(t, cl, long, "wide")); left != 0 {
		t.Fatalf("%d commits are left", left)
	}
	e := entry(t, dir)
	if e.Outcome != "partial" || e.GroupStates[long] != checkpointfile.StateFailed || e.States[0] != checkpointfile.StateVerified {
		t.Errorf("the journal says %q, the group %v, its first row %v", e.Outcome, e.GroupStates[long], e.States[0])
	}
	undo(t, cl, dir, e.ID, Undo{})
	if back := len(kafkatest.CommittedOffsets(t, cl, long, "wide")); back != parts {
		t.Errorf("undo brought %d commits back, want %d", back, parts)
	}
}
