package sandbox_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/sandbox"
)

// The snapshots are those that checkpointfile/flink is tested with, byte for byte, and nothing that exists is written over.
func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	jobs, err := sandbox.WriteSnapshots(dir, now)
	if err != nil || len(jobs) != 2 {
		t.Fatal(jobs, err)
	}
	files := 0
	for job, set := range map[string]string{"flink": "f22-hashmap", "flink-old": "f120-legacy"} {
		from := os.DirFS(filepath.Join("..", "..", "checkpointfile", "flink", "testdata", set))
		err := fs.WalkDir(os.DirFS(filepath.Join(dir, job)), ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			got, err := os.ReadFile(filepath.Join(dir, job, p))
			if err != nil {
				return err
			}
			want, err := fs.ReadFile(from, p)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s/%s differs from the one that is tested (%v)", job, p, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files != 6 {
		t.Errorf("%d files", files)
	}
	if st, err := os.Stat(filepath.Join(dir, "flink", "savepoints")); err != nil || !st.ModTime().Equal(now) {
		t.Errorf("%v %v", st, err)
	}
	if _, err := sandbox.WriteSnapshots(dir, now); err == nil {
		t.Error("existing files were written over")
	}
}
