//go:build realkafka

package cmd_test

// What only a real Apache Kafka does: live members of every protocol, rights, deletes, and the offsets of share and streams
// groups.

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/kafkatest"
)

// A live consumer is never rewound, whatever its protocol; after it has left, it is.
func TestLiveGroupsAreNeverMoved(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer", "streams", "connect"} {
		t.Run(protocol, func(t *testing.T) {
			b := newBed(t, protocol, "live")
			topic := b.topic("t", 1)
			b.produce(topic, 1, 100, time.Second)
			g := b.prefix + "g"
			b.own = []string{g}
			o := kafkatest.MemberOptions{Group: g, Topics: []string{topic}, ClientID: "worker-7"}
			var m *kafkatest.Member
			kafkatest.Commit(t, b.cl, g, kafkatest.At(topic, 0, 60))
			switch protocol {
			case "classic":
				m = kafkatest.JoinClassic(t, b.cl, o)
			case "consumer":
				m = kafkatest.Join848(t, b.cl, o)
			case "streams":
				m = kafkatest.JoinStreams(t, b.cl, g, "worker-7", topic)
			case "connect":
				m = kafkatest.JoinConnect(t, b.cl, g, "worker-7")
			}
			before := b.offsets(g)
			r := b.reset(3, "--topic", topic, "--to-earliest", "--execute")
			if !strings.Contains(r.err, "with 1 member (worker-7 on 127.0.0.1") || strings.Contains(r.out, "NEW-OFFSET") {
				t.Errorf("got\n%s%s", r.out, r.err)
			}
			b.koffset(3, "delete", g, "--execute")
			b.koffset(3, "delete", g, "--topic", topic, "--execute")
			if after := b.offsets(g); !equal(before, after) {
				t.Errorf("moved from %v to %v", before, after)
			}
			m.Close()
			b.reset(0, "--topic", topic, "--to-offset", "7", "--execute", "--wait-empty", "60s", "--if-no-commit", "earliest")
			b.only(one(topic, 7))
			b.koffset(0, "delete", g, "--execute")
			b.only(map[string]map[int32]int64{})
		})
	}
}

// Kafka's DeleteOffsetsConsumerGroupCommandIntegrationTest: what a group in use, an empty one, and none answer for topics
// and partitions that are there and that are not.
func TestDeleteOffsetCasesOfKafka(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			b := newBed(t, protocol, "deleteoffsets")
			topic := b.topic("t", 1)
			b.produce(topic, 1, 10, time.Second)
			nowhere := b.prefix + "nowhere"
			java := func(group string, topics ...string) string {
				args := []string{"--bootstrap-server", b.kafka.Bootstrap(), "--delete-offsets", "--group", group}
				for _, x := range topics {
					args = append(args, "--topic", x)
				}
				return b.tools.Run(t, kafkatest.ConsumerGroups, args...).Stdout
			}
			b.koffset(5, "delete", b.prefix+"nobody", "--topic", topic, "--execute")
			b.consumed("g", one(topic, 5))
			own, other := b.own[0], b.java[0]
			b.koffset(5, "delete", own, "--topic", nowhere, "--execute")
			b.koffset(5, "delete", own, "--topic", nowhere+":0", "--execute")
			b.koffset(5, "delete", own, "--topic", topic+":7", "--execute")
			b.only(one(topic, 5))
			o := kafkatest.MemberOptions{Group: own, Topics: []string{topic}}
			join := kafkatest.JoinClassic
			if protocol == "consumer" {
				join = kafkatest.Join848
			}
			m := join(t, b.cl, o)
			for _, x := range []string{topic, topic + ":0"} {
				if r := b.koffset(3, "delete", own, "--topic", x, "--execute"); !strings.Contains(r.err, "with 1 member") {
					t.Errorf("it does not say who is in it: %s", r.err)
				}
			}
			// A topic that the running group does not subscribe to can go, as Kafka's own tool lets it (KIP-496).
			gaveUp := b.topic("gave-up", 1)
			m.Close()
			b.koffset(0, "reset", own, "--topic", gaveUp, "--to-offset", "0", "--execute", "--wait-empty", "60s")
			m = join(t, b.cl, o)
			b.koffset(0, "delete", own, "--topic", gaveUp, "--execute")
			if _, left := kafkatest.Commits(t, b.cl, own)[gaveUp]; left {
				t.Error("the commit on the topic that the group gave up is left")
			}
			m.Close()
			b.koffset(0, "delete", own, "--topic", topic+":0", "--execute", "--wait-empty", "60s")
			if out := java(other, topic+":0"); !strings.Contains(out, "Successful") {
				t.Errorf("Kafka's tool: %s", out)
			}
			b.same(map[string]map[int32]int64{})
			// Back again, and the whole topic.
			b.koffset(0, "undo", b.lastUndo(), "--execute")
			b.only(one(topic, 5))
			b.koffset(0, "delete", own, "--topic", topic, "--execute")
			b.only(map[string]map[int32]int64{})
		})
	}
}

