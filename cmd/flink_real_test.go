//go:build realkafka

package cmd_test

// Real Flink jobs over a real Kafka: what koffset reads out of their snapshots, and what a job does that restores from a
// snapshot that koffset wrote.

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
)

// flinkBed is one topic of two partitions, with jobs of one version of Flink.
type flinkBed struct {
	t     *testing.T
	flink *kafkatest.Flink
	cl    *kgo.Client
	boot  string
	topic string
	dir   string
	sent  map[int32]int // records in each partition
}

func newFlinkBed(t *testing.T, v kafkatest.FlinkVersion, name string) *flinkBed {
	k := real.Kafka(t)
	b := &flinkBed{t: t, flink: real.Flink(t, v), cl: k.Client(t), boot: k.Bootstrap(), topic: "flink." + name, dir: t.TempDir(), sent: map[int32]int{}}
	kafkatest.CreateTopic(t, b.cl, b.topic, 2)
	b.produce(0, 30)
	b.produce(1, 30)
	return b
}

// produce writes n records to a partition, with three keys in turn.
func (b *flinkBed) produce(partition int32, n int) {
	b.t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		at := b.sent[partition] + i
		records[i] = &kgo.Record{Topic: b.topic, Partition: partition, Key: fmt.Appendf(nil, "k%d", at%3), Value: fmt.Appendf(nil, "v%d", at)}
	}
	kafkatest.Produce(b.t, b.cl, records...)
	b.sent[partition] += n
}

