package history_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// follower follows the commits of a fake cluster, whose groups and whose offsets topic know nothing of each other: what comes from
// which shows. The coordinator says 100 more than the topic.
type follower struct {
	t   *testing.T
	c   *kfake.Cluster
	cl  *kgo.Client
	f   *history.Follow
	now time.Time
	s   inspect.Standing

	mu        sync.Mutex
	asked     map[string]bool // whose commits were asked for since the last look
	described map[string]bool
}

func newFollower(t *testing.T, groups ...string) *follower {
	t.Helper()
	f := &follower{t: t, now: at(1000), asked: map[string]bool{}, described: map[string]bool{}}
	f.c, f.cl = offsetsTopic(t)
	kafkatest.CreateTopic(t, f.cl, "orders", 4)
	f.f = &history.Follow{Client: f.cl, Now: func() time.Time { return f.now }}
	for _, g := range groups {
		kafkatest.Commit(t, f.cl, g, kafkatest.At("orders", 3, 100))
	}
	note := func(key int16, names func(kmsg.Request) []string, seen map[string]bool) {
		f.c.ControlKey(key, func(req kmsg.Request) (kmsg.Response, error, bool) {
			f.c.KeepControl()
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, g := range names(req) {
				seen[g] = true
			}
			return nil, nil, false
		})
	}
	note(kmsg.OffsetFetch.Int16(), func(req kmsg.Request) (out []string) {
		for _, g := range req.(*kmsg.OffsetFetchRequest).Groups {
			out = append(out, g.Group)
		}
		return out
	}, f.asked)
	note(kmsg.DescribeGroups.Int16(), func(req kmsg.Request) []string { return req.(*kmsg.DescribeGroupsRequest).Groups }, f.described)
	return f
}

// look looks again, some time later, and says whose commits were asked for.
func (f *follower) look(later time.Duration) string {
	f.t.Helper()
	groups, _, err := inspect.ListGroups(f.t.Context(), f.cl)
	if err != nil {
		f.t.Fatal(err)
	}
	f.now = f.now.Add(later)
	clear(f.asked)
	clear(f.described)
	f.s = f.f.Standing(f.t.Context(), groups)
	return strings.Join(slices.Sorted(maps.Keys(f.asked)), " ")
}

// has is what a group has, in words.
func (f *follower) has(group string) string {
	c := f.s.Commits[group]
	if c.Err != nil {
		return c.Err.Error()
	}
	var out []string
	for _, t := range c.Topics {
		for _, r := range t.Rows {
			one := fmt.Sprintf("%s:%d %d", t.Topic, r.Partition, r.Offset)
			if r.Unstable() {
				one += " unstable"
			}
			out = append(out, one)
		}
	}
	return strings.Join(out, ", ")
}

// seen is what is known of a group's commits, in words.
func (f *follower) seen(group string) string {
	a := f.s.Activity[group]
	if a == nil {
		return "not followed"
	}
	out := fmt.Sprintf("%d", a.Commits)
	if a.HasRate {
		out += fmt.Sprintf(" %.2f/s", a.Rate)
	}
	if !a.Last.IsZero() {
		out += fmt.Sprintf(" last %d", int(a.Last.Sub(at(0)).Minutes()))
	}
	return out + fmt.Sprintf(" since %s", a.Since.Sub(at(1000)))
}

func (f *follower) write(records ...*kgo.Record) {
	f.t.Helper()
	kafkatest.ProduceEach(f.t, f.cl, records...)
}

// expect holds the last look against words: who was asked for, what a group has, and what is known of its commits.
func (f *follower) expect(what, asked, wantAsked, group, has, seen string) {
	f.t.Helper()
	if asked != wantAsked {
		f.t.Errorf("%s: asked for %q, want %q", what, asked, wantAsked)
	}
	if got := f.has(group); got != has {
		f.t.Errorf("%s: %s has %q, want %q", what, group, got, has)
	}
	if got := f.seen(group); got != seen {
		f.t.Errorf("%s: of %s is known %q, want %q", what, group, got, seen)
	}
	if f.s.Unfollowed != nil {
		f.t.Errorf("%s: %v", what, f.s.Unfollowed)
	}
}

