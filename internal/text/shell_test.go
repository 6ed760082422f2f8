package text

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What is pasted must reach the command as it was: a shell reads it back.
func TestShell(t *testing.T) {
	words := []string{"koffset", "orders:0,2-5", "@-2h", "end-10", "", " ", "it's", `"x"`, "a`id`b", "$HOME", "$(id)", "#all", "a#b", "~", "~root", "=ls", "a=b", "*", "bill.*",
		"[ab]", "{a,b}", "a|b", "a&b", "a;b", "a>b", "<a", "(a)", "!!", "a!b", `a\b`, "a\tb", "a\nb", "ä…"}
	if got := Shell("koffset", "inspect", "orders:0", "@-2h", "a=b", "a#b", "https://u@h/x"); got != "koffset inspect orders:0 @-2h a=b a#b https://u@h/x" {
		t.Errorf("quoted without need: %s", got)
	}
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+Shell(words...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, words) {
		t.Errorf("read back %q\nwant %q\nfrom %s", got, words, Shell(words...))
	}
}
