package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/koffset/koffset/internal/text"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batch is one record batch, or one message of the formats before 0.11, as it lies in a response.
type batch struct {
	bytes []byte
	first int64 // of a message with others inside, the last one's offset
	last  int64
	magic byte
	// These are of record batches only.
	attrs      int16
	producerID int64
	records    int32
}

const (
	frameBytes  = 17 // offset, length, four bytes, and the format's number
	headerBytes = 61 // of a record batch
)

// cut takes the first batch off b. ok is false where it is not there whole; need is its size then, as far as is known.
func cut(b []byte) (one batch, rest []byte, need int64, ok bool) {
	if len(b) < frameBytes {
		return batch{}, nil, frameBytes, false
	}
	size := int64(binary.BigEndian.Uint32(b[8:])) + 12
	if int64(len(b)) < size {
		return batch{}, nil, size, false
	}
	one = batch{bytes: b[:size], first: int64(binary.BigEndian.Uint64(b)), magic: b[16]}
	one.last = one.first
	if one.magic >= 2 {
		if size < headerBytes {
			return batch{}, nil, headerBytes, false
		}
		one.last += int64(binary.BigEndian.Uint32(b[23:]))
		one.attrs = int16(binary.BigEndian.Uint16(b[21:]))
		one.producerID = int64(binary.BigEndian.Uint64(b[43:]))
		one.records = int32(binary.BigEndian.Uint32(b[57:]))
	}
	return one, b[size:], 0, true
}

func (b batch) transactional() bool { return b.magic >= 2 && b.attrs&0x10 != 0 }
func (b batch) control() bool       { return b.magic >= 2 && b.attrs&0x20 != 0 }
func (b batch) compressed() bool    { return b.magic < 2 || b.attrs&0x07 != 0 }

// checked says that the checksum of a record batch is right. What is decoded is checked by kgo; this is for what is skipped.
func (b batch) checked() bool {
	return crc32.Checksum(b.bytes[21:], crc32.MakeTable(crc32.Castagnoli)) == binary.BigEndian.Uint32(b.bytes[17:])
}

// opener decodes batches.
type opener struct {
	topic     string
	partition int32
}

// open decodes a batch from an offset on; next is the offset after it. Control records are among the records.
func (o opener) open(b batch, from int64, d kgo.Decompressor) (records []*kgo.Record, next int64, err error) {
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.Partition, rp.RecordBatches = o.partition, b.bytes
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: from, IsolationLevel: kgo.ReadUncommitted(), Topic: o.topic, Partition: o.partition,
	}, &rp, d, nil)
	switch {
	case errors.Is(got.Err, kgo.ErrMaxDecompress):
		return nil, from, got.Err
	case got.Err != nil:
		return nil, from, fmt.Errorf("%w: %w", ErrDamaged, got.Err)
	case next <= b.last:
		return nil, from, fmt.Errorf("%w: it claims %s and has fewer", ErrDamaged, text.Plural(b.records, "record"))
	}
	return got.Records, next, nil
}

// aborts are the aborted transactions that a response names: by producer, the first offsets of those not yet over.
type aborts map[int64][]int64

func newAborts(rp *kmsg.FetchResponseTopicPartition) aborts {
	if len(rp.AbortedTransactions) == 0 {
		return nil
	}
	a := aborts{}
	for _, t := range rp.AbortedTransactions {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, firsts := range a {
		slices.Sort(firsts) // Redpanda names the newest first
	}
	return a
}

// covers says that a batch belongs to an aborted transaction.
func (a aborts) covers(b batch) bool {
	firsts := a[b.producerID]
	return b.transactional() && len(firsts) > 0 && b.first >= firsts[0]
}

// end notes a control batch: the marker of an abort ends its producer's transaction.
func (a aborts) end(b batch, records []*kgo.Record) {
	if !a.covers(b) || len(records) == 0 {
		return
	}
	if commit, ok := marker(records[0].Key); ok && !commit {
		a[b.producerID] = a[b.producerID][1:]
	}
}

// marker reads the key of a control record: a version, then the type. ok is false where it ends no transaction.
func marker(key []byte) (commit, ok bool) {
	if len(key) < 4 || key[2] != 0 {
		return false, false
	}
	return key[3] == 1, key[3] <= 1
}
