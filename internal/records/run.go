package records

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

const (
	// firstBytes is what a look-up asks for of a partition: enough for the batches of quiet topics, while 2,000 of them cost
	// 8 MB. walkBytes is the same for a walk, and mostBytes what either grows to.
	firstBytes int32 = 4 << 10
	walkBytes  int32 = 64 << 10
	mostBytes  int32 = 1 << 20
	// requestBytes and requestParts bound one request.
	requestBytes int64 = 8 << 20
	requestParts       = 500
	// inFlight bounds the requests under way at one broker: a broker answers one after the other, so more only hide the
	// way there and back, and the decoding here.
	inFlight = 4
	// pauseStep is the wait before the second try again after an error; each further one is longer, up to pauseMost. The
	// first is at once: newer metadata often names the new leader already.
	pauseStep = 100 * time.Millisecond
	pauseMost = 500 * time.Millisecond
)

// task is a walk under way.
type task struct {
	*Walk
	next int64 // where to fetch from; everything from From to here is known
	end  int64 // of the log, as last answered
	// bytes is what is asked for. alone says that the next request is for this partition alone, and room that it has room
	// for all that may be under way. left counts how often the partition was left empty in a request with others.
	bytes int32
	alone bool
	room  bool
	left  int

	since   time.Time // of the last answer that helped
	tries   int       // since then
	node    int32     // that was asked last
	stopped bool
	done    bool
	holes   bool // see End
	err     error
}

// fail ends a task: what lies after next is not known.
func (t *task) fail(err error) {
	t.done, t.err = true, fmt.Errorf("read %s at %d: %w", t.Partition, t.next, err)
}

// pass moves a task to an offset that nothing lies in front of.
func (t *task) pass(to int64) {
	if to = min(to, t.Until); to > t.next {
		t.next, t.holes = to, true
	}
}

// moved notes an answer that helped.
func (t *task) moved() { t.since, t.tries, t.err = time.Now(), 0, nil }

// throttled notes an answer that the client's quota made empty: it says nothing, and is no failure either.
func (t *task) throttled() { t.since, t.err = time.Now(), kerr.ThrottlingQuotaExceeded }

// run is one call of Walk.
type run struct {
	Reader
	ctx   context.Context
	tasks []*task

	wire *budget // responses
	heap *budget // decompressed batches
	// small and large decompress batches of up to an eighth of the heap, and of up to all of it.
	small, large func() (kgo.Decompressor, error)

	work   sync.WaitGroup
	mu     sync.Mutex
	queues map[int32]*queue
}

// queue is what one broker is to be asked.
type queue struct {
	todo    []*task
	workers int
}

func newRun(ctx context.Context, r Reader, walks []Walk) *run {
	r.Memory = min(orDefault(r.Memory, defaultMemory), math.MaxInt32)
	r.BrokerTimeout = orDefault(r.BrokerTimeout, DefaultBrokerTimeout)
	r.Patience = orDefault(r.Patience, defaultPatience)
	n := &run{Reader: r, ctx: ctx, wire: newBudget(r.Memory / 4), heap: newBudget(r.Memory), queues: map[int32]*queue{},
		small: sync.OnceValues(func() (kgo.Decompressor, error) { return bounded(r.Memory / 8) }),
		large: sync.OnceValues(func() (kgo.Decompressor, error) { return bounded(r.Memory) })}
	for i := range walks {
		w := &walks[i]
		n.tasks = append(n.tasks, &task{Walk: w, next: w.From, end: -1, bytes: orDefault(w.Bytes, walkBytes), since: time.Now(), done: w.From >= w.Until})
	}
	return n
}

