package checkpointfile

// The CSV of kafka-consumer-groups --export and --from-file: topic,partition,offset, or with the group before them. It has
// no header, and no place for metadata, epochs or a cluster.

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/koffset/koffset/internal/wholefile"
	"github.com/koffset/koffset/offset"
)

// CSVRow is one line of such a file.
type CSVRow struct {
	// Group is the group's name, which may be empty, where Grouped is set; a form without groups has none.
	Group   string
	Grouped bool
	offset.Partition
	Offset int64
	Line   int // where it was read; 0 in a row to write
}

var csvHeaders = []string{"group", "topic", "partition", "offset", "new-offset", "new_offset", "to_offset", "current-offset", "committed_offset"}

// ReadKafkaCSV reads a reset file. It takes what editors and spreadsheets do to one (a byte order mark, CRLF, blank lines, a
// header) and refuses everything else with line and column: another number of columns, a name that cannot be a topic, a
// number that is not a valid offset, the same partition twice. path is only named in errors, which are *FileError.
func ReadKafkaCSV(path string, r io.Reader) ([]CSVRow, error) {
	data, err := wholefile.ReadAll(r, maxFile)
	if err != nil {
		return nil, openError(path, err)
	}
	in := csvFile{path: path, Reader: csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))}
	in.FieldsPerRecord = -1
	var rows []CSVRow
	seen := map[Key]int{}
	columns, first := 0, true
	for {
		rec, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			var pe *csv.ParseError
			if errors.As(err, &pe) {
				return nil, &FileError{Path: path, Line: pe.Line, Column: pe.Column, Problem: pe.Err.Error(), Err: ErrDamaged}
			}
			return nil, openError(path, err)
		}
		if len(rec) == 1 && strings.TrimSpace(rec[0]) == "" {
			continue
		}
		if first {
			first = false
			if isCSVHeader(rec) {
				continue
			}
		}
		if columns == 0 {
			columns = len(rec)
		}
		row, err := in.row(rec, columns)
		if err != nil {
			return nil, err
		}
		k := Key{row.Group, row.Partition}
		if n := seen[k]; n > 0 {
			return nil, in.bad(0, "", "%s is on line %d already", row.Partition, n)
		}
		seen[k] = row.Line
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, &FileError{Path: path, Problem: "the file has no rows", Hint: csvForm, Err: ErrForeign}
	}
	return rows, nil
}

const csvForm = "a row is topic,partition,offset or group,topic,partition,offset"

// csvFile is a file that is read, for errors that say where in it they are.
type csvFile struct {
	*csv.Reader
	path string
}

// bad is an error at a field of the row read last.
func (in csvFile) bad(field int, hint, format string, args ...any) error {
	line, col := in.FieldPos(field)
	return &FileError{Path: in.path, Line: line, Column: col, Problem: fmt.Sprintf(format, args...), Hint: hint, Err: ErrDamaged}
}

// row understands a record that must have so many columns.
func (in csvFile) row(rec []string, columns int) (CSVRow, error) {
	if strings.HasPrefix(rec[0], "Warn:") {
		return CSVRow{}, in.bad(0, "Kafka's tool writes such warnings into its own exports: delete the line", "%q is a message, not a row", rec[0])
	}
	if len(rec) != 3 && len(rec) != 4 {
		return CSVRow{}, in.bad(len(rec)-1, csvForm, "the row has %d columns", len(rec))
	}
	if len(rec) != columns {
		return CSVRow{}, in.bad(len(rec)-1, "", "the row has %d columns, the ones before it %d", len(rec), columns)
	}
	row, field, err := parseCSVRow(rec)
	if err != nil {
		hint := ""
		if se, ok := errors.AsType[*offset.SyntaxError](err); ok {
			hint = se.Hint
		}
		return CSVRow{}, in.bad(field, hint, "%s", err)
	}
	row.Line, _ = in.FieldPos(0)
	return row, nil
}

func isCSVHeader(rec []string) bool {
	for _, f := range rec {
		if !slices.Contains(csvHeaders, strings.ToLower(strings.TrimSpace(f))) {
			return false
		}
	}
	return true
}

// parseCSVRow says which field is wrong, by its index.
func parseCSVRow(rec []string) (row CSVRow, field int, err error) {
	i := 0
	if len(rec) == 4 {
		row.Group, row.Grouped, i = rec[0], true, 1
	}
	row.Topic = strings.TrimSpace(rec[i])
	if err := offset.CheckTopicName(row.Topic); err != nil {
		return row, i, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(rec[i+1]), 10, 32)
	if err != nil || n < 0 {
		return row, i + 1, fmt.Errorf("%q is not a partition number", rec[i+1])
	}
	row.Partition.Partition = int32(n)
	p, err := offset.ParseOffset(strings.TrimSpace(rec[i+2]))
	if err != nil {
		return row, i + 2, err
	}
	row.Offset = p.N
	return row, 0, nil
}

// WriteKafkaCSV writes rows in the order given: four columns where withGroup is set, else three. Kafka's own tool reads it
// back.
func WriteKafkaCSV(w io.Writer, rows []CSVRow, withGroup bool) error {
	out := csv.NewWriter(w)
	for _, r := range rows {
		rec := []string{r.Topic, strconv.Itoa(int(r.Partition.Partition)), strconv.FormatInt(r.Offset, 10)}
		if withGroup {
			rec = append([]string{r.Group}, rec...)
		}
		if err := out.Write(rec); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
