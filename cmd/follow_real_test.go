//go:build realkafka

package cmd_test

// Followed commits against what the coordinators answer, at every moment of the life in history_real_test.go.

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// followBed follows the commits of a broker, and counts how often it asks for them.
type followBed struct {
	f     *history.Follow
	cl    *kgo.Client
	asked atomic.Int64
}

func (b *followBed) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, _ kgo.BrokerE2E) {
	if key == int16(kmsg.OffsetFetch) {
		b.asked.Add(1)
	}
}

// follow looks at all groups through the record of the commits.
func (b *pastBed) follow() ([]string, inspect.Standing) {
	b.t.Helper()
	if b.followed.f == nil {
		b.followed.cl = b.k.Client(b.t, kgo.WithHooks(&b.followed))
		b.followed.f = &history.Follow{Client: b.followed.cl, Now: time.Now}
	}
	groups, missing, err := inspect.ListGroups(b.t.Context(), b.followed.cl)
	if err != nil || len(missing) > 0 {
		b.t.Fatal(err, missing)
	}
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Name
	}
	return names, b.followed.f.Standing(b.t.Context(), groups)
}

// follows waits until what was followed is what the coordinator answers, which is so at once unless something expires meanwhile.
func (b *pastBed) follows(what string) {
	b.t.Helper()
	var diff string
	b.t.Cleanup(func() {
		if diff != "" {
			b.t.Errorf("%s: %s", what, diff)
		}
	})
	kafkatest.Until(b.t, what+": followed commits are those that the coordinator answers", func() bool {
		names, s := b.follow()
		if s.Unfollowed != nil {
			b.t.Fatalf("%s: %v", what, s.Unfollowed)
		}
		diff = ""
		for _, want := range inspect.ReadCommits(b.t.Context(), b.cl, names) {
			if got := s.Commits[want.Group]; commitsText(got) != commitsText(want) {
				diff = fmt.Sprintf("%s is followed to %s, and has %s", want.Group, commitsText(got), commitsText(want))
			}
		}
		return diff == ""
	})
}

func commitsText(c inspect.Commits) string {
	if c.Err != nil {
		return c.Err.Error()
	}
	var out []string
	for _, t := range c.Topics {
		for _, r := range t.Rows {
			one := fmt.Sprintf("%s:%d unstable=%t", t.Topic, r.Partition, r.Unstable())
			if v := r.Committed(); v != nil {
				one += fmt.Sprintf(" %d epoch %s %q", v.Offset, v.LeaderEpoch, v.Metadata)
			}
			out = append(out, one)
		}
	}
	return strings.Join(out, ", ")
}

// followsAlone shows that a commit is known without asking for it, with its time and who was in the group.
func (b *pastBed) followsAlone() {
	t := b.t
	kafkatest.Commit(t, b.cl, "filler", kafkatest.At("life", 0, 1))
	b.follow() // a group that is new is asked for
	var s inspect.Standing
	var names []string
	kafkatest.Until(t, "nobody is asked for", func() bool {
		before := b.followed.asked.Load()
		names, s = b.follow()
		return b.followed.asked.Load() == before
	})
	if !slices.Contains(names, "filler") || s.Activity["filler"] == nil {
		t.Fatalf("filler is not followed: %q", names)
	}
	was, before, began := s.Activity["filler"].Commits, b.followed.asked.Load(), time.Now().Add(-time.Millisecond)
	kafkatest.Commit(t, b.cl, "filler", kafkatest.At("life", 0, 2))
	_, s = b.follow()
	a := s.Activity["filler"]
	if got := commitsText(s.Commits["filler"]); b.followed.asked.Load() != before || !strings.HasPrefix(got, "life:0 unstable=false 2 ") || a.Commits != was+1 || a.Last.Before(began) || a.Who() != "no members" {
		t.Errorf("asked %d times, %s, %+v", b.followed.asked.Load()-before, got, a)
	}
}
