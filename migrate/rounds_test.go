package migrate_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
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
	return syncRoundTo(t, s, src, dst, migrate.Mapping{}, dir, at, groups...)
}

// syncRoundTo is syncRound where things have other names on the target.
func syncRoundTo(t *testing.T, s *migrate.Syncer, src, dst *kgo.Client, names migrate.Mapping, dir string, at crash, groups ...string) *migrate.SyncRound {
	t.Helper()
	o := migrate.ExportOptions{}
	for _, g := range groups {
		o.Groups = append(o.Groups, inspect.Group{Name: g})
	}
	x, err := migrate.Collect(func(to migrate.Sink) (bool, error) { return migrate.ReadGroups(t.Context(), src, o, to) })
	if err != nil {
		t.Fatal(err)
	}
	q := migrate.Query{Header: x.Header, Mapping: names, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}}
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
	var c inspect.Commits
	kafkatest.Until(t, "the commits of "+group+" can be read", func() (ok bool) {
		var err error
		c, err = inspect.ReadCommitsOf(t.Context(), cl, group)
		return err == nil
	})
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
	kafkatest.CreateTopic(t, src, "rounds", 1)
	kafkatest.CreateTopic(t, dst, "rounds", 1)
	kafkatest.Produce(t, src, roundRecords("rounds")...)
	kafkatest.Produce(t, dst, roundRecords("rounds")[roundsLack:]...)
	roundBed{t: t, src: src, dst: dst, topic: "rounds", copied: "rounds", dir: t.TempDir()}.play()
}

// roundsLack is how many of the records the target does not have.
const roundsLack = 30

func roundRecords(topic string) []*kgo.Record {
	return kafkatest.Records(topic, 0, 300, 1_700_000_000_000, 1000)
}

// roundBed is two clusters with a topic and its copy.
type roundBed struct {
	t        *testing.T
	src, dst *kgo.Client
	topic    string
	copied   string // its name on the target
	names    migrate.Mapping
	dir      string
}

func (b roundBed) group() string { return b.topic + ".g" }

// round is one by a process of its own.
func (b roundBed) round(at crash, change func(*migrate.Syncer)) *migrate.SyncRound {
	b.t.Helper()
	s := &migrate.Syncer{State: migrate.OpenSyncState(b.dir, "src", "dst", "test"), Clock: time.Now, Retention: time.Hour}
	if change != nil {
		change(s)
	}
	return syncRoundTo(b.t, s, b.src, b.dst, b.names, b.dir, at, b.group())
}

// source is where the group is at the source from now on.
func (b roundBed) source(at int64) {
	b.t.Helper()
	kafkatest.Commit(b.t, b.src, b.group(), kafkatest.At(b.topic, 0, at))
}

func (b roundBed) want(want int64, when string) {
	b.t.Helper()
	if got := committedAt(b.t, b.dst, b.group(), b.copied); got != want {
		b.t.Fatalf("%s: the target has %d, want %d", when, got, want)
	}
}

// play is the test on any two clusters.
func (b roundBed) play() {
	t := b.t
	t.Helper()
	for n := range 20 {
		at := int64(40 + 10*n)
		b.source(at)
		for _, c := range []crash{crash(n % 3), noCrash} {
			if over := b.round(c, nil).Look.Steps[migrate.StepTakenOver]; len(over) > 0 {
				t.Fatalf("round %d, %v: its own commit was taken for somebody else's: %d", n, c, over[0].Current.Offset)
			}
		}
		b.want(at-roundsLack, fmt.Sprintf("round %d", n))
	}
	// The group is deleted on the target while its source stands still.
	deleteGroup(t, b.dst, b.group())
	if r := b.round(noCrash, nil); len(r.Look.Steps[migrate.StepRestore]) != 1 {
		t.Errorf("the group is gone: %v", r.Look.Steps)
	}
	b.want(200, "after the group was deleted")
	// The application moves over and reads ten records; the source goes on for a while, far ahead of it.
	moveOver(t, b.dst, b.group(), b.copied, 10, func() {
		b.source(240)
		if r := b.round(noCrash, nil); len(r.Planned.Skipped) != 1 {
			t.Errorf("a member is there: %+v", r.Planned)
		}
		b.want(200, "while a member is there")
	})
	b.source(290)
	for n := range 2 {
		r := b.round(noCrash, nil)
		b.want(210, "the application is at 210")
		if len(r.Look.Steps[migrate.StepTakenOver]) != 1 {
			t.Fatalf("look %d: %v", n, r.Look.Steps)
		}
	}
	b.round(noCrash, func(s *migrate.Syncer) { s.TakeBack = true })
	b.want(260, "taken back")
	// The source is rewound.
	b.source(100)
	b.round(noCrash, nil)
	b.want(260, "nobody said to follow the source back")
	b.round(noCrash, func(s *migrate.Syncer) { s.FollowBack = true })
	b.want(70, "following the source back")
}

