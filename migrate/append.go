package migrate

import (
	"strconv"

	"github.com/koffset/koffset/checkpointfile"
)

// The export file is written by hand, since it has a row for every partition of every group: encoding/json took most of
// the time of an export without fingerprints. Reading it back is left to encoding/json.

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			q, err := checkpointfile.CompactJSON(s)
			if err != nil { // a string always has a JSON form
				return append(b, `""`...)
			}
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
