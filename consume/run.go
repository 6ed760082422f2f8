package consume

// The loop: takes what was fetched, hands it to the sink, and lets checkpoints, commits, discovery and the end happen in
// between. One goroutine owns the partitions and the sink; all others only send it results.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// run is one Engine.Run.
type run struct {
	*Engine
	ctx    context.Context // ends the run
	work   context.Context // of requests that outlive ctx for the last checkpoint; ends with the run
	fetch  *kgo.Client
	parts  map[string][]*part // by topic, then partition number; nil where not read
	list   []*part            // sorted, those that are read
	left   int64              // of MaxRecords, still to take; negative is no bound
	total  int64              // records of the job before this run
	sizes  *sizer
	pace   *pacer // nil without a rate
	turn   int    // of the partitions in pace
	queued int64  // bytes that wait in queues, about

	member  *member       // of the group, for a run that is one; nil where the partitions are the run's own
	shifts  chan shift    // the member's
	want    chan struct{} // asks for the next poll
	polling bool          // a poll is under way

	fetched chan kgo.Fetches
	keeper  keeper
	commit  commits
	found   chan discovery
	probed  chan map[*part]records.Answer
	taken   time.Time // when records last came, of any partition
	probing bool

	window     window
	reach      reach
	discoverAt time.Time
	transient  time.Time // when a passing error was told last
	gap        gapWatch
}

