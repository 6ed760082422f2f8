package serve

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/koffset/koffset/inspect"
)

var docs = filepath.Join("..", "..", "docs")

func readDoc(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{docs}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// docs/metrics.md lists every family with its labels, and no other; and docs/monitor.md every verdict.
func TestMetricsAreDocumented(t *testing.T) {
	doc := readDoc(t, "metrics.md")
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(koffset_[a-z_]+)` \\| ([a-z_, ]*)\\| .+ \\|$").FindAllStringSubmatch(doc, -1) {
		if strings.Count(m[0], "|") == 4 { // the comparison has more columns
			documented[m[1]] = strings.TrimSpace(m[2])
		}
	}
	for _, f := range families() {
		if f.Compat != "" {
			continue
		}
		labels, ok := documented[f.Name]
		if !ok {
			t.Errorf("%s is not documented", f.Name)
		} else if want := strings.Join(f.Labels, ", "); labels != want {
			t.Errorf("%s is documented with the labels %q, it has %q", f.Name, labels, want)
		}
		delete(documented, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		t.Errorf("%s is documented and does not exist", name)
	}
	// One table tells what each verdict means, in the words of the program.
	table := readDoc(t, "monitor.md")
	for _, a := range inspect.Advices() {
		if row := "| `" + string(a.Health) + "` | " + a.Cause + " | " + a.Evidence + " | " + a.Next; !strings.Contains(table, row) {
			t.Errorf("monitor.md has no row %q", row)
		}
	}
}

// The alert rules and the dashboard use only names and verdicts that exist.
func TestRulesAndDashboardUseOwnNames(t *testing.T) {
	known := map[string]bool{}
	for _, f := range families() {
		known[f.Name] = f.Compat == ""
	}
	verdicts := map[string]bool{}
	for _, h := range inspect.Healths() {
		verdicts[string(h)] = true
	}
	for _, file := range []string{"koffset.rules.yml", "koffset-dashboard.json"} {
		text := readDoc(t, "prometheus", file)
		names := regexp.MustCompile(`\b(?:koffset|kafka)_[a-z_]+\b`).FindAllString(text, -1)
		if len(names) < 8 {
			t.Errorf("%s has only %d names", file, len(names))
		}
		for _, n := range names {
			if !known[n] {
				t.Errorf("%s uses %s, which is not served", file, n)
			}
		}
		for _, m := range regexp.MustCompile(`verdict!?=~?\\?"([a-z|-]+)`).FindAllStringSubmatch(text, -1) {
			for v := range strings.SplitSeq(m[1], "|") {
				if !verdicts[v] {
					t.Errorf("%s asks for the verdict %q", file, v)
				}
			}
		}
	}
	var dashboard struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readDoc(t, "prometheus", "koffset-dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 || p.Targets[0].Expr == "" {
			t.Errorf("panel %q shows nothing", p.Title)
		}
	}
	if dashboard.Title == "" || len(dashboard.Panels) < 10 {
		t.Errorf("dashboard %q with %d panels", dashboard.Title, len(dashboard.Panels))
	}
}
