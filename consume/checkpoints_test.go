package consume_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

const tick = 20 * time.Millisecond // between checkpoints in tests

// job is a configuration with checkpoints in a folder.
func job(t *testing.T, cl *kgo.Client, sink consume.Sink, topic string) consume.Config {
	return consume.Config{Client: cl, Topics: topics(topic), Sink: sink, Group: "g", Start: from(t, "earliest"),
		Checkpoints: consume.Checkpoints{Interval: tick, Dir: t.TempDir(), Job: "j"}}
}

func newest(t *testing.T, cfg consume.Config) (checkpointfile.Checkpoint, bool) {
	t.Helper()
	refs, err := checkpointfile.ListCheckpoints(checkpointfile.JobDir(cfg.Checkpoints.Dir, cfg.Checkpoints.Job))
	if err != nil {
		t.Fatal(err)
	}
	for i := len(refs) - 1; i >= 0; i-- {
		c, _, err := checkpointfile.ReadCheckpoint(refs[i].Path)
		if err == nil {
			return c, true
		}
		if !errors.Is(err, os.ErrNotExist) { // removed in between: there is a newer one
			t.Fatal(err)
		}
	}
	return checkpointfile.Checkpoint{}, false
}

func offsets(c checkpointfile.Checkpoint) []int64 {
	var out []int64
	for _, p := range c.Partitions {
		out = append(out, p.Offset)
	}
	return out
}

// "latest" becomes a number in chk-0, before the first record; idle partitions keep it over a restore, and a partition
// that is found late is read from its log start.
func TestLatestIsANumber(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "c34", 3)
	sink := &collector{}
	cfg := job(t, cl, sink, "c34")
	cfg.Start, cfg.Checkpoints.Interval = from(t, "latest"), time.Hour
	opened := make(chan struct{})
	b := start(t, cfg)
	go func() {
		for {
			if _, ok := newest(t, cfg); ok {
				close(opened)
				return
			}
			select {
			case <-t.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	b.reach(t, opened)
	if c, _ := newest(t, cfg); c.ID != 0 || !slices.Equal(offsets(c), []int64{0, 0, 0}) {
		t.Fatalf("chk-%d holds %v, want chk-0 with 0 0 0", c.ID, offsets(c))
	}
	kafkatest.Produce(t, cl, kafkatest.Record("c34", 0, 1000, "a"), kafkatest.Record("c34", 1, 1000, "a"))
	b.reach(t, sink.until(2))
	b.stop(consume.ErrSuspended)
	b.wait(t)
	if b.err != nil || b.sum.Ended != consume.Suspended || b.sum.Kept == "" {
		t.Fatalf("%v %+v", b.err, b.sum)
	}
	kafkatest.Produce(t, cl, kafkatest.Record("c34", 0, 2000, "b"), kafkatest.Record("c34", 1, 2000, "b"), kafkatest.Record("c34", 2, 2000, "b"))
	again := &collector{}
	cfg.Sink, cfg.Checkpoints.Restore, cfg.Discovery = again, consume.RestoreLatest, 30*time.Millisecond
	b = start(t, cfg)
	b.reach(t, again.until(3))
	grow(t, cl, "c34", 4)
	kafkatest.Produce(t, cl, kafkatest.Records("c34", 3, 5, 3000, 1)...)
	b.reach(t, again.until(8))
	b.stop(nil)
	b.wait(t)
	if got, want := again.sorted(), all(span("c34", 0, 1, 2), span("c34", 1, 1, 2), span("c34", 2, 0, 1), span("c34", 3, 0, 5)); b.err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: got %v, want %v", b.err, got, want)
	}
}

// The group's commit is the last completed checkpoint's offsets, exactly; auto-commit beside it is ignored, and said.
func TestCommitsOnCheckpoint(t *testing.T) {
	_, cl := fake(t)
	testCommitsOnCheckpoint(t, cl)
}

func testCommitsOnCheckpoint(t *testing.T, cl *kgo.Client) {
	kafkatest.CreateTopic(t, cl, "c36", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("c36", 0, 100, 1000, 1)...)
	sink, said := &collector{}, &notes{}
	cfg := job(t, cl, sink, "c36")
	cfg.Commit.Auto, cfg.Notify = true, said.add
	var images int
	cfg.BeforeCommit = func(_ context.Context, b []consume.Before) error {
		images++
		if len(b) != 1 || b[0].Committed != nil {
			t.Errorf("before-image %+v", b)
		}
		return nil
	}
	b := start(t, cfg)
	b.reach(t, sink.until(100))
	kafkatest.Until(t, "all is committed", func() bool { return kafkatest.CommittedOffsets(t, cl, "g", "c36")[0] == 100 })
	b.stop(nil)
	b.wait(t)
	if b.err != nil || images != 1 {
		t.Fatalf("%v, %d before-images", b.err, images)
	}
	if !said.has("enable.auto.commit is ignored") || !said.has("checkpoints are on, every 20ms") {
		t.Errorf("not said: %s", said.text())
	}
	if c, _ := newest(t, cfg); c.Partitions[0].Offset != 100 || c.Final != "cancelled" || c.Records != 100 || c.Group != "g" {
		t.Errorf("last checkpoint %+v", c)
	}
}

// A failing checkpoint store commits nothing, and ends the run after the tolerable number.
func TestCheckpointsFail(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "c36e", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("c36e", 0, 10, 1000, 1)...)
	lines := 0
	sink := &collector{}
	sink.atLine = func(b consume.Barrier) (consume.Persist, error) {
		lines++
		return func(context.Context) (json.RawMessage, error) {
			if b.ID == 0 {
				return nil, nil
			}
			return nil, errors.New("the disk is full")
		}, nil
	}
	cfg := job(t, cl, sink, "c36e")
	cfg.Checkpoints.Tolerable = 2
	b := start(t, cfg)
	b.wait(t)
	var e *consume.Error
	if !errors.As(b.err, &e) || e.Kind != consume.Failed || !strings.Contains(b.err.Error(), "3 checkpoints failed") || !strings.Contains(b.err.Error(), "the disk is full") {
		t.Fatalf("ended with %v", b.err)
	}
	if got := kafkatest.CommittedOffsets(t, cl, "g", "c36e"); len(got) != 0 {
		t.Errorf("committed %v, want nothing: no checkpoint completed", got)
	}
	if c, ok := newest(t, cfg); !ok || c.ID != 0 {
		t.Errorf("chk-0 must be kept after a failure: %v %v", ok, c.ID)
	}
	if b.sum.Stats.Checkpoints.Failed != 3 || lines != 4 {
		t.Errorf("%d failed, %d lines drawn", b.sum.Stats.Checkpoints.Failed, lines)
	}
}

