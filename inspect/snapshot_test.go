package inspect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// Commits as users report them: past the end, below the start, never made, and stored as a marker.
func TestSickCommits(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	topic := kafkatest.F2(t, cl, "")
	kafkatest.DeleteRecords(t, cl, topic, 0, 3) // 3..5
	kafkatest.Commit(t, cl, "ahead", kafkatest.At(topic, 0, 99), kafkatest.At(topic, 1, 1))
	kafkatest.Commit(t, cl, "expired", kafkatest.At(topic, 0, 1), kafkatest.At(topic, 1, 0))
	kafkatest.Commit(t, cl, "marker", kafkatest.At(topic, 0, -5))
	s := snapshot(t, cl, inspect.Query{})
	for group, want := range map[string]struct {
		rows []string
		sum  inspect.Totals
	}{
		"ahead": {[]string{"ts:0 at 99 in 3..5 past-log-end", "ts:1 at 1 in 0..1 lag 0 ok", "ts:2 in 0..0 no-commit"},
			inspect.Totals{Topics: 1, Partitions: 3, Uncommitted: 1, Unhealthy: 1, Status: inspect.StatusPastLogEnd, Incomplete: true, Committed: true}},
		"expired": {[]string{"ts:0 at 1 in 3..5 lag 2 below-log-start", "ts:1 at 0 in 0..1 lag 1 ok", "ts:2 in 0..0 no-commit"},
			inspect.Totals{Topics: 1, Partitions: 3, Lag: 3, Uncommitted: 1, ExpiredUnread: 2, Unhealthy: 1, Status: inspect.StatusBelowLogStart, Committed: true}},
		"marker": {[]string{"ts:0 at -5 in 3..5 invalid-commit", "ts:1 in 0..1 no-commit", "ts:2 in 0..0 no-commit"},
			inspect.Totals{Topics: 1, Partitions: 3, Uncommitted: 2, Unhealthy: 1, Status: inspect.StatusInvalidCommit, Incomplete: true, Committed: true}},
	} {
		sameRows(t, group, rowLines(t, s, group), want.rows)
		sum := s.Sum(description(t, s, group))
		got := inspect.Totals{Topics: sum.Topics, Partitions: sum.Partitions, Lag: sum.Lag, Uncommitted: sum.Uncommitted, ExpiredUnread: sum.ExpiredUnread,
			Unhealthy: sum.Unhealthy, Status: sum.Status, Incomplete: sum.Incomplete, Errors: sum.Errors, Committed: sum.Committed}
		if got != want.sum {
			t.Errorf("%s: %+v, want %+v", group, got, want.sum)
		}
	}
	if a := description(t, s, "ahead"); s.GroupErr(a) != nil {
		t.Errorf("a sick commit is no error of the group: %v", s.GroupErr(a))
	}
}

func TestTransactionsInASnapshot(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	tx := kafkatest.OpenF3(t, cl, "")
	kafkatest.Commit(t, cl, "g", kafkatest.At(tx.Topic, 0, 7))
	for iso, want := range map[offset.Isolation]string{
		offset.ReadUncommitted: "tx:0 at 7 in 0..11 lag 4 ok", offset.ReadCommitted: "tx:0 at 7 in 0..11 lag 0 ok"} {
		s := snapshot(t, cl, inspect.Query{Isolation: iso})
		sameRows(t, iso.String(), rowLines(t, s, "g"), []string{want})
		for r := range s.Rows(description(t, s, "g")) {
			if r.HeldBack != 4 || r.Bounds.LastStable != 7 {
				t.Errorf("%s: %+v", iso, r.Verdict)
			}
		}
	}
}

