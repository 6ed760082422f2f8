package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// stored is every row of a group as "topic:partition=offset/epoch/metadata".
func stored(c inspect.Commits) []string {
	var out []string
	for _, t := range c.Topics {
		for _, r := range t.Rows {
			line := partitionOf(t.Topic, r.Partition).String()
			if m := r.Committed(); m != nil {
				line += fmt.Sprintf("=%d/%s/%s", m.Offset, m.LeaderEpoch, m.Metadata)
			}
			if r.Unstable() {
				line += " unstable"
			}
			if r.Err() != nil {
				line += " error"
			}
			out = append(out, line)
		}
	}
	return out
}

func TestReadCommits(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.Commit(t, cl, "odd", kafkatest.At(f.Topic, 2, -5), kafkatest.Committed{Topic: f.Topic, Partition: 0, Offset: 1 << 60, LeaderEpoch: 42, Metadata: "é\x1b"})
	got := inspect.ReadCommits(t.Context(), cl, []string{"nobody", "odd", f.App})
	if len(got) != 3 || got[0].Group != "nobody" || got[0].Len() != 0 || got[0].Err != nil {
		t.Fatalf("a group that never was: %+v", got)
	}
	sameRows(t, "odd", stored(got[1]), []string{"orders.v1:0=1152921504606846976/42/é\x1b", "orders.v1:2=-5/-/"})
	sameRows(t, "app", stored(got[2]), []string{"orders.v1:0=6/0/ckpt=17", "orders.v1:1=7/0/ckpt=17"})
	if _, ok := got[2].Find(partitionOf(f.Topic, 2)); ok {
		t.Error("partition 2 was never committed, and has a row")
	}
	if _, ok := got[2].Find(partitionOf("other", 0)); ok {
		t.Error("a topic without commits has a row")
	}
}

// A transaction that has not ended must not hide what was committed before it.
func TestUnstableCommit(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	end := kafkatest.PendingCommit(t, cl, "txn", f.App, kafkatest.At(f.Topic, 0, 9))
	c, err := inspect.ReadCommitsOf(t.Context(), cl, f.App)
	if err != nil {
		t.Fatal(err)
	}
	// kfake marks every partition of the group; Kafka only those of the transaction.
	if r, ok := c.Find(partitionOf(f.Topic, 0)); !ok || !r.Unstable() || r.Committed().Offset != 6 || r.Committed().Metadata != "ckpt=17" {
		t.Errorf("while it is open: %v", stored(c))
	}
	s := snapshot(t, cl, inspect.Query{Groups: []inspect.Group{{Name: f.App, Type: inspect.TypeClassic}}})
	if got := rowLines(t, s, f.App)[0]; got != "orders.v1:0 at 6 in 4..10 lag 4 unstable" {
		t.Errorf("row %q", got)
	}
	end(true)
	kafkatest.Until(t, "the commit is final", func() bool {
		c, err := inspect.ReadCommitsOf(t.Context(), cl, f.App)
		r, _ := c.Find(partitionOf(f.Topic, 0))
		return err == nil && !r.Unstable() && r.Committed().Offset == 9
	})
}

// A new cluster answers COORDINATOR_NOT_AVAILABLE until the offsets topic is there, and kgo hands that back at once.
func TestCoordinatorFaultsAreWaitedOut(t *testing.T) {
	for _, c := range []struct {
		key kmsg.Key
		err *kerr.Error
	}{
		{kmsg.FindCoordinator, kerr.CoordinatorNotAvailable},
		{kmsg.FindCoordinator, kerr.CoordinatorLoadInProgress},
		{kmsg.OffsetFetch, kerr.NotCoordinator},
		{kmsg.OffsetFetch, kerr.CoordinatorLoadInProgress},
		{kmsg.OffsetFetch, kerr.CoordinatorNotAvailable},
	} {
		t.Run(c.key.Name()+" "+c.err.Message, func(t *testing.T) {
			t.Parallel()
			fake, cl := kafkatest.FakeClient(t)
			f := kafkatest.F1(t, cl, "")
			h := fake.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Group: f.App, Err: c.err, Count: 2})
			got := inspect.ReadCommits(t.Context(), cl, []string{f.App, f.App2})
			for _, g := range got {
				if g.Err != nil || g.Len() != 2 {
					t.Errorf("%s: %v, %v", g.Group, g.Err, stored(g))
				}
			}
			if h.Hits() != 2 {
				t.Errorf("%d of 2 faults were met", h.Hits())
			}
		})
	}
}

func TestCoordinatorThatNeverComes(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.FindCoordinator}, Group: f.App, Err: kerr.CoordinatorNotAvailable, Count: -1})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	got := inspect.ReadCommits(ctx, cl, []string{f.App})
	if !errors.Is(got[0].Err, context.DeadlineExceeded) || !errors.Is(got[0].Err, kerr.CoordinatorNotAvailable) {
		t.Errorf("error %v, want the deadline and what was waited for", got[0].Err)
	}
}

// Groups really move to other brokers between two reads; the client still holds the old coordinators.
func TestMovedCoordinators(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t, kfake.NumBrokers(3))
	kafkatest.CreateTopic(t, cl, "t", 1)
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("g%02d", i))
		kafkatest.Commit(t, cl, names[i], kafkatest.At("t", 0, int64(i)))
	}
	where := func() (out []int32) {
		for _, n := range names {
			out = append(out, fake.CoordinatorFor(n))
		}
		return out
	}
	before := where()
	inspect.ReadCommits(t.Context(), cl, names)
	for slices.Equal(before, where()) {
		fake.RehashCoordinators()
	}
	for i, c := range inspect.ReadCommits(t.Context(), cl, names) {
		if c.Err != nil || c.Len() != 1 || c.Topics[0].Rows[0].Offset != int64(i) {
			t.Errorf("%s: %v %v", c.Group, c.Err, stored(c))
		}
	}
}

