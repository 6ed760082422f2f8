//go:build realkafka

package cmd_test

// A life of groups on a real broker, written down by what OffsetFetch said at each moment, beside what their history says of it.

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// pastBed is a broker whose offsets topic has one partition, which the test compacts.
type pastBed struct {
	t      *testing.T
	k      *kafkatest.Kafka
	cl     *kgo.Client
	groups []string
	notes  []pastNote

	followed followBed
}

// pastNote is what OffsetFetch said at a moment at which nothing was under way.
type pastNote struct {
	what    string
	at      time.Time
	commits map[string]map[offset.Partition]kafkatest.Committed
}

// note writes down what all groups have, and makes sure that the next thing happens at a later millisecond.
func (b *pastBed) note(what string) {
	n := pastNote{what: what, commits: map[string]map[offset.Partition]kafkatest.Committed{}}
	for _, g := range b.groups {
		n.commits[g] = map[offset.Partition]kafkatest.Committed{}
		for topic, parts := range kafkatest.Commits(b.t, b.cl, g) {
			for p, c := range parts {
				n.commits[g][offset.Partition{Topic: topic, Partition: p}] = c
			}
		}
	}
	n.at = time.Now().Truncate(time.Millisecond).Add(2 * time.Millisecond)
	kafkatest.Until(b.t, "the clock moves", func() bool { return time.Since(n.at) > 2*time.Millisecond })
	b.notes = append(b.notes, n)
	b.follows(what)
}

// check holds every moment that was written down against the history.
func (b *pastBed) check(parts []offset.Partition) (known, unknown int) {
	b.t.Helper()
	thens := make([]*history.Then, len(b.notes))
	for i, n := range b.notes {
		thens[i] = &history.Then{At: n.at}
	}
	r, err := history.Read(b.t.Context(), b.cl, history.Query{Groups: b.groups, Each: func(e *history.Event) {
		for _, then := range thens {
			then.Add(e)
		}
	}})
	if err != nil || r.Err() != nil {
		b.t.Fatalf("%v, %+v", err, r)
	}
	for i, n := range b.notes {
		then := thens[i]
		then.Now, then.Tombstones = r.At, r.Tombstones
		for _, g := range b.groups {
			for _, p := range parts {
				a := then.Of(g, p, r.For(g).Coverage)
				if !a.Known {
					unknown++
					continue
				}
				known++
				want, there := n.commits[g][p]
				switch {
				case there != (a.Commit != nil):
					b.t.Errorf("%s: %s on %s is %+v, OffsetFetch said %+v (%t)", n.what, g, p, a, want, there)
				case there && (a.Commit.Offset != want.Offset || a.Commit.Metadata != want.Metadata || a.Commit.LeaderEpoch.Wire() != want.LeaderEpoch):
					b.t.Errorf("%s: %s on %s is %+v, OffsetFetch said %+v", n.what, g, p, *a.Commit, want)
				}
			}
		}
	}
	return known, unknown
}

// commitFor commits as a client of old does, which says itself how long the commit is kept.
func (b *pastBed) commitFor(group, topic string, keep time.Duration, n int64) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.RetentionTimeMillis = group, keep.Milliseconds()
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Offset, rp.Metadata = n, kmsg.StringPtr("kept "+keep.String())
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	kafkatest.Until(b.t, "the coordinator takes the commit", func() bool {
		resp, err := b.cl.Broker(1).Request(b.t.Context(), oldCommit{req}) // the only one, as the client finds no coordinator for a wrapped request
		return err == nil && resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode == 0
	})
}

// oldCommit is at most the last version with a time of its own.
type oldCommit struct{ *kmsg.OffsetCommitRequest }

func (oldCommit) MaxVersion() int16 { return 4 }

