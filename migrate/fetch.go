package migrate

// Reading records straight from the leaders, many partitions a request: a few records of thousands of partitions, where
// a consumer would fetch much more than is wanted and keep fetching.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

const (
	// firstBytes is what a partition is asked for at first. Ordinary batches are far smaller; a larger one comes back cut
	// off, and is asked for again with more.
	firstBytes = 64 << 10
	maxBytes   = 64 << 20
	// requestBytes and requestParts bound one request: a broker fills partitions in their order until the bytes are used up.
	requestBytes = 16 << 20
	requestParts = 200
	// fetchInFlight bounds the requests under way at once, over all leaders.
	fetchInFlight = 4
	// leaderTries is how often a partition without a leader is asked again, leaderPause apart.
	leaderTries = 20
	leaderPause = 100 * time.Millisecond
)

// record is a data record as it was fetched.
type record struct {
	*kgo.Record
	aborted bool
}

func (r record) logAppend() bool { return r.Attrs.TimestampType() == 1 }

func (r record) fingerprint() Fingerprint {
	f := fingerprintOf(r.Record)
	f.Aborted = r.aborted
	return f
}

// walk reads one partition forward until its visitor has seen enough.
type walk struct {
	part offset.Partition
	// next is the offset to fetch from; until is where the walk ends at the latest, exclusive.
	next, until int64
	// visit is told every data record in order, from one goroutine at a time. It returns false to end the walk.
	visit func(record) bool
	// enough, where it is set, is asked after each answer whether the walk may end: what came anyway was visited.
	enough func() bool
	// finish, where it is set, is called once when the walk is over.
	finish func()
	// reached says that the walk ended at until. With err nil and reached false, the visitor ended it.
	reached bool
	err     error

	bytes int32
	tries int
	done  bool
}

// fetcher runs walks.
type fetcher struct {
	cl *kgo.Client
	// committed asks for the list of aborted transactions, and ends at the last stable offset.
	committed bool
	mu        sync.Mutex
	topics    map[string]inspect.Topic
}

func newFetcher(cl *kgo.Client, iso offset.Isolation, topics map[string]inspect.Topic) *fetcher {
	return &fetcher{cl: cl, committed: iso == offset.ReadCommitted, topics: topics}
}

// run walks all partitions to their ends. What went wrong is in the walks. Several walks of one partition are fine.
func (f *fetcher) run(ctx context.Context, walks []*walk) {
	for _, w := range walks {
		w.bytes = max(w.bytes, firstBytes)
		if w.next >= w.until {
			w.reached, w.done = true, true
		}
	}
	for {
		pending := slices.DeleteFunc(slices.Clone(walks), func(w *walk) bool { return w.done })
		if len(pending) > 0 && ctx.Err() != nil {
			for _, w := range pending {
				w.fail(context.Cause(ctx))
			}
			pending = nil
		}
		if len(pending) == 0 {
			break
		}
		moved := f.round(ctx, pending)
		if moved {
			f.refresh(ctx, pending)
		}
	}
	for _, w := range walks {
		if w.finish != nil {
			w.finish()
		}
	}
}

func (w *walk) fail(err error) { w.err, w.done = err, true }

// round sends one request for every pending walk and says whether a leader moved.
func (f *fetcher) round(ctx context.Context, pending []*walk) (moved bool) {
	byLeader := map[int32][]*walk{}
	for _, w := range pending {
		leader, err := f.leader(w.part)
		if err != nil {
			moved = true
			w.retry(err)
			continue
		}
		byLeader[leader] = append(byLeader[leader], w)
	}
	var eg errgroup.Group
	eg.SetLimit(fetchInFlight)
	var mu sync.Mutex
	for leader, ws := range byLeader {
		for len(ws) > 0 {
			var batch []*walk
			batch, ws = takeBatch(ws)
			eg.Go(func() error {
				m := f.fetch(ctx, leader, batch)
				mu.Lock()
				moved = moved || m
				mu.Unlock()
				return nil
			})
		}
	}
	_ = eg.Wait() // every failure is in its walk
	return moved
}

// takeBatch takes what fits into one request: a partition may stand in it once.
func takeBatch(ws []*walk) (batch, rest []*walk) {
	seen := map[offset.Partition]bool{}
	bytes := 0
	for _, w := range ws {
		if seen[w.part] || len(batch) >= requestParts || len(batch) > 0 && bytes+int(w.bytes) > requestBytes {
			rest = append(rest, w)
			continue
		}
		seen[w.part] = true
		bytes += int(w.bytes)
		batch = append(batch, w)
	}
	return batch, rest
}

func (f *fetcher) leader(p offset.Partition) (int32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.topics[p.Topic]
	if err := t.PartitionErr(p.Partition); err != nil {
		return 0, err
	}
	for i := range t.Partitions {
		if t.Partitions[i].Number == p.Partition && t.Partitions[i].Leader >= 0 {
			return t.Partitions[i].Leader, nil
		}
	}
	return 0, kerr.LeaderNotAvailable
}

// retry counts a failure that newer metadata may cure, and gives up in the end.
func (w *walk) retry(err error) {
	if w.tries++; w.tries > leaderTries || !kerr.IsRetriable(err) {
		w.fail(fmt.Errorf("read %s: %w", w.part, err))
	}
}

