package offset

import "testing"

func TestSpellHint(t *testing.T) {
	flag := func(s Setting, value string) string {
		if value != "" {
			value = " " + value
		}
		return "--" + string(s) + value
	}
	for _, c := range []struct{ hint, plain, flags string }{
		{"", "", ""},
		{"wait", "wait", "wait"},
		{"add {{if-expired earliest}} to take it", "add if-expired earliest to take it", "add --if-expired earliest to take it"},
		{"{{exact}} or {{start 'partition:0,offset:42'}}", "exact or start 'partition:0,offset:42'", "--exact or --start 'partition:0,offset:42'"},
		{"group {{x y}} is there", "group {{x y}} is there", "group {{x y}} is there"},
		{"a brace {{ alone, and {group}", "a brace {{ alone, and {group}", "a brace {{ alone, and {group}"},
	} {
		if got := SpellHint(c.hint, nil); got != c.plain {
			t.Errorf("plain: %q, want %q", got, c.plain)
		}
		if got := SpellHint(c.hint, flag); got != c.flags {
			t.Errorf("as flags: %q, want %q", got, c.flags)
		}
	}
}
