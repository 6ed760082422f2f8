package migrate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

// What a round does with a row follows from three numbers: the source's, the target's, and the syncer's own.
func TestSyncStep(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	was := func(source, target int64) *Carried {
		return &Carried{Sync: Sync{Source: source, Target: target}, At: now.Add(-time.Minute)}
	}
	with := func(c *Carried, change func(*Carried)) *Carried { change(c); return c }
	next := func(source, target int64) func(*Carried) {
		return func(c *Carried) { c.Next = &Sync{Source: source, Target: target} }
	}
	over := func(c *Carried) { c.TakenOver = true }
	logs := func(source, target string) func(*Carried) {
		return func(c *Carried) { c.Logs = Logs{Source: source, Target: target} }
	}
	const none = -1
	for name, c := range map[string]struct {
		s              Syncer
		source, target int64
		was            *Carried
		want           SyncStep
		over           bool
	}{
		"new":                            {Syncer{}, 80, none, nil, StepCarry, false},
		"new, the target has a commit":   {Syncer{}, 80, 20, nil, StepCarry, false},
		"nothing moved":                  {Syncer{}, 80, 20, was(80, 20), StepNone, false},
		"the source moved":               {Syncer{}, 85, 20, was(80, 20), StepCarry, false},
		"expired on the target":          {Syncer{}, 80, none, was(80, 20), StepRestore, false},
		"changed on the target":          {Syncer{}, 80, 30, was(80, 20), StepTakenOver, true},
		"changed there, source moved":    {Syncer{}, 850, 90, was(80, 80), StepTakenOver, true},
		"moved back on the target":       {Syncer{}, 80, 10, was(80, 20), StepTakenOver, true},
		"taken over before, same number": {Syncer{}, 85, 20, with(was(80, 20), over), StepTakenOver, true},
		"taken over, expired":            {Syncer{}, 85, none, with(was(80, 20), over), StepTakenOver, true},
		"taken back":                     {Syncer{TakeBack: true}, 80, 30, was(80, 20), StepCarry, false},
		"taken back later":               {Syncer{TakeBack: true}, 80, 30, with(was(80, 20), over), StepCarry, false},
		"the source went back":           {Syncer{}, 70, 20, was(80, 20), StepWentBack, false},
		"the source went back, followed": {Syncer{FollowBack: true}, 70, 20, was(80, 20), StepCarry, false},
		"killed behind the commit":       {Syncer{}, 85, 25, with(was(80, 20), next(85, 25)), StepNone, false},
		"killed before the commit":       {Syncer{}, 85, 20, with(was(80, 20), next(85, 25)), StepCarry, false},
		"killed, and somebody else":      {Syncer{}, 85, 23, with(was(80, 20), next(85, 25)), StepTakenOver, true},
		"killed before the first commit, which goes over one": {Syncer{}, 80, 10, with(was(-1, 10), next(80, 20)), StepCarry, false},
		"the target's topic was made anew":                    {Syncer{}, 80, 20, with(was(80, 20), logs("s", "other")), StepCarry, false},
		"made anew, and somebody reads it":                    {Syncer{}, 80, 5, with(was(80, 20), logs("s", "other")), StepTakenOver, true},
		"the source's topic was made anew":                    {Syncer{}, 7, 20, with(was(80, 20), logs("other", "t")), StepCarry, false},
		"ids are not known of then":                           {Syncer{}, 80, 20, with(was(80, 20), logs("", "")), StepNone, false},
		"old, but not half of it":                             {Syncer{Retention: 3 * time.Minute}, 80, 20, was(80, 20), StepNone, false},
		"half of the retention is over":                       {Syncer{Retention: 2 * time.Minute}, 80, 20, was(80, 20), StepRefresh, false},
	} {
		i := &Item{Row: Row{Committed: &offset.Committed{Offset: c.source}}, Logs: Logs{Source: "s", Target: "t"}}
		if c.target != none {
			i.Current = &offset.Committed{Offset: c.target}
		}
		got, now := c.s.step(i, c.was, now)
		if got != c.want || now.TakenOver != c.over {
			t.Errorf("%s: %s, taken over %t; want %s", name, got, now.TakenOver, c.want)
		}
	}
}

