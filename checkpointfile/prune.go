package checkpointfile

// Removing old operations from the journal.

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/koffset/koffset/internal/wholefile"
)

// Settled says that it is known of every row and every group of the operation what became of it. One that is under way, was
// cut off, or had no answer for something is not: its file is all there is to find out from.
func (e *Entry) Settled() bool {
	if e.Outcome == "" || e.Outcome == "unknown" || e.Count(StatePlanned, StateCommitted, StateUnknown) > 0 {
		return false
	}
	for _, g := range e.Groups {
		if !g.Delete {
			continue
		}
		if s, noted := e.GroupStates[g.Name]; noted && s != StateVerified && s != StateFailed && s != StateDiffers {
			return false
		}
	}
	return true
}

// Prunable chooses the operations that began before a time and can go: settled, and not an undo of one that is kept, which
// would then look as if it still stood. old are all that began before that time. It is pure; entries are as ReadJournal
// returns them.
func Prunable(entries []*Entry, before time.Time) (prunable, old []*Entry) {
	kept := map[string]bool{}
	for _, e := range entries {
		if e.At().Before(before) {
			old = append(old, e)
		} else {
			kept[e.ID] = true
		}
	}
	// The oldest first: an operation is older than what undoes it.
	for _, e := range slices.Backward(old) {
		if e.Settled() && !kept[e.Undoes] {
			prunable = append(prunable, e)
		} else {
			kept[e.ID] = true
		}
	}
	slices.Reverse(prunable)
	return prunable, old
}

// Unsent are the files among what ReadJournal could not read whose process ended before it sent anything, and that are older
// than a time: nothing can be found out from them.
func Unsent(bad []error, before time.Time) []string {
	var out []string
	for _, err := range bad {
		var f *FileError
		if !errors.Is(err, ErrUnsent) || !errors.As(err, &f) {
			continue
		}
		if st, err := os.Stat(f.Path); err == nil && st.ModTime().Before(before) {
			out = append(out, f.Path)
		}
	}
	return out
}

// NotKnown are the errors of ReadJournal without those of files whose process ended before it sent anything: what such a file
// lacks is known.
func NotKnown(bad []error) (rest []error) {
	for _, err := range bad {
		if !errors.Is(err, ErrUnsent) {
			rest = append(rest, err)
		}
	}
	return rest
}

// Remove takes operations out of the journal, the oldest first, so that one that is cut off leaves no operation without its
// undo. It returns how many are gone. The error is a *FileError.
func Remove(entries []*Entry) (int, error) {
	var paths []string
	for _, e := range slices.Backward(entries) {
		paths = append(paths, e.Path)
	}
	return RemoveFiles(paths)
}

// RemoveFiles removes files of the journal in the order given.
func RemoveFiles(paths []string) (int, error) {
	gone := 0
	dirs := map[string]bool{}
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			return gone, writeError(path, err)
		}
		dirs[filepath.Dir(path)] = true
		gone++
	}
	for dir := range dirs {
		if err := wholefile.SyncDir(dir); err != nil {
			return gone, writeError(dir, err)
		}
	}
	return gone, nil
}
