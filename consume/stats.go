package consume

// Where a run stands, for progress, metrics and health. The loop stores numbers once a batch; readers take a snapshot.

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/koffset/koffset/offset"
)

// Stats are a snapshot of a run.
type Stats struct {
	At      time.Time
	Started time.Time
	// Phase is "starting", "running", "stopping" or "ended".
	Phase      Phase
	Partitions []PartitionStats // sorted

	Records, Bytes int64 // handed to the sink in this run; keys and values
	// SinkBlocked is how long the run has waited for the sink.
	SinkBlocked time.Duration
	// Throttled is how long the run has waited for its rate.
	Throttled time.Duration

	// OutsideWindow is how many records of a run from one time to another have a time outside.
	OutsideWindow int64

	Checkpoints CheckpointStats

	CommitsSucceeded, CommitsFailed int64
	ForeignCommits                  int64
	LastCommit                      time.Time
}

// Phase is how far a run is.
type Phase string

// The phases of a run.
const (
	PhaseStarting Phase = "starting"
	PhaseRunning  Phase = "running"
	PhaseStopping Phase = "stopping"
	PhaseEnded    Phase = "ended"
)

// PartitionStats is one partition of a snapshot.
type PartitionStats struct {
	offset.Partition
	Position int64 // the next offset to hand to the sink
	// Current is the offset of the last record that the sink got; nil before the first.
	Current *int64
	// Committed is the next offset as last committed by this run; nil before.
	Committed *int64
	End       *int64 // of a bounded run
	// LogEnd is the log end under the isolation in force, as a broker told it last. While Silent is not zero nobody knows what
	// it is now.
	LogEnd int64
	// Silent is how long the partition's broker has not answered; zero while it does, and for the first seconds.
	Silent         time.Duration
	Records, Bytes int64
	Done           bool
}

// Lag is how many offsets lie between the position and the log end; known is false while the broker does not answer.
func (p PartitionStats) Lag() (n int64, known bool) {
	return max(0, p.LogEnd-p.Position), p.Silent == 0
}

// Uncommitted is how many offsets the sink has got that are not committed: 0 for a reader that has committed everything.
// It counts from next to next; Flink's two gauges differ by one there, since currentOffset is the last record.
func (p PartitionStats) Uncommitted() (n int64, ok bool) {
	if p.Committed == nil {
		return 0, false
	}
	return max(0, p.Position-*p.Committed), true
}

// Pending is how many offsets are left: to the end of a bounded run, or to the log end; known is false where the lag of a
// partition is not known, and while a run that starts has not taken its partitions in.
func (s Stats) Pending() (n int64, known bool) {
	known = s.Phase != PhaseStarting
	for _, p := range s.Partitions {
		if p.End != nil {
			n += max(0, *p.End-p.Position)
			continue
		}
		lag, ok := p.Lag()
		n, known = n+lag, known && ok
	}
	return n, known
}

// CheckpointStats counts the checkpoints of a run.
type CheckpointStats struct {
	On                bool
	Completed, Failed int64
	Dropped           int64 // of the failed ones: past their timeout
	Running           int
	LastID            int64 // -1 before the first
	LastAt            time.Time
	LastDuration      time.Duration
	LastSize          int64
	LastPath          string // empty for one in memory
}

// partStats are the published numbers of a partition.
type partStats struct {
	position, current, committed, logEnd, records, bytes atomic.Int64
	silent                                               atomic.Int64 // nanoseconds
	done                                                 atomic.Bool
}

const unset = -1 // in partStats: not known yet. It does not leave this package.

type stats struct {
	started                        time.Time
	phase                          atomic.Value // Phase
	records, bytes                 atomic.Int64
	sinkBlocked, throttled         atomic.Int64 // nanoseconds
	commitsOK, commitsBad, foreign atomic.Int64
	outside                        atomic.Int64 // records outside the window of time
	lastCommit                     atomic.Int64 // unix nanoseconds

	mu    sync.Mutex
	chk   CheckpointStats
	parts []*part // appended to under mu; a *part's published numbers are atomic
}

func (s *stats) setPhase(p Phase) { s.phase.Store(p) }

func (s *stats) checkpoint(f func(*CheckpointStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.chk)
}

// silence is how long a partition has been silent, once that is long enough to say so.
func (e *Engine) silence(p *part) time.Duration {
	if d := p.silent(); d >= e.cfg.Silence {
		return d
	}
	return 0
}

// Stats is where the run stands now. It may be called at any time, from any goroutine.
func (e *Engine) Stats() Stats {
	s := &e.stats
	out := Stats{At: e.cfg.now(), Records: s.records.Load(), Bytes: s.bytes.Load(),
		SinkBlocked: time.Duration(s.sinkBlocked.Load()), Throttled: time.Duration(s.throttled.Load()),
		CommitsSucceeded: s.commitsOK.Load(), CommitsFailed: s.commitsBad.Load(), ForeignCommits: s.foreign.Load(), OutsideWindow: s.outside.Load()}
	if p, ok := s.phase.Load().(Phase); ok {
		out.Phase = p
	}
	if n := s.lastCommit.Load(); n != 0 {
		out.LastCommit = time.Unix(0, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Started, out.Checkpoints = s.started, s.chk
	out.Partitions = make([]PartitionStats, 0, len(s.parts))
	known := func(v *atomic.Int64) *int64 {
		n := v.Load()
		if n == unset {
			return nil
		}
		return &n
	}
	for _, p := range s.parts {
		if p.skip {
			continue
		}
		ps := PartitionStats{Partition: p.Partition, Position: p.pub.position.Load(), Current: known(&p.pub.current),
			Committed: known(&p.pub.committed), LogEnd: p.pub.logEnd.Load(), Silent: e.silence(p), Records: p.pub.records.Load(), Bytes: p.pub.bytes.Load(), Done: p.pub.done.Load()}
		if p.bounded {
			end := p.end
			ps.End = &end
		}
		out.Partitions = append(out.Partitions, ps)
	}
	return out
}
