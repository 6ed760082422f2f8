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
//	    topic_id     varchar(32),            -- the topic that the offset is of; NULL where it is not known
//	    PRIMARY KEY (group_id, topic, partition_id)
//	);
//
// A table that an older version made has no topic_id: it is read and written without, and Create adds the column.
//
// A program that writes records into the same database can store the positions in its own transaction with SaveTx: records
// and positions are then there together or not at all.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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
	// Upsert is what follows VALUES so that these columns of an existing row are replaced.
	Upsert func(columns []string) string
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

// columns are those that a save replaces; topic_id is the last, since older tables lack it.
func columns(ids bool) []string {
	all := []string{"next_offset", "leader_epoch", "metadata", "cluster_id", "saved_at_ms", "topic_id"}
	if !ids {
		all = all[:len(all)-1]
	}
	return all
}

// OnConflict is the clause for databases that have ON CONFLICT.
func OnConflict(columns []string) string {
	sets := make([]string, len(columns))
	for i, c := range columns {
		sets[i] = c + " = excluded." + c
	}
	return " ON CONFLICT (group_id, topic, partition_id) DO UPDATE SET " + strings.Join(sets, ", ")
}

// DB is a store in a table. It implements store.Store.
type DB struct {
	db      *sql.DB
	dialect Dialect
	table   string // quoted
	name    string
	// ids says whether the table has a topic_id: 0 until it was looked at.
	ids atomic.Int32
}

// The values of DB.ids.
const (
	idsMissing = iota + 1
	idsThere
)

// New wraps a database that is open; Close closes it. table may be qualified by a schema.
func New(db *sql.DB, d Dialect, table string) *DB {
	parts := strings.Split(table, ".")
	for i, p := range parts {
		parts[i] = d.Quote(p)
	}
	return &DB{db: db, dialect: d, table: strings.Join(parts, "."), name: table}
}

// Create makes the table where it does not exist, and adds the column that a table of an older version lacks.
func (d *DB) Create(ctx context.Context) error {
	_, err := d.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+d.table+" (group_id "+d.dialect.GroupType+" NOT NULL, topic "+d.dialect.TopicType+
		" NOT NULL, partition_id INTEGER NOT NULL, next_offset BIGINT NOT NULL, leader_epoch INTEGER, metadata "+d.dialect.TextType+
		" NOT NULL, cluster_id VARCHAR(255) NOT NULL, saved_at_ms BIGINT NOT NULL, topic_id VARCHAR(32), PRIMARY KEY (group_id, topic, partition_id))"+d.dialect.TableOptions)
	if err != nil {
		return fmt.Errorf("create table %s: %w", d.name, err)
	}
	there, err := d.hasIDs(ctx, d.db.QueryContext)
	if err != nil || there {
		return err
	}
	if _, err := d.db.ExecContext(ctx, "ALTER TABLE "+d.table+" ADD COLUMN topic_id VARCHAR(32)"); err != nil {
		return fmt.Errorf("add the column topic_id to table %s: %w", d.name, err)
	}
	d.ids.Store(idsThere)
	return nil
}

// hasIDs looks once whether the table has a topic_id. ask is the QueryContext of the database or of a transaction.
func (d *DB) hasIDs(ctx context.Context, ask func(context.Context, string, ...any) (*sql.Rows, error)) (bool, error) {
	if known := d.ids.Load(); known != 0 {
		return known == idsThere, nil
	}
	rows, err := ask(ctx, "SELECT * FROM "+d.table+" WHERE 1 = 0")
	if err != nil {
		return false, d.wrap("read", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err == nil {
		err = rows.Err()
	}
	if err != nil {
		return false, d.wrap("read", err)
	}
	known := int32(idsMissing)
	if slices.Contains(names, "topic_id") {
		known = idsThere
	}
	d.ids.Store(known)
	return known == idsThere, nil
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
	ids, err := d.hasIDs(ctx, d.db.QueryContext)
	if err != nil {
		return store.Saved{}, err
	}
	id := "NULL"
	if ids {
		id = "topic_id"
	}
	rows, err := d.db.QueryContext(ctx, d.query("SELECT topic, partition_id, next_offset, leader_epoch, metadata, cluster_id, saved_at_ms, "+id+" FROM "+d.table+
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
		var topicID sql.NullString
		if err := rows.Scan(&p.Topic, &p.Partition.Partition, &p.Offset, &epoch, &p.Metadata, &cluster, &ms, &topicID); err != nil {
			return store.Saved{}, d.wrap("read", err)
		}
		p.TopicID = topicID.String
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

// saveChunk is how many rows go into one statement: nine parameters each, and SQLite takes 32,766.
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
	ids, err := d.hasIDs(ctx, tx.QueryContext)
	if err != nil {
		return err
	}
	cols := columns(ids)
	marks := "(?, ?, ?" + strings.Repeat(", ?", len(cols)) + ")"
	for i := 0; i < len(w.Positions); i += saveChunk {
		part := w.Positions[i:min(i+saveChunk, len(w.Positions))]
		var b strings.Builder
		b.WriteString("INSERT INTO " + d.table + " (group_id, topic, partition_id, " + strings.Join(cols, ", ") + ") VALUES ")
		args := make([]any, 0, (3+len(cols))*len(part))
		for j, p := range part {
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(marks)
			args = append(args, w.Group, p.Topic, p.Partition.Partition)
			args = append(args, values(w, p)[:len(cols)]...)
		}
		b.WriteString(d.dialect.Upsert(cols))
		if _, err := tx.ExecContext(ctx, d.query(b.String()), args...); err != nil {
			return d.wrap("write", err)
		}
	}
	return nil
}

// values are a row's, in the order of columns; what is not known is NULL.
func values(w store.Write, p store.Position) []any {
	var epoch, id any
	if n, ok := p.LeaderEpoch.Get(); ok {
		epoch = n
	}
	if p.TopicID != "" {
		id = p.TopicID
	}
	return []any{p.Offset, epoch, p.Metadata, w.ClusterID, w.At.UnixMilli(), id}
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
