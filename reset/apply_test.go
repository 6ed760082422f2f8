package reset

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func request(group, topic string, pos offset.Position) *Request {
	return &Request{Verb: "reset", Groups: []inspect.Group{{Name: group}}, Position: pos,
		Scope: Scope{Topics: []offset.TopicSpec{{Topic: topic}}}}
}

func at(n int64) offset.Position { return offset.Position{Kind: offset.Exact, N: n} }

var (
	earliest = offset.Position{Kind: offset.Earliest}
	latest   = offset.Position{Kind: offset.Latest}
)

func options(t testing.TB, dir string) Options {
	t.Helper()
	return Options{StateDir: dir, Clock: time.Now, Version: "test"}
}

func prepare(t *testing.T, cl *kgo.Client, r *Request) *Plan {
	t.Helper()
	b, err := Prepare(t.Context(), cl, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range b.Failed {
		t.Fatal(f)
	}
	return b.Plan
}

func apply(t *testing.T, cl *kgo.Client, p *Plan, o Options) *Result {
	t.Helper()
	res, err := Apply(t.Context(), cl, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// stored are the commits of a group on a topic, with epoch and metadata.
func stored(t *testing.T, cl *kgo.Client, group, topic string) map[int32]kafkatest.Committed {
	t.Helper()
	return kafkatest.Commits(t, cl, group)[topic]
}

func want(t *testing.T, cl *kgo.Client, group, topic string, offsets map[int32]int64) {
	t.Helper()
	got := kafkatest.CommittedOffsets(t, cl, group, topic)
	for p, n := range offsets {
		if have, ok := got[p]; !ok || have != n {
			t.Errorf("%s %s:%d is %d (there: %v), want %d", group, topic, p, have, ok, n)
		}
	}
	if len(got) != len(offsets) {
		t.Errorf("%s has %v on %s, want %v", group, got, topic, offsets)
	}
}

// undo reverts an operation and returns the result.
func undo(t *testing.T, cl *kgo.Client, dir, id string, u Undo) *Result {
	t.Helper()
	es, bad := checkpointfile.ReadJournal(dir)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	e, _ := checkpointfile.FindEntry(es, id)
	if e == nil {
		t.Fatalf("the journal has no %s", id)
	}
	f, err := Refresh(t.Context(), cl, UndoFacts(e))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Inverse(e, f, u)
	if err != nil {
		t.Fatal(err)
	}
	return apply(t, cl, b.Plan, options(t, dir))
}

// watchCommits fails the test when an offset below 0 is committed, or a group is joined.
func watchCommits(t *testing.T, c *kfake.Cluster) {
	t.Helper()
	c.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		for _, topic := range req.(*kmsg.OffsetCommitRequest).Topics {
			for _, p := range topic.Partitions {
				if p.Offset < 0 {
					t.Errorf("an offset of %d was sent for %s:%d", p.Offset, topic.Topic, p.Partition)
				}
			}
		}
		if g := req.(*kmsg.OffsetCommitRequest).Generation; g != -1 {
			t.Errorf("generation %d was sent, want -1", g)
		}
		return nil, nil, false
	})
	for _, k := range []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup, kmsg.ConsumerGroupHeartbeat} {
		c.ControlKey(int16(k), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			t.Errorf("%T was sent: an administrator joins no group", req)
			return nil, nil, false
		})
	}
}

