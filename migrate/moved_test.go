package migrate_test

// Whether a target group has read further than a position is a matter of records, not of numbers: in import and in sync as in verify.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

func TestFurtherByMarkers(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	furtherByMarkers(t, src, dst)
}

// furtherByMarkers is the test on any two clusters. On both lie 0 to 3, a marker, 5 to 8, a marker, 10 to 12 of an aborted
// transaction, its marker, 14 to 17, and a marker at the end.
func furtherByMarkers(t *testing.T, src, dst *kgo.Client) {
	t.Helper()
	for n, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "further", 1)
		txn := kafkatest.NewTxn(t, cl, fmt.Sprint("further", n))
		rs := kafkatest.Records("further", 0, 15, 1_700_000_000_000, 1000)
		for _, part := range []struct {
			from, until int
			commit      bool
		}{{0, 4, true}, {4, 8, true}, {8, 11, false}, {11, 15, true}} {
			txn.Begin()
			txn.Produce(rs[part.from:part.until]...)
			txn.End(part.commit)
		}
		if b := kafkatest.Bounds(t, cl, "further")[0]; b.End != 19 {
			t.Fatalf("the log is %+v", b)
		}
	}
	for _, c := range []struct {
		source, target int64
		want           migrate.Verdict
	}{
		{4, 5, migrate.VerdictSame},      // a marker between
		{9, 10, migrate.VerdictSame},     // one in front of an aborted transaction
		{13, 14, migrate.VerdictSame},    // an aborted one's
		{18, 19, migrate.VerdictSame},    // one at the end
		{10, 14, migrate.VerdictUnknown}, // records that were aborted: given to some readers
		{9, 13, migrate.VerdictUnknown},
		{4, 6, migrate.VerdictAhead},
		{12, 19, migrate.VerdictAhead},
	} {
		t.Run(fmt.Sprintf("%d and %d", c.source, c.target), func(t *testing.T) {
			g := fmt.Sprintf("further.%d.%d", c.source, c.target)
			kafkatest.Commit(t, src, g, kafkatest.At("further", 0, c.source))
			importFurther(t, src, dst, g, c.target, c.want)
			syncFurther(t, src, dst, g, c.source, c.target, c.want)
		})
	}
}

// importFurther imports and verifies a group whose target has a commit.
func importFurther(t *testing.T, src, dst *kgo.Client, g string, target int64, want migrate.Verdict) {
	t.Helper()
	kafkatest.Commit(t, dst, g, kafkatest.At("further", 0, target))
	checked, err := migrate.Verify(t.Context(), dst, export(t, src, g), migrate.Mapping{}, 0, nil)
	if err != nil || checked[0].Verdict != want {
		t.Errorf("verify: %v %s (%s), want %s", err, checked[0].Verdict, checked[0].Detail, want)
	}
	res := translate(t, src, dst, g, migrate.Query{Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}})
	if res.Items[0].Outcome != migrate.Exact {
		t.Fatalf("%s %d, %v", res.Items[0].Label(), res.Items[0].Offset, res.Items[0].Reasons)
	}
	judgeFurther(t, dst, res, want)
}

// judgeFurther makes the plan of an import of one row, and says what is wrong with it.
func judgeFurther(t *testing.T, dst *kgo.Client, res *migrate.Result, want migrate.Verdict) {
	t.Helper()
	p, err := migrate.MakePlan(t.Context(), dst, res, migrate.PlanOptions{Verb: "import"})
	if err != nil {
		t.Fatal(err)
	}
	action, effect, says := checkpointfile.ActionLeave, migrate.Effect{PerhapsAhead: 1}, "is not known"
	switch want {
	case migrate.VerdictSame:
		action, effect, says = checkpointfile.ActionNone, migrate.Effect{Already: 1}, ""
	case migrate.VerdictAhead:
		effect, says = migrate.Effect{Ahead: 1, MostAhead: res.Items[0].Current.Offset - res.Items[0].Offset}, "ahead of"
	}
	if c := p.Plan.Changes[0]; c.Action != action || p.Effect != effect || !strings.Contains(c.Detail, says) {
		t.Errorf("import: %s (%s), %+v; want %s, %+v", c.Action, c.Detail, p.Effect, action, effect)
	}
}

