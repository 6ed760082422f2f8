package checkpointfile

import (
	"slices"
	"testing"
	"time"
)

func TestPruneKeepsWhatMayBeHalfDone(t *testing.T) {
	dir, clock := t.TempDir(), ticking()
	ids := map[string]string{}
	add := func(name string, op Operation, do func(*Journal)) {
		t.Helper()
		op.Verb = "reset"
		j := start(t, dir, clock, op)
		ids[j.ID] = name
		if do != nil {
			do(j)
		}
	}
	closed := func(outcome string, state RowState) func(*Journal) {
		return func(j *Journal) {
			j.Note(state, "", 0, 1)
			if err := j.Close(outcome); err != nil {
				t.Fatal(err)
			}
		}
	}
	group := func(state RowState) func(*Journal) {
		return func(j *Journal) {
			j.NoteGroup(state, "", "g")
			closed("done", StateVerified)(j)
		}
	}
	whole := []PlanGroup{{Name: "g", Delete: true}}
	add("done", Operation{}, closed("done", StateVerified))
	add("failed", Operation{}, closed("failed", StateFailed))
	add("overwritten", Operation{}, closed("failed", StateDiffers))
	add("cut off", Operation{}, nil)
	add("cut off after its answers", Operation{}, func(j *Journal) { j.Note(StateVerified, "", 0, 1) })
	add("unanswered", Operation{}, closed("unknown", StateUnknown))
	add("not read back", Operation{}, closed("done", StateCommitted))
	add("one row planned", Operation{}, func(j *Journal) { j.Note(StateVerified, "", 0); _ = j.Close("done") })
	add("group deleted", Operation{Groups: whole}, group(StateVerified))
	add("group unanswered", Operation{Groups: whole}, group(StateUnknown))
	var cutOff string
	for id, name := range ids {
		if name == "cut off" {
			cutOff = id
		}
	}
	add("undo of the cut off", Operation{Undoes: cutOff}, closed("done", StateVerified))
	end := clock()
	add("recent", Operation{}, closed("done", StateVerified))

	names := func(es []*Entry) (out []string) {
		for _, e := range es {
			out = append(out, ids[e.ID])
		}
		slices.Sort(out)
		return out
	}
	all, bad := ReadJournal(dir)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	gone, old := Prunable(all, end)
	if got, want := names(gone), []string{"done", "failed", "group deleted", "overwritten"}; !slices.Equal(got, want) {
		t.Errorf("would remove %q, want %q", got, want)
	}
	if len(old) != 11 {
		t.Errorf("%d are old, want 11", len(old))
	}
	if n, err := Remove(gone); n != 4 || err != nil {
		t.Fatalf("removed %d: %v", n, err)
	}
	left, _ := ReadJournal(dir)
	if len(left) != len(all)-4 {
		t.Errorf("%d are left of %d", len(left), len(all))
	}
	if more, _ := Prunable(left, time.Time{}); len(more) != 0 {
		t.Errorf("nothing is older than the beginning, but %q would go", names(more))
	}
}
