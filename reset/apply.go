package reset

// Executing a plan: check again, put the before-image on disk, write, read back, compare.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Outcome is what became of one row.
type Outcome string

// The outcomes. Their text is stable: it is JSON's result.
const (
	OutcomePlanned     Outcome = "planned"     // a dry run
	OutcomeChanged     Outcome = "changed"     // written, read back, and found as planned
	OutcomeUnchanged   Outcome = "unchanged"   // it stood there already
	OutcomeLeft        Outcome = "left"        // a policy leaves it alone
	OutcomeRefused     Outcome = "refused"     // no target, or its group does not fit any more; nothing was sent
	OutcomeFailed      Outcome = "failed"      // the broker refused it, or it was never sent; the old value stands
	OutcomeUnverified  Outcome = "unverified"  // the broker said yes, and reading back failed
	OutcomeDiffers     Outcome = "differs"     // the broker said yes, and something else is stored
	OutcomeOverwritten Outcome = "overwritten" // it was as planned, and somebody moved it while it was watched
	OutcomeUnknown     Outcome = "unknown"     // sent, and no answer

	// OutcomeDeleted is of a group alone: it was removed, and is not there any more.
	OutcomeDeleted Outcome = "deleted"
)

// Row is one row of a plan and what became of it.
type Row struct {
	Change
	Outcome Outcome
	Err     error
	// Now is what was read back; nil where nothing is stored or it was not read, see Read.
	Now  *Commit
	Read bool
}

// GroupRow is a group that was to be deleted and what became of it: deleted, unchanged (it did not exist any more), refused,
// failed, unverified, differs (it still exists although the broker accepted it) or unknown.
type GroupRow struct {
	Name    string
	Outcome Outcome
	Err     error
}

// Bad says that the group was not deleted, or is not known to have been.
func (g GroupRow) Bad() bool { return g.Outcome != OutcomeDeleted && g.Outcome != OutcomeUnchanged }

// Result is what became of a plan.
type Result struct {
	Rows []Row // in the plan's order
	// Groups are the groups that were to be deleted, in the plan's order.
	Groups []GroupRow
	// Failed are the groups that do not fit any more, were in use, or could not be read: nothing of them was sent.
	Failed []*GroupError
	// UndoID is the journal's id; empty where nothing was to be written.
	UndoID  string
	Journal string // the journal file
	// JournalErr is that the journal's last lines could not be written: the before-image is safe, the outcomes are not in it.
	JournalErr error
	// SettleErr is that the values were not watched for as long as Options.Settle asked for: the context ended, or the last
	// look could not be read. The rows are as they were read back.
	SettleErr error
}

// Count is how many rows have one of the outcomes.
func (r *Result) Count(outcomes ...Outcome) int {
	n := 0
	for _, row := range r.Rows {
		if slices.Contains(outcomes, row.Outcome) {
			n++
		}
	}
	return n
}

// Bad is how many rows should have changed and did not, or are not known to have.
func (r *Result) Bad() int {
	return r.Count(OutcomeRefused, OutcomeFailed, OutcomeUnverified, OutcomeDiffers, OutcomeOverwritten, OutcomeUnknown)
}

// Options say how a plan is applied.
type Options struct {
	Allowed Allowed
	// Whole refuses the plan where one group does not fit any more; without it the other groups go on.
	Whole bool
	// StateDir is where the journal goes.
	StateDir string
	// Operation says who does it: Command, User, Host, Profile, Brokers. The rest is filled in.
	Operation checkpointfile.Operation
	Version   string // of koffset
	Clock     func() time.Time
	// Phase bounds one stretch of talk with Kafka, nil sets no bound; see Phase.
	Phase Phase
	// Grace is what a timeout or an interruption leaves for reading back, once something was sent; 0 is 5 s.
	Grace time.Duration
	// KeepFor gives the commits that are stored an expiry of their own, so long after they are stored; 0 leaves it to the broker.
	KeepFor time.Duration
	// Settle is how long the values are watched for an overwrite after they were read back.
	Settle time.Duration
	// Settling is called once when the watch begins; nil is fine.
	Settling func()
	// Progress is told how many rows were sent so far; nil is fine. It is called from several goroutines.
	Progress func(rows int)
}

// Phase bounds the time in which nothing moves in one stretch of talk with Kafka: what takes long because there is much to
// do goes on for as long as it needs. moved is called whenever something was answered, from several goroutines. what names
// the stretch in an error.
type Phase func(ctx context.Context, what string) (_ context.Context, moved func(), cancel context.CancelFunc)

func unbounded(ctx context.Context, _ string) (context.Context, func(), context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, func() {}, cancel
}

// JournalError is that the before-image could not be put on disk. Nothing was sent.
type JournalError struct{ Err error }

// ErrorKind is always refused.
func (e *JournalError) ErrorKind() offset.ErrorKind { return offset.KindRefused }

