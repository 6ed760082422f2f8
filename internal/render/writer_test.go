package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

func groupSheet() Sheet {
	return Sheet{Name: "groups", Row: "group", Columns: []Column{
		{Header: "GROUP", Key: "group"},
		{Header: "MEMBERS", Key: "member_count", Right: true},
		{Header: "STATE", Key: "state"},
	}}
}

func partitionSheet() Sheet {
	return Sheet{Name: "partitions", Row: "partition", Columns: []Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "CURRENT-OFFSET", Key: "committed_offset", Right: true},
		{Header: "LAG", Key: "lag", Right: true},
		{Header: "EPOCH", Key: "leader_epoch", Right: true, Wide: true},
		{Header: "CONSUMER-ID", Key: "member_id", NoJSON: true},
		{Key: "member", NoTable: true, NoCSV: true},
		{Header: "ERROR", Key: "error", HideEmpty: true},
	}}
}

func sampleDocument(w *Writer) error {
	w.Begin(groupSheet())
	w.Row(String("billing"), Int(3), String("Stable").Styled(Good))
	w.Row(String("audit\x1b[2J"), Int(0), String("Empty"))
	w.Begin(partitionSheet())
	w.Row(String("billing"), String("orders"), Int32(0), Int(9007199254740993), Int(12), Int32(4), String("c-1"),
		Object(F("member_id", String("c-1")), F("host", None())), None())
	w.Row(String("注文"), String("a,\"b\"\n"), Int32(10), None(), None(), None(), None(), None(), None())
	return w.Close(End{Incomplete: true, Fields: []Field{F("total_lag", Int(12))}})
}

func testMeta() Meta {
	return Meta{Kind: "inspect", ClusterID: "c1", GeneratedAt: time.Date(2026, 3, 1, 10, 0, 0, 5e6, time.FixedZone("", 3600)),
		Extra: []Field{F("isolation", String("read_uncommitted"))}}
}

