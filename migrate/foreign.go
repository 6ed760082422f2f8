package migrate

// Offsets in the files of other tools.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

// Format is the form of a file with offsets.
type Format string

// The forms that are read.
const (
	FormatExport   Format = "koffset"   // migrate export's
	FormatPlan     Format = "plan"      // a plan of koffset's: the offsets that it would store
	FormatKafkaCSV Format = "kafka-csv" // topic,partition,offset, or with the group before it
	FormatRpk      Format = "rpk"       // TOPIC PARTITION OFFSET, as rpk group seek --to-file takes it, or what rpk group describe prints
	FormatKcl      Format = "kcl"       // [{"topic":…,"partition":…,"offset":…}], as kcl group seek --to-file takes it
)

// Formats are the words that --input-format takes.
func Formats() []Format {
	return []Format{FormatExport, FormatPlan, FormatKafkaCSV, FormatRpk, FormatKcl}
}

// GuessFormat tells the form from the beginning of a file. ok is false where it could be several, or none.
func GuessFormat(data []byte) (f Format, ok bool) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	first, _, _ := bytes.Cut(data, []byte("\n"))
	switch {
	case len(data) == 0:
		return "", false
	case data[0] == '[':
		return FormatKcl, true
	case data[0] == '{':
		head := data[:min(len(data), 200)]
		if bytes.Contains(head, []byte(checkpointfile.KindExport)) {
			return FormatExport, true
		}
		if bytes.Contains(head, []byte(checkpointfile.KindPlan)) {
			return FormatPlan, true
		}
		return "", false
	case bytes.Count(first, []byte(",")) >= 2:
		return FormatKafkaCSV, true
	case len(bytes.Fields(first)) >= 2:
		return FormatRpk, true
	}
	return "", false
}

// ReadOffsets reads a file of another tool: one of FormatKafkaCSV, FormatRpk and FormatKcl. Rows without a group have an
// empty one. The error is a *checkpointfile.FileError.
func ReadOffsets(path string, f Format, data []byte) ([]checkpointfile.CSVRow, error) {
	switch f {
	case FormatKafkaCSV:
		return checkpointfile.ReadKafkaCSV(path, bytes.NewReader(data))
	case FormatRpk:
		return readRpk(path, data)
	case FormatKcl:
		return readKcl(path, data)
	}
	return nil, &checkpointfile.FileError{Path: path, Problem: fmt.Sprintf("%s is not a list of offsets of another tool", f), Err: checkpointfile.ErrForeign}
}

// rowReader collects rows and refuses what stands twice.
type rowReader struct {
	path string
	line int
	rows []checkpointfile.CSVRow
	seen map[checkpointfile.Key]int
}

func (r *rowReader) bad(hint, format string, args ...any) error {
	return &checkpointfile.FileError{Path: r.path, Line: r.line, Problem: fmt.Sprintf(format, args...), Hint: hint, Err: checkpointfile.ErrDamaged}
}

// add adds a row; group is nil where the form, or the row, names none.
func (r *rowReader) add(group *string, topic, partition, off string) error {
	if err := offset.CheckTopicName(topic); err != nil {
		return r.bad("", "%v", err)
	}
	n, err := strconv.ParseInt(partition, 10, 32)
	if err != nil || n < 0 {
		return r.bad("", "%q is not a partition number", partition)
	}
	o, err := strconv.ParseInt(off, 10, 64)
	if err != nil || o < 0 {
		return r.bad("", "%q is not an offset", off)
	}
	row := checkpointfile.CSVRow{Partition: offset.Partition{Topic: topic, Partition: int32(n)}, Offset: o, Line: r.line}
	if group != nil {
		row.Group, row.Grouped = *group, true
	}
	k := checkpointfile.Key{Group: row.Group, Partition: row.Partition}
	if was, twice := r.seen[k]; twice {
		return r.bad("", "%s is on line %d already", row.Partition, was)
	}
	r.seen[k] = r.line
	r.rows = append(r.rows, row)
	return nil
}

func (r *rowReader) done(form string) ([]checkpointfile.CSVRow, error) {
	if len(r.rows) == 0 {
		return nil, &checkpointfile.FileError{Path: r.path, Problem: "the file has no rows", Hint: form, Err: checkpointfile.ErrForeign}
	}
	return r.rows, nil
}

