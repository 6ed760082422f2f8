package reset

// What a broker, a network or a second application can do between the check and the end, injected into kfake.

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// entry is the only operation of the journal.
func entry(t *testing.T, dir string) *checkpointfile.Entry {
	t.Helper()
	es, bad := checkpointfile.ReadJournal(dir)
	if len(es) != 1 || len(bad) > 0 {
		t.Fatalf("the journal has %d operations and %v, want one", len(es), bad)
	}
	return es[0]
}

func TestCommitThatStoredNothing(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	c.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		r := req.(*kmsg.OffsetCommitRequest)
		resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, topic := range r.Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, part := range topic.Partitions {
				rp := kmsg.NewOffsetCommitResponseTopicPartition()
				rp.Partition = part.Partition
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	dir := t.TempDir()
	res := apply(t, cl, p, options(t, dir))
	if res.Count(OutcomeDiffers) != 3 || res.Count(OutcomeChanged) != 0 {
		t.Errorf("rows %+v", res.Rows)
	}
	if err := res.Rows[0].Err; err == nil || !strings.Contains(err.Error(), `the broker accepted it, but 6 (epoch 0) with metadata "ckpt=17" is stored`) {
		t.Errorf("got %v", err)
	}
	if e := entry(t, dir); e.Count(checkpointfile.StateDiffers) != 3 || e.Outcome != "failed" {
		t.Errorf("the journal says %v, %q", e.States, e.Outcome)
	}
}

// A commit is for a topic id: in a topic that was made anew after the check, the broker stores nothing of it.
func TestTopicMadeAnewBetweenCheckAndCommit(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	other := kafkatest.Client(t, c.ListenAddrs())
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() {
			kafkatest.DeleteTopic(t, other, f.Topic)
			kafkatest.CreateTopic(t, other, f.Topic, 3)
		})
		return nil, nil, false
	})
	dir := t.TempDir()
	res := apply(t, cl, p, options(t, dir))
	if res.Count(OutcomeChanged) != 0 || res.Bad() != 3 {
		t.Errorf("rows %+v", res.Rows)
	}
	if err := res.Rows[0].Err; err == nil || !strings.Contains(err.Error(), "deleted and created again, between the check and the write") {
		t.Errorf("got %v", err)
	}
	if got := kafkatest.CommittedOffsets(t, cl, f.App, f.Topic); got[0] == 8 || got[1] == 8 || got[2] == 8 {
		t.Errorf("in the topic that was made anew it stands at %v", got)
	}
}

func TestMemberJoinsBetweenCheckAndCommit(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	var m *kafkatest.Member
	other := kafkatest.Client(t, c.ListenAddrs()) // a connection answers in order, and this one's is held up
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() {
			m = kafkatest.JoinClassic(t, other, kafkatest.MemberOptions{Group: f.App, Topics: []string{f.Topic}})
		})
		return nil, nil, false
	})
	dir := t.TempDir()
	res := apply(t, cl, p, options(t, dir))
	m.Close()
	for _, r := range res.Rows {
		if r.Outcome != OutcomeFailed || !errors.Is(r.Err, ErrBecameActive) || !errors.Is(r.Err, kerr.UnknownMemberID) {
			t.Errorf("%s is %s: %v", r.Key(), r.Outcome, r.Err)
		}
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
	if e := entry(t, dir); e.Count(checkpointfile.StateFailed) != 3 {
		t.Errorf("the journal says %v", e.States)
	}
}

func TestCoordinatorMoves(t *testing.T) {
	c, cl := kafkatest.FakeClient(t, kfake.NumBrokers(3))
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	notHere := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: f.App, Err: kerr.NotCoordinator, Count: 2})
	loading := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: f.App, Err: kerr.CoordinatorLoadInProgress, Count: 1})
	res := apply(t, cl, p, options(t, t.TempDir()))
	if res.Count(OutcomeChanged) != 3 || notHere.Hits() != 2 || loading.Hits() != 1 {
		t.Errorf("%d and %d faults, rows %+v", notHere.Hits(), loading.Hits(), res.Rows)
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 8, 1: 8, 2: 8})
}

