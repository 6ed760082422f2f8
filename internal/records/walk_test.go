package records_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// offsets walks spans, at most limit records each, and writes down what came.
func offsets(t *testing.T, r records.Reader, limit int, spans ...records.Span) (got []string, ends []records.End) {
	t.Helper()
	got = make([]string, len(spans))
	var walks []records.Walk
	for i, s := range spans {
		n := 0
		walks = append(walks, records.Walk{Span: s, Visit: func(rec records.Record) bool {
			got[i] += fmt.Sprintf("%d ", rec.Offset)
			if rec.Aborted {
				got[i] += "aborted "
			}
			n++
			return n < limit
		}})
	}
	ends = r.Walk(t.Context(), walks)
	return got, ends
}

func TestWalk(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	at := func(p int32, from, until int64) records.Span {
		return records.Span{Partition: offset.Partition{Topic: f.Topic, Partition: p}, From: from, Until: until}
	}
	got, ends := offsets(t, records.Reader{Client: cl}, 100, at(0, 4, 7), at(1, 8, 10), at(2, 5, 5), at(1, 2, records.ToEnd))
	if want := []string{"4 5 6 ", "8 9 ", "", "2 3 4 5 6 7 8 9 "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, until := range []int64{7, 10, 5, 10} {
		if !ends[i].Reached() || ends[i].Until() != until || ends[i].Holes {
			t.Errorf("walk %d: %+v", i, ends[i])
		}
	}
	// One record each: the proof ends behind it.
	got, ends = offsets(t, records.Reader{Client: cl}, 1, at(0, 4, 10), at(1, 0, 10))
	if got[0] != "4 " || got[1] != "0 " || !ends[0].Stopped || ends[0].Reached() || ends[0].Until() != 5 {
		t.Errorf("one a partition: %q, %+v", got, ends)
	}
	// What was removed is an error that says so, and no record of later ones is handed out in its place.
	got, ends = offsets(t, records.Reader{Client: cl}, 100, at(0, 1, 7))
	var out *records.OutOfRange
	if got[0] != "" || !errors.As(ends[0].Err, &out) || !out.Removed() || out.Start != 4 || ends[0].Until() != 1 {
		t.Errorf("a removed offset: %q, %+v", got, ends)
	}
}

// Markers and aborted records take offsets; a walk ends where they end.
func TestWalkTransactions(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	tx := kafkatest.OpenF3(t, cl, "")
	s := records.Span{Partition: offset.Partition{Topic: tx.Topic}, Until: 11}
	for _, c := range []struct {
		reader records.Reader
		want   string
		until  int64
	}{
		{records.Reader{Client: cl, Isolation: offset.ReadCommitted}, "0 1 2 ", 7},
		{records.Reader{Client: cl, Isolation: offset.ReadCommitted, KeepAborted: true}, "0 1 2 4 aborted 5 aborted ", 7},
		{records.Reader{Client: cl}, "0 1 2 4 5 7 8 9 10 ", 11},
	} {
		if got, ends := offsets(t, c.reader, 100, s); got[0] != c.want || ends[0].Until() != c.until || ends[0].LogEnd != c.until || !ends[0].Reached() || ends[0].Holes {
			t.Errorf("%+v: %q, %+v", c.reader, got, ends[0])
		}
	}
}

// What compaction removed leaves holes: in a batch, between batches, in front of what is read and behind it. Markers and aborted
// records do not.
func TestWalkHoles(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	config := []string{"cleanup.policy", "compact", "segment.bytes", "14", "min.cleanable.dirty.ratio", "0"}
	kafkatest.CreateTopic(t, cl, "holes", 1, config...)
	key := func(keys string) (rs []*kgo.Record) {
		for _, k := range keys {
			r := kafkatest.Record("holes", 0, 1000, string(k))
			r.Key = []byte(string(k))
			rs = append(rs, r)
		}
		return rs
	}
	txn := kafkatest.NewTxn(t, cl, "holes")
	txn.Begin()
	txn.Produce(key("ab")...) // 0, 1 and a marker
	txn.End(false)
	kafkatest.Produce(t, cl, key("cde")...) // 3 to 5
	kafkatest.Produce(t, cl, key("fg")...)  // 6, 7
	kafkatest.Produce(t, cl, key("hi")...)  // 8, 9
	span := func(from, until int64) records.Span {
		return records.Span{Partition: offset.Partition{Topic: "holes"}, From: from, Until: until}
	}
	readers := []records.Reader{{Client: cl}, {Client: cl, Isolation: offset.ReadCommitted}, {Client: cl, Isolation: offset.ReadCommitted, KeepAborted: true}}
	for _, r := range readers {
		if _, ends := offsets(t, r, 100, span(0, 10), span(1, 5), span(4, 7)); ends[0].Holes || ends[1].Holes || ends[2].Holes {
			t.Errorf("%+v: there are holes before anything was compacted: %+v", r, ends)
		}
	}
	kafkatest.Produce(t, cl, key("dfgz")...) // 10 to 13: 4, 6 and 7 are gone
	kafkatest.Produce(t, cl, key("y")...)    // the last batch is never compacted
	c.Compact()
	for _, r := range readers {
		for _, x := range []struct {
			from, until int64
			want        bool
		}{{3, 4, false}, {3, 5, true}, {4, 5, true}, {5, 6, false}, {5, 8, true}, {7, 9, true}, {8, 10, false}, {8, 14, false}} {
			if _, ends := offsets(t, r, 100, span(x.from, x.until)); ends[0].Holes != x.want || !ends[0].Reached() {
				t.Errorf("%+v: from %d to %d: %+v, want %t", r, x.from, x.until, ends[0], x.want)
			}
		}
	}
}

// A broker that hangs costs its own partitions, and for as long as one request may take.
func TestBrokerThatHangs(t *testing.T) {
	c, cl := kafkatest.FakeClient(t, kfake.NumBrokers(2), kfake.SleepOutOfOrder())
	ts := kafkatest.F2(t, cl, "hang-")
	for p := range int32(3) {
		if err := c.MoveTopicPartition(ts, p, p%2); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	var hung atomic.Int64
	c.ControlKey(kmsg.Fetch.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		for _, rt := range req.(*kmsg.FetchRequest).Topics {
			if slices.ContainsFunc(rt.Partitions, func(p kmsg.FetchRequestTopicPartition) bool { return p.Partition == 1 }) {
				hung.Add(1)
				c.SleepControl(func() { <-done })
			}
		}
		return nil, nil, false
	})
	t.Cleanup(func() { close(done) })
	began := time.Now()
	got := records.Reader{Client: cl, BrokerTimeout: time.Second, Patience: time.Second}.First(t.Context(), []records.Span{atOffset(ts, 0, 1), atOffset(ts, 1, 0), atOffset(ts, 2, 0)})
	if a := got[atOffset(ts, 0, 1)]; a.Record == nil || a.Record.Offset != 1 {
		t.Errorf("on the broker that answers: %+v", a)
	}
	if a := got[atOffset(ts, 1, 0)]; a.Err == nil || a.Record != nil || a.Empty.Until() != 0 || !strings.Contains(a.Err.Error(), "broker 1 did not answer within 1s") {
		t.Errorf("on the broker that hangs: %+v", a)
	}
	if took := time.Since(began); hung.Load() == 0 || took > 30*time.Second {
		t.Errorf("it took %s, with %d requests that hang", took, hung.Load())
	}
}

// What passes within the patience is waited for, what does not is not known, and neither holds up the others.
func TestPatience(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 4)
	for p := range int32(4) {
		kafkatest.Produce(t, cl, kafkatest.Records("t", p, 5, 1000, 10)...)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable, Count: 3})
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{2}, Err: kerr.NotLeaderForPartition, Count: -1})
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{3}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	spans := []records.Span{atOffset("t", 0, 1), atOffset("t", 1, 1), atOffset("t", 2, 1), atOffset("t", 3, 1)}
	got := records.Reader{Client: cl, Patience: 500 * time.Millisecond}.First(t.Context(), spans)
	for _, s := range spans[:2] {
		if a := got[s]; a.Err != nil || a.Record == nil || a.Record.Offset != 1 {
			t.Errorf("%s: %+v", s.Partition, a)
		}
	}
	for n, want := range map[int]error{2: kerr.NotLeaderForPartition, 3: kerr.TopicAuthorizationFailed} {
		if a := got[spans[n]]; a.Record != nil || !errors.Is(a.Err, want) || a.Empty.Until() != 1 {
			t.Errorf("%s: %+v, want %v", spans[n].Partition, a, want)
		}
	}
}

