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

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
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