func (b *pastBed) run(code int, args ...string) lineEnd {
	b.t.Helper()
	r := runLine(b.t, append([]string{"-b", b.k.Bootstrap()}, args...)...)
	if r.code != code {
		b.t.Fatalf("koffset %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

// member lets a consumer read to the end, commit and leave.
func (b *pastBed) member(join func(testing.TB, *kgo.Client, kafkatest.MemberOptions) *kafkatest.Member, group, client, topic string, end int64) {
	m := join(b.t, b.cl, kafkatest.MemberOptions{Group: group, Topics: []string{topic}, ClientID: client, AutoCommit: true})
	kafkatest.Until(b.t, group+" has committed what it read", func() bool {
		at := kafkatest.CommittedOffsets(b.t, b.cl, group, topic)
		return at[0] == end && at[1] == end
	})
	m.Close()
	kafkatest.Until(b.t, group+" is empty", func() bool { // the classic call knows no other group
		d, err := inspect.DescribeNamed(b.t.Context(), b.cl, []string{group})
		return err == nil && d[group].State == "Empty"
	})
}

func TestHistoryOfALife(t *testing.T) {
	t.Parallel() // it mostly waits
	// What expires says itself when: a retention of a minute for all would take what a slow machine comes to later.
	k := kafkatest.Start(t, kafkatest.Options{Properties: map[string]string{"offsets.topic.num.partitions": "1", "offsets.retention.check.interval.ms": "500",
		"log.cleaner.backoff.ms": "200", "group.initial.rebalance.delay.ms": "0"}})
	b := &pastBed{t: t, k: k, cl: k.Client(t), groups: []string{"classic", "newer", "txn", "old", "gone"}}
	for _, topic := range []string{"life", "again"} {
		kafkatest.CreateTopic(t, b.cl, topic, 2)
		for p := range int32(2) {
			kafkatest.Produce(t, b.cl, kafkatest.Records(topic, p, 50, 1_700_000_000_000, 1000)...)
		}
	}
	life := []offset.Partition{{Topic: "life"}, {Topic: "life", Partition: 1}, {Topic: "again"}, {Topic: "again", Partition: 1}}
	b.live()
	if known, unknown := b.check(life); unknown > 0 {
		t.Errorf("before compaction %d of %d are not known", unknown, known+unknown)
	}
	b.shows()
	b.keeps()
	b.restores()
	b.followsAlone()
	b.compact()
	b.follows("after compaction")
	known, unknown := b.check(life)
	if known == 0 || unknown == 0 {
		t.Errorf("after compaction %d are known, %d are not", known, unknown)
	}
	t.Logf("after compaction %d of %d answers are known", known, known+unknown)
	b.refuses()
	b.damage(life)
}

// live is the life: members of both protocols, a reset by koffset, transactions, removals, a topic that is made again.
func (b *pastBed) live() {
	t, cl := b.t, b.cl
	kafkatest.Commit(t, cl, "gone", kafkatest.Committed{Topic: "life", Offset: 30, LeaderEpoch: 0, Metadata: "kept by hand"}, kafkatest.At("life", 1, 31))
	b.note("a commit without members")
	b.member(kafkatest.JoinClassic, "classic", "reader-1", "life", 50)
	b.note("a classic consumer")
	b.member(kafkatest.Join848, "newer", "reader-2", "life", 50)
	b.note("a consumer of KIP-848")
	b.run(0, "reset", "classic", "--topic", "life", "--to-offset", "20", "--execute")
	b.note("a reset")
	if r := real.Tools(t).Run(t, kafkatest.ConsumerGroups, "--bootstrap-server", b.k.Bootstrap(), "--reset-offsets", "--group", "newer", "--topic", "life:0", "--to-offset", "33", "--execute"); r.Status != 0 {
		t.Fatalf("%+v", r)
	}
	b.note("a reset by Kafka's tool")
	end := kafkatest.PendingCommit(t, cl, "life-1", "txn", kafkatest.At("life", 0, 7))
	b.note("a transaction is open")
	kafkatest.Commit(t, cl, "txn", kafkatest.At("life", 1, 3))
	end(true)
	b.note("it was committed")
	kafkatest.PendingCommit(t, cl, "life-2", "txn", kafkatest.At("life", 0, 9))(false)
	b.note("one was aborted")
	end = kafkatest.PendingCommit(t, cl, "life-3", "txn", kafkatest.At("life", 0, 11))
	kafkatest.Commit(t, cl, "txn", kafkatest.At("life", 0, 10))
	end(true)
	b.note("a plain commit in between wins")
	b.commitFor("old", "life", time.Second, 40)
	kafkatest.Commit(t, cl, "old", kafkatest.At("again", 0, 12))
	b.note("a commit that expires")
	kafkatest.Until(t, "it expired", func() bool { return len(kafkatest.Commits(t, cl, "old")["life"]) == 0 })
	b.note("it expired")
	b.run(0, "delete", "classic", "--topic", "life:1", "--execute")
	b.note("a commit was deleted by request")
	b.run(0, "delete", "gone", "--execute")
	b.note("a group was deleted")
	kafkatest.Commit(t, cl, "newer", kafkatest.At("again", 1, 44))
	b.note("a commit on another topic")
	kafkatest.Commit(t, cl, "finished", kafkatest.At("again", 0, 1))
	kafkatest.DeleteTopic(t, cl, "again")
	kafkatest.Until(t, "its commits went with it", func() bool { // not by the newest call, which cannot name a topic that is gone
		for _, c := range inspect.ReadCommits(t.Context(), cl, []string{"newer", "old", "finished"}) {
			if c.Err != nil || slices.ContainsFunc(c.Topics, func(one inspect.TopicCommits) bool { return one.Topic == "again" }) {
				return false
			}
		}
		return true
	})
	b.note("the topic is gone")
	// Kafka removes the commits with their topic, so that nothing says any more which one it was; a group goes with the last of them,
	// sooner or later.
	if r := b.run(3, "delete", "newer", "--topic-gone", "--execute"); !strings.Contains(r.err, "delete newer: topic life exists") {
		t.Errorf("delete --topic-gone: %s%s", r.out, r.err)
	}
	kafkatest.CreateTopic(t, cl, "again", 2)
	kafkatest.Produce(t, cl, kafkatest.Records("again", 1, 50, 1_700_000_000_000, 1000)...)
	kafkatest.Commit(t, cl, "newer", kafkatest.At("again", 1, 5))
	kafkatest.Commit(t, cl, "finished", kafkatest.At("again", 0, 1))
	b.note("made again")
	if r := b.run(3, "delete", "finished", "--topic-gone", "--execute"); !strings.Contains(r.err, "delete finished: topic again exists") {
		t.Errorf("delete --topic-gone: %s%s", r.out, r.err)
	}
}

// shows looks at what the command prints of it.
func (b *pastBed) shows() {
	t := b.t
	for group, want := range map[string][]string{
		"classic": {"1 member: reader-1@127.0.0.1", "commit 20 -30 rewind no members", "deleted 20 not-expired"},
		"newer":   {"1 member: reader-2@127.0.0.1", "commit 33 -17 rewind no members", "deleted 44 not-expired"},
		"txn":     {"transactional 7", "aborted 9", "superseded 11", "commit 10 3"},
		"old":     {"commit 40", "deleted 40 old-enough"},
		"gone":    {"commit 30", "deleted 30", "group-deleted"},
	} {
		got := b.run(0, "history", group, "-o", "tsv").out
		var rows []string
		for line := range strings.Lines(got) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			rows = append(rows, strings.Join(slices.DeleteFunc([]string{f[4], f[5], f[6], f[7], f[13], f[8]}, func(s string) bool { return s == "-" }), " "))
		}
		for _, w := range want {
			if !slices.ContainsFunc(rows, func(row string) bool {
				i := -1
				for word := range strings.FieldsSeq(w) {
					if i = strings.Index(row, word); i < 0 {
						return false
					}
				}
				return true
			}) {
				t.Errorf("%s: no row with %q in\n%s", group, w, strings.Join(rows, "\n"))
			}
		}
	}
	deleted := b.run(0, "history", "--deleted", "-o", "tsv").out
	for _, w := range []string{"gone\tlife\t0\t30\t", "gone\tlife\t1\t31\t", "old\tlife\t0\t40\t", "classic\tlife\t1\t20\t"} {
		if !strings.Contains(deleted, w) {
			t.Errorf("--deleted does not have %q:\n%s", w, deleted)
		}
	}
}

// compact makes the offsets topic roll and be cleaned.
func (b *pastBed) compact() {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, history.Topic
	for name, value := range map[string]string{"segment.ms": "500", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "500", "min.compaction.lag.ms": "0"} {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = name, kmsg.StringPtr(value)
		r.Configs = append(r.Configs, c)
	}
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(b.t.Context(), b.cl)
	if err != nil || resp.Resources[0].ErrorCode != 0 {
		b.t.Fatalf("configure %s: %v, %+v", history.Topic, err, resp)
	}
	n := int64(0)
	kafkatest.Until(b.t, "the offsets topic is compacted", func() bool {
		n++
		kafkatest.Commit(b.t, b.cl, "filler", kafkatest.At("life", 0, n)) // a later record makes a new segment
		r, err := history.Read(b.t.Context(), b.cl, history.Query{Groups: []string{"classic"}, Each: func(*history.Event) {}})
		return err == nil && r.Err() == nil && !r.For("classic").Coverage.CompleteAt(b.notes[2].at)
	})
}

// refuses asks for what cannot be known any more, or is of another log.
func (b *pastBed) refuses() {
	t := b.t
	by := func(what string) pastNote {
		return b.notes[slices.IndexFunc(b.notes, func(n pastNote) bool { return n.what == what })]
	}
	// The topic of that commit was made again since: its number is another record now.
	r := runLine(t, "-b", b.k.Bootstrap(), "resolve", "again:1", "--to", "group:newer@"+offset.FormatTime(by("a commit on another topic").at))
	if r.code != 3 || !strings.Contains(r.err, "deleted and created again") && !strings.Contains(r.err, "is not known") {
		t.Errorf("a commit of a topic that was made again: %d\n%s%s", r.code, r.out, r.err)
	}
	// What compaction removed is refused, and what is left is named.
	r = runLine(t, "-b", b.k.Bootstrap(), "resolve", "life:0", "-g", "classic", "--to", "current@"+offset.FormatTime(by("a classic consumer").at))
	if r.code != 3 || !strings.Contains(r.err, "is not known") || !strings.Contains(r.err, "the oldest commit that is left is 20 of ") {
		t.Errorf("what compaction removed: %d\n%s%s", r.code, r.out, r.err)
	}
}

// keeps stores commits again: of a group without members of the classic protocol, and of one of whose members Kafka counts from when
// the last of them left.
func (b *pastBed) keeps() {
	t := b.t
	before := map[string]map[string]map[int32]kafkatest.Committed{"newer": kafkatest.Commits(t, b.cl, "newer"), "classic": kafkatest.Commits(t, b.cl, "classic")}
	b.run(0, "keep", "newer", "--execute")
	if now := kafkatest.Commits(t, b.cl, "newer"); !reflect.DeepEqual(now, before["newer"]) {
		t.Errorf("kept: %+v, was %+v", now, before["newer"])
	}
	if r := b.run(3, "keep", "classic", "--execute"); !strings.Contains(r.err, "would keep nothing") {
		t.Errorf("%s%s", r.out, r.err)
	}
	b.run(0, "keep", "classic", "--for", "30d", "--execute")
	c, was := kafkatest.Commits(t, b.cl, "classic")["life"][0], before["classic"]["life"][0]
	if c.Offset != was.Offset || c.Metadata != was.Metadata {
		t.Errorf("kept for 30 days: %+v, was %+v", c, was)
	}
	if out := b.run(0, "inspect", "classic", "newer", "--last-commit", "-o", "json").out; strings.Count(out, `"last_commit_known":true`) < 4 || strings.Contains(out, `"last_commit_known":false`) {
		t.Errorf("%s", out)
	}
	b.note("kept")
}

// restores brings back what expired and what was deleted, exactly.
func (b *pastBed) restores() {
	t := b.t
	b.groups = append(b.groups, "back", "restored")
	kafkatest.Commit(t, b.cl, "back", kafkatest.Committed{Topic: "life", Offset: 17, LeaderEpoch: 0, Metadata: "by hand"}, kafkatest.At("life", 1, 18))
	b.commitFor("restored", "life", time.Second, 25)
	b.note("to be restored")
	want := b.notes[len(b.notes)-1]
	b.run(0, "delete", "back", "--execute")
	kafkatest.Until(t, "it expired", func() bool { return len(kafkatest.Commits(t, b.cl, "restored")) == 0 })
	for _, g := range []string{"back", "restored"} {
		at := "current@" + offset.FormatTime(want.at)
		b.run(0, "reset", g, "--to", at, "--create", "--execute")
		got := map[offset.Partition]kafkatest.Committed{}
		for topic, parts := range kafkatest.Commits(t, b.cl, g) {
			for p, c := range parts {
				got[offset.Partition{Topic: topic, Partition: p}] = c
			}
		}
		if g == "restored" { // a commit of old has no epoch, and the log has one
			for p, c := range got {
				c.LeaderEpoch = want.commits[g][p].LeaderEpoch
				got[p] = c
			}
		} else if c := got[offset.Partition{Topic: "life", Partition: 1}]; c.LeaderEpoch == 0 {
			c.LeaderEpoch = want.commits[g][offset.Partition{Topic: "life", Partition: 1}].LeaderEpoch
			got[offset.Partition{Topic: "life", Partition: 1}] = c
		}
		if !maps.Equal(got, want.commits[g]) {
			t.Errorf("%s was %+v, and is %+v", g, want.commits[g], got)
		}
	}
}

// damage writes records that cannot be read, and one that a newer Kafka may write: the read goes on.
func (b *pastBed) damage(life []offset.Partition) {
	admin := b.k.Client(b.t, kgo.ClientID("__admin_client")) // the one client that may produce to Kafka's own topics
	k := kmsg.OffsetCommitKey{Version: 1, Group: "classic", Topic: "life"}
	kafkatest.Produce(b.t, admin,
		&kgo.Record{Topic: history.Topic, Key: []byte{0, 77, 0, 1, 'x'}, Value: []byte{0, 0}},
		&kgo.Record{Topic: history.Topic, Key: k.AppendTo(nil), Value: []byte{0, 9, 1}})
	b.check(life)
	r := b.run(0, "history", "classic")
	if !strings.Contains(r.err, "1 record of __consumer_offsets could not be decoded (1 of a newer Kafka)") || !strings.Contains(r.err, "1 record of types that this koffset does not know") ||
		!strings.Contains(r.out, "unreadable") {
		b.t.Errorf("%s%s", r.out, r.err)
	}
	if r := runLine(b.t, "-b", b.k.Bootstrap(), "resolve", "life:0", "-g", "classic", "--to", fmt.Sprintf("current@%s", offset.FormatTime(time.Now()))); r.code != 3 || !strings.Contains(r.err, "cannot be read") {
		b.t.Errorf("%d\n%s%s", r.code, r.out, r.err)
	}
}
