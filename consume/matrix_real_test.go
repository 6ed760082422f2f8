//go:build realkafka

package consume_test

// Every record exactly once, over numbers of partitions, sizes of batches, what else a log holds, speeds of the sink, and ways to
// ask for it.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

// cell is a topic of the matrix.
type cell struct {
	partitions int32
	batches    string // small, large (above 1 MiB) or huge (a record of 5 MB)
	kind       string // empty (two of three partitions are), transactional (some are aborted) or compacted
}

var (
	matrixCounts  = []int32{1, 60, 300}
	matrixBatches = []string{"small", "large", "huge"}
	matrixKinds   = []string{"empty", "transactional", "compacted"}
)

// matrixAll reads every cell in every way into a slow and into a fast sink. Without it the cells of one partition are read in every
// way, and three of the others, so that each number of partitions meets each kind and each size ([TestRealEveryRecordOnce] has all of
// them on 60 and on 300 partitions of one topic).
//
//	KOFFSET_MATRIX=all go test -tags realkafka -timeout 2h -run TestRealMatrix ./consume
const matrixAll = "KOFFSET_MATRIX"

func TestRealMatrix(t *testing.T) {
	// Batches of 5 MB, none of them compressed below what it is named for.
	cl := real.Kafka(t).Client(t, kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(1_000_000))
	all := os.Getenv(matrixAll) == "all"
	some := []cell{{60, "small", "compacted"}, {60, "large", "transactional"}, {60, "huge", "empty"}, {300, "small", "compacted"}}
	n := 0
	for _, count := range matrixCounts {
		for _, batches := range matrixBatches {
			for _, kind := range matrixKinds {
				c := cell{count, batches, kind}
				if count == 1 || all || slices.Contains(some, c) {
					n++
					t.Run(fmt.Sprintf("%d partitions, %s, %s", count, batches, kind), func(t *testing.T) { c.test(t, cl, n, all) })
				}
			}
		}
	}
}

// test fills the cell's topic, and reads it in every way; into a slow sink and a fast one by turns, or each time into both.
func (c cell) test(t *testing.T, cl *kgo.Client, n int, both bool) {
	topic := fmt.Sprintf("matrix-%d-%s-%s", c.partitions, c.batches, c.kind)
	want := c.fill(t, cl, topic)
	before := want()
	for i, way := range []struct {
		name string
		read func(*testing.T, *kgo.Client, string, bool) []string
	}{{"bounded", readBounded}, {"unbounded", readUnbounded}, {"by ranges", readRanges}, {"in parts", readParts}} {
		for _, slow := range []bool{false, true} {
			if !both && slow != ((i+n)%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s, slow %t", way.name, slow), func(t *testing.T) {
				got := way.read(t, cl, topic, slow)
				after := want()
				onceEach(t, got, before, after)
				before = after
			})
		}
	}
}

// onceEach compares what came with what was there before and after: compaction may take records away meanwhile.
func onceEach(t *testing.T, got, before, after []string) {
	t.Helper()
	slices.Sort(got)
	if n := len(slices.Compact(slices.Clone(got))); n != len(got) {
		t.Errorf("%d records came, %d of them different", len(got), n)
	}
	missing := func(from, in []string) []string {
		return slices.DeleteFunc(slices.Clone(from), func(s string) bool { _, is := slices.BinarySearch(in, s); return is })
	}
	if m := missing(after, got); len(m) > 0 {
		t.Errorf("%d records came of %d; missing: %q", len(got), len(after), m[:min(20, len(m))])
	}
	if m := missing(got, before); len(m) > 0 {
		t.Errorf("%d records came that are not there: %q", len(m), m[:min(20, len(m))])
	}
}

