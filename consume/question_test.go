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

// asking is a job on a topic of three partitions of 20 records each.
func asking(t *testing.T, cl *kgo.Client, topic string) consume.Config {
	kafkatest.CreateTopic(t, cl, topic, 3)
	for p := range int32(3) {
		kafkatest.Produce(t, cl, kafkatest.Records(topic, p, 20, 1000, 1)...)
	}
	cfg := job(t, cl, &collector{}, topic)
	cfg.Checkpoints.Interval, cfg.Group = time.Hour, ""
	return cfg
}

// until stops a run after n records with a suspension, and returns what it read.
func suspendAfter(t *testing.T, cfg consume.Config, n int) []string {
	t.Helper()
	sink := &collector{}
	cfg.Sink = sink
	cfg.End.MaxRecords = int64(n)
	if _, err := consume.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return sink.sorted()
}

func readAll(t *testing.T, cfg consume.Config) ([]string, consume.Summary, error) {
	t.Helper()
	sink := &collector{}
	cfg.Sink = sink
	sum, err := consume.Run(t.Context(), cfg)
	return sink.sorted(), sum, err
}

func ranges(t *testing.T, texts ...string) consume.End {
	t.Helper()
	var e consume.End
	for _, s := range texts {
		r, err := consume.ParseRange(s)
		if err != nil {
			t.Fatal(err)
		}
		e.Ranges = append(e.Ranges, r)
	}
	return e
}

func TestRestoreRefusesAnotherQuestion(t *testing.T) {
	_, cl := fake(t)
	testRestoreRefuses(t, cl, "asked")
}

