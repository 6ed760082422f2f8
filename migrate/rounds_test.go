package migrate_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// crash is where a round ends as if the process was killed.
type crash int

const (
	noCrash crash = iota
	beforeCommit
	afterCommit
)

// syncRound runs one round of a syncer as the command does.
func syncRound(t *testing.T, s *migrate.Syncer, src, dst *kgo.Client, dir string, at crash, groups ...string) *migrate.SyncRound {
	t.Helper()
	o := migrate.ExportOptions{}
	for _, g := range groups {
		o.Groups = append(o.Groups, inspect.Group{Name: g})
	}
	x, err := migrate.Collect(func(to migrate.Sink) (bool, error) { return migrate.ReadGroups(t.Context(), src, o, to) })
	if err != nil {
		t.Fatal(err)
	}
	q := migrate.Query{Header: x.Header, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}}
	for _, g := range x.Groups {
		q.Rows = append(q.Rows, g.Rows...)
	}
	look, err := s.Look(t.Context(), dst, q)
	if err != nil {
		t.Fatal(err)
	}
	q.Rows = look.Rows
	if err := migrate.PrintRows(t.Context(), src, q.Header, q.Rows, 0, nil); err != nil {
		t.Fatal(err)
	}
	res, err := migrate.TranslateAll(t.Context(), dst, q)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Plan(t.Context(), dst, x, look, res)
	if err != nil {
		t.Fatal(err)
	}
	if reset.Summarize(r.Planned.Plan).Changed > 0 {
		if err := s.Intend(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if at == beforeCommit {
			return r
		}
		done, err := reset.Apply(t.Context(), dst, r.Planned.Plan, reset.Options{StateDir: dir, Operation: checkpointfile.Operation{Command: "test"}, Version: "test", Clock: time.Now})
		if err != nil || done.Bad() > 0 {
			t.Fatalf("%v, %+v", err, done)
		}
	}
	if at != afterCommit {
		if err := s.Carried(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// committedAt is what a group has stored on partition 0 of a topic, -1 for nothing.
func committedAt(t *testing.T, cl *kgo.Client, group, topic string) int64 {
	t.Helper()
	c, err := inspect.ReadCommitsOf(t.Context(), cl, group)
	if err != nil {
		return -1
	}
	if row, ok := c.Find(offset.Partition{Topic: topic}); ok && row.Committed() != nil {
		return row.Committed().Offset
	}
	return -1
}

// Twenty rounds, two of three of which are cut short around their commit: what sync committed is never taken for somebody else's, and
// what another client commits is left from then on, also by a syncer that starts again.
func TestRoundsWithCrashes(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	rounds(t, src, dst, "rounds")
}

// rounds is the test on any two clusters.
func rounds(t *testing.T, src, dst *kgo.Client, topic string) {
	t.Helper()
	kafkatest.CreateTopic(t, src, topic, 1)
	kafkatest.CreateTopic(t, dst, topic, 1)
	rs := kafkatest.Records(topic, 0, 300, 1_700_000_000_000, 1000)
	kafkatest.Produce(t, src, rs...)
	var copies []*kgo.Record
	for _, r := range rs[30:] {
		c := *r
		copies = append(copies, &c)
	}
	kafkatest.Produce(t, dst, copies...)
	group := topic + ".g"
	dir := t.TempDir()
	open := func() *migrate.Syncer {
		return &migrate.Syncer{State: migrate.OpenSyncState(dir, "src", "dst", "test"), Clock: time.Now, Retention: time.Hour}
	}
	for n := range 20 {
		at := int64(40 + 10*n)
		kafkatest.Commit(t, src, group, kafkatest.At(topic, 0, at))
		s := open()
		for _, c := range []crash{crash(n % 3), noCrash} {
			r := syncRound(t, s, src, dst, dir, c, group)
			if over := r.Look.Steps[migrate.StepTakenOver]; len(over) > 0 {
				t.Fatalf("round %d, %v: its own commit was taken for somebody else's: %d", n, c, over[0].Current.Offset)
			}
			s = open() // the next one is another process
		}
		if got := committedAt(t, dst, group, topic); got != at-30 {
			t.Fatalf("round %d: the target has %d, want %d", n, got, at-30)
		}
	}
	// The application moves over and reads ten records; the source goes on for a while, far ahead of it.
	kafkatest.Commit(t, dst, group, kafkatest.At(topic, 0, 210))
	kafkatest.Commit(t, src, group, kafkatest.At(topic, 0, 290))
	for n := range 2 {
		r := syncRound(t, open(), src, dst, dir, noCrash, group)
		if got := committedAt(t, dst, group, topic); got != 210 || len(r.Look.Steps[migrate.StepTakenOver]) != 1 {
			t.Fatalf("look %d: the application is at 210, and the target has %d; %v", n, got, r.Look.Steps)
		}
	}
	back := open()
	back.TakeBack = true
	syncRound(t, back, src, dst, dir, noCrash, group)
	if got := committedAt(t, dst, group, topic); got != 260 {
		t.Fatalf("taken back it has %d, want 260", got)
	}
	// The source is rewound.
	kafkatest.Commit(t, src, group, kafkatest.At(topic, 0, 100))
	syncRound(t, open(), src, dst, dir, noCrash, group)
	if got := committedAt(t, dst, group, topic); got != 260 {
		t.Fatalf("nobody said to follow the source back, and the target has %d", got)
	}
	follow := open()
	follow.FollowBack = true
	syncRound(t, follow, src, dst, dir, noCrash, group)
	if got := committedAt(t, dst, group, topic); got != 70 {
		t.Fatalf("following the source back the target has %d, want 70", got)
	}
}

// A commit that is made again before it expires is sent, though the target has it already.
func TestRefreshIsSent(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	c, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "old", 1)
		kafkatest.Produce(t, cl, kafkatest.Records("old", 0, 20, 1_700_000_000_000, 1000)...)
	}
	kafkatest.Commit(t, src, "g", kafkatest.At("old", 0, 10))
	now, sent := time.Now(), 0
	s := &migrate.Syncer{Clock: func() time.Time { return now }, Retention: time.Hour}
	dir := t.TempDir()
	syncRound(t, s, src, dst, dir, noCrash, "g")
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		sent++
		return nil, nil, false
	})
	for _, x := range []struct {
		pass time.Duration
		want int
	}{{20 * time.Minute, 0}, {20 * time.Minute, 1}, {10 * time.Minute, 1}, {25 * time.Minute, 2}} {
		now = now.Add(x.pass)
		if syncRound(t, s, src, dst, dir, noCrash, "g"); sent != x.want {
			t.Fatalf("%d commits were sent, want %d", sent, x.want)
		}
	}
}