func TestResetKeepsWhatItDoesNotChange(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	watchCommits(t, c)
	dir := t.TempDir()

	// To the end: p2, which never had a commit, gets one.
	p := prepare(t, cl, request(f.App, f.Topic, latest))
	if s := Summarize(p); s.Changed != 3 || s.Skips != 4+3 || s.Rereads != 0 || s.NoCommit != 1 || s.MaxSkips != 4+3+10 || s.MaxRereads != 0 || s.Uncounted != 0 {
		t.Errorf("summary %+v", s)
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7}) // a plan changes nothing
	res := apply(t, cl, p, options(t, dir))
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 10, 1: 10, 2: 10})
	if res.Count(OutcomeChanged) != 3 || res.UndoID == "" {
		t.Errorf("result %+v", res)
	}
	if m := stored(t, cl, f.App, f.Topic)[0]; m.Metadata != "ckpt=17" || m.LeaderEpoch != 0 {
		t.Errorf("p0 is %+v: metadata is kept, the epoch is the end's", m)
	}
	// Once more: nothing to do, nothing written, no journal entry.
	again := apply(t, cl, prepare(t, cl, request(f.App, f.Topic, latest)), options(t, dir))
	if again.UndoID != "" || again.Count(OutcomeUnchanged) != 3 {
		t.Errorf("a second run: %+v", again)
	}
	// The same plan once more: what stands already is done, not drift.
	if again = apply(t, cl, p, options(t, dir)); again.UndoID != "" || again.Count(OutcomeUnchanged) != 3 {
		t.Errorf("the same plan: %+v", again)
	}
	res = undo(t, cl, dir, res.UndoID, Undo{})
	if res.Count(OutcomeChanged) != 3 {
		t.Errorf("undo: %+v", res.Rows)
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7}) // p2 has no commit again
	if m := stored(t, cl, f.App, f.Topic)[1]; m.Metadata != "ckpt=17" || m.LeaderEpoch != 0 || m.Offset != 7 {
		t.Errorf("p1 is %+v, want it byte for byte as before", m)
	}
}

func TestResetToCurrentWritesNothing(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	r := request(f.App, f.Topic, offset.Position{Kind: offset.Current})
	r.Rules.IfNoCommit = offset.IfNoCommitSkip
	commits := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Observe: true})
	res := apply(t, cl, prepare(t, cl, r), options(t, t.TempDir()))
	if commits.Hits() != 0 || res.Count(OutcomeUnchanged) != 2 || res.Count(OutcomeLeft) != 1 {
		t.Errorf("%d commits were sent; %+v", commits.Hits(), res.Rows)
	}
}

func TestRefusalsAreAllOrNothing(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	for _, c := range []struct {
		name    string
		pos     offset.Position
		refused int
	}{
		{"past every end", at(999), 3},
		{"below one start", at(2), 1},
		{"a shift below the start and one from nowhere", offset.Position{Kind: offset.FromCurrent, N: -3}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := prepare(t, cl, request(f.App, f.Topic, c.pos))
			if s := Summarize(p); s.Refused != c.refused {
				t.Errorf("%d rows refused, want %d: %+v", s.Refused, c.refused, p.Changes)
			}
			_, err := Apply(t.Context(), cl, p, options(t, t.TempDir()))
			var no *RefusedError
			if !errors.As(err, &no) {
				t.Errorf("got %v, want a refusal", err)
			}
			want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
		})
	}
	// The same with policies: clamped and skipped rows say so.
	r := request(f.App, f.Topic, offset.Position{Kind: offset.FromCurrent, N: -3})
	r.Rules.OutOfRange, r.Rules.IfNoCommit = offset.OutOfRangeClamp, offset.IfNoCommitSkip
	res := apply(t, cl, prepare(t, cl, r), options(t, t.TempDir()))
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 4, 1: 4})
	if res.Rows[0].How != offset.ReasonClampedToStart || *res.Rows[0].Asked != 3 || res.Rows[2].Outcome != OutcomeLeft {
		t.Errorf("rows %+v", res.Rows)
	}
}

func TestMetadataPolicies(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	for _, c := range []struct{ word, want string }{{"keep", "ckpt=17"}, {"clear", ""}, {"ticket 4711", "ticket 4711"}} {
		r := request(f.App, f.Topic, at(8))
		r.Scope.Topics[0].Partitions = []int32{0}
		r.Metadata = ParseMetadata(c.word)
		apply(t, cl, prepare(t, cl, r), options(t, t.TempDir()))
		if m := stored(t, cl, f.App, f.Topic)[0]; m.Offset != 8 || m.Metadata != c.want {
			t.Errorf("--metadata %s stored %+v", c.word, m)
		}
	}
}