func (b *bed) lastUndo() string {
	b.t.Helper()
	lines := strings.Split(b.koffset(0, "undo", "-o", "tsv").out, "\n")
	id, _, _ := strings.Cut(lines[1], "\t")
	return id
}

// Kafka's DeleteConsumerGroupsTest: none, in use, empty, all of them, some of each.
func TestDeleteGroupCasesOfKafka(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			b := newBed(t, protocol, "deletegroups")
			topic := b.topic("t", 1)
			b.produce(topic, 1, 10, time.Second)
			b.koffset(5, "delete", b.prefix+"nobody", "--execute")
			b.consumed("a", one(topic, 5))
			b.consumed("b", one(topic, 5))
			join := kafkatest.JoinClassic
			if protocol == "consumer" {
				join = kafkatest.Join848
			}
			m := join(t, b.cl, kafkatest.MemberOptions{Group: b.own[0], Topics: []string{topic}})
			b.koffset(3, "delete", b.own[0], "--execute")
			r := b.koffset(4, "delete", "-g", b.own[0], "-g", b.own[1], "-g", b.prefix+"nobody", "--execute")
			for _, want := range []string{"delete " + b.own[0] + ": the group is Stable with 1 member", `group "` + b.prefix + `nobody" does not exist`} {
				if !strings.Contains(r.err, want) {
					t.Errorf("it does not say %q:\n%s", want, r.err)
				}
			}
			if got := b.offsets(b.own[1]); len(got) != 0 {
				t.Errorf("the empty group still has %v", got)
			}
			m.Close()
			b.koffset(0, "delete", b.own[0], "--execute", "--wait-empty", "60s")
			b.koffset(0, "delete", "--group-match", b.prefix+".*", "--execute")
			if out := b.tools.Run(t, kafkatest.ConsumerGroups, "--bootstrap-server", b.kafka.Bootstrap(), "--list").Stdout; strings.Contains(out, b.prefix) {
				t.Errorf("Kafka's tool still lists\n%s", out)
			}
			b.koffset(2, "delete", "--delete-all", b.own[0])
		})
	}
}

// A static member that a stopped application left behind holds its group until the session times out; --evict removes it.
func TestEvictStaticMember(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			b := newBed(t, protocol, "evict")
			topic := b.topic("t", 1)
			g := b.prefix + "g"
			b.own = []string{g}
			kafkatest.Commit(t, b.cl, g, kafkatest.At(topic, 0, 0))
			join := kafkatest.JoinClassic
			if protocol == "consumer" {
				join = kafkatest.Join848
			}
			m := join(t, b.cl, kafkatest.MemberOptions{Group: g, Topics: []string{topic}, InstanceID: "pod-1"})
			// While it runs it comes back, and its commit stays.
			if r := b.koffset(3, "delete", g, "--evict", "--evict-watch", "40s", "--execute"); !strings.Contains(r.err, "it came back after it was evicted") {
				t.Errorf("got %s", r.err)
			}
			b.only(one(topic, 0))
			m.Close()
			if r := b.koffset(3, "delete", g, "--execute"); !strings.Contains(r.err, "(static pod-1)") {
				t.Errorf("it does not name the static member: %s", r.err)
			}
			b.koffset(0, "delete", g, "--evict")
			if r := b.koffset(0, "delete", g, "--evict", "--evict-watch", "1s", "--execute"); !strings.Contains(r.err, "evicted kafkatest (static pod-1)") {
				t.Errorf("got %s", r.err)
			}
			b.only(map[string]map[int32]int64{})
		})
	}
}