// koffset runs koffset in the bed's folder and wants a status.
func (b *flinkBed) koffset(code int, args ...string) ran {
	b.t.Helper()
	r := run(b.t, b.dir, "", false, append([]string{"-b", b.boot}, args...)...)
	if r.code != code {
		b.t.Fatalf("koffset %s: status %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

// stands is where koffset says that the sources of a snapshot stand.
func (b *flinkBed) stands(dir string, args ...string) (next map[int32]int64, kind string) {
	b.t.Helper()
	var doc struct {
		Sources []struct {
			Kind       string
			Partitions []struct {
				Topic      string
				Partition  int32
				NextOffset *int64 `json:"next_offset"`
			}
		}
	}
	r := b.koffset(0, append([]string{"checkpoint", "show", dir, "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		b.t.Fatal(err)
	}
	next = map[int32]int64{}
	for _, s := range doc.Sources {
		kind = s.Kind
		for _, p := range s.Partitions {
			if p.Topic == b.topic && p.NextOffset != nil {
				next[p.Partition] = *p.NextOffset
			}
		}
	}
	return next, kind
}

// counts are the counts of the keys after the records, and fails where a record was not counted on from the one before it.
func (b *flinkBed) counts(before map[string]int64, records []kafkatest.FlinkRecord) map[string]int64 {
	b.t.Helper()
	out := maps.Clone(before)
	for _, r := range records {
		if r.Count != out[r.Key]+1 {
			b.t.Fatalf("%s:%d record %d, key %s: counted %d after %d: the keyed state was lost, or counted twice", r.Topic, r.Partition, r.Offset, r.Key, r.Count, out[r.Key])
		}
		out[r.Key] = r.Count
	}
	return out
}

// offsets are the records' offsets by partition, sorted: the subtasks write them down as they come.
func offsets(records []kafkatest.FlinkRecord) map[int32][]int64 {
	out := map[int32][]int64{}
	for _, r := range records {
		out[r.Partition] = append(out[r.Partition], r.Offset)
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// end ends a job with a savepoint. KafkaSource stops with it. FlinkKafkaConsumer does not store its offsets then, so such a
// job takes a savepoint and is cancelled; nothing is produced in between.
func (b *flinkBed) end(j *kafkatest.FlinkJob, o kafkatest.FlinkOptions, format string) string {
	b.t.Helper()
	if !o.Legacy {
		return j.Stop(b.t, b.dir, format)
	}
	saved := j.Savepoint(b.t, b.dir, format)
	j.Cancel(b.t)
	return saved
}

// upTo are the offsets from one to another, exclusive.
func upTo(from, to int64) (out []int64) {
	for n := from; n < to; n++ {
		out = append(out, n)
	}
	return out
}

func (b *flinkBed) read(records []kafkatest.FlinkRecord, want map[int32][]int64) {
	b.t.Helper()
	if got := offsets(records); !maps.EqualFunc(got, want, slices.Equal[[]int64]) {
		b.t.Fatalf("the job read %v\nwant %v", got, want)
	}
}

// laidOut fails where a savepoint does not have the layout that the case is about.
func (b *flinkBed) laidOut(saved string, o kafkatest.FlinkOptions) {
	b.t.Helper()
	files, snappy := 0, false
	entries, err := os.ReadDir(saved)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(saved, e.Name()))
		if err != nil {
			b.t.Fatal(err)
		}
		files++
		snappy = snappy || strings.Contains(string(data), "sNaPpY")
	}
	if (files > 1) != o.InFiles || snappy != o.Compress {
		b.t.Errorf("the savepoint has %d files, snappy %t: not the case that is tested", files, snappy)
	}
}

// A job runs and stops with a savepoint; koffset says where it stood, and writes a copy that stands ten records further back
// on one partition and five further on on the other; the job goes on from the copy with its counts, and reads from there.
func TestFlinkRewrite(t *testing.T) {
	for _, tc := range []struct {
		name    string
		version kafkatest.FlinkVersion
		format  string
		kind    string
		o       kafkatest.FlinkOptions
	}{
		{"canonical-hashmap", kafkatest.Flink2, "canonical", "kafka-source", kafkatest.FlinkOptions{UID: "src"}},
		{"native-rocksdb-files", kafkatest.Flink2, "native", "kafka-source", kafkatest.FlinkOptions{RocksDB: true, InFiles: true}},
		{"canonical-rocksdb-compressed", kafkatest.Flink2, "canonical", "kafka-source", kafkatest.FlinkOptions{UID: "src", RocksDB: true, Compress: true, Parallelism: 2}},
		{"native-hashmap-files", kafkatest.Flink1, "native", "kafka-source", kafkatest.FlinkOptions{UID: "src", InFiles: true, Parallelism: 2}},
		{"native-hashmap-files-compressed", kafkatest.Flink1, "native", "kafka-source", kafkatest.FlinkOptions{InFiles: true, Compress: true}},
		{"legacy-canonical", kafkatest.Flink1, "canonical", "flink-kafka-consumer", kafkatest.FlinkOptions{UID: "src", Legacy: true}},
		{"legacy-native-rocksdb-compressed", kafkatest.Flink1, "native", "flink-kafka-consumer", kafkatest.FlinkOptions{UID: "src", Legacy: true, RocksDB: true, Compress: true, Parallelism: 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newFlinkBed(t, tc.version, tc.name)
			o := tc.o
			o.Bootstrap, o.Topics, o.Group = b.boot, []string{b.topic}, "flink."+tc.name
			first := b.flink.Run(t, o)
			first.Wait(t, 60)
			saved := b.end(first, o, tc.format)
			records := first.Records(t)
			b.read(records, map[int32][]int64{0: upTo(0, 30), 1: upTo(0, 30)})
			counts := b.counts(map[string]int64{}, records)

			b.laidOut(saved, o)

			next, kind := b.stands(saved)
			if kind != tc.kind || next[0] != 30 || next[1] != 30 {
				t.Fatalf("koffset says %s at %v, the job read 30 and 30", kind, next)
			}
			if tc.o.UID != "" {
				b.stands(saved, "--operator-uid", tc.o.UID)
			}

			b.produce(1, 10)
			b.koffset(0, "checkpoint", "rewrite", saved, "--out", "moved", "--to", fmt.Sprintf("%s:0=current-10,%s:1=35", b.topic, b.topic), "--execute")
			if next, _ := b.stands("moved"); next[0] != 20 || next[1] != 35 {
				t.Fatalf("the copy stands at %v", next)
			}
			if err := os.RemoveAll(saved); err != nil { // a savepoint's copy needs nothing of it
				t.Fatal(err)
			}
			o.Restore = filepath.Join(b.dir, "moved")
			second := b.flink.Run(t, o)
			second.Wait(t, 15)
			b.end(second, o, tc.format)
			again := second.Records(t)
			b.read(again, map[int32][]int64{0: upTo(20, 30), 1: upTo(35, 40)})
			b.counts(counts, again)
		})
	}
}

// A retained incremental checkpoint whose state lies in files that it shares with others, merged, and named by absolute path:
// the copy takes them along, and the job restores from it after everything else is gone.
func TestFlinkRewriteOfACheckpoint(t *testing.T) {
	b := newFlinkBed(t, kafkatest.Flink2, "retained")
	state := filepath.Join(b.dir, "state")
	o := kafkatest.FlinkOptions{Bootstrap: b.boot, Topics: []string{b.topic}, UID: "src", RocksDB: true, InFiles: true, Config: map[string]string{
		"execution.checkpointing.interval":                          "300ms",
		"execution.checkpointing.dir":                               "file:" + state,
		"execution.checkpointing.storage":                           "filesystem",
		"execution.checkpointing.incremental":                       "true",
		"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
		"execution.checkpointing.file-merging.enabled":              "true",
	}}
	first := b.flink.Run(t, o)
	counts := b.counts(map[string]int64{}, first.Wait(t, 60))
	var chk string
	kafkatest.Until(t, "a checkpoint holds everything that was read", func() bool {
		r := run(t, b.dir, "", false, "checkpoint", "list", "state", "-o", "json")
		var doc struct {
			Checkpoints []struct{ Path, State string }
		}
		if r.code != 0 || json.Unmarshal([]byte(r.out), &doc) != nil {
			return false // no checkpoint yet
		}
		for _, c := range doc.Checkpoints {
			if c.State == "complete" {
				chk = c.Path
				// The next checkpoint may remove this one while it is read.
				show := run(t, b.dir, "", false, "checkpoint", "show", chk, "-o", "csv")
				return show.code == 0 && strings.Count(show.out, ",30,,30,") == 2
			}
		}
		return false
	})
	first.Cancel(t)
	r := b.koffset(0, "checkpoint", "list", "state", "-o", "csv")
	chk = ""
	for line := range strings.Lines(r.out) {
		if strings.Contains(line, ",complete,") {
			f := strings.Split(strings.TrimSpace(line), ",")
			chk = f[len(f)-1]
			break
		}
	}
	show := b.koffset(0, "checkpoint", "show", chk, "--against-log", "--fail-on", "unhealthy")
	if !strings.Contains(show.err, "outside the snapshot's directory") {
		t.Errorf("nothing is said about the files that the checkpoint shares:\n%s", show.err)
	}
	moved := b.koffset(0, "checkpoint", "rewrite", chk, "--out", "moved", "--operator-uid", "src", "--to", "12", "--self-contained", "--execute")
	if !strings.Contains(moved.err, "is moved into the copy's _metadata") {
		t.Errorf("the source's state was not in a merged file:\n%s", moved.err)
	}
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	o.Restore, o.Config = filepath.Join(b.dir, "moved"), nil
	second := b.flink.Run(t, o)
	second.Wait(t, 36)
	second.Stop(t, b.dir, "canonical")
	again := second.Records(t)
	b.read(again, map[int32][]int64{0: upTo(12, 30), 1: upTo(12, 30)})
	b.counts(counts, again)
}

// From the legacy consumer to KafkaSource, with the state of the rest: the group is reset to where the old source stood, the
// new one has another uid and starts from the group, and no record is lost or repeated. The same state moves the job from
// Flink 1.20 to 2.2.
func TestFlinkLegacyToKafkaSource(t *testing.T) {
	b := newFlinkBed(t, kafkatest.Flink1, "upgrade")
	group := "flink.upgrade"
	o := kafkatest.FlinkOptions{Bootstrap: b.boot, Topics: []string{b.topic}, Group: group, UID: "old", Legacy: true}
	first := b.flink.Run(t, o)
	counts := b.counts(map[string]int64{}, first.Wait(t, 60))
	saved := b.end(first, o, "canonical")
	b.read(first.Records(t), map[int32][]int64{0: upTo(0, 30), 1: upTo(0, 30)})
	// What is committed is not where the job stands, as it happens when commits expired or failed.
	kafkatest.Commit(t, b.cl, group, kafkatest.At(b.topic, 0, 3), kafkatest.At(b.topic, 1, 30))
	b.produce(0, 5)
	b.produce(1, 5)

	against := b.koffset(0, "checkpoint", "show", saved, "--against", group, "-o", "csv")
	if !strings.Contains(against.out, b.topic+",0,0,30,,29,,,assigned,3,0,35,5,") {
		t.Errorf("against the group:\n%s", against.out)
	}
	// flink stop is the wrong way to end it, and koffset says so: the savepoint has no offsets, or old ones.
	wrong := b.flink.Run(t, o)
	wrong.Wait(t, 70)
	if r := b.koffset(5, "reset", group, "--to", "checkpoint:"+wrong.Stop(t, b.dir, "canonical"), "--execute"); !strings.Contains(r.err, "does not store its positions in a savepoint that stops the job") {
		t.Errorf("the stopped legacy job:\n%s", r.err)
	}
	kafkatest.Commit(t, b.cl, group, kafkatest.At(b.topic, 0, 3), kafkatest.At(b.topic, 1, 30))

	b.koffset(0, "reset", group, "--to", "checkpoint:"+saved, "--operator-uid", "old", "--execute")
	if got := kafkatest.CommittedOffsets(t, b.cl, group, b.topic); got[0] != 30 || got[1] != 30 {
		t.Fatalf("the group stands at %v", got)
	}
	o.Legacy, o.UID, o.From, o.Restore, o.AllowNonRestored = false, "new", "committed", saved, true
	second := b.flink.Run(t, o)
	counts = b.counts(counts, second.Wait(t, 10))
	moved := second.Stop(t, b.dir, "canonical")
	b.read(second.Records(t), map[int32][]int64{0: upTo(30, 35), 1: upTo(30, 35)})

	b.flink = real.Flink(t, kafkatest.Flink2)
	b.produce(1, 5)
	o.Restore, o.AllowNonRestored = moved, false
	third := b.flink.Run(t, o)
	third.Wait(t, 5)
	saved = third.Stop(t, b.dir, "native")
	b.read(third.Records(t), map[int32][]int64{1: upTo(35, 40)})
	b.counts(counts, third.Records(t))
	if next, kind := b.stands(saved, "--operator-uid", "new"); kind != "kafka-source" || next[0] != 35 || next[1] != 40 {
		t.Errorf("%s stands at %v", kind, next)
	}
}

// A stateful job moves to another cluster, where the same records have other offsets: its savepoint is exported, the copy for
// the other cluster is written, and the job goes on there with its counts, at the very next record.
func TestFlinkMigrate(t *testing.T) {
	b := newFlinkBed(t, kafkatest.Flink2, "migrated")
	second := real.Second(t)
	cl := second.Client(t)
	kafkatest.CreateTopic(t, cl, b.topic, 2)
	o := kafkatest.FlinkOptions{Bootstrap: b.boot, Topics: []string{b.topic}, UID: "src", Parallelism: 2}
	first := b.flink.Run(t, o)
	counts := b.counts(map[string]int64{}, first.Wait(t, 60))
	saved := first.Stop(t, b.dir, "canonical")
	b.produce(0, 5) // not read yet when the job moves
	b.produce(1, 7)
	// The mirror began late: what is n at the source is n-12 and n-4 there.
	b.mirror(cl, map[int32]int64{0: 12, 1: 4})

	b.koffset(0, "migrate", "export", "--from", "checkpoint:"+saved, "--group", "job", "--out", "job.jsonl")
	b.boot = second.Bootstrap()
	b.koffset(0, "migrate", "import", "job.jsonl", "--rewrite-checkpoint", saved, "--out", "moved", "--execute")
	if next, _ := b.stands("moved", "--operator-uid", "src"); next[0] != 18 || next[1] != 26 {
		t.Fatalf("the copy stands at %v, not at 18 and 26", next)
	}
	if err := os.RemoveAll(saved); err != nil {
		t.Fatal(err)
	}
	o.Bootstrap, o.Restore = b.boot, filepath.Join(b.dir, "moved")
	again := b.flink.Run(t, o)
	again.Wait(t, 12)
	again.Stop(t, b.dir, "canonical")
	records := again.Records(t)
	b.read(records, map[int32][]int64{0: upTo(18, 23), 1: upTo(26, 33)})
	b.counts(counts, records)
}

// mirror copies the bed's records from an offset of each partition on to another cluster.
func (b *flinkBed) mirror(to *kgo.Client, from map[int32]int64) {
	b.t.Helper()
	starts, left := map[int32]kgo.Offset{}, 0
	for p, n := range from {
		starts[p] = kgo.NewOffset().At(n)
		left += b.sent[p] - int(n)
	}
	source, err := kgo.NewClient(append(slices.Clone(b.cl.Opts()), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{b.topic: starts}))...)
	if err != nil {
		b.t.Fatal(err)
	}
	defer source.Close()
	for left > 0 {
		fs := source.PollFetches(b.t.Context())
		if err := fs.Err(); err != nil {
			b.t.Fatal(err)
		}
		var copies []*kgo.Record
		for r := range fs.RecordsAll() {
			copies = append(copies, &kgo.Record{Topic: b.topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp})
		}
		kafkatest.Produce(b.t, to, copies...)
		left -= len(copies)
	}
}
