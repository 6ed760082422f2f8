package checkpointfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// ticking is a clock that moves one second a call.
func ticking() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

func start(t *testing.T, dir string, clock func() time.Time, op Operation) *Journal {
	t.Helper()
	if op.Changes == nil {
		op.Changes = samplePlan().Changes
	}
	j, err := CreateJournal(dir, Header{Version: "1.0.0", ClusterID: "c-1"}, &op, clock)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJournalTellsWhatIsKnown(t *testing.T) {
	dir, clock := t.TempDir(), ticking()
	op := Operation{Verb: "reset", Command: "koffset reset billing", User: "u", Host: "h", PlanDigest: "sha256:x"}
	j := start(t, dir, clock, op)

	e, err := ReadEntry(j.Path)
	if err != nil {
		t.Fatal(err)
	}
	if e.Count(StatePlanned) != 2 || e.Outcome != "" || e.User != "u" || !reflect.DeepEqual(e.Changes, samplePlan().Changes) {
		t.Errorf("before anything was sent: %+v", e)
	}
	j.Note(StateCommitted, "", 0, 1)
	j.Note(StateDiffers, "found 7", 1)
	if e, err = ReadEntry(j.Path); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(e.States, []RowState{StateCommitted, StateDiffers}) || e.Errors[1] != "found 7" || e.Outcome != "" {
		t.Errorf("under way: %+v", e)
	}
	if err := j.Close("partial"); err != nil {
		t.Fatal(err)
	}
	if e, err = ReadEntry(j.Path); err != nil || e.Outcome != "partial" {
		t.Errorf("at the end: %+v, %v", e, err)
	}
	st, err := os.Stat(j.Path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want 0600", st.Mode(), err)
	}
}

// A killed process leaves a file that ends anywhere. What was known up to there is still told; only a file without its
// first line has nothing to tell, and then nothing was sent.
func TestJournalCutOffAnywhere(t *testing.T) {
	dir, clock := t.TempDir(), ticking()
	j := start(t, dir, clock, Operation{Verb: "reset"})
	j.Note(StateCommitted, "", 0)
	j.Note(StateVerified, "", 0)
	if err := j.Close("done"); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(j.Path)
	if err != nil {
		t.Fatal(err)
	}
	head := bytes.IndexByte(whole, '\n')
	seen := map[RowState]bool{}
	for n := range whole {
		p := filepath.Join(dir, "cut.jsonl")
		if err := os.WriteFile(p, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := ReadEntry(p)
		if n <= head {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("cut at %d: %v, want ErrDamaged", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if e.Outcome != "" && n < len(whole)-1 {
			t.Fatalf("cut at %d: outcome %q", n, e.Outcome)
		}
		seen[e.States[0]] = true
	}
	if !seen[StatePlanned] || !seen[StateCommitted] || !seen[StateVerified] {
		t.Errorf("states seen: %v", seen)
	}
}

func TestReadJournalKnowsWhatIsUndone(t *testing.T) {
	dir, clock := t.TempDir(), ticking()
	finish := func(j *Journal, s RowState) string {
		j.Note(s, "", 0, 1)
		if err := j.Close("done"); err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	a := finish(start(t, dir, clock, Operation{Verb: "reset"}), StateVerified)
	b := finish(start(t, dir, clock, Operation{Verb: "reset"}), StateVerified)
	failed := finish(start(t, dir, clock, Operation{Verb: "undo", Undoes: b}), StateFailed)
	undo := finish(start(t, dir, clock, Operation{Verb: "undo", Undoes: a}), StateVerified)
	if err := os.WriteFile(filepath.Join(dir, "journal", "bad.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	es, bad := ReadJournal(dir)
	var ids []string
	undone := map[string]string{}
	for _, e := range es {
		ids = append(ids, e.ID)
		undone[e.ID] = e.UndoneBy
	}
	if want := []string{undo, failed, b, a}; !reflect.DeepEqual(ids, want) {
		t.Errorf("order %v, want the newest first: %v", ids, want)
	}
	if undone[a] != undo || undone[b] != "" {
		t.Errorf("undone: %v; an undo that failed undoes nothing", undone)
	}
	if len(bad) != 1 || !errors.Is(bad[0], ErrForeign) {
		t.Errorf("bad files: %v", bad)
	}
	// Undoing the undo brings the first operation back.
	finish(start(t, dir, clock, Operation{Verb: "undo", Undoes: undo}), StateVerified)
	es, _ = ReadJournal(dir)
	if e, _ := FindEntry(es, a); e.UndoneBy != "" {
		t.Errorf("still undone by %s", e.UndoneBy)
	}
	if e, many := FindEntry(es, "20261129"); e != nil || len(many) != 5 {
		t.Errorf("an ambiguous id found %v, %v", e, many)
	}
	if e, _ := FindEntry(es, a[:len(a)-1]); e == nil || e.ID != a {
		t.Errorf("a beginning found %v", e)
	}
	if es, bad := ReadJournal(filepath.Join(dir, "none")); es != nil || bad != nil {
		t.Errorf("no folder: %v, %v", es, bad)
	}
}

func TestJournalNeedsItsFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := CreateJournal(file, Header{}, &Operation{}, time.Now)
	var fe *FileError
	if !errors.As(err, &fe) || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("got %v", err)
	}
}

func TestAuditAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "audit.jsonl")
	for i := range 3 {
		if err := AppendAudit(path, Audit{Time: time.Unix(int64(i), 0), User: "u\nx", Groups: []string{"g"}, Outcome: "done"}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), data)
	}
	var a Audit
	if err := json.Unmarshal([]byte(lines[2]), &a); err != nil || a.User != "u\nx" || a.Time.Unix() != 2 {
		t.Errorf("got %+v, %v", a, err)
	}
}