// Two syncs of the same groups on one state directory: neither takes the other's commits for somebody else's.
func TestTwoSyncsAtOnce(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "two", 1)
		kafkatest.Produce(t, cl, kafkatest.Records("two", 0, 100, 1_700_000_000_000, 1000)...)
	}
	dir := t.TempDir()
	state := migrate.OpenSyncState(dir, "src", "dst", "test")
	open := func() *migrate.Syncer { return &migrate.Syncer{State: state, Clock: time.Now, Retention: time.Hour} }
	a, b := open(), open()
	for n := range 6 {
		at := int64(10 * (n + 1))
		kafkatest.Commit(t, src, "g", kafkatest.At("two", 0, at))
		for _, s := range []*migrate.Syncer{a, b} {
			if r := syncRound(t, s, src, dst, dir, noCrash, "g"); len(r.Look.Steps[migrate.StepTakenOver]) > 0 {
				t.Fatalf("round %d: the other's commit was taken for somebody else's", n)
			}
		}
		if got := committedAt(t, dst, "g", "two"); got != at {
			t.Fatalf("round %d: the target has %d, want %d", n, got, at)
		}
		a, b = b, a
	}
	// While one is in its round the other waits.
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan error)
	said := make(chan struct{})
	go func() {
		done <- state.Alone(t.Context(), func() {}, func() error { close(inside); <-leave; return nil })
	}()
	<-inside
	go func() {
		done <- state.Alone(t.Context(), func() { close(said) }, func() error {
			select {
			case <-leave:
			default:
				t.Error("two rounds at once")
			}
			return nil
		})
	}()
	<-said
	close(leave)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A topic of the target is made anew between two rounds, and holds other records: the number committed for the old log is not kept
