package records_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// makeLog makes a log of data, of transactions that were committed, aborted or left open, and of what compaction leaves:
// batches with fewer records than offsets, or none, and holes between them and at the end.
func makeLog(t *testing.T, rnd *rand.Rand, batches int) kafkatest.Log {
	t.Helper()
	next := int64(rnd.IntN(3) * 50)
	log := kafkatest.Log{Start: next}
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	codec, err := kgo.DefaultCompressor(codecs[rnd.IntN(len(codecs))])
	if err != nil {
		t.Fatal(err)
	}
	size := []int{1, 100, 5000}[rnd.IntN(3)]
	open := map[int64]int64{} // producers in a transaction, with its first offset
	for range batches {
		if rnd.IntN(10) == 0 {
			next += int64(rnd.IntN(30))
		}
		b := kafkatest.Batch{First: next, Last: next + int64(rnd.IntN(20))}
		if rnd.IntN(3) == 0 {
			b.Producer = int64(1 + rnd.IntN(3))
		}
		if _, is := open[b.Producer]; is && rnd.IntN(2) == 0 {
			b.Last, b.Marker, b.Abort = b.First, true, rnd.IntN(2) == 0
			delete(open, b.Producer)
		} else {
			keep := []int{100, 100, 30, 0}[rnd.IntN(4)]
			for n := b.First; n <= b.Last; n++ {
				if rnd.IntN(100) < keep {
					b.Records = append(b.Records, n)
				}
			}
			if b.Producer != 0 && !is {
				open[b.Producer] = b.First
			}
		}
		kafkatest.Encode(t, &b, size, codec)
		log.Batches = append(log.Batches, b)
		next = b.Last + 1
	}
	if rnd.IntN(3) == 0 {
		next += int64(rnd.IntN(10))
	}
	log.HighEnd, log.LastStable = next, next
	for _, first := range open {
		log.LastStable = min(log.LastStable, first)
	}
	if len(log.Batches) > 0 && rnd.IntN(3) == 0 { // the log start is in the middle of a batch
		log.Start = min(log.LastStable, log.Batches[0].First+int64(rnd.IntN(5)))
	}
	return log
}

// fickleBrokers are what the property holds against.
func fickleBrokers() map[string]kafkatest.Fickle {
	return map[string]kafkatest.Fickle{
		"orderly":   {},
		"empty":     {Empty: 90},
		"full":      {Empty: 50, Short: 90},
		"left out":  {Leave: 40},
		"failing":   {Fail: 15},
		"throttled": {Throttle: 15},
		"all of it": {Empty: 40, Leave: 10, Short: 30, Oversize: 10, Fail: 5, Throttle: 10},
	}
}

func eachBroker(t *testing.T, seeds uint64, parts int, test func(t *testing.T, cl *kgo.Client, logs []kafkatest.Log)) {
	for name, fickle := range fickleBrokers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				rnd := rand.New(rand.NewPCG(seed, 7))
				logs := make([]kafkatest.Log, parts)
				for i := range logs {
					logs[i] = makeLog(t, rnd, rnd.IntN(12))
				}
				c := kafkatest.ServeLogs(t, "logs", logs, fickle, seed)
				test(t, kafkatest.Client(t, c.ListenAddrs()), logs)
			}
		})
	}
}

func isolations() []offset.Isolation {
	return []offset.Isolation{offset.ReadUncommitted, offset.ReadCommitted}
}

func endOf(l *kafkatest.Log, iso offset.Isolation) int64 {
	if iso == offset.ReadCommitted {
		return l.LastStable
	}
	return l.HighEnd
}

// within are the offsets from from to until.
func within(all []int64, from, until int64) []int64 {
	var out []int64
	for _, n := range all {
		if n >= from && n < until {
			out = append(out, n)
		}
	}
	return out
}

