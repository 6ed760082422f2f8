package commits

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// told collects what Write tells, and fails the test where a row is told of twice.
type told struct {
	t    *testing.T
	mu   sync.Mutex
	rows map[int]map[int]error // job -> row -> answer
	jobs map[int]error         // RemoveGroup jobs
}

func run(t *testing.T, ctx context.Context, cl *kgo.Client, jobs ...Job) *told {
	t.Helper()
	x := &told{t: t, rows: map[int]map[int]error{}, jobs: map[int]error{}}
	Write(ctx, cl, jobs, func(job int, rows []int, err error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.rows[job] == nil {
			x.rows[job] = map[int]error{}
		}
		if _, twice := x.jobs[job]; twice && jobs[job].Op == RemoveGroup {
			t.Errorf("job %d is told of twice", job)
		}
		x.jobs[job] = err
		for _, i := range rows {
			if _, twice := x.rows[job][i]; twice {
				t.Errorf("row %d of job %d is told of twice", i, job)
			}
			x.rows[job][i] = err
		}
	})
	for n, j := range jobs {
		if len(x.rows[n]) != len(j.Rows) {
			t.Errorf("job %d: %d of %d rows are told of", n, len(x.rows[n]), len(j.Rows))
		}
		if _, ok := x.jobs[n]; !ok && j.Op == RemoveGroup {
			t.Errorf("job %d is not told of", n)
		}
	}
	return x
}

func rows(topic string, offsets ...int64) []Row {
	out := make([]Row, len(offsets))
	for i, n := range offsets {
		out[i] = Row{Partition: offset.Partition{Topic: topic, Partition: int32(i)}, Offset: n}
	}
	return out
}

func many(topic string, n int) []Row { return rows(topic, make([]int64, n)...) }

// sort of an answer, for tables.
func sort(err error) string {
	var unsent *NotSentError
	var unknown *UnknownError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &unsent):
		return "not sent"
	case errors.As(err, &unknown):
		return "unknown"
	}
	return "refused"
}

// answerDelete answers one OffsetDelete or DeleteGroups with a code: for the request as a whole, or with part for its
// first partition.
func answerDelete(req kmsg.Request, code int16, part bool) kmsg.Response {
	switch r := req.(type) {
	case *kmsg.OffsetDeleteRequest:
		resp := r.ResponseKind().(*kmsg.OffsetDeleteResponse)
		if !part {
			resp.ErrorCode = code
			return resp
		}
		for _, topic := range r.Topics {
			rt := kmsg.NewOffsetDeleteResponseTopic()
			rt.Topic = topic.Topic
			for i, p := range topic.Partitions {
				rp := kmsg.NewOffsetDeleteResponseTopicPartition()
				rp.Partition = p.Partition
				if i == 0 {
					rp.ErrorCode = code
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	case *kmsg.DeleteGroupsRequest:
		resp := r.ResponseKind().(*kmsg.DeleteGroupsResponse)
		g := kmsg.NewDeleteGroupsResponseGroup()
		g.Group, g.ErrorCode = r.Groups[0], code
		resp.Groups = append(resp.Groups, g)
		return resp
	}
	return nil
}

// Every answer that Kafka's source gives to OffsetDelete and DeleteGroups, and what is known after it. An answer that asks
// for another try is given once, and the broker's own answer then counts.
func TestAnswersOfDeletes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op   Op
		err  *kerr.Error
		part bool
		want string
		kept bool // what was stored is still there
	}{
		{Remove, kerr.NotCoordinator, false, "done", false},
		{Remove, kerr.CoordinatorLoadInProgress, false, "done", false},
		{Remove, kerr.CoordinatorNotAvailable, false, "done", false},
		{Remove, kerr.GroupIDNotFound, false, "refused", true},
		{Remove, kerr.InvalidGroupID, false, "refused", true},
		{Remove, kerr.NonEmptyGroup, false, "refused", true},
		{Remove, kerr.GroupAuthorizationFailed, false, "refused", true},
		{Remove, kerr.RequestTimedOut, false, "unknown", true},
		{Remove, kerr.UnknownServerError, false, "unknown", true},
		{Remove, kerr.UnknownTopicOrPartition, true, "refused", true},
		{Remove, kerr.TopicAuthorizationFailed, true, "refused", true},
		{Remove, kerr.GroupSubscribedToTopic, true, "refused", true},
		{RemoveGroup, kerr.NotCoordinator, false, "done", false},
		{RemoveGroup, kerr.CoordinatorLoadInProgress, false, "done", false},
		{RemoveGroup, kerr.CoordinatorNotAvailable, false, "done", false},
		{RemoveGroup, kerr.GroupIDNotFound, false, "done", true}, // somebody else removed it
		{RemoveGroup, kerr.InvalidGroupID, false, "refused", true},
		{RemoveGroup, kerr.NonEmptyGroup, false, "refused", true},
		{RemoveGroup, kerr.GroupAuthorizationFailed, false, "refused", true},
		{RemoveGroup, kerr.RequestTimedOut, false, "unknown", true},
		{RemoveGroup, kerr.UnknownServerError, false, "unknown", true},
	} {
		name := "OffsetDelete"
		key := kmsg.OffsetDelete
		if tc.op == RemoveGroup {
			name, key = "DeleteGroups", kmsg.DeleteGroups
		}
		t.Run(name+" "+tc.err.Message, func(t *testing.T) {
			t.Parallel()
			c, cl := kafkatest.FakeClient(t)
			kafkatest.CreateTopic(t, cl, "t", 2)
			kafkatest.Commit(t, cl, "g", kafkatest.At("t", 0, 3), kafkatest.At("t", 1, 4))
			c.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
				return answerDelete(req, tc.err.Code, tc.part), nil, true
			})
			x := run(t, t.Context(), cl, Job{Group: "g", Op: tc.op, Rows: rows("t", 0, 0)})
			if got := sort(x.rows[0][0]); got != tc.want || tc.want == "refused" && !errors.Is(x.rows[0][0], tc.err) {
				t.Errorf("got %s (%v), want %s", got, x.rows[0][0], tc.want)
			}
			if other := sort(x.rows[0][1]); tc.part && other != "done" {
				t.Errorf("the partition beside it is %s", other)
			}
			if left := len(kafkatest.CommittedOffsets(t, cl, "g", "t")); (left > 0) != tc.kept {
				t.Errorf("%d commits are left", left)
			}
		})
	}
}

