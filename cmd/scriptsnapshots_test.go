package cmd_test

// Words of the scripts about checkpoints and savepoints:
//
//	flink SET DIR                 copy a set of real Flink snapshots from checkpointfile/flink/testdata to DIR
//	chk DIR JOB ID TOPIC:P=OFFSET…   a checkpoint of koffset's own
//	inflight DIR TOPIC:P=OFFSET   a Flink checkpoint of an unaligned kind, with one partition and records in flight
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
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/koffset/koffset/checkpointfile"
)

func snapshotWords() map[string]word {
	return map[string]word{"flink": doFlink, "chk": doChk, "inflight": doInFlight, "tear": doTear, "same": doSame}
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

// doInFlight writes the least metadata of version 3 that has a KafkaSource and channel state: a real one comes only from a
// job under back pressure.
func doInFlight(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "inflight DIR TOPIC:P=OFFSET")
	at := committed(ts, args[1])
	var b []byte
	i32 := func(ns ...uint32) {
		for _, n := range ns {
			b = binary.BigEndian.AppendUint32(b, n)
		}
	}
	i64 := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	utf := func(s string) { b = append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...) }

	var split []byte
	b = nil
	utf(at.Topic)
	i32(uint32(at.Partition))
	i64(at.Offset)
	i64(math.MinInt64) // no stopping offset
	split = b
	b = nil
	i32(5) // the stream's version; the element's offset below skips its header
	i32(uint32(8+len(split)), 0, uint32(len(split)))
	b = append(b, split...)
	stream := b

	b = nil
	i32(0x4960672D, 3)
	i64(7)    // checkpoint
	i32(0, 1) // master states, operators
	id, err := hex.DecodeString("cbc357ccb763df2852fee8c4fc7d55f2")
	ts.Check(err)
	b = append(b, id...)
	i32(1, 128)
	b = append(b, 0) // no coordinator
	i32(1, 0, 1)     // one subtask, number 0, with managed operator state
	b = append(b, 4)
	i32(1)
	utf("SourceReaderState")
	b = append(b, 0)
	i32(1)
	i64(4)
	b = append(b, 1) // inline
	utf("state")
	i32(uint32(len(stream)))
	b = append(b, stream...)
	i32(0)              // no raw operator state
	b = append(b, 0, 0) // no keyed state
	i32(1, 0, 0, 0, 0)  // one input channel: subtask, gate, channel, no offsets
	i64(3)
	b = append(b, 1)
	utf("channel")
	i32(3)
	b = append(b, "abc"...)
	i32(0) // no output channels
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(os.WriteFile(filepath.Join(dir, checkpointfile.MetadataFile), b, 0o644))
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
