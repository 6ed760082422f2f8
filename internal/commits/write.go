package commits

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// Op is what is done to a group.
type Op int

// The operations.
const (
	Commit      Op = iota // OffsetCommit: store the rows' offsets
	Remove                // OffsetDelete: remove the rows' commits
	RemoveGroup           // DeleteGroups: remove the group with everything it stored, which the rows say
	MoveShare             // AlterShareGroupOffsets: move the start offsets of a share group (KIP-932)
	RemoveShare           // DeleteShareGroupOffsets: remove what a share group has on the rows' topics, always whole topics
)

// Row is one partition of one group. Only Commit looks at all of it, MoveShare at the offset as well.
type Row struct {
	offset.Partition
	// TopicID is the topic that the offset belongs to, for a Commit. Brokers from 4.1 on then refuse it for a topic that was
	// made again under the same name (UNKNOWN_TOPIC_ID); others go by the name. Zero goes by the name everywhere.
	TopicID     [16]byte
	Offset      int64
	LeaderEpoch offset.LeaderEpoch
	Metadata    string
}

// TopicID reads an id as Kafka prints it, for Row.TopicID; zero for none.
func TopicID(text string) (id [16]byte) {
	if b, err := base64.RawURLEncoding.DecodeString(text); err == nil && len(b) == len(id) {
		copy(id[:], b)
	}
	return id
}

// Job is one operation on one group.
type Job struct {
	Group string
	Op    Op
	Rows  []Row
	// KeepFor gives the rows of a Commit an expiry of their own, so long after they are stored, whatever the broker is configured
	// to. Their leader epochs are not stored then: the last version of the request that says how long has none.
	KeepFor time.Duration
}

// Tell is told what became of some rows of a job, by their index: nil for a yes of the broker, a *NotSentError, an
// *UnknownError, or the broker's own error, after which the old value stands. Each row is told of exactly once. A
// RemoveGroup job is told of as a whole, with its rows, also where it has none. Where it fails after some of its rows were
// removed one by one, those are told of before: the last call is the one about the group. Tell may be called from several
// goroutines at once, never for the same group.
type Tell func(job int, rows []int, err error)

const (
	firstPause = 100 * time.Millisecond
	lastPause  = time.Second
	// resends bounds how often a request whose answer was lost is sent again. Every operation here can be repeated: the
	// second time stores or removes the same.
	resends = 3
)

// Write does the jobs, those of one group in their order, those of several groups a bounded number at once. It returns when
// every row has been told of, at the latest soon after the context ends.
func Write(ctx context.Context, cl *kgo.Client, jobs []Job, tell Tell) {
	w := &writer{cl: cl, tell: tell, groups: map[string]*group{}}
	var names []string
	for i, j := range jobs {
		g := w.groups[j.Group]
		if g == nil {
			g = &group{name: j.Group}
			w.groups[j.Group] = g
			names = append(names, j.Group)
		}
		g.tasks = append(g.tasks, newTask(i, j, tell))
	}
	for wait := firstPause; len(names) > 0; wait = min(2*wait, lastPause) {
		names = w.round(ctx, names, wait > firstPause)
		if len(names) > 0 && !pause(ctx, wait) {
			break
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.groups)) {
		w.groups[name].settle(tell, ended(ctx))
	}
}

type writer struct {
	cl     *kgo.Client
	tell   Tell
	groups map[string]*group // nothing is added or removed once it is filled
}

// round sends what is pending of the groups to their coordinators, and returns those to be tried again: their coordinator
// moved, is loading, or cannot be reached. anew looks the coordinators up instead of going by what was known.
func (w *writer) round(ctx context.Context, names []string, anew bool) (again []string) {
	var mu sync.Mutex
	inspect.EachCoordinator(ctx, w.cl, names, 1, anew, func(ctx context.Context, node int32, one []string) map[string]error {
		if w.send(ctx, node, w.groups[one[0]]) {
			mu.Lock()
			again = append(again, one[0])
			mu.Unlock()
		}
		return nil
	}, func(name string, err error) {
		w.groups[name].why = err
	})
	return again
}

// group is what is left to do for one group. Only one goroutine at a time has it.
type group struct {
	name   string
	tasks  []*task
	resent int
	why    error // the last reason why something could not be sent
}

// settle tells of what is still open.
func (g *group) settle(tell Tell, why error) {
	for _, t := range g.tasks {
		if t.done() {
			continue
		}
		for _, i := range t.open() {
			t.tell(tell, t.lost(i, firstOf(why, g.why)), i)
		}
		if t.Op == RemoveGroup {
			t.removed(tell, t.lost(whole, firstOf(why, g.why)))
		}
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return errLeftOut
}

// whole stands for a job as a whole where a row's index is meant.
const whole = -1

// task is a job under way.
type task struct {
	Job
	index    int
	pending  []int         // rows without a final answer; a RemoveGroup task has none
	doubts   map[int]error // rows that were sent and have no final answer: the last one, or why there was none
	asked    int           // RemoveGroup: how many rows were asked to be removed one by one
	cleared  map[int]bool  // RemoveGroup: those of them that the broker removed
	finished bool          // RemoveGroup: told of
}

func newTask(index int, j Job, tell Tell) *task {
	t := &task{Job: j, index: index, doubts: map[int]error{}, cleared: map[int]bool{}}
	if j.Op == RemoveGroup {
		return t
	}
	for i, r := range j.Rows {
		if (j.Op == Commit || j.Op == MoveShare) && r.Offset < 0 {
			tell(index, []int{i}, errNegative)
			continue
		}
		t.pending = append(t.pending, i)
	}
	return t
}

func (t *task) done() bool { return len(t.pending) == 0 && (t.Op != RemoveGroup || t.finished) }

func (t *task) open() []int { return slices.Clone(t.pending) }

// lost is the last word on a row that got no final answer.
func (t *task) lost(row int, why error) error {
	if doubt := t.doubts[row]; doubt != nil {
		return &UnknownError{Err: doubt}
	}
	return &NotSentError{Err: why}
}

// refused is a broker's no to a row, as it is told. Where an earlier request for the row had no final answer, that one may be
// in the log, and is why this one is refused: somebody joined since, or the deletion took the group along.
func (t *task) refused(row int, err error) error {
	if doubtful(err) || t.doubts[row] != nil {
		return &UnknownError{Err: err, Answered: true}
	}
	return err
}

// tell gives rows their final answer.
func (t *task) tell(tell Tell, err error, rows ...int) {
	if len(rows) == 0 {
		return
	}
	final := make(map[int]bool, len(rows))
	for _, i := range rows {
		final[i] = true
	}
	t.pending = slices.DeleteFunc(t.pending, func(i int) bool { return final[i] })
	tell(t.index, rows, err)
}

// removed tells of a group's removal. Commits that went before the group are gone, whatever became of the group.
func (t *task) removed(tell Tell, err error) {
	t.finished = true
	var gone, rest []int
	for i := range t.Rows {
		if err != nil && t.cleared[i] {
			gone = append(gone, i)
		} else {
			rest = append(rest, i)
		}
	}
	if len(gone) > 0 {
		tell(t.index, gone, nil)
	}
	tell(t.index, rest, err)
}

// doubt keeps why rows have no final answer although they were sent.
func (t *task) doubt(err error, rows ...int) {
	for _, i := range rows {
		t.doubts[i] = err
	}
}

// pause waits, and is false where the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