func deleteGroup(t *testing.T, cl *kgo.Client, group string) {
	t.Helper()
	r, err := kadm.NewClient(cl).DeleteGroup(t.Context(), group)
	if err == nil {
		err = r.Err
	}
	if err != nil {
		t.Fatalf("delete group %s: %v", group, err)
	}
}

// moveOver has a consumer of the group read records, commit and leave. joined is called when it has joined, and has committed nothing.
func moveOver(t *testing.T, cl *kgo.Client, group, topic string, n int, joined func()) {
	t.Helper()
	c, err := kgo.NewClient(append(cl.Opts(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for read := 0; read < n; {
		fs := c.PollRecords(t.Context(), n-read)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		read += fs.NumRecords()
	}
	joined()
	if err := c.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Close() // leaves
	kafkatest.WaitGroupState(t, cl, group, "Empty")
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

// A row whose offset is not known at the source is unresolved with the reason, and not left out of the round without a word.
func TestRoundWithAnInvalidCommit(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "invalid", 2)
		kafkatest.Produce(t, cl, kafkatest.Records("invalid", 1, 10, 1_700_000_000_000, 1000)...)
	}
	kafkatest.Commit(t, src, "g", kafkatest.At("invalid", 0, -5), kafkatest.At("invalid", 1, 7))
	dir := t.TempDir()
	s := &migrate.Syncer{State: migrate.OpenSyncState(dir, "src", "dst", "test"), Clock: time.Now}
	r := syncRound(t, s, src, dst, dir, noCrash, "g")
	if n := r.Result.Count(); n.Unresolved != 1 || n.Exact != 1 || !r.Incomplete {
		t.Fatalf("%+v", n)
	}
	if i := r.Result.Items[0]; i.Target.Partition != 0 || !strings.Contains(fmt.Sprint(i.Reasons), "the stored number -5 is not a valid offset") {
		t.Errorf("%s: %v", i.Target, i.Reasons)
	}
}

// What was carried is gone at the source by the source's names: that it goes elsewhere on the target now, or that its group could not
// be read as a whole, says nothing of it.
func TestRoundsOfWhatIsGone(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, topic := range []string{"gone", "stays"} {
		for _, cl := range []*kgo.Client{src, dst} {
			kafkatest.CreateTopic(t, cl, topic, 1)
			kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 10, 1_700_000_000_000, 1000)...)
		}
		kafkatest.Commit(t, src, "g", kafkatest.At(topic, 0, 4))
	}
	dir := t.TempDir()
	state := migrate.OpenSyncState(dir, "src", "dst", "test")
	syncRound(t, &migrate.Syncer{State: state, Clock: time.Now}, src, dst, dir, noCrash, "g")
	read := func(q migrate.Query) (gone []string) {
		t.Helper()
		x, err := migrate.Collect(func(to migrate.Sink) (bool, error) {
			return migrate.ReadGroups(t.Context(), src, migrate.ExportOptions{Groups: []inspect.Group{{Name: "g"}}}, to)
		})
		if err != nil {
			t.Fatal(err)
		}
		q.Header, q.Rows = x.Header, x.Groups[0].Rows
		look, err := (&migrate.Syncer{State: state, Clock: time.Now}).Look(t.Context(), dst, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range look.Steps[migrate.StepGone] {
			gone = append(gone, fmt.Sprintf("%s of %s, %d on the target", i.Target, i.Group, i.Current.Offset))
		}
		return gone
	}
	all := func(string, string) bool { return true }
	renames, err := migrate.ParseRenames("", []string{"gone=other"})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(migrate.Query{Covers: all, Mapping: migrate.Mapping{Topics: renames}}); len(got) > 0 {
		t.Errorf("nothing is gone, and topics go elsewhere: %v", got)
	}
	kafkatest.DeleteTopic(t, src, "gone")
	want := []string{"gone:0 of g, 4 on the target"}
	if got := read(migrate.Query{Covers: all}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, q := range map[string]migrate.Query{
		"not covered": {Covers: func(_, topic string) bool { return topic != "gone" }}, "not read as a whole": {Covers: all, Partial: []string{"g"}}, "nobody says": {},
	} {
		if got := read(q); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	kafkatest.DeleteTopic(t, dst, "gone")
	if got := read(migrate.Query{Covers: all}); len(got) > 0 && committedAt(t, dst, "g", "gone") < 0 {
		t.Errorf("gone on both sides: %v", got)
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
