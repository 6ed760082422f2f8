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

func TestFitASCII(t *testing.T) {
	for _, tc := range []struct {
		s     string
		width int
		want  string
	}{
		{"abc", 5, "abc  "}, {"abcdef", 4, "abc~"}, {"a…", 4, "a..."}, {"日本", 12, `\u65e5\u672c`}, {"日本", 8, `\u65e5\~`}, {"x🙂", 12, `x\U0001f642 `},
	} {
		if got := FitASCII(tc.s, tc.width, false); got != tc.want {
			t.Errorf("FitASCII(%q, %d) = %q, want %q", tc.s, tc.width, got, tc.want)
		}
	}
}

// The first of the three variables that is set decides, as in POSIX; none of them is the C locale.
func TestUTF8Locale(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "de_DE.utf8"}, true},
		{map[string]string{"LANG": "de_DE@euro"}, false},
		{map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, false},
		{map[string]string{"LC_CTYPE": "POSIX", "LANG": "en_US.UTF-8"}, false},
		{map[string]string{"LC_ALL": "C.UTF-8", "LC_CTYPE": "C"}, true},
	} {
		s := Streams{Env: func(k string) string { return tc.env[k] }}
		if got := s.UTF8(); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.env, got, tc.want)
		}
	}
	if (&Streams{}).UTF8() {
		t.Error("without an environment")
	}
}
