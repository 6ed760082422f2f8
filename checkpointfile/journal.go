package checkpointfile

// The undo journal: a file an operation. Its first line holds what will be changed and what was there before, and is on
// disk before anything is sent; later lines say how it went, as far as it was known when they were written.

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koffset/koffset/internal/wholefile"
	"github.com/koffset/koffset/offset"
)

// RowState is what is known about one row of an operation.
type RowState string

// The states of a row. A row that has none was planned: the process ended before it said anything about it, and the
// cluster alone knows.
const (
	StatePlanned   RowState = "planned"   // on disk, perhaps sent
	StateCommitted RowState = "committed" // the broker said yes; not read back
	StateVerified  RowState = "verified"  // read back and found as planned
	StateFailed    RowState = "failed"    // the broker said no, or it was never sent: the old value stands
	StateDiffers   RowState = "differs"   // read back and found to be something else
	StateUnknown   RowState = "unknown"   // sent, and no answer
)

// Operation is what was done, by whom, where.
type Operation struct {
	ID      string   `json:"id"`
	Verb    string   `json:"verb"`
	Command string   `json:"command"` // the command line, with secrets masked by the caller
	User    string   `json:"user"`
	Host    string   `json:"host"`
	Profile string   `json:"profile,omitempty"`
	Brokers []string `json:"brokers,omitempty"`
	// PlanDigest is the digest of the plan that was applied.
	PlanDigest string      `json:"plan_digest"`
	Undoes     string      `json:"undoes,omitempty"`
	Groups     []PlanGroup `json:"groups"`
	// Changes are the rows that change something; rows that stood right already are not here.
	Changes []Change `json:"changes"`
}

// event is a line after the first.
type event struct {
	At time.Time `json:"at"`
	// Rows index Operation.Changes.
	Rows []int `json:"rows,omitempty"`
	// Group is a group that was to be deleted as a whole.
	Group *string  `json:"group,omitempty"`
	State RowState `json:"state,omitempty"`
	Error string   `json:"error,omitempty"`
	// Done is on the last line of an operation that ran to its end.
	Done string `json:"done,omitempty"`
}

// Journal is an operation under way. Its methods may be called from several goroutines.
type Journal struct {
	ID    string
	Path  string
	mu    sync.Mutex
	f     *os.File
	clock func() time.Time
	err   error
}

const journalFolder = "journal"

// idSeconds is how an id begins: the time of the operation.
const idSeconds = "20060102-150405"

// CreateJournal writes an operation's first line below the state folder and syncs it, file and folder: when it returns
// without error, the before-image survives a power cut. It sets op.ID. h needs ClusterID and Version alone. The error is a
// *FileError.
func CreateJournal(stateDir string, h Header, op *Operation, clock func() time.Time) (*Journal, error) {
	dir := filepath.Join(stateDir, journalFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, writeError(dir, err)
	}
	now := clock().UTC()
	for {
		var salt [2]byte
		_, _ = rand.Read(salt[:]) // it never fails: crypto/rand ends the process instead
		// With milliseconds, so that a listing of the folder is in the order of events.
		op.ID = strings.Replace(now.Format(idSeconds+".000-"), ".", "", 1) + hex.EncodeToString(salt[:])
		path := filepath.Join(dir, op.ID+".jsonl")
		// The name is taken first, so that two processes in the same second cannot share it.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, writeError(path, err)
		}
		h.Kind, h.SchemaVersion, h.CreatedAt = KindJournal, JournalVersion, now
		line, err := Encode(&h, op)
		if err == nil {
			if _, err = f.Write(line); err == nil {
				err = f.Sync()
			}
			if err == nil {
				err = wholefile.SyncDir(dir)
			}
		}
		if err != nil {
			return nil, writeError(path, errors.Join(err, f.Close(), os.Remove(path)))
		}
		return &Journal{ID: op.ID, Path: path, f: f, clock: clock}, nil
	}
}

