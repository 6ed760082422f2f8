package checkpointfile

import "maps"

// brief is what the rows of an operation come to. A journal may hold years of operations of 100,000 rows each.
type brief struct {
	rows        int
	states      map[RowState]int
	did, leaves map[string]bool
}

// ReadBriefly is [ReadJournal] without the rows: Changes, States and Errors are nil, and the methods say what they would say. The rows
// of one operation are read with [Entry.Whole].
func ReadBriefly(stateDir string) ([]*Entry, []error) {
	return readJournal(stateDir, func(e *Entry) {
		b := &brief{rows: len(e.Changes), states: map[RowState]int{}, did: maps.Clone(e.did()), leaves: maps.Clone(e.leaves())}
		for _, s := range e.States {
			b.states[s]++
		}
		e.brief, e.Changes, e.States, e.Errors = b, nil, nil, nil
	})
}

// Rows is how many rows the operation has.
func (e *Entry) Rows() int {
	if e.brief != nil {
		return e.brief.rows
	}
	return len(e.Changes)
}

// Whole is the operation with its rows. The error is a *FileError.
func (e *Entry) Whole() (*Entry, error) {
	if e.brief == nil {
		return e, nil
	}
	out, err := ReadEntry(e.Path)
	if err == nil {
		out.UndoneAs(e)
	}
	return out, err
}