// One group that may not be read, or fails, is its own error and nobody else's.
func TestGroupErrorsStayWithTheirGroup(t *testing.T) {
	for _, e := range []*kerr.Error{kerr.GroupAuthorizationFailed, kerr.UnknownServerError} {
		fake, cl := kafkatest.FakeClient(t)
		f := kafkatest.F1(t, cl, "")
		fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: f.App2, Err: e, Count: -1})
		got := inspect.ReadCommits(t.Context(), cl, []string{f.App, f.App2})
		if got[0].Err != nil || got[0].Len() != 2 {
			t.Errorf("%s beside it: %v %v", f.App, got[0].Err, stored(got[0]))
		}
		if !errors.Is(got[1].Err, e) || got[1].Len() != 0 {
			t.Errorf("%s: %v, want %v", f.App2, got[1].Err, e)
		}
		if _, err := inspect.ReadCommitsOf(t.Context(), cl, f.App2); !errors.Is(err, e) {
			t.Errorf("ReadCommitsOf: %v", err)
		}
	}
}

// fetched is one partition of an answer to OffsetFetch.
type fetched struct {
	topic     string
	partition int32
	offset    int64
	err       *kerr.Error
}

// storedInstead makes a cluster say that every group has stored this; rows of one topic follow each other. kfake drops what is
// stored for a topic that is deleted, and hides nothing.
func storedInstead(fake *kfake.Cluster, rows ...fetched) {
	fake.ControlKey(int16(kmsg.OffsetFetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		req := kreq.(*kmsg.OffsetFetchRequest)
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range req.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group = g.Group
			for i, r := range rows {
				if i == 0 || r.topic != rows[i-1].topic {
					rt := kmsg.NewOffsetFetchResponseGroupTopic()
					rt.Topic = r.topic
					rg.Topics = append(rg.Topics, rt)
				}
				rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
				rp.Partition, rp.Offset, rp.LeaderEpoch = r.partition, r.offset, -1
				if r.err != nil {
					rp.ErrorCode = r.err.Code
				}
				last := &rg.Topics[len(rg.Topics)-1]
				last.Partitions = append(last.Partitions, rp)
			}
			resp.Groups = append(resp.Groups, rg)
		}
		return resp, nil, true
	})
}

// A failing partition of a group is an error on its row.
func TestPartitionErrorInCommits(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	storedInstead(fake, fetched{f.Topic, 0, 5, nil}, fetched{f.Topic, 1, 5, kerr.TopicAuthorizationFailed})
	s := snapshot(t, cl, inspect.Query{Groups: []inspect.Group{{Name: f.App, Type: inspect.TypeClassic}}})
	sameRows(t, "app", rowLines(t, s, f.App), []string{
		"orders.v1:0 at 5 in 4..10 lag 5 ok", "orders.v1:1 in 0..10 error", "orders.v1:2 in 0..10 no-commit"})
	if sum := s.Sum(description(t, s, f.App)); !sum.Incomplete || sum.Lag != 5 || sum.Errors != 1 {
		t.Errorf("sum %+v", sum)
	}
}

// A broker that leaves a group out of its answer has not said that nothing is stored.
func TestGroupLeftOut(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	fake.ControlKey(int16(kmsg.OffsetFetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		resp := kreq.ResponseKind().(*kmsg.OffsetFetchResponse)
		return resp, nil, true
	})
	if c, err := inspect.ReadCommitsOf(t.Context(), cl, "g"); err == nil {
		t.Errorf("no error, and commits %v", stored(c))
	}
}

// Before 3.0 one OffsetFetch takes one group; before 3.8 the list of groups has no types; before 2.6 no states.
func TestOldBrokers(t *testing.T) {
	for version, c := range map[string]struct{ state, listedType string }{
		"v2.4.0": {"", ""}, "v2.8.0": {"Empty", ""}, "v3.0.0": {"Empty", ""}, "v3.7.0": {"Empty", ""}, "v3.8.0": {"Empty", "classic"},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			fake, cl := oldFake(t, version)
			f := kafkatest.F1(t, cl, "")
			fetches := countRequests(fake, kmsg.OffsetFetch)
			groups := listGroups(t, cl)
			if len(groups) != 2 || string(groups[0].Type) != c.listedType || groups[0].State != c.state {
				t.Errorf("listed %+v", groups)
			}
			s := snapshot(t, cl, inspect.Query{})
			for _, g := range []string{f.App, f.App2} {
				sameRows(t, g, rowLines(t, s, g), []string{
					"orders.v1:0 at 6 in 4..10 lag 4 ok", "orders.v1:1 at 7 in 0..10 lag 3 ok", "orders.v1:2 in 0..10 no-commit"})
				if d := description(t, s, g); d.Type != inspect.TypeClassic || d.State != "Empty" || d.NotFound || d.Err != nil {
					t.Errorf("%+v", d)
				}
			}
			want := 1
			if version < "v3.0.0" {
				want = 3 // the first tells by its version that the broker takes one group a request
			}
			if fetches.Hits() != want {
				t.Errorf("%d OffsetFetch for two groups, want %d", fetches.Hits(), want)
			}
			if d := inspect.Describe(t.Context(), cl, []inspect.Group{{Name: "nobody"}}); !d["nobody"].NotFound || d["nobody"].Err != nil {
				t.Errorf("a group that never was: %+v", d["nobody"])
			}
		})
	}
}