func TestApplyRefusesDrift(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	watchCommits(t, c)
	plan := prepare(t, cl, request(f.App, f.Topic, at(8)))
	other := func(change func(*Plan)) *Plan {
		p := *plan
		p.Changes = append([]Change(nil), plan.Changes...)
		change(&p)
		return &p
	}
	for _, tc := range []struct {
		name string
		plan *Plan
		kind DriftKind
	}{
		{"another cluster", other(func(p *Plan) { p.ClusterID = "elsewhere" }), DriftCluster},
		{"a topic made anew", other(func(p *Plan) { p.Changes[1].TopicID = "AAAAAAAAAAAAAAAAAAAAAA" }), DriftTopic},
		{"a commit that moved", other(func(p *Plan) { p.Changes[1].From = &Commit{Offset: 5, Metadata: "ckpt=17"} }), DriftCommit},
		{"a commit that is gone", other(func(p *Plan) { p.Changes[2].From = &Commit{Offset: 5} }), DriftCommit},
		{"a target outside the log", other(func(p *Plan) { p.Changes[0].To = &Commit{Offset: 11} }), DriftBounds},
		{"a topic that is gone", other(func(p *Plan) { p.Changes[0].Topic = "gone" }), DriftTopic},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Apply(t.Context(), cl, tc.plan, options(t, t.TempDir()))
			var drift *DriftError
			if !errors.As(err, &drift) || !drift.Has(tc.kind) {
				t.Fatalf("got %v, want drift of kind %s", err, tc.kind)
			}
			want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
		})
	}
	// What may be allowed, and nothing else.
	o := options(t, t.TempDir())
	o.Allowed = Allowed{Commits: true, OutOfRange: offset.OutOfRangeClamp}
	if _, err := Apply(t.Context(), cl, other(func(p *Plan) { p.ClusterID = "elsewhere" }), o); err == nil {
		t.Error("another cluster was allowed")
	}
	moved := other(func(p *Plan) {
		p.Changes[1].From = &Commit{Offset: 5}
		p.Changes[0].To = &Commit{Offset: 11, Metadata: "ckpt=17"}
	})
	res := apply(t, cl, moved, o)
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 10, 1: 8, 2: 8})
	// The before-image is what was there, not what the plan believed.
	undo(t, cl, o.StateDir, res.UndoID, Undo{})
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
}

// deletion is the plan that deletes a group.
func deletion(t *testing.T, cl *kgo.Client, group string) *Plan {
	t.Helper()
	r := &Request{Verb: "delete", Groups: []inspect.Group{{Name: group}}, Scope: Scope{All: true}, Position: earliest}
	facts, err := Gather(t.Context(), cl, r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := BuildDelete(r, facts, true)
	if err != nil {
		t.Fatal(err)
	}
	return b.Plan
}

// A plan for a group that is gone makes none: only a plan with Create does.
func TestApplyMakesNoGroupAnew(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	plan := prepare(t, cl, request(f.App, f.Topic, at(8)))
	apply(t, cl, deletion(t, cl, f.App), options(t, t.TempDir()))
	o := options(t, t.TempDir())
	o.Allowed.Commits = true
	_, err := Apply(t.Context(), cl, plan, o)
	var drift *DriftError
	var missing *NotFoundError
	if !errors.As(err, &drift) || !drift.Has(DriftGroup) || len(drift.Drifts) != 1 || !errors.As(err, &missing) {
		t.Errorf("got %v, want the group to be gone", err)
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{})
	r := request(f.App, f.Topic, at(8))
	r.Create = true
	apply(t, cl, prepare(t, cl, r), o)
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 8, 1: 8, 2: 8})
}