func TestPartialCommit(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Partitions: []int32{1}, Err: kerr.OffsetMetadataTooLarge, Count: 1})
	dir := t.TempDir()
	res := apply(t, cl, p, options(t, dir))
	if res.Count(OutcomeChanged) != 2 || res.Rows[1].Outcome != OutcomeFailed || !errors.Is(res.Rows[1].Err, kerr.OffsetMetadataTooLarge) {
		t.Errorf("rows %+v", res.Rows)
	}
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 8, 1: 7, 2: 8})
	if e := entry(t, dir); e.Outcome != "partial" {
		t.Errorf("outcome %q", e.Outcome)
	}
	// Undo touches only what was changed.
	undo(t, cl, dir, res.UndoID, Undo{})
	want(t, cl, f.App, f.Topic, map[int32]int64{0: 6, 1: 7})
}

// A partition whose read-back was answered with an error is not one without a commit: its row is not verified.
func TestReadBackOfOnePartitionFails(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	var sent atomic.Bool
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		sent.Store(true)
		return nil, nil, false
	})
	// A fault for a partition does not meet a request for all of them, so the answer is written by hand.
	c.ControlKey(int16(kmsg.OffsetFetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if !sent.Load() {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group = f.App
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic = f.Topic
		for n := range int32(3) {
			part := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			part.Partition, part.Offset, part.Metadata = n, 8, kmsg.StringPtr("ckpt=17")
			if n == 1 {
				part.Offset, part.Metadata, part.ErrorCode = -1, nil, kerr.UnknownServerError.Code
			}
			if n == 2 {
				part.Metadata = nil
			}
			topic.Partitions = append(topic.Partitions, part)
		}
		g.Topics = append(g.Topics, topic)
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
	res := apply(t, cl, p, options(t, t.TempDir()))
	if res.Count(OutcomeChanged) != 2 || res.Rows[1].Outcome != OutcomeUnverified || !errors.Is(res.Rows[1].Err, kerr.UnknownServerError) {
		for _, r := range res.Rows {
			t.Errorf("%s: %s, %v", r.Partition, r.Outcome, r.Err)
		}
	}
}

// A broker that answers REQUEST_TIMED_OUT has stored the commit; UNKNOWN_SERVER_ERROR is what a batch that is too large
// gets, and nothing is stored then.
func TestDoubtfulAnswers(t *testing.T) {
	for _, tc := range []struct {
		err  *kerr.Error
		want Outcome
		left int64
	}{{kerr.RequestTimedOut, OutcomeChanged, 8}, {kerr.UnknownServerError, OutcomeFailed, 7}} {
		t.Run(tc.err.Message, func(t *testing.T) {
			c, cl := kafkatest.FakeClient(t)
			f := kafkatest.F1(t, cl, "")
			p := prepare(t, cl, request(f.App, f.Topic, at(8)))
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Partitions: []int32{1}, Err: tc.err, Count: 1})
			res := apply(t, cl, p, options(t, t.TempDir()))
			if r := res.Rows[1]; r.Outcome != tc.want || (r.Outcome == OutcomeFailed) != errors.Is(r.Err, tc.err) {
				t.Errorf("row is %s: %v", r.Outcome, r.Err)
			}
			want(t, cl, f.App, f.Topic, map[int32]int64{0: 8, 1: tc.left, 2: 8})
		})
	}
}