// for this one, also where the broker has kept the commit.
func TestTargetMadeAnewBetweenRounds(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	rs := kafkatest.Records("anew", 0, 100, 1_700_000_000_000, 1000)
	copyFrom := func(n int) {
		kafkatest.CreateTopic(t, dst, "anew", 1)
		var copies []*kgo.Record
		for _, r := range rs[n:] {
			c := *r
			copies = append(copies, &c)
		}
		kafkatest.Produce(t, dst, copies...)
	}
	kafkatest.CreateTopic(t, src, "anew", 1)
	kafkatest.Produce(t, src, rs...)
	copyFrom(40)
	kafkatest.Commit(t, src, "g", kafkatest.At("anew", 0, 60))
	dir := t.TempDir()
	s := &migrate.Syncer{State: migrate.OpenSyncState(dir, "src", "dst", "test"), Clock: time.Now, Retention: time.Hour}
	if syncRound(t, s, src, dst, dir, noCrash, "g"); committedAt(t, dst, "g", "anew") != 20 {
		t.Fatal("the first round did not carry")
	}
	for _, keeps := range []bool{true, false} {
		kafkatest.DeleteTopic(t, dst, "anew")
		copyFrom(10)
		if keeps {
			kafkatest.Commit(t, dst, "g", kafkatest.At("anew", 0, committedAtLeast(t, dst, "g", "anew", 20)))
		}
		if syncRound(t, s, src, dst, dir, noCrash, "g"); committedAt(t, dst, "g", "anew") != 50 {
			t.Fatalf("the broker keeps the commit %t: the target has %d, want 50", keeps, committedAt(t, dst, "g", "anew"))
		}
	}
}

// committedAtLeast is what the group has committed, or what it is said to have where the broker forgot it with the topic.
func committedAtLeast(t *testing.T, cl *kgo.Client, group, topic string, otherwise int64) int64 {
	t.Helper()
	return max(otherwise, committedAt(t, cl, group, topic))
}

// A round reads records of the partitions that moved, and of no other: on neither cluster.
func TestRoundReadsWhatChanged(t *testing.T) {
	sc, src := kafkatest.FakeClient(t)
	dc, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	const parts = 20
	var rs, copies []*kgo.Record
	var commits []kafkatest.Committed
	for p := range int32(parts) {
		rs = append(rs, kafkatest.Records("still", p, 60, 1_700_000_000_000, 1000)...)
		copies = append(copies, kafkatest.Records("still", p, 60, 1_700_000_000_000, 1000)[10:]...)
		commits = append(commits, kafkatest.At("still", p, 30))
	}
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "still", parts)
	}
	kafkatest.Produce(t, src, rs...)
	kafkatest.Produce(t, dst, copies...)
	kafkatest.Commit(t, src, "g", commits...)
	dir := t.TempDir()
	s := &migrate.Syncer{State: migrate.OpenSyncState(dir, "src", "dst", "test"), Clock: time.Now, Retention: time.Hour}
	syncRound(t, s, src, dst, dir, noCrash, "g")

	var mu sync.Mutex
	fetched := [2]map[int32]bool{}
	for n, c := range []*kfake.Cluster{sc, dc} {
		c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			mu.Lock()
			defer mu.Unlock()
			for _, topic := range req.(*kmsg.FetchRequest).Topics {
				for _, p := range topic.Partitions {
					fetched[n][p.Partition] = true
				}
			}
			return nil, nil, false
		})
	}
	for _, moved := range [][]int32{nil, {3}, nil, {0, 7, 19}} {
		mu.Lock()
		fetched = [2]map[int32]bool{{}, {}}
		mu.Unlock()
		for _, p := range moved {
			kafkatest.Commit(t, src, "g", kafkatest.At("still", p, 40))
		}
		r := syncRound(t, s, src, dst, dir, noCrash, "g")
		mu.Lock()
		for n, side := range []string{"source", "target"} {
			if got := slices.Sorted(maps.Keys(fetched[n])); !slices.Equal(got, moved) {
				t.Errorf("partitions %v moved, and %v were read at the %s", moved, got, side)
			}
		}
		mu.Unlock()
		if r.Planned.Effect.Exact != len(moved) || len(r.Look.Steps[migrate.StepNone]) != parts-len(moved) {
			t.Errorf("partitions %v moved: %+v", moved, r.Planned.Effect)
		}
	}
}
