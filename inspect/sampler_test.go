package inspect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// stepClock is the time that a test gives.
type stepClock struct{ now time.Time }

func (c *stepClock) Now() time.Time { return c.now }

func newSampler(cl *kgo.Client, c *stepClock, groups ...string) *inspect.Sampler {
	return &inspect.Sampler{Client: cl, Names: groups, History: inspect.NewHistory(inspect.DefaultRules()), Now: c.Now}
}

// lookAgain looks once, 10 s after the last time, and probes.
func lookAgain(t *testing.T, s *inspect.Sampler, c *stepClock) (map[inspect.GroupPartition]inspect.Diagnosis, *inspect.Look) {
	t.Helper()
	c.now = c.now.Add(10 * time.Second)
	out := map[inspect.GroupPartition]inspect.Diagnosis{}
	l, err := s.Look(t.Context(), func(_ *inspect.Description, r *inspect.Row, d *inspect.Diagnosis) {
		out[inspect.GroupPartition{Group: r.Group, Partition: r.Partition}] = *d
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Probe(t.Context(), l)
	return out, l
}

// A reader that hangs turns stalled; one whose lag is a transaction marker does not.
func TestSamplerTellsMarkersFromRecords(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.NewF3(t, cl, "s-")
	f.CommitThree() // 0..2, marker 3
	kafkatest.CreateTopic(t, cl, "plain", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("plain", 0, 5, 1_700_000_000_000, 1000)...)
	kafkatest.Commit(t, cl, "g", kafkatest.At(f.Topic, 0, 3), kafkatest.At("plain", 0, 4))
	c := &stepClock{time.UnixMilli(1_700_000_100_000)}
	s := newSampler(cl, c, "g")
	var got map[inspect.GroupPartition]inspect.Diagnosis
	for range 9 {
		got, _ = lookAgain(t, s, c)
	}
	marker, plain := got[inspect.GroupPartition{Group: "g", Partition: partitionOf(f.Topic, 0)}], got[inspect.GroupPartition{Group: "g", Partition: partitionOf("plain", 0)}]
	if marker.Health != inspect.HealthOK || marker.Lag != 1 {
		t.Errorf("before a marker: %s, lag %d", marker.Health, marker.Lag)
	}
	if plain.Health != inspect.HealthNeverLive || plain.Lag != 1 {
		t.Errorf("before a record: %s, lag %d", plain.Health, plain.Lag)
	}
	// The record is of 1_700_000_004_000, and the last look was 90 s after the first clock.
	if plain.LagTime.Basis != inspect.LagExact || plain.LagTime.D != 186*time.Second {
		t.Errorf("lag in time: %+v", plain.LagTime)
	}
	kafkatest.Produce(t, cl, kafkatest.Records("plain", 0, 1, 1_700_000_200_000, 0)...)
	if got, _ = lookAgain(t, s, c); got[inspect.GroupPartition{Group: "g", Partition: partitionOf("plain", 0)}].Health != inspect.HealthNeverLive {
		t.Errorf("after a record arrived: %+v", got)
	}
}

func TestSamplerSeesRetention(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "short", 1, "retention.ms", "7200000")
	kafkatest.CreateTopic(t, cl, "sized", 1, "retention.bytes", "1000")
	kafkatest.CreateTopic(t, cl, "gone", 1, "retention.ms", "0") // as soon as a segment is closed, and not never
	kafkatest.CreateTopic(t, cl, "compact", 1, "cleanup.policy", "compact", "retention.ms", "7200000")
	got, err := inspect.ReadRetention(t.Context(), cl, []string{"short", "sized", "compact", "gone", "nowhere"})
	if got["short"] != (inspect.Retention{Known: true, Time: 2 * time.Hour}) || got["sized"] != (inspect.Retention{Known: true, BySize: true}) || got["compact"] != (inspect.Retention{Known: true}) || got["nowhere"].Known {
		t.Errorf("retention %+v", got)
	}
	if got["gone"] != (inspect.Retention{Known: true, Time: time.Millisecond}) || !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("retention %+v, %v", got["gone"], err)
	}
	base := time.Now().Truncate(time.Millisecond)
	kafkatest.Produce(t, cl, kafkatest.Record("short", 0, base.Add(-time.Hour).UnixMilli(), "x"), kafkatest.Record("short", 0, base.UnixMilli(), "x"))
	kafkatest.Commit(t, cl, "g", kafkatest.At("short", 0, 0))
	c := &stepClock{base}
	s := newSampler(cl, c, "g")
	lookAgain(t, s, c)
	got2, _ := lookAgain(t, s, c)
	d := got2[inspect.GroupPartition{Group: "g", Partition: partitionOf("short", 0)}]
	if d.Health != inspect.HealthAboutToExpire || d.Expires != time.Hour-20*time.Second {
		t.Errorf("%s, expires in %s (%v)", d.Health, d.Expires, d.LagTime)
	}
}

