package kafkatest

// Logs that are made batch by batch, behind a broker that does whatever the protocol allows it.

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Batch is one record batch of a [Log]. Offsets from First to Last without a record were removed by compaction.
type Batch struct {
	First, Last int64
	Records     []int64
	Producer    int64 // of a transaction; 0 for none
	Marker      bool  // an end of the producer's transaction: an abort where Abort is set
	Abort       bool
	Raw         []byte // what a broker sends; filled in by [Encode]
}

// Log is one partition. Batches may have holes between them.
type Log struct {
	Batches                    []Batch
	Start, LastStable, HighEnd int64
	// LocalStart is where the broker's own disk begins; what lies before it is in remote storage.
	LocalStart int64
}

// Encode writes a batch as it lies in a log. Every record's value is of size bytes; codec may be nil.
func Encode(t testing.TB, b *Batch, size int, codec kgo.Compressor) {
	t.Helper()
	var body []byte
	add := func(rec kmsg.Record) {
		rec.Length = int32(len(rec.AppendTo(nil)) - 1) // without the length itself, whose zero takes one byte
		body = rec.AppendTo(body)
	}
	raw := kmsg.RecordBatch{FirstOffset: b.First, LastOffsetDelta: int32(b.Last - b.First), Magic: 2, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		FirstTimestamp: 1_700_000_000_000, MaxTimestamp: 1_700_000_000_000 + b.Last}
	if b.Producer != 0 {
		raw.ProducerID, raw.Attributes = b.Producer, 0x10
	}
	if b.Marker {
		raw.Attributes, raw.NumRecords = 0x30, 1
		kind := byte(1)
		if b.Abort {
			kind = 0
		}
		add(kmsg.Record{Key: []byte{0, 0, 0, kind}, Value: make([]byte, 6)})
	}
	for _, n := range b.Records {
		raw.NumRecords++
		add(kmsg.Record{OffsetDelta: int32(n - b.First), TimestampDelta64: n, Value: make([]byte, size)})
	}
	if codec != nil && !b.Marker && len(body) > 0 {
		packed, kind := codec.Compress(new(bytes.Buffer), body)
		body, raw.Attributes = slices.Clone(packed), raw.Attributes|int16(kind)
	}
	raw.Records, raw.Length = body, int32(49+len(body))
	b.Raw = raw.AppendTo(nil)
	binary.BigEndian.PutUint32(b.Raw[17:], crc32.Checksum(b.Raw[21:], crc32.MakeTable(crc32.Castagnoli)))
}

// Fickle is how often, in a hundred, a broker does what it may do.
type Fickle struct {
	Empty    int // leaves a partition empty that is not the first, or the only one, of the request
	Leave    int // leaves such a one out of the answer
	Short    int // gives one batch where more would fit
	Oversize int // gives ten times what was asked for
	Fail     int // answers a partition with an error that passes
	Throttle int // answers empty with a throttle time
}

// ServeLogs makes a cluster that serves these logs of one topic, and [Fake]'s everything else. It counts the fetches.
func ServeLogs(t testing.TB, topic string, logs []Log, f Fickle, seed uint64, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	versions := JavaVersions()
	versions.SetMaxKeyVersion(kmsg.Fetch.Int16(), 12) // by name, so that no id has to be looked up
	c := Fake(t, append([]kfake.Opt{kfake.MaxVersions(versions)}, opts...)...)
	CreateTopic(t, Client(t, c.ListenAddrs()), topic, int32(len(logs)))
	s := &logServer{logs: logs, fickle: f, rnd: rand.New(rand.NewPCG(seed, 1))}
	c.ControlKey(kmsg.Fetch.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return s.fetch(req.(*kmsg.FetchRequest)), nil, true
	})
	c.ControlKey(kmsg.ListOffsets.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return s.list(req.(*kmsg.ListOffsetsRequest)), nil, true
	})
	c.ControlKey(kmsg.OffsetForLeaderEpoch.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return s.epochs(req.(*kmsg.OffsetForLeaderEpochRequest)), nil, true
	})
	return c
}

// logServer is used by kfake's one loop alone.
type logServer struct {
	logs   []Log
	fickle Fickle
	rnd    *rand.Rand
}

func (s *logServer) chance(percent int) bool { return s.rnd.IntN(100) < percent }

func (s *logServer) fetch(req *kmsg.FetchRequest) *kmsg.FetchResponse {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	alone := len(req.Topics) == 1 && len(req.Topics[0].Partitions) == 1
	if s.chance(s.fickle.Throttle) {
		if resp.ThrottleMillis = 1; s.chance(50) {
			return resp
		}
	}
	room, given := int(req.MaxBytes), false
	for _, rt := range req.Topics {
		at := kmsg.NewFetchResponseTopic()
		at.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			if !alone && s.chance(s.fickle.Leave) {
				continue
			}
			ap := kmsg.NewFetchResponseTopicPartition()
			ap.Partition = rp.Partition
			switch empty := !alone && given && s.chance(s.fickle.Empty); {
			case s.chance(s.fickle.Fail):
				ap.ErrorCode = s.passing()
				ap.HighWatermark, ap.LastStableOffset, ap.LogStartOffset = -1, -1, -1
			default:
				s.partition(&ap, rp, req.IsolationLevel == 1, room, !given, empty || resp.ThrottleMillis > 0)
				room -= len(ap.RecordBatches)
				given = given || len(ap.RecordBatches) > 0
			}
			at.Partitions = append(at.Partitions, ap)
		}
		resp.Topics = append(resp.Topics, at)
	}
	return resp
}

