package consume

// The fetching client: which partitions it reads, how much it holds, and what its errors mean.

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// fetchOptions are the options of the client that fetches.
func (c *Config) fetchOptions(s *sizer) []kgo.Opt {
	iso := kgo.ReadCommitted()
	if c.ReadUncommitted {
		iso = kgo.ReadUncommitted()
	}
	opts := append(c.Client.Opts(),
		// Without this the client jumps on its own where an offset is out of range: to the log start before the first record.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(iso),
		// Markers take offsets: only with them does the position reach the end of a transactional topic.
		kgo.KeepControlRecords(),
		kgo.FetchMaxWait(cmp.Or(c.Fetch.MaxWait, 500*time.Millisecond)),
		kgo.FetchMaxBytes(s.bytes), kgo.FetchMaxPartitionBytes(min(s.bytes, s.partBytes)), // see sizer.OnNewClient
		kgo.WithHooks(s),
	)
	if c.Fetch.MinBytes > 0 {
		opts = append(opts, kgo.FetchMinBytes(c.Fetch.MinBytes))
	}
	if c.Fetch.Rack != "" {
		opts = append(opts, kgo.Rack(c.Fetch.Rack))
	}
	return append(opts, c.Fetch.Options...)
}

func (r *run) startFetching() error {
	r.sizes = newSizer(&r.cfg)
	if r.member != nil {
		return r.fetchWith(r.member.options()...)
	}
	at := map[string]map[int32]kgo.Offset{}
	for _, p := range r.list {
		if p.done() {
			continue
		}
		p.fetching = true
		p.probe.reset(r.cfg.now())
		if at[p.Topic] == nil {
			at[p.Topic] = map[int32]kgo.Offset{}
		}
		at[p.Topic][p.Partition.Partition] = p.kgoOffset()
	}
	if len(at) == 0 && (r.bounded() || r.left == 0) {
		return nil // nothing to read: the loop ends at once
	}
	return r.fetchWith(kgo.ConsumePartitions(at))
}

func (r *run) fetchWith(opts ...kgo.Opt) error {
	cl, err := kgo.NewClient(append(r.cfg.fetchOptions(r.sizes), opts...)...)
	if err != nil {
		return errorf(Usage, "", "make the fetching client: %w", err)
	}
	r.fetch = cl
	if r.member != nil {
		r.member.cl = cl
	}
	go r.poll(cl)
	return nil
}

func (p *part) kgoOffset() kgo.Offset {
	o := kgo.NewOffset().At(p.seen)
	if n, known := p.seenEpoch.Get(); known {
		o = o.WithEpoch(n)
	}
	return o
}

// ask lets the poller take what comes next from the client. Without it nothing is taken, the client's own buffer is bounded
// by the fetch sizes, and then the brokers are not asked any more.
func (r *run) ask() {
	if !r.polling && r.fetch != nil {
		r.polling = true
		r.want <- struct{}{}
	}
}

// poll feeds the loop, one poll for each time it asks.
func (r *run) poll(cl *kgo.Client) {
	for {
		select {
		case <-r.want:
		case <-r.ctx.Done():
			return
		case <-r.work.Done():
			return
		}
		f := cl.PollRecords(r.ctx, r.cfg.Fetch.MaxPoll)
		if f.IsClientClosed() || r.ctx.Err() != nil {
			return
		}
		select {
		case r.fetched <- f:
		case <-r.ctx.Done():
			return
		case <-r.work.Done():
			return
		}
	}
}

// stopFetching takes a partition out of the client.
func (r *run) stopFetching(p *part) {
	if !p.fetching || r.fetch == nil {
		return
	}
	p.fetching = false
	set := map[string][]int32{p.Topic: {p.Partition.Partition}}
	if r.member != nil || p.over() {
		// A member's stays the group's. And to remove one breaks off the fetch of all the others, and its connection.
		r.fetch.PauseFetchPartitions(set)
		return
	}
	r.fetch.RemoveConsumePartitions(set)
}

// resumeFetching puts a partition into the client, at seen.
func (r *run) resumeFetching(p *part) {
	p.fetching = true
	p.probe.reset(r.cfg.now())
	if r.member != nil {
		r.fetch.SetOffsets(map[string]map[int32]kgo.EpochOffset{p.Topic: {p.Partition.Partition: {Epoch: p.seenEpoch.Wire(), Offset: p.seen}}})
		r.fetch.ResumeFetchPartitions(map[string][]int32{p.Topic: {p.Partition.Partition}})
		return
	}
	r.fetch.AddConsumePartitions(map[string]map[int32]kgo.Offset{p.Topic: {p.Partition.Partition: p.kgoOffset()}})
}