func orDefault[T int32 | int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// bounded is kgo's decompressor with a limit, which kgo builds for a client only.
func bounded(n int64) (kgo.Decompressor, error) {
	cl, err := kgo.NewClient(kgo.MaxDecompressBatchBytes(int(n)), kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return cl.OptValue(kgo.WithDecompressor).(kgo.Decompressor), nil
}

func (r *run) do() []End {
	r.place(r.known(unfinished(r.tasks)))
	r.work.Wait()
	out := make([]End, len(r.tasks))
	for i, t := range r.tasks {
		out[i] = End{Proof: Proof{t.Partition, t.From, max(t.From, t.next)}, Stopped: t.stopped, LogEnd: max(0, t.end), Holes: t.holes, Err: t.err}
	}
	return out
}

func unfinished(in []*task) []*task {
	var out []*task
	for _, t := range in {
		if !t.done {
			out = append(out, t)
		}
	}
	return out
}

// known gives tasks to the leaders that the caller knows, and returns the others.
func (r *run) known(tasks []*task) (others []*task) {
	if r.Leader == nil {
		return tasks
	}
	of := map[int32][]*task{}
	for _, t := range tasks {
		if node, ok := r.Leader(t.Partition); ok && node >= 0 {
			of[node] = append(of[node], t)
		} else {
			others = append(others, t)
		}
	}
	for node, list := range of {
		r.enqueue(node, list...)
	}
	return others
}

// place gives tasks to their leaders.
func (r *run) place(tasks []*task) {
	if len(tasks) == 0 {
		return
	}
	of, err := r.leaders(r.ctx, tasks)
	var again []*task
	for _, t := range tasks {
		l := leader{err: err}
		if err == nil {
			l = of(t.Partition)
		}
		switch {
		case l.err == nil && !(r.expired(t) && l.node == t.node):
			r.enqueue(l.node, t)
		case l.err == nil: // nobody else leads it, and its broker had its time
			t.fail(t.err)
		case !passes(l.err) || r.expired(t):
			t.fail(l.err)
		default:
			t.err = l.err
			again = append(again, t)
		}
	}
	r.retry(again)
}

// expired says that a task failed too often or too long.
func (r *run) expired(t *task) bool { return t.tries > 0 && time.Since(t.since) > r.Patience }

// retry places tasks again after a pause; their errors are in them.
func (r *run) retry(tasks []*task) {
	if len(tasks) == 0 {
		return
	}
	if r.over(tasks) {
		return
	}
	pause := pauseMost
	for _, t := range tasks {
		pause = min(pause, time.Duration(t.tries)*pauseStep)
		t.tries++
	}
	r.work.Go(func() {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-r.ctx.Done():
			r.over(tasks)
		case <-timer.C:
			r.place(tasks)
		}
	})
}

// over ends tasks when the context has ended.
func (r *run) over(tasks []*task) bool {
	if r.ctx.Err() == nil {
		return false
	}
	for _, t := range tasks {
		if err := context.Cause(r.ctx); t.err != nil {
			t.fail(fmt.Errorf("%w, after %w", err, t.err))
		} else {
			t.fail(err)
		}
	}
	return true
}

func (r *run) enqueue(node int32, tasks ...*task) {
	if len(tasks) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[node]
	if q == nil {
		q = &queue{}
		r.queues[node] = q
	}
	for _, t := range tasks {
		t.node = node
	}
	q.todo = append(q.todo, tasks...)
	// One may take all of them; where a partition is asked for twice, or not all fit, the next one takes the rest.
	for range min(len(tasks), inFlight-q.workers) {
		q.workers++
		r.work.Go(func() { r.serve(node, q) })
	}
}

// next takes what fits into one request off a queue. A partition may be in a request only once.
func (r *run) next(q *queue) []*task {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(q.todo) == 0 {
		q.workers--
		return nil
	}
	if q.todo[0].alone {
		one := q.todo[:1:1]
		q.todo = q.todo[1:]
		return one
	}
	var batch, rest []*task
	in, bytes, most := map[offset.Partition]bool{}, int64(0), min(requestBytes, r.wire.max/2)
	for i, t := range q.todo {
		if len(batch) == requestParts || bytes >= most {
			rest = append(rest, q.todo[i:]...)
			break
		}
		if t.alone || in[t.Partition] || len(batch) > 0 && bytes+int64(t.bytes) > most {
			rest = append(rest, t)
			continue
		}
		in[t.Partition] = true
		bytes += int64(t.bytes)
		batch = append(batch, t)
	}
	q.todo = rest
	return batch
}

// serve asks one broker until its queue is empty.
func (r *run) serve(node int32, q *queue) {
	for {
		batch := r.next(q)
		if batch == nil {
			return
		}
		if r.over(batch) {
			continue
		}
		err := r.ask(node, batch)
		if err != nil { // a broker that is away is not waited for once for each request
			r.mu.Lock()
			batch = append(unfinished(batch), q.todo...)
			q.todo = nil
			r.mu.Unlock()
			for _, t := range batch {
				t.err = err
			}
			r.retry(batch)
			continue
		}
		var here, elsewhere []*task
		for _, t := range unfinished(batch) {
			if t.err != nil {
				elsewhere = append(elsewhere, t)
			} else {
				here = append(here, t)
			}
		}
		r.enqueue(node, here...)
		r.retry(elsewhere)
	}
}
