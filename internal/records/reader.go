package records

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

// ToEnd is the Until of a [Span] that ends where the log ends when it is read.
const ToEnd int64 = math.MaxInt64

// What a Reader does where its options are zero.
const (
	defaultMemory        int64 = 64 << 20
	DefaultBrokerTimeout       = 10 * time.Second
	defaultPatience            = 3 * time.Second
)

// Reader reads records. Its zero options are good ones; Client is needed. It may be used by several goroutines, each call
// with a memory bound of its own.
type Reader struct {
	Client *kgo.Client
	// Isolation is whose view of the log is read. Under read_committed records of aborted transactions are left out, and the
	// log ends at the last stable offset.
	Isolation offset.Isolation
	// KeepAborted hands out the records of aborted transactions too, marked as such. It means something under read_committed
	// only: the broker does not name them otherwise.
	KeepAborted bool
	// Memory bounds what decompressed batches take at once, in bytes. Responses on their way take a quarter of it more. A
	// batch that alone needs more is not known: its error is an [ErrTooLarge].
	Memory int64
	// BrokerTimeout is how long one broker may take for one answer. A broker that does not answer costs its own partitions.
	BrokerTimeout time.Duration
	// Leader says who led a partition when the caller read the metadata a moment ago, which spares a round trip; nil asks for
	// the metadata. It is asked for at once where a broker does not lead what it should.
	Leader func(offset.Partition) (node int32, ok bool)
	// Patience is how long a partition may stay without a useful answer: no leader, a leader that moves, a broker that is
	// away. It starts again with each answer that helps.
	Patience time.Duration
}

// Span is a stretch of one partition: the offsets from From to Until, exclusive.
type Span struct {
	offset.Partition
	From, Until int64
}

// Record is a data record as it was fetched. It is valid during the call that hands it out: its bytes are part of a batch
// that is dropped afterwards, and whoever keeps one keeps the batch.
type Record struct {
	*kgo.Record
	// Aborted says that it belongs to an aborted transaction; see [Reader.KeepAborted].
	Aborted bool
}

// Place is the record as a place in the log, with its own time; the time is zero where the record has none.
func (r Record) Place() offset.Record {
	return offset.Record{Offset: r.Offset, Time: offset.TimeOf(r.Timestamp), LeaderEpoch: offset.EpochOf(r.LeaderEpoch)}
}

// Answer is what is known of the first record of a span.
type Answer struct {
	// Record is the first record; nil where there is none, or where that is not known.
	Record *offset.Record
	// Empty is the stretch in front of Record, or without one the stretch that was looked through.
	Empty Proof
	// LogEnd is where the log ended for this isolation when it was read; it is known where Err is nil and something was
	// asked of the broker.
	LogEnd int64
	// Err is why Record is not known; nil where it is, and where Empty reaches the span's Until or the log's end.
	Err error
}

// First finds the first record of each span. Every span is in the result.
func (r Reader) First(ctx context.Context, spans []Span) map[Span]Answer {
	out := make(map[Span]Answer, len(spans))
	walks := make([]Walk, 0, len(spans))
	found := make([]*offset.Record, 0, len(spans))
	for _, s := range spans {
		if _, twice := out[s]; twice {
			continue
		}
		out[s] = Answer{}
		n := len(walks)
		found = append(found, nil)
		walks = append(walks, Walk{Span: s, Bytes: firstBytes, Visit: func(rec Record) bool {
			place := rec.Place()
			found[n] = &place
			return false
		}})
	}
	for n, end := range r.Walk(ctx, walks) {
		a := Answer{Record: found[n], Empty: end.Proof, LogEnd: end.LogEnd, Err: end.Err}
		if a.Record != nil {
			a.Empty.until = a.Record.Offset
		}
		out[walks[n].Span] = a
	}
	return out
}

// Walk is one stretch to be read.
type Walk struct {
	Span
	// Visit is told every record of the stretch in the order of the offsets, when it arrives. It returns false to end the
	// walk. Walks run side by side: each Visit is called by one goroutine at a time, those of different walks at once. One
	// that blocks holds up the others when the memory is used up, so it must not wait for another walk.
	Visit func(Record) (more bool)
	// Marker, where it is set, is told the ends of transactions in the stretch, each in its place among Visit's records: whoever
	// reads what is not committed yet learns by them what became of it.
	Marker func(Marker)
	// Enough, where it is set, is asked after each answer of the broker whether the walk may end. What came with the answer
	// was visited by then.
	Enough func() bool
	// Bytes is how much to ask for at first; 0 for 64 KiB. It grows with every answer.
	Bytes int32
}

// Marker is the end of a producer's transaction, as the log has it.
type Marker struct {
	Offset   int64
	Time     time.Time
	Producer int64
	Commit   bool // false is an abort
}

// End is how a walk ended.
type End struct {
	// Proof is what is known: Visit was told every record in it. It begins at the walk's From.
	Proof
	// Stopped says that Visit or Enough ended the walk.
	Stopped bool
	// LogEnd is where the log ended for this isolation in the last answer. It may lie before the walk's Until.
	LogEnd int64
	// Holes says that offsets of what was read belong to neither a record nor a marker, in a batch or between batches:
	// compaction removed what was there, now or before the topic was configured as it is.
	Holes bool
	// Err is why the rest is not known.
	Err error
}

// Reached says that the walk came to its Until or to the log's end.
func (e End) Reached() bool { return e.Err == nil && !e.Stopped }

// Walk reads the stretches, all of them side by side, and returns how each ended. Several walks of one partition are fine.
func (r Reader) Walk(ctx context.Context, walks []Walk) []End {
	return newRun(ctx, r, walks).do()
}

// OutOfRange is the error of an offset that the log does not have (any more). It is never the same as "nothing is there":
// there may have been records.
type OutOfRange struct {
	offset.Partition
	Offset int64
	// Start and End are the log's bounds, read after the broker refused the offset; Known says whether that worked.
	Start, End int64
	Known      bool
}

// Removed says that the log starts after the offset: retention or DeleteRecords removed what was there.
func (e *OutOfRange) Removed() bool { return e.Known && e.Offset < e.Start }

func (e *OutOfRange) Error() string {
	switch {
	case !e.Known:
		return fmt.Sprintf("%s: offset %d is out of range, and the bounds of the log are not known", e.Partition, e.Offset)
	case e.Removed():
		return fmt.Sprintf("%s: offset %d was removed: the log starts at %d", e.Partition, e.Offset, e.Start)
	}
	return fmt.Sprintf("%s: offset %d is past the log end %d", e.Partition, e.Offset, e.End)
}

// Unwrap is Kafka's own error, OFFSET_OUT_OF_RANGE.
func (e *OutOfRange) Unwrap() error { return kerr.OffsetOutOfRange }

// ErrTooLarge is the error of a batch that needs more than [Reader.Memory] when it is decompressed.
var ErrTooLarge = errors.New("a batch is larger than the memory bound")

// ErrDamaged is the error of an answer that cannot be what the log holds: a checksum that is wrong, a batch that does not
// decode.
var ErrDamaged = errors.New("the broker sent a damaged batch")