// Past its timeout a checkpoint is dropped: its late end is ignored, its files are gone, nothing of it is committed.
func TestCheckpointTimeout(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "slow", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("slow", 0, 10, 1000, 1)...)
	release, late := make(chan struct{}), make(chan struct{})
	sink, said := &collector{}, &notes{}
	sink.atLine = func(b consume.Barrier) (consume.Persist, error) {
		return func(context.Context) (json.RawMessage, error) {
			if b.ID == 1 {
				<-release
				defer close(late)
			}
			return nil, nil
		}, nil
	}
	cfg := job(t, cl, sink, "slow")
	cfg.Notify, cfg.Checkpoints.Timeout, cfg.Checkpoints.Tolerable = said.add, 1500*time.Millisecond, 1
	b := start(t, cfg)
	kafkatest.Until(t, "the slow one is dropped and a later one completes", func() bool {
		c, _ := newest(t, cfg)
		return said.has("checkpoint 1 was dropped") && c.ID >= 2
	})
	close(release)
	<-late
	kafkatest.Until(t, "later ones go on", func() bool { c, _ := newest(t, cfg); return c.ID >= 4 })
	if _, err := os.Stat(filepath.Join(cfg.Checkpoints.Dir, "j", "chk-1")); err == nil {
		t.Error("the dropped checkpoint is on disk")
	}
	b.stop(nil)
	b.wait(t)
	if b.err != nil || b.sum.Stats.Checkpoints.Dropped != 1 {
		t.Errorf("%v, dropped %d", b.err, b.sum.Stats.Checkpoints.Dropped)
	}
}

func TestRetention(t *testing.T) {
	_, cl := fake(t)
	testRetention(t, cl)
}

