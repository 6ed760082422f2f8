package consume

// When checkpoints begin, how long they may take, and how many may fail: a state machine that is told the time.

import (
	"slices"
	"time"
)

// scheduler decides when checkpoints begin and what became of them. Ids count up from the first one.
type scheduler struct {
	interval, minPause, timeout time.Duration
	maxConcurrent, tolerable    int

	nextID    int64
	due       time.Time // the next begin by the interval alone
	lastEnd   time.Time
	running   []runningCheckpoint // the oldest first
	failed    int                 // one after another
	lastCount int64               // the newest id that failed, so that one id counts once
}

type runningCheckpoint struct {
	id    int64
	begun time.Time
}

func newScheduler(k Checkpoints, firstID int64, now time.Time) *scheduler {
	s := &scheduler{
		// A pause longer than the interval is the interval, as in Flink: the interval alone could never be kept.
		interval: max(k.Interval, k.MinPause), minPause: k.MinPause, timeout: k.Timeout,
		maxConcurrent: max(1, k.MaxConcurrent), tolerable: k.Tolerable, nextID: firstID, lastCount: -1,
	}
	s.due = now.Add(s.interval)
	return s
}

// next is when a checkpoint may begin; zero where one must end first.
func (s *scheduler) next() time.Time {
	if len(s.running) >= s.maxConcurrent {
		return time.Time{}
	}
	at := s.due
	if !s.lastEnd.IsZero() {
		if p := s.lastEnd.Add(s.minPause); p.After(at) {
			at = p
		}
	}
	return at
}

// wake is the next moment at which something may happen: a begin or a timeout; zero for none.
func (s *scheduler) wake() time.Time {
	at := s.next()
	for _, r := range s.running {
		if t := r.begun.Add(s.timeout); at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return at
}

// ready says that a checkpoint is due.
func (s *scheduler) ready(now time.Time) bool {
	at := s.next()
	return !at.IsZero() && !now.Before(at)
}

// begin starts a checkpoint and returns its id. Begins that were missed while one took too long are not made up for.
func (s *scheduler) begin(now time.Time) int64 {
	id := s.nextID
	s.nextID++
	s.running = append(s.running, runningCheckpoint{id, now})
	for !s.due.After(now) {
		s.due = s.due.Add(s.interval)
		if s.due.Add(100 * s.interval).Before(now) { // a suspended machine: do not count it up one by one
			s.due = now.Add(s.interval)
		}
	}
	return id
}

// complete ends a checkpoint. It is false where the checkpoint had been dropped: its end is then ignored.
func (s *scheduler) complete(id int64, now time.Time) bool {
	if !s.remove(id) {
		return false
	}
	s.lastEnd, s.failed = now, 0
	return true
}

// fail ends a checkpoint that failed; false where it had been dropped.
func (s *scheduler) fail(id int64, now time.Time) bool {
	if !s.remove(id) {
		return false
	}
	s.lastEnd = now
	s.count(id)
	return true
}

// expire drops the checkpoints that have run longer than the timeout, and returns their ids.
func (s *scheduler) expire(now time.Time) []int64 {
	var out []int64
	for _, r := range slices.Clone(s.running) {
		if now.Sub(r.begun) >= s.timeout {
			s.fail(r.id, now)
			out = append(out, r.id)
		}
	}
	return out
}

func (s *scheduler) count(id int64) {
	if id > s.lastCount {
		s.lastCount = id
		s.failed++
	}
}

// tooMany says that more checkpoints failed one after another than are tolerable.
func (s *scheduler) tooMany() bool { return s.failed > s.tolerable }

// begun is when a running checkpoint began.
func (s *scheduler) begun(id int64) (time.Time, bool) {
	for _, r := range s.running {
		if r.id == id {
			return r.begun, true
		}
	}
	return time.Time{}, false
}

func (s *scheduler) remove(id int64) bool {
	i := slices.IndexFunc(s.running, func(r runningCheckpoint) bool { return r.id == id })
	if i < 0 {
		return false
	}
	s.running = slices.Delete(s.running, i, i+1)
	return true
}