// fetchFailed handles an error of a fetch. It returns nil for what passes, and otherwise why the run fails.
func (r *run) fetchFailed(topic string, partition int32, p *part, err error) error {
	where := topic
	if p != nil {
		where = p.Partition.String()
	}
	var lost *kgo.ErrDataLoss
	var session *kgo.ErrGroupSession
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed):
		return nil
	case errors.As(err, &session):
		return r.sessionFailed(session.Err)
	case errors.Is(err, kerr.OffsetOutOfRange) && p != nil:
		return r.outOfRange(p)
	case errors.As(err, &lost):
		return errorf(Failed, "the log was truncated, as after an unclean leader election: choose where to continue with {{start POSITION}}",
			"%s: the log lost records that were read: position %d (leader epoch %d), the log diverged at %d", where, lost.ConsumedTo, lost.ConsumedToEpoch, lost.ResetTo)
	case errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InconsistentTopicID) || errors.Is(err, kerr.UnknownTopicOrPartition):
		return r.topicFailed(topic, where, err)
	case errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.GroupAuthorizationFailed):
		return errorf(Failed, "", "%s: %w", where, err)
	case passes(err):
		r.tellPassing("%s: %v; the run continues when it has passed", where, err)
		return nil
	}
	return errorf(Failed, "", "fetch %s: %w", where, err)
}

// topicFailed handles a broker that does not know the topic: it was deleted, or deleted and created again, or this broker has
// not heard of it yet.
func (r *run) topicFailed(topic, where string, err error) error {
	id := r.topics[topic].TopicID()
	for _, p := range r.parts[topic] {
		if p != nil && p.topicID != "" {
			id = p.topicID
		}
	}
	ctx, cancel := context.WithTimeout(r.work, 10*time.Second)
	defer cancel()
	if now, rerr := inspect.ReadTopics(ctx, r.cfg.Client, []string{topic}); rerr == nil {
		if changed := topicChanged(topic, id, now[topic]); changed != nil {
			return changed
		}
	}
	r.tellPassing("%s: %v; the run continues when it has passed", where, err)
	return nil
}

// passes says that an error goes away by itself: leaders move, brokers restart, connections break.
func passes(err error) bool {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Retriable
	}
	return kgo.IsRetryableBrokerErr(err) || errors.Is(err, context.DeadlineExceeded)
}

// tellPassing tells of passing errors at most every 10 s.
func (r *run) tellPassing(format string, args ...any) {
	if now := r.cfg.now(); now.Sub(r.transient) > 10*time.Second {
		r.transient = now
		r.notify(warnf("", format, args...))
	}
}

// outOfRange decides what happens when the log has moved past the reader, or ends before it. The client would report it
// on every poll, thousands of times a second, so the partition is taken out first.
func (r *run) outOfRange(p *part) error {
	if !p.fetching {
		return nil // the same event again
	}
	r.stopFetching(p)
	ctx, cancel := context.WithTimeout(r.work, 10*time.Second)
	defer cancel()
	one := inspect.Partitions{}
	one.Add(p.Partition)
	log, _ := inspect.ReadBounds(ctx, r.cfg.Client, one).At(p.Partition)
	if log.Err != nil {
		return errorf(Failed, "", "%s: position %d is out of range, and its bounds cannot be read: %w", p.Partition, p.seen, log.Err)
	}
	b := log.Bounds
	switch {
	case p.seen > b.End:
		return errorf(Failed, "was the log truncated, or the topic created again? choose where to continue with {{start POSITION}}",
			"%s: position %d is past the log end %d", p.Partition, p.seen, b.End)
	case p.seen >= b.Start:
		r.resumeFetching(p) // it passed by itself
		return nil
	}
	lost := b.Start - p.seen
	to, epoch, word := b.Start, log.StartEpoch, "log start"
	switch r.cfg.Policies.IfExpired {
	case offset.IfExpiredEarliest:
	case offset.IfExpiredLatest:
		to, epoch, word = b.EndFor(r.cfg.isolation()), log.EndEpoch, "log end"
	default:
		if r.cfg.Policies.Reset == ResetEarliest && r.cfg.Start.Mode() == ModeGroupOffsets {
			break
		}
		return errorf(Failed, "add {{if-expired earliest}} to continue at the log start, read faster, or keep the topic longer",
			"%s: retention passed the reader: position %d, log start %d: %s lost", p.Partition, p.seen, b.Start, text.Plural(lost, "offset"))
	}
	r.notify(warnf("", "%s: retention passed the reader: position %d, log start %d: %s lost, going on at %s %d", p.Partition, p.seen, b.Start, text.Plural(lost, "offset"), word, to))
	p.seen, p.seenEpoch = to, epoch
	if p.bounded {
		p.seen = min(p.seen, p.end)
	}
	p.settle()
	if !p.over() {
		r.resumeFetching(p)
	}
	return nil
}