func testRetention(t *testing.T, cl *kgo.Client) {
	kafkatest.CreateTopic(t, cl, "keep", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("keep", 0, 10, 1000, 1)...)
	for _, c := range []struct {
		retention consume.Retention
		how       string
		kept      bool
	}{
		{consume.RetainOnCancellation, "cancel", true},
		{consume.DeleteOnCancellation, "cancel", false},
		{consume.NoExternalized, "cancel", false},
		{consume.RetainOnCancellation, "suspend", true},
		{consume.DeleteOnCancellation, "suspend", true},
		{consume.NoExternalized, "suspend", true},
		{consume.RetainOnCancellation, "fail", true},
		{consume.DeleteOnCancellation, "fail", true},
		{consume.NoExternalized, "fail", false},
		{consume.RetainOnCancellation, "finish", false},
	} {
		t.Run(string(c.retention)+" "+c.how, func(t *testing.T) {
			t.Parallel()
			sink := &collector{}
			broken := errors.New("broken")
			cfg := job(t, cl, sink, "keep")
			cfg.Group, cfg.Checkpoints.Retention, cfg.Checkpoints.Retained = "keep-"+c.how+string(c.retention), c.retention, 3
			if c.how == "fail" {
				sink.write = func(b consume.Batch) error { return broken }
			}
			if c.how == "finish" {
				cfg.End = until(t, "latest")
			}
			b := start(t, cfg)
			switch c.how {
			case "cancel", "suspend":
				b.reach(t, sink.until(10))
				cause := error(nil)
				if c.how == "suspend" {
					cause = consume.ErrSuspended
				}
				b.stop(cause)
			}
			b.wait(t)
			if (c.how == "fail") != errors.Is(b.err, broken) {
				t.Fatalf("ended with %v", b.err)
			}
			k, ok := newest(t, cfg)
			if ok != c.kept || (b.sum.Kept != "") != c.kept {
				t.Errorf("kept %v (%q), want %v", ok, b.sum.Kept, c.kept)
			}
			if c.kept && c.how != "fail" && k.Partitions[0].Offset != 10 {
				t.Errorf("the last checkpoint holds %d, want 10", k.Partitions[0].Offset)
			}
			if c.how != "fail" {
				if got := kafkatest.CommittedOffsets(t, cl, cfg.Group, "keep")[0]; got != 10 {
					t.Errorf("committed %d, want 10", got)
				}
			}
		})
	}
}

