package consume_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// collector is a sink that keeps what it gets, as topic:partition@offset, and tells when it has enough.
type collector struct {
	mu     sync.Mutex
	got    []string
	waits  []waiter
	write  func(consume.Batch) error // before a batch is taken; may be nil
	atLine func(consume.Barrier) (consume.Persist, error)
}

type waiter struct {
	n  int
	ch chan struct{}
}

func (c *collector) Info() consume.SinkInfo { return consume.SinkInfo{Kind: "test"} }
func (c *collector) Open(context.Context, *consume.Restored) error {
	return nil
}
func (c *collector) Write(_ context.Context, b consume.Batch) error {
	if c.write != nil {
		if err := c.write(b); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range b.Records {
		c.got = append(c.got, fmt.Sprintf("%s:%d@%d", b.Topic, b.Partition, r.Offset))
	}
	c.waits = slices.DeleteFunc(c.waits, func(w waiter) bool {
		if len(c.got) >= w.n {
			close(w.ch)
			return true
		}
		return false
	})
	return nil
}
func (c *collector) Checkpoint(ctx context.Context, b consume.Barrier) (consume.Persist, error) {
	if c.atLine != nil {
		return c.atLine(b)
	}
	return consume.SinkFunc(nil).Checkpoint(ctx, b)
}
func (c *collector) Completed(context.Context, int64) error { return nil }
func (c *collector) Close(context.Context) error            { return nil }

// until is closed when n records have come.
func (c *collector) until(n int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan struct{})
	if len(c.got) >= n {
		close(ch)
		return ch
	}
	c.waits = append(c.waits, waiter{n, ch})
	return ch
}

func (c *collector) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.got)
	slices.Sort(out)
	return out
}

// span is topic:partition@from … topic:partition@to-1.
func span(topic string, partition int32, from, to int64) []string {
	var out []string
	for n := from; n < to; n++ {
		out = append(out, fmt.Sprintf("%s:%d@%d", topic, partition, n))
	}
	return out
}

func all(lists ...[]string) []string {
	out := slices.Concat(lists...)
	slices.Sort(out)
	return out
}

// notes collects notices.
type notes struct {
	mu   sync.Mutex
	list []consume.Notice
}

func (n *notes) add(x consume.Notice) { n.mu.Lock(); defer n.mu.Unlock(); n.list = append(n.list, x) }
func (n *notes) has(part string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.list, func(x consume.Notice) bool { return strings.Contains(x.Text+" "+x.Hint, part) })
}
func (n *notes) warns(part string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.list, func(x consume.Notice) bool {
		return x.Level == consume.Warning && strings.Contains(x.Text, part)
	})
}
func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for _, x := range n.list {
		fmt.Fprintln(&b, x.Text)
	}
	return b.String()
}