// A topic without rights does not poison the others, and is named with the right that is missing.
func TestResetWithoutRights(t *testing.T) {
	b := newBed(t, "classic", "rights")
	ta, tb := b.topic("a", 1), b.topic("b", 1)
	b.produce(ta, 1, 10, time.Second)
	b.produce(tb, 1, 10, time.Second)
	g := b.prefix + "g"
	b.own = []string{g}
	kafkatest.Commit(t, b.cl, g, kafkatest.At(ta, 0, 5), kafkatest.At(tb, 0, 5))
	k := b.kafka
	user := kafkatest.LimitedUser
	k.Allow(t, user, kmsg.ACLResourceTypeGroup, g, kmsg.ACLOperationRead)
	k.Allow(t, user, kmsg.ACLResourceTypeTopic, ta, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	lim := func(code int, args ...string) ran {
		t.Helper()
		all := append([]string{"-b", k.Secure().SASLAddr, "--command-config", k.CommandConfig(t, user)}, args...)
		r := run(t, b.home, "", false, all...)
		if r.code != code {
			t.Fatalf("koffset %s: status %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
		}
		return r
	}
	r := lim(7, "reset", g, "--topic", ta, "--topic", tb, "--to-offset", "1", "--execute")
	if !strings.Contains(r.err, "TOPIC_AUTHORIZATION_FAILED") || !strings.Contains(r.err, tb) || !strings.Contains(r.err, "DESCRIBE on the topic") {
		t.Errorf("it does not name the topic and the right: %s", r.err)
	}
	b.only(map[string]map[int32]int64{ta: {0: 5}, tb: {0: 5}})
	lim(0, "reset", g, "--topic", ta, "--to-offset", "1", "--execute")
	b.only(map[string]map[int32]int64{ta: {0: 1}, tb: {0: 5}})
	// DESCRIBE shows a topic, and READ is what a commit needs.
	tc := b.topic("c", 1)
	b.produce(tc, 1, 10, time.Second)
	k.Allow(t, user, kmsg.ACLResourceTypeTopic, tc, kmsg.ACLOperationDescribe)
	if r := lim(7, "reset", g, "--topic", tc, "--to-offset", "1", "--execute"); !strings.Contains(r.out, "the user needs READ on the topic") {
		t.Errorf("got\n%s%s", r.out, r.err)
	}
	if r := lim(4, "reset", g, "--topic", tc, "--topic", ta, "--to-offset", "2", "--execute"); !strings.Contains(r.err, "1 partition changed and read back; 1 failed") {
		t.Errorf("got\n%s%s", r.out, r.err)
	}
	if r := lim(7, "delete", g, "--topic", ta, "--execute"); !strings.Contains(r.out, "the user needs DELETE on the group") {
		t.Errorf("got\n%s%s", r.out, r.err)
	}
	// What this user may not see is not destroyed unseen: the commit on b is hidden from him. He is told, what he sees goes, and
	// the group stays with what it has on b.
	k.Allow(t, user, kmsg.ACLResourceTypeGroup, g, kmsg.ACLOperationDelete)
	if r := lim(0, "reset", g, "--all-topics", "--to-earliest"); !strings.Contains(r.err, "commits on topics that this user may not describe are hidden") {
		t.Errorf("reset --all-topics says nothing of what is hidden: %s", r.err)
	}
	if r := lim(0, "repair", g); !strings.Contains(r.err, "commits on topics that this user may not describe are hidden") {
		t.Errorf("repair says nothing of what is hidden: %s", r.err)
	}
	// A member names its topics to whoever may describe the group: then what is hidden has a name.
	member := kafkatest.JoinClassic(t, b.cl, kafkatest.MemberOptions{Group: g, Topics: []string{ta, tb}})
	if r := lim(0, "reset", g, "--all-topics", "--to-earliest"); !strings.Contains(r.err, "may not describe are hidden: "+tb+"; whether there are more such topics is not known") {
		t.Errorf("it does not name the topic that a member reads: %s", r.err)
	}
	member.Close()
	lim(0, "delete", g)
	b.only(map[string]map[int32]int64{ta: {0: 2}, tb: {0: 5}})
	if r := lim(4, "delete", g, "--execute"); !strings.Contains(r.err, "the group itself is left") || !strings.Contains(r.err, "left: "+g) {
		t.Errorf("got\n%s%s", r.out, r.err)
	}
	b.only(map[string]map[int32]int64{tb: {0: 5}})
	kafkatest.Commit(t, b.cl, g, kafkatest.At(ta, 0, 5))
	lim(0, "delete", g, "--allow-hidden", "--execute")
	if left := kafkatest.Commits(t, b.cl, g); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	// Without any right on a group.
	other := b.prefix + "other"
	kafkatest.Commit(t, b.cl, other, kafkatest.At(ta, 0, 5))
	if r := lim(7, "reset", other, "--topic", ta, "--to-offset", "1", "--execute"); !strings.Contains(r.err, "GROUP_AUTHORIZATION_FAILED") {
		t.Errorf("got %s", r.err)
	}
}

// The group whose name is empty: only the classic calls take it, and the others say that the name is invalid, which is no reason to
// know nothing of it. The broker deletes none of its commits one by one.
func TestGroupWithTheEmptyName(t *testing.T) {
	b := newBed(t, "classic", "empty")
	topic := b.topic("t", 2)
	b.produce(topic, 2, 10, time.Second)
	b.own = []string{`""`}
	offsets := func() map[int32]int64 { return kafkatest.CommittedOffsets(t, b.cl, "", topic) }
	b.koffset(0, "reset", `""`, "--topic", topic+":0", "--to-offset", "5", "--create", "--execute")
	if r := b.koffset(0, "reset", `""`, "--topic", topic, "--to-offset", "6", "--execute"); !strings.Contains(r.err, `2 partitions of group "" change`) {
		t.Errorf("got\n%s%s", r.out, r.err)
	}
	if r := b.koffset(4, "undo", "last", "--execute"); !strings.Contains(r.out, "a broker deletes no single commit of the group with the empty name") {
		t.Errorf("got\n%s%s", r.out, r.err)
	}
	if got := offsets(); !maps.Equal(got, map[int32]int64{0: 5, 1: 6}) {
		t.Errorf("it stands at %v", got)
	}
	b.koffset(0, "delete", `""`, "--execute")
	if got := offsets(); len(got) > 0 {
		t.Errorf("deleted, it stands at %v", got)
	}
	b.koffset(0, "undo", "last", "--execute")
	if got := offsets(); !maps.Equal(got, map[int32]int64{0: 5, 1: 6}) {
		t.Errorf("put back, it stands at %v", got)
	}
	b.koffset(0, "delete", `""`, "--execute")
}

// What the broker keeps of a commit: leader epoch and metadata, and nothing of what was not touched.
func TestResetKeepsEpochAndMetadata(t *testing.T) {
	b := newBed(t, "classic", "keeps")
	f := kafkatest.F1(t, b.cl, b.prefix)
	b.own = []string{f.App}
	before := kafkatest.Commits(t, b.cl, f.App)[f.Topic]
	b.reset(0, "--topic", f.Topic, "--to-current", "--if-no-commit", "skip", "--execute")
	b.reset(0, "--topic", f.Topic+":1", "--to-offset", "5", "--execute")
	after := kafkatest.Commits(t, b.cl, f.App)[f.Topic]
	if after[0] != before[0] || len(after) != 2 {
		t.Errorf("p0 was %+v and is %+v; %v", before[0], after[0], after)
	}
	if w := (kafkatest.Committed{Topic: f.Topic, Partition: 1, Offset: 5, LeaderEpoch: 0, Metadata: "ckpt=17"}); after[1] != w {
		t.Errorf("p1 is %+v, want %+v", after[1], w)
	}
	b.koffset(0, "undo", b.lastUndo(), "--execute")
	if again := kafkatest.Commits(t, b.cl, f.App)[f.Topic]; again[1] != before[1] {
		t.Errorf("after the undo p1 is %+v, want %+v", again[1], before[1])
	}
}

// Share groups are moved through their own call, and what Kafka's share tool describes is what was set.
func TestShareGroups(t *testing.T) {
	b := newBed(t, "share", "start")
	topic := b.topic("t", 2)
	b.produce(topic, 2, 20, time.Second)
	g := b.prefix + "g"
	b.own = []string{g}
	m := kafkatest.JoinShare(t, b.cl, kafkatest.MemberOptions{Group: g, Topics: []string{topic}, ClientID: "sharer"})
	if r := b.reset(3, "--topic", topic, "--to-earliest", "--execute"); !strings.Contains(r.err, "1 member (sharer on") {
		t.Errorf("got %s", r.err)
	}
	m.Close()
	starts := func() string {
		var out []string
		for _, row := range kafkatest.Table(b.tools.Run(t, kafkatest.ShareGroups, "--bootstrap-server", b.kafka.Bootstrap(), "--describe", "--group", g).Stdout) {
			out = append(out, row["PARTITION"]+"="+row["START-OFFSET"])
		}
		return strings.Join(out, " ")
	}
	b.reset(0, "--topic", topic, "--to-offset", "5", "--execute", "--wait-empty", "60s")
	if got := starts(); !strings.Contains(got, "0=5") || !strings.Contains(got, "1=5") {
		t.Errorf("Kafka's tool says %s", got)
	}
	b.reset(0, "--topic", topic+":1", "--to-latest", "--execute")
	if got := starts(); !strings.Contains(got, "0=5") || !strings.Contains(got, "1=20") {
		t.Errorf("Kafka's tool says %s", got)
	}
	b.koffset(0, "undo", b.lastUndo(), "--execute")
	if got := starts(); !strings.Contains(got, "1=5") {
		t.Errorf("after the undo Kafka's tool says %s", got)
	}
	b.koffset(0, "delete", g, "--topic", topic, "--execute")
	if got := starts(); strings.Contains(got, "=5") {
		t.Errorf("after the delete Kafka's tool says %s", got)
	}
	b.koffset(0, "delete", g, "--execute")
}

// A group's name stands in every record of a commit and of its removal: 1,000 partitions of a long name are more than one
// batch of the offsets topic in each direction.
func TestWideGroupWithALongName(t *testing.T) {
	const partitions = 1000
	b := newBed(t, "classic", "wide")
	topic := b.topic("t", partitions)
	kafkatest.Until(t, "all 1,000 partitions are led", func() bool {
		return run(t, b.home, "", false, "-b", b.kafka.Bootstrap(), "resolve", topic, "-o", "tsv").code == 0
	})
	g := b.prefix + strings.Repeat("g", 1200-len(b.prefix))
	full, none := map[string]map[int32]int64{topic: {}}, map[string]map[int32]int64{}
	for p := range int32(partitions) {
		full[topic][p] = 0
	}
	stands := func(after string, want map[string]map[int32]int64) {
		t.Helper()
		if got := b.offsets(g); !equal(got, want) {
			t.Fatalf("after the %s it has %d commits, want %d", after, len(got[topic]), len(want[topic]))
		}
	}
	first := func() {
		b.koffset(0, "reset", g, "--create", "--topic", topic, "--to-earliest", "--execute")
		stands("first commit", full)
	}
	first()
	b.koffset(0, "undo", b.lastUndo(), "--execute")
	stands("undo of the first commit", none)
	first()
	b.koffset(0, "delete", g, "--topic", topic, "--execute")
	stands("delete of the offsets", none)
	b.koffset(0, "undo", b.lastUndo(), "--execute")
	stands("undo of the delete", full)
	b.koffset(0, "delete", g, "--execute")
	stands("delete of the group", none)
	b.koffset(0, "undo", b.lastUndo(), "--execute")
	stands("undo of the group's delete", full)
}

// A check of what may not be seen does not hold: without rights on topics nothing of a group is known, and with rights on some only
// what is expected beside them tells.
func TestCheckWithoutRights(t *testing.T) {
	b := newBed(t, "classic", "blind")
	ta, tb := b.topic("a", 1), b.topic("b", 1)
	b.produce(ta, 1, 10, time.Second)
	b.produce(tb, 1, 10, time.Second)
	g := b.prefix + "g"
	b.own = []string{g}
	kafkatest.Commit(t, b.cl, g, kafkatest.At(ta, 0, 10), kafkatest.At(tb, 0, 1))
	k, user := b.kafka, kafkatest.LimitedUser
	k.Allow(t, user, kmsg.ACLResourceTypeGroup, g, kmsg.ACLOperationRead)
	check := func(args ...string) ran {
		return run(t, b.home, "", false, append([]string{"-b", k.Secure().SASLAddr, "--command-config", k.CommandConfig(t, user), "check", g, "--max-lag", "99999"}, args...)...)
	}
	if r := check("-o", "json"); r.code != 4 && r.code != 7 || strings.Contains(r.out, `"ok":true`) {
		t.Errorf("without rights on topics: status %d\n%s%s", r.code, r.out, r.err)
	}
	k.Allow(t, user, kmsg.ACLResourceTypeTopic, ta, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	if r := check("--expect-topics", ta+","+tb, "-o", "json"); r.code == 0 || !strings.Contains(r.out+r.err, tb) {
		t.Errorf("with a hidden topic that is expected: status %d\n%s%s", r.code, r.out, r.err)
	}
}
