package reset

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// A group of which something may be hidden is not deleted as a whole, unless that was asked for; a plan that was made by
// somebody who sees all is not applied by somebody who does not.
func TestDeleteWhatMayBeHidden(t *testing.T) {
	w := small()
	for _, v := range []inspect.Visibility{{Hidden: []string{"b", "c"}}, {Err: errors.New("no DESCRIBE on the cluster")}} {
		f := w.read()
		f.Visibility = &v
		r := &Request{Verb: "delete", Groups: w.groups()[:1], Scope: Scope{All: true}, Task: Task{Delete: true, Whole: true}}
		b, err := r.Task.build(r, f)
		rowsOf(t, b, err)
		if g := b.Plan.Groups[0]; !g.Delete || g.Hidden == "" || g.TakeHidden || len(b.Notes) == 0 || !strings.Contains(g.Hidden, "this user may not describe") {
			t.Errorf("planned %+v, notes %+v", g, b.Notes)
		}
		if c := Check(b.Plan, f, Allowed{}); len(c.Drifts) > 0 {
			t.Errorf("it cannot be applied: %v", c.Drifts)
		}
		sees, err := r.Task.build(r, w.read())
		rowsOf(t, sees, err)
		if c := Check(sees.Plan, f, Allowed{Commits: true}); len(c.Drifts) != 1 || c.Drifts[0].Kind != DriftHidden {
			t.Errorf("a plan of somebody who sees all: drifts %v", c.Drifts)
		}
		r.Task.TakeHidden = true
		taken, err := r.Task.build(r, f)
		rowsOf(t, taken, err)
		if c := Check(taken.Plan, f, Allowed{}); len(c.Drifts) > 0 || taken.Plan.Groups[0].Hidden != "" {
			t.Errorf("asked for: drifts %v, group %+v", c.Drifts, taken.Plan.Groups[0])
		}
	}
}

// That there is nothing to repair is not known of commits that are hidden.
func TestRepairOfWhatMayBeHidden(t *testing.T) {
	w := small()
	f := w.read()
	r := &Request{Verb: "repair", Groups: w.groups()[:1], Scope: Scope{All: true}, Task: Task{Repair: &Mends{}}}
	hidden := func() (n int) {
		b, err := r.Task.build(r, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, note := range b.Notes {
			if note.Kind == NoteHidden && note.Several {
				n++
			}
		}
		return n
	}
	if hidden() != 0 {
		t.Error("it is said although all can be seen")
	}
	f.Visibility = &inspect.Visibility{Hidden: []string{"b"}}
	if hidden() != 1 {
		t.Error("it is not said once")
	}
	r.Groups = nil // as where nothing is invalid
	if hidden() != 1 {
		t.Error("where there is nothing to repair it is not said")
	}
}

// What members read is known to whoever may describe the group: a topic among it that may not be described has hidden commits.
func TestTopicsOfMembersThatAreHidden(t *testing.T) {
	topics := map[string]inspect.Topic{"a": {Name: "a"}, "b": {Name: "b", Err: kerr.TopicAuthorizationFailed}, "c": {Name: "c", Err: kerr.TopicAuthorizationFailed},
		"gone": {Name: "gone", Err: kerr.UnknownTopicOrPartition}}
	g := &GroupFacts{Description: inspect.Description{Group: inspect.Group{Name: "g"}, Members: []inspect.Member{
		{Topics: []string{"a", "c", "gone"}}, {Assigned: []offset.Partition{{Topic: "b"}, {Topic: "a"}}}}}}
	for _, tc := range []struct {
		known *inspect.Visibility
		want  string
	}{
		{nil, ""},
		{&inspect.Visibility{}, "hidden: b, c"},
		{&inspect.Visibility{Hidden: []string{"b", "x"}}, "hidden: b, c, x"},
		{&inspect.Visibility{Err: errors.New("no rights")}, "hidden: b, c; whether there are more such topics is not known (no rights)"},
	} {
		f := &Facts{Groups: map[string]*GroupFacts{"g": g}, Visibility: tc.known}
		f.hideReadBy(topics)
		switch {
		case tc.known == nil && (f.Visibility != nil || len(f.readBy(g)) > 0):
			t.Errorf("it is looked at where nothing is asked: %v", f.Visibility)
		case tc.known != nil && (f.Visibility.All() || !strings.HasSuffix(f.Visibility.String(), tc.want)):
			t.Errorf("got %q, want %q", f.Visibility, tc.want)
		}
	}
}

// The commits that can be seen go one by one, the group stays, and both are said.
func TestDeleteCommitByCommit(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := planDelete(t, cl, f.App)
	p.Groups[0].Hidden = "commits are hidden"
	c.ControlKey(int16(kmsg.DeleteGroups), func(kmsg.Request) (kmsg.Response, error, bool) {
		t.Error("the group was deleted as a whole")
		return nil, nil, false
	})
	dir := t.TempDir()
	res := apply(t, cl, p, options(t, dir))
	if res.Count(OutcomeChanged) != 2 {
		t.Errorf("rows %+v", res.Rows)
	}
	switch g := res.Groups[0]; g.Outcome {
	case OutcomeDeleted: // the broker removed it with its last commit
	case OutcomeLeft:
		if !g.Bad() || !strings.Contains(g.Err.Error(), "the group itself is left") || !strings.Contains(g.Err.Error(), "commits are hidden") {
			t.Errorf("the group is %s: %v", g.Outcome, g.Err)
		}
	default:
		t.Errorf("the group is %s: %v", g.Outcome, g.Err)
	}
	want(t, cl, f.App, f.Topic, nil)
	if e := entry(t, dir); e.Count(checkpointfile.StateVerified) != 2 {
		t.Errorf("the journal says %v", e.States)
	}
	undo(t, cl, dir, res.UndoID, Undo{})
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
}
