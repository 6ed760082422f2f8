package cmd_test

// Words of the scripts about checkpoints and savepoints:
//
//	flink SET DIR                 copy a set of real Flink snapshots from checkpointfile/flink/testdata to DIR
//	chk DIR JOB ID TOPIC:P=OFFSET…   a checkpoint of koffset's own
//	inflight DIR TOPIC:P=OFFSET   a Flink checkpoint of an unaligned kind, with one partition and records in flight
//	dynamic DIR CLUSTER/TOPIC:P=OFFSET…   a Flink checkpoint with a dynamic Kafka source
//	sink DIR TOPIC:P=OFFSET ID…   a Flink checkpoint with one partition and a Kafka sink's transactions of these ids
//	finished DIR TOPIC:P=OFFSET TOPIC:P…   a Flink checkpoint with one partition, and others that no reader has any more
//	tear FILE N                   cut the file off after N bytes; a negative N cuts so many bytes from its end
//	same A B                      two files or folders have the same names and bytes

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/kafkatest"
)

func snapshotWords() map[string]word {
	return map[string]word{"flink": doFlink, "chk": doChk, "inflight": doInFlight, "dynamic": doDynamic, "sink": doSink, "finished": doFinished, "tear": doTear, "same": doSame}
}

func doFlink(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "flink SET DIR")
	// A script runs in a folder of its own; the test binary still runs in the package's.
	set, err := filepath.Abs(filepath.Join("..", "checkpointfile", "flink", "testdata", args[0]))
	ts.Check(err)
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(set)))
}

func doChk(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 4, -1, "chk DIR JOB ID TOPIC:P=OFFSET…")
	c := checkpointfile.Checkpoint{Job: args[1], ID: number(ts, args[2]), Mode: "EXACTLY_ONCE", Isolation: "read_committed", Start: "earliest",
		Sink: checkpointfile.CheckpointSink{Kind: "files"}}
	for _, a := range args[3:] {
		at := committed(ts, a)
		c.Partitions = append(c.Partitions, checkpointfile.CheckpointPartition{Topic: at.Topic, Partition: at.Partition, Offset: at.Offset})
	}
	h := checkpointfile.Header{CreatedAt: time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC), Version: "test"}
	_, err := checkpointfile.WriteCheckpoint(checkpointfile.JobDir(ts.MkAbs(args[0]), args[1]), &h, c)
	ts.Check(err)
}

func doInFlight(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "inflight DIR TOPIC:P=OFFSET")
	writeMetadata(ts, args[0], flinkState{splits: []flinkSplit{{at: committed(ts, args[1]), stop: math.MinInt64}}, inFlight: true})
}

func doSink(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, -1, "sink DIR TOPIC:P=OFFSET ID…")
	writeMetadata(ts, args[0], flinkState{splits: []flinkSplit{{at: committed(ts, args[1]), stop: math.MinInt64}}, transactions: args[2:]})
}

func doFinished(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, -1, "finished DIR TOPIC:P=OFFSET TOPIC:P…")
	s := flinkState{splits: []flinkSplit{{at: committed(ts, args[1]), stop: math.MinInt64}}}
	s.assigned.i32(uint32(len(args) - 2))
	for _, a := range args[2:] {
		topic, p := partition(ts, a)
		s.assigned.utf(topic)
		s.assigned.i32(uint32(p))
	}
	writeMetadata(ts, args[0], s)
}

func doDynamic(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "dynamic DIR [CLUSTER/]TOPIC:P=OFFSET[..STOP]…")
	var splits []flinkSplit
	for _, a := range args[1:] {
		name, at, ok := strings.Cut(a, "/")
		if !ok {
			name, at = "", a
		}
		at, stop, bounded := strings.Cut(at, "..")
		s := flinkSplit{cluster: name, at: committed(ts, at), stop: math.MinInt64}
		if bounded {
			s.stop = number(ts, stop)
		}
		splits = append(splits, s)
	}
	writeMetadata(ts, args[0], flinkState{splits: splits})
}

type flinkSplit struct {
	cluster string // of a dynamic source
	at      kafkatest.Committed
	stop    int64 // the smallest number: none
}

// flinkState is what writeMetadata writes.
type flinkState struct {
	splits       []flinkSplit
	inFlight     bool
	transactions []string   // of a Kafka sink
	assigned     flinkBytes // the enumerator's state of version 1, where there is one
}

// flinkBytes writes as Java's DataOutputStream does.
type flinkBytes []byte