// A group that is deleted takes along what it stored after the plan was made: refused, or in the journal.
func TestDeleteTakesNothingUnseen(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.CreateTopic(t, cl, "later", 1)
	p := deletion(t, cl, f.App)
	kafkatest.Commit(t, cl, f.App, kafkatest.At("later", 0, 0))
	_, err := Apply(t.Context(), cl, p, options(t, t.TempDir()))
	var drift *DriftError
	if !errors.As(err, &drift) || !drift.Has(DriftCommit) || len(drift.Drifts) != 1 || drift.Drifts[0].Key.Topic != "later" {
		t.Fatalf("got %v, want the commit on later:0 to be drift", err)
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
	o := options(t, t.TempDir())
	o.Allowed.Commits = true
	res := apply(t, cl, p, o)
	want(t, cl, f.App, f.Topic, map[int32]int64{})
	want(t, cl, f.App, "later", map[int32]int64{})
	undo(t, cl, o.StateDir, res.UndoID, Undo{})
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
	want(t, cl, f.App, "later", map[int32]int64{0: 0})
}

func TestPlanAppliesExactlyWhatItShowed(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, latest))
	for part := range int32(3) {
		kafkatest.Produce(t, cl, kafkatest.Records(f.Topic, part, 5, kafkatest.F1Start, 1)...)
	}
	apply(t, cl, p, options(t, t.TempDir()))
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 10, 1: 10, 2: 10})
	// A row whose target has expired since is refused.
	p = prepare(t, cl, request(f.App2, f.Topic, at(7)))
	kafkatest.DeleteRecords(t, cl, f.Topic, 2, 10)
	_, err := Apply(t.Context(), cl, p, options(t, t.TempDir()))
	var drift *DriftError
	if !errors.As(err, &drift) || !drift.Has(DriftBounds) || len(drift.Drifts) != 1 {
		t.Errorf("got %v, want p2 alone to be outside the log", err)
	}
}

func TestSecondRunDoesTheRest(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	r := request(f.App, f.Topic, at(8))
	r.Groups = append(r.Groups, inspect.Group{Name: f.App2}, inspect.Group{Name: "nobody"})
	m := kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: f.App2, Topics: []string{f.Topic}})
	b, err := Prepare(t.Context(), cl, r)
	if err != nil {
		t.Fatal(err)
	}
	var missing *NotFoundError
	if len(b.Failed) != 1 || !errors.As(b.Failed[0], &missing) || missing.Name != "nobody" {
		t.Errorf("failed groups %v, want nobody alone", b.Failed)
	}
	dir := t.TempDir()
	res := apply(t, cl, b.Plan, options(t, dir))
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 8, 1: 8, 2: 8})
	want(t, cl, f.App2, f.Topic, map[int32]int64{0: 6, 1: 7})
	var drift *DriftError
	if len(res.Failed) != 1 || !errors.As(res.Failed[0], &drift) || !drift.Has(DriftActive) || res.Count(OutcomeRefused) != 3 {
		t.Errorf("failed %v, rows %+v", res.Failed, res.Rows)
	}
	if _, err := Apply(t.Context(), cl, b.Plan, func() Options { o := options(t, dir); o.Whole = true; return o }()); err == nil {
		t.Error("with Whole one active group must refuse the plan")
	}
	m.Close()
	kafkatest.WaitGroupState(t, cl, f.App2, "Empty")
	res = apply(t, cl, b.Plan, options(t, dir))
	want(t, cl, f.App2, f.Topic, map[int32]int64{0: 8, 1: 8, 2: 8})
	if res.Count(OutcomeChanged) != 3 || res.Count(OutcomeUnchanged) != 3 {
		t.Errorf("second run: %+v", res.Rows)
	}
}

func TestJournalMustBeWritable(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	o := options(t, filepath.Join("/dev/null", "no"))
	_, err := Apply(t.Context(), cl, p, o)
	var je *JournalError
	if !errors.As(err, &je) {
		t.Errorf("got %v, want a JournalError", err)
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
}

func TestInterruptedBeforeAnythingIsSent(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := Apply(ctx, cl, p, options(t, dir)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if es, _ := checkpointfile.ReadJournal(dir); len(es) != 0 {
		t.Errorf("the journal has %d operations, want none", len(es))
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
}
