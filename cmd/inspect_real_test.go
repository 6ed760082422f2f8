//go:build realkafka

package cmd_test

// inspect on a real broker, row by row beside what Kafka's own ConsumerGroupCommand shows: the cases of Kafka's
// DescribeConsumerGroupTest for both protocols, and the states that only a real broker gets right.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// shown is the JSON that inspect and resolve print.
type shown struct {
	Groups []struct {
		Group, Type, State, Status, Application, Assignor string
		MemberCount                                       int    `json:"member_count"`
		Coordinator                                       int32  `json:"coordinator"`
		Lag                                               *int64 `json:"lag"`
		Incomplete                                        bool
		Error                                             string
	}
	Partitions []shownPartition
	Members    []struct {
		Group, Assignment, Status string
		ClientID                  string `json:"client_id"`
		MemberID                  string `json:"member_id"`
		InstanceID                string `json:"instance_id"`
		Host                      string
		PartitionCount            int `json:"partition_count"`
	}
	Incomplete bool
}

type shownPartition struct {
	Group, Topic, Status, Error string
	Partition                   int32
	Committed                   *int64  `json:"committed_offset"`
	Epoch                       *int32  `json:"leader_epoch"`
	Metadata                    *string `json:"metadata"`
	Start                       *int64  `json:"log_start_offset"`
	End                         *int64  `json:"log_end_offset"`
	Stable                      *int64  `json:"last_stable_offset"`
	Lag                         *int64
	Expired                     *int64 `json:"expired_unread"`
	ShareStart                  *int64 `json:"share_start_offset"`
	Member                      *struct {
		MemberID string `json:"member_id"`
		ClientID string `json:"client_id"`
		Host     string
	}
	Offset      *int64
	TimestampMs *int64 `json:"timestamp_ms"`
	How         string
}

// lineEnd is one command line's end.
type lineEnd struct {
	shown
	out, err string
	code     int
	took     time.Duration
}

// runLine runs a command line in this process.
func runLine(t *testing.T, args ...string) lineEnd {
	t.Helper()
	var out, errs bytes.Buffer
	start := time.Now()
	code := cmd.Run(t.Context(), args, cli.App{
		Streams: &render.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Environ: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir(),
	})
	return lineEnd{out: out.String(), err: errs.String(), code: code, took: time.Since(start)}
}

