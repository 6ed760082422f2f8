//go:build realkafka

package cmd_test

// migrate on two real clusters, with what comes in its way: rights for half of the topics, names of all kinds, a topic made anew
// between plan and apply, records that are removed while they are exported, large ones, many partitions, and a broker that hangs.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
)

// carryBed is two clusters, and the prefix of one test's names on both.
type carryBed struct {
	t        *testing.T
	src, dst *kafkatest.Kafka
	a, b     *kgo.Client
	prefix   string
	dir      string
}

func newCarry(t *testing.T, prefix string) *carryBed {
	src, dst := real.Kafka(t), real.Second(t)
	return &carryBed{t: t, src: src, dst: dst, a: src.Client(t), b: dst.Client(t), prefix: "carry-" + prefix + "-", dir: t.TempDir()}
}

// mirrored makes a topic on both clusters; the target lacks the first records of each partition.
func (b *carryBed) mirrored(name string, partitions int32, records, lacks int) string {
	b.t.Helper()
	topic := b.prefix + name
	for _, cl := range []*kgo.Client{b.a, b.b} {
		kafkatest.CreateTopic(b.t, cl, topic, partitions)
	}
	for p := range partitions {
		kafkatest.Produce(b.t, b.a, kafkatest.Records(topic, p, records, kafkatest.F1Start, 100)...)
		kafkatest.Produce(b.t, b.b, kafkatest.Records(topic, p, records, kafkatest.F1Start, 100)[lacks:]...)
	}
	return topic
}

// run is one line; the target's address is --target, the source's --source.
func (b *carryBed) run(code int, says string, args ...string) lineEnd {
	b.t.Helper()
	r := runLine(b.t, args...)
	if r.code != code || !strings.Contains(r.out+r.err, says) {
		b.t.Errorf("koffset %s: exit status %d, want %d with %q\n%s%s", strings.Join(args, " "), r.code, code, says, r.out, r.err)
	}
	return r
}

func (b *carryBed) file(name string) string { return filepath.Join(b.dir, name) }

// export writes a group's export and reads it back.
func (b *carryBed) export(file string, args ...string) *migrate.Export {
	b.t.Helper()
	b.run(0, "with fingerprints", append([]string{"-b", b.src.Bootstrap(), "migrate", "export", "--out", b.file(file)}, args...)...)
	return readExport(b.t, b.file(file))
}

// A user who may see half of the topics: what is hidden is not known, and neither missing nor the same.
func TestCarryWithHalfTheRights(t *testing.T) {
	b := newCarry(t, "rights")
	seen, hidden := b.mirrored("seen", 1, 30, 10), b.mirrored("hidden", 1, 30, 10)
	g := b.prefix + "g"
	kafkatest.Commit(t, b.a, g, kafkatest.At(seen, 0, 20), kafkatest.At(hidden, 0, 25))
	limited := func(k *kafkatest.Kafka) []string {
		k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, g, kmsg.ACLOperationRead)
		k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, seen, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
		return []string{"-b", k.Secure().SASLAddr, "--command-config", k.CommandConfig(t, kafkatest.LimitedUser)}
	}
	at, to := limited(b.src), limited(b.dst)
	b.export("all", g)
	b.run(0, "only topics that this user may describe", append(at, "migrate", "export", g, "--out", b.file("half"))...)
	b.run(5, hidden, append(at, "migrate", "export", g, "--out", b.file("none"), "--expect-topics", seen+","+hidden)...)
	b.run(3, "the user needs READ on the topic on the target", append(to, "migrate", "import", b.file("all"), "--execute")...)
	verify := append(to, "migrate", "verify", g, "--source-bootstrap-server", b.src.Bootstrap())
	b.run(8, "1 different or missing, 1 not known", verify...)
	b.run(0, "1 left alone", append(to, "migrate", "import", b.file("all"), "--execute", "--skip-unresolved")...)
	b.run(4, "0 different or missing, 1 not known", verify...)
	if got := kafkatest.Commits(t, b.b, g); len(got) != 1 || got[seen][0].Offset != 10 {
		t.Errorf("the group stands at %v", got)
	}
	r := b.run(4, "not carried yet: the target cannot be read: topic "+hidden, append(to, "migrate", "sync", g, "--source-bootstrap-server", b.src.Bootstrap(),
		"--execute", "--rounds", "2", "--interval", "1s")...)
	if n := strings.Count(r.err, "not carried yet"); n != 1 || strings.Contains(r.err, "missing on the target") {
		t.Errorf("the row is named %d times\n%s", n, r.err)
	}
	// DESCRIBE alone shows offsets, and no records.
	b.src.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, hidden, kmsg.ACLOperationDescribe)
	b.run(4, "READ on the topic", append(at, "migrate", "export", g, "--out", b.file("described"))...)
}

