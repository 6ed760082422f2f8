// The sample topics and their records.

package sandbox

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The numbers of the sample data, which the groups refer to.
const (
	orderPartitions   = 4
	ordersEach        = 1440 // one a minute and partition for a day
	paymentPartitions = 3
	paymentsEach      = 480 // one in three minutes for a day
	clickPartitions   = 2
	clicksEach        = 1080 // one in 20 seconds for six hours
	clicksStart       = 540  // the older half has expired
	customerKeys      = 50
	customerRounds    = 6
	invoiceCommitted  = 10 // records of each of the finished transactions
	invoiceOpen       = 5  // records of the open one

	openTransactionFor = 24 * time.Hour
)

type topic struct {
	name       string
	partitions int32
	about      string // what it shows
	configs    map[string]string
}

func shopTopics() []topic {
	return []topic{
		{"orders", orderPartitions, "a record a minute on each partition, for a day", nil},
		{"payments", paymentPartitions, "a record in three minutes on each partition, for a day", nil},
		{"customers", 2, "compacted: holes between the offsets", map[string]string{"cleanup.policy": "compact"}},
		{"returns", 3, "empty: nothing was ever written", nil},
		{"clicks", clickPartitions, "its older half has expired: the log starts at 540", map[string]string{"retention.ms": "10800000"}},
		{"invoices", 2, "written in transactions, of which one is open", nil},
	}
}

// fillShop creates the topics of the first cluster and writes their records.
func (s *Sandbox) fillShop(ctx context.Context, now time.Time) error {
	fake := s.fakes[0]
	for _, t := range shopTopics() {
		if err := fake.CreateTopic(t.name, t.partitions, t.configs); err != nil {
			return fmt.Errorf("create topic %s: %w", t.name, err)
		}
	}
	updates, last := customers(now)
	for _, records := range [][]*kgo.Record{updates, last} {
		if err := s.produce(ctx, 0, records); err != nil {
			return err
		}
	}
	fake.Compact()
	for _, records := range [][]*kgo.Record{
		series("orders", orderPartitions, 0, ordersEach, now, time.Minute, order),
		series("payments", paymentPartitions, 0, paymentsEach, now, 3*time.Minute, payment),
		series("clicks", clickPartitions, 0, clicksEach, now, 20*time.Second, click),
	} {
		if err := s.produce(ctx, 0, records); err != nil {
			return err
		}
	}
	for p := range int32(clickPartitions) {
		if err := fake.DeleteRecords("clicks", p, clicksStart); err != nil {
			return fmt.Errorf("expire clicks partition %d: %w", p, err)
		}
	}
	return nil
}

// fillReplica writes the second cluster: the first 12 hours of the day of orders
// are missing there, so its offsets are 720 lower; of the payments it has the
// last six hours, and the first ten of those twice, as after a mirror's restart.
func (s *Sandbox) fillReplica(ctx context.Context, now time.Time) error {
	for _, t := range shopTopics()[:2] {
		if err := s.fakes[1].CreateTopic(t.name, t.partitions, t.configs); err != nil {
			return fmt.Errorf("create topic %s: %w", t.name, err)
		}
	}
	orders := series("orders", orderPartitions, ordersEach/2, ordersEach, now, time.Minute, order)
	const from = paymentsEach * 3 / 4
	twice := series("payments", paymentPartitions, from, from+10, now, 3*time.Minute, payment)
	payments := series("payments", paymentPartitions, from, paymentsEach, now, 3*time.Minute, payment)
	for _, records := range [][]*kgo.Record{orders, twice, payments} {
		if err := s.produce(ctx, 1, records); err != nil {
			return err
		}
	}
	return nil
}

// series makes the records [from, to) of each partition of a topic whose newest
// record, number total-1 of the last partition, is just before now. Record i of a
// partition is the same whatever the range, so that a copy is a copy.
func series(name string, partitions int32, from, to int, now time.Time, every time.Duration, value func(n int) (key, value string)) []*kgo.Record {
	totals := map[string]int{"orders": ordersEach, "payments": paymentsEach, "clicks": clicksEach}
	first := now.Add(-time.Duration(totals[name]) * every)
	records := make([]*kgo.Record, 0, int(partitions)*(to-from))
	for i := from; i < to; i++ {
		for p := range partitions {
			k, v := value(i*int(partitions) + int(p))
			records = append(records, &kgo.Record{
				Topic: name, Partition: p, Key: []byte(k), Value: []byte(v),
				Timestamp: first.Add(time.Duration(i)*every + every*time.Duration(p)/time.Duration(partitions)),
			})
		}
	}
	return records
}

func order(n int) (key, value string) {
	customer := n * 7 % customerKeys
	return fmt.Sprintf("o-%06d", 100_000+n),
		fmt.Sprintf(`{"order":"o-%06d","customer":"c-%03d","items":%d,"total":"%d.%02d"}`, 100_000+n, customer, 1+n%5, 5+n*13%190, n*37%100)
}

func payment(n int) (key, value string) {
	method := []string{"card", "transfer", "wallet"}[n%3]
	return fmt.Sprintf("p-%06d", 500_000+n),
		fmt.Sprintf(`{"payment":"p-%06d","order":"o-%06d","method":"%s"}`, 500_000+n, 100_000+n*4, method)
}

