package consume_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// restoreBed is F1, and jobs on it that restore a checkpoint.
type restoreBed struct {
	cl *kgo.Client
	f  kafkatest.Orders
}

func newRestoreBed(t *testing.T) restoreBed {
	_, cl := fake(t)
	return restoreBed{cl, kafkatest.F1(t, cl, "")}
}

func (b restoreBed) config(t *testing.T) consume.Config {
	cfg := job(t, b.cl, &collector{}, b.f.Topic)
	cfg.End, cfg.Checkpoints.Restore, cfg.Checkpoints.Interval = until(t, "latest"), consume.RestoreLatest, time.Hour
	cfg.Commit.NotOnCheckpoint = true
	return cfg
}

// write puts a checkpoint at offset 6 of partition 0 and 7 of partition 1, or as it is edited, into the job's folder.
func (b restoreBed) write(t *testing.T, cfg consume.Config, id int64, edit func(*checkpointfile.Header, *checkpointfile.Checkpoint)) string {
	t.Helper()
	h := checkpointfile.Header{CreatedAt: time.Now()}
	c := checkpointfile.Checkpoint{Job: "j", ID: id, Group: "g", Isolation: "read_committed", Sink: checkpointfile.CheckpointSink{Kind: "test"},
		Partitions: []checkpointfile.CheckpointPartition{{Topic: b.f.Topic, Partition: 0, Offset: 6}, {Topic: b.f.Topic, Partition: 1, Offset: 7}}}
	if edit != nil {
		edit(&h, &c)
	}
	dir := checkpointfile.JobDir(cfg.Checkpoints.Dir, "j")
	if _, err := checkpointfile.WriteCheckpoint(dir, &h, c); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, checkpointfile.CheckpointName(id))
}

func (b restoreBed) run(t *testing.T, cfg consume.Config) ([]string, *notes, error) {
	sink, said := &collector{}, &notes{}
	cfg.Sink, cfg.Notify = sink, said.add
	_, err := consume.Run(t.Context(), cfg)
	return sink.sorted(), said, err
}

// A checkpoint beats the start mode and the group's commits.
func TestRestore(t *testing.T) {
	b := newRestoreBed(t)
	cfg := b.config(t)
	cfg.Group = b.f.App
	b.write(t, cfg, 4, nil)
	got, said, err := b.run(t, cfg)
	if want := all(span(b.f.Topic, 0, 6, 10), span(b.f.Topic, 1, 7, 10), span(b.f.Topic, 2, 0, 10)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: got %v, want %v", err, got, want)
	}
	if !said.has("the start earliest-offset and the group's commits are not used") {
		t.Errorf("not said: %s", said.text())
	}
}

// Commits follow checkpoints. After a crash between the two nothing of the group is passed over: the job has read it, and no limit of
// what may be skipped stops it. Read for another group it has not.
func TestRestoreAheadOfTheCommits(t *testing.T) {
	b := newRestoreBed(t)
	cfg := b.config(t)
	cfg.Group = "g"
	kafkatest.Commit(t, b.cl, "g", kafkatest.At(b.f.Topic, 0, 5), kafkatest.At(b.f.Topic, 1, 2))
	none := int64(0)
	cfg.Policies.MaxSkip = &none
	b.write(t, cfg, 4, nil)
	if got, said, err := b.run(t, cfg); err != nil || len(got) == 0 || said.has("passed over") {
		t.Errorf("%v: %d records, said %s", err, len(got), said.text())
	}
	cfg.Checkpoints.Dir = t.TempDir()
	b.write(t, cfg, 4, func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) { c.Group = "other" })
	var e *consume.Error
	if _, _, err := b.run(t, cfg); !errors.As(err, &e) || e.Kind != consume.Refused || !strings.Contains(e.Problem, "passes over 6 unread offsets") {
		t.Errorf("of another group: %v", err)
	}
}

