package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/internal/storetest"
	"github.com/koffset/koffset/migrate/store/sqlite"
	"github.com/koffset/koffset/offset"
)

func TestSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?.db")
	l := store.Location{Scheme: store.SchemeSQLite, Path: path, Table: "offsets"}
	if _, err := sqlite.Open(t.Context(), l); err == nil {
		t.Fatal("a file that does not exist was opened")
	} else if me := (*store.MissingError)(nil); !errors.As(err, &me) {
		t.Fatalf("the error is %v", err)
	}
	l.Create = true
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := sqlite.Open(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
	l.Create, l.Table = false, "other"
	s, err := sqlite.Open(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var me *store.MissingError
	if _, err := s.Load(t.Context(), "g"); !errors.As(err, &me) {
		t.Errorf("a table that does not exist gives %v", err)
	}
}

// A sink's own transaction carries the positions: what is rolled back with its records was never stored.
func TestSaveTx(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "sink.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	s := sqlite.New(db, "positions")
	defer s.Close()
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE records (v TEXT)"); err != nil {
		t.Fatal(err)
	}
	write := func(n int64, commit bool) {
		t.Helper()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO records VALUES ('x')"); err != nil {
			t.Fatal(err)
		}
		w := store.Write{Group: "g", ClusterID: "c", At: time.UnixMilli(1), Positions: []store.Position{{Partition: offset.Partition{Topic: "t"}, Committed: offset.Committed{Offset: n}}}}
		if err := s.SaveTx(t.Context(), tx, w); err != nil {
			t.Fatal(err)
		}
		if commit {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(5, true)
	write(9, false)
	got, err := s.Load(t.Context(), "g")
	if err != nil || len(got.Positions) != 1 || got.Positions[0].Offset != 5 {
		t.Fatalf("got %+v, %v", got, err)
	}
}
