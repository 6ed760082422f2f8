package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
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

// A table that an older version made has no topic ids: it is read and written as it is, and create adds the column.
func TestOldTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`CREATE TABLE offsets (group_id TEXT NOT NULL, topic TEXT NOT NULL, partition_id INTEGER NOT NULL, next_offset BIGINT NOT NULL,
		leader_epoch INTEGER, metadata TEXT NOT NULL, cluster_id VARCHAR(255) NOT NULL, saved_at_ms BIGINT NOT NULL,
		PRIMARY KEY (group_id, topic, partition_id)) WITHOUT ROWID;
		INSERT INTO offsets VALUES ('g', 't', 0, 7, NULL, '', 'c1', 1)`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	l := store.Location{Scheme: store.SchemeSQLite, Path: path, Table: "offsets"}
	id := "AAAAAAAAAAAAAAAAAAAAAA"
	one := store.Position{Partition: offset.Partition{Topic: "t", Partition: 1}, Committed: offset.Committed{Offset: 8}, TopicID: id}
	for i, want := range []string{"", id} {
		l.Create = i == 1
		s, err := sqlite.Open(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Save(t.Context(), store.Write{Group: "g", ClusterID: "c1", At: time.UnixMilli(2), Positions: []store.Position{one}}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Load(t.Context(), "g")
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if len(got.Positions) != 2 || got.Positions[0].Offset != 7 || got.Positions[0].TopicID != "" || got.Positions[1].Offset != 8 || got.Positions[1].TopicID != want {
			t.Errorf("create=%v: %+v", l.Create, got.Positions)
		}
	}
}

func TestFileMode(t *testing.T) {
	l := store.Location{Scheme: store.SchemeSQLite, Path: filepath.Join(t.TempDir(), "new.db"), Table: "offsets", Create: true}
	s, err := sqlite.Open(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if st, err := os.Stat(l.Path + suffix); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", l.Path+suffix, st.Mode(), err)
		}
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
