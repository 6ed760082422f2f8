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

	"github.com/koffset/koffset/offset"
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
		if op.Groups == nil {
			op.Groups = samplePlan().Groups
		}
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
	sameBriefly(t, dir)
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

// An undo of several groups that was cut off, or failed for some of them, leaves the rest to be undone: the operation is not taken
// for undone, or "the last" would be an older one.
func TestUndoThatIsHalfDone(t *testing.T) {
	rows := func(groups ...string) (op Operation) {
		for _, g := range groups {
			op.Groups = append(op.Groups, PlanGroup{Name: g})
			for p := range int32(2) {
				op.Changes = append(op.Changes, Change{Group: g, Partition: offset.Partition{Topic: "t", Partition: p}, Action: ActionCommit, To: &Commit{Offset: 1}})
			}
		}
		return op
	}
	for _, tc := range []struct {
		name   string
		states []RowState // of the first undo's rows: two of a, two of b
		again  string     // the group that a second undo puts back
		back   string     // the group for which the last undo is undone again
		whole  bool       // undone as a whole then
		a, b   bool       // undone for these
	}{
		{"all", []RowState{StateVerified, StateVerified, StateVerified, StateCommitted}, "", "", true, true, true},
		{"cut off between the groups", []RowState{StateVerified, StateVerified, "", ""}, "", "", false, true, false},
		{"cut off within a group", []RowState{StateVerified, "", StateVerified, StateVerified}, "", "", false, false, true},
		{"no answer for a row", []RowState{StateVerified, StateVerified, StateVerified, StateUnknown}, "", "", false, true, false},
		{"one failed", []RowState{StateVerified, StateVerified, StateVerified, StateFailed}, "", "", false, true, false},
		{"moved by somebody else since", []RowState{StateVerified, StateVerified, StateVerified, StateDiffers}, "", "", true, true, true},
		{"all failed", []RowState{StateFailed, StateFailed, StateFailed, StateFailed}, "", "", false, false, false},
		{"undone again for one group", []RowState{StateVerified, StateVerified, StateVerified, StateVerified}, "", "a", false, false, true},
		{"the rest by a second one", []RowState{StateVerified, StateVerified, "", ""}, "b", "", true, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, clock := t.TempDir(), ticking()
			op := rows("a", "b", "failed")
			op.Groups = append(op.Groups, PlanGroup{Name: "stored nothing", Delete: true})
			j := start(t, dir, clock, op)
			j.Note(StateVerified, "", 0, 1, 2, 3)
			j.Note(StateFailed, "", 4, 5)
			id := j.ID
			undo := func(states []RowState, groups ...string) {
				op := rows(groups...)
				op.Verb, op.Undoes = "undo", id
				j := start(t, dir, clock, op)
				for i, s := range states {
					if s != "" {
						j.Note(s, "", i)
					}
				}
			}
			undo(tc.states, "a", "b")
			if tc.again != "" {
				undo([]RowState{StateVerified, StateVerified}, tc.again)
			}
			if tc.back != "" {
				op := rows(tc.back)
				es, _ := ReadJournal(dir)
				op.Verb, op.Undoes = "undo", es[0].ID
				start(t, dir, clock, op).Note(StateVerified, "", 0, 1)
			}
			es, bad := ReadJournal(dir)
			e, _ := FindEntry(es, id)
			if len(bad) > 0 || e == nil {
				t.Fatalf("read %v, %v", e, bad)
			}
			sameBriefly(t, dir)
			if whole, a, b := e.UndoneBy != "", e.UndoneFor([]string{"a"}) != "", e.UndoneFor([]string{"b"}) != ""; whole != tc.whole || a != tc.a || b != tc.b {
				t.Errorf("undone as a whole %v, for a %v, for b %v", whole, a, b)
			}
		})
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

// What an operation may have changed counts as changed: undo must not pass it over and put an older one back instead.
func TestJournalThatMayHaveChanged(t *testing.T) {
	bare := []PlanGroup{{Name: "bare", Delete: true}}
	for _, tc := range []struct {
		name    string
		op      Operation
		lines   string // behind the first
		state   RowState
		changed bool
	}{
		{"nothing is noted", Operation{}, "", StatePlanned, true},
		{"the broker refused it", Operation{}, `{"rows":[0,1],"state":"failed"}`, StateFailed, false},
		{"somebody moved it since", Operation{}, `{"rows":[0,1],"state":"differs"}`, StateDiffers, true},
		{"a word with a wrong bit", Operation{}, `{"rows":[0,1],"state":"verifieb"}`, StateUnknown, true},
		{"a word of a newer koffset", Operation{}, `{"rows":[0,1],"state":"superseded"}`, StateUnknown, true},
		{"no word", Operation{}, `{"rows":[0,1]}`, StateUnknown, true},
		{"a group, cut off", Operation{Groups: bare, Changes: []Change{}}, "", "", true},
		{"a group that was refused", Operation{Groups: bare, Changes: []Change{}}, `{"group":"bare","state":"failed"}`, "", false},
		{"a group, and a word with a wrong bit", Operation{Groups: bare, Changes: []Change{}}, `{"group":"bare","state":"faileb"}`, "", true},
	} {
		tc.op.Verb = "reset"
		j := start(t, t.TempDir(), ticking(), tc.op)
		head, err := os.ReadFile(j.Path)
		if err != nil {
			t.Fatal(err)
		}
		if tc.lines != "" {
			head = append(head, tc.lines+"\n"...)
		}
		if err := os.WriteFile(j.Path, head, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := ReadEntry(j.Path)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if e.Changed() != tc.changed || tc.state != "" && (e.States[0] != tc.state || e.States[1] != tc.state) {
			t.Errorf("%s: states %v, groups %v, changed %v", tc.name, e.States, e.GroupStates, e.Changed())
		}
		if tc.state == StateUnknown && !strings.Contains(e.Errors[0], "not known here") {
			t.Errorf("%s: nothing says why: %q", tc.name, e.Errors[0])
		}
	}
}

// Which operation is the last goes by its time. A header that says another time than the id is one that was changed.
func TestJournalWithAnotherTime(t *testing.T) {
	dir, clock := t.TempDir(), ticking()
	first, last := start(t, dir, clock, Operation{Verb: "reset"}), start(t, dir, clock, Operation{Verb: "reset"})
	data, err := os.ReadFile(first.Path)
	if err != nil {
		t.Fatal(err)
	}
	edited := bytes.Replace(data, []byte(`"created_at":"2026`), []byte(`"created_at":"2027`), 1)
	if bytes.Equal(edited, data) {
		t.Fatalf("nothing to edit:\n%s", data)
	}
	if err := os.WriteFile(first.Path, edited, 0o600); err != nil {
		t.Fatal(err)
	}
	es, bad := ReadJournal(dir)
	if len(es) != 1 || es[0].ID != last.ID || len(bad) != 1 {
		t.Fatalf("%d operations, the first is %+v; %v", len(es), es[0].Operation, bad)
	}
	if text := bad[0].Error(); !errors.Is(bad[0], ErrDamaged) || !strings.Contains(text, "was changed after it was written") || !strings.Contains(text, "its id is "+first.ID) || !strings.Contains(text, "2027") {
		t.Errorf("got %v", bad[0])
	}
}
