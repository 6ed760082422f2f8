package cmd

// The JSON names are a contract, so each must be written down in docs/json.md: under the heading of its command.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// jsonCase is a command whose JSON must be described under some headings of docs/json.md.
type jsonCase struct {
	line     string
	headings []string
}

func jsonCases() []jsonCase {
	const savepoint = "flink/savepoints/savepoint-5a15ac-77a763fb6f67"
	changes := "reset, apply, delete, repair, keep, undo ID, migrate import"
	return []jsonCase{
		{"koffset inspect -o FORMAT", []string{"inspect"}},
		{"koffset inspect billing fraud-check order-alerts -o FORMAT", []string{"inspect"}},
		{"koffset inspect analytics --by member -o FORMAT", []string{"inspect"}},
		{"koffset inspect analytics --by topic -o FORMAT", []string{"inspect"}},
		{"koffset inspect shipping --lag-time -o FORMAT", []string{"inspect"}},
		{"koffset inspect shipping --last-commit -o FORMAT", []string{"inspect"}},
		{"koffset history shipping -o FORMAT", []string{"history"}},
		{"koffset history shipping --by partition -o FORMAT", []string{"history"}},
		{"koffset history shipping --by day -o FORMAT", []string{"history"}},
		{"koffset history --deleted -o FORMAT", []string{"history"}},
		{"koffset resolve orders --to @-2h --show 1 -o FORMAT", []string{"resolve"}},
		{"koffset inspect shipping --next -o FORMAT", []string{"inspect"}},
		{"koffset resolve orders --count -o FORMAT", []string{"resolve"}},
		{"koffset resolve orders -o FORMAT", []string{"resolve"}},
		{"koffset find orders --key o-105037 -o FORMAT", []string{"find"}},
		{"koffset find orders --key o-105037 --count -o FORMAT", []string{"find"}},
		{"koffset find orders --by hour -o FORMAT", []string{"find"}},
		{"koffset reset shipping --topic orders --to @-4h --plan-out a.plan -o FORMAT", []string{changes}},
		{"koffset apply a.plan --execute -o json", []string{changes}},
		{"koffset undo -o FORMAT", []string{"undo"}},
		{"koffset undo 20261129-1200 --execute -o json", []string{changes}},
		{"koffset delete reporting --topic orders:0 -o FORMAT", []string{changes}},
		{"koffset repair -o FORMAT", []string{changes}},
		{"koffset keep reporting --for 30d -o FORMAT", []string{changes}},
		{"koffset migrate export shipping --out s.export", nil},
		{"koffset -b $DR migrate import s.export --execute -o json", []string{changes}},
		{"koffset -b $DR migrate verify shipping --source-bootstrap-server $KOFFSET_BROKERS -o FORMAT", []string{"migrate verify"}},
		{"koffset checkpoint list flink -o FORMAT", []string{"checkpoint show, rewrite, list"}},
		{"koffset checkpoint show " + savepoint + " --against shipping -o FORMAT", []string{"checkpoint show, rewrite, list"}},
		{"koffset checkpoint rewrite " + savepoint + " --out moved --topic orders:1 --shift-by 1 -o FORMAT", []string{"checkpoint show, rewrite, list"}},
		{"koffset migrate export --from checkpoint:" + savepoint + " --operator-uid orders-source --group job --out j.export", nil},
		{"koffset migrate import j.export --rewrite-checkpoint " + savepoint + " --operator-uid orders-source --out imported -o FORMAT", []string{"migrate import --rewrite-checkpoint"}},
		{"koffset split orders --parts 2 -o FORMAT", []string{"split"}},
		{"koffset split orders --from @-2h --every 1h -o FORMAT", []string{"split"}},
		{"koffset consume --range orders:0=10:12 -q -o jsonl", []string{"consume"}},
		{"koffset consume orders -g shipping --explain -o FORMAT", []string{"consume"}},
		{"koffset check shipping fraud-check --max-lag 1 --max-lag-time 1m -o FORMAT", []string{"check"}},
		{"koffset watch shipping --count 1 -o jsonl", []string{"watch"}},
		{"koffset profile list -o FORMAT", []string{"profile, version"}},
		{"koffset profile show --resolved -o FORMAT", []string{"profile, version"}},
		{"koffset version -o json", []string{"profile, version"}},
	}
}

func TestJSONIsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := namesByHeading(string(text))
	d := newDocShell(t)
	d.writePast(t, "shipping")
	for _, c := range jsonCases() {
		for _, format := range []string{"json", "jsonl"} {
			line := strings.ReplaceAll(c.line, "FORMAT", format)
			out := d.command(line)
			if d.last != 0 && d.last != 8 {
				t.Fatalf("%s ended with %d:\n%s", line, d.last, out)
			}
			if c.headings == nil {
				break
			}
			documented := slices.Clone(named["Every document"])
			documented = append(documented, named["The JSON contract"]...)
			for _, h := range c.headings {
				if named[h] == nil {
					t.Fatalf("docs/json.md has no section %q", h)
				}
				documented = append(documented, named[h]...)
			}
			found := 0
			for key := range keysOf(t, line, out) {
				found++
				if !slices.Contains(documented, key) {
					t.Errorf("%s prints %q, which docs/json.md does not name under %q", line, key, c.headings)
				}
			}
			if found == 0 {
				t.Errorf("%s printed no JSON:\n%s", line, out)
			}
			if !strings.Contains(c.line, "FORMAT") {
				break
			}
		}
	}
}

var (
	inBackticks = regexp.MustCompile("`[^`]*`")
	jsonName    = regexp.MustCompile(`[a-z][a-z0-9_]*`)
)

// namesByHeading are the names in backticks under each heading.
func namesByHeading(text string) map[string][]string {
	out := map[string][]string{}
	heading := ""
	for line := range strings.Lines(text) {
		if h, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(h)
			continue
		}
		for _, s := range inBackticks.FindAllString(line, -1) {
			out[heading] = append(out[heading], jsonName.FindAllString(s, -1)...)
		}
	}
	return out
}

// keysOf are all keys of the JSON values in an output, at every depth; lines that are no JSON are notes, and an error is described for all commands at once.
func keysOf(t *testing.T, line, out string) map[string]bool {
	keys := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				keys[k] = true
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	var kept strings.Builder
	for l := range strings.Lines(out) {
		if !strings.HasPrefix(l, "koffset: ") && !strings.HasPrefix(l, "{\"kind\":\"error\"") {
			kept.WriteString(l)
		}
	}
	dec := json.NewDecoder(strings.NewReader(kept.String()))
	for dec.More() {
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(fmt.Errorf("%s: %w in\n%s", line, err, kept.String()))
		}
		walk(v)
	}
	return keys
}
