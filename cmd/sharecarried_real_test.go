//go:build realkafka

package cmd_test

// Share groups from one cluster to another: their start offsets arrive, and what does not is said.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/kafkatest"
)

func TestShareGroupIsCarried(t *testing.T) {
	const shift = 5 // the same records are so much later on the target
	b := newBed(t, "share", "carried")
	dst := real.Second(t)
	topic := b.topic("t", 1)
	b.produce(topic, 1, 20, time.Second)
	to := dst.Client(t)
	kafkatest.CreateTopic(t, to, topic, 1)
	kafkatest.Produce(t, to, kafkatest.Records(topic, 0, shift, b.now-100_000, 1)...)
	kafkatest.Produce(t, to, kafkatest.Records(topic, 0, 20, b.now-1000-20+1, 1)...)
	fixed, further := b.prefix+"g-fixed", b.prefix+"g-further"
	b.koffset(0, "reset", fixed, "--create", "--share", "--topic", topic, "--to-offset", "7", "--execute")
	b.finished(topic, further)
	start, _ := b.shareOffsets(further)

	file := filepath.Join(t.TempDir(), "share.jsonl")
	out := b.koffset(0, "migrate", "export", "--group-match", b.prefix+"g-.*", "--out", file)
	behind := start == "0" // the broker may have moved the start offset on by now, and nothing is acknowledged beyond it then
	if behind != strings.Contains(out.err, "of 1 share group only the start offsets are in it: up to 20 records that the source has acknowledged") {
		t.Errorf("it starts at %s, and the export says:\n%s", start, out.err)
	}
	if rows := exportedShares(t, file); len(rows) != 2 || rows[0].Offset == nil || *rows[0].Offset != 7 || rows[0].Acknowledged == nil || *rows[0].Acknowledged != 0 ||
		rows[1].Offset == nil || rows[1].Acknowledged == nil || *rows[1].Offset+*rows[1].Acknowledged != 20 {
		t.Errorf("%+v", rows)
	}
	done := b.on(dst, 0, "migrate", "import", file, "--execute", "--yes")
	if behind != strings.Contains(done.err, "up to 20 records that the source has acknowledged beyond its start offsets are delivered again") {
		t.Errorf("it starts at %s, and the import says:\n%s", start, done.err)
	}
	want := map[string][2]string{fixed: {"12", "13"}, further: {"25", "0"}}
	if behind {
		want[further] = [2]string{"5", "20"}
	}
	for g, w := range want {
		if s, lag := b.shareOffsetsOn(dst, g); s != w[0] || lag != w[1] {
			t.Errorf("%s starts at %s there with a lag of %s by Kafka's tool, want %v", g, s, lag, w)
		}
		if r := b.on(dst, 0, "inspect", g, "--by", "group", "-o", "tsv"); !strings.Contains(r.out, "\tshare\t") {
			t.Errorf("%s is another kind of group: %s", g, r.out)
		}
	}
	same := b.on(dst, 0, "migrate", "verify", fixed, further, "--source-bootstrap-server", b.kafka.Bootstrap())
	if strings.Count(same.out, "same-record") != 2 || behind != strings.Contains(same.out, "the start offsets are compared") {
		t.Errorf("verify:\n%s%s", same.out, same.err)
	}
	if r := b.on(dst, 3, "undo", "last", "--execute", "--yes"); !strings.Contains(r.out+r.err, "no call that takes the start offset of one partition of a share group away again") {
		t.Errorf("undo of the import:\n%s%s", r.out, r.err)
	}
	b.carriedAgain(dst, file, fixed)
	b.notCarried(dst, file, fixed)
}

// on runs koffset on a cluster.
func (b *bed) on(k *kafkatest.Kafka, code int, args ...string) ran {
	b.t.Helper()
	r := run(b.t, b.home, "", false, append([]string{"-b", k.Bootstrap()}, args...)...)
	if r.code != code {
		b.t.Errorf("koffset %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

type shareRow struct{ Offset, Acknowledged *int64 }

// exportedShares are the rows of the share groups in an export.
func exportedShares(t *testing.T, file string) (out []shareRow) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var g struct {
			Type       string
			Partitions json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		var rows []shareRow
		if g.Type == "share" && json.Unmarshal(g.Partitions, &rows) == nil {
			out = append(out, rows...)
		}
	}
	return out
}

// carriedAgain imports once more: what the target has read meanwhile is not delivered again unless that is asked for.
func (b *bed) carriedAgain(dst *kafkatest.Kafka, file, group string) {
	b.t.Helper()
	one := []string{"migrate", "import", file, "--group", group, "--execute", "--yes"}
	if r := b.on(dst, 0, one...); !strings.Contains(r.err, "already") {
		b.t.Errorf("it is there already:\n%s%s", r.out, r.err)
	}
	m := kafkatest.JoinShare(b.t, dst.Client(b.t), kafkatest.MemberOptions{Group: group, Topics: []string{b.prefix + "t"}, ClientID: "sharer"})
	kafkatest.Until(b.t, "a member of it has read all", func() bool {
		_, lag := b.shareOffsetsOn(dst, group)
		return lag == "0"
	})
	m.Close()
	kafkatest.Until(b.t, "it is empty", func() bool {
		return strings.Contains(b.on(dst, 0, "inspect", group, "--by", "group").out, "Empty")
	})
	if r := b.on(dst, 4, one...); !strings.Contains(r.out, "unless a rewind is allowed") {
		b.t.Errorf("it has read further:\n%s%s", r.out, r.err)
	}
	if _, lag := b.shareOffsetsOn(dst, group); lag != "0" {
		b.t.Errorf("a lag of %s: it was moved back", lag)
	}
	was, _ := b.shareOffsetsOn(dst, group)
	b.on(dst, 0, append(one, "--allow-rewind")...)
	if s, lag := b.shareOffsetsOn(dst, group); s != "12" || lag != "13" {
		b.t.Errorf("moved back it starts at %s with a lag of %s", s, lag)
	}
	// An undo puts the start offset back, and what was acknowledged beyond it is lost: that is said.
	u := b.on(dst, 0, "undo", "last", "--execute", "--yes")
	if s, _ := b.shareOffsetsOn(dst, group); s != was || was == "12" && !strings.Contains(u.out+u.err, "acknowledged") {
		b.t.Errorf("it started at %s, and after the undo of the import at %s:\n%s%s", was, s, u.out, u.err)
	}
}

// notCarried is what is refused: another kind of group on the target, keeping share groups in step, and a store.
func (b *bed) notCarried(dst *kafkatest.Kafka, file, group string) {
	b.t.Helper()
	plain := b.prefix + "plain"
	kafkatest.Commit(b.t, dst.Client(b.t), plain, kafkatest.At(b.prefix+"t", 0, 3))
	if r := b.on(dst, 3, "migrate", "import", file, "--group", group, "--map-group", group+"="+plain, "--execute", "--yes"); !strings.Contains(r.out+r.err, "at the source it is a share group") {
		b.t.Errorf("onto a group that commits:\n%s%s", r.out, r.err)
	}
	if r := b.on(dst, 3, "migrate", "sync", group, "--source-bootstrap-server", b.kafka.Bootstrap()); !strings.Contains(r.err, "cannot be kept in step") {
		b.t.Errorf("sync:\n%s%s", r.out, r.err)
	}
	if r := b.koffset(4, "migrate", "export", group, "--to-store", "file:"+filepath.Join(b.t.TempDir(), "s.json")+"?create=true"); !strings.Contains(r.err, "not saved in a store") {
		b.t.Errorf("to a store:\n%s%s", r.out, r.err)
	}
}