// Run reads until the end is reached, ctx ends, or something fails. When ctx ends a last checkpoint is made and committed,
// within Config.StopTimeout; context.Cause(ctx) == ErrSuspended makes it a suspension.
//
// The error is nil for a run that finished, is incomplete, was cancelled or suspended; otherwise an *Error. The summary is valid in either case.
func (e *Engine) Run(ctx context.Context) (Summary, error) {
	type result struct {
		s   Summary
		err error
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done := make(chan result, 1)
	go func() {
		s, err := e.run(ctx, work)
		done <- result{s, asError(err)}
	}()
	select {
	case r := <-done:
		return r.s, r.err
	case <-ctx.Done():
	}
	// A sink that does not return (a full pipe that nobody reads) must not hold up the stop for ever.
	t := time.NewTimer(e.cfg.StopTimeout + time.Second)
	defer t.Stop()
	select {
	case r := <-done:
		return r.s, r.err
	case <-t.C:
		return Summary{Ended: Broken, Stats: e.Stats()}, errorf(Failed, "", "the sink did not accept within %s what it was given: stopped without a last checkpoint", e.cfg.StopTimeout)
	}
}

func (e *Engine) run(ctx, work context.Context) (Summary, error) {
	defer e.stats.setPhase(PhaseEnded)
	defer e.Close()
	r := &run{Engine: e, ctx: ctx, work: work, parts: map[string][]*part{}, left: -1,
		want: make(chan struct{}, 1), fetched: make(chan kgo.Fetches), found: make(chan discovery, 1), reach: reach{answers: make(chan heard, 1)}, probed: make(chan map[*part]records.Answer, 1)}
	if e.cfg.Join != nil {
		r.member = newMember(e, work)
		r.shifts = r.member.shifts
	}
	r.window = e.cfg.window()
	r.keeper.init(r)
	r.commit.init(r)
	err := r.start()
	if err == nil {
		err = r.loop()
	}
	return r.end(err)
}

// start opens the sink, writes the first checkpoint, and begins to fetch.
func (r *run) start() error {
	now := r.cfg.now()
	r.stats.mu.Lock()
	r.stats.started = now
	r.stats.mu.Unlock()
	for _, row := range r.plan.Rows {
		if r.member == nil { // a member's come with the group's assignment
			r.add(newPart(row))
		}
	}
	var back *Restored
	if r.restored != nil {
		back = &Restored{Checkpoint: r.restored.chk.ID, State: r.restored.chk.Sink.State, TakeBack: !r.cfg.Checkpoints.AtLeastOnce,
			Elsewhere: r.jobDir != "" && len(r.restored.own) == 0}
		r.total = r.restored.chk.Records
	}
	r.left = recordsLeft(r.cfg.End, r.total)
	if err := r.cfg.Sink.Open(r.ctx, back); err != nil {
		return fmt.Errorf("open the sink: %w", err)
	}
	if back != nil {
		// A crash between the checkpoint and what follows it left this undone.
		if err := r.cfg.Sink.Completed(r.ctx, back.Checkpoint); err != nil {
			return fmt.Errorf("the sink: %w", err)
		}
	}
	if err := r.keeper.first(now); err != nil {
		return err
	}
	if r.cfg.Rate.limited() {
		r.pace = newPacer(r.cfg.Rate, now)
	}
	if r.cfg.Discovery > 0 && !r.bounded() {
		r.discoverAt = now.Add(r.cfg.Discovery)
	}
	r.reach.askAt = now.Add(r.cfg.Silence / 2)
	r.stats.setPhase(PhaseRunning)
	return r.startFetching()
}

// recordsLeft is how many records this run may deliver, when the job has delivered so many before; negative is no bound.
func recordsLeft(e End, delivered int64) int64 {
	left := int64(-1)
	if e.MaxRecords > 0 {
		left = e.MaxRecords
	}
	if e.JobRecords > 0 {
		if n := max(0, e.JobRecords-delivered); left < 0 || n < left {
			left = n
		}
	}
	return left
}

func (r *run) add(p *part) {
	ps := r.parts[p.Topic]
	for int(p.Partition.Partition) >= len(ps) {
		ps = append(ps, nil)
	}
	ps[p.Partition.Partition] = p
	r.parts[p.Topic] = ps
	i, _ := slices.BinarySearchFunc(r.list, p, func(a, b *part) int { return a.Compare(b.Partition) })
	r.list = slices.Insert(r.list, i, p)
	p.settle()
	p.heard = r.cfg.now()
	r.stats.mu.Lock()
	r.stats.parts = slices.Clone(r.list)
	r.stats.mu.Unlock()
}

// part is where the run stands on a partition; nil where it is not read.
func (r *run) part(at offset.Partition) *part {
	ps := r.parts[at.Topic]
	if n := int(at.Partition); n >= 0 && n < len(ps) {
		return ps[n]
	}
	return nil
}

// drop forgets a partition that is somebody else's now, with what of it still waits.
func (r *run) drop(p *part) {
	for _, rec := range p.queue {
		r.queued -= int64(len(rec.Key)+len(rec.Value)) + recordBytes
	}
	p.queue = nil
	r.parts[p.Topic][p.Partition.Partition] = nil
	r.list = slices.DeleteFunc(r.list, func(x *part) bool { return x == p })
	r.stats.mu.Lock()
	r.stats.parts = slices.Clone(r.list)
	r.stats.mu.Unlock()
}

// errStop ends the loop without a failure.
var errStop = errors.New("stop")

// loop returns nil when the end is reached, errStop when ctx has ended, and otherwise why it failed.
func (r *run) loop() error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if r.reachedEnd() {
			return nil
		}
		// The context comes first, so that a fast topic cannot keep a stop waiting.
		if r.ctx.Err() != nil {
			return errStop
		}
		now := r.cfg.now()
		if err := r.tick(now); err != nil {
			return err
		}
		wake, waits := r.wake(now), false
		if r.pace != nil {
			if wait := r.pace.wait(now); r.anyQueued() {
				if wait == 0 {
					if err := r.deliverPiece(now); err != nil {
						return err
					}
					continue
				}
				wake, waits = min(wake, wait), true
			}
		}
		if r.pace == nil || r.wantsMore() {
			r.ask()
		}
		timer.Reset(wake)
		if err := r.next(timer.C, wake, waits); err != nil {
			return err
		}
	}
}

