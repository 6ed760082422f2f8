// Package mysql keeps positions in a table of MySQL or MariaDB.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/sqlstore"
)

// Dialect is MySQL's and MariaDB's. Names are bytes: with a collation, "Orders" and "orders" would be one topic, and a
// trailing blank would not count.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Quote:     func(n string) string { return "`" + strings.ReplaceAll(n, "`", "``") + "`" },
		GroupType: "VARBINARY(255)", TopicType: "VARBINARY(249)", TextType: "TEXT CHARACTER SET utf8mb4",
		Upsert: func(columns []string) string {
			sets := make([]string, len(columns))
			for i, c := range columns {
				sets[i] = c + " = VALUES(" + c + ")"
			}
			return " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
		},
		LockRows: " FOR UPDATE",
		// The default level locks gaps between rows, and two groups that are saved for the first time meet in one.
		Isolation: sql.LevelReadCommitted,
		Again: func(err error) bool {
			var me *mysql.MySQLError
			return errors.As(err, &me) && (me.Number == 1213 || me.Number == 1020)
		},
		TableOptions: " ENGINE = InnoDB", // MyISAM has no transactions
		Missing: func(err error) bool {
			var me *mysql.MySQLError
			return errors.As(err, &me) && me.Number == 1146
		},
	}
}

// New is the store in a database that is open, for programs that have one: its SaveTx stores positions in a transaction of
// theirs.
func New(db *sql.DB, table string) *sqlstore.DB { return sqlstore.New(db, Dialect(), table) }

// Open connects, and makes the table where the location says so.
func Open(ctx context.Context, l store.Location) (*sqlstore.DB, error) {
	c, err := config(l)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", l, err)
	}
	conn, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", l, err)
	}
	db := sql.OpenDB(conn)
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

// config turns the URL into the driver's form. A socket is named by socket=PATH, with any host.
func config(l store.Location) (*mysql.Config, error) {
	u := l.URL
	q := u.Query()
	addr := u.Host
	if u.Port() == "" {
		addr += ":3306"
	}
	network := "tcp"
	if s := q.Get("socket"); s != "" {
		network, addr = "unix", s
		q.Del("socket")
	}
	dsn := fmt.Sprintf("%s(%s)/%s", network, addr, strings.TrimPrefix(u.Path, "/"))
	if enc := q.Encode(); enc != "" {
		dsn += "?" + enc
	}
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	return c, nil
}