// Names of groups are carried as they are, the empty one too.
func TestCarryNamesOfAllKinds(t *testing.T) {
	b := newCarry(t, "names")
	topic := b.mirrored("t", 1, 20, 5)
	names := []string{"", " ", " lead", "a/b", "x#y:z", "two  words", "--help", "-x", "a,b", "*", `g"q'`, "é€", "line\nend"}
	for i := range names {
		if i > 0 {
			names[i] = b.prefix + names[i]
		}
		kafkatest.Commit(t, b.a, names[i], kafkatest.At(topic, 0, int64(6+i)))
	}
	x := b.export("all", "--all-groups", "--topic", topic)
	b.run(0, "exact", "-b", b.dst.Bootstrap(), "migrate", "import", b.file("all"), "--topic", topic, "--execute")
	for i, g := range names {
		if got := kafkatest.CommittedOffsets(t, b.b, g, topic)[0]; got != int64(1+i) {
			t.Errorf("group %q is at %d, want %d", g, got, 1+i)
		}
	}
	b.run(0, fmt.Sprintf("%d partitions at the same record", len(names)), "-b", b.dst.Bootstrap(), "migrate", "verify", "--all-groups", "--topic", topic,
		"--source-bootstrap-server", b.src.Bootstrap())
	b.run(0, "1 as requested already", "-b", b.dst.Bootstrap(), "migrate", "import", b.file("all"), "--group", `""`, "--execute")
	if len(x.Groups) < len(names) {
		t.Errorf("%d groups in the export", len(x.Groups))
	}
}

// A topic that is made anew between the plan and its execution, on the target or at the source.
func TestCarryTopicMadeAnew(t *testing.T) {
	b := newCarry(t, "anew")
	topic, g := b.mirrored("t", 2, 30, 10), b.prefix+"g"
	kafkatest.Commit(t, b.a, g, kafkatest.At(topic, 0, 20), kafkatest.At(topic, 1, 20))
	b.export("all", g)
	b.run(0, "2 exact", "-b", b.dst.Bootstrap(), "migrate", "import", b.file("all"), "--plan-out", b.file("plan"))
	kafkatest.DeleteTopic(t, b.b, topic)
	kafkatest.CreateTopic(t, b.b, topic, 2)
	kafkatest.Produce(t, b.b, kafkatest.Records(topic, 0, 30, kafkatest.F1Start+3_600_000, 100)...)
	b.run(3, "deleted and created again", "-b", b.dst.Bootstrap(), "apply", b.file("plan"), "--execute")
	b.run(3, "unresolved", "-b", b.dst.Bootstrap(), "migrate", "import", b.file("all"), "--execute")
	if got := kafkatest.Commits(t, b.b, g); len(got) != 0 {
		t.Errorf("the group stands at %v", got)
	}
	// With the source's topic the group's commits go: a verification of nothing did not hold.
	kafkatest.DeleteTopic(t, b.a, topic)
	kafkatest.CreateTopic(t, b.a, topic, 2)
	kafkatest.Until(t, "the commits are gone with their topic", func() bool { return len(kafkatest.Commits(t, b.a, g)) == 0 })
	if r := runLine(t, "-b", b.dst.Bootstrap(), "migrate", "verify", g, "--source-bootstrap-server", b.src.Bootstrap()); r.code != 5 {
		t.Errorf("exit status %d\n%s%s", r.code, r.out, r.err)
	}
}

