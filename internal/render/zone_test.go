package render

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Tables are read by people, in the zone that they chose and with that zone's distance from UTC; what programs read is in UTC.
func TestZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 7, 1, 23, 30, 0, 5e6, time.UTC)
	for f, want := range map[Format]string{
		Table: "2026-07-02T01:30:00.005+02:00", Wide: "2026-07-02T01:30:00.005+02:00",
		JSON: `"2026-07-01T23:30:00.005Z"`, JSONL: `"2026-07-01T23:30:00.005Z"`, CSV: "2026-07-01T23:30:00.005Z", TSV: "2026-07-01T23:30:00.005Z",
	} {
		var out bytes.Buffer
		s := &Streams{Out: &out}
		s.SetZone(berlin)
		w := NewWriter(s, f, Meta{Kind: "x"})
		w.Begin(Sheet{Name: "rows", Row: "row", Columns: []Column{{Header: "AT", Key: "at"}}})
		w.Row(Time(at))
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", f, out.String(), want)
		}
	}
}