// The answer is lost after the commit was stored: reading back settles it.
func TestAnswerLost(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	var inner atomic.Bool
	other := kafkatest.Client(t, c.ListenAddrs())
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if inner.Load() {
			return nil, nil, false
		}
		c.SleepControl(func() {
			inner.Store(true)
			defer inner.Store(false)
			kafkatest.Commit(t, other, f.App, kafkatest.Committed{Topic: f.Topic, Partition: 0, Offset: 8, LeaderEpoch: 0, Metadata: "ckpt=17"})
		})
		return nil, errors.New("cut the connection"), true
	})
	dir := t.TempDir()
	res := apply(t, cl, p, options(t, dir))
	if res.Rows[0].Outcome != OutcomeChanged {
		t.Errorf("the row that was stored is %s: %v", res.Rows[0].Outcome, res.Rows[0].Err)
	}
	if r := res.Rows[1]; r.Outcome != OutcomeUnknown || !strings.Contains(r.Err.Error(), "sent, and no answer") || !strings.Contains(r.Err.Error(), "is stored so far") {
		t.Errorf("the row that was not is %s: %v", r.Outcome, r.Err)
	}
	if e := entry(t, dir); e.Outcome != "unknown" || e.States[0] != checkpointfile.StateVerified || e.States[1] != checkpointfile.StateUnknown {
		t.Errorf("the journal says %v, %q", e.States, e.Outcome)
	}
	c.DropControl()
}

// Ctrl-C, and a timeout, while a commit is under way: what became of it is still read back.
func TestInterruptedWhileSending(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	ctx, cancel := context.WithCancel(t.Context())
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		cancel()
		return nil, nil, false
	})
	dir := t.TempDir()
	res, err := Apply(ctx, cl, p, options(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if res.Count(OutcomeChanged) != 3 {
		t.Errorf("rows %+v", res.Rows)
	}
	if e := entry(t, dir); e.Outcome != "done" {
		t.Errorf("outcome %q", e.Outcome)
	}
}

func TestTimeoutWhileSending(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	over := make(chan struct{})
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { close(over) }) })
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() { <-over })
		return nil, nil, true
	})
	o := options(t, t.TempDir())
	slow := errors.New("too slow")
	o.Grace = 100 * time.Millisecond
	o.Phase = func(ctx context.Context, what string) (context.Context, func(), context.CancelFunc) {
		if what == "write the offsets" {
			ctx, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, slow)
			return ctx, func() {}, cancel
		}
		return unbounded(ctx, what)
	}
	res := apply(t, cl, p, o)
	for _, r := range res.Rows {
		if r.Outcome != OutcomeUnknown || !errors.Is(r.Err, slow) {
			t.Errorf("%s is %s: %v", r.Key(), r.Outcome, r.Err)
		}
	}
	if e := entry(t, o.StateDir); e.Outcome != "unknown" {
		t.Errorf("outcome %q", e.Outcome)
	}
	once.Do(func() { close(over) })
}

func TestSettleSeesAnOverwrite(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	reads := 0
	other := kafkatest.Client(t, c.ListenAddrs())
	c.ControlKey(int16(kmsg.OffsetFetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		// The check, the read-back, and then the first look while it settles.
		if reads++; reads == 3 {
			c.SleepControl(func() { kafkatest.Commit(t, other, f.App, kafkatest.At(f.Topic, 1, 9)) })
		}
		return nil, nil, false
	})
	o := options(t, t.TempDir())
	o.Settle = 400 * time.Millisecond
	res := apply(t, cl, p, o)
	if r := res.Rows[1]; r.Outcome != OutcomeOverwritten || !strings.Contains(r.Err.Error(), `overwritten: 8 (epoch 0) with metadata "ckpt=17" -> 9`) {
		t.Errorf("row is %s: %v", r.Outcome, r.Err)
	}
	if res.Count(OutcomeChanged) != 2 {
		t.Errorf("rows %+v", res.Rows)
	}
}

