package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Phrases that sounded translated have plain ones now, and do not come back: in no message, help text or comment.
func TestWordsThatAreGone(t *testing.T) {
	gone := []string{"everything stands where", "the time of --wait-empty is over", "to go back: ", "who commits comes from",
		"are looked for every", "is no lag of 0", "is of partitions and groups", "is of cluster %", "is called %s today", "is called so",
		"belong into", "which is no offset", "a number of records from 1 on", "does not know this question", "stands no control flag",
		"partitions more", "sick commits", "mends them", "koffset: error: koffset"}
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
