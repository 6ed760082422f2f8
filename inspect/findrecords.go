package inspect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/offset"
)

// At is an offset of a partition.
type At struct {
	offset.Partition
	Offset int64
}

const (
	// peekBytes is what is first asked for of a partition: enough for the batches of quiet topics, while 2,000 busy ones
	// cost 8 MB. A larger batch says its size in its first bytes and is asked for again in full.
	peekBytes = 4 << 10
	// peekPartitions and peekResponse bound one Fetch and its answer.
	peekPartitions = 500
	peekResponse   = 16 << 20
	// peekRounds bounds how often one partition is asked again. Long stretches of aborted transactions or of markers cost a
	// round each 4 KB at first, and more at a time later.
	peekRounds = 40
)

// ErrGap is the error of a Lookup that was given up in a long stretch without records: aborted transactions, or what
// compaction left.
var ErrGap = errors.New("no record was found in a long stretch of the log")

// FindRecords finds the first record at or after each offset that a reader of that isolation would be given: transaction
// markers, and under read_committed what was aborted, are passed over, and so are gaps that compaction left. Record is nil
// where there is none before the end. An offset outside the log has the error OFFSET_OUT_OF_RANGE. Fetching needs READ on
// the topic.
//
// It sends Fetch requests to the leaders, many partitions a request, and joins no group. topics is the metadata of the
// topics asked for.
func FindRecords(ctx context.Context, cl *kgo.Client, iso offset.Isolation, topics map[string]Topic, asks []At) map[At]Lookup {
	f := peeker{cl: cl, iso: iso, topics: topics, out: make(map[At]Lookup, len(asks)), decompress: kgo.DefaultDecompressor()}
	todo := make([]*peek, 0, len(asks))
	for _, a := range asks {
		if _, twice := f.out[a]; !twice {
			f.out[a] = Lookup{}
			todo = append(todo, &peek{At: a, next: a.Offset, bytes: peekBytes})
		}
	}
	for round := 0; len(todo) > 0; round++ {
		if round > 0 && f.stale.Load() {
			f.refresh(ctx, todo)
		}
		todo = f.round(ctx, todo)
		for _, p := range todo {
			if p.rounds++; p.rounds >= peekRounds || ctx.Err() != nil {
				p.done = true
				f.set(p, Lookup{Err: cmpErr(ctx.Err(), p.why, fmt.Errorf("%w: %s from %d to %d", ErrGap, p.Partition, p.Offset, p.next))})
			}
		}
		todo = unfinished(todo)
		if len(todo) > 0 && f.stale.Load() && pause(ctx, retryPause) != nil {
			continue // the next round ends with the context's error
		}
	}
	return f.out
}

// cmpErr is the first error of several.
func cmpErr(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// peek is one question under way.
type peek struct {
	At
	next   int64 // where to fetch from
	bytes  int32
	rounds int
	why    error // the error of the last try, where it was worth another
	done   bool
}

func unfinished(in []*peek) []*peek {
	out := in[:0]
	for _, p := range in {
		if !p.done {
			out = append(out, p)
		}
	}
	return out
}

type peeker struct {
	cl         *kgo.Client
	iso        offset.Isolation
	topics     map[string]Topic
	decompress kgo.Decompressor
	stale      atomic.Bool // a leader was not where the metadata has it
	mu         sync.Mutex
	out        map[At]Lookup
}

func (f *peeker) set(p *peek, l Lookup) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.done = true
	f.out[p.At] = l
}

func (f *peeker) refresh(ctx context.Context, todo []*peek) {
	names := map[string]bool{}
	var list []string
	for _, p := range todo {
		if !names[p.Topic] {
			names[p.Topic] = true
			list = append(list, p.Topic)
		}
	}
	if topics, err := ReadTopics(ctx, f.cl, list); err == nil {
		f.topics = topics
		f.stale.Store(false)
	}
}

// round asks every question once and returns those without an answer yet. A partition may stand in a request only once, so
// a second question about it is left for another request.
func (f *peeker) round(ctx context.Context, todo []*peek) []*peek {
	type batch struct {
		node  int32
		bytes int32
		parts map[offset.Partition]*peek
	}
	var batches []*batch
	open := map[int32][]*batch{}
	for _, p := range todo {
		leader, err := f.leader(p.Partition)
		if err != nil {
			f.set(p, Lookup{Err: err})
			continue
		}
		var into *batch
		for _, b := range open[leader] {
			if _, taken := b.parts[p.Partition]; !taken && len(b.parts) < peekPartitions && b.bytes+p.bytes <= peekResponse {
				into = b
				break
			}
		}
		if into == nil {
			into = &batch{node: leader, parts: map[offset.Partition]*peek{}}
			open[leader] = append(open[leader], into)
			batches = append(batches, into)
		}
		into.parts[p.Partition] = p
		into.bytes += p.bytes
	}
	var eg errgroup.Group
	eg.SetLimit(inFlight)
	for _, b := range batches {
		eg.Go(func() error { f.fetch(ctx, b.node, b.parts); return nil })
	}
	_ = eg.Wait() // every answer was told per partition
	return unfinished(todo)
}

