package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Phrases that sounded translated have plain ones now, and do not come back: in no message, help text or comment.
func TestWordsThatAreGone(t *testing.T) {
	gone := []string{"everything stands where", "the time of --wait-empty is over", "to go back: ", "who commits comes from",
		"are looked for every", "is no lag of 0", "is of partitions and groups", "is of cluster %", "is called %s today", "is called so",
		"belong into", "which is no offset", "a number of records from 1 on", "does not know this question", "stands no control flag",
		"partitions more", "sick commits", "mends them", "koffset: error: koffset",
		"savepoints of Flink's and koffset's", "Shows where the group stands", "every row that stands right already", "each stand for themselves",
		"a line a reason on stdout", "exceeded at every look", "one row a group", "one row a partition", "by a file an operation"}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, phrase := range gone {
			if strings.Contains(string(text), phrase) {
				t.Errorf("%s: %q", path, phrase)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