// A watch that could not look is not a quiet one.
func TestSettleThatCannotLook(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App, f.Topic, at(8)))
	reads := 0
	c.ControlKey(int16(kmsg.OffsetFetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if reads++; reads < 3 {
			return nil, nil, false // the check and the read-back
		}
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range req.(*kmsg.OffsetFetchRequest).Groups {
			one := kmsg.NewOffsetFetchResponseGroup()
			one.Group, one.ErrorCode = g.Group, kerr.GroupAuthorizationFailed.Code
			resp.Groups = append(resp.Groups, one)
		}
		return resp, nil, true
	})
	o := options(t, t.TempDir())
	o.Settle = 100 * time.Millisecond
	res := apply(t, cl, p, o)
	if !errors.Is(res.SettleErr, kerr.GroupAuthorizationFailed) {
		t.Errorf("settle error %v", res.SettleErr)
	}
	if res.Count(OutcomeChanged) != 3 {
		t.Errorf("rows %+v", res.Rows)
	}
}

func TestRequestsAreSplitByBytesAndRows(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "wide", 4500)
	kafkatest.CreateTopic(t, cl, "few", 5)
	commits := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Observe: true, Count: -1})
	r := request("g", "wide", earliest)
	r.Create = true
	res := apply(t, cl, prepare(t, cl, r), options(t, t.TempDir()))
	if commits.Hits() != 3 || res.Count(OutcomeChanged) != 4500 {
		t.Errorf("%d requests, %d rows changed; want 3 and 4500", commits.Hits(), res.Count(OutcomeChanged))
	}
	commits.Remove()
	commits = c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Observe: true, Count: -1})
	r = request("h", "few", earliest)
	r.Create, r.Metadata = true, Metadata{Replace: true, Text: strings.Repeat("x", 400_000)}
	res = apply(t, cl, prepare(t, cl, r), options(t, t.TempDir()))
	if commits.Hits() != 3 || res.Count(OutcomeChanged) != 5 {
		t.Errorf("%d requests, %d rows changed; want 3 and 5", commits.Hits(), res.Count(OutcomeChanged))
	}
}

func TestEpochsOfTargets(t *testing.T) {
	c, cl := kafkatest.FakeClient(t, kfake.NumBrokers(3))
	kafkatest.CreateTopic(t, cl, "t", 1)
	// Four records under each leader. The last leader must have records: kfake, unlike Kafka, does not say where the epoch
	// before one without records ends.
	for i := range int32(5) {
		if i > 0 {
			if err := c.MoveTopicPartition("t", 0, (c.LeaderFor("t", 0)+1)%3); err != nil {
				t.Fatal(err)
			}
		}
		kafkatest.Produce(t, cl, kafkatest.Records("t", 0, 4, kafkatest.F1Start, 1)...)
	}
	cl.ForceMetadataRefresh()
	epochs := map[int64]int32{}
	for off := range int64(20) {
		epochs[off] = int32(off / 4)
	}
	for off, epoch := range epochs {
		r := request("g", "t", at(off))
		r.Create = true
		p := prepare(t, cl, r)
		if got, ok := p.Changes[0].To.LeaderEpoch.Get(); !ok || got != epoch {
			t.Errorf("offset %d has epoch %v, want %d", off, p.Changes[0].To.LeaderEpoch, epoch)
		}
	}
	p := prepare(t, cl, func() *Request { r := request("g", "t", latest); r.Create = true; return r }())
	if got, ok := p.Changes[0].To.LeaderEpoch.Get(); !ok || got != 4 {
		t.Errorf("the end has epoch %v", p.Changes[0].To.LeaderEpoch)
	}
}

func TestUnstableCommitIsRefused(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	p := prepare(t, cl, request(f.App2, f.Topic, at(8)))
	end := kafkatest.PendingCommit(t, cl, "txn", f.App2, kafkatest.At(f.Topic, 1, 9))
	_, err := Apply(t.Context(), cl, p, options(t, t.TempDir()))
	var drift *DriftError
	if !errors.As(err, &drift) || !drift.Has(DriftUnstable) {
		t.Errorf("got %v, want an unstable commit", err)
	}
	again := prepare(t, cl, request(f.App2, f.Topic, at(8)))
	if again.Changes[1].Action != checkpointfile.ActionRefuse || again.Changes[1].How != offset.ReasonUnreadable {
		t.Errorf("planned %+v", again.Changes[1])
	}
	end(false)
}
