//go:build realkafka

// Command flink measures the reader of Flink's metadata against Flink's own loader: files of 200 MB, of 20,000 subtasks with
// keyed state and one Kafka source of 5,000 partitions, from the page cache, on one core. koffset's memory is everything
// that it ever allocated beside the result, so more than was in use at any time; Flink's is the most that was in use.
//
//	go run -tags realkafka ./bench/flink    the table, in about 3 min; exit status 1 when a bound does not hold
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/internal/flinktest"
	"github.com/koffset/koffset/internal/kafkatest"
)

const (
	subtasks   = 20_000
	partitions = 5_000

	minMBs    = 200
	maxBeside = 64 << 20
)

func main() {
	runs := flag.Int("runs", 3, "counted readings of each")
	sample := flag.String("properties", "checkpointfile/flink/testdata/f22-hashmap/checkpoints/5a15acc057ea89cab90181945de82119/chk-10/_metadata",
		"a real metadata file, whose end the large ones get")
	flag.Parse()
	ok, err := run(context.Background(), *runs, *sample)
	if err != nil {
		fmt.Fprintln(os.Stderr, "flink:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, runs int, sample string) (bool, error) {
	dir, err := os.MkdirTemp("", "koffset-bench-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Printf("%-12s %7s  %-34s %7s %8s %8s %8s  %s\n", "KEYED STATE", "MB", "READER", "MB/S", "RATIO", "BESIDE", "RESULT", "HOLDS")
	ok := true
	for _, shape := range flinktest.Shapes() {
		path := filepath.Join(dir, shape.Name, flink.MetadataName)
		size, err := write(path, sample, shape)
		if err != nil {
			return false, err
		}
		ours, err := readOurs(path, runs)
		if err != nil {
			return false, err
		}
		mbs := rate(size, ours.took)
		holds := mbs >= minMBs && ours.beside <= maxBeside
		ok = ok && holds
		row(shape.Name, size, "koffset", mbs, mbs, ours, fmt.Sprintf("%t (%d MB/s, %d MB beside)", holds, minMBs, maxBeside>>20))
		for _, buffered := range []bool{false, true} {
			name := "Flink " + string(kafkatest.Flink2)
			if buffered {
				name += ", with a read buffer"
			}
			peer, err := readTheirs(ctx, path, runs, buffered)
			if err != nil {
				return false, err
			}
			row(shape.Name, size, name, rate(size, peer.took), mbs, peer, "-")
		}
		if err := os.Remove(path); err != nil {
			return false, err
		}
	}
	return ok, nil
}

// reading is the median time, and the memory of the last reading in bytes: what the result holds, and what else was needed.
type reading struct {
	took           time.Duration
	beside, result int64
}

func rate(size int64, d time.Duration) float64 { return float64(size) / 1e6 / d.Seconds() }

func row(shape string, size int64, name string, mbs, ours float64, r reading, holds string) {
	fmt.Printf("%-12s %7.1f  %-34s %7.0f %7.1fx %7.1fM %7.1fM  %s\n", shape, float64(size)/1e6, name, mbs, ours/mbs, float64(r.beside)/1e6, float64(r.result)/1e6, holds)
}

func write(path, sample string, shape flinktest.Shape) (int64, error) {
	data, err := os.ReadFile(sample)
	if err != nil {
		return 0, fmt.Errorf("run it in the folder of the module: %w", err)
	}
	at := bytes.LastIndex(data, []byte{0xAC, 0xED, 0x00, 0x05})
	if at < 0 {
		return 0, fmt.Errorf("%s: it has no serialized properties", sample)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	large := flinktest.Large{Subtasks: subtasks, Partitions: partitions, Keyed: shape.Keyed, Properties: data[at:]}
	if err := errors.Join(large.Write(w), w.Flush(), f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func readOurs(path string, runs int) (reading, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	debug.FreeOSMemory()
	var times []time.Duration
	var r reading
	for i := range runs + 2 {
		var before, after, kept runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		s, err := flink.Open(path, flink.Options{})
		took := time.Since(start)
		if err != nil {
			return r, err
		}
		runtime.ReadMemStats(&after)
		runtime.GC()
		runtime.ReadMemStats(&kept)
		if len(s.Sources) != 1 || len(s.Sources[0].Partitions) != partitions {
			return r, fmt.Errorf("%s: %d sources were read", path, len(s.Sources))
		}
		runtime.KeepAlive(s)
		r.result = int64(kept.HeapAlloc) - int64(before.HeapAlloc)
		r.beside = int64(after.TotalAlloc-before.TotalAlloc) - r.result
		if i >= 2 { // as Flink's
			times = append(times, took)
		}
	}
	r.took = median(times)
	return r, nil
}

func readTheirs(ctx context.Context, path string, runs int, buffered bool) (reading, error) {
	all, err := kafkatest.LoadFlink(ctx, kafkatest.Flink2, path, runs+2, buffered)
	if err != nil {
		return reading{}, err
	}
	var times []time.Duration
	for _, l := range all[2:] { // compiled by then
		if l.Operators != 11 || l.Subtasks < subtasks {
			return reading{}, fmt.Errorf("flink read %d operators with %d subtasks", l.Operators, l.Subtasks)
		}
		times = append(times, l.Took)
	}
	last := all[len(all)-1]
	return reading{took: median(times), result: last.Kept, beside: max(0, last.Peak-last.Kept)}, nil
}

func median(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }
