package cmd

import (
	"strings"
	"testing"

	"github.com/koffset/koffset/inspect"
)

// What STATUS prints is a word of --only, and --only of it leaves every row that prints it.
func TestOnlyTakesWhatStatusPrints(t *testing.T) {
	d := newDocShell(t)
	for _, line := range []string{"koffset inspect", "koffset inspect --all-groups --by partition"} {
		rows := byStatus(t, d.command(line))
		if len(rows) < 4 || rows[string(inspect.HealthStopped)] == nil {
			t.Fatalf("%s shows too little: %v", line, rows)
		}
		for word, want := range rows {
			out := d.command(line + " --only " + word)
			if d.last != 0 && d.last != 4 {
				t.Errorf("%s --only %s: exit status %d\n%s", line, word, d.last, out)
			}
			got := byStatus(t, out)
			if strings.Join(got[word], "\n") != strings.Join(want, "\n") {
				t.Errorf("%s --only %s shows\n%s\nwant\n%s", line, word, strings.Join(got[word], "\n"), strings.Join(want, "\n"))
			}
			if word == string(inspect.HealthOK) && len(got) > 1 {
				t.Errorf("%s --only ok shows others: %v", line, got)
			}
		}
	}
	if out := d.command("koffset inspect --only unstable"); !strings.Contains(out, "\norder-invoicer ") || strings.Contains(out, "\nshipping ") {
		t.Errorf("--only unstable:\n%s", out)
	}
	for _, s := range inspect.Statuses() {
		if out := d.command("koffset inspect --only " + string(s)); d.last == 2 {
			t.Errorf("--only %s: %s", s, out)
		}
	}
}

// byStatus are the names of the rows of a table by what STATUS says of them.
func byStatus(t *testing.T, out string) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	column := -1
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "koffset: "):
		case column < 0:
			for i, w := range words {
				if w == "STATUS" {
					column = i
				}
			}
			if column < 0 {
				t.Fatalf("no STATUS in %q", line)
			}
		default:
			rows[words[column]] = append(rows[words[column]], strings.Join(words[:3], " "))
		}
	}
	return rows
}
