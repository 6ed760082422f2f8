package flink

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// committable is one as KafkaCommittableSerializer writes it.
func committable(id string) []byte { return cat([]byte{0, 3}, i64(17), utf(id)) }

// versioned is what SimpleVersionedSerialization writes.
func versioned(version int, b []byte) []byte { return cat(i32(version), i32(len(b)), b) }

func versionedList(version int, parts ...[]byte) []byte {
	b := cat(i32(version), i32(len(parts)))
	for _, p := range parts {
		b = cat(b, i32(len(p)), p)
	}
	return b
}

// collector is the state of a committer as CommittableCollectorSerializer of Flink 2 writes it: the checkpoint's committables by subtask.
func collector(committables ...[]byte) []byte {
	var requests [][]byte
	for _, c := range committables {
		requests = append(requests, cat(versioned(1, c), i32(0), i32(0)))
	}
	subtask := cat(versionedList(0, requests...), i32(len(requests)), i32(0), i32(0))
	checkpoint := cat(i64(42), versionedList(0, subtask))
	body := versioned(2, cat([]byte{0xb9, 0x1f, 0x25, 0x2c}, versionedList(0, checkpoint)))
	return cat(i32(len(body)), body)
}

// holder is a transaction of FlinkKafkaProducer with its start; no id is a producer without transactions.
func holder(id string) []byte {
	if id == "" {
		return cat([]byte{0}, i64(-1), []byte{0xFF, 0xFF}, i64(1_700_000_000_000))
	}
	return cat([]byte{1}, utf(id), i64(17), []byte{0, 3}, i64(1_700_000_000_000))
}

func sinkStates(l layoutOf, name string, elems ...[]byte) []byte {
	states := []encState{{name, elems}}
	if name == twoPhaseStateName {
		states = append(states, encState{name: hintStateName + "-v2"})
	}
	return stateHandle(l, states...)
}

// The transactions of both kinds of sinks are counted and named, in every layout, and nothing else is taken for one.
func TestPendingTransactions(t *testing.T) {
	pool := cat([]byte{1}, i32(2), utf("pool-0"), utf("pool-1"))
	for name, c := range map[string]struct {
		state string
		elems [][]byte
		kind  SinkKind
		ids   []string
		n     int
	}{
		"a committer":                         {committerStateName, [][]byte{collector(committable("job-0-1"), committable("job-1-1"))}, KafkaSink, []string{"job-0-1", "job-1-1"}, 2},
		"of several checkpoints":              {committerStateName, [][]byte{collector(committable("a")), collector(committable("b"), committable("c"), committable("d"))}, KafkaSink, []string{"a", "b", "c"}, 4},
		"a committer of Flink 1.14":           {committerStateName, [][]byte{func() []byte { b := versioned(1, versionedList(1, committable("old"))); return cat(i32(len(b)), b) }()}, KafkaSink, []string{"old"}, 1},
		"nothing to commit":                   {committerStateName, [][]byte{collector()}, "", nil, 0},
		"of another sink":                     {committerStateName, [][]byte{collector([]byte("part-0-1/file.parquet in progress"), []byte{0, 1, 2, 3})}, "", nil, 0},
		"FlinkKafkaProducer":                  {twoPhaseStateName, [][]byte{cat(holder("open"), i32(2), holder("p-1"), holder("p-2"), pool)}, FlinkKafkaProducer, []string{"p-1", "p-2"}, 2},
		"FlinkKafkaProducer, with a flag":     {twoPhaseStateName, [][]byte{cat([]byte{1}, holder("open"), i32(1), holder("p-1"), pool)}, FlinkKafkaProducer, []string{"p-1"}, 1},
		"FlinkKafkaProducer, none open":       {twoPhaseStateName, [][]byte{cat([]byte{0}, i32(1), holder("p-1"), []byte{0})}, FlinkKafkaProducer, []string{"p-1"}, 1},
		"FlinkKafkaProducer, nothing pending": {twoPhaseStateName, [][]byte{cat(holder("open"), i32(0), pool)}, "", nil, 0},
		"at least once":                       {twoPhaseStateName, [][]byte{cat([]byte{1}, holder(""), i32(1), holder(""), []byte{0})}, "", nil, 0},
	} {
		for _, l := range []layoutOf{plainV5, plainV6, chunked, chunkedSnappy} {
			s := mustParse(t, encMeta(6, source(2, "orders", 5), encOp{id: 1, name: "out", subs: []encSub{{op: sinkStates(l, c.state, c.elems...)}}}), nil)
			var want []Sink
			if c.n > 0 {
				want = []Sink{{OperatorID: strings.Repeat("01", 16), Name: "out", Kind: c.kind, Pending: c.n, IDs: c.ids}}
			}
			if !reflect.DeepEqual(s.Sinks, want) {
				t.Errorf("%s, layout %d: %+v, want %+v", name, l, s.Sinks, want)
			}
			if len(s.Sources) != 1 || len(s.OperatorErrors) > 0 {
				t.Errorf("%s: sources %v, errors %v", name, s.Sources, s.OperatorErrors)
			}
			if got := codes(s); strings.Contains(got, string(WarnPendingTransactions)) != (c.n > 0) {
				t.Errorf("%s: warnings %s", name, got)
			}
		}
	}
}

