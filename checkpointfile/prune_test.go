package checkpointfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A process that ended while it wrote its before-image sent nothing: its file is no reason to know nothing of the others, and goes
// with the rest. The folder's name is a name, and no pattern.
func TestJournalFilesThatSentNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state[1]*")
	clock := ticking()
	j := start(t, dir, clock, Operation{Verb: "reset"})
	j.Note(StateVerified, "", 0, 1)
	if err := j.Close("done"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(j.Path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(filepath.Dir(j.Path), "20991130-000000000-aaaa.jsonl")
	broken := filepath.Join(filepath.Dir(j.Path), "20991130-000000000-bbbb.jsonl")
	for path, text := range map[string][]byte{cut: data[:10], broken: []byte("{}\n")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, bad := ReadJournal(dir)
	if len(all) != 1 || len(bad) != 2 || len(NotKnown(bad)) != 1 {
		t.Errorf("read %d operations, errors %v", len(all), bad)
	}
	if !errors.Is(bad[0], ErrUnsent) || !errors.Is(bad[0], ErrDamaged) || errors.Is(bad[1], ErrUnsent) {
		t.Errorf("errors %v", bad)
	}
	if got := Unsent(bad, time.Now().Add(-time.Hour)); len(got) > 0 {
		t.Errorf("%v may be under way", got)
	}
	got := Unsent(bad, time.Now().Add(time.Hour))
	if len(got) != 1 || got[0] != cut {
		t.Fatalf("got %v", got)
	}
	if n, err := RemoveFiles(got); n != 1 || err != nil {
		t.Errorf("removed %d: %v", n, err)
	}
	for e := range Newest(dir) {
		if e.ID != j.ID {
			t.Errorf("newest is %s", e.ID)
		}
	}
	// A folder that is none is an error, and no empty journal.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, bad := ReadJournal(file); len(bad) == 0 {
		t.Error("the journal below a file is said to be empty")
	}
	if all, bad := ReadJournal(filepath.Join(t.TempDir(), "none")); len(all)+len(bad) > 0 {
		t.Errorf("a folder that is not there: %v, %v", all, bad)
	}
}

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
