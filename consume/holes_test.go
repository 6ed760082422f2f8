package consume_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

// A broker leaves most partitions of a request empty though their logs go on, as one does whose responses are full: to the
// client that fetches, and to the look at idle partitions alike. By its clock the sink is slow, so that every partition
// counts as idle after each write. Nothing may be passed over for that, and a hole at a log's end still ends the run.
func TestPartitionsLeftEmpty(t *testing.T) {
	const partitions, batches, each = 30, 8, 5
	logs := make([]kafkatest.Log, partitions)
	var want []string
	for p := range logs {
		var next int64
		for range batches {
			b := kafkatest.Batch{First: next, Last: next + each - 1}
			for n := range int64(each) {
				b.Records = append(b.Records, next+n)
			}
			kafkatest.Encode(t, &b, 100, nil)
			logs[p].Batches = append(logs[p].Batches, b)
			next += each
		}
		want = append(want, span("many", int32(p), 0, next)...)
		logs[p].HighEnd = next + int64(p%3) // the last records are gone
		logs[p].LastStable = logs[p].HighEnd
	}
	c := kafkatest.ServeLogs(t, "many", logs, kafkatest.Fickle{Empty: 80, Short: 80}, 1)
	cl := kafkatest.Client(t, c.ListenAddrs())
	var slow atomic.Int64
	began := time.Now()
	sink := &collector{write: func(consume.Batch) error { slow.Add(int64(time.Second)); return nil }}
	_, err := consume.Run(t.Context(), consume.Config{Client: cl, Topics: topics("many"), Start: from(t, "earliest"), End: until(t, "latest"), Sink: sink,
		Now: func() time.Time { return began.Add(time.Duration(slow.Load()) + time.Since(began)) }})
	if err != nil {
		t.Fatal(err)
	}
	if got := sink.sorted(); !slices.Equal(got, all(want)) {
		t.Errorf("%d records came of %d", len(got), len(want))
	}
}
