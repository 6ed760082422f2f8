package flink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Transactions of Kafka sinks that a snapshot holds until they are committed. A restore commits them, on the cluster that the
// sink writes to.
//
// KafkaSink's are in the state of its committer, an operator of its own, as the bytes of KafkaCommittableSerializer (version 1:
// epoch, producer id, transactional id) inside those of CommittableCollectorSerializer. The committers of all sinks have that
// state, and its name says nothing of Kafka; the bytes around the committables differ between releases. So committables are
// looked for by their form. FlinkKafkaProducer's are in the state of TwoPhaseCommitSinkFunction, and its list of hints tells it
// from other sinks.

const (
	committerStateName = "streaming_committer_raw_states"
	twoPhaseStateName  = "state"
	hintStateName      = "next-transactional-id-hint" // and, from Flink 1.10 on, with -v2 behind it
)

// SinkKind is what kind of Kafka sink an operator is.
type SinkKind string

// The kinds of sinks whose transactions are found. A committer whose state cannot be read is UnknownSink: it may be any sink's.
const (
	KafkaSink          SinkKind = "kafka-sink"
	FlinkKafkaProducer SinkKind = "flink-kafka-producer"
	UnknownSink        SinkKind = "unknown"
)

// Sink is an operator that holds transactions which wait for their commit, or whose state could not be read.
type Sink struct {
	OperatorID, Name, UID string
	Kind                  SinkKind
	// Pending is how many transactions were found, IDs the transactional ids of the first of them.
	Pending int
	IDs     []string
	// Err says why not all of its state could be read; Pending is at least so many then.
	Err error
}

// someIDs is how many transactional ids are named.
const someIDs = 3

// sink reads the states of an operator that may be a Kafka sink. What cannot be read makes no source less certain.
func (b *builder) sink(op *operator) {
	if len(op.sinks) == 0 {
		return
	}
	defer b.release()
	k := Sink{OperatorID: op.hex(), Name: op.name, UID: op.uid, Kind: UnknownSink}
	found := func(kind SinkKind, ids []string) {
		if kind == FlinkKafkaProducer || len(ids) > 0 {
			k.Kind = kind
		}
		k.Pending += len(ids)
		k.IDs = append(k.IDs, ids[:min(len(ids), someIDs-min(someIDs, len(k.IDs)))]...)
	}
	for i := range op.sinks {
		ref := &op.sinks[i]
		r, _, start, end, err := b.stream(ref)
		if err == nil {
			err = b.elems.each(ref, r, start, end, func(data []byte, _ place) (int, error) {
				if ref.legacy {
					ids, n, err := twoPhase(data)
					if err == nil {
						found(FlinkKafkaProducer, ids)
					}
					return n, err
				}
				e, err := lengthPrefixed(data)
				if err != nil {
					return 0, err
				}
				found(KafkaSink, committables(e))
				return 4 + len(e), nil
			})
		}
		if err != nil && k.Err == nil {
			k.Err = fmt.Errorf("subtask %d: %w", ref.subtask, err)
		}
	}
	if k.Pending > 0 || k.Err != nil {
		b.s.Sinks = append(b.s.Sinks, k)
		b.s.warn(k.warning())
	}
}

func (k *Sink) warning() Warning {
	name := k.OperatorID
	if k.Name != "" {
		name += " (" + k.Name + ")"
	}
	w := Warning{Code: WarnPendingTransactions, OperatorID: k.OperatorID, Count: int64(k.Pending)}
	const means = "a restore commits them on the cluster that the sink writes to, as far as they are still open there; on another cluster they do not exist, and their records are not written again"
	some := strings.Join(k.IDs, ", ")
	if k.Pending > len(k.IDs) {
		some += fmt.Sprintf(" and %d more", k.Pending-len(k.IDs))
	}
	switch {
	case k.Err == nil:
		w.Message = fmt.Sprintf("Kafka sink %s: %s waiting for the commit (%s): %s", name, transactions(k.Pending), some, means)
	case k.Pending > 0:
		w.Message = fmt.Sprintf("Kafka sink %s: at least %s waiting for the commit (%s), not all of its state could be read (%v): %s", name, transactions(k.Pending), some, k.Err, means)
	default:
		w.Message = fmt.Sprintf("sink %s: whether it holds Kafka transactions that wait for their commit is not known: %v", name, k.Err)
	}
	return w
}

