package reset

import (
	"testing"

	"github.com/koffset/koffset/checkpointfile"
)

// The most that a row can come to. What is not known has no number.
func TestMost(t *testing.T) {
	n := func(i int64) *int64 { return &i }
	in := func(c Change) Change { // a log of 100 to 1,018
		c.LogStart, c.LogEnd, c.LastStable = n(100), n(1018), n(1018)
		return c
	}
	at := func(o int64) *Commit { return &Commit{Offset: o} }
	for _, tc := range []struct {
		name          string
		c             Change
		rereads, skip int64
		known         bool
	}{
		{"moved forward", in(Change{Action: checkpointfile.ActionCommit, From: at(200), To: at(300)}), 0, 100, true},
		{"moved back", in(Change{Action: checkpointfile.ActionCommit, From: at(300), To: at(200)}), 100, 0, true},
		{"moved without the log", Change{Action: checkpointfile.ActionCommit, From: at(300), To: at(200)}, 100, 0, true},
		{"first commit at the end", in(Change{Action: checkpointfile.ActionCommit, To: at(1018)}), 0, 918, true},
		{"first commit at the start", in(Change{Action: checkpointfile.ActionCommit, To: at(100)}), 918, 0, true},
		{"first commit between", in(Change{Action: checkpointfile.ActionCommit, To: at(300)}), 718, 200, true},
		{"first commit outside", in(Change{Action: checkpointfile.ActionCommit, To: at(50)}), 918, 0, true},
		{"instead of a negative one", in(Change{Action: checkpointfile.ActionCommit, From: at(-5), To: at(300)}), 718, 200, true},
		{"first commit without the log", Change{Action: checkpointfile.ActionCommit, To: at(300)}, 0, 0, false},
		{"deleted", in(Change{Action: checkpointfile.ActionDelete, From: at(300)}), 200, 718, true},
		{"deleted past the end", in(Change{Action: checkpointfile.ActionDelete, From: at(5000)}), 918, 0, true},
		{"a negative one deleted", in(Change{Action: checkpointfile.ActionDelete, From: at(-1)}), 0, 0, true},
		{"deleted without the log", Change{Action: checkpointfile.ActionDelete, From: at(300)}, 0, 0, false},
		{"deleted from a topic that is gone", Change{Action: checkpointfile.ActionDelete, From: at(300), Gone: true}, 0, 0, true},
	} {
		rereads, skip, known := Most(tc.c)
		if rereads != tc.rereads || skip != tc.skip || known != tc.known {
			t.Errorf("%s: %d read again, %d skipped, known %v; want %d, %d, %v", tc.name, rereads, skip, known, tc.rereads, tc.skip, tc.known)
		}
		s := Summarize(&Plan{Changes: []Change{tc.c}})
		if (s.Uncounted == 0) != tc.known || s.MaxRereads != tc.rereads || s.MaxSkips != tc.skip {
			t.Errorf("%s: summary %+v", tc.name, s)
		}
	}
}