// Whatever the broker leaves out, a walk is told every record exactly once and in order, and its proof covers no other.
func TestWalkLosesNothing(t *testing.T) {
	t.Parallel()
	eachBroker(t, 2, 30, func(t *testing.T, cl *kgo.Client, logs []kafkatest.Log) {
		for _, iso := range isolations() {
			got := make([][]int64, len(logs))
			var walks []records.Walk
			for i := range logs {
				until := records.ToEnd
				if i%3 == 0 {
					until = (logs[i].Start + logs[i].HighEnd) / 2
				}
				walks = append(walks, records.Walk{Span: span(i, logs[i].Start, until), Bytes: 1000,
					Visit: func(r records.Record) bool { got[i] = append(got[i], r.Offset); return true }})
			}
			ends := records.Reader{Client: cl, Isolation: iso, Memory: 1 << 20, Patience: time.Minute}.Walk(t.Context(), walks)
			for i, e := range ends {
				until := min(walks[i].Until, endOf(&logs[i], iso))
				want := within(logs[i].Visible(iso == offset.ReadCommitted), logs[i].Start, until)
				if !slices.Equal(got[i], want) || !e.Reached() || e.From() != logs[i].Start || e.Until() < until || e.Until() > walks[i].Until {
					t.Errorf("%s, partition %d to %d: got %v, %+v; want %v to %d", iso, i, walks[i].Until, got[i], e, want, until)
				}
			}
		}
	})
}

// A look-up from every offset of a log finds the record that is there, and proves no more than is true.
func TestFirstClaimsNoFalseHole(t *testing.T) {
	t.Parallel()
	eachBroker(t, 1, 10, func(t *testing.T, cl *kgo.Client, logs []kafkatest.Log) {
		for _, iso := range isolations() {
			var spans []records.Span
			for i := range logs {
				for n := max(0, logs[i].Start-2); n <= logs[i].HighEnd+2; n++ {
					spans = append(spans, span(i, n, records.ToEnd))
				}
			}
			for s, a := range (records.Reader{Client: cl, Isolation: iso, Patience: time.Minute}).First(t.Context(), spans) {
				if err := check(&logs[s.Partition.Partition], iso, s, a); err != nil {
					t.Errorf("%s, %s from %d: %v: %+v", iso, s.Partition, s.From, err, a)
				}
			}
		}
	})
}

// check compares an answer with the log.
func check(l *kafkatest.Log, iso offset.Isolation, s records.Span, a records.Answer) error {
	var out *records.OutOfRange
	switch outside := s.From < l.Start || s.From > l.HighEnd; {
	case outside && (!errors.As(a.Err, &out) || !errors.Is(a.Err, kerr.OffsetOutOfRange) || !out.Known || out.Start != l.Start || out.End != l.HighEnd ||
		out.Removed() != (s.From < l.Start)):
		return fmt.Errorf("the log is from %d to %d", l.Start, l.HighEnd)
	case outside && (a.Record != nil || a.Empty.Until() > a.Empty.From()):
		return errors.New("something is claimed of what is outside the log")
	case outside:
		return nil
	case a.Err != nil:
		return a.Err
	}
	want := within(l.Visible(iso == offset.ReadCommitted), s.From, records.ToEnd)
	switch {
	case len(want) == 0 && (a.Record != nil || a.Empty.Until() < endOf(l, iso)):
		return fmt.Errorf("nothing is there, up to %d", endOf(l, iso))
	case len(want) > 0 && (a.Record == nil || a.Record.Offset != want[0] || a.Empty.Until() != want[0]):
		return fmt.Errorf("the record is %d", want[0])
	case a.Empty.From() != s.From || !a.Empty.Covers(s.From, a.Empty.Until()):
		return errors.New("the proof is not from where it was asked")
	}
	return nil
}

func span(partition int, from, until int64) records.Span {
	return records.Span{Partition: offset.Partition{Topic: "logs", Partition: int32(partition)}, From: from, Until: until}
}