// syncFurther meets the group with its commit on the target, and carries another one that then gets that commit from somebody else.
func syncFurther(t *testing.T, src, dst *kgo.Client, g string, source, target int64, want migrate.Verdict) {
	t.Helper()
	dir := t.TempDir()
	open := func() *migrate.Syncer {
		return &migrate.Syncer{State: migrate.OpenSyncState(dir, "src", "dst", "test"), Clock: time.Now, Retention: time.Hour}
	}
	met := map[migrate.Verdict]migrate.SyncStep{migrate.VerdictSame: migrate.StepNone, migrate.VerdictAhead: migrate.StepTakenOver, migrate.VerdictUnknown: migrate.StepCarry}
	syncRound(t, open(), src, dst, dir, noCrash, g)
	r := syncRound(t, open(), src, dst, dir, noCrash, g)
	if len(r.Look.Steps[met[want]]) != 1 || committedAt(t, dst, g, "further") != target || want == migrate.VerdictUnknown && r.Planned.Effect.PerhapsAhead != 1 {
		t.Errorf("met first: %v, the target has %d; %+v", r.Look.Steps, committedAt(t, dst, g, "further"), r.Planned.Effect)
	}
	carried := g + ".carried"
	kafkatest.Commit(t, src, carried, kafkatest.At("further", 0, source))
	syncRound(t, open(), src, dst, dir, noCrash, carried)
	if got := committedAt(t, dst, carried, "further"); got != source {
		t.Fatalf("carried to %d, want %d", got, source)
	}
	kafkatest.Commit(t, dst, carried, kafkatest.At("further", 0, target))
	steps := map[migrate.Verdict]migrate.SyncStep{migrate.VerdictSame: migrate.StepNone, migrate.VerdictAhead: migrate.StepTakenOver, migrate.VerdictUnknown: migrate.StepNotKnown}
	if r := syncRound(t, open(), src, dst, dir, noCrash, carried); len(r.Look.Steps[steps[want]]) != 1 {
		t.Errorf("carried: %v, want %s", r.Look.Steps, steps[want])
	}
	// The source goes on: only what nobody has taken over follows.
	kafkatest.Commit(t, src, carried, kafkatest.At("further", 0, 19))
	after := target
	if want == migrate.VerdictSame {
		after = 19
	}
	if syncRound(t, open(), src, dst, dir, noCrash, carried); committedAt(t, dst, carried, "further") != after {
		t.Errorf("the source is at 19, and the target has %d, want %d", committedAt(t, dst, carried, "further"), after)
	}
}

// What lies between two commits cannot be read: it is not known whether the group was moved, until it can.
func TestFurtherNotReadable(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	c, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "further", 1)
		kafkatest.Produce(t, cl, kafkatest.Records("further", 0, 20, 1_700_000_000_000, 1000)...)
	}
	kafkatest.Commit(t, src, "g", kafkatest.At("further", 0, 10))
	dir := t.TempDir()
	s := &migrate.Syncer{State: migrate.OpenSyncState(dir, "src", "dst", "test"), Clock: time.Now, Retention: time.Hour}
	syncRound(t, s, src, dst, dir, noCrash, "g")
	kafkatest.Commit(t, dst, "g", kafkatest.At("further", 0, 12))
	table := migrate.Query{Rules: migrate.Rules{Strategies: []migrate.Strategy{migrate.ByTable}}, Table: map[offset.Partition][]migrate.Sync{{Topic: "further"}: {{Source: 10, Target: 10}}}}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: 2})
	if r := syncRound(t, s, src, dst, dir, noCrash, "g"); len(r.Look.Steps[migrate.StepNotKnown]) != 1 || !strings.Contains(r.Look.Steps[migrate.StepNotKnown][0].Unclear(), "TOPIC_AUTHORIZATION_FAILED") {
		t.Errorf("sync: %v", r.Look.Steps)
	}
	judgeFurther(t, dst, translate(t, src, dst, "g", table), migrate.VerdictUnknown)
	if r := syncRound(t, s, src, dst, dir, noCrash, "g"); len(r.Look.Steps[migrate.StepTakenOver]) != 1 {
		t.Errorf("sync, when it can be read again: %v", r.Look.Steps)
	}
	judgeFurther(t, dst, translate(t, src, dst, "g", table), migrate.VerdictAhead)
}

