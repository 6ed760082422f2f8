package consume

// Reading as a member of a group: Kafka's protocol decides which partitions are this process's, and commits happen every
// interval and before partitions are handed over. At least once.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// joined is a run as a member. mu guards the sink and the partitions: the client's callbacks come from its own goroutine,
// while the loop waits for the next poll.
type joined struct {
	*Engine
	ctx, work context.Context
	cl        *kgo.Client

	mu    sync.Mutex
	parts map[offset.Partition]*part
	began bool
	left  int64
	fail  error // from a callback
	last  []Position
	line  int64 // of the sink's barriers
}

func (e *Engine) runJoined(ctx, work context.Context) (Summary, error) {
	j := &joined{Engine: e, ctx: ctx, work: work, parts: map[offset.Partition]*part{}, left: -1}
	if n := e.cfg.End.MaxRecords; n > 0 {
		j.left = n
	}
	e.stats.mu.Lock()
	e.stats.started = e.cfg.now()
	e.stats.mu.Unlock()
	err := e.cfg.Sink.Open(ctx, nil)
	if err != nil {
		err = fmt.Errorf("open the sink: %w", err)
	} else if j.cl, err = kgo.NewClient(j.options()...); err != nil {
		err = errorf(Usage, "", "join group %s: %w", e.cfg.Group, err)
	}
	if err == nil {
		e.stats.setPhase(PhaseRunning)
		err = j.loop()
	}
	return j.end(err)
}

func (j *joined) options() []kgo.Opt {
	c := &j.cfg
	topics := make([]string, len(c.Topics))
	for i, t := range c.Topics {
		topics[i] = t.Topic
	}
	opts := append(c.fetchOptions(newSizer(c)),
		kgo.ConsumerGroup(c.Group), kgo.ConsumeTopics(topics...), kgo.ConsumeStartOffset(j.startOffset()),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxBytes(c.Fetch.MaxBytes), kgo.FetchMaxPartitionBytes(min(c.Fetch.MaxPartitionBytes, 1<<20)),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { j.assigned(ps) }),
		kgo.OnPartitionsRevoked(func(ctx context.Context, _ *kgo.Client, ps map[string][]int32) { j.revoked(ctx, ps, true) }),
		kgo.OnPartitionsLost(func(ctx context.Context, _ *kgo.Client, ps map[string][]int32) { j.revoked(ctx, ps, false) }),
	)
	if c.Discovery > 0 {
		opts = append(opts, kgo.MetadataMaxAge(max(c.Discovery, time.Second)))
	}
	if c.Join.Consumer {
		opts = append(opts, kgo.ServerSideBalancer())
	} else {
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
		if c.Join.SessionTimeout > 0 {
			opts = append(opts, kgo.SessionTimeout(c.Join.SessionTimeout))
		}
	}
	if c.Join.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(c.Join.InstanceID))
	}
	return opts
}

// startOffset is where a partition without a commit starts.
func (j *joined) startOffset() kgo.Offset {
	switch j.cfg.startRules().IfNoCommit {
	case offset.IfNoCommitEarliest:
		return kgo.NewOffset().AtStart()
	case offset.IfNoCommitLatest:
		return kgo.NewOffset().AtEnd()
	}
	return kgo.NewOffset().AtCommitted()
}

func (j *joined) assigned(ps map[string][]int32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for t, ns := range ps {
		for _, n := range ns {
			at := offset.Partition{Topic: t, Partition: n}
			p := &part{Partition: at, fetching: true}
			p.pub.current.Store(unset)
			p.pub.committed.Store(unset)
			for _, row := range j.plan.Rows {
				if row.Partition == at {
					p.topicID = row.TopicID
				}
			}
			j.parts[at] = p
		}
		j.notify(infof("assigned %s:%s", t, offset.FormatPartitionSet(sorted(ns))))
	}
	j.publish()
}

// revoked commits what the sink has of the partitions, and forgets them. Lost ones belong to somebody else already.
func (j *joined) revoked(ctx context.Context, ps map[string][]int32, commit bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if commit {
		if err := j.commitNow(ctx, func(p offset.Partition) bool {
			for _, n := range ps[p.Topic] {
				if n == p.Partition {
					return true
				}
			}
			return false
		}, false); err != nil {
			j.fail = err
		}
	}
	for t, ns := range ps {
		for _, n := range ns {
			delete(j.parts, offset.Partition{Topic: t, Partition: n})
		}
		j.notify(infof("handed over %s:%s", t, offset.FormatPartitionSet(sorted(ns))))
	}
	j.publish()
}