// next waits until something happens, for wake at most, and does what it means. waits says that the rate is what is waited for.
func (r *run) next(timer <-chan time.Time, wake time.Duration, waits bool) error {
	select {
	case <-r.ctx.Done():
		return errStop
	case <-timer:
		if waits {
			r.stats.throttled.Add(int64(wake))
		}
		return nil
	case f := <-r.fetched:
		return r.polled(f)
	case s := <-r.shifts:
		return r.shifted(s)
	case res := <-r.keeper.results:
		return r.keeper.ended(res)
	case res := <-r.commit.results:
		return r.commit.ended(res)
	case h := <-r.reach.answers:
		return r.hear(h)
	case d := <-r.found:
		return r.discovered(d)
	case v := <-r.probed:
		return r.probeEnded(v)
	}
}

// polled takes what a poll brought.
func (r *run) polled(f kgo.Fetches) error {
	r.polling = false
	if r.member == nil && r.pace == nil {
		r.ask() // the next poll overlaps with this one's delivery
	}
	err := r.take(f)
	if r.member != nil {
		r.fetch.AllowRebalance()
	}
	return err
}

// between lets what waits happen between two batches of one fetch, without blocking, so that a checkpoint is not held up
// by a large fetch.
func (r *run) between() error {
	now := r.cfg.now()
	if err := r.tick(now); err != nil {
		return err
	}
	for {
		select {
		case <-r.ctx.Done():
			return errStop
		case res := <-r.keeper.results:
			if err := r.keeper.ended(res); err != nil {
				return err
			}
		case res := <-r.commit.results:
			if err := r.commit.ended(res); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// tick does what is due.
func (r *run) tick(now time.Time) error {
	if err := r.keeper.tick(now); err != nil {
		return err
	}
	if !r.discoverAt.IsZero() && !now.Before(r.discoverAt) {
		r.discoverAt = time.Time{} // set again when the answer is there
		r.discover()
	}
	r.listen(now)
	return r.probeIdle(now)
}

// wake is how long the loop may sleep.
func (r *run) wake(now time.Time) time.Duration {
	d := time.Minute
	for _, at := range []time.Time{r.keeper.wake(), r.discoverAt, r.probeAt(now), r.listenAt()} {
		if !at.IsZero() {
			d = min(d, max(0, at.Sub(now)))
		}
	}
	return d
}

func (r *run) reachedEnd() bool {
	if r.left == 0 {
		return true
	}
	if !r.bounded() {
		return false
	}
	for _, p := range r.list {
		if !p.done() {
			return false
		}
	}
	return true
}

// bounded says that the run has an end, which a restored checkpoint may have brought along.
func (r *run) bounded() bool {
	return r.cfg.End.bounded() || slices.ContainsFunc(r.list, func(p *part) bool { return p.bounded })
}

func (r *run) anyQueued() bool {
	return slices.ContainsFunc(r.list, func(p *part) bool { return len(p.queue) > 0 })
}

// take handles one poll.
func (r *run) take(fs kgo.Fetches) error {
	for i := range fs {
		for j := range fs[i].Topics {
			t := &fs[i].Topics[j]
			for k := range t.Partitions {
				fp := &t.Partitions[k]
				p := r.part(offset.Partition{Topic: t.Topic, Partition: fp.Partition})
				if fp.Err != nil {
					if err := r.fetchFailed(t.Topic, fp.Partition, p, fp.Err); err != nil {
						return err
					}
				}
				if p == nil || len(fp.Records) == 0 {
					continue
				}
				if err := r.takeBatch(p, fp); err != nil {
					return err
				}
				if err := r.between(); err != nil {
					return err
				}
			}
		}
	}
	r.sizes.adapt()
	return nil
}

func (r *run) takeBatch(p *part, fp *kgo.FetchPartition) error {
	end := fp.HighWatermark
	if r.cfg.isolation() == offset.ReadCommitted && fp.LastStableOffset >= 0 {
		end = fp.LastStableOffset
	}
	p.pub.logEnd.Store(end)
	p.hear(r.cfg.now())
	r.taken = r.cfg.now()
	p.probe.reset(r.taken)
	left := r.left
	if r.pace != nil {
		left = -1 // counted when they are handed out: the first partition must not take all of them
	}
	a := p.admit(fp.Records, left)
	r.window.count(a.records, &r.stats)
	if r.pace != nil {
		if len(a.records) > 0 {
			p.queue = append(p.queue, a.records...)
			r.queued += a.bytes + int64(len(a.records))*recordBytes
		}
	} else if len(a.records) > 0 {
		if err := r.deliver(p, a.records, a.bytes); err != nil {
			return err
		}
	}
	p.settle()
	if p.over() || r.left == 0 {
		r.stopFetching(p)
	}
	return nil
}

// deliver hands records to the sink.
func (r *run) deliver(p *part, records []*kgo.Record, bytes int64) error {
	begin := time.Now()
	err := r.cfg.Sink.Write(r.ctx, Batch{Topic: p.Topic, Partition: p.Partition.Partition, Records: records})
	r.stats.sinkBlocked.Add(int64(time.Since(begin)))
	if err != nil {
		if r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()) {
			return errStop
		}
		return fmt.Errorf("write %s to %s: %w", p.Partition, sinkName(r.cfg.Sink.Info().Kind, r.cfg.Sink.Info().Location), err)
	}
	p.delivered(records, bytes)
	r.stats.records.Add(int64(len(records)))
	r.stats.bytes.Add(bytes)
	if r.left > 0 {
		r.left -= int64(len(records))
	}
	return nil
}

// deliverPiece hands the next piece under the rate to the sink: partitions take turns.
func (r *run) deliverPiece(now time.Time) error {
	for range r.list {
		r.turn = (r.turn + 1) % len(r.list)
		p := r.list[r.turn]
		if len(p.queue) == 0 {
			continue
		}
		n, bytes := 0, int64(0)
		limit := int64(r.pace.current(now).Bytes / 50)
		most := min(r.pace.piece(now), len(p.queue))
		if r.left > 0 {
			most = int(min(int64(most), r.left))
		}
		for n < most && (n == 0 || limit == 0 || bytes < limit) {
			bytes += int64(len(p.queue[n].Key) + len(p.queue[n].Value))
			n++
		}
		piece := p.queue[:n]
		if err := r.deliver(p, piece, bytes); err != nil {
			return err
		}
		clear(piece) // the records' memory is free again
		if p.queue = p.queue[n:]; len(p.queue) == 0 {
			p.queue = nil
		}
		r.queued -= bytes + int64(n)*recordBytes
		p.settle()
		r.pace.spend(now, n, bytes)
		return nil
	}
	r.queued = 0
	return nil
}

// wantsMore says that a partition could starve while others have records waiting, and that there is room. A member to which nothing
// is assigned polls too: only a poll brings the errors of its session, and without one it would wait for ever and say nothing.
func (r *run) wantsMore() bool {
	if r.left == 0 || r.queued >= r.cfg.Fetch.Buffer {
		return false
	}
	if r.member != nil && !r.anyQueued() {
		return true
	}
	return slices.ContainsFunc(r.list, func(p *part) bool { return len(p.queue) == 0 && !p.over() })
}

// mark is a partition as a checkpoint holds it, and what a commit of it must know.
type mark struct {
	Position
	topicID   string
	bounds    offset.Bounds
	end, left *int64
	skip      bool
}

// marks are what a checkpoint holds now.
func (r *run) marks() []mark {
	out := make([]mark, 0, len(r.list))
	for _, p := range r.list {
		m := mark{Position: p.position(), topicID: p.topicID, bounds: p.bounds, skip: p.skip}
		if p.bounded {
			end := p.goal
			m.end = &end
		}
		if p.counted {
			left := p.leftOut
			m.left = &left
		}
		out = append(out, m)
	}
	return out
}

func positionsOf(marks []mark) []Position {
	out := make([]Position, 0, len(marks))
	for _, m := range marks {
		if !m.skip {
			out = append(out, m.Position)
		}
	}
	return out
}
