package kafkatest

// Transactions, left open where a test needs one open.

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// txnTimeout is long enough that no broker aborts an open transaction while a test looks at it, and below Kafka's limit of 15 min.
const txnTimeout = 10 * time.Minute

// Txn is a transactional producer. What it leaves open is aborted when the test ends.
type Txn struct {
	t    testing.TB
	id   string
	cl   *kgo.Client
	open bool
}

// NewTxn makes a transactional producer with that id.
func NewTxn(t testing.TB, cl *kgo.Client, id string) *Txn {
	t.Helper()
	x := &Txn{t: t, id: id, cl: derive(t, cl, kgo.TransactionalID(id), kgo.TransactionTimeout(txnTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))}
	t.Cleanup(func() {
		if x.open { // the test's context is over by now
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = x.cl.EndTransaction(ctx, kgo.TryAbort)
		}
	})
	return x
}

// Begin starts a transaction.
func (x *Txn) Begin() {
	x.t.Helper()
	if err := x.cl.BeginTransaction(); err != nil {
		x.t.Fatalf("begin a transaction: %v", err)
	}
	x.open = true
}

// Produce writes records in the transaction and waits for them.
func (x *Txn) Produce(records ...*kgo.Record) {
	x.t.Helper()
	if err := x.cl.ProduceSync(x.t.Context(), records...).FirstErr(); err != nil {
		x.t.Fatalf("produce %d records in a transaction: %v", len(records), err)
	}
}

// End commits or aborts, and waits until the markers are in the log.
func (x *Txn) End(commit bool) {
	x.t.Helper()
	if err := x.cl.EndTransaction(x.t.Context(), kgo.TransactionEndTry(commit)); err != nil {
		x.t.Fatalf("end a transaction (commit %t): %v", commit, err)
	}
	x.open = false
	waitTxn(x.t, x.cl, x.id)
}

// waitTxn waits until a transaction is complete. The coordinator answers EndTxn when it has decided, and writes the markers
// after that: on Kafka 4.3.1 the last stable offset was still behind when the answer came.
func waitTxn(t testing.TB, cl *kgo.Client, id string) {
	t.Helper()
	Until(t, "the markers of transaction "+id+" are written", func() bool {
		txns, err := kadm.NewClient(cl).DescribeTransactions(t.Context(), id)
		if err != nil || txns[id].Err != nil {
			return false
		}
		switch txns[id].State {
		case "CompleteCommit", "CompleteAbort", "Empty":
			return true
		}
		return false
	})
}

// PendingCommit adds a commit for group to a new transaction and leaves it pending: a stable read of the group's commit on that
// partition answers UNSTABLE_OFFSET_COMMIT until the returned function commits (true) or aborts (false) it. It is aborted with the
// test if it was not called.
func PendingCommit(t testing.TB, cl *kgo.Client, txnID, group string, c Committed) (end func(commit bool)) {
	t.Helper()
	producer := commitInTxn(t, cl, txnID, group, c)
	done := false
	finish := func(ctx context.Context, ok bool) (int16, error) {
		endReq := kmsg.NewPtrEndTxnRequest()
		endReq.TransactionalID, endReq.Commit = txnID, ok
		endReq.ProducerID, endReq.ProducerEpoch = producer.ProducerID, producer.ProducerEpoch
		resp, err := endReq.RequestWith(ctx, cl)
		if err != nil {
			return 0, err
		}
		return resp.ErrorCode, nil
	}
	t.Cleanup(func() {
		if !done {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, _ = finish(ctx, false)
		}
	})
	return func(ok bool) {
		t.Helper()
		done = true
		retried(t, "end transaction "+txnID, func(ctx context.Context) (int16, error) { return finish(ctx, ok) })
		waitTxn(t, cl, txnID)
	}
}

// commitInTxn begins a transaction and adds a commit to it.
func commitInTxn(t testing.TB, cl *kgo.Client, txnID, group string, c Committed) *kmsg.InitProducerIDResponse {
	t.Helper()
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID = kmsg.StringPtr(txnID)
	init.TransactionTimeoutMillis = int32(txnTimeout.Milliseconds())
	var producer *kmsg.InitProducerIDResponse
	retried(t, "init producer id "+txnID, func(ctx context.Context) (code int16, err error) {
		if producer, err = init.RequestWith(ctx, cl); err != nil {
			return 0, err
		}
		return producer.ErrorCode, nil
	})

	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.Group = txnID, group
	add.ProducerID, add.ProducerEpoch = producer.ProducerID, producer.ProducerEpoch
	retried(t, "add offsets to transaction "+txnID, func(ctx context.Context) (int16, error) {
		resp, err := add.RequestWith(ctx, cl)
		if err != nil {
			return 0, err
		}
		return resp.ErrorCode, nil
	})

	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group = txnID, group
	commit.ProducerID, commit.ProducerEpoch = producer.ProducerID, producer.ProducerEpoch
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic, rt.TopicID = c.Topic, topicIDs(t, cl, []Committed{c})[c.Topic]
	rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	rp.Partition, rp.Offset, rp.LeaderEpoch = c.Partition, c.Offset, c.LeaderEpoch
	rp.Metadata = kmsg.StringPtr(c.Metadata)
	rt.Partitions = append(rt.Partitions, rp)
	commit.Topics = append(commit.Topics, rt)
	retried(t, "commit in transaction "+txnID, func(ctx context.Context) (int16, error) {
		resp, err := commit.RequestWith(ctx, cl)
		if err != nil {
			return 0, err
		}
		return resp.Topics[0].Partitions[0].ErrorCode, nil
	})
	return producer
}

// retried repeats a request until it succeeds: a new cluster's coordinators answer COORDINATOR_NOT_AVAILABLE or
// CONCURRENT_TRANSACTIONS for a while.
func retried(t testing.TB, what string, do func(ctx context.Context) (code int16, err error)) {
	t.Helper()
	Until(t, what+" is done", func() bool {
		code, err := do(t.Context())
		if err == nil {
			err = kerr.ErrorForCode(code)
		}
		if err != nil && !kerr.IsRetriable(err) {
			t.Fatalf("%s: %v", what, err)
		}
		return err == nil
	})
}
