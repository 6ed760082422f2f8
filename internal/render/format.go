// The forms that -o takes.

package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/offset"
)

// Format is one of the output forms of -o.
type Format uint8

// The output forms. Table is the zero value and the default.
const (
	Table     Format = iota // aligned columns for people
	Wide                    // Table with the columns marked Wide
	JSON                    // one object
	JSONL                   // one object a line
	CSV                     // RFC 4180, with a header
	TSV                     // tab separated, with a header
	KafkaCSV                // the reset files of Kafka's own tool; commands that offer it write it themselves
	Positions               // a file of positions that other commands read; commands that offer it write it themselves
)

func formatNames() [8]string {
	return [...]string{"table", "wide", "json", "jsonl", "csv", "tsv", "kafka-csv", "positions"}
}

// String returns the word that -o takes.
func (f Format) String() string {
	if names := formatNames(); int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("format(%d)", f)
}

// IsJSON reports whether errors go to stderr as JSON in this format.
func (f Format) IsJSON() bool { return f == JSON || f == JSONL }

// IsTable reports whether the output is aligned columns for people, so that
// headings and footers around it are welcome.
func (f Format) IsTable() bool { return f == Table || f == Wide }

// RowFormats are the forms that every command with rows offers.
func RowFormats() []Format { return []Format{Table, Wide, JSON, JSONL, CSV, TSV} }

// FormatError says that -o was given a word that this command does not take.
// It is a usage error.
type FormatError struct {
	Given   string
	Allowed []Format
}

// ErrorKind is always usage.
func (e *FormatError) ErrorKind() offset.ErrorKind { return offset.KindUsage }

func (e *FormatError) Error() string {
	names := make([]string, len(e.Allowed))
	for i, f := range e.Allowed {
		names[i] = f.String()
	}
	return fmt.Sprintf("output format %q is not one of %s", e.Given, strings.Join(names, ", "))
}

// ParseFormat reads the word of -o. Without allowed it takes [RowFormats]. The
// error is a *[FormatError].
func ParseFormat(s string, allowed ...Format) (Format, error) {
	if len(allowed) == 0 {
		allowed = RowFormats()
	}
	for i, name := range formatNames() {
		if name == s && slices.Contains(allowed, Format(i)) {
			return Format(i), nil
		}
	}
	return Table, &FormatError{Given: s, Allowed: allowed}
}