// A broker that says nothing of a row, or of the group, has not said yes.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	for _, key := range []kmsg.Key{kmsg.OffsetCommit, kmsg.OffsetDelete, kmsg.DeleteGroups} {
		c.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			return req.ResponseKind(), nil, true
		})
	}
	x := run(t, t.Context(), cl, Job{Group: "a", Op: Commit, Rows: rows("t", 1)}, Job{Group: "b", Op: Remove, Rows: rows("t", 1)}, Job{Group: "c", Op: RemoveGroup})
	for job := range 3 {
		if err := x.jobs[job]; sort(err) != "unknown" || !errors.Is(err, errLeftOut) {
			t.Errorf("job %d: %v", job, err)
		}
	}
}

// A request is one batch of the offsets topic. A group's name stands in every record of it, in tombstones too.
func TestSplitByBytes(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "wide", 1000)
	long := strings.Repeat("g", 1200)
	var mu sync.Mutex
	sent := map[kmsg.Key][]int{}
	for _, key := range []kmsg.Key{kmsg.OffsetCommit, kmsg.OffsetDelete, kmsg.DeleteGroups} {
		c.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			n := 0
			switch r := req.(type) {
			case *kmsg.OffsetCommitRequest:
				n = len(r.Topics[0].Partitions)
			case *kmsg.OffsetDeleteRequest:
				n = len(r.Topics[0].Partitions)
			}
			mu.Lock()
			sent[key] = append(sent[key], n)
			mu.Unlock()
			if n*(len(long)+len("wide")+rowBytes) > maxBytes {
				t.Errorf("%T has %d partitions", req, n)
			}
			return nil, nil, false
		})
	}
	check := func(x *told, want map[kmsg.Key]int) {
		t.Helper()
		for i, err := range x.rows[0] {
			if err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for key, n := range want {
			if len(sent[key]) != n {
				t.Errorf("%d requests of %s (%v), want %d", len(sent[key]), key.Name(), sent[key], n)
			}
		}
		clear(sent)
	}
	ctx := t.Context()
	check(run(t, ctx, cl, Job{Group: long, Op: Commit, Rows: many("wide", 1000)}), map[kmsg.Key]int{kmsg.OffsetCommit: 2})
	check(run(t, ctx, cl, Job{Group: long, Op: Remove, Rows: many("wide", 1000)}), map[kmsg.Key]int{kmsg.OffsetDelete: 2})
	// The tombstones of a group's removal are one batch too, so the commits go first.
	check(run(t, ctx, cl, Job{Group: long, Op: Commit, Rows: many("wide", 1000)}), nil)
	check(run(t, ctx, cl, Job{Group: long, Op: RemoveGroup, Rows: many("wide", 1000)}), map[kmsg.Key]int{kmsg.OffsetDelete: 2, kmsg.DeleteGroups: 1})
	check(run(t, ctx, cl, Job{Group: "short", Op: Commit, Rows: rows("wide", 1, 2)}), nil)
	check(run(t, ctx, cl, Job{Group: "short", Op: RemoveGroup, Rows: many("wide", 2)}), map[kmsg.Key]int{kmsg.OffsetDelete: 0, kmsg.DeleteGroups: 1})
}

