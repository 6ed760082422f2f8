// Package postgres keeps positions in a table of PostgreSQL, through pgx.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/sqlstore"
)

// Dialect is PostgreSQL's.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Quote:     func(n string) string { return `"` + strings.ReplaceAll(n, `"`, `""`) + `"` },
		Dollar:    true,
		GroupType: "VARCHAR(255)", TopicType: "VARCHAR(249)", TextType: "TEXT",
		Upsert:   sqlstore.OnConflict,
		LockRows: " FOR UPDATE",
		Again: func(err error) bool {
			var pe *pgconn.PgError
			return errors.As(err, &pe) && (pe.Code == "40P01" || pe.Code == "40001")
		},
		Missing: func(err error) bool {
			var pe *pgconn.PgError
			return errors.As(err, &pe) && pe.Code == "42P01"
		},
	}
}

// New is the store in a database that is open, for programs that have one: its SaveTx stores positions in a transaction of
// theirs.
func New(db *sql.DB, table string) *sqlstore.DB { return sqlstore.New(db, Dialect(), table) }

// Open connects, and makes the table where the location says so.
func Open(ctx context.Context, l store.Location) (*sqlstore.DB, error) {
	c, err := pgx.ParseConfig(l.URL.String())
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", l, err) // pgx has masked the password
	}
	db := stdlib.OpenDB(*c)
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