// What may not be fetched is not asked for again and again, and the rest works.
func TestSamplerWithoutRead(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "x", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("x", 0, 5, 1_700_000_000_000, 1000)...)
	kafkatest.Commit(t, cl, "g", kafkatest.At("x", 0, 1))
	fetches := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "x", Err: kerr.TopicAuthorizationFailed, Count: -1})
	clk := &stepClock{time.UnixMilli(1_700_000_100_000)}
	s := newSampler(cl, clk, "g")
	var got map[inspect.GroupPartition]inspect.Diagnosis
	for range 9 {
		got, _ = lookAgain(t, s, clk)
	}
	if n := fetches.Hits(); n != 1 {
		t.Errorf("%d fetches were refused", n)
	}
	if d := got[inspect.GroupPartition{Group: "g", Partition: partitionOf("x", 0)}]; d.Health != inspect.HealthNeverLive || d.LagTime.Basis != inspect.LagAtLeast {
		t.Errorf("%+v", d)
	}
	// The right may have been given meanwhile: it is tried again, rarely.
	fetches.Remove()
	clk.now = clk.now.Add(time.Hour)
	lookAgain(t, s, clk)
	got, _ = lookAgain(t, s, clk)
	if d := got[inspect.GroupPartition{Group: "g", Partition: partitionOf("x", 0)}]; d.LagTime.Basis != inspect.LagExact {
		t.Errorf("once it may be fetched: %+v", d)
	}
}

// The retention that an expiry is counted by is that of the topic that is there, not of the one that had its name.
func TestSamplerRetentionOfATopicMadeAnew(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	base := time.Now().Truncate(time.Millisecond)
	c := &stepClock{base}
	s := newSampler(cl, c, "g")
	see := func(retention string) inspect.Diagnosis {
		kafkatest.CreateTopic(t, cl, "x", 1, "retention.ms", retention)
		kafkatest.Produce(t, cl, kafkatest.Record("x", 0, base.Add(-time.Hour).UnixMilli(), "x"))
		kafkatest.Commit(t, cl, "g", kafkatest.At("x", 0, 0))
		lookAgain(t, s, c)
		got, _ := lookAgain(t, s, c)
		return got[inspect.GroupPartition{Group: "g", Partition: partitionOf("x", 0)}]
	}
	if d := see("7200000"); !d.HasExpires || d.Expires != time.Hour-20*time.Second {
		t.Fatalf("of two hours: %s, expires in %s", d.Health, d.Expires)
	}
	if _, err := kadm.NewClient(cl).DeleteTopic(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if d := see("864000000"); !d.HasExpires || d.Expires != 239*time.Hour-40*time.Second {
		t.Errorf("of ten days: %s, expires in %s", d.Health, d.Expires)
	}
}

func TestSamplerChooses(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	o := kafkatest.F1(t, cl, "c-")
	kafkatest.CreateTopic(t, cl, "lonely", 2)
	c := &stepClock{time.Now()}
	s := newSampler(cl, c, "no-such-group")
	s.Match = func(g inspect.Group) bool { return g.Name == "c-app2" }
	s.AllTopics = true
	got, l := lookAgain(t, s, c)
	if len(got) != 3 {
		t.Errorf("rows %v", got)
	}
	if len(l.Snapshot.Groups) != 2 || !l.Snapshot.Groups[1].NotFound {
		t.Errorf("groups %+v", l.Snapshot.Groups)
	}
	if _, ok := l.Snapshot.Log.At(partitionOf("lonely", 1)); !ok {
		t.Errorf("the bounds of a topic without a group were not read")
	}
	_ = o
}
