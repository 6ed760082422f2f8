package checkpointfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/offset"
)

// flinkSet copies a set of real Flink snapshots.
func flinkSet(t *testing.T, set string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), set)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("flink", "testdata", set))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeOwn(t *testing.T, jobDir string, id int64, next int64) {
	t.Helper()
	h := Header{CreatedAt: time.Unix(1700000000, 0), Version: "test", ClusterID: "c1"}
	end := int64(99)
	c := Checkpoint{Job: filepath.Base(jobDir), ID: id, Partitions: []CheckpointPartition{
		{Topic: "orders", Partition: 1, Offset: 7, Skipped: true}, {Topic: "orders", Partition: 0, Offset: next, End: &end},
	}}
	if _, err := WriteCheckpoint(jobDir, &h, c); err != nil {
		t.Fatal(err)
	}
}

func TestOpenSnapshotOfEitherEngine(t *testing.T) {
	set := flinkSet(t, "f120-hashmap")
	job := filepath.Join(set, "checkpoints", "67840d7be5ed2944d4576444d9420471")
	// Checkpoint 9 comes after 11 as text, 12 is not finished.
	if err := os.CopyFS(filepath.Join(job, "chk-9"), os.DirFS(filepath.Join(job, "chk-11"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(job, "chk-12"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{job, filepath.Join(job, "chk-11"), filepath.Join(job, "chk-11", "_metadata"), "file:" + job, "file://" + job} {
		s, err := OpenSnapshot(path, flink.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if strings.HasSuffix(path, filepath.Base(job)) {
			want = 2
		}
		if s.Engine != EngineFlink || s.Own != nil || s.Flink.CheckpointID != 11 || s.Newest != want || len(s.Sources()) != 2 {
			t.Errorf("%s: %s %d, newest of %d", path, s.Engine, s.Flink.CheckpointID, s.Newest)
		}
	}

	own := filepath.Join(t.TempDir(), "nightly")
	writeOwn(t, own, 9, 5)
	writeOwn(t, own, 10, 6)
	s, err := OpenSnapshot(own, flink.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Engine != EngineKoffset || s.Flink != nil || s.Own.ID != 10 || s.Newest != 2 || s.Header.ClusterID != "c1" || s.InFlight() {
		t.Errorf("%+v", s)
	}
	src := s.Sources()[0]
	if len(s.Sources()) != 1 || src.Kind != ConsumeSource || src.Name != "nightly" || *src.Partitions[0].Next != 6 || *src.Partitions[0].Stopping != 99 ||
		src.Partitions[1].State != SkippedPartition {
		t.Errorf("%+v", src)
	}
	// A partition that the job leaves out is no position of it.
	at, err := Positions(s.Sources())
	if err != nil || len(at) != 1 || at[offset.Partition{Topic: "orders"}].Offset != 6 {
		t.Errorf("%v %v", at, err)
	}
}

func TestOpenSnapshotRefuses(t *testing.T) {
	set := flinkSet(t, "f120-hashmap")
	empty, torn, text := t.TempDir(), filepath.Join(t.TempDir(), "j"), filepath.Join(t.TempDir(), "_metadata")
	writeOwn(t, torn, 1, 5)
	if err := os.Truncate(filepath.Join(torn, "chk-1", MetadataFile), 100); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(text, []byte("hello, world"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		filepath.Join(set, "savepoints"): fs.ErrNotExist, // which of several savepoints?
		filepath.Join(set, "nowhere"):    fs.ErrNotExist,
		empty:                            fs.ErrNotExist,
		filepath.Join(torn, "chk-1"):     ErrDamaged,
		text:                             flink.ErrNotSnapshot,
		"s3://bucket/chk-7":              nil,
		"":                               nil,
	} {
		s, err := OpenSnapshot(path, flink.Options{})
		if err == nil || s != nil {
			t.Errorf("%q: opened", path)
		} else if want != nil && !errors.Is(err, want) && !strings.Contains(err.Error(), "name one of the snapshots in it") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestChooseAndPositions(t *testing.T) {
	s, err := OpenSnapshot(filepath.Join(flinkSet(t, "f118-compressed"), "sp-canon", "savepoint-679b7a-84d15ea9ec92"), flink.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Choose("", "")
	if err != nil || len(all) != 3 {
		t.Fatalf("%d %v", len(all), err)
	}
	// orders:3 was empty: the legacy source stands at 0, the other has not read yet.
	var twice *TwiceError
	if _, err := Positions(all); !errors.As(err, &twice) || twice.Partition != (offset.Partition{Topic: "orders", Partition: 3}) {
		t.Errorf("two places: %v", err)
	}
	for _, tc := range []struct{ uid, id string }{{"legacy-src", ""}, {"", "25F1B9CDAC101C5D57150B1B60C3CEDA"}} {
		one, err := s.Choose(tc.uid, tc.id)
		if err != nil || len(one) != 1 || one[0].Kind != flink.FlinkKafkaConsumer {
			t.Fatalf("%v: %v %v", tc, one, err)
		}
		at, err := Positions(one)
		if err != nil || len(at) != 6 || at[offset.Partition{Topic: "orders", Partition: 1}].Offset != 20 || at[offset.Partition{Topic: "orders", Partition: 3}].Marker != "" {
			t.Errorf("%v %v", at, err)
		}
	}
	one, err := s.Choose("kafka-src", "")
	if err != nil {
		t.Fatal(err)
	}
	if at, _ := Positions(one); at[offset.Partition{Topic: "orders", Partition: 3}] != (offset.Foreign{Marker: offset.MarkerEarliest}) {
		t.Errorf("%v", at)
	}
	var no *SourceError
	if _, err := s.Choose("nobody", ""); !errors.As(err, &no) || len(no.Has) != 3 {
		t.Errorf("%v", err)
	}

	// A source that could not be read is not one that is not there.
	dir := filepath.Join(flinkSet(t, "f120-files"), "savepoints", "savepoint-a1ce74-0f0e8c60f916")
	if err := os.Remove(filepath.Join(dir, "08a55c7c-03b8-45d6-a9d9-727c13dd872c")); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenSnapshot(dir, flink.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Choose("", "feca28aff5a3958840bee985ee7de4d3"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestListSnapshots(t *testing.T) {
	set := flinkSet(t, "f22-hashmap")
	own := filepath.Join(set, "own", "nightly")
	writeOwn(t, own, 9, 5)
	writeOwn(t, own, 10, 6)
	if err := os.Mkdir(filepath.Join(own, "chk-11"), 0o755); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(own, "chk-10", MetadataFile), later, later); err != nil {
		t.Fatal(err)
	}
	name := func(e SnapshotEntry) string {
		return strings.Join([]string{e.Job, filepath.Base(e.Path), string(e.Engine), map[bool]string{true: "complete", false: "unfinished"}[e.Complete]}, " ")
	}
	list, err := ListSnapshots(filepath.Join(set, "own"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, name(e))
	}
	if strings.Join(got, ", ") != "nightly chk-11  unfinished, nightly chk-10 koffset complete, nightly chk-9 koffset complete" {
		t.Errorf("%q", got)
	}
	if list, err = ListSnapshots(set); err != nil || len(list) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	for _, e := range list {
		if e.Engine != EngineFlink || e.Job == "" {
			t.Errorf("%+v", e)
		}
	}
	if list, err = ListSnapshots(t.TempDir()); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if _, err = ListSnapshots(filepath.Join(set, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
