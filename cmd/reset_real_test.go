//go:build realkafka

package cmd_test

// The cases of Kafka's own ResetConsumerGroupOffsetTest, for both protocols, through koffset's command line, and each beside
// what Kafka's own tool leaves committed for a group of the same history. Where Kafka's tool clamps, koffset refuses, and
// clamps the same only when asked to.

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// The full number, 50 ms each.
func TestKilledAtManyMoments(t *testing.T) { killedAt(t, 200) }

// bed is one case under one protocol: topics and two groups of the same history, one for each tool.
type bed struct {
	t         *testing.T
	kafka     *kafkatest.Kafka
	tools     *kafkatest.Tools
	cl        *kgo.Client
	protocol  string
	prefix    string
	home      string
	now       int64
	own, java []string // groups of the same histories
}

func newBed(t *testing.T, protocol, name string) *bed {
	k := real.Kafka(t)
	b := &bed{t: t, kafka: k, tools: real.Tools(t), cl: k.Client(t), protocol: protocol, home: t.TempDir(), now: time.Now().UnixMilli(),
		prefix: fmt.Sprintf("r-%s-%s-", protocol, strings.ToLower(name))}
	return b
}

func (b *bed) topic(name string, partitions int32) string {
	kafkatest.CreateTopic(b.t, b.cl, b.prefix+name, partitions)
	return b.prefix + name
}

// produce writes n records to each partition, the last of them ago before now, a millisecond apart.
func (b *bed) produce(topic string, partitions int32, n int, ago time.Duration) {
	for p := range partitions {
		kafkatest.Produce(b.t, b.cl, kafkatest.Records(topic, p, n, b.now-ago.Milliseconds()-int64(n)+1, 1)...)
	}
}

// consumed makes groups that consumed the topics up to these offsets by the protocol and left: one for koffset, one for
// Kafka's tool.
func (b *bed) consumed(name string, commits map[string]map[int32]int64) {
	var topics []string
	for t := range commits {
		topics = append(topics, t)
	}
	for _, who := range []string{"own", "java"} {
		g := b.prefix + name + "-" + who
		o := kafkatest.MemberOptions{Group: g, Topics: topics}
		var m *kafkatest.Member
		if b.protocol == "consumer" {
			m = kafkatest.Join848(b.t, b.cl, o)
		} else {
			m = kafkatest.JoinClassic(b.t, b.cl, o)
		}
		m.Close()
		var cs []kafkatest.Committed
		for t, ps := range commits {
			for p, n := range ps {
				cs = append(cs, kafkatest.Committed{Topic: t, Partition: p, Offset: n, LeaderEpoch: 0, Metadata: ""})
			}
		}
		// The member has left when Close returns, but a coordinator may still say so a moment later.
		kafkatest.Until(b.t, "group "+g+" takes commits", func() bool {
			for _, err := range kafkatest.TryCommit(b.t, b.cl, g, cs...) {
				if err != nil {
					return false
				}
			}
			return true
		})
		if who == "own" {
			b.own = append(b.own, g)
		} else {
			b.java = append(b.java, g)
		}
	}
}

// fresh names groups that do not exist.
func (b *bed) fresh(name string) {
	b.own, b.java = append(b.own, b.prefix+name+"-own"), append(b.java, b.prefix+name+"-java")
}

