// The sample groups: one for each state that a group can be found in.

package sandbox

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// offsets are commits: topic -> offset of partition 0, 1, …; none for no commit.
type offsets map[string][]int64

const none = -1

// group is a sample group that consumers of the classic or the KIP-848 protocol
// made.
type group struct {
	name    string
	about   string // what it shows
	commits offsets
	live    bool // a member stays in it
	follows bool // the member reads and commits what is written later
	kip848  bool
}

func shopGroups() []group {
	all := func(n int, at int64) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = at
		}
		return out
	}
	return []group{
		{name: "billing", about: "live and up to date", live: true, follows: true,
			commits: offsets{"orders": all(orderPartitions, ordersEach), "payments": all(paymentPartitions, paymentsEach)}},
		{name: "analytics", about: "live on the KIP-848 protocol, but stuck for two hours", live: true, kip848: true,
			commits: offsets{"orders": all(orderPartitions, ordersEach-120)}},
		{name: "shipping", about: "stopped three hours ago",
			commits: offsets{"orders": {ordersEach - 180, ordersEach - 181, ordersEach - 180, ordersEach - 182}}},
		{name: "reporting", about: "has no commit on partition 2",
			commits: offsets{"orders": {ordersEach - 10, ordersEach, none, ordersEach - 3}}},
		{name: "fraud-check", about: "is below the log start on partition 0: 240 offsets expired unread",
			commits: offsets{"clicks": {clicksStart - 240, clicksStart + 160}}},
		{name: "payments-audit", about: "is past the log end on partition 1, as after a restore from elsewhere",
			commits: offsets{"payments": {paymentsEach - 5, paymentsEach + 420, paymentsEach}}},
		{name: "crm-sync", about: "reads a compacted topic, at the end", kip848: true,
			commits: offsets{"customers": all(2, customerKeys*customerRounds/2+1)}},
		{name: "invoice-mailer", about: "waits before an open transaction: at the last stable offset, 5 below the end",
			commits: offsets{"invoices": all(2, lastStableInvoice)}},
		{name: txnGroup, about: "has commits in a transaction that stays open as long as the sandbox runs: a reset waits, and is refused",
			commits: offsets{"orders": all(orderPartitions, ordersEach-40)}},
	}
}

// lastStableInvoice is where the open transaction begins: behind three
// transactions and their markers.
const lastStableInvoice = 3 * (invoiceCommitted + 1)

// The groups that are made in other ways.
const (
	flinkGroup = "sessionizer"    // only commits
	shareGroup = "order-alerts"   // KIP-932, with a live member
	txnGroup   = "order-invoicer" // commits within the transactions that write invoices
)

// startGroups makes all groups, in parallel: each join costs round trips.
func (s *Sandbox) startGroups(ctx, run context.Context) error {
	g, joining := errgroup.WithContext(ctx)
	for _, gr := range shopGroups() {
		g.Go(func() error {
			if err := s.startGroup(joining, run, gr); err != nil {
				return fmt.Errorf("group %s: %w", gr.name, err)
			}
			return nil
		})
	}
	g.Go(func() error {
		// Flink assigns partitions itself and knows no leader epochs.
		return s.commit(joining, flinkGroup, offsets{"clicks": {clicksEach - 15, clicksEach - 16}}, -1)
	})
	g.Go(func() error { return s.startShareGroup(joining) })
	if err := g.Wait(); err != nil {
		return err
	}
	return s.invoices(ctx) // whose open transaction commits for one of the groups
}