func (b *flinkBytes) i32(ns ...uint32) {
	for _, n := range ns {
		*b = binary.BigEndian.AppendUint32(*b, n)
	}
}

func (b *flinkBytes) i64(n int64) { *b = binary.BigEndian.AppendUint64(*b, uint64(n)) }
func (b *flinkBytes) utf(s string) {
	*b = append(binary.BigEndian.AppendUint16(*b, uint16(len(s))), s...)
}
func (b *flinkBytes) put(x ...byte) { *b = append(*b, x...) }

func (s flinkSplit) bytes() []byte {
	var payload, out flinkBytes
	version := uint32(0)
	if s.cluster != "" {
		version = 1
		payload.utf(s.cluster)
		payload.i32(0)
	}
	payload.utf(s.at.Topic)
	payload.i32(uint32(s.at.Partition))
	payload.i64(s.at.Offset)
	payload.i64(s.stop)
	out.i32(uint32(8+len(payload)), version, uint32(len(payload)))
	return append(out, payload...)
}

// writeMetadata writes the least metadata of version 3 that has such a source: a real snapshot with records in flight comes
// only from a job under back pressure, and a real dynamic source needs two Kafka clusters.
func writeMetadata(ts *testscript.TestScript, dir string, s flinkState) {
	var stream, b, pending flinkBytes
	var offsets []int64
	for _, id := range s.transactions { // KafkaCommittables, without what Flink writes around them
		pending.i32(uint32(12 + len(id)))
		pending.put(0, 1)
		pending.i64(1000)
		pending.utf(id)
	}
	stream.i32(5) // the stream's version; elements are found by their offsets, so its header may be missing
	for _, x := range s.splits {
		offsets = append(offsets, int64(len(stream)))
		stream.put(x.bytes()...)
	}
	b.i32(0x4960672D, 3)
	b.i64(7)    // checkpoint
	b.i32(0, 1) // master states, operators
	id, err := hex.DecodeString("cbc357ccb763df2852fee8c4fc7d55f2")
	ts.Check(err)
	b.put(id...)
	b.i32(1, 128)
	if len(s.assigned) == 0 {
		b.put(0) // no coordinator
	} else {
		b.put(1)
		b.utf("coordinator")
		b.i32(uint32(12+len(s.assigned)), 1, 1, uint32(len(s.assigned)))
		b.put(s.assigned...)
	}
	b.i32(1, 0, 1) // one subtask, number 0, with managed operator state
	b.put(4)
	b.i32(2)
	b.utf("streaming_committer_raw_states")
	b.put(0)
	b.i32(1)
	b.i64(int64(len(stream)))
	stream.i32(uint32(len(pending)))
	stream.put(pending...)
	b.utf("SourceReaderState")
	b.put(0)
	b.i32(uint32(len(offsets)))
	for _, n := range offsets {
		b.i64(n)
	}
	b.put(1) // inline
	b.utf("state")
	b.i32(uint32(len(stream)))
	b.put(stream...)
	b.i32(0)    // no raw operator state
	b.put(0, 0) // no keyed state
	if s.inFlight {
		b.i32(1, 0, 0, 0, 0) // one input channel: subtask, gate, channel, no offsets
		b.i64(3)
		b.put(1)
		b.utf("channel")
		b.i32(3)
		b.put([]byte("abc")...)
	} else {
		b.i32(0)
	}
	b.i32(0) // no output channels
	path := ts.MkAbs(dir)
	ts.Check(os.MkdirAll(path, 0o755))
	ts.Check(os.WriteFile(filepath.Join(path, checkpointfile.MetadataFile), b, 0o644))
}

func doTear(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "tear FILE N")
	n := number(ts, args[1])
	if n < 0 {
		st, err := os.Stat(ts.MkAbs(args[0]))
		ts.Check(err)
		n += st.Size()
	}
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

func doSame(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same A B")
	}
	a, b := contents(ts, args[0]), contents(ts, args[1])
	equal := len(a) == len(b)
	for name, data := range a {
		equal = equal && bytes.Equal(data, b[name])
	}
	if equal == neg {
		ts.Fatalf("same %s %s: %t", args[0], args[1], equal)
	}
}

func contents(ts *testscript.TestScript, path string) map[string][]byte {
	out := map[string][]byte{}
	root := ts.MkAbs(path)
	ts.Check(filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		out[rel], err = os.ReadFile(p)
		return err
	}))
	return out
}
