package consume_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
	"github.com/koffset/koffset/internal/kafkatest"
)

const (
	crashPartitions = 3
	crashRecords    = 30_000 // a partition
)

// TestCrashChild is the process that is killed; it does nothing unless TestCrash starts it.
func TestCrashChild(t *testing.T) {
	addr, kind, topic := os.Getenv("KOFFSET_CRASH_ADDR"), os.Getenv("KOFFSET_CRASH_SINK"), os.Getenv("KOFFSET_CRASH_TOPIC")
	if addr == "" {
		return
	}
	dir := os.Getenv("KOFFSET_CRASH_DIR")
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	enc, err := sink.ParseFormat(`%p %o %v\n`, sink.Forms{})
	if err != nil {
		t.Fatal(err)
	}
	var out consume.Sink = sink.NewWriter("stdout", os.Stdout, enc)
	if kind == "files" {
		// Small files, so that kills fall between the steps of closing one.
		if out, err = sink.NewFiles(filepath.Join(dir, "out"), enc, sink.FilesOptions{RollBytes: 4 << 10}); err != nil {
			t.Fatal(err)
		}
	}
	rate, _ := strconv.ParseFloat(os.Getenv("KOFFSET_CRASH_RATE"), 64)
	cfg := consume.Config{Client: cl, Topics: topics(topic), Group: os.Getenv("KOFFSET_CRASH_GROUP"), Sink: out,
		Start: consume.FromEarliest(), End: consume.UntilLatest(), Rate: consume.Rate{Records: rate},
		Checkpoints: consume.Checkpoints{Interval: 10 * time.Millisecond, Dir: filepath.Join(dir, "ck"), Job: "crash", Restore: consume.RestoreLatest}}
	if ranges := os.Getenv("KOFFSET_CRASH_RANGES"); ranges != "" {
		cfg.Topics, cfg.Start, cfg.End = nil, consume.Start{}, consume.End{}
		for text := range strings.FieldsSeq(ranges) {
			r, err := consume.ParseRange(text)
			if err != nil {
				t.Fatal(err)
			}
			cfg.End.Ranges = append(cfg.End.Ranges, r)
		}
	}
	if _, err = consume.Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "child finished")
}

func TestCrash(t *testing.T) {
	_, cl := fake(t)
	testCrash(t, cl, "crash", crash{kills: 25, rate: "10000"})
}

func TestCrashRanges(t *testing.T) {
	_, cl := fake(t)
	testCrashRanges(t, cl, "crash-ranges", crash{kills: 8, rate: "10000", later: true})
}

// crash is how often the process of each sink is killed, and the rate that keeps the run from finishing before that. later says that
// each process lives until a checkpoint of its own holds records.
type crash struct {
	kills int
	rate  string
	later bool
}

// crashJob is a run that is killed and started again until it ends: what it reads, and the records that it is to deliver.
type crashJob struct {
	topic, group, kind string
	ranges             []string // empty is the whole topic
	from, to           [crashPartitions]int64

	addr, dir string
}

// Killed at random points, again and again, the files hold every record exactly once and standard output at least once.
func testCrash(t *testing.T, cl *kgo.Client, topic string, how crash) {
	crashTopic(t, cl, topic)
	for _, kind := range []string{"files", "stdout"} {
		whole := crashJob{topic: topic, group: topic + "-" + kind, kind: kind}
		for p := range whole.to {
			whole.to[p] = crashRecords
		}
		t.Run(kind, func(t *testing.T) { t.Parallel(); whole.run(t, cl, how) })
	}
}

// The parts of a topic are read by a process each, by ranges with an end and by a counted one. Both are killed again and again: each has
// its own records exactly once and no other, so that the two have every record of the topic once.
func testCrashRanges(t *testing.T, cl *kgo.Client, topic string, how crash) {
	crashTopic(t, cl, topic)
	const a, b = 10_000, 20_000 // where the parts meet, on the first two partitions; the third is the second part's
	for name, part := range map[string]crashJob{
		"part-1": {ranges: []string{fmt.Sprintf("%s:0=0:%d", topic, b), fmt.Sprintf("%s:1=0+%d", topic, a)}, to: [crashPartitions]int64{b, a, 0}},
		"part-2": {ranges: []string{fmt.Sprintf("%s:0=%d:%d", topic, b, crashRecords), fmt.Sprintf("%s:1=%d:%d", topic, a, crashRecords), fmt.Sprintf("%s:2=0:%d", topic, crashRecords)},
			from: [crashPartitions]int64{b, a, 0}, to: [crashPartitions]int64{crashRecords, crashRecords, crashRecords}},
	} {
		part.topic, part.group, part.kind = topic, topic+"-"+name, "files"
		t.Run(name, func(t *testing.T) { t.Parallel(); part.run(t, cl, how) })
	}
}

func crashTopic(t *testing.T, cl *kgo.Client, topic string) {
	t.Helper()
	kafkatest.CreateTopic(t, cl, topic, crashPartitions)
	for p := range int32(crashPartitions) {
		kafkatest.Produce(t, cl, kafkatest.Records(topic, p, crashRecords, 1000, 1)...)
	}
}