func transactions(n int) string {
	if n == 1 {
		return "1 transaction is"
	}
	return fmt.Sprintf("%d transactions are", n)
}

// committables are the transactional ids of the KafkaCommittables in a committer's state: a length, the epoch, the producer
// id, and the transactional id, which ends where the length says.
func committables(b []byte) (ids []string) {
	const head = 4 + 2 + 8 + 2
	for i := 0; i+head < len(b); i++ {
		size := int(binary.BigEndian.Uint32(b[i:]))
		n := int(binary.BigEndian.Uint16(b[i+14:]))
		if n == 0 || size != 12+n || i+head+n > len(b) || b[i+4] > 0x7F || b[i+6] > 0x7F {
			continue
		}
		if id, err := decodeUTF(b[i+head : i+head+n]); err == nil && printable(id) {
			ids = append(ids, id)
			i += head + n - 1
		}
	}
	return ids
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// twoPhase reads the state of one FlinkKafkaProducer, and says how many bytes it has. The transaction that was open when the
// snapshot was taken comes first; it is given up after a restore, and is not among the ids. Newer releases write before it
// whether there is one, and nothing says which release wrote the state.
func twoPhase(b []byte) (ids []string, used int, err error) {
	short := false
	for _, flagged := range []bool{true, false} {
		r := txnReader{b: b}
		ids = r.state(flagged)
		if r.err == nil {
			return ids, r.pos, nil
		}
		short = short || errors.Is(r.err, errShort)
	}
	if short {
		return nil, 0, errShort
	}
	return nil, 0, errTwoPhase
}

var errTwoPhase = errors.New("its state is not one of FlinkKafkaProducer that is known")

// txnReader reads a TwoPhaseCommitSinkFunction's state. Its error sticks.
type txnReader struct {
	b   []byte
	pos int
	err error
}

func (r *txnReader) take(n int) []byte {
	if r.err == nil && len(r.b)-r.pos < n {
		r.err = errShort
	}
	if r.err != nil {
		return make([]byte, n)
	}
	r.pos += n
	return r.b[r.pos-n : r.pos]
}

func (r *txnReader) flag() bool {
	b := r.take(1)[0]
	if b > 1 {
		r.err = errTwoPhase
	}
	return b == 1
}

func (r *txnReader) count() int {
	n := int(int32(binary.BigEndian.Uint32(r.take(4))))
	if n < 0 || n > maxElement {
		r.err = errTwoPhase
	}
	return n
}

func (r *txnReader) utf() string {
	s, err := decodeUTF(r.take(int(binary.BigEndian.Uint16(r.take(2)))))
	if r.err == nil && (err != nil || !printable(s)) {
		r.err = errTwoPhase
	}
	return s
}

// transaction is one with the time at which it began; id is empty for a producer without transactions.
func (r *txnReader) transaction() (id string) {
	if r.flag() {
		id = r.utf()
	}
	producer, epoch := int64(binary.BigEndian.Uint64(r.take(8))), int16(binary.BigEndian.Uint16(r.take(2)))
	began := int64(binary.BigEndian.Uint64(r.take(8)))
	const year2200 = 7_258_118_400_000
	if r.err == nil && (producer < -1 || epoch < -1 || began < 0 || began > year2200) {
		r.err = errTwoPhase
	}
	return id
}

func (r *txnReader) state(flagged bool) (ids []string) {
	if !flagged || r.flag() {
		r.transaction()
	}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		if id := r.transaction(); id != "" && r.err == nil {
			ids = append(ids, id)
		}
	}
	if r.flag() { // the ids that the sink may use
		for n := r.count(); n > 0 && r.err == nil; n-- {
			r.utf()
		}
	}
	return ids
}
