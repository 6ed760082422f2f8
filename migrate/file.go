package migrate

// The export file: one JSON value a line. The first says what the file is, then come the topics, then a line for each
// group, and the last says how many there were, so that a file that was cut off is noticed. It is written as the groups
// are read, so that thousands of them need no memory.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

// ExportVersion is the newest version of an export that this koffset reads, and the one it writes.
const ExportVersion = 1

// Writer writes an export.
type Writer struct {
	w            *bufio.Writer
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
	x := &Writer{w: bufio.NewWriterSize(w, 256<<10)}
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
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = x.w.Write(append(b, '\n'))
	return err
}

// Group writes one group. The error is the underlying writer's.
func (x *Writer) Group(g Group) error {
	x.groups, x.rows = x.groups+1, x.rows+len(g.Rows)
	b := append(x.buf[:0], `{"group":`...)
	b = appendString(b, g.Name)
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
	x.buf = append(b, "]}\n"...)
	_, err := x.w.Write(x.buf)
	return err
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
	if a := r.Around; a != nil {
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
		}{{a.AtStart, "at_start"}, {a.SearchedAll, "searched_all"}, {a.SearchedBack, "searched_back"}, {a.UnreadTimes, "unread_times"}, {a.Whole, "whole"}} {
			if flag.set {
				b = append(b, `,"`...)
				b = append(b, flag.name...)
				b = append(b, `":true`...)
			}
		}
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
}

// Close writes the last line and flushes; it does not close what is below. The error is the underlying writer's.
func (x *Writer) Close(incomplete bool) error {
	if err := x.line(endLine{"end", x.groups, x.rows, incomplete}); err != nil {
		return err
	}
	return x.w.Flush()
}

type rowJSON struct {
	Topic       string             `json:"topic"`
	Partition   int32              `json:"partition"`
	Offset      *int64             `json:"offset"`
	LeaderEpoch offset.LeaderEpoch `json:"leader_epoch"`
	Metadata    string             `json:"metadata"`
	Marker      offset.Marker      `json:"marker"`
	LogStart    *int64             `json:"log_start_offset"`
	LogEnd      *int64             `json:"log_end_offset"`
	LastStable  *int64             `json:"last_stable_offset"`
	Earliest    *int64             `json:"earliest_unread_ms"`
	At          *[]Fingerprint     `json:"at"`
	Before      []Fingerprint      `json:"before"`
	AtEnd       bool               `json:"at_end"`
	AtStart     bool               `json:"at_start"`
	SearchedTo  int64              `json:"searched_to"`
	Searched    bool               `json:"searched_all"`
	Back        bool               `json:"searched_back"`
	UnreadTimes bool               `json:"unread_times"`
	Whole       bool               `json:"whole"`
	Gone        bool               `json:"gone"`
	Error       string             `json:"error"`
}

// anyLine is every kind of line after the first: what is set tells which it is.
type anyLine struct {
	Kind       string  `json:"kind"`
	Topic      *string `json:"topic"`
	TopicID    string  `json:"topic_id"`
	Group      *string `json:"group"`
	Type       string  `json:"type"`
	State      string  `json:"state"`
	Members    int     `json:"member_count"`
	Live       bool    `json:"live"`
	Error      *string `json:"error"`
	Partitions json.RawMessage
	Groups     int  `json:"groups"`
	Incomplete bool `json:"incomplete"`
}

