package registry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/registry"
	"github.com/koffset/koffset/internal/registrytest"
)

// gives has the registry answer with one schema, whatever is asked.
func gives(s *registrytest.Server, kind, schema string) {
	b, _ := json.Marshal(map[string]any{"schema": schema, "schemaType": kind, "references": []any{}})
	s.Answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) })
}

// Values and schemas that would take all memory or all of the stack are refused.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	list := `{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}`
	deep := `syntax = "proto3"; message A { A a = 1; }`
	nested := ""
	for range 5000 {
		nested = "\x0a" + string(varint(len(nested))) + nested
	}
	for _, c := range []struct{ name, kind, schema, rest, want string }{
		{"a list of 5 million", "AVRO", list, strings.Repeat("\x02", 5<<20), "nested too deep"},
		{"nulls without end", "AVRO", `{"type":"array","items":"null"}`, "\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", "too large"},
		{"a negative count", "AVRO", `{"type":"array","items":"null"}`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", "items"},
		{"a string of 2^62 bytes", "AVRO", `"string"`, "\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", "too early"},
		{"a negative length", "AVRO", `"bytes"`, "\x01", "length"},
		{"a number without end", "AVRO", `"long"`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "64 bits"},
		{"a text that is none", "AVRO", `"string"`, "\x02\xff", "UTF-8"},
		{"a record of itself", "AVRO", `{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}`, "", ""},
		{"messages in messages", "PROTOBUF", deep, "\x00" + nested, "recursion"},
		{"no Protobuf", "PROTOBUF", "message {", "\x00", "cannot be used"},
		{"an import that is not there", "PROTOBUF", `import "x.proto";`, "\x00", "cannot be used"},
		{"no Avro", "AVRO", "{", "", "cannot be used"},
		{"a type that is not there", "AVRO", `{"type":"array","items":"com.x.Y"}`, "", "cannot be used"},
		{"no JSON", "JSON", "{}", "{", "schema"},
		{"deep JSON", "JSON", "{}", strings.Repeat("[", 1<<20), "schema"},
	} {
		s := registrytest.Start(t)
		gives(s, c.kind, c.schema)
		got := open(t, s.URL).Decode(t.Context(), framed(1, c.rest))
		if got.Err == nil || got.JSON != nil || !strings.Contains(got.Err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, got.Err)
		}
	}
}

func varint(n int) []byte {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// References in a circle, and very many of them, end.
func TestReferencesInACircle(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	circle := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"schema":"\"int\"","subject":"a","version":1,"references":[{"name":"a","subject":"a","version":1},{"name":"b","subject":"b","version":1}]}`)
	}
	s.Answer(circle)
	if got := open(t, s.URL).Decode(t.Context(), framed(1, "\x02")); string(got.JSON) != "1" {
		t.Errorf("%+v", got)
	}
	n := 0
	s.Answer(func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprintf(w, `{"schema":"\"int\"","references":[{"name":"r%d","subject":"a","version":1}]}`, n)
	})
	if got := open(t, s.URL).Decode(t.Context(), framed(1, "\x02")); got.Err == nil || !strings.Contains(got.Err.Error(), "more than 500") {
		t.Errorf("%+v", got)
	}
}

// Large schemas are read, and what is kept of them is bounded: the first one is asked for again after many.
func TestManyLargeSchemas(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	gives(s, "JSON", `{"description":"`+strings.Repeat("x", 5<<20)+`"}`)
	d := open(t, s.URL)
	for id := range int32(12) {
		if got := d.Decode(t.Context(), framed(id+1, "1")); string(got.JSON) != "1" {
			t.Fatalf("%d: %v", id, got.Err)
		}
	}
	for id := range int32(12) {
		d.Decode(t.Context(), framed(id+1, "1"))
	}
	total := 0
	for _, n := range s.Asked() {
		total += n
	}
	if total <= 12 {
		t.Errorf("%d requests: 60 MB of schemas are kept", total)
	}
}

func FuzzValues(f *testing.F) {
	s := registrytest.Start(f)
	d, err := registry.New(registry.Options{URLs: []string{s.URL}, HTTP: &http.Client{}})
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range registrytest.Values(f) {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v := d.Decode(t.Context(), b)
		if v.JSON != nil && (!json.Valid(v.JSON) || bytes.ContainsAny(v.JSON, "\n")) {
			t.Errorf("%x: no line of JSON: %s", b, v.JSON)
		}
	})
}
