package render

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                "",
		"orders-1.v2_x":   "orders-1.v2_x",
		"注文 é":            "注文 é",
		"a\x1b[2Jb":       `a\x1b[2Jb`,
		"a\nb\tc\r\x00":   `a\nb\tc\r\x00`,
		"\u009b31m":       `\u009b31m`,
		"\u202egnp.exe":   `\u202egnp.exe`,
		"\u2066x\u2069":   `\u2066x\u2069`,
		"\u2028":          `\u2028`,
		"\u00a0":          `\u00a0`,
		"zero\u200bwidth": `zero\u200bwidth`,
		"\U000e0041tag":   `\U000e0041tag`,
		"\xff\xfe":        `\xff\xfe`,
		`c:\dir`:          `c:\\dir`,
		" both ":          `\x20both\x20`,
		" ":               `\x20`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Clean(" it's \\d\x1b\n "); got != ` it's \d\x1b\n ` {
		t.Errorf("Clean: %q", got)
	}
}

func checkPrintable(t *testing.T, what, s string) {
	t.Helper()
	for _, r := range s {
		if !unicode.IsPrint(r) {
			t.Errorf("%s: %U is left in %q", what, r, s)
		}
	}
	if !utf8.ValidString(s) {
		t.Errorf("%s: invalid UTF-8 in %q", what, s)
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", " x ", "\x1b[0m\n", "\u202e\U000e0001\ufeff\U0010ffff", "\xed\xa0\x80", `\x1b`, "\xf0\x28"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		checkPrintable(t, "Escape", got)
		if strings.TrimSpace(got) != got {
			t.Errorf("blank at an end of %q", got)
		}
		back, err := strconv.Unquote(`"` + strings.ReplaceAll(got, `"`, `\"`) + `"`)
		if err != nil || back != s {
			t.Errorf("Escape(%q) = %q, which reads back as %q, %v", s, got, back, err)
		}
		checkPrintable(t, "Clean", Clean(s))
	})
}

func FuzzJSONCells(f *testing.F) {
	f.Add("a", "b", int64(1), 1.5, true)
	f.Add("\x1b\u202e\U000e0001\"\\/", "\xff\u2028</script>", int64(-1<<63), 1e300, false)
	f.Add("\x00\x7f\b\f", "\xed\xa0\x80", int64(1<<63-1), 1e-9, false)
	f.Fuzz(func(t *testing.T, a, b string, n int64, x float64, yes bool) {
		cell := Object(F("a", String(a)), F("n", Int(n)), F("x", Float(x)), F("yes", Bool(yes)), F("none", None()),
			F("list", Strings([]string{a, b})), F("cells", List(String(b), Object(), None())), F("empty", Strings(nil)))
		got := cell.appendJSON(nil)
		checkPrintable(t, "JSON", string(got))
		// encoding/json says what the same value is, byte for byte up to the
		// choice of escapes, which decoding removes.
		var xp *float64
		if x-x == 0 {
			xp = &x
		}
		want, err := json.Marshal(map[string]any{"a": a, "n": n, "x": xp, "yes": yes, "none": nil,
			"list": []string{a, b}, "cells": []any{b, map[string]any{}, nil}, "empty": []string{}})
		if err != nil {
			t.Fatal(err)
		}
		if g, w := canonical(t, got), canonical(t, want); g != w {
			t.Errorf("got %s, want %s", g, w)
		}
	})
}

// canonical decodes keeping numbers as they are written, and encodes again.
func canonical(t *testing.T, b []byte) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func FuzzTime(f *testing.F) {
	for _, ms := range []int64{0, -1, 1_772_000_000_123, 253402300799999, 253402300800000, -1 << 63, 1<<63 - 1, -62167219200001} {
		f.Add(ms)
	}
	f.Fuzz(func(t *testing.T, ms int64) {
		want := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
		if got := string(appendTime(nil, ms)); got != want {
			t.Errorf("%d: got %s, want %s", ms, got, want)
		}
	})
}
