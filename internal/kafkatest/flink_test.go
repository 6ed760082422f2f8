//go:build realkafka

package kafkatest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// keyed are n records with the keys k0, k1, k2, k0, …
func keyed(topic string, partition int32, n int) []*kgo.Record {
	out := make([]*kgo.Record, n)
	for i := range out {
		out[i] = &kgo.Record{Topic: topic, Partition: partition, Key: fmt.Appendf(nil, "k%d", i%3), Value: []byte("v")}
	}
	return out
}

// A job counts in keyed state, goes on from its savepoint with its counts, and a failure says why.
func TestFlinkJob(t *testing.T) {
	cl := shared.Kafka(t).Client(t)
	CreateTopic(t, cl, "flink.jobs", 2)
	Produce(t, cl, keyed("flink.jobs", 0, 6)...)
	for _, v := range []FlinkVersion{Flink1, Flink2} {
		t.Run(string(v), func(t *testing.T) {
			f := shared.Flink(t, v)
			o := FlinkOptions{Bootstrap: shared.Kafka(t).Bootstrap(), Topics: []string{"flink.jobs"}, UID: "source"}
			first := f.Run(t, o)
			n := len(Bounds(t, cl, "flink.jobs"))
			if n != 2 {
				t.Fatalf("%d partitions", n)
			}
			total := 0
			for _, b := range Bounds(t, cl, "flink.jobs") {
				total += int(b.End)
			}
			first.Wait(t, total)
			path := first.Stop(t, t.TempDir(), "canonical")
			Produce(t, cl, keyed("flink.jobs", 1, 3)...)
			o.Restore = path
			second := f.Run(t, o)
			got := second.Wait(t, 3)
			second.Cancel(t)
			if len(got) != 3 || got[0].Partition != 1 || got[0].Key != "k0" || got[0].Count != int64(total/3+1) {
				t.Errorf("after the restore: %+v, %d before", got, total)
			}
			o.Restore, o.From, o.Group = "", "committed", "flink.nobody."+string(v)
			if why := f.Run(t, o).failure(t); !strings.Contains(why, "NoOffsetForPartition") {
				t.Errorf("a start from no commit fails with %s", why)
			}
		})
	}
}