// When the context ends, what is not known yet says so.
func TestContextEnds(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 1)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.LeaderNotAvailable, Count: -1})
	gone := errors.New("no more time")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(gone) })
	got := records.Reader{Client: cl, Patience: time.Minute}.First(ctx, []records.Span{atOffset("t", 0, 0)})
	if a := got[atOffset("t", 0, 0)]; !errors.Is(a.Err, gone) {
		t.Errorf("%+v", a)
	}
}

// An empty answer about what may be in remote storage is no proof: the broker answers so when the storage is slow.
func TestRemoteStorageIsNoHole(t *testing.T) {
	c := kafkatest.ServeLogs(t, "logs", []kafkatest.Log{{LastStable: 100, HighEnd: 100, LocalStart: 50}}, kafkatest.Fickle{}, 1)
	cl := kafkatest.Client(t, c.ListenAddrs())
	got := records.Reader{Client: cl, Patience: 200 * time.Millisecond}.First(t.Context(), []records.Span{span(0, 10, records.ToEnd), span(0, 60, records.ToEnd)})
	if a := got[span(0, 10, records.ToEnd)]; a.Err == nil || a.Empty.Until() != 10 {
		t.Errorf("below the local log start: %+v", a)
	}
	if a := got[span(0, 60, records.ToEnd)]; a.Err != nil || a.Empty.Until() != 100 {
		t.Errorf("above it: %+v", a)
	}
}

