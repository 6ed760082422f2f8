package cmd_test

// Values that name a schema, in find, inspect --next and consume. The registry gives recorded answers of a real one.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/registrytest"
	"github.com/koffset/koffset/internal/render"
)

// schemaBed is a topic of every kind of value, on one partition.
type schemaBed struct {
	addr     string
	registry *registrytest.Server
}

func newSchemaBed(t *testing.T) *schemaBed {
	t.Helper()
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 1)
	avro := registrytest.Bytes(t, "avro")
	kafkatest.ProduceEach(t, cl,
		&kgo.Record{Topic: "orders", Key: registrytest.Bytes(t, "avro string"), Value: avro},
		&kgo.Record{Topic: "orders", Key: []byte("k"), Value: registrytest.Bytes(t, "protobuf")},
		&kgo.Record{Topic: "orders", Key: []byte("k"), Value: registrytest.Bytes(t, "json")},
		&kgo.Record{Topic: "orders", Key: []byte("k"), Value: []byte(`{"customer":{"id":17}}`)},
		&kgo.Record{Topic: "orders", Key: []byte("k")})
	kafkatest.Commit(t, cl, "billing", kafkatest.At("orders", 0, 0))
	return &schemaBed{fake.ListenAddrs()[0], registrytest.Start(t)}
}

// run runs a command line on the bed; $R is the registry.
func (b *schemaBed) run(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "$R", b.registry.URL)
	}
	var o, e bytes.Buffer
	code = cmd.Run(t.Context(), append([]string{"-b", b.addr}, args...), cli.App{
		Streams: &render.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, Environ: append([]string{"HOME=" + t.TempDir()}, env...), Dir: t.TempDir()})
	return code, o.String(), e.String()
}

