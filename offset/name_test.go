package offset

import (
	"slices"
	"strings"
	"testing"
)

// Every name comes back from a list byte for byte, also those that look like nothing, like a comment or like another name.
func TestNamesRoundTrip(t *testing.T) {
	names := []string{"billing", "", " ", "x ", " x", "\tx", "#team", "a#b", "a/b:c", "-", "-x", `"`, `"q"`, `say "hi"`, "naïve", "日本", "line\nbreak", "\r", "\x00\x1b[31m", "\xff\xfe", "\ufeffbom", "a\u00a0b", "zero\u200bwidth"}
	var b strings.Builder
	b.WriteString("\ufeff# a comment\n\n")
	for i, n := range names {
		q := QuoteName(n)
		if strings.ContainsAny(q, "\n\r\x00\x1b") || q == "" || q == "-" || strings.HasPrefix(q, "#") || strings.TrimSpace(q) != q {
			t.Errorf("%q is written as %q", n, q)
		}
		if got, err := UnquoteName(q); err != nil || got != n {
			t.Errorf("%q is written as %s and read as %q, %v", n, q, got, err)
		}
		b.WriteString(q + []string{"\n", "\r\n"}[i%2])
	}
	got, err := ReadNames(b.String())
	if err != nil || !slices.Equal(got, names) {
		t.Errorf("got %q, %v", got, err)
	}
	if got := QuoteName("plain name.v1"); got != "plain name.v1" {
		t.Errorf("a plain name is written as %s", got)
	}
	if got, err := ReadNames("x \n"); err != nil || got[0] != "x " {
		t.Errorf("blanks at the end are part of a name: %q, %v", got, err)
	}
	if _, err := ReadNames("ok\n\"half\n"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("half a quote: %v", err)
	}
}
