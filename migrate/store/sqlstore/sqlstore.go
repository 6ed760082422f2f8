// Package sqlstore keeps positions in a table of an SQL database. Packages postgres, mysql and sqlite open one with their
// driver; this package links none.
//
// The table, as Create makes it (the types are those of PostgreSQL):
//
//	CREATE TABLE koffset_offsets (
//	    group_id     varchar(255) NOT NULL,
//	    topic        varchar(249) NOT NULL,
//	    partition_id integer      NOT NULL,
//	    next_offset  bigint       NOT NULL,  -- the next record to read
//	    leader_epoch integer,                -- of the record before it; NULL where it is not known
//	    metadata     text         NOT NULL,
//	    cluster_id   varchar(255) NOT NULL,  -- '' where it is not known
//	    saved_at_ms  bigint       NOT NULL,  -- milliseconds since 1970, UTC
//	    PRIMARY KEY (group_id, topic, partition_id)
//	);
//
// A program that writes records into the same database can store the positions in its own transaction with SaveTx: records
// and positions are then there together or not at all.
package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
)

// Dialect is what differs between databases.
type Dialect struct {
	// Quote puts an identifier into quotes.
	Quote func(name string) string
	// Dollar numbers the parameters ($1) instead of writing ?.
	Dollar bool
	// Name and Text are the types of short names and of the metadata.
	GroupType, TopicType, TextType string
	// Upsert is what follows VALUES so that an existing row is replaced.
	Upsert string
	// LockRows is appended to a SELECT inside a transaction to keep other writers of the rows away.
	LockRows string
	// TableOptions follows the closing parenthesis of CREATE TABLE.
	TableOptions string
	// Isolation of Save's own transaction.
	Isolation sql.IsolationLevel
	// Again says that the database gave the transaction up for another one's sake, and wants it tried again.
	Again func(error) bool
	// Missing says that an error means that the table does not exist.
	Missing func(error) bool
}

// Excluded is the clause for databases that have ON CONFLICT.
const Excluded = " ON CONFLICT (group_id, topic, partition_id) DO UPDATE SET next_offset = excluded.next_offset, leader_epoch = excluded.leader_epoch," +
	" metadata = excluded.metadata, cluster_id = excluded.cluster_id, saved_at_ms = excluded.saved_at_ms"

// DB is a store in a table. It implements store.Store.
type DB struct {
	db      *sql.DB
	dialect Dialect
	table   string // quoted
	name    string
}

// New wraps a database that is open; Close closes it. table may be qualified by a schema.
func New(db *sql.DB, d Dialect, table string) *DB {
	parts := strings.Split(table, ".")
	for i, p := range parts {
		parts[i] = d.Quote(p)
	}
	return &DB{db: db, dialect: d, table: strings.Join(parts, "."), name: table}
}

// Create makes the table where it does not exist.
func (d *DB) Create(ctx context.Context) error {
	_, err := d.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+d.table+" (group_id "+d.dialect.GroupType+" NOT NULL, topic "+d.dialect.TopicType+
		" NOT NULL, partition_id INTEGER NOT NULL, next_offset BIGINT NOT NULL, leader_epoch INTEGER, metadata "+d.dialect.TextType+
		" NOT NULL, cluster_id VARCHAR(255) NOT NULL, saved_at_ms BIGINT NOT NULL, PRIMARY KEY (group_id, topic, partition_id))"+d.dialect.TableOptions)
	if err != nil {
		return fmt.Errorf("create table %s: %w", d.name, err)
	}
	return nil
}