// The coordinator's broker goes away, and another one takes the group over a moment later: the group is looked up again,
// and the dead one is not dialled until the time is over.
func TestCoordinatorGoesAway(t *testing.T) {
	t.Parallel()
	c, setup := kafkatest.FakeClient(t, kfake.NumBrokers(3))
	kafkatest.CreateTopic(t, setup, "t", 2)
	kafkatest.Commit(t, setup, "g", kafkatest.At("t", 0, 1))
	dead := c.CoordinatorFor("g")
	cl, dialled := refusing(t, c, dead)
	if _, err := kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), cl); err != nil { // it knows the brokers now
		t.Fatal(err)
	}
	var asked atomic.Int32
	c.ControlKey(int16(kmsg.FindCoordinator), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		// As a real cluster does until the dead broker's session ends.
		if asked.Add(1) > 3 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
		stale := kmsg.NewFindCoordinatorResponseCoordinator()
		stale.Key, stale.NodeID = "g", dead
		resp.Coordinators = append(resp.Coordinators, stale)
		return resp, nil, true
	})
	if err := c.RemoveNode(dead); err != nil { // its groups move to another node
		t.Fatal(err)
	}
	began := time.Now()
	x := run(t, t.Context(), cl, Job{Group: "g", Op: Commit, Rows: rows("t", 7, 8)})
	if x.rows[0][0] != nil || x.rows[0][1] != nil {
		t.Fatalf("got %v", x.rows[0])
	}
	if took := time.Since(began); took > 20*time.Second || asked.Load() < 4 || dialled.Load() < 3 {
		t.Errorf("it took %s, the coordinator was looked up %d times and dialled %d times", took, asked.Load(), dialled.Load())
	}
}

// A broker that cannot be reached until the time is over was sent nothing.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	c, setup := kafkatest.FakeClient(t, kfake.NumBrokers(2))
	kafkatest.CreateTopic(t, setup, "t", 1)
	kafkatest.Commit(t, setup, "g", kafkatest.At("t", 0, 1))
	cl, dialled := refusing(t, c, c.CoordinatorFor("g"))
	over := errors.New("too slow")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 700*time.Millisecond, over)
	defer cancel()
	x := run(t, ctx, cl, Job{Group: "g", Op: Commit, Rows: rows("t", 7)}, Job{Group: "g", Op: RemoveGroup})
	for job := range 2 {
		if err := x.jobs[job]; sort(err) != "not sent" || !errors.Is(err, over) {
			t.Errorf("job %d: %s, %v", job, sort(err), err)
		}
	}
	if n := dialled.Load(); n < 2 {
		t.Errorf("it was dialled %d times", n)
	}
}

// refusing makes a client to which one node refuses connections, and counts them.
func refusing(t *testing.T, c *kfake.Cluster, node int32) (*kgo.Client, *atomic.Int32) {
	t.Helper()
	var n atomic.Int32
	addrs := c.ListenAddrs() // in the order of the nodes
	dead := addrs[node]
	return kafkatest.Client(t, slices.Delete(addrs, int(node), int(node)+1), kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
		if host == dead {
			n.Add(1)
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return new(net.Dialer).DialContext(ctx, network, host)
	})), &n
}

