package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// fetchV12 keeps the request below version 13, which names topics by id: a broker before 2.8 has none.
type fetchV12 struct{ *kmsg.FetchRequest }

func (fetchV12) MaxVersion() int16 { return 12 }

// ask sends one Fetch and takes its answers. The error is the broker's as a whole; those of partitions are in their tasks.
func (r *run) ask(node int32, batch []*task) error {
	req, by := r.request(batch)
	held := int64(req.MaxBytes)
	if err := r.wire.take(r.ctx, held); err != nil {
		return err
	}
	defer func() { r.wire.give(held) }()
	resp, err := call[*kmsg.FetchResponse](r, node, fetchV12{req})
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return err
	}
	var came int64
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			came += int64(len(resp.Topics[i].Partitions[j].RecordBatches))
		}
	}
	r.wire.give(held - came) // a broker sends one whole batch even where that is more than was asked for
	held = came
	var outside []*task
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			rp := &resp.Topics[i].Partitions[j]
			t := by[offset.Partition{Topic: resp.Topics[i].Topic, Partition: rp.Partition}]
			if t == nil {
				continue
			}
			delete(by, t.Partition)
			if rp.ErrorCode == kerr.OffsetOutOfRange.Code {
				outside = append(outside, t)
				continue
			}
			if resp.ThrottleMillis > 0 && rp.ErrorCode == 0 && len(rp.RecordBatches) == 0 {
				t.throttled()
				continue
			}
			r.answered(t, rp, len(batch) == 1)
			rp.RecordBatches = nil
		}
	}
	for _, t := range by {
		if resp.ThrottleMillis > 0 { // a client that is throttled is given nothing, or an answer without partitions
			t.throttled()
			continue
		}
		if len(batch) > 1 {
			t.left, t.alone = t.left+1, true
			continue
		}
		t.err = fmt.Errorf("broker %d left the partition out of its answer", node)
	}
	r.outOfRange(node, outside)
	return nil
}