// Each group is asked for once; then records alone tell.
func TestFollow(t *testing.T) {
	f := newFollower(t, "a", "b", "c")
	f.write(offsetsRecord("a", 900, commitKey("a", orders), val(1))) // before anybody looked
	f.expect("first", f.look(0), "a b c", "a", "orders:3 100", "0 since 0s")
	f.expect("nothing happened", f.look(10*time.Second), "", "a", "orders:3 100", "0 0.00/s since 0s")
	if len(f.described) != 0 {
		t.Errorf("described %v", f.described)
	}
	f.write(offsetsRecord("a", 1001, commitKey("a", orders), val(7)), offsetsRecord("a", 1002, commitKey("a", orders), val(8)))
	f.expect("two commits", f.look(10*time.Second), "", "a", "orders:3 8", "2 0.20/s last 1002 since 0s")
	if who := f.s.Activity["a"].Who(); who != "no members" {
		t.Errorf("it was committed by %q", who)
	}
	f.expect("another group", "", "", "b", "orders:3 100", "0 0.00/s since 0s")
	f.write(offsetsRecord("a", 1003, commitKey("a", orders), nil))
	f.expect("it was deleted", f.look(10*time.Second), "", "a", "", "2 0.00/s last 1002 since 0s")
	if at := f.s.Activity["a"].Parts; len(at) != 0 {
		t.Errorf("a commit that is gone has a time: %v", at)
	}
	// What the broker may hide is what the last answer did not have.
	f.write(offsetsRecord("b", 1004, commitKey("b", offset.Partition{Topic: "other"}), val(3)))
	f.expect("another topic", f.look(10*time.Second), "b", "b", "orders:3 100", "1 0.10/s last 1004 since 0s")
	kafkatest.Commit(t, f.cl, "d", kafkatest.At("orders", 0, 4))
	f.expect("a new group", f.look(10*time.Second), "d", "d", "orders:0 4", "0 since 50s")
	f.expect("everything is asked for now and then", f.look(10*time.Minute), "a b c d", "a", "orders:3 100", "2 0.00/s last 1002 since 0s")
}

// Who is in a group is asked for again when a record tells of a change, and a commit is of those that were in it then.
func TestFollowMembers(t *testing.T) {
	f := newFollower(t, "a", "b")
	f.look(0)
	f.look(10 * time.Second)
	f.write(offsetsRecord("a", 1001, classicKey("a"), classicValue(1, "reader")), offsetsRecord("a", 1002, commitKey("a", orders), val(7)))
	f.look(10 * time.Second)
	if len(f.described) != 1 || !f.described["a"] {
		t.Errorf("described %v", f.described)
	}
	if who := f.s.Activity["a"].Who(); who != "reader on 10.0.0.7" {
		t.Errorf("it was committed by %q", who)
	}
	// The description just read may know of what is yet to come in the log, so it says nothing of commits before that.
	f.write(offsetsRecord("b", 1001, commitKey("b", orders), val(7)), offsetsRecord("b", 1002, classicKey("b"), classicValue(1, "reader")))
	f.look(10 * time.Second)
	if who := f.s.Activity["b"].Who(); who != "no members" {
		t.Errorf("it was committed by %q", who)
	}
	f.look(10 * time.Minute)
	f.write(offsetsRecord("b", 1003, commitKey("b", orders), val(8)), offsetsRecord("b", 1004, classicKey("b"), classicValue(2, "other")))
	f.look(10 * time.Second)
	if who := f.s.Activity["b"].Who(); who != "reader on 10.0.0.7" {
		t.Errorf("it was committed by %q", who)
	}
}

// Commits of transactions count when they are committed.
func TestFollowTransactions(t *testing.T) {
	f := newFollower(t, "a")
	f.look(0)
	x := kafkatest.NewTxn(t, f.cl, "writer")
	x.Begin()
	x.Produce(offsetsRecord("a", 1001, commitKey("a", orders), val(7)))
	f.expect("open", f.look(10*time.Second), "", "a", "orders:3 100 unstable", "0 0.00/s since 0s")
	f.expect("open still", f.look(10*time.Second), "", "a", "orders:3 100 unstable", "0 0.00/s since 0s")
	x.End(false)
	f.expect("aborted", f.look(10*time.Second), "", "a", "orders:3 100", "0 0.00/s since 0s")
	x.Begin()
	x.Produce(offsetsRecord("a", 1002, commitKey("a", orders), val(9)))
	f.look(10 * time.Second)
	x.End(true)
	asked := f.look(10 * time.Second)
	if asked != "" || f.has("a") != "orders:3 9" || f.s.Activity["a"].Commits != 1 || f.s.Activity["a"].Last.IsZero() {
		t.Errorf("committed: asked for %q, %s, %s", asked, f.has("a"), f.seen("a"))
	}
	// One that began before anybody looked tells at its end that something changed, and not what.
	x.Begin()
	x.Produce(offsetsRecord("a", 1003, commitKey("a", orders), val(11)))
	f.f = &history.Follow{Client: f.cl, Now: func() time.Time { return f.now }}
	f.look(0)
	x.End(true)
	f.expect("began before", f.look(time.Second), "a", "a", "orders:3 100", "0 since 51s")
	f.expect("all is known again", f.look(time.Second), "", "a", "orders:3 100", "0 0.00/s since 51s")
}

