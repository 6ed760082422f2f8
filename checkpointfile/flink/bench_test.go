package flink

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/koffset/koffset/internal/flinktest"
)

// A large job's _metadata: by default 200 MB of 20,000 subtasks with keyed state and one Kafka source of 5,000 partitions.

// writeLarge writes such a file and returns its size.
func writeLarge(t testing.TB, path string, subtasks, partitions int, keyed func(i int) []byte) int64 {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	large := flinktest.Large{Subtasks: subtasks, Partitions: partitions, Keyed: keyed, Properties: realProperties()}
	if err := errors.Join(large.Write(w), w.Flush()); err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// BenchmarkOpen reads 200 MB from the page cache. alloc-MB is everything that was ever allocated, so more than was in
// use at any time; result-MB is what the snapshot itself keeps.
func BenchmarkOpen(b *testing.B) {
	for _, shape := range flinktest.Shapes() {
		b.Run(shape.Name, func(b *testing.B) {
			runtime.GOMAXPROCS(1)
			path := filepath.Join(b.TempDir(), MetadataName)
			size := writeLarge(b, path, 20_000, 5_000, shape.Keyed)
			b.SetBytes(size)
			var s *Snapshot
			var all uint64
			for b.Loop() {
				all = allocated(func() {
					var err error
					if s, err = Open(path, Options{}); err != nil || len(s.Sources) != 1 || len(s.Sources[0].Partitions) != 5000 {
						b.Fatal(err)
					}
				})
			}
			var with, without runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&with)
			runtime.KeepAlive(s)
			s = nil
			runtime.GC()
			runtime.ReadMemStats(&without)
			b.ReportMetric(float64(all)/1e6, "alloc-MB")
			b.ReportMetric(float64(with.HeapAlloc-without.HeapAlloc)/1e6, "result-MB")
			b.ReportMetric(float64(size)/1e6, "file-MB")
		})
	}
}

// TestMemory holds what a file costs against its Kafka partitions, at a tenth of the benchmark's size.
func TestMemory(t *testing.T) {
	for _, shape := range flinktest.Shapes() {
		path := filepath.Join(t.TempDir(), MetadataName)
		size := writeLarge(t, path, 2_000, 500, shape.Keyed)
		var s *Snapshot
		var err error
		got := allocated(func() { s, err = Open(path, Options{}) })
		if err != nil || len(s.Sources) != 1 || len(s.Sources[0].Partitions) != 500 {
			t.Fatalf("%v %v", s, err)
		}
		if got > 3<<20 {
			t.Errorf("%s: %d bytes were allocated for a file of %d", shape.Name, got, size)
		}
		for i, p := range s.Sources[0].Partitions {
			if *p.Next != int64(i)*1000 {
				t.Fatalf("partition %d at %d", i, *p.Next)
			}
		}
	}
}

// BenchmarkRewrite moves all partitions of the 200 MB file, syncs, and reads the copy back.
func BenchmarkRewrite(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "savepoint-abcdef-0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	size := writeLarge(b, filepath.Join(dir, MetadataName), 20_000, 5_000, flinktest.InlineKeyed)
	b.SetBytes(size)
	for b.Loop() {
		s, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		rw, err := PlanRewrite(s, everyPartition(s))
		if err != nil {
			b.Fatal(err)
		}
		to := filepath.Join(b.TempDir(), "new")
		if _, err := rw.Write(to, WriteOptions{}); err != nil {
			b.Fatal(err)
		}
		os.RemoveAll(to)
	}
}

// TestParseReadsOnce counts what the reader asks of the file: the pass reads each byte once, and only sources' states
// are read a second time.
func TestParseReadsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), MetadataName)
	size := writeLarge(t, path, 200, 50, flinktest.IncrementalKeyed)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{r: bytes.NewReader(data)}
	if _, err := Parse(c, size, nil); err != nil {
		t.Fatal(err)
	}
	if c.n > size+size/4 {
		t.Errorf("%d bytes were read of a file of %d", c.n, size)
	}
}

type counting struct {
	r *bytes.Reader
	n int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}