func (j crashJob) run(t *testing.T, cl *kgo.Client, how crash) {
	j.addr, j.dir = cl.OptValue(kgo.SeedBrokers).([]string)[0], t.TempDir()
	var printed bytes.Buffer
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for kills := range how.kills {
		// From before the first checkpoint of a life to some time after it.
		lives := sleep(50*time.Millisecond + time.Duration(rnd.IntN(200))*time.Millisecond)
		if how.later {
			lives = checkpointed(j.dir, time.Duration(rnd.IntN(50))*time.Millisecond)
		}
		if j.life(t, &printed, how.rate, lives) {
			t.Fatalf("the run finished after %d kills: it needs more records", kills)
		}
		printed.WriteByte('\n') // the last line of a killed process may be a part of one
		j.notAhead(t, cl)
	}
	if !j.life(t, &printed, "0", sleep(kafkatest.Deadline)) {
		t.Fatal("the last life did not finish")
	}
	got := kafkatest.CommittedOffsets(t, cl, j.group, j.topic)
	for p, to := range j.to {
		if got[int32(p)] != to {
			t.Errorf("committed %v at the end, want %v", got, j.to)
		}
	}
	if j.kind == "stdout" {
		atLeastOnce(t, &printed)
		return
	}
	j.exactlyOnce(t)
}

// sleep returns after a while, or with ctx.
func sleep(d time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
}

// checkpointed returns a while after a checkpoint of the job holds more than the newest does now.
func checkpointed(dir string, d time.Duration) func(context.Context) {
	held := func() (records int64) {
		refs, _ := checkpointfile.ListCheckpoints(checkpointfile.JobDir(filepath.Join(dir, "ck"), "crash")) // none yet
		for _, ref := range refs {
			if c, _, err := checkpointfile.ReadCheckpoint(ref.Path); err == nil { // it may be removed in between
				records = max(records, c.Records)
			}
		}
		return records
	}
	before := held()
	return func(ctx context.Context) {
		for tick := time.Tick(5 * time.Millisecond); ctx.Err() == nil && held() <= before; {
			select {
			case <-ctx.Done():
			case <-tick:
			}
		}
		sleep(d)(ctx)
	}
}

// life runs the child until it ends by itself (true) or is killed when lives returns (false).
func (j crashJob) life(t *testing.T, printed io.Writer, rate string, lives func(context.Context)) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Deadline)
	var kill sync.WaitGroup
	defer kill.Wait()
	defer cancel()
	kill.Go(func() { lives(ctx); cancel() })
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCrashChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), "KOFFSET_CRASH_ADDR="+j.addr, "KOFFSET_CRASH_TOPIC="+j.topic, "KOFFSET_CRASH_GROUP="+j.group, "KOFFSET_CRASH_SINK="+j.kind, "KOFFSET_CRASH_DIR="+j.dir,
		"KOFFSET_CRASH_RANGES="+strings.Join(j.ranges, " "), "KOFFSET_CRASH_RATE="+rate)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if j.kind == "stdout" {
		cmd.Stdout = printed
	} else {
		cmd.Stdout = &errs
	}
	err := cmd.Run() // the context's end kills it: SIGKILL, at whatever it is doing
	switch {
	case strings.Contains(errs.String(), "child finished"):
		return true
	case ctx.Err() == nil:
		t.Fatalf("the child ended by itself: %v\n%s", err, errs.String())
	}
	return false
}

// notAhead checks that the group's commits are never ahead of the newest checkpoint.
func (j crashJob) notAhead(t *testing.T, cl *kgo.Client) {
	t.Helper()
	refs, err := checkpointfile.ListCheckpoints(filepath.Join(j.dir, "ck", "crash"))
	if err != nil {
		t.Fatal(err)
	}
	at := map[int32]int64{}
	if len(refs) > 0 {
		c, _, err := checkpointfile.ReadCheckpoint(refs[len(refs)-1].Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Partitions {
			at[p.Partition] = p.Offset
		}
	}
	for p, n := range kafkatest.CommittedOffsets(t, cl, j.group, j.topic) {
		if n > at[p] {
			t.Fatalf("partition %d: committed %d, the newest checkpoint holds %d", p, n, at[p])
		}
	}
}

// exactlyOnce checks that the files hold what the job is to deliver, each record once, and no other.
func (j crashJob) exactlyOnce(t *testing.T) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(j.dir, "out", "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	next := j.from
	for _, name := range names {
		if strings.HasSuffix(name, ".open") {
			t.Errorf("%s is still open", name)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 || data[len(data)-1] != '\n' {
			t.Fatalf("%s ends within a record", name)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
			var p int
			var o, v int64
			if n, err := fmt.Sscan(line, &p, &o, &v); n != 3 || err != nil || v != o || p < 0 || p >= crashPartitions {
				t.Fatalf("%s: %q is no record", name, line)
			}
			if o != next[p] {
				t.Fatalf("%s: partition %d goes on at %d, want %d", name, p, o, next[p])
			}
			next[p]++
		}
	}
	for p, to := range j.to {
		if next[p] != to {
			t.Errorf("partition %d ends at %d, want %d", p, next[p], to)
		}
	}
	t.Logf("%d files", len(names))
}

func atLeastOnce(t *testing.T, printed io.Reader) {
	t.Helper()
	var got [crashPartitions][]bool
	for p := range got {
		got[p] = make([]bool, crashRecords)
	}
	lines, again := 0, 0
	sc := bufio.NewScanner(printed)
	for sc.Scan() {
		var p, o, v int
		// A killed process leaves a part of a line; the test binary prints lines of its own.
		if n, err := fmt.Sscan(sc.Text(), &p, &o, &v); n != 3 || err != nil || v != o || p < 0 || p >= crashPartitions || o >= crashRecords {
			continue
		}
		lines++
		if got[p][o] {
			again++
		}
		got[p][o] = true
	}
	for p := range got {
		if i := slices.Index(got[p], false); i >= 0 {
			t.Errorf("partition %d: %d is missing", p, i)
		}
	}
	t.Logf("%d lines, %d of them again", lines, again)
}
