//go:build realkafka

package cmd_test

// resolve beside Kafka's own GetOffsetShell.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/kafkatest"
)

// offsetsOf are the offsets that Kafka's tool prints, by partition; it leaves out what has no answer.
func (b *lookBed) offsetsOf(topic, time string) map[string]string {
	b.t.Helper()
	r := real.Tools(b.t).Run(b.t, kafkatest.GetOffsets, "--bootstrap-server", b.kafka.Bootstrap(), "--topic", topic, "--time", time)
	if r.Status != 0 {
		b.t.Fatalf("Kafka's tool on %s at %s: %+v", topic, time, r)
	}
	out := map[string]string{}
	for line := range strings.Lines(r.Stdout) {
		parts := strings.Split(strings.TrimSpace(line), ":")
		if len(parts) == 3 && parts[2] != "" {
			out[parts[1]] = parts[2]
		}
	}
	return out
}

func TestRealResolveAgreesWithKafka(t *testing.T) {
	b := newLook(t, "resolve")
	f1 := kafkatest.F1(t, b.cl, b.prefix).Topic
	f2 := kafkatest.F2(t, b.cl, b.prefix)
	f3 := kafkatest.OpenF3(t, b.cl, b.prefix).Topic
	drained := b.topic("drained", 2, 6)
	kafkatest.DeleteRecords(t, b.cl, drained, 0, 6)
	kafkatest.DeleteRecords(t, b.cl, drained, 1, 3)
	// Transactions: a marker has a time of its own, the broker's, so the tool may find one where no record is.
	for _, topic := range []string{f1, f2, f3, drained} {
		for _, c := range []struct{ word, time string }{
			{"earliest", "earliest"}, {"latest", "latest"}, {"max-timestamp", "max-timestamp"},
			{"@1ms", "1"}, {"@1500ms", "1500"}, {"@5001ms", "5001"}, {"@6001ms", "6001"},
			{"@1710072000000ms", "1710072000000"}, {"@1710072000450ms", "1710072000450"}, {"@1710072000900ms", "1710072000900"}, {"@1710072000901ms", "1710072000901"},
		} {
			theirs := b.offsetsOf(topic, c.time)
			got := b.koffset(0, "resolve", topic, "--to", c.word, "--if-none", "skip")
			for _, p := range got.Partitions {
				want, ok := theirs[fmt.Sprint(p.Partition)]
				if c.word == "max-timestamp" && p.How == "empty-partition" {
					ok = false // koffset names the place all the same
				} else if !ok {
					want = "-"
				}
				if (ok || p.How != "empty-partition") && dash(p.Offset) != want {
					t.Errorf("%s:%d at %s: %s (%s), Kafka's tool %q", topic, p.Partition, c.word, dash(p.Offset), p.How, want)
				}
			}
		}
	}
}

// The numbers of C21, C23 and C26, and what they are called.
func TestRealResolveReasons(t *testing.T) {
	b := newLook(t, "reasons")
	f2 := kafkatest.F2(t, b.cl, b.prefix)
	how := func(code int, args ...string) string {
		t.Helper()
		var out []string
		for _, p := range b.koffset(code, append([]string{"resolve"}, args...)...).Partitions {
			out = append(out, fmt.Sprintf("%s %s@%s", p.How, dash(p.Offset), dash(p.TimestampMs)))
		}
		return strings.Join(out, ", ")
	}
	for _, c := range []struct {
		word, want string
	}{
		{"@5001ms", "record-at-or-after 3@6000, no-record-after 1@-, empty-partition 0@-"},
		{"@6001ms", "no-record-after 5@-, no-record-after 1@-, empty-partition 0@-"},
		{"max-timestamp", "max-timestamp 3@6000, max-timestamp 0@1000, empty-partition 0@-"},
	} {
		if got := how(0, f2, "--to", c.word); got != c.want {
			t.Errorf("%s: %s, want %s", c.word, got, c.want)
		}
	}
	how(3, f2, "--to", "@6001ms", "--if-none", "fail")
	kafkatest.DeleteRecords(t, b.cl, f2, 0, 3)
	if got := how(0, f2+":0", "--to", "@1500ms"); got != "before-retention 3@6000" {
		t.Errorf("older than the log: %s", got)
	}
	if got := how(0, f2+":0", "--at-offset", "4"); got != "exact 4@3000" {
		t.Errorf("the other way: %s", got)
	}
	if got := how(3, f2+":0", "--to", "99"); got != "out-of-range -@-" {
		t.Errorf("outside the log: %s", got)
	}
	// There is no tiered storage here, and that is said instead of a number.
	for _, word := range []string{"earliest-local", "latest-tiered"} {
		r := runLine(t, "-b", b.kafka.Bootstrap(), "resolve", f2+":0", "--to", word, "-o", "json")
		if strings.Contains(r.out, `"offset":-1`) {
			t.Errorf("%s: %s", word, r.out)
		}
		t.Logf("%s: exit status %d %s", word, r.code, r.err)
	}
	// Around a record, markers left out.
	tx := kafkatest.OpenF3(t, b.cl, b.prefix).Topic
	r := runLine(t, "-b", b.kafka.Bootstrap(), "resolve", tx, "--at-offset", "4", "--show", "3", "-o", "csv")
	if r.code != 0 || !strings.Contains(r.out, tx+",0,2,-2,") || strings.Contains(r.out, tx+",0,3,") || !strings.Contains(r.out, tx+",0,5,1,") {
		t.Errorf("exit status %d\n%s%s", r.code, r.out, r.err)
	}
}