// places are the offsets of the records in find's JSON.
func places(t *testing.T, out string) string {
	t.Helper()
	var doc struct {
		Records []struct{ Offset json.Number }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list []string
	for _, r := range doc.Records {
		list = append(list, r.Offset.String())
	}
	return strings.Join(list, " ")
}

// Conditions are asked about what a value is. Without a registry, and about what it does not tell, nothing is made up.
func TestFindByWhatAValueIs(t *testing.T) {
	t.Parallel()
	b := newSchemaBed(t)
	for _, c := range []struct {
		name  string
		state func(*registrytest.Server)
		args  []string
		code  int
		at    string
		says  string
	}{
		{"by an expression", nil, []string{"--jq", ".customer.id == 17", "--schema-registry", "$R"}, 0, "0 1 3", ""},
		{"a number of 64 bits", nil, []string{"--jq", ".order_id == 9007199254740993", "--schema-registry", "$R"}, 0, "1", ""},
		{"by a pattern of the value", nil, []string{"--match", `"state":"PAID"`, "--schema-registry", "$R"}, 0, "0 1", ""},
		{"by a pattern of the key", nil, []string{"--match", `^"o-1"$`, "--schema-registry", "$R"}, 0, "0", ""},
		{"without a registry", nil, []string{"--jq", ".customer.id == 17"}, 0, "3", "3 values are not JSON"},
		{"switched off", nil, []string{"--jq", ".customer.id == 17", "--schema-registry", "none"}, 0, "3", "3 values are not JSON"},
		{"it refuses", func(s *registrytest.Server) { s.Refuse(401) }, []string{"--jq", ".customer.id == 17", "--schema-registry", "$R"}, 4, "3", "set schema_registry.user"},
		{"another path", func(s *registrytest.Server) { s.Refuse(404) }, []string{"--jq", ".none", "--schema-registry", "$R"}, 4, "", "HTTP status 404"},
		{"it fails", func(s *registrytest.Server) { s.Refuse(500) }, []string{"--match", "PAID", "--schema-registry", "$R"}, 4, "", "3 values could not be decoded"},
		{"it is away", func(s *registrytest.Server) {
			s.Answer(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		},
			[]string{"--jq", ".customer.id == 17", "--schema-registry", "$R"}, 4, "3", "gave no answer"},
		{"no condition needs it", func(s *registrytest.Server) { s.Refuse(500) }, []string{"--key", "k", "--schema-registry", "$R"}, 4, "1 2 3 4", "2 values were not decoded, shown as bytes"},
		{"nothing of it is shown", func(s *registrytest.Server) { s.Refuse(500) }, []string{"--null", "--schema-registry", "$R"}, 0, "4", ""},
	} {
		b.registry.Answer(nil)
		if c.state != nil {
			c.state(b.registry)
		}
		code, out, errs := b.run(t, nil, append([]string{"find", "orders", "-o", "json"}, c.args...)...)
		if got := places(t, out); code != c.code || got != c.at || !strings.Contains(errs, c.says) {
			t.Errorf("%s: status %d, not %d; at %q, not %q\n%s", c.name, code, c.code, got, c.at, errs)
		}
		if c.says == "" && errs != "" {
			t.Errorf("%s: says\n%s", c.name, errs)
		}
	}
}

// Where a match may be in what could not be decoded, there are no positions of first matches.
func TestNoPositionsWhereAValueIsNotKnown(t *testing.T) {
	t.Parallel()
	b := newSchemaBed(t)
	b.registry.Refuse(500)
	code, out, errs := b.run(t, nil, "find", "orders", "--jq", ".customer.id == 17", "--schema-registry", "$R", "-o", "positions")
	if code != 4 || out != "" || !strings.Contains(errs, "no positions were written") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
}

// The table has what a value is, and its schema: with a question mark where nobody can tell.
func TestSchemasInTables(t *testing.T) {
	t.Parallel()
	b := newSchemaBed(t)
	_, out, _ := b.run(t, nil, "find", "orders", "--max", "1", "--match", ".", "--schema-registry", "$R")
	if !strings.Contains(out, `"o-1"  {"id":9007199254740993,`) || !strings.Contains(out, "  2          match key") {
		t.Errorf("%s", out)
	}
	_, out, errs := b.run(t, nil, "find", "orders", "--max", "1", "--match", ".")
	if !strings.Contains(out, "  2?  ") || !strings.Contains(errs, "look like Confluent's wire format") {
		t.Errorf("%s%s", out, errs)
	}
	code, out, errs := b.run(t, nil, "inspect", "billing", "--next", "--schema-registry", "$R")
	if code != 0 || !strings.Contains(out, `{"id":9007199254740993,`) || !strings.Contains(out, "  2\n") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	code, out, errs = b.run(t, nil, "inspect", "billing", "--next")
	if code != 0 || !strings.Contains(out, "  2?\n") || !strings.Contains(errs, "look like Confluent's wire format") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	b.registry.Refuse(403)
	code, out, errs = b.run(t, nil, "inspect", "billing", "--next", "-o", "json", "--schema-registry", "$R")
	if code != 4 || !strings.Contains(out, `"value_decoded":null,"schema_id":null,"possible_schema_id":2}`) || !strings.Contains(errs, "HTTP status 403") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	for _, args := range [][]string{{"inspect", "billing", "--schema-registry", "$R"}, {"consume", "orders", "--from", "earliest", "--until", "latest", "--schema-registry", "$R"}} {
		if code, out, errs := b.run(t, nil, args...); code != 2 || out != "" {
			t.Errorf("%v: status %d\n%s%s", args, code, out, errs)
		}
	}
}

// resolve --show has each record whole: what a value is, and its bytes in base64 where they are no text.
func TestShownRecordsAreDecoded(t *testing.T) {
	t.Parallel()
	b := newSchemaBed(t)
	show := []string{"resolve", "orders:0", "--to", "earliest", "--show", "1"}
	code, out, errs := b.run(t, nil, append(show, "--schema-registry", "$R")...)
	if code != 0 || !strings.Contains(out, `"o-1"  {"id":9007199254740993,`) || !strings.Contains(out, "  2\n") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	code, out, errs = b.run(t, nil, show...)
	if code != 0 || !strings.Contains(out, "  2?\n") || !strings.Contains(errs, "look like Confluent's wire format") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	whole := base64.StdEncoding.EncodeToString(registrytest.Bytes(t, "avro"))
	code, out, errs = b.run(t, nil, append(show, "-o", "json", "--schema-registry", "$R")...)
	if code != 0 || !strings.Contains(out, `"value_base64":"`+whole+`","cut":false,`) ||
		!strings.Contains(out, `"value_decoded":{"id":9007199254740993,`) {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	b.registry.Refuse(503)
	code, out, errs = b.run(t, nil, append(show, "-o", "json", "--schema-registry", "$R")...)
	if code != 4 || !strings.Contains(out, `"value_base64":"`+whole+`"`) || !strings.Contains(errs, "not decoded, shown as bytes; the first is orders:0 offset 0") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	if code, out, errs := b.run(t, nil, "resolve", "orders:0", "--to", "earliest", "--schema-registry", "$R"); code != 2 || out != "" {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
}

// consume prints what a value is beside its bytes, of which none is lost, and reads on whatever the registry does.
func TestConsumeDecodes(t *testing.T) {
	t.Parallel()
	b := newSchemaBed(t)
	read := func(want int, says string, env []string, args ...string) []map[string]json.RawMessage {
		t.Helper()
		code, out, errs := b.run(t, env, append([]string{"consume", "orders", "--from", "earliest", "--until", "latest", "-q", "-o", "jsonl"}, args...)...)
		if code != want || !strings.Contains(errs, says) {
			t.Errorf("%v: status %d, not %d\n%s", args, code, want, errs)
		}
		var all []map[string]json.RawMessage
		for line := range strings.Lines(out) {
			var one map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			all = append(all, one)
		}
		if len(all) != 5 {
			t.Fatalf("%d records\n%s", len(all), errs)
		}
		return all
	}
	all := read(0, "", []string{"KOFFSET_SCHEMA_REGISTRY_URL=" + b.registry.URL})
	whole := base64.StdEncoding.EncodeToString(registrytest.Bytes(t, "avro"))
	if r := all[0]; string(r["value_base64"]) != `"`+whole+`"` || string(r["schema_id"]) != "2" || string(r["key_schema_id"]) != "3" || string(r["key_decoded"]) != `"o-1"` ||
		!strings.HasPrefix(string(r["value_decoded"]), `{"id":9007199254740993,`) {
		t.Errorf("%s", r)
	}
	if r := all[3]; r["schema_id"] != nil || r["value_decoded"] != nil || r["possible_schema_id"] != nil {
		t.Errorf("%s", r)
	}
	if r := read(0, "", nil)[0]; string(r["possible_schema_id"]) != "2" || r["schema_id"] != nil || r["value_decoded"] != nil {
		t.Errorf("without a registry: %s", r)
	}
	b.registry.Refuse(503)
	if r := read(4, "values were not decoded, shown as bytes; the first is orders:0 offset 0, schema", nil, "--schema-registry", "$R")[0]; string(r["value_base64"]) != `"`+whole+`"` || r["schema_id"] != nil {
		t.Errorf("it fails: %s", r)
	}
}

// --explain has where the registry comes from, and no secret.
func TestExplainHasTheRegistry(t *testing.T) {
	t.Parallel()
	b := newSchemaBed(t)
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "profiles:\n  p:\n    brokers: " + b.addr + "\n    schema_registry:\n      url: https://registry:8081\n      user: me\n      password: hunter2\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, errs := b.run(t, nil, "consume", "orders", "--explain", "--config", file, "--profile", "p")
	if !strings.Contains(out, "schema_registry.url") || !strings.Contains(out, "https://registry:8081") || !strings.Contains(out, "config.yaml:5") || strings.Contains(out+errs, "hunter2") {
		t.Errorf("%s%s", out, errs)
	}
}