// What was intended and what was done is on disk: a syncer that starts again knows its own commits.
func TestSyncerRemembers(t *testing.T) {
	dir := t.TempDir()
	clock := func() time.Time { return time.Unix(1_700_000_000, 0).UTC() }
	open := func() *Syncer {
		s := &Syncer{State: OpenSyncState(dir, "src", "dst", "test"), Clock: clock}
		var err error
		if s.carried, err = s.State.Load(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	item := func(group string, at, to int64, current *offset.Committed) *Item {
		return &Item{Row: Row{Group: group, Partition: offset.Partition{Topic: "orders"}, Committed: &offset.Committed{Offset: at}}, Group: group,
			Target: offset.Partition{Topic: "orders"}, Current: current, Translation: Translation{Outcome: Exact, Offset: to}}
	}
	over := item("over", 80, 20, &offset.Committed{Offset: 10})
	over.Logs = Logs{Source: "s", Target: "t"}
	r := &SyncRound{Look: &SyncLook{}, Planned: &Planned{Skipped: []string{"busy"}},
		Result: &Result{Items: []*Item{item("a", 80, 20, nil), item("ahead", 80, 20, &offset.Committed{Offset: 30}), item("busy", 80, 20, nil), over}}}
	s := open()
	if err := s.Intend(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	key := func(group string) checkpointfile.Key {
		return checkpointfile.Key{Group: group, Partition: offset.Partition{Topic: "orders"}}
	}
	again := open()
	if c := again.carried[key("a")]; c.Next == nil || *c.Next != (Sync{Source: 80, Target: 20}) || len(again.carried) != 2 {
		t.Fatalf("what was intended is %+v", again.carried)
	}
	kept := again.carried[key("a")]
	if step, _ := again.step(item("a", 80, 20, &offset.Committed{Offset: 20}), &kept, clock()); step != StepNone {
		t.Errorf("after a crash behind the commit: %s", step)
	}
	if kept := again.carried[key("over")]; kept.Logs != over.Logs {
		t.Errorf("the logs of %+v", kept)
	} else if step, _ := again.step(over, &kept, clock()); step != StepCarry {
		t.Errorf("after a crash in front of the first commit, on a group that had one: %s", step)
	}
	if err := s.Carried(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	again = open()
	if c := again.carried[key("a")]; c.Sync != (Sync{Source: 80, Target: 20}) || c.Next != nil || !c.At.Equal(clock()) {
		t.Errorf("what was done is %+v", c)
	}
	if c := again.carried[key("ahead")]; !c.TakenOver || len(again.carried) != 3 {
		t.Errorf("remembered: %+v", again.carried)
	}
}

// Rounds begin an interval apart however long one takes, a failure does not end the loop unless it is said to, and the last
// round's error is the loop's.
func TestSyncLoopKeepsItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		boom := errors.New("boom")
		loop := SyncLoop{Every: time.Minute, Last: 3, Now: time.Now,
			Round: func(_ context.Context, n int) error {
				at = append(at, time.Since(begin))
				<-time.After(10 * time.Second)
				if n >= 2 {
					return boom
				}
				return nil
			},
			Ended: func(_ int, took time.Duration, _ bool, _ error) error {
				if took != 10*time.Second {
					t.Errorf("a round took %s", took)
				}
				return nil
			}}
		if err := loop.Run(t.Context()); !errors.Is(err, boom) {
			t.Errorf("the loop returned %v", err)
		}
		if len(at) != 3 || at[1] != time.Minute || at[2] != 2*time.Minute {
			t.Errorf("rounds began at %v", at)
		}
		fatal := errors.New("refused")
		loop.Ended = func(int, time.Duration, bool, error) error { return fatal }
		at = nil
		if err := loop.Run(t.Context()); !errors.Is(err, fatal) || len(at) != 1 {
			t.Errorf("after %d rounds: %v", len(at), err)
		}
	})
}