func TestRestore(t *testing.T) {
	_, cl := fake(t)
	f := kafkatest.F1(t, cl, "")
	write := func(t *testing.T, cfg consume.Config, id int64, edit func(*checkpointfile.Header, *checkpointfile.Checkpoint)) string {
		t.Helper()
		h := checkpointfile.Header{CreatedAt: time.Now()}
		c := checkpointfile.Checkpoint{Job: "j", ID: id, Group: "g", Isolation: "read_committed", Sink: checkpointfile.CheckpointSink{Kind: "test"},
			Partitions: []checkpointfile.CheckpointPartition{{Topic: f.Topic, Partition: 0, Offset: 6}, {Topic: f.Topic, Partition: 1, Offset: 7}}}
		if edit != nil {
			edit(&h, &c)
		}
		dir := checkpointfile.JobDir(cfg.Checkpoints.Dir, "j")
		if _, err := checkpointfile.WriteCheckpoint(dir, &h, c); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, checkpointfile.CheckpointName(id))
	}
	run := func(cfg consume.Config) ([]string, *notes, error) {
		sink, said := &collector{}, &notes{}
		cfg.Sink, cfg.Notify = sink, said.add
		_, err := consume.Run(t.Context(), cfg)
		return sink.sorted(), said, err
	}
	restoring := func(t *testing.T) consume.Config {
		cfg := job(t, cl, &collector{}, f.Topic)
		cfg.End, cfg.Checkpoints.Restore, cfg.Checkpoints.Interval = until(t, "latest"), consume.RestoreLatest, time.Hour
		cfg.Commit.NotOnCheckpoint = true
		return cfg
	}
	t.Run("state beats the start mode and the group", func(t *testing.T) {
		cfg := restoring(t)
		cfg.Group = f.App
		write(t, cfg, 4, nil)
		got, said, err := run(cfg)
		if want := all(span(f.Topic, 0, 6, 10), span(f.Topic, 1, 7, 10), span(f.Topic, 2, 0, 10)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
		if !said.has("the start earliest-offset and the group's commits are not used") {
			t.Errorf("not said: %s", said.text())
		}
	})
	t.Run("expired", func(t *testing.T) {
		cfg := restoring(t)
		cfg.Start = from(t, "latest")
		write(t, cfg, 4, func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) { c.Partitions[0].Offset = 2 })
		got, _, err := run(cfg)
		if err == nil || len(got) > 0 || !strings.Contains(err.Error(), "the restored offset 2 is below log start 4: 2 offsets are lost") {
			t.Fatalf("%v, got %v", err, got)
		}
		cfg.Policies.IfExpired = offset.IfExpiredEarliest
		if got, _, err = run(cfg); err != nil || got[0] != f.Topic+":0@4" {
			t.Errorf("with a policy: %v, %v", err, got)
		}
	})
	for name, c := range map[string]struct {
		edit func(*checkpointfile.Header, *checkpointfile.Checkpoint)
		says string
	}{
		"another cluster": {func(h *checkpointfile.Header, _ *checkpointfile.Checkpoint) { h.ClusterID = "elsewhere" }, "has offsets of cluster elsewhere"},
		"another topic": {func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) {
			c.Topics = []checkpointfile.CheckpointTopic{{Name: f.Topic, ID: "AAAAAAAAAAAAAAAAAAAAAA"}}
		}, "another topic of the same name"},
		"another sink":     {func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) { c.Sink.Kind = "files" }, "its records went to files"},
		"past the log end": {func(_ *checkpointfile.Header, c *checkpointfile.Checkpoint) { c.Partitions[0].Offset = 11 }, "past the log end 10"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := restoring(t)
			write(t, cfg, 4, c.edit)
			got, _, err := run(cfg)
			var e *consume.Error
			if !errors.As(err, &e) || e.Kind != consume.Refused || !strings.Contains(err.Error(), c.says) || len(got) > 0 {
				t.Errorf("%v, got %v", err, got)
			}
		})
	}
	t.Run("a job that holds checkpoints wants a word", func(t *testing.T) {
		cfg := restoring(t)
		path := write(t, cfg, 4, nil)
		cfg.Checkpoints.Restore = ""
		_, _, err := run(cfg)
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
	})
	t.Run("what is kept and removed", func(t *testing.T) {
		cfg := restoring(t)
		cfg.Checkpoints.Retained, cfg.Checkpoints.Interval, cfg.End = 2, tick, consume.End{}
		for id := range int64(4) {
			write(t, cfg, id, nil)
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
		write(t, cfg, 9, nil)
		cfg.Checkpoints.Restore, cfg.Sink = consume.RestoreNone, &collector{}
		if _, err := consume.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := ids(); len(got) != 0 || !aside(9) {
			t.Errorf("a run that did not go on from 9 left %v; 9 is set aside: %v", got, aside(9))
		}
	})
	t.Run("nothing to restore uses the start mode", func(t *testing.T) {
		got, said, err := run(restoring(t))
		if err != nil || len(got) != 26 || !said.has("has no checkpoint yet") {
			t.Errorf("%v, %d records, said %s", err, len(got), said.text())
		}
	})
	t.Run("torn", func(t *testing.T) {
		cfg := restoring(t)
		before := write(t, cfg, 4, nil)
		path := write(t, cfg, 5, nil)
		file := filepath.Join(path, checkpointfile.MetadataFile)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data[:len(data)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err = run(cfg)
		var e *consume.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), file) || !strings.Contains(e.Hint, before) {
			t.Errorf("%v (hint %q), want %s named and %s offered", err, e.Hint, file, before)
		}
	})
	t.Run("locked", func(t *testing.T) {
		cfg := restoring(t)
		cfg.End = consume.End{}
		e, err := consume.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := consume.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "another process runs this job") {
			t.Errorf("a second run of the job: %v", err)
		}
	})
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

func TestAutoCommit(t *testing.T) {
	c, cl := fake(t)
	testAutoCommit(t, c, cl)
}

