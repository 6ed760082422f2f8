package consume

// Making an engine: everything that happens before the first record is asked for.

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Engine is a run that is planned. Run may be called once.
type Engine struct {
	cfg      Config
	plan     *Plan
	topics   map[string]inspect.Topic
	restored *restored
	asked    checkpointfile.CheckpointAsked
	carried  []checkpointfile.CheckpointPartition // positions of a restored checkpoint that this run does not read
	// abandoned are checkpoints of the job that this run does not go on from.
	abandoned []int64
	unlock    func() // gives the job's lock back; nil without one
	jobDir    string // empty with checkpoints in memory, or without
	firstID   int64  // of the next checkpoint
	stats     stats
	notifyMu  sync.Mutex
	closed    sync.Once
}

// Run plans a run and runs it. ctx ends it; see Engine.Run.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	e, err := New(ctx, cfg)
	if err != nil {
		return Summary{}, err
	}
	defer e.Close()
	for _, n := range e.plan.Notices {
		e.notify(n)
	}
	return e.Run(ctx)
}

// New checks the configuration, takes the job's lock, finds the checkpoint to continue from, and resolves where every
// partition starts and ends. It writes nothing and commits nothing. Call Close when the engine is not needed any more.
//
// The error is an *Error: Usage for a configuration that cannot be used, Refused where a policy or a limit refuses,
// NotFound for a topic that does not exist; or a connection's or broker's error.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	cfg.fill()
	e := &Engine{cfg: cfg}
	e.stats.setPhase(PhaseStarting)
	e.stats.chk = CheckpointStats{On: cfg.Checkpoints.Interval > 0, LastID: -1}
	if err := e.prepare(ctx); err != nil {
		e.Close()
		return nil, asError(err)
	}
	return e, nil
}

func (e *Engine) prepare(ctx context.Context) error {
	c := &e.cfg
	var notes []Notice
	if c.Checkpoints.Dir != "" {
		dir, err := checkpointfile.ParseCheckpointDir(c.Checkpoints.Dir)
		if err != nil {
			return fileError(err)
		}
		c.Checkpoints.Dir, e.jobDir = dir, checkpointfile.JobDir(dir, c.Checkpoints.Job)
		if e.unlock, err = checkpointfile.LockJob(e.jobDir); err != nil {
			return fileError(err)
		}
		checkpointfile.SweepCheckpoints(e.jobDir)
	}
	there, err := findRestore(c.Checkpoints)
	if err != nil {
		return err
	}
	from := there.from
	e.restored, e.firstID, e.abandoned, notes = from, there.nextID, there.abandoned, there.notices
	e.asked = c.question()
	if from != nil {
		if err := from.reconcile(c); err != nil {
			return err
		}
		e.asked = from.asked
	}
	facts, topics, err := readFacts(ctx, c)
	if err != nil {
		return err
	}
	e.topics = topics
	if from != nil {
		if err := from.fits(c, inspect.Here(facts.cluster.ID, topics)); err != nil {
			return err
		}
	}
	if e.plan, err = makePlan(c, facts, from); err != nil {
		return err
	}
	if from != nil {
		e.carried = from.carried(e.plan.Rows)
		if n := len(e.carried); n > 0 {
			notes = append(notes, infof("%s of the checkpoint not read, such as %s: their positions stay in the checkpoints of this run", text.Plural(n, "partition"), e.carried[0].At()))
		}
	}
	e.plan.Notices = append(notes, e.plan.Notices...)
	return nil
}

func fileError(err error) error {
	kind, hint := Failed, fileHint(err)
	if fe, ok := err.(*checkpointfile.FileError); ok {
		switch fe.Err {
		case checkpointfile.ErrForeign:
			kind = Usage
		case checkpointfile.ErrLocked:
			kind = Refused
		}
	}
	return errorf(kind, hint, "checkpoints: %w", err)
}

// Plan is what Run will do. It must not be changed.
func (e *Engine) Plan() *Plan { return e.plan }

// Survey fills in what a plan says of the logs for people: the times of the first records, and how many bytes the backlog takes
// on disk. It costs up to a request a partition, so it is for those who show the plan; what cannot be read stays unknown.
func (e *Engine) Survey(ctx context.Context) {
	parts := inspect.Partitions{}
	for _, r := range e.plan.Rows {
		parts.Add(r.Partition)
	}
	var whole map[offset.Partition]int64
	var wait sync.WaitGroup
	wait.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, surveyTime)
		defer cancel()
		whole, _ = inspect.ReadSizes(ctx, e.cfg.Client, parts) // without the right to ask, or an answer, sizes stay unknown
	})
	firstTimes(ctx, e.cfg.reader(), e.plan.Rows)
	wait.Wait()
	fillSizes(e.plan.Rows, whole)
}

// Close gives back what New took, such as the job's lock. It may be called more than once, and after Run.
func (e *Engine) Close() {
	e.closed.Do(func() {
		if e.unlock != nil {
			e.unlock()
		}
	})
}

func (e *Engine) notify(n Notice) {
	if e.cfg.Notify == nil {
		return
	}
	e.notifyMu.Lock()
	defer e.notifyMu.Unlock()
	e.cfg.Notify(n)
}

// topicIDs are the ids of the topics that are read, for checkpoints.
func (e *Engine) topicIDs() []checkpointfile.CheckpointTopic {
	var out []checkpointfile.CheckpointTopic
	for name, t := range e.topics {
		out = append(out, checkpointfile.CheckpointTopic{Name: name, ID: t.TopicID()})
	}
	if len(e.carried) > 0 {
		for _, t := range e.restored.chk.Topics {
			if _, read := e.topics[t.Name]; !read {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b checkpointfile.CheckpointTopic) int {
		return offset.Partition{Topic: a.Name}.Compare(offset.Partition{Topic: b.Name})
	})
	return out
}

// mode is the checkpoint mode by Flink's name.
func (c *Config) mode() string {
	if c.Checkpoints.AtLeastOnce {
		return "AT_LEAST_ONCE"
	}
	return "EXACTLY_ONCE"
}

// Summary is how a run ended.
type Summary struct {
	Ended Ending
	Stats Stats
	// Kept is the checkpoint to continue from; empty where none is kept.
	Kept string
	// KeptWhy says why it was kept, or why none was.
	KeptWhy string
	// Short says of each partition that is not read as far as was asked, why; with the ending Incomplete.
	Short []string
	// Committed are the positions that were committed last; nil where nothing was.
	Committed []Position
}

// Ending is how a run ended.
type Ending string

// The endings.
const (
	Finished Ending = "finished" // the end was reached
	// Incomplete: everything that can be read now was read, and it is less than was asked for. An open transaction holds the
	// rest back, or a counted range has fewer records.
	Incomplete Ending = "incomplete"
	Cancelled  Ending = "cancelled" // the context ended
	Suspended  Ending = "suspended" // the context ended with ErrSuspended
	Broken     Ending = "failed"
)

func (s Summary) String() string {
	return fmt.Sprintf("%s after %s records, %s", s.Ended, text.Count(s.Stats.Records), sizeText(float64(s.Stats.Bytes)))
}
