//go:build realkafka

package migrate_test

// Two Apache Kafkas with a real MirrorMaker 2 between them.

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

var real = kafkatest.Shared{Options: kafkatest.Options{Secure: true, Properties: map[string]string{
	// The cleaner looks every half second instead of every 15.
	"log.cleaner.backoff.ms": "500", "log.cleaner.min.cleanable.ratio": "0.01",
}}}

func TestMain(m *testing.M) { os.Exit(real.Main(m)) }

// readAll reads a partition whole, as a mirror that reads uncommitted records sees it.
func readAll(t *testing.T, cl *kgo.Client, topic string) []*kgo.Record {
	t.Helper()
	end := kafkatest.Bounds(t, cl, topic)[0]
	var out []*kgo.Record
	c, err := kgo.NewClient(append(cl.Opts(), kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for next := end.Start; next < end.End; {
		fs := c.PollFetches(t.Context())
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}

// positions is the case that other tools lose: a group that stands at 15 of 15 gets offset 1 from MirrorMaker, and 15 here. Deleted,
// transactional, compacted and look-alike records, every position of each log.
func (m *mirrorBed) positions(t *testing.T) {
	a, b, source := m.a, m.b, m.source
	x := export(t, a, slices.Sorted(maps.Keys(m.groups))...)
	q := migrate.Query{Header: x.Header, Mapping: migrate.Mapping{MM2Source: "src"}, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}}
	for _, g := range x.Groups {
		if len(g.Rows) != 1 || g.Rows[0].Error != "" {
			t.Fatalf("group %s was exported as %+v", g.Name, g)
		}
		q.Rows = append(q.Rows, g.Rows...)
	}
	res, err := migrate.TranslateAll(t.Context(), b, q)
	if err != nil {
		t.Fatal(err)
	}
	exact := map[string]int{}
	for _, i := range res.Items {
		target := readAll(t, b, i.Target.Topic)
		judgeMirror(t, i, source[i.Row.Topic], target)
		if i.Outcome == migrate.Exact {
			exact[i.Row.Topic]++
		} else if i.Row.Topic != "mm.twins" {
			t.Errorf("group %s: %s %d: %s %v", i.Group, i.Label(), i.Offset, i.Proof, i.Reasons)
		}
	}
	t.Logf("exact positions: %v", exact)

	plain := slices.IndexFunc(res.Items, func(i *migrate.Item) bool { return i.Group == "mm.plain.15" })
	if i := res.Items[plain]; i.Offset != 15 || i.Outcome != migrate.Exact {
		t.Errorf("a group at 15 of 15: %s to %d", i.Label(), i.Offset)
	}
	mirrorStrategy(t, a, b, q, source)

	// The target has lost its oldest records: a position that was among them is the log start, and nothing is skipped.
	kafkatest.DeleteRecords(t, b, "src.mm.plain", 0, 6)
	if res, err = migrate.TranslateAll(t.Context(), b, q); err != nil {
		t.Fatal(err)
	}
	for _, i := range res.Items {
		if i.Row.Topic != "mm.plain" {
			continue
		}
		judgeMirror(t, i, source["mm.plain"], readAll(t, b, "src.mm.plain"))
		if want := max(6, i.Row.Committed.Offset); !i.Resolved() || i.Offset != want {
			t.Errorf("with the target's first 6 records gone, %d is %s %d, want %d: %v", i.Row.Committed.Offset, i.Label(), i.Offset, want, i.Reasons)
		}
	}
}

// mirrorStrategy holds strategy mm2 to the same judge, with MirrorMaker's own topics as they come.
func mirrorStrategy(t *testing.T, a, b *kgo.Client, q migrate.Query, source map[string][]*kgo.Record) {
	t.Helper()
	var m migrate.MM2
	target := offset.Partition{Topic: "src.mm.plain"}
	kafkatest.Until(t, "MirrorMaker has a checkpoint of mm.plain.15", func() bool {
		m = migrate.MM2{}
		if !topicThere(t, b, migrate.CheckpointsTopic("src")) {
			return false
		}
		if err := m.ReadCheckpoints(t.Context(), b, migrate.CheckpointsTopic("src")); err != nil {
			t.Fatal(err)
		}
		c := m.Checkpoint("mm.plain.15", target, 15)
		return c != nil && c.Source == 15
	})
	t.Logf("MirrorMaker translates 15 of 15 to %d", m.Checkpoint("mm.plain.15", target, 15).Target)
	if err := m.ReadSyncs(t.Context(), a, migrate.SyncsTopic("dst")); err != nil {
		t.Fatal(err)
	}
	q.MM2, q.Rules.Strategies = &m, []migrate.Strategy{migrate.ByMM2}
	res, err := migrate.TranslateAll(t.Context(), b, q)
	if err != nil {
		t.Fatal(err)
	}
	resolved := 0
	for _, i := range res.Items {
		if i.Resolved() {
			resolved++
			judgeMirror(t, i, source[i.Row.Topic], readAll(t, b, i.Target.Topic))
		}
	}
	if resolved == 0 {
		t.Error("MirrorMaker's topics resolved nothing")
	}
	t.Logf("strategy mm2 resolved %d of %d positions", resolved, len(res.Items))
	checkpointBeyondSyncs(t, b, q, source)
}

// checkpointBeyondSyncs writes checkpoints that say more than MirrorMaker's syncs prove, as one that was written before a restart does:
// each group of mm.plain at the target's log end. Nobody loses a record to them.
func checkpointBeyondSyncs(t *testing.T, b *kgo.Client, q migrate.Query, source map[string][]*kgo.Record) {
	t.Helper()
	end := kafkatest.Bounds(t, b, "src.mm.plain")[0].End
	for _, r := range q.Rows {
		if r.Topic == "mm.plain" {
			kafkatest.Produce(t, b, &kgo.Record{Topic: migrate.CheckpointsTopic("src"), Key: enc(r.Group, "src.mm.plain", int32(0)),
				Value: enc(int16(0), r.Committed.Offset, end, "")})
		}
	}
	m := *q.MM2
	if err := m.ReadCheckpoints(t.Context(), b, migrate.CheckpointsTopic("src")); err != nil {
		t.Fatal(err)
	}
	if c := m.Checkpoint("mm.plain.5", offset.Partition{Topic: "src.mm.plain"}, 5); c == nil || c.Target != end {
		t.Fatalf("the checkpoint of mm.plain.5 is %v, want one at %d", c, end)
	}
	q.MM2 = &m
	res, err := migrate.TranslateAll(t.Context(), b, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range res.Items {
		if i.Row.Topic == "mm.plain" {
			judgeMirror(t, i, source["mm.plain"], readAll(t, b, "src.mm.plain"))
		}
	}
}

func topicThere(t *testing.T, cl *kgo.Client, topic string) bool {
	t.Helper()
	topics, err := inspect.ReadTopics(t.Context(), cl, []string{topic})
	if err != nil {
		t.Fatal(err)
	}
	return topics[topic].Err == nil && len(topics[topic].Partitions) > 0 && topics[topic].Partitions[0].Err == nil
}

// mirrorTopics makes topics of one partition each with what goes wrong in practice.
func mirrorTopics(t *testing.T, cl *kgo.Client) []string {
	t.Helper()
	start := time.Now().Add(-time.Hour).UnixMilli()
	kafkatest.CreateTopic(t, cl, "mm.plain", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("mm.plain", 0, 15, start, 100)...)

	kafkatest.CreateTopic(t, cl, "mm.trimmed", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("mm.trimmed", 0, 40, start, 100)...)
	kafkatest.DeleteRecords(t, cl, "mm.trimmed", 0, 25)

	kafkatest.CreateTopic(t, cl, "mm.equal", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("mm.equal", 0, 30, start, 0)...)

	kafkatest.CreateTopic(t, cl, "mm.twins", 1)
	twins := kafkatest.Records("mm.twins", 0, 20, start, 0)
	for _, r := range twins[4:15] {
		r.Value = []byte("the same")
	}
	kafkatest.Produce(t, cl, twins...)

	kafkatest.CreateTopic(t, cl, "mm.tx", 1)
	txn := kafkatest.NewTxn(t, cl, "mm.txn")
	n := 0
	for _, step := range []struct {
		records int
		commit  bool
	}{{3, true}, {12, false}, {4, true}, {1, false}, {2, true}} {
		txn.Begin()
		var rs []*kgo.Record
		for range step.records {
			rs = append(rs, kafkatest.Record("mm.tx", 0, start+int64(n), fmt.Sprint("tx", n)))
			n++
		}
		txn.Produce(rs...)
		txn.End(step.commit)
	}

	kafkatest.CreateTopic(t, cl, "mm.compact", 1, "cleanup.policy", "compact", "segment.ms", "1000", "min.cleanable.dirty.ratio", "0.01", "max.compaction.lag.ms", "1000")
	var rs []*kgo.Record
	for i := range 30 {
		r := kafkatest.Record("mm.compact", 0, start+int64(i)*10, fmt.Sprint("c", i))
		r.Key = fmt.Appendf(nil, "k%d", i%7)
		rs = append(rs, r)
	}
	kafkatest.Produce(t, cl, rs...)
	last := 0
	kafkatest.Until(t, "mm.compact is compacted", func() bool {
		// The active segment is never compacted; a later record makes a new one.
		r := kafkatest.Record("mm.compact", 0, time.Now().UnixMilli(), fmt.Sprint("roll", last))
		r.Key = fmt.Appendf(nil, "roll%d", last)
		last++
		kafkatest.Produce(t, cl, r)
		return len(readAll(t, cl, "mm.compact")) < 30
	})
	return []string{"mm.compact", "mm.equal", "mm.plain", "mm.trimmed", "mm.twins", "mm.tx"}
}

// judgeMirror holds a translated position to the records that are really there. Copies are known by their values.
func judgeMirror(t *testing.T, i *migrate.Item, source, target []*kgo.Record) {
	t.Helper()
	if !i.Resolved() {
		return
	}
	value := func(r *kgo.Record) string { return string(r.Key) + "=" + string(r.Value) }
	unread, ahead := map[string]int{}, map[string]int{}
	read := map[string]bool{}
	onTarget := map[string]int{}
	for _, r := range target {
		onTarget[value(r)]++
		if r.Offset >= i.Offset {
			ahead[value(r)]++
		}
	}
	for _, r := range source {
		if r.Offset >= i.Row.Committed.Offset {
			unread[value(r)]++
		} else {
			read[value(r)] = true
		}
	}
	for v, n := range unread {
		if want := min(n, onTarget[v]); ahead[v] < want {
			t.Errorf("group %s at %d to %d (%s): %s is skipped: %d unread, %d ahead\n%s", i.Group, i.Row.Committed.Offset, i.Offset, i.Proof, v, n, ahead[v], dump(target))
		}
	}
	again := int64(0)
	for v, n := range ahead {
		if read[v] && unread[v] == 0 {
			again += int64(n)
		}
	}
	if i.Outcome == migrate.Exact && again > 0 || again > i.Translation.Again && i.Outcome == migrate.Again {
		t.Errorf("group %s at %d to %d (%s): %d records come again\n%s", i.Group, i.Row.Committed.Offset, i.Offset, i.Label(), again, dump(target))
	}
}

func dump(rs []*kgo.Record) string {
	var b strings.Builder
	for _, r := range rs {
		fmt.Fprintf(&b, "  %d %s %s=%s\n", r.Offset, r.Timestamp.UTC().Format(time.RFC3339Nano), r.Key, r.Value)
	}
	return b.String()
}

// A user that may not see a topic gets a shorter export without a word from the broker; expecting the topic makes it an
// error. A group without rights is in the export as such, and the others are exported.
func TestExportWithFewRights(t *testing.T) {
	k := real.Kafka(t)
	super := k.Client(t)
	for _, topic := range []string{"a", "b"} {
		kafkatest.CreateTopic(t, super, topic, 1)
		kafkatest.Produce(t, super, kafkatest.Records(topic, 0, 10, kafkatest.F1Start, 100)...)
		kafkatest.Commit(t, super, "acl1", kafkatest.At(topic, 0, 4))
		kafkatest.Commit(t, super, "acl2", kafkatest.At(topic, 0, 4))
	}
	k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, "acl1", kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, "a", kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	lim := k.SASLClient(t, kafkatest.LimitedUser)
	read := func(o migrate.ExportOptions) (*migrate.Export, error) {
		o.Fingerprints = true
		return migrate.Collect(func(to migrate.Sink) (bool, error) { return migrate.ReadGroups(t.Context(), lim, o, to) })
	}
	x, err := read(migrate.ExportOptions{Groups: []inspect.Group{{Name: "acl1"}}})
	if err != nil || x.Incomplete || len(x.Groups[0].Rows) != 1 || x.Groups[0].Rows[0].Topic != "a" || len(x.Groups[0].Rows[0].Around.At) == 0 {
		t.Errorf("with rights on a alone: %+v, %v", x, err)
	}
	var hidden *migrate.HiddenError
	if _, err := read(migrate.ExportOptions{Groups: []inspect.Group{{Name: "acl1"}}, Expect: []string{"a", "b"}}); !errors.As(err, &hidden) || !slices.Equal(hidden.Topics, []string{"b"}) {
		t.Errorf("expecting a and b: %v", err)
	}
	x, err = read(migrate.ExportOptions{Groups: []inspect.Group{{Name: "acl1"}, {Name: "acl2"}}})
	if err != nil || !x.Incomplete || len(x.Groups) != 2 || len(x.Groups[0].Rows) != 1 || !strings.Contains(x.Groups[1].Error, "GROUP_AUTHORIZATION_FAILED") {
		t.Errorf("with a group that may not be read: %+v, %v", x, err)
	}
}

// With a broker down, its partitions are in the export as such, and the rest is there.
func TestExportWithABrokerDown(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{Nodes: 2})
	cl := k.Client(t)
	kafkatest.CreateTopicOn(t, cl, "two", 1, 2)
	kafkatest.Produce(t, cl, append(kafkatest.Records("two", 0, 10, kafkatest.F1Start, 100), kafkatest.Records("two", 1, 10, kafkatest.F1Start, 100)...)...)
	// The group's coordinator must be the one that stays.
	g := ""
	for n := 0; g == ""; n++ {
		name := fmt.Sprint("down", n)
		kafkatest.Commit(t, cl, name, kafkatest.At("two", 0, 4), kafkatest.At("two", 1, 4))
		node, err := inspect.Coordinator(t.Context(), cl, name)
		if err != nil {
			t.Fatal(err)
		}
		if node == 1 {
			g = name
		}
	}
	k.StopNode(t, 2)
	kafkatest.Until(t, "partition 1 has no leader", func() bool {
		topics, err := inspect.ReadTopics(t.Context(), cl, []string{"two"})
		return err == nil && topics["two"].PartitionErr(1) != nil
	})
	x, err := migrate.Collect(func(to migrate.Sink) (bool, error) {
		return migrate.ReadGroups(t.Context(), cl, migrate.ExportOptions{Groups: []inspect.Group{{Name: g, Type: inspect.TypeClassic}}, Fingerprints: true}, to)
	})
	if err != nil || !x.Incomplete {
		t.Fatalf("%+v, %v", x, err)
	}
	rows := x.Groups[0].Rows
	if len(rows) != 2 || rows[0].Around == nil || rows[0].Error != "" || rows[1].Committed == nil || rows[1].Committed.Offset != 4 || rows[1].Error == "" {
		t.Errorf("rows are %+v", rows)
	}
}

// kfake does not stamp, a broker does. A topic that stamps records when they arrive has none of the source's times: it says so, and guesses nothing.
func TestStampedOnArrival(t *testing.T) {
	src, dst := real.Kafka(t).Client(t), real.Second(t).Client(t)
	kafkatest.CreateTopic(t, src, "stamped", 1)
	kafkatest.CreateTopic(t, dst, "stamped", 1, "message.timestamp.type", "LogAppendTime")
	rs := kafkatest.Records("stamped", 0, 20, 1_700_000_000_000, 1000)
	kafkatest.Produce(t, src, rs...)
	var copies []*kgo.Record
	for _, r := range rs[5:] {
		c := *r
		copies = append(copies, &c)
	}
	kafkatest.Produce(t, dst, copies...)
	kafkatest.Commit(t, src, "stamped.g", kafkatest.At("stamped", 0, 12))
	i := translate(t, src, dst, "stamped.g", migrate.Query{Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}}).Items[0]
	if i.Resolved() || !strings.Contains(fmt.Sprint(i.Reasons), "LogAppendTime") {
		t.Errorf("%s %d, %v", i.Label(), i.Offset, i.Reasons)
	}
}