// An answer that is lost is asked for again a few times: storing the same twice changes nothing.
func TestAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lost int
		want string
	}{{1, "done"}, {resends, "done"}, {resends + 1, "unknown"}} {
		c, cl := kafkatest.FakeClient(t)
		kafkatest.CreateTopic(t, cl, "t", 1)
		n := 0
		c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			if n++; n > tc.lost {
				return nil, nil, false
			}
			return nil, errors.New("cut the connection"), true
		})
		x := run(t, t.Context(), cl, Job{Group: "g", Op: Commit, Rows: rows("t", 0)})
		if got := sort(x.rows[0][0]); got != tc.want {
			t.Errorf("%d answers lost: %s (%v), want %s", tc.lost, got, x.rows[0][0], tc.want)
		}
	}
}

// The context ends while a request waits for its answer: it may have been stored. What comes after it was never sent.
func TestEndsWhileWaiting(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 2500)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		cancel()
		c.SleepControl(func() { <-over })
		return nil, nil, false
	})
	x := run(t, ctx, cl, Job{Group: "g", Op: Commit, Rows: many("t", 2500)})
	close(over)
	if first, last := sort(x.rows[0][0]), sort(x.rows[0][2499]); first != "unknown" || last != "not sent" {
		t.Errorf("the first row is %s (%v), the last %s (%v)", first, x.rows[0][0], last, x.rows[0][2499])
	}
}

func TestNegativeIsNeverSent(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 3)
	c.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		for _, p := range req.(*kmsg.OffsetCommitRequest).Topics[0].Partitions {
			if p.Offset < 0 {
				t.Errorf("%d was sent", p.Offset)
			}
		}
		return nil, nil, false
	})
	x := run(t, t.Context(), cl, Job{Group: "g", Op: Commit, Rows: rows("t", 4, -1, -5)})
	if x.rows[0][0] != nil || !errors.Is(x.rows[0][1], errNegative) || !errors.Is(x.rows[0][2], errNegative) {
		t.Errorf("got %v", x.rows[0])
	}
}

// Jobs of one group come in their order, also behind one that was refused.
func TestJobsOfOneGroup(t *testing.T) {
	t.Parallel()
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 2)
	x := run(t, t.Context(), cl,
		Job{Group: "g", Op: Commit, Rows: rows("t", 5, 6)},
		Job{Group: "g", Op: Remove, Rows: rows("t", 0)},
		Job{Group: "h", Op: RemoveGroup})
	if x.rows[0][1] != nil || x.rows[1][0] != nil || x.jobs[2] != nil {
		t.Errorf("got %v", x.rows)
	}
	if got := kafkatest.CommittedOffsets(t, cl, "g", "t"); len(got) != 1 || got[1] != 6 {
		t.Errorf("stored %v", got)
	}
}

// The commits of a large group go before the group. What is refused after that is the group: those commits are gone, and
// whoever is told that they stand as before does not put them back.
func TestGroupIsRefusedAfterSomeOfItsCommitsWent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		key  kmsg.Key
		at   int // the request of that key that is answered
		err  *kerr.Error
		part bool
		gone int // of 1,000 commits
		ask  int // DeleteGroups requests
	}{
		{"somebody joined before the group went", kmsg.DeleteGroups, 1, kerr.NonEmptyGroup, false, 1000, 1},
		{"the user may delete commits alone", kmsg.DeleteGroups, 1, kerr.GroupAuthorizationFailed, false, 1000, 1},
		{"somebody joined between two requests", kmsg.OffsetDelete, 2, kerr.NonEmptyGroup, false, 706, 0},
		{"somebody subscribed between two requests", kmsg.OffsetDelete, 2, kerr.GroupSubscribedToTopic, true, 999, 0},
		{"somebody joined before all", kmsg.OffsetDelete, 1, kerr.NonEmptyGroup, false, 0, 0},
		{"nobody knows what became of the group", kmsg.DeleteGroups, 1, kerr.RequestTimedOut, false, 1000, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, cl := kafkatest.FakeClient(t)
			kafkatest.CreateTopic(t, cl, "wide", 1000)
			long := strings.Repeat("g", 1200)
			run(t, t.Context(), cl, Job{Group: long, Op: Commit, Rows: many("wide", 1000)})
			var seen, asked atomic.Int32
			for _, key := range []kmsg.Key{kmsg.OffsetDelete, kmsg.DeleteGroups} {
				c.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
					c.KeepControl()
					if key == kmsg.DeleteGroups {
						asked.Add(1)
					}
					if key != tc.key || int(seen.Add(1)) != tc.at {
						return nil, nil, false
					}
					return answerDelete(req, tc.err.Code, tc.part), nil, true
				})
			}
			tell := map[int]error{}
			var last error
			Write(t.Context(), cl, []Job{{Group: long, Op: RemoveGroup, Rows: many("wide", 1000)}}, func(_ int, rows []int, err error) {
				for _, i := range rows {
					if _, twice := tell[i]; twice {
						t.Errorf("row %d is told of twice", i)
					}
					tell[i] = err
				}
				last = err
			})
			if !errors.Is(last, tc.err) || int(asked.Load()) != tc.ask {
				t.Errorf("the group is told of with %v, after %d requests to delete it", last, asked.Load())
			}
			gone := 0
			for i := range 1000 {
				switch err, told := tell[i]; {
				case !told:
					t.Fatalf("row %d is not told of", i)
				case err == nil:
					gone++
				case !errors.Is(err, tc.err):
					t.Fatalf("row %d: %v", i, err)
				}
			}
			if gone != tc.gone {
				t.Errorf("%d rows are told of as removed, want %d", gone, tc.gone)
			}
		})
	}
}