func (j *joined) publish() {
	list := make([]*part, 0, len(j.parts))
	for _, p := range j.parts {
		list = append(list, p)
	}
	sortParts(list)
	j.stats.mu.Lock()
	j.stats.parts = list
	j.stats.mu.Unlock()
}

func (j *joined) loop() error {
	var pace *pacer
	if j.cfg.Rate.limited() {
		pace = newPacer(j.cfg.Rate, j.cfg.now())
	}
	due := j.cfg.now().Add(j.cfg.Commit.Interval)
	for {
		if j.ctx.Err() != nil {
			return errStop
		}
		if j.left == 0 {
			return nil
		}
		now := j.cfg.now()
		if !now.Before(due) {
			due = now.Add(j.cfg.Commit.Interval)
			if err := j.commitAll(j.work, false); err != nil {
				return err
			}
		}
		wait, most := due.Sub(now), 10_000
		if pace != nil {
			most = pace.piece(now)
			if w := pace.wait(now); w > 0 {
				pause(j.ctx, min(w, wait))
				continue
			}
		}
		ctx, cancel := context.WithTimeout(j.ctx, wait)
		fs := j.cl.PollRecords(ctx, most)
		cancel()
		records, bytes, err := j.take(fs)
		j.cl.AllowRebalance()
		if err != nil {
			return err
		}
		if pace != nil && records > 0 {
			pace.spend(j.cfg.now(), records, bytes)
		}
	}
}

func (j *joined) take(fs kgo.Fetches) (records int, bytes int64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return 0, 0, j.fail
	}
	for i := range fs {
		for k := range fs[i].Topics {
			t := &fs[i].Topics[k]
			for m := range t.Partitions {
				fp := &t.Partitions[m]
				at := offset.Partition{Topic: t.Topic, Partition: fp.Partition}
				p := j.parts[at]
				if fp.Err != nil {
					if err := j.fetchError(at, p, fp.Err); err != nil {
						return records, bytes, err
					}
				}
				if p == nil || len(fp.Records) == 0 {
					continue
				}
				a := p.admit(fp.Records, j.left)
				if end := fp.LastStableOffset; !j.cfg.ReadUncommitted && end >= 0 {
					p.pub.logEnd.Store(end)
				} else {
					p.pub.logEnd.Store(fp.HighWatermark)
				}
				if len(a.records) > 0 {
					begin := time.Now()
					err := j.cfg.Sink.Write(j.ctx, Batch{Topic: t.Topic, Partition: fp.Partition, Records: a.records})
					j.stats.sinkBlocked.Add(int64(time.Since(begin)))
					if err != nil {
						if j.ctx.Err() != nil && errors.Is(err, j.ctx.Err()) {
							return records, bytes, errStop
						}
						return records, bytes, fmt.Errorf("write %s: %w", at, err)
					}
					p.delivered(a.records, a.bytes)
					j.stats.records.Add(int64(len(a.records)))
					j.stats.bytes.Add(a.bytes)
					records, bytes = records+len(a.records), bytes+a.bytes
					if j.left > 0 {
						j.left -= int64(len(a.records))
					}
				}
				p.settle()
				if j.left == 0 {
					return records, bytes, nil
				}
			}
		}
	}
	return records, bytes, nil
}

func (j *joined) fetchError(at offset.Partition, p *part, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, kgo.ErrClientClosed):
		return nil
	case errors.Is(err, kerr.OffsetOutOfRange):
		return j.outOfRange(at, p)
	case passes(err):
		j.notify(warnf("", "%s: %v; the run goes on when it has passed", at, err))
		return nil
	}
	return errorf(Failed, "", "fetch %s: %w", at, err)
}

// outOfRange applies the same policy as a run with its own partitions.
func (j *joined) outOfRange(at offset.Partition, p *part) error {
	if p == nil || !p.fetching {
		return nil
	}
	p.fetching = false
	set := map[string][]int32{at.Topic: {at.Partition}}
	j.cl.PauseFetchPartitions(set)
	ctx, cancel := context.WithTimeout(j.work, 10*time.Second)
	defer cancel()
	one := inspect.Partitions{}
	one.Add(at)
	log, _ := inspect.ReadBounds(ctx, j.cfg.Client, one).At(at)
	if log.Err != nil {
		return errorf(Failed, "", "%s: the position is out of range, and its bounds cannot be read: %w", at, log.Err)
	}
	var to int64
	switch j.cfg.startRules().IfExpired {
	case offset.IfExpiredEarliest:
		to = log.Bounds.Start
	case offset.IfExpiredLatest:
		to = log.Bounds.EndFor(j.cfg.isolation())
	default:
		return errorf(Failed, "add --if-expired earliest, or set auto.offset.reset", "%s: the group's position is outside the log (start %d, end %d)", at, log.Bounds.Start, log.Bounds.End)
	}
	j.notify(warnf("", "%s: the group's position is outside the log (start %d, end %d): going on at %d", at, log.Bounds.Start, log.Bounds.End, to))
	p.seen = 0
	p.fetching = true
	j.cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{at.Topic: {at.Partition: {Epoch: -1, Offset: to}}})
	j.cl.ResumeFetchPartitions(set)
	return nil
}

