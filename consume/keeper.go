package consume

// Checkpoints: drawing the line in the sink, writing the file beside later writes, and what follows a completed one.
// Auto-commit goes the same way without a file: the line is drawn, and what lies before it is committed.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/text"
)

// keeper runs checkpoints. Only the loop calls its methods; the work beside it sends to results.
type keeper struct {
	r       *run
	on      bool // checkpoints; otherwise auto-commit, or nothing
	sched   *scheduler
	results chan kept
	newest  int64   // completed, -1 before the first
	onDisk  []int64 // completed and kept, the oldest first; a restored one is the first
	path    string  // of the newest on disk
	beside  sync.WaitGroup
	ctx     context.Context // of what runs beside
	cancel  context.CancelFunc
}

// kept is the end of a checkpoint's asynchronous part.
type kept struct {
	id    int64
	marks []mark
	path  string
	size  int64
	err   error
}

func (k *keeper) init(r *run) {
	k.r, k.newest = r, -1
	k.on = r.cfg.Checkpoints.Interval > 0
	k.results = make(chan kept, 64)
	k.ctx, k.cancel = context.WithCancel(r.work)
}

// quiesce ends what runs beside the loop and removes what it still wrote: after the end of a run nothing may appear on
// disk any more, least of all after a finish has removed everything.
func (k *keeper) quiesce(ctx context.Context) {
	k.cancel()
	done := make(chan struct{})
	go func() { k.beside.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	for {
		select {
		case res := <-k.results:
			if !slices.Contains(k.onDisk, res.id) {
				k.discard(res.id)
			}
		default:
			return
		}
	}
}

// first writes the checkpoint before the first record, so that a crash before the next one does not resolve "latest" to a
// later latest. A restored run has its checkpoint already.
func (k *keeper) first(now time.Time) error {
	r, c := k.r, &k.r.cfg
	switch {
	case k.on:
		id := r.firstID
		if r.restored != nil && r.jobDir != "" {
			k.onDisk, k.path = slices.Clone(r.restored.own), r.restored.from.Path
		}
		// A run that goes on from another place than the job's newest begins a branch with a checkpoint of its own.
		if r.jobDir != "" && (r.restored == nil || len(r.restored.own) == 0 || len(r.abandoned) > 0) {
			persist, marks, err := k.draw(id, false)
			if err != nil {
				return err
			}
			res := k.persist(r.ctx, id, marks, r.total, "", persist)
			if res.err != nil {
				return errorf(Failed, "", "write the first checkpoint: %w", res.err)
			}
			// It commits nothing: nothing was read.
			if err := k.complete(res, now, 0, false); err != nil {
				return err
			}
			id++
			k.setAside()
		}
		k.sched = newScheduler(c.Checkpoints, id, now)
	case r.plan.Committer == CommitsByInterval:
		k.sched = newScheduler(Checkpoints{Interval: c.Commit.Interval, Timeout: c.Checkpoints.Timeout, Tolerable: int(^uint(0) >> 1)}, 0, now)
	}
	return nil
}

// setAside takes the checkpoints that this run does not go on from out of the job's line: after a crash or a finish the newest
// that is left must not be one of them.
func (k *keeper) setAside() {
	r := k.r
	var last string
	for _, id := range r.abandoned {
		path, err := checkpointfile.AbandonCheckpoint(r.jobDir, id)
		if err != nil {
			r.notify(warnf("", "%v", err))
			continue
		}
		last = path
	}
	if last != "" {
		r.notify(infof("set aside: %s of job %s that this run does not continue from; the newest is %s", text.Plural(len(r.abandoned), "checkpoint"), r.cfg.Checkpoints.Job, last))
	}
}

func (k *keeper) wake() time.Time {
	if k.sched == nil {
		return time.Time{}
	}
	return k.sched.wake()
}

// tick drops what takes too long and begins what is due.
func (k *keeper) tick(now time.Time) error {
	if k.sched == nil {
		return nil
	}
	for _, id := range k.sched.expire(now) {
		if !k.on {
			k.r.notify(warnf("", "the sink did not accept within %s what was to be committed: nothing was committed", k.sched.timeout))
			continue
		}
		k.r.stats.checkpoint(func(s *CheckpointStats) { s.Failed++; s.Dropped++; s.Running = len(k.sched.running) })
		k.r.notify(warnf("", "checkpoint %d was dropped: it took longer than %s; nothing of it is committed", id, k.sched.timeout))
		k.discard(id)
	}
	if err := k.tooMany(nil); err != nil {
		return err
	}
	if !k.sched.ready(now) {
		return nil
	}
	id := k.sched.begin(now)
	k.r.gap.look(k.r, now)
	persist, marks, err := k.draw(id, false)
	if err != nil {
		return err
	}
	k.r.stats.checkpoint(func(s *CheckpointStats) { s.Running = len(k.sched.running) })
	records := k.r.total + k.r.stats.records.Load()
	k.beside.Go(func() {
		ctx, cancel := context.WithTimeout(k.ctx, k.sched.timeout)
		defer cancel()
		res := k.persist(ctx, id, marks, records, "", persist)
		select {
		case k.results <- res:
		case <-k.r.work.Done():
		}
	})
	return nil
}

// draw draws the line in the sink. Its error is the sink's, and ends the run: what the sink could not hand on is in no
// checkpoint and no commit.
func (k *keeper) draw(id int64, final bool) (Persist, []mark, error) {
	marks := k.r.marks()
	begin := time.Now()
	persist, err := k.r.cfg.Sink.Checkpoint(k.r.work, Barrier{ID: id, Final: final, Positions: positionsOf(marks)})
	k.r.stats.sinkBlocked.Add(int64(time.Since(begin)))
	if err != nil {
		return nil, nil, fmt.Errorf("write to %s: %w", sinkName(k.r.cfg.Sink.Info().Kind, k.r.cfg.Sink.Info().Location), err)
	}
	return persist, marks, nil
}

// persist is the asynchronous part: the sink's, then the file. It runs beside the loop and touches nothing of it.
func (k *keeper) persist(ctx context.Context, id int64, marks []mark, records int64, final string, sink Persist) kept {
	out := kept{id: id, marks: marks}
	state, err := sink(ctx)
	if err != nil {
		out.err = err
		return out
	}
	if !k.on || k.r.jobDir == "" {
		return out
	}
	if err := ctx.Err(); err != nil {
		out.err = err
		return out
	}
	h := checkpointfile.Header{CreatedAt: k.r.cfg.now(), Version: k.r.cfg.Version, ClusterID: k.r.plan.Cluster.ID}
	out.size, out.err = checkpointfile.WriteCheckpoint(k.r.jobDir, &h, k.contents(id, marks, records, final, state))
	out.path = filepath.Join(k.r.jobDir, checkpointfile.CheckpointName(id))
	return out
}

func (k *keeper) contents(id int64, marks []mark, records int64, final string, state json.RawMessage) checkpointfile.Checkpoint {
	c, r := &k.r.cfg, k.r
	info := c.Sink.Info()
	chk := checkpointfile.Checkpoint{Job: c.Checkpoints.Job, ID: id, Group: c.Group, Mode: c.mode(), Isolation: c.isolation().String(),
		Start: r.plan.startText(), Asked: &r.asked, Topics: r.topicIDs(), Records: records, Final: final,
		Sink: checkpointfile.CheckpointSink{Kind: info.Kind, Location: info.Location, State: state}}
	for _, m := range marks {
		chk.Partitions = append(chk.Partitions, checkpointfile.CheckpointPartition{Topic: m.Topic, Partition: m.Partition.Partition,
			Offset: m.Offset, LeaderEpoch: m.LeaderEpoch, End: m.end, Left: m.left, Skipped: m.skip})
	}
	chk.Partitions = append(chk.Partitions, r.carried...)
	return chk
}

// ended handles the end of an asynchronous part.
func (k *keeper) ended(res kept) error {
	now := k.r.cfg.now()
	begun, running := k.sched.begun(res.id)
	switch {
	case res.err != nil:
		if k.sched.fail(res.id, now) {
			return k.failed(res)
		}
		k.discard(res.id)
	case !running || !k.sched.complete(res.id, now):
		k.discard(res.id) // it had been dropped: its late end is ignored
	case res.id < k.newest:
		k.discard(res.id) // a newer one overtook it
	default:
		return k.complete(res, now, now.Sub(begun), true)
	}
	return nil
}

func (k *keeper) failed(res kept) error {
	if !k.on {
		k.r.notify(warnf("", "the sink could not make durable what was to be committed: %v", res.err))
		return nil
	}
	k.r.stats.checkpoint(func(s *CheckpointStats) { s.Failed++; s.Running = len(k.sched.running) })
	k.discard(res.id)
	k.r.notify(warnf("", "checkpoint %d failed: %v; nothing of it is committed", res.id, res.err))
	return k.tooMany(res.err)
}

func (k *keeper) tooMany(cause error) error {
	if !k.on || !k.sched.tooMany() {
		return nil
	}
	if cause == nil {
		cause = fmt.Errorf("the last one took longer than %s", k.sched.timeout)
	}
	return errorf(Failed, "{{tolerable-failed-checkpoints N}} tolerates up to N", "%s failed in a row, tolerable: %d: %w", text.Plural(k.sched.failed, "checkpoint"), k.sched.tolerable, cause)
}

// complete is what follows a checkpoint that is durable: the sink shows what waited for it, older ones go, and its offsets
// are committed, exactly them.
func (k *keeper) complete(res kept, now time.Time, took time.Duration, commit bool) error {
	r := k.r
	k.newest = res.id
	if k.on {
		r.stats.checkpoint(func(s *CheckpointStats) {
			s.Completed++
			s.LastID, s.LastAt, s.LastDuration, s.LastSize, s.LastPath = res.id, now, took, res.size, res.path
			if k.sched != nil {
				s.Running = len(k.sched.running)
			}
		})
		if res.path != "" {
			k.onDisk, k.path = append(k.onDisk, res.id), res.path
		}
	}
	if err := r.cfg.Sink.Completed(r.work, res.id); err != nil {
		return fmt.Errorf("the sink: %w", err)
	}
	for len(k.onDisk) > r.cfg.Checkpoints.Retained {
		k.discard(k.onDisk[0])
		k.onDisk = k.onDisk[1:]
	}
	if commit && (r.plan.Committer != CommitsNever || r.cfg.Store != nil && k.on) {
		r.commit.request(res.id, res.marks)
	}
	return nil
}

// discard removes a checkpoint's files, if it has any.
func (k *keeper) discard(id int64) {
	if !k.on || k.r.jobDir == "" {
		return
	}
	if err := checkpointfile.RemoveCheckpoint(k.r.jobDir, id); err != nil {
		k.r.notify(warnf("", "%v", err))
	}
}

// line draws a line at once, makes it durable and asks for its commit: the last one of a run, or before partitions are
// handed over. It returns it with an error where it failed.
func (k *keeper) line(ctx context.Context, final string, last bool) (kept, error) {
	now := k.r.cfg.now()
	var id int64
	if k.sched != nil {
		id = k.sched.begin(now)
	}
	persist, marks, err := k.draw(id, last)
	if err != nil {
		return kept{}, err
	}
	// Those under way are older: their ends no longer matter.
	if k.sched != nil {
		k.sched.running = slices.DeleteFunc(k.sched.running, func(x runningCheckpoint) bool { return x.id != id })
	}
	res := k.persist(ctx, id, marks, k.r.total+k.r.stats.records.Load(), final, persist)
	if res.err == nil {
		if k.sched != nil {
			k.sched.complete(id, k.r.cfg.now())
		}
		res.err = k.complete(res, k.r.cfg.now(), k.r.cfg.now().Sub(now), true)
	}
	if res.err != nil {
		k.discard(id)
		if errors.Is(res.err, context.DeadlineExceeded) {
			res.err = fmt.Errorf("not within %s: %w", k.r.cfg.StopTimeout, res.err)
		}
		return res, errorf(Failed, "", "the last checkpoint: %w", res.err)
	}
	return res, nil
}

// removeAll removes what this run keeps, and what it went on from. Checkpoints that it did not go on from are not its own.
func (k *keeper) removeAll() {
	for _, id := range k.onDisk {
		k.discard(id)
	}
	k.onDisk, k.path = nil, ""
}
