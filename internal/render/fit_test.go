package render

import "testing"

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		s     string
		width int
		right bool
		want  string
	}{
		{"abc", 5, false, "abc  "}, {"abc", 5, true, "  abc"}, {"abcdef", 4, false, "abc…"}, {"abc", 3, true, "abc"}, {"abc", 0, false, ""},
		{"日本語", 6, false, "日本語"}, {"日本語", 5, false, "日本…"}, {"日本語", 4, false, "日… "}, {"", 2, false, "  "}, {"ab", 1, false, "…"},
	} {
		if got := Fit(tc.s, tc.width, tc.right); got != tc.want {
			t.Errorf("Fit(%q, %d, %v) = %q, want %q", tc.s, tc.width, tc.right, got, tc.want)
		}
	}
	if got := Paint(Bad, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("Paint: %q", got)
	}
	if got := Paint(Plain, "x"); got != "x" {
		t.Errorf("Paint plain: %q", got)
	}
}