// query numbers the parameters as the database wants them.
func (d *DB) query(q string) string {
	if !d.dialect.Dollar {
		return q
	}
	var b strings.Builder
	n := 0
	for _, c := range q {
		if c == '?' {
			n++
			fmt.Fprintf(&b, "$%d", n)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func (d *DB) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if d.dialect.Missing(err) {
		return &store.MissingError{What: "table " + d.name, Err: err}
	}
	return fmt.Errorf("%s table %s: %w", what, d.name, err)
}

// Load implements store.Store.
func (d *DB) Load(ctx context.Context, group string) (store.Saved, error) {
	rows, err := d.db.QueryContext(ctx, d.query("SELECT topic, partition_id, next_offset, leader_epoch, metadata, cluster_id, saved_at_ms FROM "+d.table+
		" WHERE group_id = ?"), group)
	if err != nil {
		return store.Saved{}, d.wrap("read", err)
	}
	defer rows.Close()
	var s store.Saved
	for rows.Next() {
		var p store.Position
		var epoch sql.NullInt32
		var cluster string
		var ms int64
		if err := rows.Scan(&p.Topic, &p.Partition.Partition, &p.Offset, &epoch, &p.Metadata, &cluster, &ms); err != nil {
			return store.Saved{}, d.wrap("read", err)
		}
		if epoch.Valid {
			p.LeaderEpoch = offset.EpochOf(epoch.Int32)
		}
		if s.ClusterID == "" {
			s.ClusterID = cluster
		}
		if err := store.SameCluster(group, s.ClusterID, cluster); err != nil {
			return store.Saved{}, fmt.Errorf("table %s is not consistent: %w", d.name, err)
		}
		if at := time.UnixMilli(ms).UTC(); at.After(s.At) {
			s.At = at
		}
		s.Positions = append(s.Positions, p)
	}
	if err := rows.Err(); err != nil {
		return store.Saved{}, d.wrap("read", err)
	}
	store.Sort(s.Positions)
	return s, nil
}

// saveTries is how often Save begins again after a deadlock with another writer.
const saveTries = 10

// Save implements store.Store, in a transaction of its own.
func (d *DB) Save(ctx context.Context, w store.Write) error {
	// Every writer takes the rows in one order, so that two of them wait for each other as seldom as possible.
	w.Positions = slices.Clone(w.Positions)
	store.Sort(w.Positions)
	var err error
	for range saveTries {
		if err = d.save(ctx, w); err == nil || d.dialect.Again == nil || !d.dialect.Again(err) {
			return err
		}
	}
	return err
}

func (d *DB) save(ctx context.Context, w store.Write) error {
	tx, err := d.db.BeginTx(ctx, &sql.TxOptions{Isolation: d.dialect.Isolation})
	if err != nil {
		return d.wrap("write", err)
	}
	if err := d.SaveTx(ctx, tx, w); err != nil {
		_ = tx.Rollback() // the first error is what matters
		return err
	}
	return d.wrap("write", tx.Commit())
}

// saveChunk is how many rows go into one statement: eight parameters each, and SQLite takes 32,766.
const saveChunk = 500

// SaveTx stores positions within the caller's transaction: they are there when it commits, and only then. The error is a
// *store.ClusterError, a *store.MissingError or the driver's; the transaction must be rolled back then.
func (d *DB) SaveTx(ctx context.Context, tx *sql.Tx, w store.Write) error {
	if err := w.Check(); err != nil {
		return err
	}
	if err := d.checkCluster(ctx, tx, w); err != nil {
		return err
	}
	for i := 0; i < len(w.Positions); i += saveChunk {
		part := w.Positions[i:min(i+saveChunk, len(w.Positions))]
		var b strings.Builder
		b.WriteString("INSERT INTO " + d.table + " (group_id, topic, partition_id, next_offset, leader_epoch, metadata, cluster_id, saved_at_ms) VALUES ")
		args := make([]any, 0, 8*len(part))
		for j, p := range part {
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString("(?, ?, ?, ?, ?, ?, ?, ?)")
			var epoch any
			if n, ok := p.LeaderEpoch.Get(); ok {
				epoch = n
			}
			args = append(args, w.Group, p.Topic, p.Partition.Partition, p.Offset, epoch, p.Metadata, w.ClusterID, w.At.UnixMilli())
		}
		b.WriteString(d.dialect.Upsert)
		if _, err := tx.ExecContext(ctx, d.query(b.String()), args...); err != nil {
			return d.wrap("write", err)
		}
	}
	return nil
}

func (d *DB) checkCluster(ctx context.Context, tx *sql.Tx, w store.Write) error {
	rows, err := tx.QueryContext(ctx, d.query("SELECT cluster_id FROM "+d.table+" WHERE group_id = ? AND cluster_id <> ? AND cluster_id <> ''"+d.dialect.LockRows),
		w.Group, w.ClusterID)
	if err != nil {
		return d.wrap("read", err)
	}
	defer rows.Close()
	for rows.Next() {
		var stored string
		if err := rows.Scan(&stored); err != nil {
			return d.wrap("read", err)
		}
		if err := store.SameCluster(w.Group, stored, w.ClusterID); err != nil {
			return err
		}
	}
	return d.wrap("read", rows.Err())
}

// Groups implements store.Store.
func (d *DB) Groups(ctx context.Context) ([]string, error) {
	rows, err := d.db.QueryContext(ctx, "SELECT DISTINCT group_id FROM "+d.table+" ORDER BY group_id")
	if err != nil {
		return nil, d.wrap("read", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var g string
		if err := rows.Scan(&g); err != nil {
			return nil, d.wrap("read", err)
		}
		out = append(out, g)
	}
	return out, d.wrap("read", rows.Err())
}

// Close implements store.Store.
func (d *DB) Close() error { return d.db.Close() }
