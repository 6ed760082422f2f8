package migrate

import (
	"context"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
)

// Syncer carries the same groups again and again, in one direction. Each round compares the source with the target, and the
// target with what the syncer itself committed there.
type Syncer struct {
	// State is where it remembers that.
	State SyncState
	// Retention is how long the target keeps commits of a group without members; zero for not known. A commit is made again
	// after half of it.
	Retention time.Duration
	// FollowBack lets a target group go back where its source group went back. TakeBack carries over commits of others.
	FollowBack, TakeBack bool
	// Clock is the time of a commit.
	Clock func() time.Time

	carried map[checkpointfile.Key]Carried
	said    map[checkpointfile.Key]bool
}

// SyncStep is what a round does with one row.
type SyncStep string

// The steps.
const (
	StepNone      SyncStep = "none"       // the target has what was committed for the source's offset
	StepCarry     SyncStep = "carry"      // the source has moved, or the row is new
	StepRestore   SyncStep = "restore"    // what was committed is gone from the target: it expired, or the group was deleted
	StepRefresh   SyncStep = "refresh"    // what was committed would expire
	StepTakenOver SyncStep = "taken-over" // somebody else has committed on the target, where other records come next
	StepNotKnown  SyncStep = "not-known"  // somebody else has committed there, and whether other records come next is not known
	StepWentBack  SyncStep = "went-back"  // the source group went back, and nobody said to follow
	StepUnread    SyncStep = "unread"     // what the target has, or the source, could not be read
	StepGone      SyncStep = "gone"       // the source has no commit there any more, and the target still has
)

// step decides about one row. It is pure. was is nil for a row that was never carried; the Carried is what is known of it now.
func (s *Syncer) step(i *Item, was *Carried, now time.Time) (SyncStep, Carried) {
	if was == nil {
		return StepCarry, Carried{}
	}
	source := i.Row.Committed.Offset
	if i.Current == nil && (!was.TakenOver || s.TakeBack) {
		return StepRestore, *was
	}
	if i.Current == nil {
		return StepTakenOver, *was
	}
	c, ours, known := was.ours(i)
	switch {
	case !known && !c.TakenOver && !s.TakeBack:
		return StepNotKnown, c
	case (!ours || c.TakenOver) && !s.TakeBack:
		c.TakenOver = true
		return StepTakenOver, c
	case !ours || c.TakenOver:
		c.TakenOver = false
		return StepCarry, c
	case c.Logs.replaced(i.Logs): // the numbers are of a log that is gone
		return StepCarry, c
	case source < c.Source && !s.FollowBack:
		return StepWentBack, c
	case source != c.Source:
		return StepCarry, c
	case s.Retention > 0 && now.Sub(c.At) >= s.Retention/2:
		return StepRefresh, c
	}
	return StepNone, c
}

// SyncLook is what a round begins with.
type SyncLook struct {
	// Rows are to be carried, without fingerprints yet.
	Rows []Row
	// Steps are all rows with a commit at the source, or that had one, by the step that they take.
	Steps map[SyncStep][]*Item
	// TakenOver are those of Steps that were not taken over before.
	TakenOver []*Item
}