// Every kind of changed question is refused, with both sides named; nothing is read, and the checkpoint stays.
func testRestoreRefuses(t *testing.T, cl *kgo.Client, topic string) {
	base, beside := asking(t, cl, topic), topic+"-beside"
	kafkatest.CreateTopic(t, cl, beside, 1)
	noTopics := func(c *consume.Config) { c.Topics, c.Start = nil, consume.Start{} }
	for name, c := range map[string]struct {
		then, now func(*consume.Config)
		says      []string
	}{
		"fewer partitions": {func(*consume.Config) {}, func(c *consume.Config) { c.Topics[0].Partitions = []int32{0} }, []string{"then " + topic, "now " + topic + ":0"}},
		"another topic":    {func(*consume.Config) {}, func(c *consume.Config) { c.Topics = topics(topic, beside) }, []string{"then " + topic + ",", "now " + topic + ", " + beside}},
		"no end any more":  {func(c *consume.Config) { c.End = until(t, "latest") }, func(*consume.Config) {}, []string{"end: then latest, now none"}},
		"another end":      {func(c *consume.Config) { c.End = until(t, "15") }, func(c *consume.Config) { c.End = until(t, "12") }, []string{"end: then 15, now 12"}},
		"another range": {func(c *consume.Config) { noTopics(c); c.End = ranges(t, topic+":0=0:20") }, func(c *consume.Config) { noTopics(c); c.End = ranges(t, topic+":1=5:8") },
			[]string{"then " + topic + ":0=0:20", "now " + topic + ":1=5:8"}},
		"another part": {func(c *consume.Config) {
			noTopics(c)
			c.End = ranges(t, topic+":0=0:10")
			c.End.Part = "part 1 of 2 of work"
		},
			func(c *consume.Config) {
				noTopics(c)
				c.End = ranges(t, topic+":0=10:20")
				c.End.Part = "part 2 of 2 of work"
			}, []string{"(part 1 of 2 of work)", "(part 2 of 2 of work)"}},
		"ranges instead of a topic": {func(*consume.Config) {}, func(c *consume.Config) { noTopics(c); c.End = ranges(t, topic+":0=0:20") }, []string{"topics: then " + topic + ", now none", "now " + topic + ":0=0:20"}},
		"another limit":             {func(c *consume.Config) { c.End.JobRecords = 50 }, func(c *consume.Config) { c.End.JobRecords = 40 }, []string{"records of the job: then 50, now 40"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := base
			cfg.Topics, cfg.Checkpoints.Dir = topics(topic), t.TempDir()
			c.then(&cfg)
			suspendAfter(t, cfg, 5)
			again := base
			again.Topics, again.Checkpoints.Dir, again.Checkpoints.Restore = topics(topic), cfg.Checkpoints.Dir, consume.RestoreLatest
			c.now(&again)
			got, _, err := readAll(t, again)
			var e *consume.Error
			if !errors.As(err, &e) || e.Kind != consume.Refused || len(got) > 0 {
				t.Fatalf("%v, read %v", err, got)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
			if _, there := newest(t, cfg); !there {
				t.Error("the checkpoint is gone")
			}
		})
	}
}

func TestRestoreSameQuestion(t *testing.T) {
	_, cl := fake(t)
	testRestoreSame(t, cl, "same")
}

// The same question is none to ask about, however it is written; a relative time is the same an hour later.
func testRestoreSame(t *testing.T, cl *kgo.Client, topic string) {
	cfg := asking(t, cl, topic)
	cfg.Topics, cfg.End = []offset.TopicSpec{{Topic: topic, Partitions: []int32{2, 0}}}, until(t, "@-1s")
	first := suspendAfter(t, cfg, 7)
	cfg.Topics, cfg.End, cfg.Checkpoints.Restore = []offset.TopicSpec{{Topic: topic, Partitions: []int32{0, 2}}}, until(t, "@-1s"), consume.RestoreLatest
	rest, sum, err := readAll(t, cfg)
	if got := all(first, rest); err != nil || sum.Ended != consume.Finished || !slices.Equal(got, all(span(topic, 0, 0, 20), span(topic, 2, 0, 20))) {
		t.Errorf("%v: %v", err, got)
	}
}

func TestRestoreWith(t *testing.T) {
	_, cl := fake(t)
	testRestoreWith(t, cl, "with")
}

// Told so, a restore reads what the checkpoint's run was asked, or what it is asked itself.
func testRestoreWith(t *testing.T, cl *kgo.Client, topic string) {
	base := asking(t, cl, topic)
	bounded := func(c *consume.Config, with consume.RestoreWith, texts ...string) {
		c.Topics, c.Start, c.End = nil, consume.Start{}, ranges(t, texts...)
		c.Checkpoints.RestoreWith = with
	}
	fresh := func(t *testing.T) consume.Config {
		cfg := base
		cfg.Topics, cfg.Checkpoints.Dir = topics(topic), t.TempDir()
		return cfg
	}
	t.Run("old range", func(t *testing.T) {
		cfg := fresh(t)
		bounded(&cfg, "", topic+":0=0:10")
		suspendAfter(t, cfg, 4)
		bounded(&cfg, consume.RestoreOld, topic+":0=10:20")
		cfg.Checkpoints.Restore = consume.RestoreLatest
		if got, sum, err := readAll(t, cfg); err != nil || sum.Ended != consume.Finished || !slices.Equal(got, span(topic, 0, 4, 10)) {
			t.Errorf("%v: %v", err, got)
		}
	})
	t.Run("new range", func(t *testing.T) {
		cfg := fresh(t)
		bounded(&cfg, "", topic+":0=0:10", topic+":1=0:10")
		suspendAfter(t, cfg, 20-3)
		bounded(&cfg, consume.RestoreNew, topic+":0=10:20", topic+":2=5:8")
		cfg.Checkpoints.Restore = consume.RestoreLatest
		if got, sum, err := readAll(t, cfg); err != nil || sum.Ended != consume.Finished || !slices.Equal(got, all(span(topic, 0, 10, 20), span(topic, 2, 5, 8))) {
			t.Errorf("%v: %v", err, got)
		}
	})
	t.Run("fewer partitions for a while", func(t *testing.T) {
		cfg := fresh(t)
		first := suspendAfter(t, cfg, 12)
		cfg.Checkpoints.Restore, cfg.Checkpoints.RestoreWith, cfg.Topics[0].Partitions = consume.RestoreLatest, consume.RestoreNew, []int32{0}
		left := 20
		for _, r := range first {
			if strings.HasPrefix(r, topic+":0@") {
				left--
			}
		}
		second := suspendAfter(t, cfg, min(3, left))
		if c, _ := newest(t, cfg); len(c.Partitions) != 3 {
			t.Errorf("the checkpoint holds %d partitions, want all three", len(c.Partitions))
		}
		cfg.Topics, cfg.End = topics(topic), until(t, "latest")
		third, _, err := readAll(t, cfg)
		if got := all(first, second, third); err != nil || !slices.Equal(got, all(span(topic, 0, 0, 20), span(topic, 1, 0, 20), span(topic, 2, 0, 20))) {
			t.Errorf("%v: %d records, want each of 60 once: %v", err, len(got), got)
		}
	})
	t.Run("an older checkpoint does not say", func(t *testing.T) {
		cfg := fresh(t)
		suspendAfter(t, cfg, 5)
		c, _ := newest(t, cfg)
		c.Asked, c.ID = nil, c.ID+1
		h := checkpointfile.Header{CreatedAt: time.Now()}
		if _, err := checkpointfile.WriteCheckpoint(checkpointfile.JobDir(cfg.Checkpoints.Dir, "j"), &h, c); err != nil {
			t.Fatal(err)
		}
		said := &notes{}
		cfg.Checkpoints.Restore, cfg.End, cfg.Notify = consume.RestoreLatest, until(t, "latest"), said.add
		got, _, err := readAll(t, cfg)
		if err != nil || len(got) != 55 || !said.has("does not say what its run was asked") {
			t.Errorf("%v, %d records: %s", err, len(got), said.text())
		}
	})
}

func TestRecordLimits(t *testing.T) {
	_, cl := fake(t)
	testRecordLimits(t, cl, "limits")
}

// A limit counts from this run, or from the job's begin, by its name; one that is reached already is refused.
func testRecordLimits(t *testing.T, cl *kgo.Client, topic string) {
	cfg := asking(t, cl, topic)
	seen := suspendAfter(t, cfg, 8)
	cfg.Checkpoints.Restore = consume.RestoreLatest
	for range 2 {
		got := suspendAfter(t, cfg, 5)
		if len(got) != 5 {
			t.Fatalf("a run of 5 read %d", len(got))
		}
		seen = append(seen, got...)
	}
	slices.Sort(seen)
	if n := len(slices.Compact(seen)); n != 18 {
		t.Errorf("%d different records, want 18", n)
	}
	cfg.Checkpoints.RestoreWith = consume.RestoreNew
	cfg.End = consume.End{JobRecords: 18}
	_, _, err := readAll(t, cfg)
	var e *consume.Error
	if !errors.As(err, &e) || e.Kind != consume.Refused || !strings.Contains(err.Error(), "delivered 18 records already, and is to deliver 18") {
		t.Fatalf("%v", err)
	}
	cfg.End.JobRecords = 25
	got, sum, err := readAll(t, cfg)
	if err != nil || len(got) != 7 || sum.Ended != consume.Finished || sum.Kept != "" {
		t.Errorf("%v, %d records, %+v", err, len(got), sum)
	}
}

func TestBranchWins(t *testing.T) {
	_, cl := fake(t)
	testBranchWins(t, cl, "branch-")
}

// A run that goes back to an older checkpoint begins a branch: whatever happens next, the newest is never the old branch's.
func testBranchWins(t *testing.T, cl *kgo.Client, prefix string) {
	for _, how := range []string{"crash", "finish", "elsewhere"} {
		t.Run(how, func(t *testing.T) {
			cfg := asking(t, cl, prefix+how)
			cfg.Checkpoints.Retained, cfg.Checkpoints.RestoreWith = 5, consume.RestoreNew
			suspendAfter(t, cfg, 5)
			old, _ := newest(t, cfg)
			dir := checkpointfile.JobDir(cfg.Checkpoints.Dir, "j")
			path := filepath.Join(dir, checkpointfile.CheckpointName(old.ID))
			cfg.Checkpoints.Restore = consume.RestoreLatest
			suspendAfter(t, cfg, 30)
			if how == "elsewhere" {
				data, err := os.ReadFile(filepath.Join(path, checkpointfile.MetadataFile))
				if err != nil {
					t.Fatal(err)
				}
				path = filepath.Join(t.TempDir(), "copy")
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cfg.Checkpoints.Restore = path
			if how == "finish" {
				cfg.End = until(t, "latest")
				if got, _, err := readAll(t, cfg); err != nil || len(got) != 55 {
					t.Fatalf("%v, %d records", err, len(got))
				}
				if c, there := newest(t, cfg); there {
					t.Errorf("after the branch's finish chk-%d is the newest", c.ID)
				}
				return
			}
			broken := errors.New("broken")
			sink := &collector{write: func(consume.Batch) error { return broken }}
			cfg.Sink = sink
			if _, err := consume.Run(context.WithoutCancel(t.Context()), cfg); !errors.Is(err, broken) {
				t.Fatal(err)
			}
			c, _ := newest(t, cfg)
			if !slices.Equal(offsets(c), offsets(old)) || c.ID <= old.ID {
				t.Errorf("the newest is chk-%d at %v, want the branch's at %v", c.ID, offsets(c), offsets(old))
			}
		})
	}
}

// Two names never share a folder.
func TestJobNamesApart(t *testing.T) {
	names := []string{"a", "a/b", "a_b", "a:b", "a\\b", "a%2Fb", ".a", "..", ".", "%2Ea", "Größe", "a b"}
	dirs := map[string]string{}
	for _, n := range names {
		dir := checkpointfile.JobDir("d", n)
		if other, taken := dirs[dir]; taken {
			t.Errorf("%q and %q share %s", n, other, dir)
		}
		dirs[dir] = n
		if filepath.Dir(dir) != "d" || filepath.Base(dir) == ".." {
			t.Errorf("%q leads to %s", n, dir)
		}
	}
	_, cl := fake(t)
	cfg := asking(t, cl, "named")
	cfg.Checkpoints.Job = "team/billing"
	suspendAfter(t, cfg, 5)
	cfg.Checkpoints.Job, cfg.Checkpoints.Restore = "team_billing", consume.RestoreLatest
	if got := suspendAfter(t, cfg, 60); len(got) != 60 {
		t.Errorf("another job's checkpoint was gone on from: %d records", len(got))
	}
	// What an older koffset kept under the shared name is named, and not passed by.
	cfg.Checkpoints.Job = "team:billing"
	_, _, err := readAll(t, cfg)
	var e *consume.Error
	if !errors.As(err, &e) || e.Kind != consume.Usage || !strings.Contains(err.Error(), filepath.Join(cfg.Checkpoints.Dir, "team_billing")) {
		t.Errorf("%v", err)
	}
}
