package kafkatest

// The data sets that several tests share: known offsets, known times, known commits. They work on kfake and on a real broker.

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// F1Start is the CreateTime of the first record of each partition of [F1]: 2024-03-10T12:00:00Z in epoch milliseconds.
const F1Start int64 = 1710072000000

// Orders is what [F1] made.
type Orders struct {
	Topic string // PREFIXorders.v1
	App   string // group PREFIXapp
	App2  string // group PREFIXapp2, with the same commits
}

// F1 makes a topic of 3 partitions with 10 records each, offsets 0..9, CreateTime [F1Start] + 100 ms x offset, and deletes
// partition 0 before 4: start/end are 4/10, 0/10, 0/10. Two groups without members have committed partition 0 at 6 and
// partition 1 at 7 (leader epoch 0, metadata "ckpt=17"), and never partition 2.
func F1(t testing.TB, cl *kgo.Client, prefix string) Orders {
	t.Helper()
	f := Orders{Topic: prefix + "orders.v1", App: prefix + "app", App2: prefix + "app2"}
	CreateTopic(t, cl, f.Topic, 3)
	var rs []*kgo.Record
	for p := range int32(3) {
		rs = append(rs, Records(f.Topic, p, 10, F1Start, 100)...)
	}
	Produce(t, cl, rs...)
	DeleteRecords(t, cl, f.Topic, 0, 4)
	for _, g := range []string{f.App, f.App2} {
		Commit(t, cl, g,
			Committed{f.Topic, 0, 6, 0, "ckpt=17"},
			Committed{f.Topic, 1, 7, 0, "ckpt=17"})
	}
	return f
}

// F2 makes topic PREFIXts with 3 partitions and returns its name. Partition 0 has CreateTimes 1000, 5000, 2000, 6000, 3000 (epoch
// milliseconds) at offsets 0..4, one record a request; partition 1 has one record at 1000; partition 2 is empty.
func F2(t testing.TB, cl *kgo.Client, prefix string) string {
	t.Helper()
	topic := prefix + "ts"
	CreateTopic(t, cl, topic, 3)
	var rs []*kgo.Record
	for _, ms := range []int64{1000, 5000, 2000, 6000, 3000} {
		rs = append(rs, Record(topic, 0, ms, itoa(int(ms))))
	}
	ProduceEach(t, cl, append(rs, Record(topic, 1, 1000, "1000"))...)
	return topic
}

// F3 is a one-partition topic written by transactions, step by step. High watermark / last stable offset after each step, measured on
// Kafka 4.3.1: 4/4 after [F3.CommitThree], 7/7 after [F3.AbortTwo], 11/7 after [F3.OpenFour].
type F3 struct {
	Topic string // PREFIXtx
	t     testing.TB
	txn   *Txn
}

// NewF3 makes the topic; nothing is written yet.
func NewF3(t testing.TB, cl *kgo.Client, prefix string) *F3 {
	t.Helper()
	f := &F3{Topic: prefix + "tx", t: t}
	CreateTopic(t, cl, f.Topic, 1)
	f.txn = NewTxn(t, cl, prefix+"txn")
	return f
}

// OpenF3 makes an [F3] and does all three steps.
func OpenF3(t testing.TB, cl *kgo.Client, prefix string) *F3 {
	t.Helper()
	f := NewF3(t, cl, prefix)
	f.CommitThree()
	f.AbortTwo()
	f.OpenFour()
	return f
}

// CommitThree writes offsets 0..2 and a commit marker at 3.
func (f *F3) CommitThree() { f.t.Helper(); f.write(3); f.End(true) }

// AbortTwo writes offsets 4..5 and an abort marker at 6.
func (f *F3) AbortTwo() { f.t.Helper(); f.write(2); f.End(false) }

// OpenFour writes offsets 7..10 in a transaction that stays open until [F3.End]. The broker aborts it after its
// transaction.timeout.ms, here 10 minutes.
func (f *F3) OpenFour() { f.t.Helper(); f.write(4) }

// End commits or aborts the open transaction.
func (f *F3) End(commit bool) { f.t.Helper(); f.txn.End(commit) }

func (f *F3) write(n int) {
	f.t.Helper()
	f.txn.Begin()
	f.txn.Produce(Records(f.Topic, 0, n, F1Start, 100)...)
}
