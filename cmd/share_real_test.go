//go:build realkafka

package cmd_test

// Share groups and Streams groups on a real Kafka, beside Kafka's own tool.

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/kafkatest"
)

// shareOffsets is what Kafka's tool says of a share group on a topic with one partition.
func (b *bed) shareOffsets(group string) (start, lag string) {
	b.t.Helper()
	return b.shareOffsetsOn(b.kafka, group)
}

func (b *bed) shareOffsetsOn(k *kafkatest.Kafka, group string) (start, lag string) {
	b.t.Helper()
	r := b.tools.Run(b.t, kafkatest.ShareGroups, "--bootstrap-server", k.Bootstrap(), "--describe", "--offsets", "--group", group)
	for _, row := range kafkatest.Table(r.Stdout) {
		start, lag = row["START-OFFSET"], row["LAG"]
	}
	return start, lag
}

// finished makes share groups that have acknowledged all 20 records of a topic.
func (b *bed) finished(topic string, groups ...string) {
	b.t.Helper()
	var members []*kafkatest.Member
	for _, g := range groups {
		kafkatest.SetGroupConfig(b.t, b.cl, g, "share.auto.offset.reset", "earliest")
		members = append(members, kafkatest.JoinShare(b.t, b.cl, kafkatest.MemberOptions{Group: g, Topics: []string{topic}, ClientID: "sharer"}))
	}
	for i, g := range groups {
		kafkatest.Until(b.t, "all records are acknowledged", func() bool {
			_, lag := b.shareOffsets(g)
			return lag == "0"
		})
		members[i].Close()
		kafkatest.Until(b.t, "the share group is empty", func() bool {
			return strings.Contains(b.koffset(0, "inspect", g, "--by", "group").out, "Empty")
		})
	}
}

// A share group that has acknowledged everything is not where its start offset says: moving it back delivers all again, as
// with Kafka's tool, and what an undo cannot put back is said before.
func TestShareGroupThatIsFurther(t *testing.T) {
	b := newBed(t, "share", "further")
	topic := b.topic("t", 1)
	b.produce(topic, 1, 20, time.Second)
	ours, theirs := b.prefix+"g", b.prefix+"theirs"
	b.own = []string{ours}
	b.finished(topic, ours, theirs)
	was, _ := b.shareOffsets(ours)

	shown := b.koffset(0, "inspect", ours, "-o", "json")
	var doc struct {
		Partitions []struct {
			Start, Lag, Acknowledged *int64
			ShareStart               *int64 `json:"share_start_offset"`
		}
	}
	if err := json.Unmarshal([]byte(shown.out), &doc); err != nil || len(doc.Partitions) != 1 {
		t.Fatalf("%v\n%s", err, shown.out)
	}
	if p := doc.Partitions[0]; p.Lag == nil || *p.Lag != 0 || p.ShareStart == nil || p.Acknowledged == nil || *p.ShareStart+*p.Acknowledged != 20 {
		t.Errorf("inspect: %s", shown.out)
	}

	dry := b.reset(0, "--topic", topic, "--to-earliest")
	done := b.reset(0, "--topic", topic, "--to-earliest", "--execute")
	if !strings.Contains(done.err, "changed") && !strings.Contains(done.out, "changed") {
		t.Errorf("nothing was changed:\n%s%s", done.out, done.err)
	}
	// Where the broker had not moved the start offset on, the acknowledged records lie beyond it, and only a reset forgets them.
	if was == "0" && !strings.Contains(dry.err+dry.out, "acknowledged") {
		t.Errorf("the plan does not say what an undo cannot put back:\n%s%s", dry.out, dry.err)
	}
	b.tools.Run(t, kafkatest.ShareGroups, "--bootstrap-server", b.kafka.Bootstrap(), "--reset-offsets", "--group", theirs, "--topic", topic, "--to-earliest", "--execute")
	for _, g := range []string{theirs, ours} {
		if start, lag := b.shareOffsets(g); start != "0" || lag != "20" {
			t.Errorf("after the reset Kafka's tool says start %s, lag %s of %s", start, lag, g)
		}
	}
	if r := b.reset(0, "--topic", topic, "--to-earliest", "--execute"); !strings.Contains(r.err, "already") {
		t.Errorf("nothing is acknowledged any more:\n%s%s", r.out, r.err)
	}
	b.reset(0, "--topic", topic, "--to-latest", "--execute")
	if start, lag := b.shareOffsets(ours); start != "20" || lag != "0" {
		t.Errorf("after the reset to the end Kafka's tool says start %s, lag %s", start, lag)
	}
	b.koffset(0, "undo", b.lastUndo(), "--execute")
	if start, lag := b.shareOffsets(ours); start != "0" || lag != "20" {
		t.Errorf("after the undo Kafka's tool says start %s, lag %s", start, lag)
	}
}