// Without a checkpoint the start mode counts, and that is said aloud.
func TestRestoreNothing(t *testing.T) {
	b := newRestoreBed(t)
	got, said, err := b.run(t, b.config(t))
	if err != nil || len(got) != 26 || !said.warns("has no checkpoint in ") || !said.warns("nothing is restored, and the start mode decides") {
		t.Errorf("%v, %d records, said %s", err, len(got), said.text())
	}
}

// What was restored and has expired is refused, or read on from the log start where a policy says so.
func TestRestoreExpired(t *testing.T) {
	b := newRestoreBed(t)
	cfg := b.config(t)
	cfg.Start = from(t, "latest")
	b.write(t, cfg, 4, func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) { c.Partitions[0].Offset = 2 })
	got, _, err := b.run(t, cfg)
	if err == nil || len(got) > 0 || !strings.Contains(err.Error(), "the restored offset 2 is below log start 4: 2 offsets lost") {
		t.Fatalf("%v, got %v", err, got)
	}
	cfg.Policies.IfExpired = offset.IfExpiredEarliest
	if got, _, err = b.run(t, cfg); err != nil || got[0] != b.f.Topic+":0@4" {
		t.Errorf("with a policy: %v, %v", err, got)
	}
}

// A checkpoint of another log or another sink is refused, with what differs.
func TestRestoreOfSomethingElse(t *testing.T) {
	b := newRestoreBed(t)
	for name, c := range map[string]struct {
		edit func(*checkpointfile.Header, *checkpointfile.Checkpoint)
		says string
	}{
		"another cluster": {func(h *checkpointfile.Header, _ *checkpointfile.Checkpoint) { h.ClusterID = "elsewhere" }, "has offsets of cluster elsewhere"},
		"another topic": {func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) {
			c.Topics = []checkpointfile.CheckpointTopic{{Name: b.f.Topic, ID: "AAAAAAAAAAAAAAAAAAAAAA"}}
		}, "another topic of the same name"},
		"another sink":     {func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) { c.Sink.Kind = "files" }, "its records went to files"},
		"past the log end": {func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) { c.Partitions[0].Offset = 11 }, "past the log end 10"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := b.config(t)
			b.write(t, cfg, 4, c.edit)
			got, _, err := b.run(t, cfg)
			var e *consume.Error
			if !errors.As(err, &e) || e.Kind != consume.Refused || !strings.Contains(err.Error(), c.says) || len(got) > 0 {
				t.Errorf("%v, got %v", err, got)
			}
		})
	}
}

