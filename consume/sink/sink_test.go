package sink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
)

func record() *kgo.Record {
	return &kgo.Record{Topic: "orders", Partition: 3, Offset: 42, LeaderEpoch: 7, Timestamp: time.UnixMilli(1710072000123),
		Key: []byte("k\x00"), Value: []byte("va\"l\n"), Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b", Value: nil}}}
}

func TestFormats(t *testing.T) {
	for format, want := range map[string]string{
		`%v\n`: "va\"l\n\n", `%s`: "va\"l\n", `%t %p %o`: "orders 3 42", `%T`: "1710072000123", `%d`: "2024-03-10T12:00:00.123Z", `%e`: "7",
		`%h %H`: "a=1,b= 2", `%V %S %K`: "5 5 2", `%R`: "\x00\x00\x00\x05", `%k{hex}`: "6b00", `%v{base64}`: "dmEibAo=", `100%%\x41\t`: "100%A\t", `\\`: `\`,
	} {
		enc, err := sink.ParseFormat(format, sink.Forms{})
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if got := string(enc(nil, record())); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	for _, bad := range []string{``, `%`, `%q`, `%v{oct}`, `%o{hex}`, `%v{hex`, `\q`, `\x1`, `a\`} {
		if _, err := sink.ParseFormat(bad, sink.Forms{}); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	none := &kgo.Record{}
	enc, _ := sink.ParseFormat(`%v|%V|%K`, sink.Forms{})
	if got := string(enc(nil, none)); got != "|-1|-1" {
		t.Errorf("a record without key and value: %q", got)
	}
	long := &kgo.Record{Key: []byte{0, 0, 0, 5}, Value: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}}
	enc, _ = sink.ParseFormat(`%k %v`, sink.Forms{Key: sink.Int32, Value: sink.Int64})
	if got := string(enc(nil, long)); got != "5 -2" {
		t.Errorf("numbers: %q", got)
	}
}

func TestJSONLines(t *testing.T) {
	r := record()
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: "bad\xff", Value: []byte{0xff}})
	line := sink.JSONLines(sink.Forms{})(nil, r)
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil || line[len(line)-1] != '\n' {
		t.Fatalf("%v: %s", err, line)
	}
	if got["value"] != "va\"l\n" || got["key"] != "k\x00" || got["offset"] != 42.0 || got["leader_epoch"] != 7.0 || got["timestamp_ms"] != 1710072000123.0 {
		t.Errorf("%s", line)
	}
	hs := got["headers"].([]any)
	if last := hs[2].(map[string]any); last["key"] != "bad\ufffd" || last["key_base64"] != "YmFk/w==" || last["value_base64"] != "/w==" {
		t.Errorf("%s", line)
	}
	if hs[1].(map[string]any)["value"] != nil {
		t.Errorf("a header without a value: %s", line)
	}
	r = &kgo.Record{Value: []byte{0xff, 0xfe}, LeaderEpoch: -1}
	line = sink.JSONLines(sink.Forms{})(nil, r)
	if !strings.Contains(string(line), `"key":null`) || !strings.Contains(string(line), `"value_base64":"//4="`) || !strings.Contains(string(line), `"leader_epoch":null`) {
		t.Errorf("%s", line)
	}
}

// A schema that is sure has another key than one that bytes only seem to name, and the bytes stay.
func TestJSONLinesOfSchemas(t *testing.T) {
	r := &kgo.Record{Topic: "t", Key: []byte{0, 0, 0, 0, 1, 0xff}, Value: []byte{0, 0, 0, 0, 2, 0xff}, LeaderEpoch: -1}
	enc := sink.JSONLinesDecoded(sink.Forms{}, func(_ *kgo.Record, b []byte) sink.Schema {
		if b[4] == 1 {
			return sink.Schema{ID: 1}
		}
		return sink.Schema{ID: 2, Sure: true, Decoded: []byte(`{"a":1}`)}
	})
	line := string(enc(nil, r))
	for _, want := range []string{`"key_base64":"AAAAAAH/","possible_key_schema_id":1,`, `"value_base64":"AAAAAAL/","schema_id":2,"value_decoded":{"a":1},"headers"`} {
		if !strings.Contains(line, want) || !json.Valid([]byte(line)) {
			t.Errorf("without %s: %s", want, line)
		}
	}
	enc = sink.JSONLinesDecoded(sink.Forms{Key: sink.Int64}, func(_ *kgo.Record, b []byte) sink.Schema { return sink.Schema{ID: 7} })
	if line := string(enc(nil, &kgo.Record{Key: make([]byte, 8)})); strings.Contains(line, "key_schema_id") || !strings.Contains(line, `"possible_schema_id":7`) {
		t.Errorf("a key that was said to be a number: %s", line)
	}
}

// Kafka stores -1 for a record without a time; franz-go makes of that the last millisecond of 1969.
func TestRecordWithoutTime(t *testing.T) {
	none := &kgo.Record{Topic: "t", Timestamp: time.UnixMilli(-1)}
	enc, err := sink.ParseFormat(`%T|%d`, sink.Forms{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(enc(nil, none)); got != "-1|-" {
		t.Errorf("format: %q", got)
	}
	if line := string(sink.JSONLines(sink.Forms{})(nil, none)); !strings.Contains(line, `"timestamp":null,"timestamp_ms":null,`) || !json.Valid([]byte(line)) {
		t.Errorf("jsonl: %s", line)
	}
	first := &kgo.Record{Topic: "t", Timestamp: time.UnixMilli(0)}
	if got := string(enc(nil, first)); got != "0|1970-01-01T00:00:00.000Z" {
		t.Errorf("the first millisecond is a time: %q", got)
	}
	// 2500-01-01 in milliseconds, as franz-go gives it: nanoseconds that wrapped.
	nanos := uint64(16725225600000) * uint64(time.Millisecond)
	late := &kgo.Record{Topic: "t", Timestamp: time.Unix(0, int64(nanos))}
	if got := string(enc(nil, late)); got != "16725225600000|2500-01-01T00:00:00.000Z" {
		t.Errorf("a time past 2262: %q", got)
	}
}

// Nothing is allocated for a record.
func TestNoAllocations(t *testing.T) {
	r := record()
	format, _ := sink.ParseFormat(`%t %p %o %T %d %k{hex} %v %h\n`, sink.Forms{})
	buf := make([]byte, 0, 4096)
	for name, enc := range map[string]sink.Encoder{"values": sink.Values, "raw": sink.Raw, "format": format, "jsonl": sink.JSONLines(sink.Forms{})} {
		if n := testing.AllocsPerRun(100, func() { buf = enc(buf[:0], r) }); n != 0 {
			t.Errorf("%s allocates %v times a record", name, n)
		}
	}
}

func batch(values ...string) consume.Batch {
	b := consume.Batch{Topic: "t"}
	for i, v := range values {
		b.Records = append(b.Records, &kgo.Record{Topic: "t", Offset: int64(i), Value: []byte(v)})
	}
	return b
}

type disk struct {
	t   *testing.T
	dir string
}

func (d disk) files(opts sink.FilesOptions) *sink.Files {
	d.t.Helper()
	f, err := sink.NewFiles(d.dir, sink.Values, opts)
	if err != nil {
		d.t.Fatal(err)
	}
	return f
}

func (d disk) content() map[string]string {
	d.t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // whose folder it is
		}
		data, err := os.ReadFile(filepath.Join(d.dir, e.Name()))
		if err != nil {
			d.t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkpoint makes one and returns its state; done says that it completed.
func checkpoint(t *testing.T, s *sink.Files, id int64, final, done bool) json.RawMessage {
	t.Helper()
	p, err := s.Checkpoint(t.Context(), consume.Barrier{ID: id, Final: final})
	must(t, err)
	state, err := p(t.Context())
	must(t, err)
	if done {
		must(t, s.Completed(t.Context(), id))
	}
	return state
}

func equal(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
		return
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %q, want %q (all: %v)", k, got[k], v, got)
		}
	}
}

func TestFilesTakeBack(t *testing.T) {
	ctx := context.Background()
	d := disk{t, t.TempDir()}
	s := d.files(sink.FilesOptions{RollBytes: 6})
	must(t, s.Open(ctx, nil))
	must(t, s.Write(ctx, batch("aa")))
	one := checkpoint(t, s, 1, false, true) // 3 bytes
	must(t, s.Write(ctx, batch("bb")))
	two := checkpoint(t, s, 2, false, false) // full: to be closed, but the process dies before it is
	must(t, s.Write(ctx, batch("cc")))
	must(t, s.Close(ctx))
	equal(t, d.content(), map[string]string{"part-00000001.txt.open": "aa\nbb\n", "part-00000002.txt.open": "cc\n"})

	// Back to 2: the closing that was left undone is done, what came later is gone.
	s = d.files(sink.FilesOptions{})
	must(t, s.Open(ctx, &consume.Restored{Checkpoint: 2, State: two, TakeBack: true}))
	must(t, s.Completed(ctx, 2))
	equal(t, d.content(), map[string]string{"part-00000001.txt": "aa\nbb\n", "part-00000002.txt.open": ""})
	must(t, s.Write(ctx, batch("dd")))
	checkpoint(t, s, 3, true, true)
	must(t, s.Close(ctx))
	equal(t, d.content(), map[string]string{"part-00000001.txt": "aa\nbb\n", "part-00000002.txt": "dd\n"})

	// Back to 1 is refused now: the part was closed, and others may have read it.
	s = d.files(sink.FilesOptions{})
	err := s.Open(ctx, &consume.Restored{Checkpoint: 1, State: one, TakeBack: true})
	var de *sink.DirError
	if !errors.As(err, &de) || !strings.Contains(err.Error(), "part-00000001.txt was closed after checkpoint 1") {
		t.Errorf("%v", err)
	}
	equal(t, d.content(), map[string]string{"part-00000001.txt": "aa\nbb\n", "part-00000002.txt": "dd\n"})
}

func TestFilesRefuse(t *testing.T) {
	ctx := context.Background()
	d := disk{t, t.TempDir()}
	s := d.files(sink.FilesOptions{})
	must(t, s.Open(ctx, nil))
	must(t, s.Write(ctx, batch("aaaa")))
	state := checkpoint(t, s, 1, false, true)
	must(t, s.Close(ctx))
	must(t, os.Truncate(filepath.Join(d.dir, "part-00000001.txt.open"), 2))
	err := d.files(sink.FilesOptions{}).Open(ctx, &consume.Restored{Checkpoint: 1, State: state, TakeBack: true})
	if err == nil || !strings.Contains(err.Error(), "has 2 bytes, checkpoint 1 holds 5") {
		t.Errorf("a file shorter than recorded: %v", err)
	}
	if err := d.files(sink.FilesOptions{}).Open(ctx, nil); err == nil || !strings.Contains(err.Error(), "parts of an earlier run") {
		t.Errorf("a fresh start over an old one: %v", err)
	}
	must(t, os.Remove(filepath.Join(d.dir, "part-00000001.txt.open")))
	if err := d.files(sink.FilesOptions{}).Open(ctx, &consume.Restored{Checkpoint: 1, State: state, TakeBack: true}); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("a file that is gone: %v", err)
	}
}

// At least once leaves everything, and goes on in a new part.
func TestFilesAtLeastOnce(t *testing.T) {
	ctx := context.Background()
	d := disk{t, t.TempDir()}
	s := d.files(sink.FilesOptions{})
	must(t, s.Open(ctx, nil))
	must(t, s.Write(ctx, batch("a")))
	state := checkpoint(t, s, 1, false, true)
	must(t, s.Write(ctx, batch("b")))
	must(t, s.Close(ctx))
	s = d.files(sink.FilesOptions{})
	must(t, s.Open(ctx, &consume.Restored{Checkpoint: 1, State: state}))
	must(t, s.Write(ctx, batch("b")))
	checkpoint(t, s, 2, true, true)
	must(t, s.Close(ctx))
	equal(t, d.content(), map[string]string{"part-00000001.txt": "a\nb\n", "part-00000002.txt": "b\n"})
}

// A job that was killed before its first record leaves an empty folder. What another job writes there in the meantime is neither
// cut nor closed, and nothing is written behind it.
func TestFilesOfAnotherJob(t *testing.T) {
	ctx := context.Background()
	d := disk{t, t.TempDir()}
	begin := func() json.RawMessage {
		s := d.files(sink.FilesOptions{})
		must(t, s.Open(ctx, nil))
		state := checkpoint(t, s, 0, false, true) // nothing was written
		must(t, s.Close(ctx))
		return state
	}
	idle := begin()
	s := d.files(sink.FilesOptions{})
	must(t, s.Open(ctx, nil))
	must(t, s.Write(ctx, batch("bb")))
	state := checkpoint(t, s, 0, false, true)
	must(t, s.Write(ctx, batch("cc")))
	must(t, s.Close(ctx)) // killed
	want := map[string]string{"part-00000001.txt.open": "bb\ncc\n"}
	old := json.RawMessage(`{"part":1,"length":0}`) // a checkpoint that does not say whose folder it was
	for name, r := range map[string]*consume.Restored{"idle": {State: idle, TakeBack: true}, "at least once": {State: idle}, "elsewhere": {State: idle, TakeBack: true, Elsewhere: true}, "older koffset": {State: old, TakeBack: true}} {
		var de *sink.DirError
		if err := d.files(sink.FilesOptions{}).Open(ctx, r); !errors.As(err, &de) || !strings.Contains(err.Error(), "belongs to another run") {
			t.Errorf("%s: %v", name, err)
		}
		equal(t, d.content(), want)
	}
	s = d.files(sink.FilesOptions{})
	must(t, s.Open(ctx, &consume.Restored{State: state, TakeBack: true}))
	must(t, s.Close(ctx))
	equal(t, d.content(), map[string]string{"part-00000001.txt.open": "bb\n"})

	// Where nobody else began, an idle job goes on, also after its reader took everything away.
	must(t, os.RemoveAll(d.dir))
	for _, state := range []json.RawMessage{begin(), idle, old} {
		must(t, os.RemoveAll(d.dir))
		s := d.files(sink.FilesOptions{})
		must(t, s.Open(ctx, &consume.Restored{State: state, TakeBack: true}))
		must(t, s.Write(ctx, batch("x")))
		must(t, s.Close(ctx))
		equal(t, d.content(), map[string]string{"part-00000001.txt.open": "x\n"})
	}
}

// A job that goes on from another's checkpoint takes the folder over with its own first one. Before it both can be restored, after it
// the other one would cut what this one wrote.
func TestFilesTakenOver(t *testing.T) {
	ctx := context.Background()
	d := disk{t, t.TempDir()}
	s := d.files(sink.FilesOptions{})
	must(t, s.Open(ctx, nil))
	must(t, s.Write(ctx, batch("a")))
	theirs := checkpoint(t, s, 3, false, true)
	must(t, s.Close(ctx))
	open := func(id int64, state json.RawMessage, elsewhere bool) (*sink.Files, error) {
		s := d.files(sink.FilesOptions{})
		return s, s.Open(ctx, &consume.Restored{Checkpoint: id, State: state, TakeBack: true, Elsewhere: elsewhere})
	}
	s, err := open(3, theirs, true)
	must(t, err)
	must(t, s.Completed(ctx, 3)) // as the engine does after a restore
	must(t, s.Close(ctx))        // killed before a checkpoint
	s, err = open(3, theirs, false)
	must(t, err)
	must(t, s.Close(ctx))

	s, err = open(3, theirs, true)
	must(t, err)
	must(t, s.Completed(ctx, 3))
	must(t, s.Write(ctx, batch("b")))
	ours := checkpoint(t, s, 4, false, false)
	must(t, s.Close(ctx)) // killed before it was told that the checkpoint is on disk
	s, err = open(4, ours, false)
	must(t, err)
	must(t, s.Completed(ctx, 4))
	must(t, s.Close(ctx))
	if _, err := open(3, theirs, false); err == nil || !strings.Contains(err.Error(), "belongs to another run") {
		t.Error(err)
	}
	equal(t, d.content(), map[string]string{"part-00000001.txt.open": "a\nb\n"})
}

// An older checkpoint whose file a newer one closed in the meantime does not fail.
func TestFilesOverlap(t *testing.T) {
	ctx := context.Background()
	d := disk{t, t.TempDir()}
	s := d.files(sink.FilesOptions{RollBytes: 4})
	must(t, s.Open(ctx, nil))
	must(t, s.Write(ctx, batch("a")))
	older, err := s.Checkpoint(ctx, consume.Barrier{ID: 1})
	must(t, err)
	must(t, s.Write(ctx, batch("bb")))
	checkpoint(t, s, 2, false, true)
	if _, err := older(ctx); err != nil {
		t.Errorf("the older checkpoint: %v", err)
	}
	equal(t, d.content(), map[string]string{"part-00000001.txt": "a\nbb\n"})
}

// cut takes so many bytes and no more.
type cut struct{ left int }

func (c *cut) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	if c.left -= n; n < len(b) {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// A stream that ends within a batch tells how many records it took whole, wherever it ends.
func TestWriterTellsHowFarItCame(t *testing.T) {
	enc, err := sink.ParseFormat(`%v\n`, sink.Forms{})
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Repeat([]byte("x"), 99) // 100 bytes a record, and several chunks a batch
	var batch consume.Batch
	for range 4000 {
		batch.Records = append(batch.Records, &kgo.Record{Value: value})
	}
	for _, size := range []int{0, 99, 100, 101, 131_099, 131_100, 399_999} {
		err := sink.NewWriter("stdout", &cut{left: size}, enc).Write(t.Context(), batch)
		var part *sink.PartError
		if !errors.As(err, &part) || !errors.Is(err, io.ErrClosedPipe) || part.Records != size/100 {
			t.Errorf("%d bytes: %v, %+v, want %d records", size, err, part, size/100)
		}
	}
	if err := sink.NewWriter("stdout", &cut{left: 400_000}, enc).Write(t.Context(), batch); err != nil {
		t.Error(err)
	}
}