// The answer to the first request is lost, and the second one is refused, because somebody joined in between or because the
// first one took the group along: what is stored is not known, and nothing may say that the old value stands.
func TestRefusedAfterALostAnswer(t *testing.T) {
	t.Parallel()
	refuse := func(req kmsg.Request, code int16) kmsg.Response {
		r, ok := req.(*kmsg.OffsetCommitRequest)
		if !ok {
			return answerDelete(req, code, false)
		}
		resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, topic := range r.Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	}
	for _, tc := range []struct {
		op     Op
		key    kmsg.Key
		second *kerr.Error
	}{
		{Commit, kmsg.OffsetCommit, kerr.UnknownMemberID},
		{Remove, kmsg.OffsetDelete, kerr.GroupIDNotFound},
		{Remove, kmsg.OffsetDelete, kerr.NonEmptyGroup},
		{RemoveGroup, kmsg.DeleteGroups, kerr.NonEmptyGroup},
	} {
		t.Run(tc.key.Name()+" "+tc.second.Message, func(t *testing.T) {
			t.Parallel()
			c, cl := kafkatest.FakeClient(t)
			kafkatest.CreateTopic(t, cl, "t", 2)
			kafkatest.Commit(t, cl, "g", kafkatest.At("t", 0, 3), kafkatest.At("t", 1, 4))
			var n atomic.Int32
			c.ControlKey(int16(tc.key), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				if n.Add(1) == 1 {
					return nil, errors.New("the connection is cut"), true
				}
				return refuse(req, tc.second.Code), nil, true
			})
			x := run(t, t.Context(), cl, Job{Group: "g", Op: tc.op, Rows: rows("t", 8, 9)})
			for i := range 2 {
				if err := x.rows[0][i]; sort(err) != "unknown" || !errors.Is(err, tc.second) {
					t.Errorf("row %d is told of with %s: %v", i, sort(err), err)
				}
			}
			if n.Load() != 2 {
				t.Errorf("%d requests", n.Load())
			}
		})
	}
}

// A broker that is far away is not waited for once a request: two hundred groups are under way at once, and of a wide group whatever
// comes after the first request, which tells whether the broker takes any.
func TestManyAreUnderWayAtOnce(t *testing.T) {
	t.Parallel()
	const groups, wide = 200, 4*maxRows + 1
	var narrow []Job
	for i := range groups {
		narrow = append(narrow, Job{Group: fmt.Sprint("g", i), Op: Commit, Rows: rows("t", 1)})
	}
	for name, tc := range map[string]struct {
		jobs     []Job
		alone, n int
	}{
		"groups":     {narrow, 0, groups},
		"partitions": {[]Job{{Group: "g", Op: Commit, Rows: many("t", wide)}}, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			c, cl := kafkatest.FakeClient(t)
			kafkatest.CreateTopic(t, cl, "t", wide)
			kafkatest.Commit(t, cl, "g", kafkatest.At("t", 0, 0)) // the coordinator is there
			asks := kafkatest.AnswerTogether(t, c, kmsg.OffsetCommit, tc.alone, tc.n)
			for job, answers := range run(t, t.Context(), asks, tc.jobs...).rows {
				for i, err := range answers {
					if err != nil {
						t.Fatalf("row %d of job %d: %v", i, job, err)
					}
				}
			}
		})
	}
}