func (f *peeker) leader(p offset.Partition) (int32, error) {
	t, ok := f.topics[p.Topic]
	switch {
	case !ok:
		return 0, kerr.UnknownTopicOrPartition
	case t.Err != nil:
		return 0, t.Err
	}
	i := int(p.Partition)
	if i < 0 || i >= len(t.Partitions) || t.Partitions[i].Number != p.Partition { // a number is missing: look for it
		i = slices.IndexFunc(t.Partitions, func(tp TopicPartition) bool { return tp.Number == p.Partition })
	}
	switch {
	case i < 0:
		return 0, kerr.UnknownTopicOrPartition
	case t.Partitions[i].Leader < 0:
		return 0, cmpErr(t.Partitions[i].Err, kerr.LeaderNotAvailable)
	}
	return t.Partitions[i].Leader, nil
}

// fetchV12 keeps the request below version 13, which names topics by id.
type fetchV12 struct{ *kmsg.FetchRequest }

func (fetchV12) MaxVersion() int16 { return 12 }

func (f *peeker) fetch(ctx context.Context, node int32, parts map[offset.Partition]*peek) {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes = -1, 0, 0
	req.MaxBytes, req.SessionEpoch = peekResponse, -1
	if f.iso == offset.ReadCommitted {
		req.IsolationLevel = 1
	}
	byTopic := map[string]int{}
	for part, p := range parts {
		i, ok := byTopic[part.Topic]
		if !ok {
			i = len(req.Topics)
			byTopic[part.Topic] = i
			rt := kmsg.NewFetchRequestTopic()
			rt.Topic = part.Topic
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = part.Partition, p.next, p.bytes
		req.MaxBytes = max(req.MaxBytes, p.bytes)
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	resp, err := request[*kmsg.FetchResponse](ctx, f.cl, node, fetchV12{req})
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		for _, p := range parts {
			f.set(p, Lookup{Err: err})
		}
		return
	}
	for _, t := range resp.Topics {
		for i := range t.Partitions {
			if p := parts[offset.Partition{Topic: t.Topic, Partition: t.Partitions[i].Partition}]; p != nil && !p.done {
				f.read(p, &t.Partitions[i])
			}
		}
	}
}

// read looks for the record in what came, or moves the question on.
func (f *peeker) read(p *peek, rp *kmsg.FetchResponseTopicPartition) {
	err := kerr.ErrorForCode(rp.ErrorCode)
	switch {
	case errors.Is(err, kerr.NotLeaderForPartition), errors.Is(err, kerr.LeaderNotAvailable), errors.Is(err, kerr.OffsetNotAvailable),
		errors.Is(err, kerr.UnknownLeaderEpoch), errors.Is(err, kerr.FencedLeaderEpoch), errors.Is(err, kerr.ReplicaNotAvailable):
		p.why = err
		f.stale.Store(true)
		return
	case err != nil:
		f.set(p, Lookup{Err: err})
		return
	}
	p.why = nil
	opts := kgo.ProcessFetchPartitionOpts{Offset: p.next, Topic: p.Topic, Partition: p.Partition.Partition}
	end := rp.HighWatermark
	if f.iso == offset.ReadCommitted {
		opts.IsolationLevel = kgo.ReadCommitted()
		end = rp.LastStableOffset
	}
	if p.next >= end {
		f.set(p, Lookup{})
		return
	}
	fp, _ := kgo.ProcessFetchPartition(opts, rp, f.decompress, nil)
	for _, r := range fp.Records {
		if r.Offset >= p.next {
			rec := offset.Record{Offset: r.Offset, LeaderEpoch: offset.EpochOf(r.LeaderEpoch)}
			if r.Timestamp.UnixMilli() >= 0 {
				rec.Time = r.Timestamp.UTC()
			}
			f.set(p, Lookup{Record: &rec})
			return
		}
	}
	if fp.Err != nil {
		f.set(p, Lookup{Err: fmt.Errorf("read %s at %d: %w", p.Partition, p.next, fp.Err)})
		return
	}
	next, need := batches(rp.RecordBatches)
	switch {
	case next > p.next:
		p.next = next
		if p.rounds > 2 {
			p.bytes = min(p.bytes*2, 1<<20) // a long stretch without records: larger steps
		}
	case need == 0 && len(rp.RecordBatches) > 0:
		// Whole batches that all lie before the offset: cannot be, unless the broker's answer is damaged.
		f.set(p, Lookup{Err: fmt.Errorf("read %s at %d: the broker sent only what lies before", p.Partition, p.next)})
		return
	}
	if need > 0 {
		p.bytes = max(p.bytes, need)
	}
	if p.next >= end {
		f.set(p, Lookup{})
	}
}

// batches walks over record batches: next is the offset after the last complete one (0 for none), need the size of an
// incomplete one that follows.
func batches(b []byte) (next int64, need int32) {
	for len(b) > 0 {
		if len(b) < 17 {
			return next, peekBytes
		}
		size := int64(binary.BigEndian.Uint32(b[8:])) + 12
		if size > 1<<30 {
			return next, 0
		}
		if int64(len(b)) < size || len(b) < 27 && b[16] >= 2 {
			return next, int32(size)
		}
		last := int64(binary.BigEndian.Uint64(b))
		if b[16] >= 2 {
			last += int64(binary.BigEndian.Uint32(b[23:]))
		}
		next = max(next, last+1)
		b = b[size:]
	}
	return next, 0
}
