package consume_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
	"github.com/koffset/koffset/internal/kafkatest"
)

// A job that goes on from another job's checkpoint takes the folder of files over: the other one's restore would cut what it wrote. The
// refusal changes nothing, and the job that has the folder goes on.
func TestFolderTakenOverByAnotherJob(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "owned", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("owned", 0, 30, 1000, 1)...)
	out, ck := filepath.Join(t.TempDir(), "out"), t.TempDir()
	run := func(name, restore string, records int64) (consume.Summary, error) {
		files, err := sink.NewFiles(out, sink.Values, sink.FilesOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics("owned"), Start: consume.FromEarliest(), End: consume.End{MaxRecords: records}, Sink: files,
			Checkpoints: consume.Checkpoints{Interval: time.Hour, Dir: ck, Job: name, Restore: restore}})
	}
	lines := func() (n int) {
		parts, err := filepath.Glob(filepath.Join(out, "part-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			n += strings.Count(string(b), "\n")
		}
		return n
	}
	first, err := run("a", "", 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = run("b", first.Kept, 10); err != nil || lines() != 15 {
		t.Fatalf("from the other job's checkpoint: %v, %d lines", err, lines())
	}
	var de *sink.DirError
	if _, err = run("a", consume.RestoreLatest, 1); !errors.As(err, &de) || !strings.Contains(err.Error(), "belongs to another run") || lines() != 15 {
		t.Errorf("the first job again: %v, %d lines", err, lines())
	}
	if _, err = run("b", consume.RestoreLatest, 15); err != nil || lines() != 30 {
		t.Errorf("the second job again: %v, %d lines", err, lines())
	}
}
