package migrate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/koffset/koffset/offset"
)

// A row is looked at again when its source has moved, and only then; one whose group was in use on the target stays pending.
func TestSyncerRemembersWhatItCarried(t *testing.T) {
	row := func(group string, at int64) Row {
		return Row{Group: group, Partition: offset.Partition{Topic: "orders"}, Committed: &offset.Committed{Offset: at}}
	}
	export := func(rows ...Row) *Export {
		x := &Export{}
		for _, r := range rows {
			x.Groups = append(x.Groups, Group{Name: r.Group, Rows: []Row{r}})
		}
		return x
	}
	pending := func(s *Syncer, rows ...Row) (out []string) {
		for _, r := range s.Pending(export(rows...)) {
			out = append(out, r.Group)
		}
		return out
	}
	s := &Syncer{}
	if got := pending(s, row("a", 5), row("b", 5)); len(got) != 2 {
		t.Fatalf("pending at first: %q", got)
	}
	item := func(group string, at int64) *Item {
		return &Item{Row: row(group, at), Group: group, Translation: Translation{Outcome: Exact}}
	}
	s.Carried(&SyncRound{Result: &Result{Items: []*Item{item("a", 5), item("b", 5)}}, Planned: &Planned{Skipped: []string{"b"}}})
	if got := pending(s, row("a", 5), row("b", 5)); len(got) != 1 || got[0] != "b" {
		t.Errorf("pending after a was carried and b was in use: %q", got)
	}
	if got := pending(s, row("a", 6)); len(got) != 1 {
		t.Errorf("a moved, pending: %q", got)
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