func click(n int) (key, value string) {
	page := []string{"/", "/search", "/cart", "/item/42", "/checkout"}[n*11%5]
	return fmt.Sprintf("v-%04d", n*17%2000), fmt.Sprintf(`{"page":"%s","ms":%d}`, page, 20+n*29%400)
}

// customers updates each key once a day; compaction leaves the last updates and
// holes where the others were. The last record of a partition is one more, which
// is written on its own: compaction leaves the last batch alone, and a batch of
// kgo is as large as it happens to be.
func customers(now time.Time) (records, last []*kgo.Record) {
	for round := range customerRounds {
		at := now.AddDate(0, 0, round-customerRounds)
		for k := range customerKeys {
			records = append(records, &kgo.Record{
				Topic: "customers", Partition: int32(k % 2), Timestamp: at.Add(time.Duration(k) * time.Second),
				Key: fmt.Appendf(nil, "c-%03d", k), Value: fmt.Appendf(nil, `{"customer":"c-%03d","visits":%d}`, k, 1+round*3+k%4),
			})
		}
	}
	for p := range 2 {
		copied := *records[p]
		copied.Timestamp = now.Add(-time.Hour)
		last = append(last, &copied)
	}
	return records, last
}

// produce writes records in their order to the partitions of their one topic, each partition in one batch.
func (s *Sandbox) produce(ctx context.Context, cluster int, records []*kgo.Record) error {
	cl, err := s.client(cluster, false)
	if err != nil {
		return err
	}
	defer cl.Close()
	byPart := map[int32][]*kgo.Record{}
	for _, r := range records {
		byPart[r.Partition] = append(byPart[r.Partition], r)
	}
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = records[0].Topic
	rt.TopicID = s.fakes[cluster].TopicInfo(rt.Topic).TopicID
	for _, p := range slices.Sorted(maps.Keys(byPart)) {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p, batch(byPart[p])
		rt.Partitions = append(rt.Partitions, rp)
	}
	// Raw: kgo's batches are cut by time, so that the log's size would vary.
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = -1, 30_000, []kmsg.ProduceRequestTopic{rt}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return fmt.Errorf("write to %s: %w", rt.Topic, err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("write to %s:%d: %w", rt.Topic, p.Partition, err)
			}
		}
	}
	return nil
}

// batch encodes records as one batch of Kafka's format 2. kgo's producer cuts batches by what is buffered at the moment, and
// two sandboxes of one time would then differ in their bytes, which split and consume show.
func batch(records []*kgo.Record) []byte {
	first, last := records[0].Timestamp.UnixMilli(), records[0].Timestamp.UnixMilli()
	var body []byte
	for i, r := range records {
		at := r.Timestamp.UnixMilli()
		last = max(last, at)
		one := kmsg.NewRecord()
		one.TimestampDelta64, one.OffsetDelta, one.Key, one.Value = at-first, int32(i), r.Key, r.Value
		one.Length = int32(len(one.AppendTo(nil)) - 1) // without the length itself, which is 0 here and takes a byte
		body = one.AppendTo(body)
	}
	b := kmsg.NewRecordBatch()
	b.Magic, b.PartitionLeaderEpoch, b.ProducerID, b.ProducerEpoch, b.FirstSequence = 2, -1, -1, -1, -1
	b.FirstTimestamp, b.MaxTimestamp = first, last
	b.NumRecords, b.LastOffsetDelta, b.Records = int32(len(records)), int32(len(records)-1), body
	const beforeLength, beforeCRC = 12, 21 // bytes up to and with the length, and with the checksum
	b.Length = int32(len(b.AppendTo(nil)) - beforeLength)
	b.CRC = int32(crc32.Checksum(b.AppendTo(nil)[beforeCRC:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}

// invoices writes transactions: one committed, one aborted, one committed again,
// and one that stays open, so that the last stable offset stands before the end.
// The open one also holds back offset commits of a group.
func (s *Sandbox) invoices(ctx context.Context) error {
	cl, err := s.client(0, true, kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID("invoice-writer"), kgo.TransactionTimeout(openTransactionFor))
	if err != nil {
		return err
	}
	n := 0
	write := func(count int) error {
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		var records []*kgo.Record
		for range count {
			for p := range int32(2) {
				records = append(records, &kgo.Record{Topic: "invoices", Partition: p,
					Key: fmt.Appendf(nil, "i-%05d", n), Value: fmt.Appendf(nil, `{"invoice":"i-%05d","order":"o-%06d"}`, n, 100_000+n*2)})
				n++
			}
		}
		return cl.ProduceSync(ctx, records...).FirstErr()
	}
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := write(invoiceCommitted); err != nil {
			return fmt.Errorf("write to invoices: %w", err)
		}
		if err := cl.EndTransaction(ctx, end); err != nil {
			return fmt.Errorf("end a transaction on invoices: %w", err)
		}
	}
	if err := write(invoiceOpen); err != nil {
		return fmt.Errorf("write to invoices: %w", err)
	}
	return commitInTransaction(ctx, cl, "invoice-writer", s.fakes[0].TopicInfo("orders"))
}