// Note appends what became known about some rows, by their index in Operation.Changes. It does not sync: a killed process
// keeps it, and a power cut leaves the rows planned, which is true of them as well. The first error is kept for Close.
func (j *Journal) Note(state RowState, why string, rows ...int) {
	if len(rows) > 0 {
		j.append(event{Rows: rows, State: state, Error: why}, false)
	}
}

// NoteGroup is Note for a group that was to be deleted as a whole.
func (j *Journal) NoteGroup(state RowState, why, group string) {
	j.append(event{Group: &group, State: state, Error: why}, false)
}

// Close writes the outcome in a word or two, syncs and closes. The error is the first that any write met, a *FileError.
func (j *Journal) Close(outcome string) error {
	j.append(event{Done: outcome}, true)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.f.Close(); err != nil && j.err == nil {
		j.err = err
	}
	if j.err != nil {
		return writeError(j.Path, j.err)
	}
	return nil
}

func (j *Journal) append(e event, sync bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	e.At = j.clock().UTC().Truncate(time.Millisecond)
	line, err := CompactJSON(e)
	if err == nil {
		_, err = j.f.Write(append(line, '\n'))
	}
	if err == nil && sync {
		err = j.f.Sync()
	}
	j.err = err
}

// EndJournal adds the outcome of an operation to a journal that was closed before it ended. The error is a *FileError.
func EndJournal(path, outcome string, now time.Time) error {
	f, err := wholefile.OpenAppend(path)
	if err != nil {
		return openError(path, err)
	}
	j := Journal{Path: path, f: f, clock: func() time.Time { return now }}
	return j.Close(outcome)
}

// Entry is an operation as the journal has it.
type Entry struct {
	Header Header
	Operation
	Path string
	// States holds the last known state of each row of Changes, StatePlanned where nothing is known.
	States []RowState
	Errors []string // why a row is in its state; empty where there is nothing to say
	// GroupStates are the last known states of the groups that were to be deleted as a whole; none where nothing is known.
	GroupStates map[string]RowState
	// Outcome is the last line's word; empty where the operation never came to its end.
	Outcome string
	// UndoneBy is the id of the newest operation that undid this one and was not undone itself; empty where something of this one may
	// still stand. ReadJournal sets it.
	UndoneBy string

	undone map[string]string // what UndoneBy says, by group
	brief  *brief            // set where the rows are left out
}

// At is when the operation began.
func (e *Entry) At() time.Time { return e.Header.CreatedAt }

// Origin is where the offsets come from that an undo puts back.
func (e *Entry) Origin() offset.Origin {
	return originOf(offset.Origin{From: "operation " + e.ID, ClusterID: e.Header.ClusterID, At: e.At(), Digest: e.Header.Digest}, e.Changes)
}

// Count says how many rows are in one of the states.
func (e *Entry) Count(states ...RowState) int {
	n := 0
	if e.brief != nil {
		for _, s := range states {
			n += e.brief.states[s]
		}
		return n
	}
	for _, s := range e.States {
		if slices.Contains(states, s) {
			n++
		}
	}
	return n
}

// state is what a line says. A word that is not known, of a newer koffset or of a line that was damaged, says nothing: the
// row may have changed, and the cluster alone knows.
func (ev event) state() (RowState, string) {
	switch ev.State {
	case StatePlanned, StateCommitted, StateVerified, StateFailed, StateDiffers, StateUnknown:
		return ev.State, ev.Error
	}
	return StateUnknown, fmt.Sprintf("the journal says %q, which is not known here", ev.State)
}

