package checkpointfile

import (
	"reflect"
	"testing"
)

// sameBriefly looks whether an operation says without its rows what it says with them.
func sameBriefly(t *testing.T, dir string) {
	t.Helper()
	whole, bad := ReadJournal(dir)
	short, badToo := ReadBriefly(dir)
	if len(whole) != len(short) || len(bad) != len(badToo) || len(whole) == 0 {
		t.Fatalf("%d operations and %d briefly, %d bad files and %d", len(whole), len(short), len(bad), len(badToo))
	}
	type said struct {
		ID, UndoneBy     string
		UndoneFor        [3]string
		Rows             int
		Counts           [7]int
		Changed, Settled bool
	}
	says := func(e *Entry) said {
		s := said{ID: e.ID, UndoneBy: e.UndoneBy, Rows: e.Rows(), Changed: e.Changed(), Settled: e.Settled()}
		for i, groups := range [][]string{nil, {"a"}, {"b"}} {
			s.UndoneFor[i] = e.UndoneFor(groups)
		}
		for i, state := range []RowState{StatePlanned, StateCommitted, StateVerified, StateFailed, StateDiffers, StateUnknown, "none such"} {
			s.Counts[i] = e.Count(state)
		}
		return s
	}
	for i, e := range short {
		if e.Changes != nil || e.States != nil || e.Errors != nil {
			t.Errorf("%s has its rows", e.ID)
		}
		if got, want := says(e), says(whole[i]); got != want {
			t.Errorf("briefly %+v, want %+v", got, want)
		}
		if got, err := e.Whole(); err != nil || !reflect.DeepEqual(got, whole[i]) {
			t.Errorf("the whole of it is %+v, %v, want %+v", got, err, whole[i])
		}
	}
}