func TestFormatsGolden(t *testing.T) {
	want := map[Format]string{}
	want[Table] = strings.Join([]string{
		`GROUP         MEMBERS  STATE`,
		`billing             3  Stable`,
		`audit\x1b[2J        0  Empty`,
		``,
		`GROUP    TOPIC    PARTITION    CURRENT-OFFSET  LAG  CONSUMER-ID`,
		`billing  orders           0  9007199254740993   12  c-1`,
		`注文     a,"b"\n         10                 -    -  -`,
		``}, "\n")
	want[Wide] = strings.Join([]string{
		`GROUP         MEMBERS  STATE`,
		`billing             3  Stable`,
		`audit\x1b[2J        0  Empty`,
		``,
		`GROUP    TOPIC    PARTITION    CURRENT-OFFSET  LAG  EPOCH  CONSUMER-ID`,
		`billing  orders           0  9007199254740993   12      4  c-1`,
		`注文     a,"b"\n         10                 -    -      -  -`,
		``}, "\n")
	want[JSON] = `{"kind":"inspect","schema_version":1,"cluster_id":"c1","generated_at":"2026-03-01T09:00:00.005Z","isolation":"read_uncommitted",
"groups":[
{"group":"billing","member_count":3,"state":"Stable"},
{"group":"audit\u001b[2J","member_count":0,"state":"Empty"}
],
"partitions":[
{"group":"billing","topic":"orders","partition":0,"committed_offset":9007199254740993,"lag":12,"leader_epoch":4,"member":{"member_id":"c-1","host":null},"error":null},
{"group":"注文","topic":"a,\"b\"\n","partition":10,"committed_offset":null,"lag":null,"leader_epoch":null,"member":null,"error":null}
],
"incomplete":true,"total_lag":12}
`
	want[JSONL] = `{"kind":"group","group":"billing","member_count":3,"state":"Stable"}
{"kind":"group","group":"audit\u001b[2J","member_count":0,"state":"Empty"}
{"kind":"partition","group":"billing","topic":"orders","partition":0,"committed_offset":9007199254740993,"lag":12,"leader_epoch":4,"member":{"member_id":"c-1","host":null},"error":null}
{"kind":"partition","group":"注文","topic":"a,\"b\"\n","partition":10,"committed_offset":null,"lag":null,"leader_epoch":null,"member":null,"error":null}
{"kind":"end","incomplete":true,"document":"inspect","schema_version":1,"cluster_id":"c1","generated_at":"2026-03-01T09:00:00.005Z","isolation":"read_uncommitted","total_lag":12}
`
	want[CSV] = "group,member_count,state\nbilling,3,Stable\naudit\\x1b[2J,0,Empty\n\n" +
		"group,topic,partition,committed_offset,lag,leader_epoch,member_id,error\n" +
		"billing,orders,0,9007199254740993,12,4,c-1,\n" +
		"注文,\"a,\"\"b\"\"\\n\",10,,,,,\n"
	want[TSV] = "group\tmember_count\tstate\nbilling\t3\tStable\naudit\\x1b[2J\t0\tEmpty\n\n" +
		"group\ttopic\tpartition\tcommitted_offset\tlag\tleader_epoch\tmember_id\terror\n" +
		"billing\torders\t0\t9007199254740993\t12\t4\tc-1\t-\n" +
		"注文\ta,\"b\"\\n\t10\t-\t-\t-\t-\t-\n"
	for _, f := range RowFormats() {
		t.Run(f.String(), func(t *testing.T) {
			var out bytes.Buffer
			if err := sampleDocument(NewWriter(&Streams{Out: &out}, f, testMeta())); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != want[f] {
				t.Errorf("got\n%s\nwant\n%s", got, want[f])
			}
			if f == JSON && !json.Valid(out.Bytes()) {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestNothingRawReachesATerminal(t *testing.T) {
	evil := "a\x1b]0;x\x07\n\r\x7f\u009b31m\u202egnp\u2066\u2028\u200b\xff\xfeb"
	for _, f := range RowFormats() {
		var out bytes.Buffer
		w := NewWriter(&Streams{Out: &out, OutTTY: true}, f, Meta{Kind: "inspect", ClusterID: evil})
		w.Begin(Sheet{Name: "groups", Title: evil, Columns: []Column{{Header: "GROUP", Key: "group"}, {Header: "TOPICS", Key: "topics"}, {Header: "O", Key: "o"}}})
		w.Row(String(evil), Strings([]string{evil, evil}), Object(F(evil, String(evil))))
		if err := w.Close(End{Fields: []Field{F("note", String(evil))}}); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"\x1b", "\r", "\x07", "\x7f", "\u009b", "\u202e", "\u2066", "\u2028", "\u200b", "\xff"} {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%s: %q came through raw in %q", f, bad, out.String())
			}
		}
		if f == Table && strings.Count(out.String(), "\n") != 3 {
			t.Errorf("a newline in a value made a line: %q", out.String())
		}
	}
}

// A csv file is read by spreadsheets and by terminals: nothing in it moves a cursor or is run as a formula, piped or not.
func TestCSVIsHarmless(t *testing.T) {
	values := map[string]string{"a,b": "a,b", `"`: `"`, "": "", "two\nlines": `two\nlines`, "\x1b[0m": `\x1b[0m`, `back\slash`: `back\\slash`, "注文": "注文",
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "a=b": "a=b"}
	var out bytes.Buffer
	w := NewWriter(&Streams{Out: &out}, CSV, Meta{})
	w.Begin(Sheet{Name: "x", Columns: []Column{{Key: "v"}, {Key: "n"}, {Key: "name"}}})
	keys := slices.Sorted(maps.Keys(values))
	for _, v := range keys {
		w.Row(String(v), Int(-5), Name(v))
	}
	if err := w.Close(End{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range keys {
		if rows[i+1][0] != values[v] || rows[i+1][1] != "-5" {
			t.Errorf("row %d: got %q, want %q", i, rows[i+1], values[v])
		}
		name := strings.TrimPrefix(rows[i+1][2], "'")
		if got, err := offset.UnquoteName(name); err != nil || got != v {
			t.Errorf("the name %q is written %q and read as %q, %v", v, rows[i+1][2], got, err)
		}
	}
}

func TestNameIsSeen(t *testing.T) {
	for name, want := range map[string]string{"": `""`, "x ": `"x "`, "-": `"-"`, "#a": `"#a"`, "plain": "plain"} {
		for _, f := range []Format{Table, TSV} {
			var out bytes.Buffer
			w := NewWriter(&Streams{Out: &out}, f, Meta{})
			w.Begin(Sheet{Name: "x", Columns: []Column{{Header: "GROUP", Key: "group"}}})
			w.Row(Name(name))
			if err := w.Close(End{}); err != nil || !strings.HasSuffix(out.String(), "\n"+want+"\n") {
				t.Errorf("%s: %q is shown as %q, %v", f, name, out.String(), err)
			}
		}
	}
}

func TestSameSheetAgainContinuesIt(t *testing.T) {
	write := func(f Format) (string, error) {
		var out bytes.Buffer
		w := NewWriter(&Streams{Out: &out}, f, Meta{Kind: "k"})
		for i, title := range []string{"first", "second"} {
			w.Begin(Sheet{Name: "rows", Title: title, Columns: []Column{{Header: "N", Key: "n", Right: true}}})
			w.Row(Int(int64(i)))
		}
		err := w.Close(End{})
		return out.String(), err
	}
	want := map[Format]string{
		Table: "first\nN\n0\n\nsecond\nN\n1\n",
		CSV:   "n\n0\n1\n",
		JSON:  "{\"kind\":\"k\",\"schema_version\":1,\"cluster_id\":null,\"generated_at\":null,\n\"rows\":[\n{\"n\":0},\n{\"n\":1}\n],\n\"incomplete\":false}\n",
	}
	for f, text := range want {
		if got, err := write(f); err != nil || got != text {
			t.Errorf("%s: %v, got %q, want %q", f, err, got, text)
		}
	}
}

func TestEmptyDocuments(t *testing.T) {
	for _, f := range RowFormats() {
		for _, begin := range []bool{false, true} {
			var out bytes.Buffer
			w := NewWriter(&Streams{Out: &out}, f, Meta{Kind: "k"})
			if begin {
				w.Begin(groupSheet())
			}
			if out.Len() != 0 {
				t.Errorf("%s: wrote before it had to", f)
			}
			if err := w.Close(End{}); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			switch {
			case f.IsJSON() && !json.Valid([]byte(got)):
				t.Errorf("%s: invalid: %q", f, got)
			case f.IsTable() && begin && got != "GROUP  MEMBERS  STATE\n":
				t.Errorf("%s: %q", f, got)
			case f == CSV && begin && got != "group,member_count,state\n":
				t.Errorf("%s: %q", f, got)
			}
			if err := w.Close(End{}); err != nil || out.String() != got {
				t.Errorf("%s: a second Close wrote more", f)
			}
		}
	}
}

func TestMistakesOfTheCallerAreErrors(t *testing.T) {
	s := func() *Streams { return &Streams{Out: &bytes.Buffer{}} }
	short := NewWriter(s(), JSON, Meta{Kind: "k"})
	short.Begin(groupSheet())
	short.Row(String("a"))
	if short.Err() == nil || short.Close(End{}) == nil {
		t.Error("a short row passed")
	}
	early := NewWriter(s(), Table, Meta{Kind: "k"})
	early.Row()
	if early.Err() == nil {
		t.Error("a row without a sheet passed")
	}
	back := NewWriter(s(), JSON, Meta{Kind: "k"})
	back.Begin(groupSheet())
	back.Begin(partitionSheet())
	back.Begin(groupSheet())
	if back.Err() == nil {
		t.Error("a JSON key came twice")
	}
	if NewWriter(s(), KafkaCSV, Meta{}).Close(End{}) == nil {
		t.Error("kafka-csv passed")
	}
}

type failingWriter struct {
	err   error
	after int
	calls int
}

func (f *failingWriter) Write(p []byte) (int, error) {
	f.calls++
	if f.calls > f.after {
		return 0, f.err
	}
	return len(p), nil
}

func TestWriteErrorsAreKept(t *testing.T) {
	for _, f := range RowFormats() {
		for _, buffered := range []bool{false, true} {
			fw := &failingWriter{err: fmt.Errorf("write: %w", syscall.EPIPE)}
			s := &Streams{Out: fw}
			if buffered {
				s.Out = newBuffered(fw)
			}
			w := NewWriter(s, f, Meta{Kind: "k"})
			w.Begin(groupSheet())
			rows := 0
			for ; w.Err() == nil && rows < 100_000; rows++ {
				w.Row(String("group"), Int(int64(rows)), String("Stable"))
			}
			if rows == 100_000 {
				t.Errorf("%s: no error while writing", f)
			}
			if err := w.Close(End{}); err != nil {
				t.Errorf("%s: a reader that went away fails the command: %v", f, err)
			}
			if err := s.Close(); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("%s: the streams forgot the error: %v", f, err)
			}
			if fw.calls != 1 {
				t.Errorf("%s: wrote %d times after an error", f, fw.calls)
			}
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range append(RowFormats(), KafkaCSV) {
		if got, err := ParseFormat(f.String(), append(RowFormats(), KafkaCSV)...); err != nil || got != f {
			t.Errorf("%s: %v %v", f, got, err)
		}
	}
	for _, s := range []string{"", "yaml", "kafka-csv", "JSON"} {
		_, err := ParseFormat(s)
		var fe *FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), "table, wide, json, jsonl, csv, tsv") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// A row of jsonl is what encoding/json makes of a struct with the same fields, byte for byte: it is written by hand for speed,
// and nobody who reads it shall notice.
func TestRowsAreAsEncodingJSONWritesThem(t *testing.T) {
	type member struct {
		ID   string  `json:"member_id"`
		Host *string `json:"host"`
	}
	type row struct {
		Kind      string    `json:"kind"`
		Group     string    `json:"group"`
		Partition int32     `json:"partition"`
		Offset    *int64    `json:"committed_offset"`
		Lag       *int64    `json:"lag"`
		Seconds   float64   `json:"lag_seconds"`
		Verdicts  []string  `json:"verdicts"`
		Member    *member   `json:"member"`
		Unstable  bool      `json:"unstable"`
		Time      time.Time `json:"time"`
	}
	big, none := int64(math.MaxInt64), int64(0)
	at := time.Date(2026, 11, 29, 12, 0, 0, 123_000_000, time.UTC)
	for _, r := range []row{
		{Group: "billing", Partition: 7, Offset: &big, Lag: &none, Seconds: 1.5, Verdicts: []string{"ok"}, Time: at},
		{Group: "a \"b\" \\ c\n\té <&>", Seconds: 1e-9, Verdicts: []string{}, Member: &member{ID: "日本"}, Unstable: true, Time: at},
	} {
		r.Kind = "partition"
		var want, out bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
		m := None()
		if r.Member != nil {
			m = Object(F("member_id", String(r.Member.ID)), F("host", None()))
		}
		w := NewWriter(&Streams{Out: &out}, JSONL, Meta{Kind: "inspect"})
		w.Begin(Sheet{Name: "partitions", Row: "partition", Columns: []Column{{Key: "group"}, {Key: "partition"}, {Key: "committed_offset"}, {Key: "lag"},
			{Key: "lag_seconds"}, {Key: "verdicts"}, {Key: "member"}, {Key: "unstable"}, {Key: "time"}}})
		w.Row(Name(r.Group), Int32(r.Partition), IntPtr(r.Offset), IntPtr(r.Lag), Float(r.Seconds), Strings(r.Verdicts), m, Bool(r.Unstable), Time(r.Time))
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(out.String(), "\n"); got+"\n" != want.String() {
			t.Errorf("got  %s\nwant %s", got, want.String())
		}
	}
}
