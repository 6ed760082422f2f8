package migrate

// Reading an export back.

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

type rowJSON struct {
	Topic        string             `json:"topic"`
	Partition    int32              `json:"partition"`
	Offset       *int64             `json:"offset"`
	LeaderEpoch  offset.LeaderEpoch `json:"leader_epoch"`
	Metadata     string             `json:"metadata"`
	Acknowledged *int64             `json:"acknowledged"`
	Marker       offset.Marker      `json:"marker"`
	LogStart     *int64             `json:"log_start_offset"`
	LogEnd       *int64             `json:"log_end_offset"`
	LastStable   *int64             `json:"last_stable_offset"`
	Earliest     *int64             `json:"earliest_unread_ms"`
	At           *[]Fingerprint     `json:"at"`
	Before       []Fingerprint      `json:"before"`
	AtEnd        bool               `json:"at_end"`
	AtStart      bool               `json:"at_start"`
	SearchedTo   int64              `json:"searched_to"`
	Searched     bool               `json:"searched_all"`
	Back         bool               `json:"searched_back"`
	UnreadTimes  bool               `json:"unread_times"`
	Whole        bool               `json:"whole"`
	Gapless      bool               `json:"gapless"`
	Provisional  bool               `json:"provisional"`
	Gone         bool               `json:"gone"`
	Error        string             `json:"error"`
}

// anyLine is every kind of line after the first: what is set tells which it is.
type anyLine struct {
	Kind       string  `json:"kind"`
	Topic      *string `json:"topic"`
	TopicID    string  `json:"topic_id"`
	Group      *string `json:"group"`
	AnyGroup   bool    `json:"any_group"`
	Type       string  `json:"type"`
	State      string  `json:"state"`
	Members    int     `json:"member_count"`
	Live       bool    `json:"live"`
	Error      *string `json:"error"`
	Partitions json.RawMessage
	Groups     int    `json:"groups"`
	Incomplete bool   `json:"incomplete"`
	Digest     string `json:"digest"`
}

// exportReader reads one value after the other, and keeps the digest over them: of compact JSON, so that spaces and line ends
// are not contents.
type exportReader struct {
	path    string
	line    int
	dec     *json.Decoder
	sum     hash.Hash
	before  string // the digest over all values but the last one
	raw     json.RawMessage
	compact bytes.Buffer
	x       Export
	rows    int
}

func (r *exportReader) bad(cause error, hint, format string, args ...any) error {
	return &checkpointfile.FileError{Path: r.path, Line: r.line, Problem: fmt.Sprintf(format, args...), Hint: hint, Err: cause}
}

func (r *exportReader) next(v any) error {
	r.line++
	if err := r.dec.Decode(&r.raw); err != nil {
		return err
	}
	r.compact.Reset()
	if err := json.Compact(&r.compact, r.raw); err != nil {
		return err
	}
	r.before = digestOf(r.sum)
	r.sum.Write(r.compact.Bytes())
	return json.Unmarshal(r.raw, v)
}

// ReadExport reads an export. path is only named in errors, which are *checkpointfile.FileError: ErrForeign where the file
// is something else, ErrNewer where its version is newer, ErrDamaged where it was cut off, was changed, or cannot be read.
func ReadExport(path string, in io.Reader) (*Export, error) {
	buffered := bufio.NewReaderSize(in, 1<<20)
	// An editor on Windows puts a mark in front of a text, and \r before each \n, which is white space to JSON.
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = buffered.Discard(3)
	}
	r := &exportReader{path: path, dec: json.NewDecoder(buffered), sum: sha256.New()}
	if err := r.head(); err != nil {
		return nil, err
	}
	for {
		var l anyLine
		err := r.next(&l)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, r.bad(checkpointfile.ErrDamaged, "export again: the last line of a whole file says how much is in it", "the file ends too early, after %s: it was cut off", text.Plural(len(r.x.Groups), "group"))
		case err != nil:
			return nil, r.bad(checkpointfile.ErrDamaged, "", "the line cannot be read: %v", jsonWords(err))
		case l.Kind == "end":
			if err := r.end(l); err != nil {
				return nil, err
			}
			return &r.x, nil
		case l.Topic != nil:
			err = r.topic(l)
		case l.Group != nil:
			err = r.group(l)
		default:
			err = r.bad(checkpointfile.ErrDamaged, "", "the line is neither a topic nor a group nor the end")
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *exportReader) head() error {
	var h headLine
	if err := r.next(&h); err != nil || h.Kind == "" {
		return r.bad(checkpointfile.ErrForeign, "koffset migrate export writes such a file", "this is not a koffset export")
	}
	switch {
	case h.Kind != checkpointfile.KindExport:
		return r.bad(checkpointfile.ErrForeign, "", "this is a %s, a %s was expected", h.Kind, checkpointfile.KindExport)
	case h.Version > ExportVersion:
		return r.bad(checkpointfile.ErrNewer, "update koffset to read it", "an export of version %d, written by koffset %s: this koffset reads up to version %d", h.Version, h.Koffset, ExportVersion)
	case h.Version < 1:
		return r.bad(checkpointfile.ErrDamaged, "", "an export of version %d: versions begin at 1", h.Version)
	}
	r.x.Header = Header{CreatedAt: h.CreatedAt, Version: h.Koffset, ClusterID: h.ClusterID, Source: h.Source, Fingerprints: h.Fingerprints}
	return nil
}