// readRpk reads the three columns of rpk group seek --to-file, and the table of rpk group describe, which has a header and
// names its group in a line before it.
func readRpk(path string, data []byte) ([]checkpointfile.CSVRow, error) {
	const form = "a row is TOPIC PARTITION OFFSET"
	r := rowReader{path: path, seen: map[checkpointfile.Key]int{}}
	var group *string
	column := -1
	table := false
	sc := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		r.line++
		fields := strings.Fields(sc.Text())
		switch {
		case len(fields) == 0:
			column = -1 // the table of one group ends
			continue
		case fields[0] == "TOPIC" && slices.Contains(fields, "PARTITION"):
			table = true
			if column = slices.Index(fields, "CURRENT-OFFSET"); column < 0 {
				column = slices.Index(fields, "OFFSET")
			}
			if column < 0 {
				return nil, r.bad("rpk group describe -c prints the offsets", "the table has no column CURRENT-OFFSET")
			}
			continue
		case fields[0] == "GROUP" && len(fields) == 2:
			group, table, column = &fields[1], true, -1
			continue
		case table && column < 0:
			continue // the summary: COORDINATOR, STATE, …
		case table:
			if column >= len(fields) {
				return nil, r.bad("", "the row has %d columns, the offset is in column %d", len(fields), column+1)
			}
			if fields[column] == "-" {
				continue // no commit
			}
			if err := r.add(group, fields[0], fields[1], fields[column]); err != nil {
				return nil, err
			}
		case len(fields) != 3:
			return nil, r.bad(form, "the row has %d columns", len(fields))
		default:
			if err := r.add(nil, fields[0], fields[1], fields[2]); err != nil {
				return nil, err
			}
		}
	}
	if err := sc.Err(); err != nil {
		return nil, r.bad("", "%v", err)
	}
	return r.done(form)
}

func readKcl(path string, data []byte) ([]checkpointfile.CSVRow, error) {
	const form = `a file is [{"topic":"orders","partition":0,"offset":42}, …]`
	r := rowReader{path: path, seen: map[checkpointfile.Key]int{}}
	var list []struct {
		Group     *string     `json:"group"`
		Topic     string      `json:"topic"`
		Partition json.Number `json:"partition"`
		Offset    json.Number `json:"offset"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, r.bad(form, "the file cannot be read as JSON: %v", err)
	}
	for i, x := range list {
		if x.Partition == "" || x.Offset == "" {
			return nil, r.bad(form, "entry %d has no partition or no offset", i+1)
		}
		if err := r.add(x.Group, x.Topic, x.Partition.String(), x.Offset.String()); err != nil {
			return nil, err
		}
	}
	return r.done(form)
}

// ReadTable reads pairs of offsets for the table strategy: topic,partition,source_offset,target_offset, with or without
// that header. A pair says that the record at the one is the record at the other. The error is a *checkpointfile.FileError.
func ReadTable(path string, data []byte) (map[offset.Partition][]Sync, error) {
	const form = "a row is topic,partition,source_offset,target_offset"
	r := rowReader{path: path}
	out := map[offset.Partition][]Sync{}
	sc := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	for sc.Scan() {
		r.line++
		text := strings.TrimSpace(sc.Text())
		if text == "" || strings.HasPrefix(text, "#") || r.line == 1 && strings.EqualFold(text, "topic,partition,source_offset,target_offset") {
			continue
		}
		f := strings.Split(text, ",")
		if len(f) != 4 {
			return nil, r.bad(form, "the row has %d columns", len(f))
		}
		if err := offset.CheckTopicName(f[0]); err != nil {
			return nil, r.bad("", "%v", err)
		}
		var n [3]int64
		for i, s := range f[1:] {
			v, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
			if err != nil || v < 0 || i == 0 && v > 1<<31-1 {
				return nil, r.bad(form, "%q is not a number from 0 on", s)
			}
			n[i] = v
		}
		p := offset.Partition{Topic: f[0], Partition: int32(n[0])}
		out[p] = append(out[p], Sync{Source: n[1], Target: n[2]})
	}
	if err := sc.Err(); err != nil {
		return nil, r.bad("", "%v", err)
	}
	if len(out) == 0 {
		return nil, &checkpointfile.FileError{Path: path, Problem: "the table has no rows", Hint: form, Err: checkpointfile.ErrForeign}
	}
	for p, list := range out {
		slices.SortFunc(list, func(a, b Sync) int { return int(min(1, max(-1, a.Source-b.Source))) })
		for i := 1; i < len(list); i++ {
			// Copies keep the order of records: such a table is wrong somewhere, and would skip.
			if list[i].Source == list[i-1].Source && list[i] != list[i-1] || list[i].Target < list[i-1].Target {
				return nil, &checkpointfile.FileError{Path: path, Problem: fmt.Sprintf("%s: %d is %d, and %d is %d: the order of records would change", p,
					list[i-1].Source, list[i-1].Target, list[i].Source, list[i].Target), Err: checkpointfile.ErrDamaged}
			}
		}
		out[p] = slices.Compact(list)
	}
	return out, nil
}
