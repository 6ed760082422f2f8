package kafkatest

import (
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// mixedKinds is after how many partitions the kinds of [Mixed] come again.
const mixedKinds = 12

// Mixed makes a topic whose partitions are of all kinds, in turn from the given one on: 0 small batches, 1 batches above 1
// MiB, 2 a record of 5 MB (in the first 36 partitions only), 3 transactions with aborted ones in between, 4 nothing at all,
// and otherwise small batches. It returns the offsets of the records that are not aborted, by partition.
func Mixed(t testing.TB, cl *kgo.Client, topic string, partitions, from int32) [][]int64 {
	t.Helper()
	CreateTopic(t, cl, topic, partitions, "max.message.bytes", "10000000")
	noise := make([]byte, 5_000_000)
	rnd := rand.NewChaCha8([32]byte{1})
	_, _ = rnd.Read(noise) // it never fails
	var plain, first, aborted, last []*kgo.Record
	for p := range partitions {
		add := func(list *[]*kgo.Record, n, size int) {
			for range n {
				at := rand.IntN(len(noise) - size + 1)
				*list = append(*list, &kgo.Record{Topic: topic, Partition: p, Value: noise[at : at+size]})
			}
		}
		switch kind := (p + from) % mixedKinds; {
		case kind == 1:
			add(&plain, 3, 700_000)
		case kind == 2 && p < 3*mixedKinds:
			add(&plain, 1, 5_000_000)
			add(&plain, 2, 100)
		case kind == 3:
			add(&first, 5, 100)
			add(&aborted, 5, 100)
			if p%(2*mixedKinds) == 3 { // otherwise the aborted ones are the last
				add(&last, 2, 100)
			}
		case kind == 4:
		default:
			add(&plain, 30, 1000)
		}
	}
	big := derive(t, cl, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(1_000_000))
	defer big.Close()
	if err := big.ProduceSync(t.Context(), plain...).FirstErr(); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
	if len(first) > 0 {
		x := NewTxn(t, cl, topic+"-txn")
		for i, list := range [][]*kgo.Record{first, aborted, last} {
			if len(list) > 0 {
				x.Begin()
				x.Produce(list...)
				x.End(i != 1)
			}
		}
	}
	out := make([][]int64, partitions)
	for _, list := range [][]*kgo.Record{plain, first, last} {
		for _, r := range list {
			out[r.Partition] = append(out[r.Partition], r.Offset)
		}
	}
	return out
}