// Records are removed while they are exported: a position whose records are gone is expired, and never at a log end.
func TestCarryWhileRecordsAreRemoved(t *testing.T) {
	b := newCarry(t, "trim")
	const partitions, records = 10, 2000
	topic := b.mirrored("t", partitions, records, 0)
	for n := range 10 {
		var at []kafkatest.Committed
		for p := range int32(partitions) {
			at = append(at, kafkatest.At(topic, p, int64(100+n*150)))
		}
		kafkatest.Commit(t, b.a, fmt.Sprintf("%sg%d", b.prefix, n), at...)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 40 {
			kafkatest.DeleteRecords(t, b.a, topic, int32(n%partitions), int64(n*45))
		}
	}()
	expired := 0
	for n := range 6 {
		if n == 5 {
			<-done
		}
		r := runLine(t, "-b", b.src.Bootstrap(), "migrate", "export", "--group-match", b.prefix+"g.*", "--out", b.file("x"))
		if r.code != 0 && r.code != 4 {
			t.Fatalf("exit status %d\n%s", r.code, r.err)
		}
		for _, g := range readExport(t, b.file("x")).Groups {
			for _, row := range g.Rows {
				switch a := row.Around; {
				case a == nil && row.Error == "", a != nil && (a.AtEnd || len(a.At) == 0 || a.At[0].Offset != max(row.Committed.Offset, row.Bounds.Start)):
					t.Errorf("export %d: %s of %s at %d of %+v: %+v %s", n, row.Partition, g.Name, row.Committed.Offset, *row.Bounds, a, row.Error)
				case row.Committed.Offset < row.Bounds.Start:
					expired++
				}
			}
		}
		if err := os.Remove(b.file("x")); err != nil {
			t.Fatal(err)
		}
	}
	if expired == 0 {
		t.Error("no position expired: the test says nothing")
	}
}

// Records of 5 MB, and 300 partitions.
func TestCarryLargeAndMany(t *testing.T) {
	b := newCarry(t, "size")
	wide, g := b.mirrored("wide", 300, 12, 3), b.prefix+"g"
	big := b.prefix + "big"
	for i, cl := range []*kgo.Client{b.a, b.b} {
		kafkatest.CreateTopic(t, cl, big, 1, "max.message.bytes", "10000000")
		prod := []*kafkatest.Kafka{b.src, b.dst}[i].Client(t, kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
		for n := range 8 {
			if i == 0 || n >= 2 {
				kafkatest.Produce(t, prod, kafkatest.Record(big, 0, kafkatest.F1Start+int64(n), strings.Repeat(fmt.Sprint(n), 5_000_000)))
			}
		}
	}
	at := []kafkatest.Committed{kafkatest.At(big, 0, 5)}
	for p := range int32(300) {
		at = append(at, kafkatest.At(wide, p, 7))
	}
	kafkatest.Commit(t, b.a, g, at...)
	b.export("all", g)
	b.run(0, "301 exact", "-b", b.dst.Bootstrap(), "migrate", "import", b.file("all"), "--execute")
	if got := kafkatest.Commits(t, b.b, g); got[big][0].Offset != 3 || got[wide][299].Offset != 4 {
		t.Errorf("%+v %+v", got[big], got[wide][299])
	}
	b.run(0, "301 partitions at the same record", "-b", b.dst.Bootstrap(), "migrate", "verify", g, "--source-bootstrap-server", b.src.Bootstrap())
}

// A broker that hangs in the middle of an export: what it has is named, within the time that was given, and the rest is there.
func TestCarryFromABrokerThatHangs(t *testing.T) {
	b := newAway(t, "export")
	g := b.groups[0]
	b.kafka.Proxy(2).Hold()
	file := filepath.Join(t.TempDir(), "x")
	r := runLine(t, "-b", b.kafka.Bootstrap(), "migrate", "export", g, "--out", file, "--timeout", "12s")
	if r.code != 4 || r.took > 40*time.Second || !strings.Contains(r.err, b.topic+":1") {
		t.Fatalf("exit status %d after %s\n%s", r.code, r.took, r.err)
	}
	x := readExport(t, file)
	if !x.Incomplete || len(x.Groups) != 1 {
		t.Fatalf("%+v", x)
	}
	for _, row := range x.Groups[0].Rows {
		if away := row.Partition.Partition == 1; away != (row.Error != "") || !away && row.Around == nil {
			t.Errorf("%+v", row)
		}
	}
}
