package inspect_test

import (
	"math"
	"testing"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

func commitOf(n int64) *offset.Committed { return &offset.Committed{Offset: n} }

func logOf(start, stable, end int64) *offset.Bounds {
	return &offset.Bounds{Start: start, LastStable: stable, End: end}
}

func TestJudge(t *testing.T) {
	const nothing = -1 // no lag at all, which is not a lag of 0
	for _, c := range []struct {
		name     string
		commit   *offset.Committed
		unstable bool
		bounds   *offset.Bounds
		iso      offset.Isolation
		status   inspect.Status
		lag      int64
		expired  int64
		ahead    int64
		held     int64
	}{
		{name: "in the log", commit: commitOf(6), bounds: logOf(4, 10, 10), status: inspect.StatusOK, lag: 4},
		{name: "at the end", commit: commitOf(10), bounds: logOf(4, 10, 10), status: inspect.StatusOK},
		{name: "at the start", commit: commitOf(4), bounds: logOf(4, 10, 10), status: inspect.StatusOK, lag: 6},
		{name: "empty log, commit at its only place", commit: commitOf(5), bounds: logOf(5, 5, 5), status: inspect.StatusOK},

		// A lag of 0, or of -94, would hide that the next fetch fails.
		{name: "past the end", commit: commitOf(99), bounds: logOf(3, 5, 5), status: inspect.StatusPastLogEnd, lag: nothing, ahead: 94},
		{name: "one past the end", commit: commitOf(6), bounds: logOf(3, 5, 5), status: inspect.StatusPastLogEnd, lag: nothing, ahead: 1},
		{name: "past the end of a recreated topic", commit: commitOf(1), bounds: logOf(0, 0, 0), status: inspect.StatusPastLogEnd, lag: nothing, ahead: 1},

		// end - commit would be 4, but two of those records do not exist.
		{name: "below the start", commit: commitOf(1), bounds: logOf(3, 5, 5), status: inspect.StatusBelowLogStart, lag: 2, expired: 2},
		{name: "below the start of a drained log", commit: commitOf(1), bounds: logOf(5, 5, 5), status: inspect.StatusBelowLogStart, expired: 4},

		{name: "no commit", bounds: logOf(0, 10, 10), status: inspect.StatusNoCommit, lag: nothing},
		{name: "no commit, no log", status: inspect.StatusNoCommit, lag: nothing},
		{name: "a stored -5", commit: commitOf(-5), bounds: logOf(0, 10, 10), status: inspect.StatusInvalidCommit, lag: nothing},
		{name: "a stored minimum", commit: commitOf(math.MinInt64), bounds: logOf(0, 10, 10), status: inspect.StatusInvalidCommit, lag: nothing},
		{name: "a commit and no log", commit: commitOf(5), status: inspect.StatusError, lag: nothing},

		// One marker after three records: a lag of 1 is at most one record, and it is not rounded to 0.
		{name: "behind a marker", commit: commitOf(3), bounds: logOf(0, 4, 4), status: inspect.StatusOK, lag: 1},
		{name: "open transaction, uncommitted view", commit: commitOf(7), bounds: logOf(0, 7, 11), status: inspect.StatusOK, lag: 4, held: 4},
		{name: "open transaction, committed view", commit: commitOf(7), bounds: logOf(0, 7, 11), iso: offset.ReadCommitted, status: inspect.StatusOK, held: 4},
		{name: "before the open transaction, committed view", commit: commitOf(4), bounds: logOf(0, 7, 11), iso: offset.ReadCommitted, status: inspect.StatusOK, lag: 3, held: 4},
		// A read_uncommitted reader of the same group may stand there: it is inside the log.
		{name: "inside the open transaction, committed view", commit: commitOf(9), bounds: logOf(0, 7, 11), iso: offset.ReadCommitted, status: inspect.StatusOK, held: 4},

		{name: "unstable", commit: commitOf(6), unstable: true, bounds: logOf(0, 10, 10), status: inspect.StatusUnstable, lag: 4},
		{name: "unstable and nothing final", unstable: true, bounds: logOf(0, 10, 10), status: inspect.StatusUnstable, lag: nothing},
		// What has expired is worse news than what is pending.
		{name: "unstable below the start", commit: commitOf(1), unstable: true, bounds: logOf(3, 5, 5), status: inspect.StatusBelowLogStart, lag: 2, expired: 2},
		{name: "unstable past the end", commit: commitOf(9), unstable: true, bounds: logOf(3, 5, 5), status: inspect.StatusPastLogEnd, lag: nothing, ahead: 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := inspect.Judge(c.commit, c.unstable, c.bounds, c.iso)
			if v.Status != c.status || v.ExpiredUnread != c.expired || v.Ahead != c.ahead || v.HeldBack != c.held {
				t.Errorf("%+v; want status %s, expired %d, ahead %d, held back %d", v, c.status, c.expired, c.ahead, c.held)
			}
			switch {
			case c.lag == nothing && v.Lag != nil:
				t.Errorf("lag %d, want none", *v.Lag)
			case c.lag != nothing && (v.Lag == nil || *v.Lag != c.lag):
				t.Errorf("lag %v, want %d", v.Lag, c.lag)
			}
		})
	}
}

// Whatever the numbers, a lag is neither negative nor more than the log holds.
func FuzzJudge(f *testing.F) {
	f.Add(int64(6), int64(4), int64(9), int64(10), true)
	f.Add(int64(-5), int64(0), int64(0), int64(0), false)
	f.Fuzz(func(t *testing.T, commit, start, stable, end int64, committed bool) {
		if start < 0 || stable < start || end < stable {
			return // no log is like that
		}
		iso := offset.ReadUncommitted
		if committed {
			iso = offset.ReadCommitted
		}
		v := inspect.Judge(commitOf(commit), false, logOf(start, stable, end), iso)
		if (v.Lag == nil) == (v.Status == inspect.StatusOK || v.Status == inspect.StatusBelowLogStart) {
			t.Errorf("status %s with lag %v", v.Status, v.Lag)
		}
		if v.Lag != nil && (*v.Lag < 0 || *v.Lag > end-start) {
			t.Errorf("lag %d of a log from %d to %d", *v.Lag, start, end)
		}
		if v.ExpiredUnread < 0 || v.Ahead < 0 || v.HeldBack != end-stable {
			t.Errorf("%+v", v)
		}
	})
}

func TestStatusOrder(t *testing.T) {
	order := []inspect.Status{inspect.StatusOK, inspect.StatusNoCommit, inspect.StatusUnstable, inspect.StatusBelowLogStart,
		inspect.StatusPastLogEnd, inspect.StatusInvalidCommit, inspect.StatusUnknownTopic, inspect.StatusError}
	for i, a := range order {
		for j, b := range order {
			if got := inspect.Worse(a, b); got != order[max(i, j)] {
				t.Errorf("the worse of %s and %s is %s", a, b, got)
			}
		}
		if want := i >= 3; a.Unhealthy() != want {
			t.Errorf("%s unhealthy: %t", a, a.Unhealthy())
		}
	}
}