// startGroup commits, and lets a consumer join that stays or leaves: that makes
// it a group of consumers, not one that only commits. The commits come first, so
// that the consumer starts there, with the leader epoch that consumers have from
// what they read, 0 in a new cluster.
func (s *Sandbox) startGroup(ctx, run context.Context, gr group) error {
	if err := s.commit(ctx, gr.name, gr.commits, 0); err != nil {
		return err
	}
	topics := slices.Collect(maps.Keys(gr.commits))
	assigned := make(chan struct{}, 1)
	opts := []kgo.Opt{
		kgo.ConsumerGroup(gr.name), kgo.ClientID(gr.name + "-1"), kgo.ConsumeTopics(topics...),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			if len(parts) == len(topics) {
				select {
				case assigned <- struct{}{}:
				default:
				}
			}
		}),
	}
	if gr.kip848 {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	cl, err := s.client(0, gr.live, opts...)
	if err != nil {
		return err
	}
	if !gr.live {
		defer cl.Close()
	}
	select {
	case <-assigned:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if gr.follows {
		s.work.Go(func() {
			for {
				fetches := cl.PollFetches(run)
				if run.Err() != nil || fetches.IsClientClosed() {
					return
				}
				// A commit that fails is made up for by the next one.
				_ = cl.CommitUncommittedOffsets(run)
			}
		})
	}
	return nil
}

// commit commits for a group without members.
func (s *Sandbox) commit(ctx context.Context, group string, commits offsets, epoch int32) error {
	cl, err := s.client(0, false)
	if err != nil {
		return err
	}
	defer cl.Close()
	os := make(kadm.Offsets)
	for t, at := range commits {
		for p, o := range at {
			if o != none {
				os.AddOffset(t, int32(p), o, epoch)
			}
		}
	}
	return kadm.NewClient(cl).CommitAllOffsets(ctx, group, os)
}

// startShareGroup sets the group's start offsets, which only an empty group
// allows, and then lets a member join that reads nothing.
func (s *Sandbox) startShareGroup(ctx context.Context) error {
	cl, err := s.client(0, false)
	if err != nil {
		return err
	}
	defer cl.Close()
	starts := make(kadm.Offsets)
	for p := range int32(orderPartitions) {
		starts.AddOffset("orders", p, ordersEach-30, -1)
	}
	responses, err := kadm.NewClient(cl).AlterShareGroupOffsets(ctx, shareGroup, starts)
	if err == nil {
		err = responses.Error()
	}
	if err != nil {
		return fmt.Errorf("share group %s: %w", shareGroup, err)
	}
	_, err = s.client(0, true, kgo.ShareGroup(shareGroup), kgo.ClientID(shareGroup+"-1"), kgo.ConsumeTopics("orders"),
		kgo.ShareMaxRecordsStrict()) // which fetches only when polled: nothing is acquired
	if err != nil {
		return fmt.Errorf("share group %s: %w", shareGroup, err)
	}
	_, err = s.fakes[0].WaitGroupStable(ctx, shareGroup, 1)
	return err
}

// commitInTransaction adds a commit of txnGroup, on every partition of the topic,
// to the open transaction of cl. Until that ends, a stable read is refused: by
// Kafka for these partitions, by kfake for the whole group.
func commitInTransaction(ctx context.Context, cl *kgo.Client, txnID string, topic *kfake.TopicInfo) error {
	id, epoch, err := cl.ProducerID(ctx)
	if err != nil {
		return err
	}
	// Raw: kadm has no commits in a transaction.
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = txnID, id, epoch, txnGroup
	added, err := add.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(added.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("add group %s to the open transaction: %w", txnGroup, err)
	}
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic.Topic, topic.TopicID // kfake goes by the id
	for i := range int32(orderPartitions) {
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = i, ordersEach-20
		t.Partitions = append(t.Partitions, p)
	}
	// Raw: kadm has no commits in a transaction.
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = txnID, id, epoch, txnGroup
	commit.Topics = append(commit.Topics, t)
	resp, err := commit.RequestWith(ctx, cl)
	if err != nil {
		return fmt.Errorf("commit for group %s in the open transaction: %w", txnGroup, err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("commit for group %s in the open transaction: %w", txnGroup, err)
			}
		}
	}
	return nil
}