// runJSON is runLine with -o json, its output read, and its status checked.
func runJSON(t *testing.T, code int, args ...string) lineEnd {
	t.Helper()
	r := runLine(t, append(args, "-o", "json")...)
	if r.code != code {
		t.Fatalf("koffset %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	if err := json.Unmarshal([]byte(r.out), &r.shown); err != nil && r.out != "" {
		t.Fatalf("koffset %s: %v\n%s", strings.Join(args, " "), err, r.out)
	}
	return r
}

// lookBed is the shared broker and a prefix of one test's names on it.
type lookBed struct {
	t      *testing.T
	kafka  *kafkatest.Kafka
	cl     *kgo.Client
	prefix string
}

func newLook(t *testing.T, prefix string) *lookBed {
	k := real.Kafka(t)
	return &lookBed{t: t, kafka: k, cl: k.Client(t), prefix: "look-" + prefix + "-"}
}

func (b *lookBed) koffset(code int, args ...string) lineEnd {
	b.t.Helper()
	return runJSON(b.t, code, append([]string{"-b", b.kafka.Bootstrap()}, args...)...)
}

func (b *lookBed) topic(name string, partitions int32, records int) string {
	b.t.Helper()
	topic := b.prefix + name
	kafkatest.CreateTopic(b.t, b.cl, topic, partitions)
	for p := range partitions {
		if records > 0 {
			kafkatest.Produce(b.t, b.cl, kafkatest.Records(topic, p, records, kafkatest.F1Start, 100)...)
		}
	}
	return topic
}

func (b *lookBed) join(protocol string, o kafkatest.MemberOptions) *kafkatest.Member {
	b.t.Helper()
	if protocol == "consumer" {
		return kafkatest.Join848(b.t, b.cl, o)
	}
	return kafkatest.JoinClassic(b.t, b.cl, o)
}

// java is what Kafka's tool shows about a group.
func (b *lookBed) java(group string, args ...string) []map[string]string {
	b.t.Helper()
	r := real.Tools(b.t).Run(b.t, kafkatest.ConsumerGroups, append([]string{"--bootstrap-server", b.kafka.Bootstrap(), "--describe", "--group", group}, args...)...)
	if r.Status != 0 {
		b.t.Fatalf("Kafka's describe of %s: %+v", group, r)
	}
	return kafkatest.Table(r.Stdout)
}

func dash[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// sameAsKafka compares every row of a group. Kafka's lag is end - commit wherever there is a commit; koffset's differs where
// records expired or the commit is past the end, which notes says by partition.
func (b *lookBed) sameAsKafka(group string, lags map[string]string) lineEnd {
	b.t.Helper()
	got := b.koffset(0, "inspect", group)
	have := map[string]string{}
	for _, p := range got.Partitions {
		who := "- - -"
		if p.Member != nil {
			who = p.Member.MemberID + " " + p.Member.Host + " " + p.Member.ClientID
		}
		have[fmt.Sprintf("%s:%d", p.Topic, p.Partition)] = fmt.Sprintf("%s %s lag %s by %s", dash(p.Committed), dash(p.End), dash(p.Lag), who)
	}
	want := map[string]string{}
	for _, row := range b.java(group) {
		part := row["TOPIC"] + ":" + row["PARTITION"]
		lag := row["LAG"]
		if l, ok := lags[part]; ok {
			lag = l
		}
		want[part] = fmt.Sprintf("%s %s lag %s by %s %s %s", row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], lag, row["CONSUMER-ID"], strings.TrimPrefix(row["HOST"], "/"), row["CLIENT-ID"])
	}
	if len(want) == 0 {
		b.t.Fatalf("Kafka's tool shows nothing of %s", group)
	}
	for part, w := range want {
		if have[part] != w {
			b.t.Errorf("%s on %s: %q, Kafka's tool %q", group, part, have[part], w)
		}
	}
	// koffset adds the partitions of the topic that the group has no commit on; Kafka leaves them out.
	for part, h := range have {
		if _, ok := want[part]; !ok && !strings.HasPrefix(h, "- ") {
			b.t.Errorf("%s on %s: %q, and Kafka's tool has no such row", group, part, h)
		}
	}
	return got
}

func protocols(t *testing.T, test func(t *testing.T, protocol string)) {
	for _, p := range []string{"classic", "consumer"} {
		t.Run(p, func(t *testing.T) { test(t, p) })
	}
}

func TestRealLiveAndEmptyGroups(t *testing.T) {
	protocols(t, func(t *testing.T, protocol string) {
		b := newLook(t, "live-"+protocol)
		one, two := b.topic("one", 1, 5), b.topic("two", 2, 7)
		group := b.prefix + "g"
		m := b.join(protocol, kafkatest.MemberOptions{Group: group, Topics: []string{one, two}, ClientID: "reader", AutoCommit: true})
		kafkatest.Until(t, "everything is committed", func() bool {
			c := kafkatest.Commits(t, b.cl, group)
			return c[one][0].Offset == 5 && c[two][0].Offset == 7 && c[two][1].Offset == 7
		})
		kafkatest.Produce(t, b.cl, kafkatest.Record(one, 0, kafkatest.F1Start, "more"))
		kafkatest.Until(t, "the last one is too", func() bool { return kafkatest.Commits(t, b.cl, group)[one][0].Offset == 6 })

		got := b.sameAsKafka(group, nil)
		g := got.Groups[0]
		state := b.java(group, "--state")[0]
		if g.Type != protocol || g.State != "Stable" || g.MemberCount != 1 || dash(g.Lag) != "0" || g.Incomplete {
			t.Errorf("%+v", g)
		}
		if state["STATE"] != g.State || state["#MEMBERS"] != "1" || !strings.HasSuffix(state["COORDINATOR (ID)"], fmt.Sprintf("(%d)", g.Coordinator)) || state["ASSIGNMENT-STRATEGY"] != g.Assignor {
			t.Errorf("%+v, Kafka's tool %v", g, state)
		}
		members := b.koffset(0, "inspect", group, "--by", "member").Members
		theirs := b.java(group, "--members")
		if len(members) != 1 || len(theirs) != 1 || members[0].MemberID != theirs[0]["CONSUMER-ID"] || strconv.Itoa(members[0].PartitionCount) != theirs[0]["#PARTITIONS"] ||
			members[0].ClientID != theirs[0]["CLIENT-ID"] || members[0].Host != strings.TrimPrefix(theirs[0]["HOST"], "/") {
			t.Errorf("members %+v, Kafka's tool %v", members, theirs)
		}
		for _, p := range got.Partitions {
			if dash(p.Epoch) != "0" {
				t.Errorf("%s:%d: leader epoch %s", p.Topic, p.Partition, dash(p.Epoch))
			}
		}

		m.Close()
		kafkatest.Until(t, "the group is empty", func() bool {
			return b.koffset(0, "inspect", group).Groups[0].State == "Empty"
		})
		got = b.sameAsKafka(group, nil)
		if g := got.Groups[0]; g.Type != protocol || g.MemberCount != 0 || dash(g.Lag) != "0" || len(got.Partitions) != 3 {
			t.Errorf("after it left: %+v", g)
		}
		// By its name alone, without the list.
		if all := b.koffset(0, "inspect", "--group-match", b.prefix+".*"); len(all.Groups) != 1 || all.Groups[0].Type != protocol {
			t.Errorf("%+v", all.Groups)
		}
	})
}

// C08: listed and described beside each other; the KIP-848 one is never Dead, empty or missing.
func TestRealNewProtocolBesideClassic(t *testing.T) {
	b := newLook(t, "both")
	topic := b.topic("t", 2, 3)
	for _, p := range []string{"classic", "consumer"} {
		b.join(p, kafkatest.MemberOptions{Group: b.prefix + p, Topics: []string{topic}, ClientID: p})
	}
	got := b.koffset(0, "inspect", "--group-match", b.prefix+".*")
	for i, want := range []string{"classic", "consumer"} {
		if g := got.Groups[i]; len(got.Groups) != 2 || g.Group != b.prefix+want || g.Type != want || g.State != "Stable" || g.MemberCount != 1 {
			t.Errorf("%+v", g)
		}
	}
	// Members that never committed have their partitions shown, with no offset (NonOffsetCommitGroup).
	for _, p := range []string{"classic", "consumer"} {
		for _, row := range b.sameAsKafka(b.prefix+p, nil).Partitions {
			if row.Status != "no-commit" || row.Member == nil || row.Lag != nil {
				t.Errorf("%s: %+v", p, row)
			}
		}
	}
}

func TestRealMembersAndPartitions(t *testing.T) {
	protocols(t, func(t *testing.T, protocol string) {
		for name, partitions := range map[string]int32{"more-members-than-partitions": 1, "a-partition-each": 2} {
			t.Run(name, func(t *testing.T) {
				b := newLook(t, protocol+"-"+name)
				topic := b.topic("t", partitions, 1)
				group := b.prefix + "g"
				b.join(protocol, kafkatest.MemberOptions{Group: group, Topics: []string{topic}, ClientID: "a"})
				b.join(protocol, kafkatest.MemberOptions{Group: group, Topics: []string{topic}, ClientID: "b"})
				var members, theirs string
				kafkatest.Until(t, "both are settled in both views", func() bool {
					var own, java []string
					for _, m := range b.koffset(0, "inspect", group, "--by", "member").Members {
						own = append(own, fmt.Sprintf("%s %s %d", m.ClientID, m.MemberID, m.PartitionCount))
					}
					total := 0
					for _, m := range b.java(group, "--members") {
						java = append(java, m["CLIENT-ID"]+" "+m["CONSUMER-ID"]+" "+m["#PARTITIONS"])
						n, _ := strconv.Atoi(m["#PARTITIONS"])
						total += n
					}
					slices.Sort(own)
					slices.Sort(java)
					members, theirs = strings.Join(own, "\n"), strings.Join(java, "\n")
					return len(java) == 2 && total == int(partitions) && members == theirs
				})
				if g := b.sameAsKafka(group, nil).Groups[0]; g.MemberCount != 2 || g.State != "Stable" {
					t.Errorf("%+v", g)
				}
			})
		}
	})
}

// Commits by an assigned consumer, below the start, past the end, negative, on an empty partition, on one of several.
func TestRealSickCommits(t *testing.T) {
	b := newLook(t, "sick")
	topic := b.topic("t", 4, 10)
	empty := b.topic("empty", 1, 0)
	kafkatest.DeleteRecords(t, b.cl, topic, 0, 4)
	group := b.prefix + "g"
	kafkatest.Commit(t, b.cl, group, kafkatest.At(topic, 0, 1), kafkatest.At(topic, 1, 99), kafkatest.Committed{Topic: topic, Partition: 2, Offset: 6, LeaderEpoch: 0, Metadata: "ckpt=17"},
		kafkatest.At(empty, 0, 0))
	got := b.sameAsKafka(group, map[string]string{topic + ":0": "6", topic + ":1": "-"})
	want := []string{empty + ":0 ok", topic + ":0 below-log-start expired 3", topic + ":1 past-log-end", topic + ":2 ok ckpt=17", topic + ":3 no-commit"}
	for i, p := range got.Partitions {
		line := fmt.Sprintf("%s:%d %s", p.Topic, p.Partition, p.Status)
		if p.Expired != nil {
			line += fmt.Sprintf(" expired %d", *p.Expired)
		}
		if p.Metadata != nil {
			line += " " + *p.Metadata
		}
		if i >= len(want) || line != want[i] {
			t.Errorf("row %d: %q", i, line)
		}
	}
	g := got.Groups[0]
	if g.Application != "offsets-only" || g.Type != "classic" || g.State != "Empty" || !g.Incomplete || dash(g.Lag) != "10" {
		t.Errorf("%+v", g)
	}
	marker := b.prefix + "marker"
	kafkatest.Commit(t, b.cl, marker, kafkatest.At(topic, 0, -5))
	if p := b.koffset(0, "inspect", marker).Partitions[0]; p.Status != "invalid-commit" || p.Lag != nil {
		t.Errorf("%+v", p)
	}
}

// C05 and the transactional commit: two ends, and a commit that is not final on one partition alone.
func TestRealTransactions(t *testing.T) {
	b := newLook(t, "txn")
	tx := kafkatest.OpenF3(t, b.cl, b.prefix)
	group := b.prefix + "g"
	kafkatest.Commit(t, b.cl, group, kafkatest.At(tx.Topic, 0, 7))
	b.sameAsKafka(group, nil)
	for _, c := range []struct{ isolation, lag string }{{"read_uncommitted", "4"}, {"read_committed", "0"}} {
		p := b.koffset(0, "inspect", group, "--isolation", c.isolation).Partitions[0]
		if dash(p.Lag) != c.lag || dash(p.Stable) != "7" || dash(p.End) != "11" || p.Status != "ok" {
			t.Errorf("%s: %+v", c.isolation, p)
		}
	}
	other := b.topic("other", 2, 9)
	kafkatest.Commit(t, b.cl, group, kafkatest.At(other, 0, 3), kafkatest.At(other, 1, 3))
	end := kafkatest.PendingCommit(t, b.cl, b.prefix+"t", group, kafkatest.At(other, 0, 8))
	rows := b.koffset(0, "inspect", group, "--topic", other).Partitions
	if rows[0].Status != "unstable" || dash(rows[0].Committed) != "3" || rows[1].Status != "ok" {
		t.Errorf("while it is open: %+v", rows)
	}
	end(false)
	if rows := b.koffset(0, "inspect", group, "--topic", other).Partitions; rows[0].Status != "ok" || dash(rows[0].Committed) != "3" {
		t.Errorf("after it was aborted: %+v", rows)
	}
}

// Groups of Kafka's other kinds are listed, described by their own calls and named as such.
func TestRealOtherKinds(t *testing.T) {
	b := newLook(t, "kinds")
	topic := b.topic("t", 2, 5)
	share, streams, workers := b.prefix+"share", b.prefix+"streams", b.prefix+"workers"
	kafkatest.SetGroupConfig(t, b.cl, share, "share.auto.offset.reset", "earliest")
	kafkatest.JoinShare(t, b.cl, kafkatest.MemberOptions{Group: share, Topics: []string{topic}, ClientID: "sharer"})
	kafkatest.JoinStreams(t, b.cl, streams, "app", topic)
	kafkatest.JoinConnect(t, b.cl, workers, "worker")
	kafkatest.JoinClassic(t, b.cl, kafkatest.MemberOptions{Group: "connect-" + b.prefix + "sink", Topics: []string{topic}, ClientID: "connector-consumer-x-0"})
	kafkatest.Commit(t, b.cl, b.prefix+"assigned", kafkatest.At(topic, 0, 1))

	got := b.koffset(0, "inspect", "--group-match", "(connect-)?"+b.prefix+".*")
	have := map[string]string{}
	for _, g := range got.Groups {
		have[g.Group] = fmt.Sprintf("%s %s %d %s", g.Type, g.State, g.MemberCount, g.Application)
	}
	want := map[string]string{
		share: "share Stable 1 ", streams: "streams Stable 1 ", workers: "classic Stable 1 connect-workers",
		"connect-" + b.prefix + "sink": "classic Stable 1 connect-sink:" + b.prefix + "sink", b.prefix + "assigned": "classic Empty 0 offsets-only",
	}
	if !maps.Equal(have, want) {
		t.Errorf("%v\nwant %v", have, want)
	}
	// The share group's start offsets, as Kafka's own tool has them.
	kafkatest.Until(t, "the share group has start offsets", func() bool {
		rows := b.koffset(0, "inspect", share).Partitions
		return len(rows) == 2 && rows[0].ShareStart != nil && rows[1].ShareStart != nil
	})
	r := real.Tools(t).Run(t, kafkatest.ShareGroups, "--bootstrap-server", b.kafka.Bootstrap(), "--describe", "--group", share)
	theirs := map[string]string{}
	for _, row := range kafkatest.Table(r.Stdout) {
		theirs[row["TOPIC"]+":"+row["PARTITION"]] = row["START-OFFSET"]
	}
	for _, p := range b.koffset(0, "inspect", share).Partitions {
		if s := theirs[fmt.Sprintf("%s:%d", p.Topic, p.Partition)]; dash(p.ShareStart) != s || p.Committed != nil {
			t.Errorf("%+v, Kafka's tool %q", p, s)
		}
	}
	// What a Streams member reads follows from its tasks.
	for _, p := range b.koffset(0, "inspect", streams).Partitions {
		if p.Member == nil || p.Member.ClientID != "app" || p.Status != "no-commit" {
			t.Errorf("%+v", p)
		}
	}
	if m := b.koffset(0, "inspect", workers, "--by", "member").Members; len(m) != 1 || m[0].ClientID != "worker" || m[0].PartitionCount != 0 {
		t.Errorf("%+v", m)
	}
}

// C06(a): a static member is still assigned to a topic that is gone. The other topic's rows are complete, and soon.
func TestRealTopicDeletedUnderAMember(t *testing.T) {
	protocols(t, func(t *testing.T, protocol string) {
		b := newLook(t, "gone-"+protocol)
		kept, gone := b.topic("kept", 2, 4), b.topic("gone", 2, 4)
		group := b.prefix + "g"
		m := b.join(protocol, kafkatest.MemberOptions{Group: group, Topics: []string{kept, gone}, ClientID: "c", InstanceID: "i"})
		kafkatest.Until(t, "the member has all four", func() bool { return len(b.koffset(0, "inspect", group).Partitions) == 4 })
		// A closed static member keeps its assignment until its session ends.
		m.Close()
		if _, err := kadm.NewClient(b.cl).DeleteTopic(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		kafkatest.Until(t, "the topic is gone", func() bool {
			r := runLine(t, "-b", b.kafka.Bootstrap(), "resolve", gone)
			return r.code == 5
		})
		r := runLine(t, "-b", b.kafka.Bootstrap(), "inspect", group, "-o", "json")
		if r.took > 5*time.Second {
			t.Errorf("it took %s", r.took)
		}
		if err := json.Unmarshal([]byte(r.out), &r.shown); err != nil {
			t.Fatal(err)
		}
		rows := map[string]int{}
		for _, p := range r.Partitions {
			rows[p.Topic+" "+p.Status]++
			if p.Topic == gone && (p.Status != "unknown-topic" || p.Error != "UNKNOWN_TOPIC_OR_PARTITION" || p.Lag != nil) {
				t.Errorf("%+v", p)
			}
		}
		if rows[kept+" no-commit"] != 2 {
			t.Errorf("%v", rows)
		}
		t.Logf("exit status %d, %v in %s", r.code, rows, r.took)
		// The classic group still names what it was assigned; the new protocol's coordinator takes it away at once.
		if protocol == "classic" && (rows[gone+" unknown-topic"] != 2 || r.code != 4 || !r.Incomplete) {
			t.Errorf("exit status %d, %v, incomplete %t", r.code, rows, r.Incomplete)
		}
	})
}

// ConsumerGroupWithoutLeaders: the row of a partition whose broker is down has no numbers, and the others have theirs.
func TestRealPartitionWithoutLeader(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{Nodes: 2})
	cl := k.Client(t)
	kafkatest.CreateTopicOn(t, cl, "t", 1, 2)
	for p := range int32(2) {
		kafkatest.Produce(t, cl, kafkatest.Records("t", p, 5, kafkatest.F1Start, 1)...)
	}
	// A group whose coordinator stays: the offsets topic is on both brokers.
	var group string
	for i := range 50 {
		name := fmt.Sprintf("g%d", i)
		found := kadm.NewClient(cl).FindGroupCoordinators(t.Context(), name)
		if c, ok := found[name]; ok && c.Err == nil && c.NodeID == 1 {
			group = name
			break
		}
	}
	if group == "" {
		t.Fatal("no group has its coordinator on node 1")
	}
	kafkatest.Commit(t, cl, group, kafkatest.At("t", 0, 2), kafkatest.At("t", 1, 3))
	k.StopNode(t, 2)
	first := k.Addrs()[0]
	kafkatest.Until(t, "partition 1 has no leader", func() bool {
		req := kmsg.NewPtrMetadataRequest()
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr("t")
		req.Topics = append(req.Topics, rt)
		resp, err := req.RequestWith(t.Context(), kafkatest.Client(t, []string{first}))
		return err == nil && slices.ContainsFunc(resp.Topics[0].Partitions, func(p kmsg.MetadataResponseTopicPartition) bool { return p.Leader == -1 })
	})
	r := runJSON(t, 4, "-b", first, "--timeout", "5s", "inspect", group)
	if r.took > 8*time.Second {
		t.Errorf("it took %s", r.took)
	}
	if len(r.Partitions) != 2 {
		t.Fatalf("%+v", r.Partitions)
	}
	if p := r.Partitions[0]; p.Status != "ok" || dash(p.Lag) != "3" {
		t.Errorf("%+v", p)
	}
	if p := r.Partitions[1]; p.Status != "error" || p.Error != "LEADER_NOT_AVAILABLE" || dash(p.Committed) != "3" || p.End != nil {
		t.Errorf("%+v", p)
	}
	if r := runLine(t, "-b", first, "--timeout", "5s", "resolve", "t", "--to", "latest"); r.code != 4 || !strings.Contains(r.out, "LEADER_NOT_AVAILABLE") {
		t.Errorf("resolve: exit status %d\n%s%s", r.code, r.out, r.err)
	}
	if all := runLine(t, "-b", first, "--timeout", "5s", "inspect"); all.code != 4 {
		t.Errorf("inspect: exit status %d\n%s%s", all.code, all.out, all.err)
	}
}

func TestRealUnknownGroup(t *testing.T) {
	b := newLook(t, "unknown")
	topic := b.topic("t", 1, 0)
	kafkatest.Commit(t, b.cl, b.prefix+"billing", kafkatest.At(topic, 0, 0))
	r := runLine(t, "-b", b.kafka.Bootstrap(), "inspect", b.prefix+"biling")
	if r.code != 5 || !strings.Contains(r.err, "does not exist") || !strings.Contains(r.err, "did you mean "+b.prefix+"billing") || r.out != "" {
		t.Errorf("exit status %d\n%s%s", r.code, r.out, r.err)
	}
	// The broker has no error for it: its commits are simply none.
	if r := runLine(t, "-b", b.kafka.Bootstrap(), "resolve", topic, "--to", "current", "-g", b.prefix+"biling"); r.code != 5 {
		t.Errorf("exit status %d\n%s%s", r.code, r.out, r.err)
	}
}

// A time that is too short ends with its own status, and in time.
func TestRealShortTimeout(t *testing.T) {
	b := newLook(t, "short")
	for _, args := range [][]string{{"inspect"}, {"resolve", "__consumer_offsets"}} {
		r := runLine(t, append([]string{"-b", b.kafka.Bootstrap(), "--timeout", "1ms"}, args...)...)
		if r.code != 6 || r.took > 5*time.Second {
			t.Errorf("%v: exit status %d after %s\n%s%s", args, r.code, r.took, r.out, r.err)
		}
	}
}