// fill makes the topic. want says which records there are to read now, sorted.
func (c cell) fill(t *testing.T, cl *kgo.Client, topic string) (want func() []string) {
	t.Helper()
	configs := []string{"max.message.bytes", "10000000"}
	if c.kind == "compacted" {
		configs = append(configs, "cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.01", "delete.retention.ms", "0")
	}
	kafkatest.CreateTopic(t, cl, topic, c.partitions, configs...)
	switch c.kind {
	case "compacted":
		return c.fillCompacted(t, cl, topic)
	case "transactional":
		return c.fillTransactions(t, cl, topic)
	}
	return c.fillSome(t, cl, topic)
}

// batch is one batch for each partition that where says: of small records, above 1 MiB, or with a record of 5 MB.
func (c cell) batch(topic string, where func(p int32) bool) []*kgo.Record {
	n, size := 5, 100
	switch c.batches {
	case "large":
		n, size = 2, 700_000
	case "huge":
		n, size = 1, 5_000_000
	}
	var list []*kgo.Record
	for p := range c.partitions {
		if !where(p) {
			continue
		}
		n, size := n, size
		if c.sparse() && p%5 != 0 {
			n, size = 5, 100
		}
		for range n {
			at := rand.IntN(len(matrixNoise) - size + 1)
			list = append(list, &kgo.Record{Topic: topic, Partition: p, Value: matrixNoise[at : at+size]})
		}
	}
	return list
}

// sparse says that a fifth of the partitions have batches of their size, and the others small ones: 300 partitions of nothing but 5 MB
// are gigabytes.
func (c cell) sparse() bool {
	return c.partitions > 60 || c.partitions > 1 && os.Getenv(matrixAll) == ""
}