// The memory is bounded whatever the records compress to: here 2 MiB of zeros a batch, in a few hundred bytes.
func TestMemoryBound(t *testing.T) {
	codec, err := kgo.DefaultCompressor(kgo.ZstdCompression())
	if err != nil {
		t.Fatal(err)
	}
	const partitions, batches, size, bound = 100, 8, 2 << 20, 16 << 20
	var log kafkatest.Log
	for n := range int64(batches) {
		b := kafkatest.Batch{First: n, Last: n, Records: []int64{n}}
		kafkatest.Encode(t, &b, size, codec)
		if len(b.Raw) > 10_000 {
			t.Fatalf("a batch of zeros is %d bytes", len(b.Raw))
		}
		log.Batches = append(log.Batches, b)
	}
	log.HighEnd, log.LastStable = batches, batches
	cl := kafkatest.Client(t, kafkatest.ServeLogs(t, "logs", slices.Repeat([]kafkatest.Log{log}, partitions), kafkatest.Fickle{}, 1).ListenAddrs())
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that the heap is close to what is in use
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak, count atomic.Int64
	var walks []records.Walk
	var first []records.Span
	for p := range partitions {
		first = append(first, span(p, 0, records.ToEnd))
		walks = append(walks, records.Walk{Span: first[p], Visit: func(r records.Record) bool {
			if len(r.Value) != size || !bytes.Equal(r.Value[:8], make([]byte, 8)) {
				t.Errorf("a value of %d bytes", len(r.Value))
			}
			if count.Add(1)%20 == 0 {
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				peak.Store(max(peak.Load(), int64(now.HeapAlloc)-int64(before.HeapAlloc)))
			}
			return true
		}})
	}
	reader := records.Reader{Client: cl, Memory: bound}
	for _, e := range reader.Walk(t.Context(), walks) {
		if !e.Reached() {
			t.Errorf("%+v", e)
		}
	}
	if got := len(reader.First(t.Context(), first)); got != partitions {
		t.Errorf("%d answers", got)
	}
	if count.Load() != partitions*batches {
		t.Errorf("%d records came", count.Load())
	}
	// A quarter more for responses, and what the collector has not got round to.
	if peak.Load() > bound*2 {
		t.Errorf("%d MiB were in use, with a bound of %d", peak.Load()>>20, bound>>20)
	}
	t.Logf("%d MiB of records, %d MiB in use", partitions*batches*size>>20, peak.Load()>>20)
	// A batch that alone takes more is not known, and what lies before it is.
	small := records.Reader{Client: cl, Memory: 1 << 20}.First(t.Context(), first[:1])
	if a := small[first[0]]; !errors.Is(a.Err, records.ErrTooLarge) || a.Record != nil {
		t.Errorf("with a bound below one batch: %+v", a)
	}
}

// A batch that does not decode is an error, not a hole.
func TestDamagedBatch(t *testing.T) {
	var log kafkatest.Log
	for n := range int64(3) {
		b := kafkatest.Batch{First: n * 10, Last: n*10 + 9, Records: []int64{n * 10}}
		kafkatest.Encode(t, &b, 100, nil)
		log.Batches = append(log.Batches, b)
	}
	log.Batches[1].Raw[len(log.Batches[1].Raw)-1] ^= 1
	log.HighEnd, log.LastStable = 30, 30
	cl := kafkatest.Client(t, kafkatest.ServeLogs(t, "logs", []kafkatest.Log{log}, kafkatest.Fickle{}, 1).ListenAddrs())
	got, ends := offsets(t, records.Reader{Client: cl}, 100, span(0, 0, records.ToEnd))
	if got[0] != "0 " || !errors.Is(ends[0].Err, records.ErrDamaged) || ends[0].Until() != 10 {
		t.Errorf("%q, %+v", got, ends[0])
	}
}

// Who reads what is not committed learns by the markers what became of it, each in its place among the records.
func TestWalkMarkers(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	tx := kafkatest.OpenF3(t, cl, "")
	for _, c := range []struct {
		from, until int64
		want        string
	}{
		{0, 11, "0 1 2 commit3 4 5 abort6 7 8 9 10 "},
		{0, 6, "0 1 2 commit3 4 5 "},
		{3, 6, "commit3 4 5 "},
	} {
		got, producers := "", map[int64]bool{}
		ends := records.Reader{Client: cl}.Walk(t.Context(), []records.Walk{{
			Span: records.Span{Partition: offset.Partition{Topic: tx.Topic}, From: c.from, Until: c.until},
			Visit: func(r records.Record) bool {
				producers[r.ProducerID] = true
				got += fmt.Sprintf("%d ", r.Offset)
				return true
			},
			Marker: func(m records.Marker) {
				what := "abort"
				if m.Commit {
					what = "commit"
				}
				if !producers[m.Producer] && c.from == 0 || m.Time.IsZero() {
					t.Errorf("%+v", m)
				}
				got += fmt.Sprintf("%s%d ", what, m.Offset)
			},
		}})
		if got != c.want || !ends[0].Reached() {
			t.Errorf("%d to %d: %q, want %q, %+v", c.from, c.until, got, c.want, ends[0])
		}
	}
}