// sizer keeps what is held in memory bounded for topics that compress well: fetch sizes are of compressed bytes, and a
// hundredfold is common (measured: 1.4 GB for two polls of a very compressible zstd topic with the client's defaults). It
// begins small, learns the ratio from the batches that arrive, and sets the sizes so that a response comes to about the
// buffer in memory. A broker always gives a whole batch, however small the sizes are.
//
// Only the size of a response changes. A broker remembers the size of each partition in the fetch session, and is told a new
// one only when the partition's offset changes: with 300 partitions that began small, each response held one batch until
// every partition had been the first of a response (measured: half a second).
type sizer struct {
	client    *kgo.Client
	bytes     int32 // of a response, in force
	maxBytes  int32
	partBytes int32
	buffer    int64
	in, out   atomic.Int64 // bytes that came, and what they take in memory, since the last look
	ratio     float64
}

const (
	// fetchFirst is what the first responses are asked for, while the ratio is not known.
	fetchFirst = 8 << 10
	// fetchFloor is the least that is asked for. A megabyte of zeros is a batch of a hundred bytes.
	fetchFloor = 1 << 10
	// recordBytes is what a record takes in memory beside its bytes: kgo.Record and the pointer to it.
	recordBytes = 216
)

func newSizer(c *Config) *sizer {
	s := &sizer{maxBytes: c.Fetch.MaxBytes, partBytes: c.Fetch.MaxPartitionBytes, buffer: c.Fetch.Buffer}
	if c.Rate.limited() {
		// Under a rate partitions take turns from what is held, and little of each is enough.
		s.partBytes = min(s.partBytes, 256<<10)
	}
	s.bytes = min(s.maxBytes, fetchFirst)
	return s
}

// OnFetchBatchRead counts what came in. It is called by kgo, from several goroutines.
func (s *sizer) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	s.in.Add(int64(m.CompressedBytes))
	s.out.Add(int64(m.UncompressedBytes) + int64(m.NumRecords)*recordBytes)
}

// adapt sets the sizes after some batches have been seen.
func (s *sizer) adapt() {
	in, out := s.in.Load(), s.out.Load()
	// A few small batches say little about the next hundred (a producer's first batch has one record), so growth wants about
	// a response of the present size first.
	enough := in >= int64(s.bytes)/4
	if in == 0 || !enough && out < 1<<20 {
		return
	}
	s.in.Add(-in)
	s.out.Add(-out)
	ratio := max(1, float64(out)/float64(in))
	if s.ratio == 0 || ratio > s.ratio {
		s.ratio = ratio // caution at once, confidence slowly
	} else {
		s.ratio = 0.8*s.ratio + 0.2*ratio
	}
	total := min(int64(s.maxBytes), max(fetchFloor, int64(float64(s.buffer)/s.ratio)))
	if now := int64(s.bytes); total > now {
		if !enough {
			return
		}
		total = min(total, 4*now)
	}
	if near(int64(s.bytes), total) {
		return
	}
	s.bytes = int32(total)
	s.tell()
}

// OnNewClient is called by kgo before the client asks for anything. A client that is made with a partition's size above that of
// a response lowers it, so both are set here.
func (s *sizer) OnNewClient(cl *kgo.Client) {
	s.client = cl
	s.tell()
}

// tell puts the sizes into force.
func (s *sizer) tell() {
	if s.client != nil { // nil in tests
		s.client.UpdateFetchMaxBytes(s.bytes, s.partBytes)
	}
}

func near(a, b int64) bool { return a*4 >= b*3 && b*4 >= a*3 }