func (j *joined) commitAll(ctx context.Context, final bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.commitNow(ctx, func(offset.Partition) bool { return true }, final)
}

// commitNow makes what the sink has durable and commits it. mu is held. Its error ends the run; a commit that fails is
// told, and tried again by the next one.
func (j *joined) commitNow(ctx context.Context, want func(offset.Partition) bool, final bool) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	offsets := map[string]map[int32]kgo.EpochOffset{}
	var positions []Position
	for at, p := range j.parts {
		if p.next == 0 && p.pub.current.Load() == unset || !want(at) || p.pub.committed.Load() == p.next {
			continue
		}
		if offsets[at.Topic] == nil {
			offsets[at.Topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[at.Topic][at.Partition] = kgo.EpochOffset{Epoch: p.epoch.Wire(), Offset: p.next}
		positions = append(positions, p.position())
	}
	if len(positions) == 0 && !final {
		return nil
	}
	j.line++
	persist, err := j.cfg.Sink.Checkpoint(ctx, Barrier{ID: j.line, Final: final, Positions: positions})
	if err == nil {
		_, err = persist(ctx)
	}
	if err == nil {
		err = j.cfg.Sink.Completed(ctx, j.line)
	}
	if err != nil {
		return fmt.Errorf("the sink: %w", err)
	}
	if len(positions) == 0 {
		return nil
	}
	if !j.began && j.cfg.BeforeCommit != nil {
		if err := j.before(ctx, positions); err != nil {
			return errorf(Failed, "", "nothing was committed: %w", err)
		}
	}
	j.began = true
	var failed error
	j.cl.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if failed = err; err != nil || resp == nil {
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				at := offset.Partition{Topic: t.Topic, Partition: p.Partition}
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					failed = fmt.Errorf("%s: %w", at, err)
					continue
				}
				if have := j.parts[at]; have != nil {
					have.pub.committed.Store(offsets[t.Topic][p.Partition].Offset)
				}
			}
		}
	})
	if failed != nil {
		j.stats.commitsBad.Add(1)
		j.notify(warnf("", "the commit to group %s failed, the next one tries again: %v", j.cfg.Group, failed))
		return nil
	}
	j.stats.commitsOK.Add(1)
	j.stats.lastCommit.Store(j.cfg.now().UnixNano())
	j.last = positions
	return nil
}

func (j *joined) before(ctx context.Context, send []Position) error {
	now, err := inspect.ReadCommitsOf(ctx, j.cfg.Client, j.cfg.Group)
	if err != nil {
		return err
	}
	c := commits{r: &run{Engine: j.Engine}}
	return c.before(ctx, now, send)
}

func (j *joined) end(err error) (Summary, error) {
	j.stats.setPhase(PhaseStopping)
	s := Summary{Ended: Broken}
	switch {
	case err == nil:
		s.Ended = Finished
	case errors.Is(err, errStop):
		s.Ended, err = Cancelled, nil
		if errors.Is(context.Cause(j.ctx), ErrSuspended) {
			s.Ended = Suspended
		}
	}
	ctx, cancel := context.WithTimeout(j.work, j.cfg.StopTimeout)
	defer cancel()
	if err == nil {
		if err = j.commitAll(ctx, true); err != nil {
			s.Ended = Broken
		}
	}
	if j.cl != nil {
		closed := make(chan struct{})
		go func() { j.cl.CloseAllowingRebalance(); close(closed) }()
		select {
		case <-closed:
		case <-ctx.Done():
		}
	}
	if cerr := j.cfg.Sink.Close(ctx); cerr != nil && err == nil {
		err, s.Ended = fmt.Errorf("close the sink: %w", cerr), Broken
	}
	j.stats.setPhase(PhaseEnded)
	s.Stats, s.Committed = j.Stats(), j.last
	return s, err
}