// request builds the Fetch; by finds the tasks of its partitions.
func (r *run) request(batch []*task) (req *kmsg.FetchRequest, by map[offset.Partition]*task) {
	// Raw: kgo's consumer cannot tell a hole in the log from an answer that had no room.
	req = kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = -1, 0, 0, 0, -1
	if r.Isolation == offset.ReadCommitted {
		req.IsolationLevel = 1
	}
	by = make(map[offset.Partition]*task, len(batch))
	topics := map[string]int{}
	for _, t := range batch {
		i, ok := topics[t.Topic]
		if !ok {
			i = len(req.Topics)
			topics[t.Topic] = i
			rt := kmsg.NewFetchRequestTopic()
			rt.Topic = t.Topic
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = t.Partition.Partition, t.next, t.bytes
		if t.room {
			rp.PartitionMaxBytes = max(t.bytes, int32(r.wire.max))
		}
		req.MaxBytes += rp.PartitionMaxBytes
		t.err = nil
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
		by[t.Partition] = t
	}
	return req, by
}

// call sends one request to one broker, and waits for BrokerTimeout at the most. Nothing is retried here: another broker
// may be the leader by then.
func call[R kmsg.Response](r *run, node int32, req kmsg.Request) (resp R, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.BrokerTimeout)
	defer cancel()
	got, err := r.Client.Broker(int(node)).Request(ctx, req)
	switch {
	case err == nil:
		return got.(R), nil
	case r.ctx.Err() != nil:
		return resp, context.Cause(r.ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return resp, fmt.Errorf("broker %d did not answer within %s", node, r.BrokerTimeout)
	}
	return resp, fmt.Errorf("broker %d: %w", node, err)
}

// passes says that an error may go away: a leader that moves, a broker that starts.
func passes(err error) bool {
	var k *kerr.Error
	return !errors.As(err, &k) || k.Retriable && k != kerr.UnknownTopicOrPartition
}

// answered takes what a broker said of one partition. alone says that it was asked for nothing else.
func (r *run) answered(t *task, rp *kmsg.FetchResponseTopicPartition, alone bool) {
	switch err := kerr.ErrorForCode(rp.ErrorCode); {
	case err == nil:
	case passes(err) || errors.Is(err, kerr.UnknownTopicOrPartition): // whether the topic is gone the metadata says
		t.err = err
		return
	default:
		t.fail(err)
		return
	}
	t.end = rp.HighWatermark
	if r.Isolation == offset.ReadCommitted && rp.LastStableOffset >= 0 {
		t.end = rp.LastStableOffset
	}
	before := t.next
	need := r.read(t, rp)
	if t.done {
		return
	}
	if t.next > before {
		t.moved()
		t.bytes = max(t.bytes, min(4*t.bytes, mostBytes))
		t.alone, t.room = t.left > 1, false // left empty twice in company: it would be again
	} else if t.next < t.end && !r.nothing(t, rp, need, alone) {
		return
	}
	switch {
	case t.next >= t.Until || t.next >= t.end:
		t.next = min(t.next, t.Until)
		t.done = true
	case t.Enough != nil && t.next > before && t.Enough():
		t.stopped, t.done = true, true
	}
}

// nothing handles an answer that brought no record, though the log goes on. It returns true where that proves that the log
// holds none up to its end, and has moved the task there.
func (r *run) nothing(t *task, rp *kmsg.FetchResponseTopicPartition, need int64, alone bool) (proved bool) {
	switch {
	case need > int64(t.bytes): // a batch that was cut off, as brokers before 0.10.1 do
		t.alone, t.bytes = true, int32(min(need, 1<<30))
	case len(rp.RecordBatches) > 0:
		t.fail(fmt.Errorf("%w: it ends before the offset", ErrDamaged))
	case !alone:
		t.left++
		t.alone = true
	case !t.room:
		t.room = true
	default:
		// What is in remote storage comes empty where the storage did not answer within remote.fetch.max.wait.ms.
		if local, ok := r.list(t.node, []*task{t}, askLocalStart)[t.Partition]; !ok || local > t.next {
			t.err = errNotLocal
			return false
		}
		t.moved()
		t.pass(t.end)
		return true
	}
	return false
}

// errNotLocal is why an empty answer is no proof.
var errNotLocal = errors.New("the broker answered empty, and it is not known that the offset is on its disk")

// read hands out the records of an answer. need is the size of a batch that came cut off, 0 for none.
func (r *run) read(t *task, rp *kmsg.FetchResponseTopicPartition) (need int64) {
	over := newAborts(rp)
	for rest := rp.RecordBatches; len(rest) > 0; {
		var b batch
		var ok bool
		if b, rest, need, ok = cut(rest); !ok {
			return need
		}
		switch {
		case b.last < t.next:
			continue
		case b.magic >= 2 && b.first >= t.Until:
			t.pass(t.Until)
			t.next, t.done = t.Until, true
			return 0
		case over.covers(b) && !b.control() && !r.KeepAborted:
			if !b.checked() {
				t.fail(fmt.Errorf("%w: the checksum of the batch at %d is wrong", ErrDamaged, b.first))
				return 0
			}
			t.pass(b.first)
			t.holes = t.holes || int64(b.records) <= b.last-b.first
			t.next = b.last + 1
			continue
		}
		if b.magic >= 2 {
			t.pass(b.first) // nothing is in front of it, whether it can be opened or not
		}
		if r.open(t, b, over); t.done {
			return 0
		}
	}
	return 0
}

// open decodes one batch within the memory bound, and hands out its records.
func (r *run) open(t *task, b batch, over aborts) {
	for _, how := range r.ways(b) {
		if err := r.heap.take(r.ctx, how.bytes); err != nil {
			t.fail(err)
			return
		}
		err := r.visit(t, b, over, how.decompressor)
		r.heap.give(how.bytes)
		switch {
		case errors.Is(err, kgo.ErrMaxDecompress):
			continue
		case err != nil:
			t.fail(err)
		}
		return
	}
	t.fail(fmt.Errorf("%w: that at %d takes more than %d bytes", ErrTooLarge, b.first, r.Memory))
}

// recordBytes is what a record takes beside its bytes: kgo.Record, and the pointer to it.
const recordBytes = 216

// way is one try to decode a batch, and what it may take.
type way struct {
	bytes        int64
	decompressor func() (kgo.Decompressor, error)
}

// ways are how a batch is tried: most are small when decompressed, and only those that turn out not to be are opened alone.
func (r *run) ways(b batch) []way {
	beside := int64(max(0, b.records)) * recordBytes
	if !b.compressed() {
		return []way{{min(r.Memory, int64(len(b.bytes))+beside), r.small}}
	}
	return []way{{min(r.Memory, r.Memory/8+beside), r.small}, {r.Memory, r.large}}
}

// visit hands out the records of one batch.
func (r *run) visit(t *task, b batch, over aborts, decompressor func() (kgo.Decompressor, error)) error {
	d, err := decompressor()
	if err != nil {
		return err
	}
	records, next, err := opener{t.Topic, t.Partition.Partition}.open(b, t.next, d)
	if err != nil {
		return err
	}
	if b.control() {
		over.end(b, records)
		t.tellMarkers(records)
		t.next = next
		return nil
	}
	aborted := over.covers(b)
	for _, rec := range records {
		if rec.Offset >= t.Until {
			t.pass(t.Until)
			t.next, t.done = t.Until, true
			return nil
		}
		t.pass(rec.Offset)
		if !t.Visit(Record{rec, aborted}) {
			t.next, t.stopped, t.done = rec.Offset+1, true, true
			return nil
		}
		t.next = rec.Offset + 1
	}
	t.pass(next)
	t.next = next
	return nil
}

// tellMarkers hands out the ends of transactions among control records.
func (t *task) tellMarkers(records []*kgo.Record) {
	if t.Walk.Marker == nil {
		return
	}
	for _, rec := range records {
		if commit, ok := marker(rec.Key); ok && rec.Offset < t.Until {
			t.Walk.Marker(Marker{Offset: rec.Offset, Time: rec.Timestamp, Producer: rec.ProducerID, Commit: commit})
		}
	}
}
