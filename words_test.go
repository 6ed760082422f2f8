package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Phrases that sounded translated do not come back, in no message, help text or comment; where a plain one took their place, it is
// there.
func TestWordsThatAreGone(t *testing.T) {
	text := programText(t)
	for _, w := range []struct{ gone, now string }{
		{"Execute plan ", "Move"}, {": at most %s records are skipped?", "skips up to "},
		{"had no commit to count from", "had no commit"},
		{"everything stands where", "all offsets are already as requested"}, {`" there already"`, "nothing to delete: "},
		{"the time of --wait-empty is over", "still in use after %s: %s"},
		{"to go back: ", "to undo: %s"},
		{"interrupted: stopped by", "interrupted while waiting for %s"},
		{"%s is %s (--by-duration)", `" ago"`},
		{"who commits comes from", "auto-commit is on"},
		{"without checkpoints in a folder nothing can", "if interrupted, start over; "},
		{`"checkpoint kept: %s"`, "; continue with --restore latest"},
		{"are looked for every", "checking for new partitions every"},
		{"is no lag of 0", `is not "lag 0"`},
		{"is of partitions and groups", "--lag-time needs --by partition or group, not %s"},
		{"is of cluster %", " is cluster %s"},
		{"is called %s today", ""}, {"is called so", "unknown consume setting"},
		{"belong into", "belong in a profile"}, {"which is no offset", "which is not a valid offset"}, {"a number of records from 1 on", "--show must be at least 1"},
		{"said yes, and %", "the broker accepted"}, {"does not know this question", "the broker does not support this request"}, {"does not know this call", ""},
		{"is needed; --by offsets does without", "--by offsets does not"},
		{"goes on at earliest", ""},
		{"uncommitted record may be old", "maximum age of the oldest uncommitted record"},
		{"left out by the broker, without a word", "the broker omits topics that this user may not describe; verify with"},
		{"stands no control flag", "missing control flag after the login module"},
		{"partitions more", ""},
		{"sick commits", "Find invalid commits and plan their repair"}, {"mends them", ""},
		{"koffset: error: koffset", ""},
		{"savepoints of Flink's and koffset's", ""}, {"Shows where the group stands", ""}, {"every row that stands right already", ""},
		{"each stand for themselves", ""}, {"a line a reason on stdout", ""}, {"exceeded at every look", ""}, {"one row a group", ""},
		{"one row a partition", ""}, {"by a file an operation", ""},
	} {
		found := false
		for path, s := range text {
			if strings.Contains(s, w.gone) {
				t.Errorf("%s: %q", path, w.gone)
			}
			found = found || strings.Contains(s, w.now)
		}
		if !found {
			t.Errorf("nothing says %q, which was to be said instead of %q", w.now, w.gone)
		}
	}
}

// programText are the files of the program, without its tests.
func programText(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bareCount is a count that is printed without separators, and with a plural even for one.
var bareCount = regexp.MustCompile(`"[^"]*%d (more )?(records|partitions|groups|topics|commits|files|members|offsets|lines|rows|brokers|checkpoints|keys|values|sources|readers|requests|errors|entries)\\b`)

// Counts in messages are text.Plural's: "1 record", "1,204 records".
func TestCountsArePlural(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "bench") || strings.HasPrefix(path, "internal/kafkatest") {
			return err
		}
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			if bareCount.MatchString(line) {
				t.Errorf("%s:%d: %s", path, i+1, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hintOfNothing is a hint that names no next step: what did not happen belongs in the message.
var hintOfNothing = regexp.MustCompile(`(?:Hint: |hint :?= |Hint = |Faultf\([\w.]+, |Usagef\()"(?:nothing was [a-z]+|no offset was [a-z]+)"`)

// That nothing was changed is no hint.
func TestHintsAreNextSteps(t *testing.T) {
	err := filepath.WalkDir("cmd", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, hint := range hintOfNothing.FindAllString(string(text), -1) {
			t.Errorf("%s: %s", path, hint)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
