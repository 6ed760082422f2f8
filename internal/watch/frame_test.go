package watch

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func TestCollector(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	o := kafkatest.F1(t, cl, "w-")
	now := t0
	c := &Collector{Sampler: &inspect.Sampler{Client: cl, Names: []string{"w-app", "nobody"}, History: inspect.NewHistory(inspect.DefaultRules()), Now: func() time.Time { return now }}}
	f := c.Look(t.Context())
	if f.Err != nil || len(f.Groups) != 2 || !f.Groups[0].NotFound || f.Groups[0].Name != "nobody" {
		t.Fatalf("first look: %+v", f)
	}
	g := f.Groups[1]
	if g.Name != "w-app" || g.Committed != 13 || g.End != 20 || g.Health.Lag != 7 || g.Health.Uncommitted != 1 || len(g.Parts) != 3 || g.Members != 0 {
		t.Errorf("group %+v", g)
	}
	if p := g.Parts[2]; p.HasCommit || !p.HasBounds || p.End != 10 || p.Diagnosis.Health != inspect.HealthNeverCommitted || !math.IsNaN(p.Lags[0]) {
		t.Errorf("the uncommitted partition: %+v", p)
	}

	kafkatest.Commit(t, cl, "w-app", kafkatest.At(o.Topic, 0, 9))
	now = now.Add(10 * time.Second)
	g = c.Look(t.Context()).Groups[1]
	if got := g.Lags; len(got) != 2 || got[0] != 7 || got[1] != 4 {
		t.Errorf("lags of the group: %v", got)
	}
	if got := g.Parts[0].Lags; len(got) != 2 || got[0] != 4 || got[1] != 1 {
		t.Errorf("lags of partition 0: %v", got)
	}
	if d := g.Parts[0].Diagnosis; d.Out != 0.3 || d.In != 0 {
		t.Errorf("rates: %+v", d)
	}

	// A look that fails shows what was there before, and says so.
	fault := fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	now = now.Add(10 * time.Second)
	bad := c.Look(t.Context())
	if bad.Err == nil || len(bad.Groups) != 2 || !bad.At.Equal(now) {
		t.Errorf("the failed look: %+v", bad)
	}
	fault.Remove()
	if f = c.Look(t.Context()); f.Err != nil || len(f.Groups[1].Lags) != 3 {
		t.Errorf("after it: %+v", f)
	}

	// A group that cannot be read has no lag, and its spark line has a gap.
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: "w-app", Err: kerr.GroupAuthorizationFailed, Count: -1})
	g = c.Look(t.Context()).Groups[1]
	if g.Err == nil || g.Health.Health != inspect.HealthUnknown || !math.IsNaN(g.Lags[3]) {
		t.Errorf("the unreadable group: %+v", g)
	}
}

func TestCollectorKeeps(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "k-")
	c := &Collector{Sampler: &inspect.Sampler{Client: cl, Match: func(inspect.Group) bool { return true }, History: inspect.NewHistory(inspect.DefaultRules()), Now: time.Now},
		Keep: func(g Group) bool { return g.Name == "k-app" }}
	if f := c.Look(t.Context()); len(f.Groups) != 1 || f.Groups[0].Name != "k-app" {
		t.Errorf("%+v", f.Groups)
	}
}

// The columns of followed commits are there where commits are followed, and what nobody saw is at least so long ago, or not known.
func TestFollowedColumns(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	part := offset.Partition{Topic: "orders"}
	f := &Frame{At: now, Follow: true, Groups: []Group{
		{Name: "busy", Activity: &inspect.Activity{Since: now.Add(-time.Hour), Last: now.Add(-3 * time.Second), Rate: 12, HasRate: true, Parts: map[offset.Partition]time.Time{part: now.Add(-4 * time.Second)}},
			Parts: []Part{{Partition: part}, {Partition: offset.Partition{Topic: "orders", Partition: 1}}}},
		{Name: "gap"},
	}}
	m := New("koffset watch", true).Resize(200, 20).Take(f)
	got := strings.Join(m.View(false), "\n")
	for _, want := range []string{`COMMITS/S +COMMITTED-AGO`, `busy .* 12 +3s `, `orders:0 .* 4s `, `orders:1 .* >1h `, `gap .* \? +\? `} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	f.Unfollowed = errors.New("it may not be read")
	if got = strings.Join(m.Take(f).View(false), "\n"); strings.Contains(got, "COMMITS/S") || !strings.Contains(got, "commits not followed: it may not be read") {
		t.Error(got)
	}
}