// The group never committed; the topic was asked for. Its rows are there, with no number that stands for "none".
func TestGroupWithoutCommits(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	q := inspect.Query{Groups: []inspect.Group{{Name: "fresh"}}, Wanted: []offset.TopicSpec{{Topic: f.Topic}}}
	s := snapshot(t, cl, q)
	sameRows(t, "fresh", rowLines(t, s, "fresh"), []string{"orders.v1:0 in 4..10 no-commit", "orders.v1:1 in 0..10 no-commit", "orders.v1:2 in 0..10 no-commit"})
	if d := description(t, s, "fresh"); !d.NotFound {
		t.Errorf("%+v", d)
	}
	q.Groups, q.CommittedOnly = append(q.Groups, inspect.Group{Name: f.App}), true
	s = snapshot(t, cl, q)
	sameRows(t, "fresh", rowLines(t, s, "fresh"), nil)
	if n := len(rowLines(t, s, f.App)); n != 3 {
		t.Errorf("%s has %d rows", f.App, n)
	}
}

func TestTopicFilters(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.CreateTopic(t, cl, "other", 2)
	kafkatest.Commit(t, cl, f.App, kafkatest.At("other", 1, 0))
	groups := []inspect.Group{{Name: f.App, Type: inspect.TypeClassic}}
	m, err := offset.NewMatcher("topic", nil, []string{"oth.*"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: f.Topic, Observe: true, Count: -1})
	sameRows(t, "by pattern", rowLines(t, snapshot(t, cl, inspect.Query{Groups: groups, Topics: m}), f.App),
		[]string{"other:0 in 0..0 no-commit", "other:1 at 0 in 0..0 lag 0 ok"})
	if asked.Hits() > 0 {
		t.Error("the bounds of a topic that is not shown were asked for")
	}
	sameRows(t, "by name and partition", rowLines(t, snapshot(t, cl, inspect.Query{Groups: groups,
		Wanted: []offset.TopicSpec{{Topic: f.Topic, Partitions: []int32{1}}}}), f.App), []string{"orders.v1:1 at 7 in 0..10 lag 3 ok"})
}

// C06(b): commits on partitions that the recreated topic does not have. The rest must be complete, and soon.
func TestTopicWithFewerPartitionsThanCommits(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t1", 2)
	kafkatest.CreateTopic(t, cl, "t2", 2)
	storedInstead(fake, fetched{"t3", 0, 1, nil}, fetched{"t2", 3, 6, nil}, fetched{"t2", 0, 0, nil}, fetched{"t2", 2, 5, nil}, fetched{"t2", 1, 0, nil},
		fetched{"t1", 1, 0, nil}, fetched{"t1", 0, 0, nil})
	start := time.Now()
	s := snapshot(t, cl, inspect.Query{Groups: []inspect.Group{{Name: "g"}}})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	sameRows(t, "g", rowLines(t, s, "g"), []string{
		"t1:0 at 0 in 0..0 lag 0 ok", "t1:1 at 0 in 0..0 lag 0 ok",
		"t2:0 at 0 in 0..0 lag 0 ok", "t2:1 at 0 in 0..0 lag 0 ok", "t2:2 at 5 unknown-topic", "t2:3 at 6 unknown-topic",
		"t3:0 at 1 unknown-topic"})
	for r := range s.Rows(description(t, s, "g")) {
		if r.Status == inspect.StatusUnknownTopic && !errors.Is(r.Err, kerr.UnknownTopicOrPartition) {
			t.Errorf("%s: %v", r.Partition, r.Err)
		}
	}
	if sum := s.Sum(description(t, s, "g")); !sum.Incomplete || sum.Errors != 3 || sum.Status != inspect.StatusUnknownTopic {
		t.Errorf("%+v", sum)
	}
}