func (s *logServer) passing() int16 {
	all := []*kerr.Error{kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.KafkaStorageError,
		kerr.OffsetNotAvailable, kerr.UnknownTopicOrPartition}
	return all[s.rnd.IntN(len(all))].Code
}

// partition answers for one partition; the first that has something is given a whole batch, whatever the limits.
func (s *logServer) partition(ap *kmsg.FetchResponseTopicPartition, rp kmsg.FetchRequestTopicPartition, committed bool, room int, first, empty bool) {
	log := &s.logs[rp.Partition]
	if rp.FetchOffset < log.Start || rp.FetchOffset > log.HighEnd {
		ap.ErrorCode = kerr.OffsetOutOfRange.Code
		ap.HighWatermark, ap.LastStableOffset, ap.LogStartOffset = -1, -1, -1
		return
	}
	ap.HighWatermark, ap.LastStableOffset, ap.LogStartOffset = log.HighEnd, log.LastStable, log.Start
	if empty {
		return
	}
	limit, end := min(int(rp.PartitionMaxBytes), room), log.HighEnd
	if committed {
		end = log.LastStable
	}
	if s.chance(s.fickle.Oversize) {
		limit *= 10
	}
	short := s.chance(s.fickle.Short)
	for i := range log.Batches {
		b := &log.Batches[i]
		if b.Last < rp.FetchOffset {
			continue
		}
		if b.Last >= end || len(ap.RecordBatches)+len(b.Raw) > limit && !(first && len(ap.RecordBatches) == 0) || short && len(ap.RecordBatches) > 0 {
			break
		}
		ap.RecordBatches = append(ap.RecordBatches, b.Raw...)
	}
	if committed {
		ap.AbortedTransactions = log.aborted(rp.FetchOffset)
		s.rnd.Shuffle(len(ap.AbortedTransactions), func(i, j int) {
			ap.AbortedTransactions[i], ap.AbortedTransactions[j] = ap.AbortedTransactions[j], ap.AbortedTransactions[i]
		})
	}
}

// aborted are the aborted transactions that end at or after an offset.
func (l *Log) aborted(from int64) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	var out []kmsg.FetchResponseTopicPartitionAbortedTransaction
	begun := map[int64]int64{}
	for _, b := range l.Batches {
		switch first, open := begun[b.Producer]; {
		case b.Producer == 0:
		case !b.Marker && !open:
			begun[b.Producer] = b.First
		case b.Marker:
			if delete(begun, b.Producer); open && b.Abort && b.Last >= from {
				out = append(out, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: b.Producer, FirstOffset: first})
			}
		}
	}
	return out
}

// Visible are the offsets of the records that a reader is given: under read_committed none that are aborted or behind the last
// stable offset.
func (l *Log) Visible(committed bool) []int64 {
	var out []int64
	for i, b := range l.Batches {
		if b.Marker || b.Last < l.Start || committed && (b.Last >= l.LastStable || l.abortedAt(i)) {
			continue
		}
		for _, n := range b.Records {
			if n >= l.Start {
				out = append(out, n)
			}
		}
	}
	return out
}

// abortedAt says that the batch's transaction was aborted.
func (l *Log) abortedAt(i int) bool {
	for _, b := range l.Batches[i:] {
		if b.Marker && b.Producer == l.Batches[i].Producer {
			return b.Abort && b.Producer != 0
		}
	}
	return false
}

func (s *logServer) list(req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, rt := range req.Topics {
		at := kmsg.NewListOffsetsResponseTopic()
		at.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			ap := kmsg.NewListOffsetsResponseTopicPartition()
			log := &s.logs[rp.Partition]
			ap.Partition, ap.Timestamp, ap.LeaderEpoch = rp.Partition, -1, 0
			switch ap.Offset = log.Start; {
			case rp.Timestamp == -1 && req.IsolationLevel == 1:
				ap.Offset = log.LastStable
			case rp.Timestamp == -1:
				ap.Offset = log.HighEnd
			case rp.Timestamp == -4:
				ap.Offset = max(log.Start, log.LocalStart)
			}
			at.Partitions = append(at.Partitions, ap)
		}
		resp.Topics = append(resp.Topics, at)
	}
	return resp
}

// epochs says that the one leader epoch there is goes to the end of each log.
func (s *logServer) epochs(req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for _, rt := range req.Topics {
		at := kmsg.NewOffsetForLeaderEpochResponseTopic()
		at.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			ap := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			ap.Partition, ap.LeaderEpoch, ap.EndOffset = rp.Partition, 0, s.logs[rp.Partition].HighEnd
			at.Partitions = append(at.Partitions, ap)
		}
		resp.Topics = append(resp.Topics, at)
	}
	return resp
}