// The log start moved past what sync committed: what lay between it and another client's commit is gone. Records that are left between
// them tell that the group was moved, and nothing else does.
func TestFurtherThanTheLogStart(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "further", 1)
		kafkatest.Produce(t, cl, kafkatest.Records("further", 0, 20, 1_700_000_000_000, 1000)...)
	}
	kafkatest.Commit(t, src, "g", kafkatest.At("further", 0, 10))
	dir := t.TempDir()
	s := &migrate.Syncer{State: migrate.OpenSyncState(dir, "src", "dst", "test"), Clock: time.Now, Retention: time.Hour}
	syncRound(t, s, src, dst, dir, noCrash, "g")
	kafkatest.DeleteRecords(t, dst, "further", 0, 15)
	for _, c := range []struct {
		at   int64
		want migrate.SyncStep
	}{{15, migrate.StepNotKnown}, {12, migrate.StepNotKnown}, {10, migrate.StepNone}, {16, migrate.StepTakenOver}} {
		kafkatest.Commit(t, dst, "g", kafkatest.At("further", 0, c.at))
		r := syncRound(t, s, src, dst, dir, noCrash, "g")
		if len(r.Look.Steps[c.want]) != 1 {
			t.Errorf("%d on the target: %v, want %s", c.at, r.Look.Steps, c.want)
		}
		if i := r.Look.Steps[migrate.StepNotKnown]; len(i) == 1 && !strings.Contains(i[0].Unclear(), "log start is 15") {
			t.Errorf("%d on the target: %s", c.at, i[0].Unclear())
		}
	}
}

// A topic is made anew on the target, and somebody has read on there already when sync meets it: the group is theirs, as one that was
// ahead when it was met first.
func TestFurtherOnATopicMadeAnew(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	rs := func() []*kgo.Record { return kafkatest.Records("further", 0, 20, 1_700_000_000_000, 1000) }
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "further", 1)
		kafkatest.Produce(t, cl, rs()...)
	}
	kafkatest.Commit(t, src, "g", kafkatest.At("further", 0, 8))
	dir := t.TempDir()
	s := &migrate.Syncer{State: migrate.OpenSyncState(dir, "src", "dst", "test"), Clock: time.Now, Retention: time.Hour}
	syncRound(t, s, src, dst, dir, noCrash, "g")
	kafkatest.DeleteTopic(t, dst, "further")
	kafkatest.CreateTopic(t, dst, "further", 1)
	kafkatest.Produce(t, dst, rs()[4:]...)                       // 8 at the source is 4 there now
	kafkatest.Commit(t, dst, "g", kafkatest.At("further", 0, 8)) // the number that sync had committed
	if r := syncRound(t, s, src, dst, dir, noCrash, "g"); r.Planned.Effect.Ahead != 1 {
		t.Errorf("met on the new topic: %v, %+v", r.Look.Steps, r.Planned.Effect)
	}
	kafkatest.Commit(t, src, "g", kafkatest.At("further", 0, 15))
	if r := syncRound(t, s, src, dst, dir, noCrash, "g"); len(r.Look.Steps[migrate.StepTakenOver]) != 1 || committedAt(t, dst, "g", "further") != 8 {
		t.Errorf("then: %v, the target has %d", r.Look.Steps, committedAt(t, dst, "g", "further"))
	}
}
