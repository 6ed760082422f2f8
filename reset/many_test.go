package reset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/commits"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// Thousands of groups take as long as they take: what bounds a phase is that nothing moves, in the check before a write as
// well. They are moved, put back and deleted in seconds; the bound is for a machine under load.
func TestThousandsOfGroups(t *testing.T) {
	const groups = 5_000
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	r := request("", f.Topic, at(8))
	r.Groups, r.Create = nil, false
	var jobs []commits.Job
	for i := range groups {
		name := fmt.Sprintf("many-%05d", i)
		r.Groups = append(r.Groups, inspect.Group{Name: name})
		jobs = append(jobs, commits.Job{Group: name, Op: commits.Commit,
			Rows: []commits.Row{{Partition: offset.Partition{Topic: f.Topic}, Offset: 6}}})
	}
	commits.Write(t.Context(), cl, jobs, func(_ int, _ []int, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	r.Scope.Topics[0].Partitions = []int32{0}
	began := time.Now()
	var mu sync.Mutex
	moves := map[string]int{}
	o := options(t, t.TempDir())
	o.Phase = func(ctx context.Context, what string) (context.Context, func(), context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, func() { mu.Lock(); moves[what]++; mu.Unlock() }, cancel
	}
	res := apply(t, cl, prepare(t, cl, r), o)
	if res.Count(OutcomeChanged) != groups {
		t.Fatalf("%d of %d groups moved", res.Count(OutcomeChanged), groups)
	}
	if n := moves["check the plan against the cluster"]; n < 2 {
		t.Errorf("the check said %d times that something moved", n)
	}
	undo(t, cl, o.StateDir, res.UndoID, Undo{})
	var names []string
	for _, g := range r.Groups {
		names = append(names, g.Name)
	}
	res = apply(t, cl, planDelete(t, cl, names...), options(t, t.TempDir()))
	gone := 0
	for _, g := range res.Groups {
		if g.Outcome == OutcomeDeleted {
			gone++
		}
	}
	if gone != groups {
		t.Errorf("%d of %d groups deleted", gone, groups)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("it took %s", took)
	} else {
		t.Logf("moved, put back and deleted in %s", took)
	}
}

// A check in which nothing moves ends when the phase says so, with the phase's own reason.
func TestCheckEndsWhereNothingMoves(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	idle := errors.New("nothing moved")
	o := options(t, t.TempDir())
	o.Phase = func(ctx context.Context, what string) (context.Context, func(), context.CancelFunc) {
		ctx, end := context.WithCancelCause(ctx)
		end(idle)
		return ctx, func() {}, func() {}
	}
	if _, err := Apply(t.Context(), cl, p, o); !errors.Is(err, idle) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	kafkatest.Commit(t, cl, f.App, kafkatest.At(f.Topic, 0, 6)) // nothing was sent, and the cluster still answers
}

// What was written is read back in one round trip, however many groups there are, and each answer says that something moved.
func TestManyGroupsAreReadBackAtOnce(t *testing.T) {
	const groups, aRequest = 1_200, 50
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	a := &applier{cl: kafkatest.AnswerTogether(t, c, kmsg.OffsetFetch, 0, groups/aRequest), res: &Result{}}
	var all []int
	for i := range groups {
		a.res.Rows = append(a.res.Rows, Row{Change: Change{Group: fmt.Sprintf("many-%05d", i), Partition: offset.Partition{Topic: f.Topic}}})
		all = append(all, i)
	}
	var moved atomic.Int64
	now := a.readBack(t.Context(), all, func() { moved.Add(1) })
	for _, r := range a.res.Rows {
		if err := now.err(r); err != nil {
			t.Fatalf("%s: %v", r.Group, err)
		}
	}
	if moved.Load() < groups/aRequest {
		t.Errorf("it was said %d times that something moved", moved.Load())
	}
}
