package migrate

// The export file: one JSON value a line. The first says what the file is, then come the topics, then a line for each
// group, and the last says how many there were, so that a file that was cut off is noticed, with a digest over all lines
// before it, so that one that was changed is. It is written as the groups are read, so that thousands need no memory.

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"time"

	"github.com/koffset/koffset/checkpointfile"
)

// ExportVersion is the newest version of an export that this koffset reads, and the one it writes.
const ExportVersion = 1

// Writer writes an export.
type Writer struct {
	w            *bufio.Writer
	sum          hash.Hash // over the lines so far, without their ends
	buf          []byte
	groups, rows int
}

type headLine struct {
	Kind         checkpointfile.Kind `json:"kind"`
	Version      int                 `json:"schema_version"`
	CreatedAt    time.Time           `json:"created_at"`
	Koffset      string              `json:"koffset_version"`
	ClusterID    string              `json:"cluster_id"`
	Source       string              `json:"source"`
	Fingerprints bool                `json:"fingerprints"`
}

// NewWriter begins an export with its header. The error is w's.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	x := &Writer{w: bufio.NewWriterSize(w, 256<<10), sum: sha256.New()}
	if err := x.line(headLine{checkpointfile.KindExport, ExportVersion, h.CreatedAt.UTC().Truncate(time.Millisecond), h.Version, h.ClusterID,
		h.Source, h.Fingerprints}); err != nil {
		return nil, err
	}
	for _, t := range h.Topics {
		if err := x.line(t); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (x *Writer) line(v any) error {
	b, err := checkpointfile.CompactJSON(v)
	if err != nil {
		return err
	}
	return x.put(b)
}

func (x *Writer) put(line []byte) error {
	x.sum.Write(line)
	_, err := x.w.Write(append(line, '\n'))
	return err
}

// Group writes one group. The error is the underlying writer's.
func (x *Writer) Group(g Group) error {
	x.groups, x.rows = x.groups+1, x.rows+len(g.Rows)
	b := append(x.buf[:0], `{"group":`...)
	b = appendString(b, g.Name)
	if g.Any {
		b = append(b, `,"any_group":true`...)
	}
	b = append(b, `,"type":`...)
	b = appendString(b, g.Type)
	b = append(b, `,"state":`...)
	b = appendString(b, g.State)
	b = append(b, `,"member_count":`...)
	b = appendInt(b, int64(g.Members))
	if g.Live {
		b = append(b, `,"live":true`...)
	}
	b = append(b, `,"error":`...)
	b = appendError(b, g.Error)
	b = append(b, `,"partitions":[`...)
	for i := range g.Rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendRow(b, &g.Rows[i])
	}
	x.buf = append(b, "]}"...)
	return x.put(x.buf)
}

func appendError(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

func appendRow(b []byte, r *Row) []byte {
	b = append(b, `{"topic":`...)
	b = appendString(b, r.Topic)
	b = append(b, `,"partition":`...)
	b = appendInt(b, int64(r.Partition.Partition))
	if c := r.Committed; c != nil {
		b = append(b, `,"offset":`...)
		b = appendInt(b, c.Offset)
		b = append(b, `,"leader_epoch":`...)
		if n, ok := c.LeaderEpoch.Get(); ok {
			b = appendInt(b, int64(n))
		} else {
			b = append(b, "null"...)
		}
		b = append(b, `,"metadata":`...)
		b = appendString(b, c.Metadata)
	} else {
		b = append(b, `,"offset":null`...)
	}
	if r.Share {
		b = append(b, `,"acknowledged":`...)
		if n := r.Acknowledged; n != nil {
			b = appendInt(b, *n)
		} else {
			b = append(b, "null"...)
		}
	}
	if r.Marker != "" {
		b = append(b, `,"marker":`...)
		b = appendString(b, string(r.Marker))
	}
	if o := r.Bounds; o != nil {
		b = append(b, `,"log_start_offset":`...)
		b = appendInt(b, o.Start)
		b = append(b, `,"log_end_offset":`...)
		b = appendInt(b, o.End)
		b = append(b, `,"last_stable_offset":`...)
		b = appendInt(b, o.LastStable)
	} else {
		b = append(b, `,"log_start_offset":null,"log_end_offset":null,"last_stable_offset":null`...)
	}
	if r.Around != nil {
		b = appendAround(b, r.Around)
	}
	if r.Provisional {
		b = append(b, `,"provisional":true`...)
	}
	if r.Gone {
		b = append(b, `,"gone":true`...)
	}
	if r.Error != "" {
		b = append(b, `,"error":`...)
		b = appendString(b, r.Error)
	}
	return append(b, '}')
}

func appendAround(b []byte, a *Surroundings) []byte {
	b = append(b, `,"next_timestamp_ms":`...)
	if len(a.At) > 0 && !a.At[0].Time.IsZero() {
		b = appendInt(b, a.At[0].Time.UnixMilli())
	} else {
		b = append(b, "null"...)
	}
	if !a.EarliestUnread.IsZero() {
		b = append(b, `,"earliest_unread_ms":`...)
		b = appendInt(b, a.EarliestUnread.UnixMilli())
	}
	b = appendPrints(append(b, `,"at":`...), a.At)
	b = appendPrints(append(b, `,"before":`...), a.Before)
	if a.AtEnd {
		b = append(b, `,"at_end":true`...)
	}
	b = append(b, `,"searched_to":`...)
	b = appendInt(b, a.SearchedTo)
	for _, flag := range []struct {
		set  bool
		name string
	}{{a.AtStart, "at_start"}, {a.SearchedAll, "searched_all"}, {a.SearchedBack, "searched_back"}, {a.UnreadTimes, "unread_times"}, {a.Whole, "whole"}, {a.Gapless, "gapless"}} {
		if flag.set {
			b = append(b, `,"`...)
			b = append(b, flag.name...)
			b = append(b, `":true`...)
		}
	}
	return b
}

func appendPrints(b []byte, fs []Fingerprint) []byte {
	b = append(b, '[')
	for i, f := range fs {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendJSON(b)
	}
	return append(b, ']')
}

type endLine struct {
	Kind       string `json:"kind"`
	Groups     int    `json:"groups"`
	Rows       int    `json:"partitions"`
	Incomplete bool   `json:"incomplete"`
	Digest     string `json:"digest"`
}

func digestOf(sum hash.Hash) string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }

// Close writes the last line and flushes; it does not close what is below. The error is the underlying writer's.
func (x *Writer) Close(incomplete bool) error {
	if err := x.line(endLine{"end", x.groups, x.rows, incomplete, digestOf(x.sum)}); err != nil {
		return err
	}
	return x.w.Flush()
}