// c is nil for a real broker, which answers no faults on request.
func testAutoCommit(t *testing.T, c *kfake.Cluster, cl *kgo.Client) {
	kafkatest.CreateTopic(t, cl, "auto", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("auto", 0, 10, 1000, 1)...)
	base := consume.Config{Client: cl, Topics: topics("auto"), Start: from(t, "earliest")}
	t.Run("on", func(t *testing.T) {
		sink := &collector{}
		cfg := base
		cfg.Sink, cfg.Group, cfg.Commit = sink, "auto-on", consume.Commit{Auto: true, Interval: tick}
		b := start(t, cfg)
		kafkatest.Until(t, "it is committed while it runs", func() bool { return kafkatest.CommittedOffsets(t, cl, "auto-on", "auto")[0] == 10 })
		b.stop(nil)
		b.wait(t)
		if b.err != nil {
			t.Error(b.err)
		}
	})
	t.Run("never ahead of the sink", func(t *testing.T) {
		block, blocked := make(chan struct{}), make(chan struct{})
		sink := &collector{write: func(consume.Batch) error { close(blocked); <-block; return errors.New("refused") }}
		cfg := base
		cfg.Sink, cfg.Group, cfg.Commit = sink, "auto-slow", consume.Commit{Auto: true, Interval: minInterval}
		b := start(t, cfg)
		b.reach(t, blocked)
		close(block)
		b.wait(t)
		if got, ok := kafkatest.CommittedOffsets(t, cl, "auto-slow", "auto")[0]; ok && got > 0 {
			t.Errorf("committed %d, though the sink accepted nothing", got)
		}
	})
	t.Run("off", func(t *testing.T) {
		sink, said := &collector{}, &notes{}
		cfg := base
		cfg.Sink, cfg.Group, cfg.Notify, cfg.End = sink, "auto-off", said.add, until(t, "latest")
		if _, err := consume.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := kafkatest.CommittedOffsets(t, cl, "auto-off", "auto"); len(got) > 0 {
			t.Errorf("committed %v", got)
		}
		if !said.has("nothing is committed") {
			t.Errorf("not said: %s", said.text())
		}
	})
	if c == nil {
		return
	}
	t.Run("a failed commit is tried again", func(t *testing.T) {
		h := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: "auto-retry", Err: kerr.UnknownServerError, Count: 2})
		defer h.Remove()
		sink, said := &collector{}, &notes{}
		cfg := base
		cfg.Sink, cfg.Group, cfg.Notify, cfg.Commit = sink, "auto-retry", said.add, consume.Commit{Auto: true, Interval: tick}
		b := start(t, cfg)
		kafkatest.Until(t, "a later one succeeds", func() bool { return kafkatest.CommittedOffsets(t, cl, "auto-retry", "auto")[0] == 10 })
		b.stop(nil)
		b.wait(t)
		if s := b.sum.Stats; b.err != nil || s.CommitsFailed != 2 || s.CommitsSucceeded == 0 || !said.has("the next one tries again") {
			t.Errorf("%v, %d failed, %d succeeded: %s", b.err, s.CommitsFailed, s.CommitsSucceeded, said.text())
		}
	})
}

const minInterval = 10 * time.Millisecond

func TestForeignCommits(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "foreign", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("foreign", 0, 20, 1000, 1)...)
	cfg := consume.Config{Client: cl, Topics: topics("foreign"), Start: from(t, "earliest"), Commit: consume.Commit{Auto: true, Interval: tick}}
	for _, c := range []struct {
		name   string
		theirs int64
		fail   bool
		end    int64
		says   string
	}{
		{"behind us is told and overwritten", 3, false, 20, "holds 3, this run left 20 and is at 20"},
		{"ahead of us is left", 25, false, 25, "would go backwards"},
		{"fails when asked to", 3, true, 3, "another client commits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			group := strings.ReplaceAll(c.name, " ", "-")
			sink, said := &collector{}, &notes{}
			cfg := cfg
			cfg.Sink, cfg.Group, cfg.Notify, cfg.Policies.FailOnForeign = sink, group, said.add, c.fail
			b := start(t, cfg)
			kafkatest.Until(t, "the run has committed", func() bool { return kafkatest.CommittedOffsets(t, cl, group, "foreign")[0] == 20 })
			// Between its look and its commit the run can miss one, as everybody can: so again until it is noticed.
			kafkatest.Until(t, "it is noticed", func() bool {
				select {
				case <-b.done:
					return true
				default:
				}
				if !c.fail && said.has(c.says) {
					return true
				}
				kafkatest.Commit(t, cl, group, kafkatest.At("foreign", 0, c.theirs))
				return false
			})
			if c.fail {
				b.wait(t)
				if b.err == nil || !strings.Contains(b.err.Error(), c.says) {
					t.Errorf("ended with %v", b.err)
				}
			} else {
				kafkatest.Until(t, "the group holds what it should", func() bool { return kafkatest.CommittedOffsets(t, cl, group, "foreign")[0] == c.end })
				b.stop(nil)
				b.wait(t)
			}
			if b.sum.Stats.ForeignCommits == 0 {
				t.Error("not counted")
			}
			if got := kafkatest.CommittedOffsets(t, cl, group, "foreign")[0]; got != c.end {
				t.Errorf("the group holds %d, want %d", got, c.end)
			}
		})
	}
}