func (e *JournalError) Error() string {
	return fmt.Sprintf("the undo journal cannot be written, so nothing was changed: %v", e.Err)
}

// Unwrap returns the cause.
func (e *JournalError) Unwrap() error { return e.Err }

// RefusedError is a plan with rows that have no target: it cannot be applied.
type RefusedError struct{ Rows int }

// ErrorKind is always refused.
func (e *RefusedError) ErrorKind() offset.ErrorKind { return offset.KindRefused }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s of the plan without a target, so nothing was changed", text.Plural(e.Rows, "row"))
}

// graceAfterSend is Options.Grace where nothing else is said.
const graceAfterSend = 5 * time.Second

// Apply executes a plan. It reads the facts again and holds the plan to them; writes the before-image and syncs it; sends
// the commits, each group's in requests of a bounded size; reads back what is stored and compares. A group that does not
// fit any more is in Result.Failed, and the others go on unless Options.Whole says otherwise.
//
// The errors: *RefusedError, *DriftError (with Whole, or where no group fits), *JournalError: nothing was changed. A context
// that ends before anything was sent is returned as it is; later, the rows tell.
func Apply(ctx context.Context, cl *kgo.Client, p *Plan, o Options) (*Result, error) {
	if n := Summarize(p).Refused; n > 0 {
		return nil, &RefusedError{Rows: n}
	}
	if o.Phase == nil {
		o.Phase = unbounded
	}
	if o.Grace == 0 {
		o.Grace = graceAfterSend
	}
	rctx, moved, cancel := o.Phase(ctx, "check the plan against the cluster")
	defer cancel()
	checked, err := Recheck(inspect.WithProgress(rctx, moved), cl, p, o.Allowed)
	if err != nil {
		return nil, err
	}
	a := &applier{cl: cl, o: o, plan: p, res: &Result{}}
	if err := a.prepare(checked); err != nil {
		return nil, err
	}
	if len(a.todo) == 0 && len(a.remove) == 0 {
		return a.res, nil
	}
	if err := a.openJournal(); err != nil {
		return nil, err
	}
	a.send(ctx)
	a.verify(ctx)
	a.settle(ctx)
	a.closeJournal()
	return a.res, nil
}

// Recheck reads the facts again and holds the plan to them: what Apply does before it writes anything.
func Recheck(ctx context.Context, cl *kgo.Client, p *Plan, allow Allowed) (*Checked, error) {
	facts, err := Refresh(ctx, cl, p)
	if err != nil {
		return nil, err
	}
	c := Check(p, facts, allow)
	if err := context.Cause(ctx); err != nil {
		return nil, err // what looks like drift may only be unread
	}
	return c, nil
}

type applier struct {
	cl   *kgo.Client
	o    Options
	plan *Plan
	res  *Result

	mu      sync.Mutex
	todo    map[string][]int // group -> its rows to write, by index
	remove  map[string]int   // groups to delete as a whole: their place in Result.Groups
	careful map[string]int   // groups to delete commit by commit, since some may be hidden: their place in Result.Groups
	types   map[string]string
	journal *checkpointfile.Journal
	at      map[int]int // row -> its index in the journal
}

// prepare sorts out what is to be written, and what is refused.
func (a *applier) prepare(c *Checked) error {
	drifts := c.byGroup(a.plan.Groups)
	for _, pg := range a.plan.Groups {
		if ds := drifts[pg.Name]; len(ds) > 0 {
			a.res.Failed = append(a.res.Failed, &GroupError{Group: pg.Name, Err: &DriftError{Drifts: ds}})
		}
	}
	if len(a.res.Failed) > 0 && (a.o.Whole || len(a.res.Failed) == len(a.plan.Groups)) {
		return &DriftError{Drifts: c.telling()}
	}
	a.careful = map[string]int{}
	a.todo, a.remove, a.types, a.at = map[string][]int{}, map[string]int{}, map[string]string{}, map[int]int{}
	for _, pg := range a.plan.Groups {
		a.types[pg.Name] = pg.Type
		if pg.Delete {
			a.prepareGroup(pg, drifts[pg.Name], c.Gone[pg.Name])
		}
	}
	why := reasons(drifts)
	a.res.Rows = make([]Row, len(c.Rows))
	for i, row := range c.Rows {
		r := &a.res.Rows[i]
		r.Change = row
		switch {
		case len(drifts[row.Group]) > 0 && why(row) != nil:
			r.Outcome, r.Err = OutcomeRefused, why(row)
		case row.Action == checkpointfile.ActionLeave:
			r.Outcome = OutcomeLeft
		case !row.Changes():
			r.Outcome = OutcomeUnchanged
		default:
			r.Outcome = OutcomeUnknown
			a.todo[row.Group] = append(a.todo[row.Group], i)
		}
	}
	return nil
}