// One topic that may not be described costs its own rows only.
func TestForbiddenTopic(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.CreateTopic(t, cl, "secret", 1)
	kafkatest.Commit(t, cl, f.App, kafkatest.At("secret", 0, 0))
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata, kmsg.ListOffsets}, Topic: "secret", Err: kerr.TopicAuthorizationFailed, Count: -1})
	s := snapshot(t, cl, inspect.Query{})
	sameRows(t, f.App, rowLines(t, s, f.App), []string{
		"orders.v1:0 at 6 in 4..10 lag 4 ok", "orders.v1:1 at 7 in 0..10 lag 3 ok", "orders.v1:2 in 0..10 no-commit", "secret:0 at 0 error"})
	sameRows(t, f.App2, rowLines(t, s, f.App2), []string{
		"orders.v1:0 at 6 in 4..10 lag 4 ok", "orders.v1:1 at 7 in 0..10 lag 3 ok", "orders.v1:2 in 0..10 no-commit"})
	if sum := s.Sum(description(t, s, f.App)); !sum.Incomplete || sum.Lag != 7 || sum.Errors != 1 {
		t.Errorf("%+v", sum)
	}
}

// A leader's first answer may be older than a commit: it is looked at again before the commit is called past the end.
func TestSecondLookPastTheEnd(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.Commit(t, cl, "busy", kafkatest.At(f.Topic, 1, 12), kafkatest.At(f.Topic, 2, 10))
	producer := kafkatest.Client(t, fake.ListenAddrs(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	asks := 0
	fake.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		asks++
		if asks == 4 { // the three questions for the bounds have been answered
			fake.SleepControl(func() {
				rs := []*kgo.Record{kafkatest.Record(f.Topic, 1, kafkatest.F1Start, "a"), kafkatest.Record(f.Topic, 1, kafkatest.F1Start, "b")}
				if err := producer.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
					t.Error(err)
				}
			})
		}
		return nil, nil, false
	})
	s := snapshot(t, cl, inspect.Query{Groups: []inspect.Group{{Name: "busy", Type: inspect.TypeClassic}}})
	sameRows(t, "busy", rowLines(t, s, "busy"), []string{
		"orders.v1:0 in 4..10 no-commit", "orders.v1:1 at 12 in 0..12 lag 0 ok", "orders.v1:2 at 10 in 0..10 lag 0 ok"})
	if asks != 4 {
		t.Errorf("%d ListOffsets, want 3 and a second look", asks)
	}
}

func TestShareGroupRows(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.SetGroupConfig(t, cl, "share", "share.auto.offset.reset", "earliest")
	kafkatest.JoinShare(t, cl, kafkatest.MemberOptions{Group: "share", Topics: []string{f.Topic}})
	kafkatest.Until(t, "the share group has start offsets", func() bool {
		s := snapshot(t, cl, inspect.Query{})
		got := strings.Join(rowLines(t, s, "share"), "\n")
		return strings.Count(got, " from ") == 3
	})
	s := snapshot(t, cl, inspect.Query{})
	d := description(t, s, "share")
	if d.Type != inspect.TypeShare || s.GroupErr(d) != nil || s.Commits("share").Len() != 0 {
		t.Errorf("%+v, %v", d, s.GroupErr(d))
	}
	for r := range s.Rows(d) {
		if r.Committed != nil || r.ShareStart == nil || r.Lag == nil {
			t.Errorf("%s: %+v", r.Partition, r)
		}
	}
	if sum := s.Sum(d); !sum.Committed || sum.Partitions != 3 || sum.Incomplete {
		t.Errorf("%+v", sum)
	}
	s = snapshot(t, cl, inspect.Query{Groups: []inspect.Group{{Name: "share"}}})
	if got := strings.Join(rowLines(t, s, "share"), "\n"); strings.Count(got, " from ") != 3 || s.GroupErr(description(t, s, "share")) != nil {
		t.Errorf("by its name alone: %q", got)
	}
	s = snapshot(t, cl, inspect.Query{Groups: []inspect.Group{d.Group}, Wanted: []offset.TopicSpec{{Topic: f.Topic, Partitions: []int32{1}}}})
	if got := rowLines(t, s, "share"); len(got) != 1 || !strings.HasPrefix(got[0], "orders.v1:1 from ") {
		t.Errorf("partition 1 alone: %q", got)
	}
}