// Look compares the source's commits with the target's. q has the rows of an export without fingerprints.
func (s *Syncer) Look(ctx context.Context, target *kgo.Client, q Query) (*SyncLook, error) {
	if err := s.load(); err != nil {
		return nil, err
	}
	q.Rules.Strategies = nil
	t := newTarget(target, 0)
	items, err := t.look(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &SyncLook{Steps: map[SyncStep][]*Item{}}
	if err := s.countMoved(ctx, target, items, q.Phase); err != nil {
		return nil, err
	}
	now := s.Clock()
	changed := map[checkpointfile.Key]Carried{}
	for _, i := range items {
		if i.Row.Committed == nil && i.Row.Error != "" && !i.Row.Gone { // the translation says why
			out.Steps[StepUnread], out.Rows = append(out.Steps[StepUnread], i), append(out.Rows, i.Row)
			continue
		}
		if i.Row.Committed == nil || i.Row.Gone {
			continue
		}
		k := i.key()
		var was *Carried
		if c, ok := s.carried[k]; ok {
			was = &c
		}
		step, c := StepUnread, Carried{}
		if err := i.Evidence.Err; err == nil || absent(err) {
			step, c = s.step(i, was, now)
			c.From = i.from()
			if was != nil && c != *was {
				s.carried[k], changed[k] = c, c
			}
		}
		out.Steps[step] = append(out.Steps[step], i)
		switch step {
		case StepCarry, StepRestore, StepUnread: // the translation of one that cannot be read says why
			out.Rows = append(out.Rows, i.Row)
		case StepTakenOver:
			if !s.said[k] {
				s.said[k] = true
				out.TakenOver = append(out.TakenOver, i)
			}
		}
	}
	if gone := s.gone(ctx, t, q, items); len(gone) > 0 {
		out.Steps[StepGone] = gone
	}
	return out, s.State.Save(ctx, now, changed)
}

// countMoved counts what lies between what the syncer committed and what is there now: a commit behind a marker that was in front of
// it is the same place, and nobody has read anything.
func (s *Syncer) countMoved(ctx context.Context, target *kgo.Client, items []*Item, phase Phase) error {
	ctx, cancel := phase.begin(ctx, "count the records between commits")
	defer cancel()
	var gaps []gap
	for _, i := range items {
		was, carried := s.carried[i.key()]
		b := i.Evidence.Bounds
		if !carried || was.TakenOver || i.Current == nil || b == nil || was.Logs.replaced(i.Logs) {
			continue
		}
		i.moved = map[int64]Between{}
		for _, to := range was.committed() {
			from, until := min(to.Target, i.Current.Offset), max(to.Target, i.Current.Offset)
			if from == until || until > b.End {
				continue
			}
			set := func(b Between) { i.moved[to.Target] = b }
			if from < b.Start {
				set = func(got Between) { i.moved[to.Target] = got.removed(b.Start) }
			}
			gaps = append(gaps, gap{part: i.Target, from: min(max(from, b.Start), until), until: until, stable: b.LastStable, most: 1, set: set})
		}
	}
	countGaps(ctx, target, gaps)
	return context.Cause(ctx)
}

// load reads what is remembered at the beginning of each round: another run may have carried the same groups meanwhile, whose
// commits would be taken for somebody else's otherwise. Without a state directory the memory is all there is.
func (s *Syncer) load() error {
	onDisk, err := s.State.Load()
	if err != nil {
		return err
	}
	if s.carried == nil {
		s.carried, s.said = map[checkpointfile.Key]Carried{}, map[checkpointfile.Key]bool{}
	}
	maps.Copy(s.carried, onDisk)
	return nil
}

func (i *Item) key() checkpointfile.Key {
	return checkpointfile.Key{Group: i.Group, Partition: i.Target}
}

// SyncRound is what one round found and would do.
type SyncRound struct {
	Look    *SyncLook
	Result  *Result // of the rows to be carried
	Planned *Planned
	// Incomplete says that the source could not be read as a whole.
	Incomplete bool

	rewinds bool
}

// Plan makes the plan of a round from what the translation of its rows found, and of the commits that are made again: rows
// that no strategy resolves yet are left to a later round, and groups with members on the target are left alone.
func (s *Syncer) Plan(ctx context.Context, target *kgo.Client, x *Export, look *SyncLook, res *Result) (*SyncRound, error) {
	all := &Result{ClusterID: res.ClusterID, Items: append([]*Item{}, res.Items...)}
	for _, i := range look.Steps[StepRefresh] {
		i.Refresh = true
		i.Translation = Translation{Offset: i.Current.Offset, Outcome: Exact, Proof: "as it is"}
		all.Items = append(all.Items, i)
	}
	sortItems(all.Items)
	planned, err := MakePlan(ctx, target, all, PlanOptions{Verb: "sync", Asked: "from " + x.ClusterID, SkipUnresolved: true, IdleOnly: true,
		AllowRewind: s.FollowBack || s.TakeBack})
	if err != nil {
		return nil, err
	}
	return &SyncRound{Look: look, Result: res, Planned: planned, Incomplete: x.Incomplete, rewinds: s.FollowBack || s.TakeBack}, nil
}

// commits are the rows that a round's plan commits, or finds committed.
func (r *SyncRound) commits(yield func(*Item, Sync)) {
	inUse := map[string]bool{}
	for _, g := range r.Planned.Skipped {
		inUse[g] = true
	}
	for _, items := range [][]*Item{r.Result.Items, r.Look.Steps[StepRefresh]} {
		for _, i := range items {
			left := (i.ahead() || i.perhapsAhead()) && !r.rewinds || r.Planned.Unfit[i.Group] != ""
			if i.Resolved() && !i.Unstable && !inUse[i.Group] && i.Row.Committed != nil && !left {
				yield(i, Sync{Source: i.Row.Committed.Offset, Target: i.place()})
			}
		}
	}
}

// Intend writes down what a round's plan is about to commit, so that it is known for the syncer's own whatever happens then.
func (s *Syncer) Intend(ctx context.Context, r *SyncRound) error {
	rows := map[checkpointfile.Key]Carried{}
	r.commits(func(i *Item, to Sync) {
		c, known := s.carried[i.key()]
		if !known {
			c = Carried{Sync: Sync{Source: -1, Target: -1}, At: s.Clock()}
			if i.Current != nil { // the commit goes over it; where that is not sent, nobody has taken over
				c.Target = i.Current.Offset
			}
		}
		c.Next, c.TakenOver, c.Logs, c.From = &to, false, i.Logs, i.from()
		rows[i.key()] = c
	})
	maps.Copy(s.carried, rows)
	return s.State.Save(ctx, s.Clock(), rows)
}

// Carried records that a round's plan was executed. What the target's group kept instead is found out by the next look. A
// group that was ahead when it was met first belongs to somebody else.
func (s *Syncer) Carried(ctx context.Context, r *SyncRound) error {
	rows := map[checkpointfile.Key]Carried{}
	now := s.Clock()
	r.commits(func(i *Item, to Sync) { rows[i.key()] = Carried{Sync: to, Logs: i.Logs, From: i.from(), At: now} })
	for _, i := range r.Result.Items {
		// What is known of a topic that was made anew since is of another log.
		was, known := s.carried[i.key()]
		if (!known || was.Logs.replaced(i.Logs)) && i.Resolved() && i.ahead() && !r.rewinds {
			rows[i.key()] = Carried{Sync: Sync{Source: i.Row.Committed.Offset, Target: i.Current.Offset}, Logs: i.Logs, From: i.from(), At: now, TakenOver: true}
		}
	}
	maps.Copy(s.carried, rows)
	return s.State.Save(ctx, now, rows)
}

// PrintRows reads the fingerprints of rows, of an export without that has the header.
func PrintRows(ctx context.Context, cl *kgo.Client, h Header, rows []Row, ahead int, phase Phase) error {
	ctx, cancel := phase.begin(ctx, "read the records around the positions")
	defer cancel()
	parts := inspect.Partitions{}
	for _, r := range rows {
		if r.Committed != nil && r.Bounds != nil {
			parts.Add(r.Partition)
		}
	}
	parts.Compact()
	printRows(ctx, cl, h, inspect.ReadBounds(ctx, cl, parts), []Group{{Rows: rows}}, ahead)
	return context.Cause(ctx)
}

// SyncLoop runs rounds until the context ends, one at the beginning of every interval.
type SyncLoop struct {
	Every time.Duration
	Last  int // the number of the last round; 0 for none
	Now   func() time.Time
	// Round is one round, from 1 on.
	Round func(ctx context.Context, n int) error
	// Ended is told how each round ended, and whether another is to follow. Where it returns an error, none does: what failed
	// will not work in the next round either.
	Ended func(n int, took time.Duration, more bool, err error) error
}

// Run returns the error of the last round, or why there was none.
func (l *SyncLoop) Run(ctx context.Context) error {
	for n := 1; ; n++ {
		begin := l.Now()
		err := l.Round(ctx, n)
		more := n != l.Last && ctx.Err() == nil
		fatal := l.Ended(n, l.Now().Sub(begin), more, err)
		switch {
		case !more:
			return err
		case fatal != nil:
			return fatal
		}
		t := time.NewTimer(max(0, l.Every-l.Now().Sub(begin)))
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}