func (a *applier) prepareGroup(pg PlanGroup, drifts []Drift, gone bool) {
	one := GroupRow{Name: pg.Name, Outcome: OutcomeUnknown}
	switch {
	case len(drifts) > 0:
		one.Outcome, one.Err = OutcomeRefused, (&DriftError{Drifts: drifts}).short()
	case gone:
		one.Outcome = OutcomeUnchanged
	case pg.Hidden != "":
		one.Outcome, one.Err = OutcomeLeft, fmt.Errorf("the group itself is left, and the broker removes it once it stores nothing: %s", pg.Hidden)
		a.careful[pg.Name] = len(a.res.Groups)
	default:
		a.remove[pg.Name] = len(a.res.Groups)
	}
	a.res.Groups = append(a.res.Groups, one)
}

// reasons says of a row of a refused group why: its own drift, or where it was to change, what there is about the group. A
// row does not hold all of its group's drifts, of which there may be as many as rows.
func reasons(drifts map[string][]Drift) func(Change) error {
	own := map[Key]error{}
	groups := map[string]error{}
	for name, ds := range drifts {
		groups[name] = (&DriftError{Drifts: ds}).short()
		for _, d := range ds {
			if d.Key != nil {
				own[*d.Key] = &DriftError{Drifts: []Drift{d}}
			}
		}
	}
	return func(c Change) error {
		if err, ok := own[c.Key()]; ok || !c.Changes() {
			return err
		}
		return groups[c.Group]
	}
}

// telling are the drifts without those that follow from a group's being in use.
func (c *Checked) telling() []Drift {
	active := map[string]bool{}
	for _, d := range c.Drifts {
		if d.Kind == DriftActive {
			active[d.Group] = true
		}
	}
	var out []Drift
	for _, d := range c.Drifts {
		if d.Key == nil || !active[d.Group] {
			out = append(out, d)
		}
	}
	return out
}

func (a *applier) openJournal() error {
	op := a.o.Operation
	op.Verb, op.PlanDigest, op.Undoes = a.plan.Verb, a.plan.Digest, a.plan.Undoes
	for _, g := range a.plan.Groups {
		if _, removed := a.remove[g.Name]; removed || len(a.todo[g.Name]) > 0 {
			op.Groups = append(op.Groups, g)
		}
	}
	for i, r := range a.res.Rows {
		if r.Outcome == OutcomeUnknown {
			a.at[i] = len(op.Changes)
			op.Changes = append(op.Changes, r.Change)
		}
	}
	j, err := checkpointfile.CreateJournal(a.o.StateDir, checkpointfile.Header{Version: a.o.Version, ClusterID: a.plan.ClusterID}, &op, a.o.Clock)
	if err != nil {
		return &JournalError{Err: err}
	}
	a.journal = j
	a.res.UndoID, a.res.Journal = j.ID, j.Path
	return nil
}

// set records what became of rows, here and in the journal, which has the rows that were to be written alone.
func (a *applier) set(o Outcome, err error, rows ...int) {
	in := make([]int, 0, len(rows))
	a.mu.Lock()
	for _, i := range rows {
		a.res.Rows[i].Outcome, a.res.Rows[i].Err = o, err
		if at, ok := a.at[i]; ok {
			in = append(in, at)
		}
	}
	a.mu.Unlock()
	a.journal.Note(state(o), reason(err), in...)
}

// setGroup records what became of a group that was to be deleted.
func (a *applier) setGroup(o Outcome, err error, name string) {
	a.mu.Lock()
	at, ok := a.remove[name]
	if !ok {
		at = a.careful[name]
	}
	g := &a.res.Groups[at]
	g.Outcome, g.Err = o, err
	a.mu.Unlock()
	a.journal.NoteGroup(state(o), reason(err), name)
}

func state(o Outcome) checkpointfile.RowState {
	switch o {
	case OutcomeChanged, OutcomeDeleted:
		return checkpointfile.StateVerified
	case OutcomeUnverified:
		return checkpointfile.StateCommitted
	case OutcomeFailed:
		return checkpointfile.StateFailed
	case OutcomeDiffers, OutcomeOverwritten:
		return checkpointfile.StateDiffers
	}
	return checkpointfile.StateUnknown
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (a *applier) closeJournal() {
	unknown, bad, good := a.res.Count(OutcomeUnknown, OutcomeUnverified), a.res.Bad(), a.res.Count(OutcomeChanged)
	for _, g := range a.res.Groups {
		switch {
		case g.Outcome == OutcomeUnknown || g.Outcome == OutcomeUnverified:
			unknown++
		case g.Bad():
			bad++
		case g.Outcome == OutcomeDeleted:
			good++
		}
	}
	outcome := "done"
	switch {
	case unknown > 0:
		outcome = "unknown"
	case bad > 0 && good > 0:
		outcome = "partial"
	case bad > 0:
		outcome = "failed"
	}
	a.res.JournalErr = a.journal.Close(outcome)
}
