//go:build realkafka

package serve

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The shipped rules, replayed over the recorded stories by Prometheus' own tool: who is paged, and who gets a ticket.
func TestWhoIsPaged(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("%v: install Debian's package prometheus", err)
	}
	rules, err := filepath.Abs(filepath.Join(docs, "prometheus", "koffset.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rec := recordStories(t)
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n", rules)
	for _, name := range slices.Sorted(maps.Keys(rec.samples)) {
		fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", quoteLabels(name), strings.Join(rec.samples[name], " "))
	}
	fmt.Fprintf(&b, "    promql_expr_test:\n      - expr: 'group by (severity, group, alertname) (ALERTS{alertstate=\"firing\",severity!=\"info\"})'\n        eval_time: %dm\n        exp_samples:\n", storyLength-1)
	for _, line := range firing() {
		f := strings.Fields(line)
		fmt.Fprintf(&b, "          - {labels: '{severity=%q,group=%q,alertname=%q}', value: 1}\n", f[0], f[1], f[2])
	}
	file := filepath.Join(t.TempDir(), "stories.yml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// quoteLabels writes name{label=value,…} as PromQL does.
func quoteLabels(sample string) string {
	name, rest, ok := strings.Cut(sample, "{")
	if !ok {
		return sample
	}
	var ls []string
	for l := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
		k, v, _ := strings.Cut(l, "=")
		ls = append(ls, fmt.Sprintf("%s=%q", k, v))
	}
	return name + "{" + strings.Join(ls, ",") + "}"
}

// firing is who is told what at the end of the stories: "severity group alert".
func firing() []string {
	return []string{
		"critical poison KoffsetReaderStuck",
		"critical stuck KoffsetReaderStuck",
		"warning away KoffsetPartlyBlind",
		"warning elsewhere KoffsetGroupStopped",
		"warning expires KoffsetAboutToExpire",
		"warning expires KoffsetGroupStopped",
		"warning finished-1 KoffsetGroupStopped",
		"warning finished-2 KoffsetGroupStopped",
		"warning finished-3 KoffsetGroupStopped",
		"warning slow KoffsetGapGrowing",
		"warning slow KoffsetLagGrowing",
	}
}
