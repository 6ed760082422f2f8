package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/sqlite"
	"github.com/koffset/koffset/migrate/store/sqlstore"
	"github.com/koffset/koffset/offset"
)

// Records and their positions are written together or not at all.
func ExampleDB_SaveTx() {
	write := func(ctx context.Context, db *sql.DB, next int64) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, "INSERT INTO payments (id) VALUES (?)", next-1); err != nil {
			return err
		}
		at := store.Position{Partition: offset.Partition{Topic: "orders"}, Committed: offset.Committed{Offset: next}}
		if err := sqlstore.New(db, sqlite.Dialect(), store.DefaultTable).SaveTx(ctx, tx, store.Write{Group: "billing", At: time.Now(), Positions: []store.Position{at}}); err != nil {
			return err
		}
		return tx.Commit()
	}
	db, err := sql.Open("sqlite", "app.db")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	fmt.Println(write(context.Background(), db, 43))
}
