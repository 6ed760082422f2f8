package checkpointfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

func sample(id int64) checkpointfile.Checkpoint {
	end := int64(100)
	return checkpointfile.Checkpoint{Job: "j", ID: id, Group: "g", Mode: "EXACTLY_ONCE", Isolation: "read_committed", Records: 7,
		Topics:     []checkpointfile.CheckpointTopic{{Name: "t", ID: "AAAAAAAAAAAAAAAAAAAAAA"}},
		Partitions: []checkpointfile.CheckpointPartition{{Topic: "t", Partition: 0, Offset: 42, LeaderEpoch: offset.EpochOf(3), End: &end}, {Topic: "t", Partition: 1}},
		Sink:       checkpointfile.CheckpointSink{Kind: "files", Location: "/out", State: []byte(`{"part":1}`)}}
}

func put(t *testing.T, dir string, id int64) string {
	t.Helper()
	h := checkpointfile.Header{CreatedAt: time.Unix(1, 0), ClusterID: "c"}
	if _, err := checkpointfile.WriteCheckpoint(dir, &h, sample(id)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, checkpointfile.CheckpointName(id))
}

func TestCheckpointRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	put(t, dir, 9)
	ten := put(t, dir, 10)
	for _, path := range []string{ten, filepath.Join(ten, "_metadata"), dir} { // 10 is newer than 9, though not as text
		c, h, err := checkpointfile.ReadCheckpoint(path)
		if err != nil || c.ID != 10 || h.ClusterID != "c" || c.Partitions[0].Offset != 42 || *c.Partitions[0].End != 100 {
			t.Errorf("%s: %+v, %v", path, c, err)
		}
		if n, known := c.Partitions[0].LeaderEpoch.Get(); !known || n != 3 {
			t.Errorf("epoch %d %v", n, known)
		}
		if _, known := c.Partitions[1].LeaderEpoch.Get(); known {
			t.Error("an epoch that was not known is known now")
		}
	}
	if err := checkpointfile.RemoveCheckpoint(dir, 10); err != nil {
		t.Fatal(err)
	}
	if err := checkpointfile.RemoveCheckpoint(dir, 10); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	refs, err := checkpointfile.ListCheckpoints(dir)
	if err != nil || len(refs) != 1 || refs[0].ID != 9 {
		t.Errorf("%v %v", refs, err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".chk-half"), 0o700); err != nil {
		t.Fatal(err)
	}
	checkpointfile.SweepCheckpoints(dir)
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left after a sweep: %v", entries)
	}
}

// Cut at every byte it is refused, never read, and the one before it is offered.
func TestCheckpointTorn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	before := put(t, dir, 1)
	file := filepath.Join(put(t, dir, 2), checkpointfile.MetadataFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(data) - 1 { // without its newline it is whole
		if err := os.WriteFile(file, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := checkpointfile.ReadCheckpoint(dir)
		var fe *checkpointfile.FileError
		if !errors.As(err, &fe) || fe.Path != file {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if n > 0 && fe.Hint != "the checkpoint before it is "+before && fe.Hint != "make a new one instead of editing it" {
			t.Fatalf("cut at %d: hint %q", n, fe.Hint)
		}
	}
}

func TestCheckpointDirs(t *testing.T) {
	for in, want := range map[string]string{"/var/ck": "/var/ck", "ck": "ck", "./a:b": "./a:b", "file:///var/ck": "/var/ck", "file://localhost/var/ck": "/var/ck"} {
		if got, err := checkpointfile.ParseCheckpointDir(in); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "s3://b/k", "hdfs:///x", "s3a://b", "gs://b", "file://other/x"} {
		if got, err := checkpointfile.ParseCheckpointDir(bad); err == nil {
			t.Errorf("%s was taken as %q", bad, got)
		}
	}
	for _, bad := range []string{"", strings.Repeat("x", 256), strings.Repeat(":", 90)} {
		if checkpointfile.CheckJobName(bad) == nil {
			t.Errorf("job name %q was taken", bad)
		}
	}
}

func TestJobLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	unlock, err := checkpointfile.LockJob(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpointfile.LockJob(dir); !errors.Is(err, checkpointfile.ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	again, err := checkpointfile.LockJob(dir)
	if err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
	again()
}