func (f *fetcher) refresh(ctx context.Context, pending []*walk) {
	t := time.NewTimer(leaderPause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return
	case <-t.C:
	}
	var names []string
	for _, w := range pending {
		if !w.done {
			names = append(names, w.part.Topic)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return
	}
	got, err := inspect.ReadTopics(ctx, f.cl, names)
	if err != nil {
		return // the old metadata stays, and the walks run out of tries
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := make(map[string]inspect.Topic, len(f.topics))
	for n, t := range f.topics {
		fresh[n] = t
	}
	for n, t := range got {
		fresh[n] = t
	}
	f.topics = fresh // a new map: the caller's own is not written to
}

// fetchV12 keeps the request below version 13, which names topics by id: a broker before 2.8 has none.
type fetchV12 struct{ *kmsg.FetchRequest }

func (fetchV12) MaxVersion() int16 { return 12 }

func (f *fetcher) fetch(ctx context.Context, leader int32, batch []*walk) (moved bool) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 0, 0, requestBytes
	req.SessionEpoch = -1 // no session
	if f.committed {
		req.IsolationLevel = 1
	}
	at := map[offset.Partition]*walk{}
	topics := map[string]int{}
	for _, w := range batch {
		i, ok := topics[w.part.Topic]
		if !ok {
			i = len(req.Topics)
			topics[w.part.Topic] = i
			rt := kmsg.NewFetchRequestTopic()
			rt.Topic = w.part.Topic
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = w.part.Partition, w.next, w.bytes
		req.MaxBytes = max(req.MaxBytes, w.bytes)
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
		at[w.part] = w
	}
	kresp, err := f.cl.Broker(int(leader)).RetriableRequest(ctx, fetchV12{req})
	if err == nil {
		err = kerr.ErrorForCode(kresp.(*kmsg.FetchResponse).ErrorCode)
	}
	if err != nil {
		for _, w := range batch {
			if ctx.Err() != nil {
				w.fail(context.Cause(ctx))
				continue
			}
			// A broker that is gone may have handed its partitions over.
			if w.tries++; w.tries > 3 {
				w.fail(fmt.Errorf("read %s from broker %d: %w", w.part, leader, err))
			}
		}
		return true
	}
	resp := kresp.(*kmsg.FetchResponse)
	for i := range resp.Topics {
		rt := &resp.Topics[i]
		for j := range rt.Partitions {
			w := at[offset.Partition{Topic: rt.Topic, Partition: rt.Partitions[j].Partition}]
			if w == nil {
				continue
			}
			delete(at, w.part)
			if f.take(w, &rt.Partitions[j]) {
				moved = true
			}
		}
	}
	for _, w := range at {
		w.fail(fmt.Errorf("read %s: broker %d left it out of its answer", w.part, leader))
	}
	return moved
}

// take hands the records of one answer to the walk's visitor and says whether the leader moved.
func (f *fetcher) take(w *walk, rp *kmsg.FetchResponseTopicPartition) (moved bool) {
	if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange) && rp.LogStartOffset > w.next:
			w.next = rp.LogStartOffset // retention was faster
		case errors.Is(err, kerr.OffsetOutOfRange):
			w.reached, w.done = true, true // past the end: nothing is there
		case kerr.IsRetriable(err):
			w.retry(err)
			return true
		default:
			w.fail(fmt.Errorf("read %s: %w", w.part, err))
		}
		if w.next >= w.until && !w.done {
			w.reached, w.done = true, true
		}
		return false
	}
	aborted := abortedOffsets(w, rp)
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: w.next, IsolationLevel: kgo.ReadUncommitted(), Topic: w.part.Topic, Partition: w.part.Partition,
	}, rp, kgo.DefaultDecompressor(), nil)
	if got.Err != nil {
		w.fail(fmt.Errorf("read %s at %d: %w", w.part, w.next, got.Err))
		return false
	}
	for _, r := range got.Records {
		if r.Offset >= w.until {
			w.reached, w.done = true, true
			return false
		}
		if !w.visit(record{r, aborted[r.Offset]}) {
			w.next, w.done = r.Offset+1, true
			return false
		}
	}
	end := rp.HighWatermark
	if f.committed {
		end = min(end, rp.LastStableOffset)
	}
	switch {
	case next > w.next:
		w.next, w.bytes = next, firstBytes
	case len(rp.RecordBatches) > 0:
		// A batch larger than what was asked for came cut off.
		if w.bytes >= maxBytes {
			w.fail(fmt.Errorf("read %s at %d: a batch is larger than %d bytes", w.part, w.next, maxBytes))
			return false
		}
		w.bytes = min(w.bytes*8, maxBytes)
	case w.next < end:
		// Nothing came although something is there: other partitions used up the request. The first one of a request always
		// gets a batch, so every round gets further; asking for more makes the rest of a large batch fit.
		w.bytes = min(w.bytes*8, maxBytes)
	}
	if w.next >= w.until || w.next >= end {
		w.reached, w.done = true, true
	} else if w.enough != nil && w.enough() {
		w.done = true
	}
	return false
}

// abortedOffsets are the records of aborted transactions in an answer. It reads the answer a second time as a
// read_committed consumer does, only where the broker named such transactions.
func abortedOffsets(w *walk, rp *kmsg.FetchResponseTopicPartition) map[int64]bool {
	if len(rp.AbortedTransactions) == 0 {
		return nil
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: w.next, Topic: w.part.Topic, Partition: w.part.Partition}
	opts.IsolationLevel = kgo.ReadUncommitted()
	all, _ := kgo.ProcessFetchPartition(opts, rp, kgo.DefaultDecompressor(), nil)
	opts.IsolationLevel = kgo.ReadCommitted()
	good, _ := kgo.ProcessFetchPartition(opts, rp, kgo.DefaultDecompressor(), nil)
	out := make(map[int64]bool)
	for _, r := range all.Records {
		out[r.Offset] = true
	}
	for _, r := range good.Records {
		delete(out, r.Offset)
	}
	return out
}
