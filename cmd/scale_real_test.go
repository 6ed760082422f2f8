//go:build realkafka

package cmd_test

// Many groups and many partitions on a real broker: no more than a sanity check of the time, since bench/ measures it; and the
// sums against a second way to get them.

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
)

func TestRealManyGroups(t *testing.T) {
	const groups, topics, partitions = 500, 3, 4
	b := newLook(t, "many")
	var names []string
	for i := range topics {
		names = append(names, b.topic(fmt.Sprintf("t%d", i), partitions, 10))
	}
	work := make(chan int, groups)
	for i := range groups {
		work <- i
	}
	close(work)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range work {
				var cs []kafkatest.Committed
				for n, topic := range names {
					for p := range int32(partitions) {
						cs = append(cs, kafkatest.At(topic, p, int64((i+n+int(p))%11)))
					}
				}
				kafkatest.Commit(t, b.cl, fmt.Sprintf("%sg%03d", b.prefix, i), cs...)
			}
		})
	}
	wg.Wait()
	want := int64(0)
	for i := range groups {
		for n := range topics {
			for p := range partitions {
				want += int64(10 - (i+n+p)%11)
			}
		}
	}

	r := runLine(t, "-b", b.kafka.Bootstrap(), "inspect", "--group-match", b.prefix+"g.*", "--by", "partition", "-o", "jsonl")
	if r.code != 0 || r.took > 10*time.Second {
		t.Errorf("exit status %d after %s\n%s", r.code, r.took, r.err)
	}
	rows, lag, ended := 0, int64(0), false
	for d := json.NewDecoder(strings.NewReader(r.out)); ; {
		var row struct {
			Kind       string
			Lag        *int64
			Incomplete *bool
		}
		err := d.Decode(&row)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch row.Kind {
		case "partition":
			rows++
			lag += *row.Lag
		case "end":
			ended = !*row.Incomplete
		}
	}
	if rows != groups*topics*partitions || lag != want || !ended {
		t.Errorf("%d rows with a lag of %d, complete %t; want %d and %d", rows, lag, ended, groups*topics*partitions, want)
	}
	// The same sums a group, and a filter that takes five of them.
	all := b.koffset(0, "inspect", "--group-match", b.prefix+"g.*")
	sum := int64(0)
	for _, g := range all.Groups {
		sum += *g.Lag
	}
	if len(all.Groups) != groups || sum != want {
		t.Errorf("%d groups with a lag of %d", len(all.Groups), sum)
	}
	five := b.koffset(0, "inspect", "--group-match", b.prefix+"g00[0-4]")
	if len(five.Groups) != 5 {
		t.Errorf("%d groups", len(five.Groups))
	}
	t.Logf("%d rows in %s, %d groups in %s, 5 groups in %s", rows, r.took, groups, all.took, five.took)
}

func TestRealManyPartitions(t *testing.T) {
	const n = 400
	b := newLook(t, "wide")
	topic := b.topic("t", n, 0)
	var records []*kgo.Record
	for p := range int32(n) {
		records = append(records, kafkatest.Record(topic, p, kafkatest.F1Start+int64(p), "x"))
	}
	kafkatest.Produce(t, b.cl, records...)
	r := b.koffset(0, "resolve", topic, "--to", fmt.Sprintf("@%dms", kafkatest.F1Start+n/2), "--if-none", "skip")
	if r.took > 5*time.Second {
		t.Errorf("it took %s", r.took)
	}
	if len(r.Partitions) != n {
		t.Fatalf("%d rows", len(r.Partitions))
	}
	for i, p := range r.Partitions {
		want := "-"
		if i >= n/2 {
			want = "0"
		}
		if int(p.Partition) != i || dash(p.Offset) != want {
			t.Errorf("row %d is partition %d with %s, want %s", i, p.Partition, dash(p.Offset), want)
		}
	}
	table := runLine(t, "-b", b.kafka.Bootstrap(), "resolve", topic)
	if lines := strings.Count(table.out, "\n"); lines != n+1 || strings.Contains(table.out, "\x1b") {
		t.Errorf("a table of %d lines", lines)
	}
	t.Logf("%d partitions by time in %s", n, r.took)
}

// A group that is on its way from the classic to the new protocol has members of both (KIP-848's migration).
func TestRealMigratingGroup(t *testing.T) {
	b := newLook(t, "migrating")
	topic := b.topic("t", 2, 1)
	group := b.prefix + "g"
	b.join("consumer", kafkatest.MemberOptions{Group: group, Topics: []string{topic}, ClientID: "new"})
	b.join("classic", kafkatest.MemberOptions{Group: group, Topics: []string{topic}, ClientID: "old"})
	var ids string
	kafkatest.Until(t, "both have a partition in both views", func() bool {
		ids = ""
		for _, m := range b.koffset(0, "inspect", group, "--by", "member").Members {
			ids += fmt.Sprintf("%s %d ", m.ClientID, m.PartitionCount)
		}
		java := map[string]string{}
		for _, m := range b.java(group, "--members") {
			java[m["CLIENT-ID"]] = m["#PARTITIONS"]
		}
		return ids == "new 1 old 1 " && java["new"] == "1" && java["old"] == "1"
	})
	if g := b.sameAsKafka(group, nil).Groups[0]; g.Type != "consumer" || g.State != "Stable" || g.MemberCount != 2 {
		t.Errorf("%+v", g)
	}
}