// ReadExport reads an export. path is only named in errors, which are *checkpointfile.FileError: ErrForeign where the file
// is something else, ErrNewer where its version is newer, ErrDamaged where it was cut off or cannot be read.
func ReadExport(path string, r io.Reader) (*Export, error) {
	line := 0
	bad := func(cause error, hint, format string, args ...any) error {
		return &checkpointfile.FileError{Path: path, Line: line, Problem: fmt.Sprintf(format, args...), Hint: hint, Err: cause}
	}
	dec := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	var h headLine
	line = 1
	if err := dec.Decode(&h); err != nil || h.Kind == "" {
		return nil, bad(checkpointfile.ErrForeign, "koffset migrate export writes such a file", "this is no export of koffset's")
	}
	switch {
	case h.Kind != checkpointfile.KindExport:
		return nil, bad(checkpointfile.ErrForeign, "", "this is a %s, a %s was expected", h.Kind, checkpointfile.KindExport)
	case h.Version > ExportVersion:
		return nil, bad(checkpointfile.ErrNewer, "update koffset to read it", "an export of version %d, written by koffset %s: this koffset reads up to version %d", h.Version, h.Koffset, ExportVersion)
	case h.Version < 1:
		return nil, bad(checkpointfile.ErrDamaged, "", "an export of version %d: versions begin at 1", h.Version)
	}
	x := &Export{Header: Header{CreatedAt: h.CreatedAt, Version: h.Koffset, ClusterID: h.ClusterID, Source: h.Source, Fingerprints: h.Fingerprints}}
	rows := 0
	for {
		line++
		var l anyLine
		err := dec.Decode(&l)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, bad(checkpointfile.ErrDamaged, "export again: the last line of a whole file says how much is in it", "the file ends too early, after %d groups: it was cut off", len(x.Groups))
		case err != nil:
			return nil, bad(checkpointfile.ErrDamaged, "", "the line cannot be read: %v", err)
		case l.Kind == "end":
			var n int
			if err := json.Unmarshal(l.Partitions, &n); err != nil || n != rows || l.Groups != len(x.Groups) {
				return nil, bad(checkpointfile.ErrDamaged, "", "the file says it holds %d groups with %s partitions, %d with %d were read", l.Groups, l.Partitions, len(x.Groups), rows)
			}
			// Two files in one would lose the second without a word.
			if line++; dec.More() {
				return nil, bad(checkpointfile.ErrDamaged, "import each export by itself", "something follows the end of the export")
			}
			x.Incomplete = l.Incomplete
			return x, nil
		case l.Topic != nil:
			t := Topic{Name: *l.Topic, ID: l.TopicID}
			if l.Error != nil {
				t.Error = *l.Error
			}
			if len(l.Partitions) > 0 && json.Unmarshal(l.Partitions, &t.Partitions) != nil {
				return nil, bad(checkpointfile.ErrDamaged, "", "topic %s: its partition count %s is no number", t.Name, l.Partitions)
			}
			x.Topics = append(x.Topics, t)
		case l.Group != nil:
			g := Group{Name: *l.Group, Type: l.Type, State: l.State, Members: l.Members, Live: l.Live}
			if l.Error != nil {
				g.Error = *l.Error
			}
			if g.Rows, err = decodeRows(g.Name, l.Partitions); err != nil {
				return nil, bad(checkpointfile.ErrDamaged, "", "group %s: %v", g.Name, err)
			}
			rows += len(g.Rows)
			x.Groups = append(x.Groups, g)
		default:
			return nil, bad(checkpointfile.ErrDamaged, "", "the line is neither a topic nor a group nor the end")
		}
	}
}

func decodeRows(group string, raw json.RawMessage) ([]Row, error) {
	var list []rowJSON
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	out := make([]Row, 0, len(list))
	seen := make(map[offset.Partition]bool, len(list))
	for _, j := range list {
		r := Row{Group: group, Partition: offset.Partition{Topic: j.Topic, Partition: j.Partition}, Marker: j.Marker, Gone: j.Gone, Error: j.Error}
		if seen[r.Partition] {
			return nil, fmt.Errorf("%s is in it twice", r.Partition)
		}
		seen[r.Partition] = true
		if j.Topic == "" || j.Partition < 0 || j.Offset != nil && *j.Offset < 0 {
			return nil, fmt.Errorf("%s is no partition, or its offset is negative", r.Partition)
		}
		if j.Offset != nil {
			r.Committed = &offset.Committed{Offset: *j.Offset, LeaderEpoch: j.LeaderEpoch, Metadata: j.Metadata}
		}
		if j.LogStart != nil && j.LogEnd != nil && j.LastStable != nil {
			r.Bounds = &offset.Bounds{Start: *j.LogStart, End: *j.LogEnd, LastStable: *j.LastStable}
		}
		if j.At != nil {
			r.Around = &Surroundings{At: *j.At, Before: j.Before, AtEnd: j.AtEnd, AtStart: j.AtStart,
				SearchedTo: j.SearchedTo, SearchedAll: j.Searched, SearchedBack: j.Back, UnreadTimes: j.UnreadTimes, Whole: j.Whole}
			if j.Earliest != nil {
				r.Around.EarliestUnread = time.UnixMilli(*j.Earliest).UTC()
			}
		}
		out = append(out, r)
	}
	return out, nil
}