// matrixNoise is what values are cut from: it does not compress.
var matrixNoise = func() []byte {
	b := make([]byte, 6_000_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // it never fails
	return b
}()

func every(int32) bool { return true }

// placesOf are records as a collector keeps them, sorted.
func placesOf(lists ...[]*kgo.Record) func() []string {
	var out []string
	for _, r := range slices.Concat(lists...) {
		out = append(out, span(r.Topic, r.Partition, r.Offset, r.Offset+1)...)
	}
	slices.Sort(out)
	return func() []string { return out }
}

// fillSome leaves a third of the partitions without a record ever, and a third with all records deleted.
func (c cell) fillSome(t *testing.T, cl *kgo.Client, topic string) func() []string {
	t.Helper()
	full := func(p int32) bool { return p%3 == 0 }
	gone := kadm.Offsets{}
	var kept [][]*kgo.Record
	for range 2 {
		list := c.batch(topic, func(p int32) bool { return p%3 != 1 })
		kafkatest.Produce(t, cl, list...)
		for _, r := range list {
			if !full(r.Partition) {
				gone.AddOffset(topic, r.Partition, r.Offset+1, -1)
			}
		}
		kept = append(kept, slices.DeleteFunc(list, func(r *kgo.Record) bool { return !full(r.Partition) }))
	}
	if len(gone) > 0 {
		resp, err := kadm.NewClient(cl).DeleteRecords(t.Context(), gone)
		if err == nil {
			err = resp.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return placesOf(kept...)
}

// fillTransactions commits, aborts, and commits again; on every other partition the aborted records are the last.
func (c cell) fillTransactions(t *testing.T, cl *kgo.Client, topic string) func() []string {
	t.Helper()
	x := kafkatest.NewTxn(t, cl, topic+"-txn")
	first, aborted, last := c.batch(topic, every), c.batch(topic, every), c.batch(topic, func(p int32) bool { return p%2 == 0 })
	for _, part := range []struct {
		list   []*kgo.Record
		commit bool
	}{{first, true}, {aborted, false}, {last, true}} {
		x.Begin()
		x.Produce(part.list...)
		x.End(part.commit)
	}
	return placesOf(first, last)
}

// fillCompacted writes keys again and again, until compaction has made holes. What is then there is what a client of its own reads.
func (c cell) fillCompacted(t *testing.T, cl *kgo.Client, topic string) func() []string {
	t.Helper()
	written := 0
	put := func(list []*kgo.Record, key string) {
		for i, r := range list {
			r.Key = fmt.Appendf(nil, "%s%d", key, i%2)
		}
		kafkatest.Produce(t, cl, list...)
		written += len(list)
	}
	put(c.batch(topic, every), "first")
	for range 2 {
		put(c.batch(topic, every), "again")
	}
	small := cell{c.partitions, "small", c.kind}
	there := func() []string { return alone(t, cl, topic) }
	kafkatest.Until(t, "records are compacted away", func() bool {
		put(small.batch(topic, every), "filler") // segments are rolled by writes only
		return len(there()) < written
	})
	return there
}

// alone is what a topic holds, read by a client of its own.
func alone(t *testing.T, cl *kgo.Client, topic string) []string {
	t.Helper()
	from, left := map[int32]kgo.Offset{}, map[int32]int64{} // the last offset of each partition that has some
	for p, b := range kafkatest.Bounds(t, cl, topic) {
		if b.Start < b.End {
			from[int32(p)], left[int32(p)] = kgo.NewOffset().At(b.Start), b.End-1
		}
	}
	one, err := kgo.NewClient(append(cl.Opts(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	var out []string
	for len(left) > 0 {
		fs := one.PollFetches(t.Context())
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out = append(out, span(topic, r.Partition, r.Offset, r.Offset+1)...)
			}
			if end, is := left[r.Partition]; is && r.Offset >= end {
				delete(left, r.Partition)
			}
		})
	}
	slices.Sort(out)
	return out
}

// toTheEnd runs a configuration that has an end.
func toTheEnd(t *testing.T, cfg consume.Config, sink *collector) []string {
	t.Helper()
	if sum, err := consume.Run(t.Context(), cfg); err != nil || sum.Ended != consume.Finished {
		t.Fatalf("%v, %s", err, sum.Ended)
	}
	return sink.sorted()
}

func readBounded(t *testing.T, cl *kgo.Client, topic string, slow bool) []string {
	cfg, sink := collecting(consume.Config{Client: cl}, slow)
	cfg.Topics, cfg.Start, cfg.End = topics(topic), consume.FromEarliest(), consume.UntilLatest()
	return toTheEnd(t, cfg, sink)
}

// readUnbounded stops when the run knows that nothing is left to read.
func readUnbounded(t *testing.T, cl *kgo.Client, topic string, slow bool) []string {
	cfg, sink := collecting(consume.Config{Client: cl}, slow)
	cfg.Topics, cfg.Start = topics(topic), consume.FromEarliest()
	e, err := consume.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	b := runEngine(t, e)
	kafkatest.Until(t, "everything is read", func() bool {
		left, known := e.Stats().Pending()
		return b.running(t) && known && left == 0
	})
	b.stop(consume.ErrSuspended)
	b.wait(t)
	if b.err != nil {
		t.Fatal(b.err)
	}
	return sink.sorted()
}

// readThird reads the partitions' offsets from one third of parts to the next.
func readThird(t *testing.T, cl *kgo.Client, topic string, slow bool, part, parts int64) []string {
	t.Helper()
	cfg, sink := collecting(consume.Config{Client: cl}, slow)
	for p, b := range kafkatest.Bounds(t, cl, topic) {
		from, to := b.Start+(b.End-b.Start)*part/parts, b.Start+(b.End-b.Start)*(part+1)/parts
		if from < to {
			cfg.End.Ranges = append(cfg.End.Ranges, rangeOf(t, fmt.Sprintf("%s:%d=%d:%d", topic, p, from, to)))
		}
	}
	if len(cfg.End.Ranges) == 0 {
		return nil // the part of a log of one record
	}
	return toTheEnd(t, cfg, sink)
}

func readRanges(t *testing.T, cl *kgo.Client, topic string, slow bool) []string {
	return readThird(t, cl, topic, slow, 0, 1)
}

func readParts(t *testing.T, cl *kgo.Client, topic string, slow bool) []string {
	var got []string
	for part := range int64(3) {
		got = append(got, readThird(t, cl, topic, slow, part, 3)...)
	}
	return got
}