// A job that has checkpoints is told whether to continue from them; ids go on from those that are there.
func TestRestoreWantsAWord(t *testing.T) {
	b := newRestoreBed(t)
	cfg := b.config(t)
	path := b.write(t, cfg, 4, nil)
	cfg.Checkpoints.Restore = ""
	_, _, err := b.run(t, cfg)
	var e *consume.Error
	if !errors.As(err, &e) || e.Kind != consume.Usage || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	cfg.Checkpoints.Restore, cfg.Group, cfg.End = consume.RestoreNone, "none", consume.End{MaxRecords: 1 << 40}
	ctx, cancel := context.WithCancelCause(t.Context())
	sink := &collector{}
	cfg.Sink = sink
	go func() { <-sink.until(26); cancel(consume.ErrSuspended) }()
	if _, err := consume.Run(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	if c, _ := newest(t, cfg); c.ID != 6 {
		t.Errorf("the newest is chk-%d, want 6: ids go on from 4, and there were two", c.ID)
	}
}

// What a run went on from is its own, and goes as newer ones come; others of the job are set aside.
func TestRestoreKeepsAndRemoves(t *testing.T) {
	b := newRestoreBed(t)
	cfg := b.config(t)
	cfg.Checkpoints.Retained, cfg.Checkpoints.Interval, cfg.End = 2, tick, consume.End{}
	for id := range int64(4) {
		b.write(t, cfg, id, nil)
	}
	ids := func() (out []int64) {
		refs, err := checkpointfile.ListCheckpoints(checkpointfile.JobDir(cfg.Checkpoints.Dir, "j"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range refs {
			out = append(out, r.ID)
		}
		return out
	}
	aside := func(id int64) bool {
		_, _, err := checkpointfile.ReadCheckpoint(filepath.Join(checkpointfile.JobDir(cfg.Checkpoints.Dir, "j"), "abandoned-"+checkpointfile.CheckpointName(id)))
		return err == nil
	}
	// Restored from 2: 0, 1 and 2 are the run's own now and go as newer ones come; 3 is set aside.
	cfg.Checkpoints.Restore = filepath.Join(checkpointfile.JobDir(cfg.Checkpoints.Dir, "j"), "chk-2")
	ctx, cancel := context.WithCancelCause(t.Context())
	sink := &collector{}
	cfg.Sink = sink
	go func() { <-sink.until(17); cancel(consume.ErrSuspended) }()
	if _, err := consume.Run(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	got := ids()
	if len(got) != 2 || got[0] < 4 || !aside(3) {
		t.Errorf("kept %v, want two of its own; 3 is set aside: %v", got, aside(3))
	}
	// A finish removes what it went on from, and nothing else.
	cfg.Checkpoints.RestoreWith = consume.RestoreNew
	cfg.Checkpoints.Restore, cfg.End, cfg.Sink = consume.RestoreLatest, until(t, "latest"), &collector{}
	cfg.Checkpoints.Interval = time.Hour
	// The end of a restored run is the checkpoint's; this one had none.
	if _, err := consume.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if got := ids(); len(got) != 0 {
		t.Errorf("left %v after a finish", got)
	}
	b.write(t, cfg, 9, nil)
	cfg.Checkpoints.Restore, cfg.Sink = consume.RestoreNone, &collector{}
	if _, err := consume.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if got := ids(); len(got) != 0 || !aside(9) {
		t.Errorf("a run that did not go on from 9 left %v; 9 is set aside: %v", got, aside(9))
	}
}

// A checkpoint that is cut off is named, and the one before it offered.
func TestRestoreTorn(t *testing.T) {
	b := newRestoreBed(t)
	cfg := b.config(t)
	before := b.write(t, cfg, 4, nil)
	path := b.write(t, cfg, 5, nil)
	file := filepath.Join(path, checkpointfile.MetadataFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = b.run(t, cfg)
	var e *consume.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), file) || !strings.Contains(e.Hint, before) {
		t.Errorf("%v (hint %q), want %s named and %s offered", err, e.Hint, file, before)
	}
}

// Two processes never run one job.
func TestRestoreLocked(t *testing.T) {
	b := newRestoreBed(t)
	cfg := b.config(t)
	cfg.End = consume.End{}
	e, err := consume.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := consume.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "another process runs this job") {
		t.Errorf("a second run of the job: %v", err)
	}
}

// A bounded run that is stopped keeps its end: it was resolved once.
func TestRestoreKeepsTheEnd(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "bound", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("bound", 0, 10, 1000, 1)...)
	sink := &collector{}
	cfg := job(t, cl, sink, "bound")
	cfg.End, cfg.Rate = until(t, "latest"), consume.Rate{Records: 20}
	b := start(t, cfg)
	b.reach(t, sink.until(3))
	b.stop(nil)
	b.wait(t)
	kafkatest.Produce(t, cl, kafkatest.Records("bound", 0, 10, 2000, 1)...)
	rest := &collector{}
	cfg.Sink, cfg.Rate, cfg.Checkpoints.Restore = rest, consume.Rate{}, consume.RestoreLatest
	sum, err := consume.Run(t.Context(), cfg)
	if got := all(sink.sorted(), rest.sorted()); err != nil || sum.Ended != consume.Finished || !slices.Equal(got, span("bound", 0, 0, 10)) {
		t.Errorf("%v %s: %v", err, sum.Ended, got)
	}
}
