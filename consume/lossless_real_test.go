//go:build realkafka

package consume_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

// Every record exactly once, whatever the partitions hold, however many there are, and however slow the sink is: with a broker whose own
// fetch.max.bytes (100,000, see [real]) is below one batch, so that a response never holds more than one partition's.
func TestRealEveryRecordOnce(t *testing.T) {
	cl := real.Kafka(t).Client(t)
	for i, partitions := range []int32{1, 1, 1, 60, 300} {
		topic := fmt.Sprint("real-once-", partitions, "-", i)
		visible := kafkatest.Mixed(t, cl, topic, partitions, int32(i+1))
		var want []string
		for p, offsets := range visible {
			for _, n := range offsets {
				want = append(want, span(topic, int32(p), n, n+1)...)
			}
		}
		slices.Sort(want)
		for _, slow := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, slow %t", topic, slow), func(t *testing.T) {
				once(t, want, slow, consume.Config{Client: cl, Topics: topics(topic), Start: from(t, "earliest"), End: until(t, "latest")})
			})
		}
		t.Run(fmt.Sprintf("%s in two parts", topic), func(t *testing.T) {
			var parts [2][]consume.Range
			for p, b := range kafkatest.Bounds(t, cl, topic) {
				middle := min(3, b.End)
				for i, to := range [2]int64{middle, b.End} {
					if from := int64(i) * middle; from < to {
						parts[i] = append(parts[i], rangeOf(t, fmt.Sprintf("%s:%d=%d:%d", topic, p, from, to)))
					}
				}
			}
			for i, ranges := range parts {
				if len(ranges) == 0 {
					continue // a log that ends at the middle
				}
				want := slices.DeleteFunc(slices.Clone(want), func(at string) bool {
					_, n, _ := strings.Cut(at, "@")
					return (n == "0" || n == "1" || n == "2") != (i == 0)
				})
				once(t, want, i == 1, consume.Config{Client: cl, End: consume.End{Ranges: ranges}})
			}
		})
	}
}

// collecting makes cfg a run into a sink that keeps what it gets. By its clock a slow sink takes a second a batch, so that every partition
// counts as idle after each: whatever is then passed over is missing.
func collecting(cfg consume.Config, slow bool) (consume.Config, *collector) {
	var took atomic.Int64
	began := time.Now()
	sink := &collector{write: func(consume.Batch) error {
		if slow {
			took.Add(int64(time.Second))
		}
		return nil
	}}
	cfg.Sink, cfg.Now = sink, func() time.Time { return began.Add(time.Duration(took.Load()) + time.Since(began)) }
	return cfg, sink
}

// once runs to the end and compares.
func once(t *testing.T, want []string, slow bool, cfg consume.Config) {
	t.Helper()
	cfg, sink := collecting(cfg, slow)
	if _, err := consume.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if got := sink.sorted(); !slices.Equal(got, want) {
		missing := slices.DeleteFunc(slices.Clone(want), func(s string) bool { _, is := slices.BinarySearch(got, s); return is })
		t.Errorf("%d records came of %d; missing: %q", len(got), len(want), missing[:min(20, len(missing))])
	}
}

// Compaction leaves what is newest of each key. All of it comes, each record once, from many partitions.
func TestRealCompactedOnce(t *testing.T) {
	cl := real.Kafka(t).Client(t)
	const topic, partitions = "real-compacted-once", 20
	kafkatest.CreateTopic(t, cl, topic, partitions, "cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.01", "delete.retention.ms", "0")
	newest := map[string]string{} // by partition and key
	put := func(keys ...string) {
		var list []*kgo.Record
		for p := range int32(partitions) {
			for _, key := range keys {
				list = append(list, &kgo.Record{Topic: topic, Partition: p, Key: []byte(key), Value: []byte("x")})
			}
		}
		kafkatest.Produce(t, cl, list...)
		for _, r := range list {
			newest[fmt.Sprint(r.Partition, string(r.Key))] = span(topic, r.Partition, r.Offset, r.Offset+1)[0]
		}
	}
	read := func() []string {
		sink := &collector{}
		if _, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics(topic), Start: from(t, "earliest"), End: until(t, "latest"), Sink: sink}); err != nil {
			t.Fatal(err)
		}
		return sink.sorted()
	}
	put("a", "b", "k", "k", "k", "k", "c")
	written := 7 * partitions
	kafkatest.Until(t, "records are compacted away", func() bool {
		put(fmt.Sprint("filler", written))
		written += partitions
		return len(read()) < written
	})
	got := read()
	for key, at := range newest {
		if _, is := slices.BinarySearch(got, at); !is {
			t.Errorf("the newest record of %s is missing", key)
		}
	}
	if n := len(slices.Compact(slices.Clone(got))); n != len(got) {
		t.Errorf("%d records came, %d of them different", len(got), n)
	}
}