// A share group is made as Kafka's tool makes it, and what is made is a share group.
func TestShareGroupIsCreated(t *testing.T) {
	b := newBed(t, "share", "created")
	topic := b.topic("t", 1)
	b.produce(topic, 1, 20, time.Second)
	ours, theirs := b.prefix+"g", b.prefix+"theirs"
	b.own = []string{ours}
	b.koffset(5, "reset", ours, "--topic", topic, "--to-offset", "5")
	b.koffset(0, "reset", ours, "--create", "--share", "--topic", topic, "--to-earliest", "--execute")
	b.tools.Run(t, kafkatest.ShareGroups, "--bootstrap-server", b.kafka.Bootstrap(), "--reset-offsets", "--group", theirs, "--topic", topic, "--to-earliest", "--execute")
	start, lag := b.shareOffsets(theirs)
	if s, l := b.shareOffsets(ours); s != start || l != lag || s != "0" {
		t.Errorf("ours stands at %s with lag %s, that of Kafka's tool at %s with %s", s, l, start, lag)
	}
	if r := b.koffset(0, "inspect", ours, "--by", "group", "-o", "tsv"); !strings.Contains(r.out, "\tshare\t") {
		t.Errorf("it is another kind of group: %s", r.out)
	}
	m := kafkatest.JoinShare(t, b.cl, kafkatest.MemberOptions{Group: ours, Topics: []string{topic}, ClientID: "sharer"})
	kafkatest.Until(t, "a member of it has read all", func() bool {
		_, lag := b.shareOffsets(ours)
		return lag == "0"
	})
	m.Close()
	kafkatest.Until(t, "it is empty", func() bool {
		return strings.Contains(b.koffset(0, "inspect", ours, "--by", "group").out, "Empty")
	})
	b.koffset(0, "delete", ours, "--execute")
	b.koffset(5, "inspect", ours)
}

// A Streams group of the new protocol shows the tasks of its members and the epochs of the group, of the assignment and of the members.
func TestStreamsTasksAndEpochs(t *testing.T) {
	b := newBed(t, "streams", "tasks")
	topic := b.topic("t", 3)
	g := b.prefix + "g"
	m := kafkatest.JoinStreams(t, b.cl, g, "app-1", topic)
	defer m.Close()
	wide := b.koffset(0, "inspect", g, "--by", "member", "-o", "wide")
	if !strings.Contains(wide.out, "0_0") || !strings.Contains(wide.out, "0_2") {
		t.Errorf("no tasks:\n%s%s", wide.out, wide.err)
	}
	var doc struct {
		Members []struct {
			Epoch      *int64 `json:"member_epoch"`
			Group      *int64 `json:"group_epoch"`
			Assignment *int64 `json:"assignment_epoch"`
			Tasks      string
		}
	}
	r := b.koffset(0, "inspect", g, "--by", "member", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil || len(doc.Members) != 1 {
		t.Fatalf("%v\n%s", err, r.out)
	}
	x := doc.Members[0]
	if x.Epoch == nil || x.Group == nil || x.Assignment == nil || *x.Epoch < 1 || *x.Group < *x.Epoch || *x.Assignment != *x.Group {
		t.Errorf("%s", r.out)
	}
}
