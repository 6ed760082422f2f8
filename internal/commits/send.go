package commits

import (
	"context"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/inspect"
)

// One request becomes one batch of the offsets topic, whose limit is 1 MiB by default: above it the whole request fails as
// UNKNOWN_SERVER_ERROR (measured on Kafka 4.3: 10,000 partitions with 20 bytes of metadata each; the tombstones of 1,000
// partitions for a group whose name has 1,200 characters). So requests are split by bytes; what is atomic is then a
// partition.
const (
	maxBytes = 900_000
	maxRows  = 2_000
	rowBytes = 70 // of the offsets topic, beside the strings
)

// send does what is pending of a group at one broker. again asks for another try, perhaps at another broker.
func (w *writer) send(ctx context.Context, node int32, g *group) (again bool) {
	for _, t := range g.tasks {
		for !t.done() {
			if err := ended(ctx); err != nil {
				g.why = err
				return false
			}
			var retry, stop bool
			if t.Op == RemoveGroup {
				retry, stop = w.removeGroup(ctx, node, g, t)
			} else {
				retry, stop = w.pending(ctx, node, g, t)
			}
			if retry || stop {
				return retry
			}
		}
	}
	return false
}

// chunk is the beginning of rows that fits into one request.
func (t *task) chunk(rows []int) []int {
	if t.Op == RemoveShare {
		return append([]int(nil), rows...) // it is by topic, and the rows of one must stay together
	}
	size := 0
	for n, i := range rows {
		size += t.size(i)
		if n > 0 && (size > maxBytes || n == maxRows) {
			return append([]int(nil), rows[:n]...)
		}
	}
	return append([]int(nil), rows...)
}

func (t *task) size(row int) int {
	r := &t.Rows[row]
	n := rowBytes + len(t.Group) + len(r.Topic)
	if t.Op == Commit {
		n += len(r.Metadata)
	}
	return n
}

// requestsAtOnce is how many requests of one group are under way at once, when the broker has taken the first: the rows of a wide
// group do not wait for each other on the way to a broker that is far away, and what is sent when the command is interrupted
// stays small.
const requestsAtOnce = 8

// pending sends what is pending of a task and tells what it is answered. retry asks for another try, stop gives the group up.
func (w *writer) pending(ctx context.Context, node int32, g *group, t *task) (retry, stop bool) {
	parts := t.chunks()
	answers, err := t.ask(ctx, w.cl, node, parts[0])
	if retry, stop = w.told(ctx, g, t, parts[0], answers, err); retry || stop {
		return retry, stop
	}
	resent := g.resent
	var mu sync.Mutex // of everything but the requests themselves
	var all errgroup.Group
	all.SetLimit(requestsAtOnce)
	for _, part := range parts[1:] {
		all.Go(func() error { // waits for its turn
			mu.Lock()
			over := retry || stop || ended(ctx) != nil
			mu.Unlock()
			if over {
				return nil // it stays pending
			}
			answers, err := t.ask(ctx, w.cl, node, part)
			mu.Lock()
			defer mu.Unlock()
			most := g.resent
			g.resent = resent // one connection broke, however many requests were on it
			again, end := w.told(ctx, g, t, part, answers, err)
			g.resent = max(g.resent, most)
			retry, stop = retry || again, stop || end
			return nil
		})
	}
	_ = all.Wait() // every error was told of, or is a reason to try again
	return retry, stop
}

// chunks are what is pending, in parts that fit into one request each.
func (t *task) chunks() (out [][]int) {
	for rest := t.pending; len(rest) > 0; {
		part := t.chunk(rest)
		out, rest = append(out, part), rest[len(part):]
	}
	return out
}

// told deals with what a request for some rows was answered, or with why it was not.
func (w *writer) told(ctx context.Context, g *group, t *task, rows []int, answers []error, err error) (retry, stop bool) {
	if err != nil {
		return w.noAnswer(ctx, g, t, rows, err)
	}
	var good []int
	for n, i := range rows {
		switch err := answers[n]; {
		case err == nil:
			good = append(good, i)
		case inspect.RetryGroup(err):
			// A coordinator that gives its partition away answers NOT_COORDINATOR for a write that is in its log already.
			t.doubt(err, i)
			retry = true
		default:
			t.tell(w.tell, t.refused(i, err), i)
		}
	}
	t.tell(w.tell, nil, good...)
	return retry, false
}

// noAnswer decides about a request without an answer. A connection that was never made sent nothing.
func (w *writer) noAnswer(ctx context.Context, g *group, t *task, rows []int, err error) (retry, stop bool) {
	if c := ended(ctx); c != nil {
		if !unsent(err) {
			t.doubt(c, rows...)
		}
		g.why = c
		return false, true
	}
	switch {
	case errors.Is(err, inspect.ErrNoCall):
		if t.Op == RemoveGroup {
			t.removed(w.tell, err)
		} else {
			t.tell(w.tell, err, rows...)
		}
		return false, false
	case unsent(err):
		g.why = err
		return true, false
	}
	t.doubt(err, rows...)
	if g.resent++; g.resent > resends {
		g.why = err
		return false, true
	}
	return true, false
}

// removeGroup removes a group. One that is gone already is done.
func (w *writer) removeGroup(ctx context.Context, node int32, g *group, t *task) (retry, stop bool) {
	if retry, stop := w.clear(ctx, node, g, t); retry || stop || t.finished {
		return retry, stop
	}
	err, callErr := t.askRemoveGroup(ctx, w.cl, node)
	switch {
	case callErr != nil:
		return w.noAnswer(ctx, g, t, []int{whole}, callErr)
	case err == nil, errors.Is(err, kerr.GroupIDNotFound):
		t.removed(w.tell, nil)
	case inspect.RetryGroup(err):
		t.doubt(err, whole)
		return true, false
	default:
		t.removed(w.tell, t.refused(whole, err))
	}
	return false, false
}

// clear removes the commits of a group that stores too many for one request: DeleteGroups writes their tombstones as one
// batch. What the broker refuses to remove one by one, such as commits on topics that are gone, is left to DeleteGroups, but
// not what it refuses because of the group: then DeleteGroups refuses too, and what is left stays.
func (w *writer) clear(ctx context.Context, node int32, g *group, t *task) (retry, stop bool) {
	size := 0
	rows := make([]int, len(t.Rows))
	for i := range t.Rows {
		size += t.size(i)
		rows[i] = i
	}
	if size <= maxBytes {
		return false, false
	}
	one := &task{Job: Job{Group: t.Group, Op: Remove, Rows: t.Rows}}
	for t.asked < len(rows) && !t.finished {
		part := one.chunk(rows[t.asked:])
		answers, err := one.ask(ctx, w.cl, node, part)
		if err != nil {
			return w.noAnswer(ctx, g, t, []int{whole}, err)
		}
		var ofGroup error
		for n, err := range answers {
			switch {
			case inspect.RetryGroup(err):
				t.doubt(err, whole)
				return true, false
			case err == nil:
				t.cleared[part[n]] = true
			case refusesGroup(err):
				ofGroup = err
			}
		}
		t.asked += len(part)
		if ofGroup != nil {
			t.removed(w.tell, t.refused(whole, ofGroup))
		}
	}
	return false, false
}

// refusesGroup says that a group is not deleted for the same reason as its commits are not.
func refusesGroup(err error) bool {
	return errors.Is(err, kerr.NonEmptyGroup) || errors.Is(err, kerr.GroupSubscribedToTopic) || errors.Is(err, kerr.GroupAuthorizationFailed)
}