func (r *exportReader) topic(l anyLine) error {
	t := Topic{Name: *l.Topic, ID: l.TopicID}
	if l.Error != nil {
		t.Error = *l.Error
	}
	if len(l.Partitions) > 0 && json.Unmarshal(l.Partitions, &t.Partitions) != nil {
		return r.bad(checkpointfile.ErrDamaged, "", "topic %s: its partition count %s is not a number", t.Name, l.Partitions)
	}
	r.x.Topics = append(r.x.Topics, t)
	return nil
}

func (r *exportReader) group(l anyLine) (err error) {
	g := Group{Name: *l.Group, Any: l.AnyGroup, Type: l.Type, State: l.State, Members: l.Members, Live: l.Live}
	if l.Error != nil {
		g.Error = *l.Error
	}
	if g.Rows, err = decodeRows(g.Name, l.Partitions); err != nil {
		return r.bad(checkpointfile.ErrDamaged, "", "group %s: %v", offset.NameText(g.Name), err)
	}
	for i := range g.Rows {
		g.Rows[i].Share = g.Type == string(inspect.TypeShare)
	}
	r.rows += len(g.Rows)
	r.x.Groups = append(r.x.Groups, g)
	return nil
}

func (r *exportReader) end(l anyLine) error {
	var n int
	switch err := json.Unmarshal(l.Partitions, &n); {
	case err != nil || n != r.rows || l.Groups != len(r.x.Groups):
		return r.bad(checkpointfile.ErrDamaged, "", "the file says it holds %s with %s partitions, %d with %d were read", text.Plural(l.Groups, "group"), l.Partitions, len(r.x.Groups), r.rows)
	case l.Digest != "" && l.Digest != r.before:
		return r.bad(checkpointfile.ErrDamaged, "export again instead of editing it", "the export was changed after it was written: its lines have digest %s, the last one says %s",
			checkpointfile.Short(r.before), checkpointfile.Short(l.Digest))
	}
	// Two files in one would lose the second without a word.
	if r.line++; r.dec.More() {
		return r.bad(checkpointfile.ErrDamaged, "import one export at a time", "something follows the end of the export")
	}
	for i := range r.x.Groups {
		// An older koffset wrote offsets of a checkpoint that are for any group as those of the group with the empty name.
		if g := &r.x.Groups[i]; l.Digest == "" && g.Name == "" && strings.HasPrefix(r.x.Source, "checkpoint:") {
			g.Any = true
		}
	}
	r.x.Incomplete, r.x.Digest, r.x.Unsealed = l.Incomplete, l.Digest, l.Digest == ""
	return nil
}

// jsonWords says what is wrong with a value without the names of this program's types.
func jsonWords(err error) error {
	t, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	if t.Field == "" {
		return fmt.Errorf("unexpected %s", t.Value)
	}
	return fmt.Errorf("%s is a %s, and something else belongs there", t.Field, t.Value)
}

func decodeRows(group string, raw json.RawMessage) ([]Row, error) {
	var list []rowJSON
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, jsonWords(err)
	}
	out := make([]Row, 0, len(list))
	seen := make(map[offset.Partition]bool, len(list))
	for _, j := range list {
		r := Row{Group: group, Partition: offset.Partition{Topic: j.Topic, Partition: j.Partition}, Acknowledged: j.Acknowledged, Marker: j.Marker, Provisional: j.Provisional, Gone: j.Gone, Error: j.Error}
		if seen[r.Partition] {
			return nil, fmt.Errorf("%s is in it twice", r.Partition)
		}
		seen[r.Partition] = true
		if j.Topic == "" || j.Partition < 0 || j.Offset != nil && *j.Offset < 0 || j.Acknowledged != nil && *j.Acknowledged < 0 {
			return nil, fmt.Errorf("%s is not a partition, or a number of it is negative", r.Partition)
		}
		if j.Offset != nil {
			r.Committed = &offset.Committed{Offset: *j.Offset, LeaderEpoch: j.LeaderEpoch, Metadata: j.Metadata}
		}
		if j.LogStart != nil && j.LogEnd != nil && j.LastStable != nil {
			r.Bounds = &offset.Bounds{Start: *j.LogStart, End: *j.LogEnd, LastStable: *j.LastStable}
		}
		if j.At != nil {
			r.Around = &Surroundings{At: *j.At, Before: j.Before, AtEnd: j.AtEnd, AtStart: j.AtStart,
				SearchedTo: j.SearchedTo, SearchedAll: j.Searched, SearchedBack: j.Back, UnreadTimes: j.UnreadTimes, Whole: j.Whole, Gapless: j.Gapless || j.Whole}
			if j.Earliest != nil {
				r.Around.EarliestUnread = time.UnixMilli(*j.Earliest).UTC()
			}
			if err := r.fits(); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// fits holds an offset against the records that were read around it: only a row that was changed has one without the other.
func (r Row) fits() error {
	c := r.Committed
	if c == nil {
		return nil
	}
	for _, f := range r.Around.At {
		if f.Offset < c.Offset {
			return fmt.Errorf("%s: its offset is %d, and the record at %d is among those to be read", r.Partition, c.Offset, f.Offset)
		}
	}
	for _, f := range r.Around.Before {
		if f.Offset >= c.Offset {
			return fmt.Errorf("%s: its offset is %d, and the record at %d is among those before it", r.Partition, c.Offset, f.Offset)
		}
	}
	return nil
}