// koffset runs koffset on its groups and wants a status.
func (b *bed) koffset(code int, args ...string) ran {
	b.t.Helper()
	r := run(b.t, b.home, "", false, append([]string{"-b", b.kafka.Bootstrap()}, args...)...)
	if r.code != code {
		b.t.Fatalf("koffset %s: status %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

func (b *bed) reset(code int, args ...string) ran {
	b.t.Helper()
	all := []string{"reset"}
	for _, g := range b.own {
		all = append(all, "--group", g)
	}
	return b.koffset(code, append(all, args...)...)
}

// kafkas runs Kafka's own tool on its groups.
func (b *bed) kafkas(args ...string) kafkatest.Result {
	b.t.Helper()
	all := []string{"--bootstrap-server", b.kafka.Bootstrap(), "--reset-offsets"}
	for _, g := range b.java {
		all = append(all, "--group", g)
	}
	return b.tools.Run(b.t, kafkatest.ConsumerGroups, append(all, args...)...)
}

// both runs the same arguments through both tools with --execute, koffset with more where its spelling differs.
func (b *bed) both(shared []string, own ...string) {
	b.t.Helper()
	b.reset(0, append(append(shared[:len(shared):len(shared)], "--execute"), own...)...)
	if r := b.kafkas(append(shared[:len(shared):len(shared)], "--execute")...); r.Status != 0 || strings.Contains(r.Stdout, "Error") {
		b.t.Fatalf("Kafka's tool: %+v", r)
	}
}

// offsets are all commits of a group.
func (b *bed) offsets(group string) map[string]map[int32]int64 {
	out := map[string]map[int32]int64{}
	for t, ps := range kafkatest.Commits(b.t, b.cl, group) {
		out[t] = map[int32]int64{}
		for p, c := range ps {
			out[t][p] = c.Offset
		}
	}
	return out
}

// same holds both groups of every pair to the same commits, and koffset's to the expected ones.
func (b *bed) same(want map[string]map[int32]int64) {
	b.t.Helper()
	for i := range b.own {
		own, java := b.offsets(b.own[i]), b.offsets(b.java[i])
		if !equal(own, want) {
			b.t.Errorf("koffset left %v for %s, want %v", own, b.own[i], want)
		}
		if !equal(own, java) {
			b.t.Errorf("koffset left %v, Kafka's tool %v", own, java)
		}
	}
}

func (b *bed) only(want map[string]map[int32]int64) {
	b.t.Helper()
	for _, g := range b.own {
		if got := b.offsets(g); !equal(got, want) {
			b.t.Errorf("koffset left %v for %s, want %v", got, g, want)
		}
	}
}

func equal(a, b map[string]map[int32]int64) bool {
	return maps.EqualFunc(a, b, func(x, y map[int32]int64) bool { return maps.Equal(x, y) })
}

func one(topic string, n int64) map[string]map[int32]int64 {
	return map[string]map[int32]int64{topic: {0: n}}
}

// consumed100 is the usual history: a topic of one partition with 100 records, all consumed.
func (b *bed) consumed100() string {
	t := b.topic("t", 1)
	b.produce(t, 1, 100, 10*time.Second)
	b.consumed("g", one(t, 100))
	return t
}

func resetCases() map[string]func(b *bed) {
	args := func(a ...string) []string { return a }
	return map[string]func(b *bed){
		"01-NotExistingGroup": func(b *bed) {
			b.fresh("nobody")
			r := b.reset(5, "--all-topics", "--to-current", "--execute")
			if !strings.Contains(r.err, "does not exist") {
				b.t.Errorf("it does not say so: %s", r.err)
			}
			b.kafkas("--all-topics", "--to-current", "--execute")
			b.same(map[string]map[int32]int64{})
		},
		"03-ExistingTopic": func(b *bed) {
			t := b.topic("t", 1)
			b.produce(t, 1, 100, time.Second)
			b.fresh("g")
			b.reset(5, "--topic", t, "--to-offset", "50")
			b.reset(0, "--topic", t, "--to-offset", "50", "--create")
			b.reset(0, "--topic", t, "--to-offset", "50", "--create", "--dry-run")
			b.kafkas("--topic", t, "--to-offset", "50", "--dry-run")
			b.same(map[string]map[int32]int64{})
			b.both(args("--topic", t, "--to-offset", "50"), "--create")
			b.same(one(t, 50))
		},
		"04-SelectedGroups": func(b *bed) {
			t := b.topic("t", 1)
			b.produce(t, 1, 100, time.Second)
			b.consumed("g1", one(t, 100))
			b.consumed("g2", one(t, 100))
			b.reset(0, "--topic", t, "--to-offset", "50", "--dry-run")
			b.same(one(t, 100))
			b.both(args("--topic", t, "--to-offset", "50"))
			b.same(one(t, 50))
		},
		"07-ToLocalDateTime": func(b *bed) {
			t := b.consumed100()
			b.both(args("--topic", t, "--to-datetime", time.Now().UTC().Add(-24*time.Hour).Format("2006-01-02T15:04:05.000")))
			b.same(one(t, 0))
		},
		"08-ToZonedDateTime": func(b *bed) {
			t := b.topic("t", 1)
			b.produce(t, 1, 50, time.Hour)
			b.produce(t, 1, 50, 0)
			b.consumed("g", one(t, 100))
			at := time.UnixMilli(b.now).Add(-30 * time.Minute).In(time.FixedZone("", 2*3600)).Format("2006-01-02T15:04:05.000Z07:00")
			b.both(args("--topic", t, "--to-datetime", at))
			b.same(one(t, 50))
		},
		"09-ByDuration": func(b *bed) {
			t := b.consumed100()
			b.both(args("--topic", t, "--by-duration", "PT1M"))
			b.same(one(t, 0))
		},
		"10-ByDurationToEarliest": func(b *bed) {
			t := b.consumed100()
			b.both(args("--topic", t, "--by-duration", "PT0.1S"))
			b.same(one(t, 100))
		},
		"11-ByDurationFallbackToLatestWhenNoRecords": func(b *bed) {
			t := b.topic("t", 1)
			b.fresh("g")
			b.both(args("--topic", t, "--by-duration", "PT1M"), "--create")
			b.same(one(t, 0))
		},
		"12-ToEarliest": func(b *bed) {
			t := b.consumed100()
			b.both(args("--topic", t, "--to-earliest"))
			b.same(one(t, 0))
		},
		"13-ToLatest": func(b *bed) {
			t := b.consumed100()
			b.produce(t, 1, 100, 0)
			b.both(args("--topic", t, "--to-latest"))
			b.same(one(t, 200))
		},
		"14-ToCurrentOffset": func(b *bed) {
			t := b.consumed100()
			b.produce(t, 1, 100, 0)
			b.both(args("--topic", t, "--to-current"))
			b.same(one(t, 100))
		},
		"15-ToSpecificOffset": func(b *bed) {
			t := b.consumed100()
			b.both(args("--topic", t, "--to-offset", "1"))
			b.same(one(t, 1))
		},
		"16-ShiftPlus": func(b *bed) {
			t := b.consumed100()
			b.produce(t, 1, 100, 0)
			b.both(args("--topic", t, "--shift-by", "50"))
			b.same(one(t, 150))
		},
		"17-ShiftMinus": func(b *bed) {
			t := b.consumed100()
			b.produce(t, 1, 100, 0)
			b.both(args("--topic", t, "--shift-by", "-50"))
			b.same(one(t, 50))
		},
		"18-ShiftByLowerThanEarliest": func(b *bed) {
			t := b.consumed100()
			b.produce(t, 1, 100, 0)
			b.reset(3, "--topic", t, "--shift-by", "-150", "--execute")
			b.only(one(t, 100))
			b.both(args("--topic", t, "--shift-by", "-150"), "--out-of-range", "clamp")
			b.same(one(t, 0))
		},
		"19-ShiftByHigherThanLatest": func(b *bed) {
			t := b.consumed100()
			b.produce(t, 1, 100, 0)
			b.reset(3, "--topic", t, "--shift-by", "150", "--execute")
			b.only(one(t, 100))
			b.both(args("--topic", t, "--shift-by", "150"), "--out-of-range", "clamp")
			b.same(one(t, 200))
		},
		"20-ToEarliestOnOneTopic": func(b *bed) {
			t := b.consumed100()
			b.both(args("--topic", t, "--to-earliest"))
			b.same(one(t, 0))
		},
		"21-OnOneTopicAndPartition": func(b *bed) {
			t := b.topic("t", 2)
			b.produce(t, 2, 100, time.Second)
			b.consumed("g", map[string]map[int32]int64{t: {0: 100, 1: 100}})
			b.both(args("--topic", t+":1", "--to-earliest"))
			b.same(map[string]map[int32]int64{t: {0: 100, 1: 0}})
		},
		"22-OnTopics": func(b *bed) {
			t1, t2 := b.topic("t1", 1), b.topic("t2", 1)
			b.produce(t1, 1, 100, time.Second)
			b.produce(t2, 1, 100, time.Second)
			b.consumed("g", map[string]map[int32]int64{t1: {0: 100}, t2: {0: 100}})
			b.both(args("--topic", t1, "--topic", t2, "--to-earliest"))
			b.same(map[string]map[int32]int64{t1: {0: 0}, t2: {0: 0}})
		},
		"23-OnTopicsAndPartitions": func(b *bed) {
			t1, t2 := b.topic("t1", 2), b.topic("t2", 2)
			b.produce(t1, 2, 100, time.Second)
			b.produce(t2, 2, 100, time.Second)
			b.consumed("g", map[string]map[int32]int64{t1: {0: 100, 1: 100}, t2: {0: 100, 1: 100}})
			b.both(args("--topic", t1+":1", "--topic", t2+":1", "--to-earliest"))
			b.same(map[string]map[int32]int64{t1: {0: 100, 1: 0}, t2: {0: 100, 1: 0}})
		},
		"24-ExportImportPlanSingleGroupArg": func(b *bed) {
			t := b.topic("t", 2)
			b.produce(t, 2, 100, time.Second)
			b.consumed("g", map[string]map[int32]int64{t: {0: 100, 1: 100}})
			own := b.reset(0, "--all-topics", "--to-offset", "2", "--export").out
			java := b.kafkas("--all-topics", "--to-offset", "2", "--export").Stdout
			if own == "" || sorted(own) != sorted(java) {
				b.t.Errorf("koffset exports\n%s\nKafka's tool\n%s", own, java)
			}
			if again := b.reset(0, "--from-file", b.file(java), "--export").out; again != own {
				b.t.Errorf("koffset reads Kafka's own export as\n%s", again)
			}
			b.exchange(own, map[string]map[int32]int64{t: {0: 2, 1: 2}})
		},
		"25-ExportImportPlan": func(b *bed) {
			t1, t2 := b.topic("t1", 2), b.topic("t2", 2)
			b.produce(t1, 2, 100, time.Second)
			b.produce(t2, 2, 100, time.Second)
			all := map[string]map[int32]int64{t1: {0: 100, 1: 100}, t2: {0: 100, 1: 100}}
			b.consumed("g1", all)
			b.consumed("g2", all)
			own := b.reset(0, "--all-topics", "--to-offset", "2", "--export").out
			java := b.kafkas("--all-topics", "--to-offset", "2", "--export").Stdout
			if sorted(strings.ReplaceAll(own, "-own", "-x")) != sorted(strings.ReplaceAll(java, "-java", "-x")) || strings.Count(own, "\n") != 8 {
				b.t.Errorf("koffset exports\n%s\nKafka's tool\n%s", own, java)
			}
			file := b.file(own)
			b.koffset(0, "reset", b.own[0], "--from-file", file, "--execute")
			two := map[string]map[int32]int64{t1: {0: 2, 1: 2}, t2: {0: 2, 1: 2}}
			if got := b.offsets(b.own[0]); !equal(got, two) {
				b.t.Errorf("the first group is at %v", got)
			}
			if got := b.offsets(b.own[1]); !equal(got, all) {
				b.t.Errorf("the second group moved to %v, and only the first was named", got)
			}
			b.exchange(own, two)
		},
		"26-UnrecognizedOption": func(b *bed) {
			b.fresh("g")
			if r := b.reset(2, "--new-consumer", "--all-topics", "--to-offset", "2"); !strings.Contains(r.err, "new-consumer") {
				b.t.Errorf("it does not name the flag: %s", r.err)
			}
			if r := b.kafkas("--new-consumer", "--all-topics", "--to-offset", "2", "--export"); r.Status == 0 {
				b.t.Errorf("Kafka's tool took it: %+v", r)
			}
		},
		"28-PartitionNotExist": func(b *bed) {
			t := b.consumed100()
			r := b.reset(5, "--topic", t+":2,3", "--to-earliest", "--execute")
			if !strings.Contains(r.err, "does not exist") {
				b.t.Errorf("it does not say so: %s", r.err)
			}
			b.kafkas("--topic", t+":2,3", "--to-earliest", "--execute")
			b.same(one(t, 100))
		},
	}
}

func (b *bed) file(content string) string {
	path := filepath.Join(b.t.TempDir(), "offsets.csv")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// exchange reads koffset's export with both tools: dry first, then for good.
func (b *bed) exchange(csv string, want map[string]map[int32]int64) {
	b.t.Helper()
	dry := b.reset(0, "--from-file", b.file(csv), "--export").out
	if sorted(dry) != sorted(csv) {
		b.t.Errorf("the import plans\n%s\nthe export was\n%s", dry, csv)
	}
	b.reset(0, "--from-file", b.file(csv), "--execute")
	java := csv
	for i := range b.own {
		java = strings.ReplaceAll(java, b.own[i]+",", b.java[i]+",")
	}
	b.kafkas("--from-file", b.file(java), "--execute")
	b.same(want)
}

// sorted makes two exports comparable: Kafka's has no order, and quotes every name.
func sorted(lines string) string {
	ls := strings.Fields(strings.ReplaceAll(lines, `"`, ""))
	seen := map[string]int{}
	for _, l := range ls {
		seen[l]++
	}
	return fmt.Sprint(seen)
}

func TestResetCasesOfKafka(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		for name, run := range resetCases() {
			t.Run(protocol+"/"+name, func(t *testing.T) { run(newBed(t, protocol, name)) })
		}
	}
}

// The cases that want all groups of a cluster, or a broker that is down, on a cluster of their own.
func TestResetCasesOfKafkaOnTheirOwnCluster(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{Nodes: 2})
	cl := k.Client(t)
	tools := real.Tools(t)
	for _, protocol := range []string{"classic", "consumer"} {
		b := &bed{t: t, kafka: k, tools: tools, cl: cl, protocol: protocol, prefix: protocol + "-", home: t.TempDir(), now: time.Now().UnixMilli()}
		t1, t2 := b.topic("t1", 1), b.topic("t2", 1)
		b.produce(t1, 1, 100, time.Second)
		b.produce(t2, 1, 100, time.Second)
		all := map[string]map[int32]int64{t1: {0: 100}, t2: {0: 100}}
		b.consumed("g1", all)
		b.consumed("g2", all)
		b.consumed("g3", all)
		args := []string{"-b", k.Bootstrap(), "reset", "--all-groups"}
		run1 := func(code int, more ...string) {
			t.Helper()
			if r := run(t, b.home, "", false, append(args[:len(args):len(args)], more...)...); r.code != code {
				t.Fatalf("status %d, want %d\n%s%s", r.code, code, r.out, r.err)
			}
		}
		// 05-ExistingTopicAllGroups
		run1(0, "--topic", t1, "--to-offset", "50", "--dry-run")
		b.only(all)
		run1(0, "--topic", t1, "--to-offset", "50", "--execute")
		b.only(map[string]map[int32]int64{t1: {0: 50}, t2: {0: 100}})
		// 06-AllTopicsAllGroups
		run1(0, "--all-topics", "--to-offset", "40", "--execute")
		own := map[string]map[string]map[int32]int64{}
		for _, g := range append(b.own, b.java...) {
			own[g] = b.offsets(g)
		}
		if r := tools.Run(t, kafkatest.ConsumerGroups, "--bootstrap-server", k.Bootstrap(), "--reset-offsets", "--all-groups", "--all-topics", "--to-offset", "40", "--execute"); r.Status != 0 {
			t.Fatalf("Kafka's tool: %+v", r)
		}
		for g, had := range own {
			if !equal(had, map[string]map[int32]int64{t1: {0: 40}, t2: {0: 40}}) || !equal(had, b.offsets(g)) {
				t.Errorf("koffset left %v for %s, Kafka's tool %v", had, g, b.offsets(g))
			}
		}
		kafkatest.DeleteTopic(t, cl, t1)
		kafkatest.DeleteTopic(t, cl, t2)
	}

	// 02-WithOfflinePartitionNotInResetTarget and 27-WithPartitionNoneLeader
	b := &bed{t: t, kafka: k, tools: tools, cl: cl, prefix: "down-", home: t.TempDir(), now: time.Now().UnixMilli()}
	topic := b.prefix + "t"
	kafkatest.CreateTopicOn(t, cl, topic, 1, 2, 1)
	b.produce(topic, 3, 100, time.Second)
	// The group must not have its coordinator on the broker that is stopped.
	for i := 0; len(b.own) == 0; i++ {
		g := fmt.Sprintf("%sg%d", b.prefix, i)
		node, err := inspect.Coordinator(t.Context(), cl, g)
		if err != nil {
			t.Fatal(err)
		}
		if node == 1 {
			b.own = []string{g}
		}
	}
	b.reset(0, "--topic", topic+":0,1,2", "--to-earliest", "--create")
	k.StopNode(t, 2)
	b.cl = k.Client(t)
	kafkatest.Until(t, "partition 1 has no leader", func() bool {
		r := run(t, b.home, "", false, "-b", k.Bootstrap(), "--timeout", "5s", "reset", b.own[0], "--topic", topic+":1", "--to-earliest", "--create")
		return r.code == 3
	})
	r := b.reset(3, "--topic", topic+":0,1,2", "--to-earliest", "--create", "--execute")
	if !strings.Contains(r.err, topic+":1: LEADER_NOT_AVAILABLE") {
		t.Errorf("it does not name the partition and why: %s", r.err)
	}
	stored := func() (n int) {
		kafkatest.Until(t, "the commits can be read", func() bool {
			c, err := inspect.ReadCommitsOf(t.Context(), b.cl, b.own[0])
			n = c.Len()
			return err == nil
		})
		return n
	}
	if n := stored(); n != 0 {
		t.Errorf("%d commits after a refusal", n)
	}
	b.reset(0, "--topic", topic+":0", "--to-earliest", "--create", "--execute")
	if n := stored(); n != 1 {
		t.Errorf("%d commits, want that of partition 0", n)
	}
}