// What cannot be read is not nothing: it is said, and the sources are read as ever.
func TestPendingTransactionsNotKnown(t *testing.T) {
	data, offs := encStream(plainV6, encState{committerStateName, [][]byte{collector(committable("a"))}})
	away := opHandle([]encState{{name: committerStateName}}, offs, inFile("file:/away/state", len(data)))
	strange := sinkStates(plainV6, twoPhaseStateName, []byte(strings.Repeat("\x07", 80)))
	both := encOp{id: 4, subs: []encSub{{op: sinkStates(plainV6, committerStateName, collector(committable("here")))}, {index: 1, op: away}}}
	for name, c := range map[string]struct {
		op      encOp
		pending int
		want    string
	}{
		"a file that is not there": {encOp{id: 1, subs: []encSub{{op: away}}}, 0, "whether it holds Kafka transactions that wait for their commit is not known: subtask 0"},
		"an unknown form":          {encOp{id: 1, subs: []encSub{{op: strange}}}, 0, "is not known: subtask 0"},
		"one of two":               {both, 1, "at least 1 transaction is waiting for the commit (here)"},
	} {
		s := mustParse(t, encMeta(6, source(2, "orders", 5), c.op), nil)
		if len(s.Sinks) != 1 || s.Sinks[0].Err == nil || s.Sinks[0].Pending != c.pending {
			t.Fatalf("%s: %+v", name, s.Sinks)
		}
		if said := fmt.Sprint(s.Warnings); !strings.Contains(said, c.want) {
			t.Errorf("%s: %s", name, said)
		}
		if len(s.Sources) != 1 || len(s.OperatorErrors) > 0 {
			t.Errorf("%s: sources %v, errors %v", name, s.Sources, s.OperatorErrors)
		}
	}
}

// A state that is called state is any function's: without the producer's hints nothing is said about it.
func TestStateOfAnotherFunction(t *testing.T) {
	s := mustParse(t, encMeta(6, encOp{id: 1, subs: []encSub{{op: stateHandle(plainV6, encState{twoPhaseStateName, [][]byte{cat(holder("open"), i32(1), holder("p-1"), []byte{0})}})}}}), nil)
	if len(s.Sinks) > 0 || len(s.Warnings) > 0 {
		t.Errorf("%+v, %v", s.Sinks, s.Warnings)
	}
}

// A name is compared before the next read: a read at the end of the window moves what lies behind it. So wherever the window
// ends, the transactions are found.
func TestPendingTransactionsAtEveryEndOfTheWindow(t *testing.T) {
	for _, out := range []encOp{
		{id: 3, subs: []encSub{{op: sinkStates(plainV6, committerStateName, collector(committable("job-0-1")))}}},
		{id: 3, subs: []encSub{{op: sinkStates(plainV6, twoPhaseStateName, cat(holder("open"), i32(1), holder("p-1"), []byte{0}))}}},
	} {
		other := func(id byte, size int) encOp {
			return encOp{id: id, subs: []encSub{{op: opHandle([]encState{{name: "other"}}, [][]int64{nil}, inline(make([]byte, size)))}}}
		}
		for pad := windowSize - 300; pad < windowSize; pad++ {
			if s := mustParse(t, encMeta(6, other(1, pad), out, other(4, windowSize)), nil); len(s.Sinks) != 1 || s.Sinks[0].Pending != 1 {
				t.Fatalf("with %d bytes before: %+v", pad, s.Sinks)
			}
		}
	}
}