// ReadEntry reads one file of the journal. A last line that was cut off is left out: the process died while it wrote it.
// The error is a *FileError.
func ReadEntry(path string) (*Entry, error) {
	data, err := wholefile.Read(path, maxFile)
	if err != nil {
		return nil, openError(path, err)
	}
	first, rest, whole := bytes.Cut(data, []byte("\n"))
	if !whole {
		return nil, &FileError{Path: path, Line: 1, Problem: "the first line was cut off: the process ended before it sent anything", Err: ErrUnsent}
	}
	e := &Entry{Path: path}
	if e.Header, err = Decode(path, first, KindJournal, JournalVersion, &e.Operation); err != nil {
		return nil, err
	}
	// The header's time is not in the digest, and which operation is the last one, and which is old, goes by it. The id is.
	if at := e.At().UTC(); !strings.HasPrefix(e.ID, at.Format(idSeconds)) {
		return nil, &FileError{Path: path, Line: 1, Problem: fmt.Sprintf("the koffset-journal was changed after it was written: its id is %s, and it says that it was created at %s",
			e.ID, offset.FormatTime(at)), Err: ErrDamaged}
	}
	e.States = make([]RowState, len(e.Changes))
	e.Errors = make([]string, len(e.Changes))
	for i := range e.States {
		e.States[i] = StatePlanned
	}
	sc := bufio.NewScanner(bytes.NewReader(rest))
	sc.Buffer(nil, maxFile)
	for n := 2; sc.Scan(); n++ {
		var ev event
		if err := json.Unmarshal(sc.Bytes(), &ev); err != nil {
			if !bytes.HasSuffix(rest, []byte("\n")) && bytes.HasSuffix(rest, sc.Bytes()) {
				break // cut off
			}
			return nil, &FileError{Path: path, Line: n, Problem: fmt.Sprintf("the line cannot be read as JSON: %v", err), Err: ErrDamaged}
		}
		for _, i := range ev.Rows {
			if i < 0 || i >= len(e.States) {
				return nil, &FileError{Path: path, Line: n, Problem: fmt.Sprintf("row %d of %d does not exist", i, len(e.States)), Err: ErrDamaged}
			}
			e.States[i], e.Errors[i] = ev.state()
		}
		if ev.Group != nil {
			if e.GroupStates == nil {
				e.GroupStates = map[string]RowState{}
			}
			e.GroupStates[*ev.Group], _ = ev.state()
		}
		if ev.Done != "" {
			e.Outcome = ev.Done
		}
	}
	if err := sc.Err(); err != nil {
		return nil, &FileError{Path: path, Problem: err.Error(), Err: ErrDamaged}
	}
	return e, nil
}