func position(t *testing.T, word string, role offset.Role) *offset.Position {
	t.Helper()
	p, err := offset.ParsePosition(word, role, offset.Clock{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func from(t *testing.T, word string) consume.Start {
	return consume.Start{Position: position(t, word, offset.RoleStart)}
}

func until(t *testing.T, word string) consume.End {
	return consume.End{Until: position(t, word, offset.RoleEnd)}
}

func topics(names ...string) []offset.TopicSpec {
	var out []offset.TopicSpec
	for _, n := range names {
		out = append(out, offset.TopicSpec{Topic: n})
	}
	return out
}

// background runs a configuration until stop is called or it ends.
type background struct {
	stop func(cause error)
	done chan struct{}
	sum  consume.Summary
	err  error
}

func start(t *testing.T, cfg consume.Config) *background {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	b := &background{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.sum, b.err = consume.Run(ctx, cfg)
	}()
	t.Cleanup(func() { cancel(nil); <-b.done })
	return b
}

func (b *background) wait(t *testing.T) {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(kafkatest.Deadline):
		t.Fatal("the run did not end")
	}
}

func (b *background) reach(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-b.done:
		select {
		case <-ch:
		default:
			t.Fatalf("the run ended before: %v", b.err)
		}
	case <-time.After(kafkatest.Deadline):
		t.Fatal("the records did not come")
	}
}

func fake(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	return kafkatest.FakeClient(t, append([]kfake.Opt{kfake.GroupMinSessionTimeout(time.Second)}, opts...)...)
}

func TestStartModes(t *testing.T) {
	_, cl := fake(t)
	testStartModes(t, cl, "")
}

func testStartModes(t *testing.T, cl *kgo.Client, prefix string) {
	f := kafkatest.F1(t, cl, prefix)
	millis := fmt.Sprint(kafkatest.F1Start + 500)
	mode := func(m, millis, offsets string) consume.Start {
		s, _, err := consume.ParseStart(m, millis, offsets, f.Topic)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		name  string
		start consume.Start
		pol   consume.Policies
		want  []string
	}{
		{"earliest", mode("earliest-offset", "", ""), consume.Policies{}, all(span(f.Topic, 0, 4, 10), span(f.Topic, 1, 0, 10), span(f.Topic, 2, 0, 10))},
		{"latest", mode("latest-offset", "", ""), consume.Policies{}, nil},
		{"group, no commit on p2 is latest", mode("group-offsets", "", ""), consume.Policies{AllowRewind: true}, all(span(f.Topic, 0, 6, 10), span(f.Topic, 1, 7, 10))},
		{"group, reset earliest", mode("group-offsets", "", ""), consume.Policies{Reset: consume.ResetEarliest}, all(span(f.Topic, 0, 6, 10), span(f.Topic, 1, 7, 10), span(f.Topic, 2, 0, 10))},
		{"no start was chosen", consume.Start{}, consume.Policies{}, all(span(f.Topic, 0, 6, 10), span(f.Topic, 1, 7, 10))},
		{"timestamp", mode("timestamp", millis, ""), consume.Policies{}, all(span(f.Topic, 0, 5, 10), span(f.Topic, 1, 5, 10), span(f.Topic, 2, 5, 10))},
		{"specific", mode("specific-offsets", "", "partition:0,offset:9;partition:1,offset:8;partition:2,offset:10"), consume.Policies{}, all(span(f.Topic, 0, 9, 10), span(f.Topic, 1, 8, 10))},
		{"specific, skip", mode("specific-offsets", "", "partition:1,offset:8"), consume.Policies{IfNoCommit: offset.IfNoCommitSkip}, all(span(f.Topic, 1, 8, 10))},
		{"word", from(t, "end-2"), consume.Policies{}, all(span(f.Topic, 0, 8, 10), span(f.Topic, 1, 8, 10), span(f.Topic, 2, 8, 10))},
		{"another group", from(t, "group:"+f.App2), consume.Policies{IfNoCommit: offset.IfNoCommitSkip}, all(span(f.Topic, 0, 6, 10), span(f.Topic, 1, 7, 10))},
	} {
		t.Run(c.name, func(t *testing.T) {
			sink := &collector{}
			_, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics(f.Topic), Group: f.App, Start: c.start, Policies: c.pol,
				End: until(t, "latest"), Sink: sink})
			if err != nil {
				t.Fatal(err)
			}
			if got := sink.sorted(); !slices.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

func TestStartRefusals(t *testing.T) {
	_, cl := fake(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.Commit(t, cl, "old", kafkatest.At(f.Topic, 0, 2), kafkatest.At(f.Topic, 1, 99), kafkatest.At(f.Topic, 2, 3))
	for _, c := range []struct {
		name string
		cfg  consume.Config
		kind consume.ErrorKind
		says []string
	}{
		{"reset none lists the partitions", consume.Config{Group: f.App, Policies: consume.Policies{Reset: consume.ResetNone}}, consume.Refused, []string{f.Topic + ":2"}},
		{"expired commit", consume.Config{Group: "old"}, consume.Refused, []string{"2 is below log start 4", "2 offsets", "99", "log end 10"}},
		{"specific out of range", consume.Config{Start: from(t, f.Topic+":0=2,"+f.Topic+":1=11,"+f.Topic+":2=0")}, consume.Refused, []string{"2", "4", "11", "10"}},
		{"unknown topic", consume.Config{Topics: topics("order.v1"), Start: from(t, "earliest")}, consume.NotFound, []string{"order.v1"}},
		{"max skip", consume.Config{Group: f.App, Start: from(t, "latest"), Policies: consume.Policies{MaxSkip: new(int64)}}, consume.Refused, []string{"7 unread"}},
		{"rewind", consume.Config{Group: f.App, Start: from(t, "earliest"), Commit: consume.Commit{Auto: true}}, consume.Refused, []string{"backwards by 9"}},
		{"no group", consume.Config{}, consume.Usage, []string{"no start was chosen"}},
		{"no group, auto commit", consume.Config{Start: from(t, "earliest"), Commit: consume.Commit{Auto: true}}, consume.Usage, []string{"enable.auto.commit needs a group.id"}},
		{"missing partition in the map", consume.Config{Start: from(t, f.Topic+":0=5")}, consume.Refused, []string{f.Topic + ":1", f.Topic + ":2"}},
		{"map of a partition that is not read", consume.Config{Start: from(t, f.Topic+":7=5")}, consume.NotFound, []string{f.Topic + ":7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sink := &collector{}
			c.cfg.Client, c.cfg.Sink, c.cfg.End = cl, sink, until(t, "latest")
			if c.cfg.Topics == nil {
				c.cfg.Topics = topics(f.Topic)
			}
			_, err := consume.Run(t.Context(), c.cfg)
			var e *consume.Error
			if !errors.As(err, &e) || e.Kind != c.kind {
				t.Fatalf("error %v, want kind %d", err, c.kind)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
			if len(sink.got) > 0 {
				t.Errorf("records were read: %v", sink.got)
			}
		})
	}
}
