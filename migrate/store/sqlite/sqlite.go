// Package sqlite keeps positions in a table of a SQLite file, without cgo.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/sqlstore"
)

// Dialect is SQLite's.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Quote:     func(n string) string { return `"` + strings.ReplaceAll(n, `"`, `""`) + `"` },
		GroupType: "TEXT", TopicType: "TEXT", TextType: "TEXT",
		Upsert:       sqlstore.OnConflict,
		TableOptions: " WITHOUT ROWID",
		Missing:      func(err error) bool { return strings.Contains(err.Error(), "no such table") },
	}
}

// New is the store in a database that is open, for programs that have one: its SaveTx stores positions in a transaction of
// theirs.
func New(db *sql.DB, table string) *sqlstore.DB { return sqlstore.New(db, Dialect(), table) }

// Open opens the file, and makes it and the table where the location says so. Without that, a file that does not exist is
// a *store.MissingError: SQLite itself would make an empty one out of a typing error.
func Open(ctx context.Context, l store.Location) (*sqlstore.DB, error) {
	if !l.Create {
		if _, err := os.Stat(l.Path); err != nil {
			return nil, &store.MissingError{What: "file " + l.Path, Err: err}
		}
	}
	if l.Create {
		// SQLite would make it readable for all; its -wal and -shm get the mode of the file itself.
		f, err := os.OpenFile(l.Path, os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", l, err)
		}
	}
	// immediate takes the write lock at the beginning of a transaction: two that read first and then write would both fail.
	// busy_timeout waits for another process instead of failing at once; synchronous(full) survives a power cut.
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: l.Path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", l, err)
	}
	d := New(db, l.Table)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", l, err), db.Close())
	}
	if l.Create {
		if err := d.Create(ctx); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return d, nil
}