// journalFiles are the files of the journal, sorted; none where the state folder does not exist. The folder is listed, and no
// pattern: its name may hold what a pattern means something by.
func journalFiles(stateDir string) ([]string, error) {
	dir := filepath.Join(stateDir, journalFolder)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, openError(dir, err)
	}
	var out []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".jsonl" {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// ReadJournal reads every operation below the state folder, the newest first. A file that cannot be read is in the second
// result and does not hide the others. A state folder that does not exist has no operations.
func ReadJournal(stateDir string) ([]*Entry, []error) {
	return readJournal(stateDir, func(*Entry) {})
}

func readJournal(stateDir string, keep func(*Entry)) ([]*Entry, []error) {
	var out []*Entry
	bad := EachEntry(stateDir, func(e *Entry) {
		keep(e)
		out = append(out, e)
	})
	slices.SortFunc(out, func(a, b *Entry) int { return strings.Compare(b.ID, a.ID) })
	sayUndone(out)
	return out, bad
}

// EachEntry tells every operation below the state folder, one by one and in no order, so that a caller may keep of each what it
// needs. UndoneBy is not set. Files that cannot be read are in the result, as for [ReadJournal].
func EachEntry(stateDir string, told func(*Entry)) (bad []error) {
	paths, err := journalFiles(stateDir)
	if err != nil {
		return []error{err}
	}
	for _, p := range paths {
		if e, err := ReadEntry(p); err != nil {
			bad = append(bad, err)
		} else {
			told(e)
		}
	}
	return bad
}

// sayUndone tells of each operation what undid it. entries are the newest first.
func sayUndone(entries []*Entry) {
	byID := map[string]*Entry{}
	for _, e := range entries {
		byID[e.ID] = e
	}
	for _, e := range entries {
		// Whatever undid this one is newer, and was looked at.
		e.UndoneBy = e.UndoneFor(nil)
		target := byID[e.Undoes]
		if target == nil {
			continue
		}
		for g := range e.did() {
			if e.undone[g] != "" {
				continue // an undo that was undone itself undoes nothing any more
			}
			if target.undone == nil {
				target.undone = map[string]string{}
			}
			if target.undone[g] == "" {
				target.undone[g] = e.ID
			}
		}
	}
}

// did are the groups to which the operation did all that it was to do. One that was killed in between, or had no answer for a row,
// did not: undoing once more does the rest.
func (e *Entry) did() map[string]bool {
	if e.brief != nil {
		return e.brief.did
	}
	good, rest := map[string]bool{}, map[string]bool{}
	for i, c := range e.Changes {
		switch e.States[i] {
		case StateCommitted, StateVerified:
			good[c.Group] = true
		case StateDiffers: // somebody else moved it since
		default:
			rest[c.Group] = true
		}
	}
	maps.DeleteFunc(good, func(g string, _ bool) bool { return rest[g] })
	return good
}

// leaves are the groups of which there is something to put back: a row that changed, or that may have.
func (e *Entry) leaves() map[string]bool {
	if e.brief != nil {
		return e.brief.leaves
	}
	out := map[string]bool{}
	for i, c := range e.Changes {
		if e.States[i] != StateFailed {
			out[c.Group] = true
		}
	}
	return out
}

// UndoneAs takes what undid an operation from the journal that it is in: a file alone does not tell.
func (e *Entry) UndoneAs(of *Entry) { e.UndoneBy, e.undone = of.UndoneBy, of.undone }

// UndoneFor is the id of the newest operation that undid this one for all of some groups, of nil for all of its groups; empty
// where something of it may still stand.
func (e *Entry) UndoneFor(groups []string) string {
	newest := ""
	for g := range e.leaves() {
		if groups != nil && !slices.Contains(groups, g) {
			continue
		}
		id := e.undone[g]
		if id == "" {
			return ""
		}
		newest = max(newest, id)
	}
	return newest
}

// Newest yields the operations below the state folder one by one, the newest first by their ids, without reading the others.
// Files that cannot be read are passed over, and UndoneBy is not set.
func Newest(stateDir string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		paths, _ := journalFiles(stateDir)
		for _, p := range slices.Backward(paths) {
			if e, err := ReadEntry(p); err == nil && !yield(e) {
				return
			}
		}
	}
}

// Changed says that the operation changed something, or may have: a row that somebody moved since is one, and so is a group
// whose deletion was cut off.
func (e *Entry) Changed() bool {
	return e.Count(StateFailed) < e.Rows() || slices.ContainsFunc(e.Groups, func(g PlanGroup) bool {
		return g.Delete && g.Hidden == "" && e.GroupStates[g.Name] != StateFailed
	})
}

// Only is the operation as far as it concerns some groups.
func (e *Entry) Only(groups []string) *Entry {
	out := *e
	out.Groups, out.Changes, out.States, out.Errors = nil, nil, nil, nil
	for _, g := range e.Groups {
		if slices.Contains(groups, g.Name) {
			out.Groups = append(out.Groups, g)
		}
	}
	for i, c := range e.Changes {
		if slices.Contains(groups, c.Group) {
			out.Changes, out.States, out.Errors = append(out.Changes, c), append(out.States, e.States[i]), append(out.Errors, e.Errors[i])
		}
	}
	return &out
}

// FindEntry finds one operation by its id, or by a beginning of it that only one has. It returns nil and the ids that
// begin so where there is none, or more than one.
func FindEntry(entries []*Entry, id string) (*Entry, []string) {
	var found []*Entry
	var ids []string
	for _, e := range entries {
		if e.ID == id {
			return e, nil
		}
		if id != "" && strings.HasPrefix(e.ID, id) {
			found, ids = append(found, e), append(ids, e.ID)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, ids
}