// Whatever leaves doubt is asked for again, and what was not seen is not known.
func TestFollowDoubt(t *testing.T) {
	f := newFollower(t, "a", "b")
	f.look(0)
	f.write(offsetsRecord("a", 1001, commitKey("a", orders), val(7)))
	f.expect("a commit", f.look(10*time.Second), "", "a", "orders:3 7", "1 0.10/s last 1001 since 0s")
	f.write(offsetsRecord("a", 1002, commitKey("a", orders), []byte{0, 9, 1}))
	f.expect("unreadable", f.look(10*time.Second), "a", "a", "orders:3 100", "1 since 20s")
	of := history.PartitionOf("a", 5)
	f.write(offsetsRecord("a", 1003, commitKey("a", orders), val(8)), offsetsRecord("a", 1003, commitKey("a", orders), val(9)))
	kafkatest.DeleteRecords(t, f.cl, history.Topic, of, kafkatest.Bounds(t, f.cl, history.Topic)[of].End)
	f.expect("records were removed unread", f.look(10*time.Second), "a", "a", "orders:3 100", "1 since 30s")
	f.write(offsetsRecord("a", 1004, commitKey("a", orders), val(10)))
	f.expect("then they tell again", f.look(10*time.Second), "", "a", "orders:3 10", "2 0.10/s last 1004 since 30s")
	// A partition that cannot be read: its groups are asked for, nothing is known of when they commit, and the others go on.
	away := f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: history.Topic, Partitions: []int32{of}, Err: kerr.UnknownServerError, Count: -1})
	f.write(offsetsRecord("a", 1004, commitKey("a", orders), val(12)))
	f.expect("a partition is away", f.look(10*time.Second), "a", "a", "orders:3 100", "not followed")
	f.expect("the others go on", "", "", "b", "orders:3 100", "0 0.00/s since 0s")
	away.Remove()
	f.expect("it is back", f.look(10*time.Second), "a", "a", "orders:3 100", "2 since 1m0s")
	// Made anew, the topic has another log under the same numbers.
	kafkatest.DeleteTopic(t, f.cl, history.Topic)
	if asked := f.look(10 * time.Second); asked != "a b" || f.s.Unfollowed == nil || f.seen("a") != "not followed" || f.has("a") != "orders:3 100" {
		t.Errorf("deleted: asked for %q, %v, %s, %s", asked, f.s.Unfollowed, f.seen("a"), f.has("a"))
	}
	kafkatest.CreateTopic(t, f.cl, history.Topic, 5)
	f.expect("made anew", f.look(10*time.Second), "a b", "a", "orders:3 100", "0 since 1m20s")
	f.write(offsetsRecord("a", 1005, commitKey("a", orders), val(11)))
	f.expect("and followed", f.look(10*time.Second), "", "a", "orders:3 11", "1 0.10/s last 1005 since 1m20s")
}

// Where the topic may not be read every group is asked for, and the right is tried again now and then.
func TestFollowDenied(t *testing.T) {
	f := newFollower(t, "a", "b")
	f.write(offsetsRecord("a", 1001, commitKey("a", orders), val(7)))
	denied, fetches := true, 0
	f.c.ControlKey(kmsg.Fetch.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.c.KeepControl()
		fetches++
		if !denied {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, rt := range req.(*kmsg.FetchRequest).Topics {
			one := kmsg.NewFetchResponseTopic()
			one.Topic, one.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				p := kmsg.NewFetchResponseTopicPartition()
				p.Partition, p.ErrorCode = rp.Partition, kerr.TopicAuthorizationFailed.Code
				one.Partitions = append(one.Partitions, p)
			}
			resp.Topics = append(resp.Topics, one)
		}
		return resp, nil, true
	})
	for range 3 {
		if asked := f.look(time.Minute); asked != "a b" || f.s.Unfollowed == nil || f.s.Activity != nil || f.has("a") != "orders:3 100" {
			t.Errorf("asked for %q, %v, %v, %s", asked, f.s.Unfollowed, f.s.Activity, f.has("a"))
		}
	}
	if fetches != 1 {
		t.Errorf("a right that is missing was tried %d times", fetches)
	}
	denied = false
	f.look(10 * time.Minute)
	f.expect("allowed", f.look(time.Minute), "", "a", "orders:3 100", "0 0.00/s since 13m0s")
}

// Over hours the stream alone tells, and everything is asked for six times an hour.
func TestFollowForHours(t *testing.T) {
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprintf("with /#: blanks %d", i)
	}
	f := newFollower(t, names...)
	f.look(0)
	whole, offsets := 0, map[string]int64{}
	for minute := range 3 * 60 {
		var batch []*kgo.Record
		for i := range 2 {
			g := names[(minute*7+i*13)%len(names)]
			offsets[g] = int64(minute*10 + i)
			batch = append(batch, offsetsRecord(g, 1001+minute, commitKey(g, orders), val(offsets[g])))
			kafkatest.Commit(t, f.cl, g, kafkatest.At("orders", 3, offsets[g]))
		}
		f.write(batch...)
		switch asked := f.look(time.Minute); asked {
		case "":
		case strings.Join(slices.Sorted(slices.Values(names)), " "):
			whole++
		default:
			t.Errorf("minute %d: asked for %q", minute, asked)
		}
		for g, n := range offsets {
			if want := fmt.Sprintf("orders:3 %d", n); f.has(g) != want {
				t.Fatalf("minute %d: %s has %q, want %q", minute, g, f.has(g), want)
			}
		}
	}
	if whole != 18 {
		t.Errorf("everything was asked for %d times", whole)
	}
	total := int64(0)
	for _, g := range names {
		total += f.s.Activity[g].Commits
	}
	if total != 2*3*60 {
		t.Errorf("%d commits were counted", total)
	}
}
