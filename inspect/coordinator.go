package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// inFlight bounds the requests under way at once to one broker. Eight kept a broker of two cores busy in every measurement;
// more only queue there. Of those for groups there are as many more as there are groups: see [lane].
const inFlight = 8

// retryPause is the wait before asking again for what a coordinator could not answer yet: a new cluster answers
// COORDINATOR_NOT_AVAILABLE while it creates the offsets topic, and kgo hands that back at once instead of retrying.
const retryPause = 100 * time.Millisecond

// movedAfter is how often it is asked, while a broker does not answer, whether its work is another broker's by now. Kafka
// gives a broker up after broker.session.timeout.ms, 9 s by default.
const movedAfter = 2 * time.Second

// retryGroup says that an error means "ask again, perhaps elsewhere".
func retryGroup(err error) bool {
	return errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator)
}

// pause waits before a retry, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// findCoordinators asks any broker once who coordinates the groups. A group that has no coordinator now is in errs.
func findCoordinators(ctx context.Context, cl *kgo.Client, groups []string) (byNode map[int32][]string, errs map[string]error) {
	shards, err := AnyBroker(ctx, func(ctx context.Context) ([]kgo.ResponseShard, error) {
		// Raw: kadm does not ask again where the answer is that no coordinator is there yet.
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKeys = groups
		shards := cl.RequestSharded(ctx, req)
		for _, s := range shards {
			if s.Err == nil {
				return shards, nil
			}
		}
		return shards, shards[0].Err
	})
	heard := heardBy(cl)
	byNode, errs = map[int32][]string{}, map[string]error{}
	answered := map[string]bool{}
	for _, s := range shards {
		if s.Err != nil {
			err = s.Err
			continue
		}
		for _, c := range s.Resp.(*kmsg.FindCoordinatorResponse).Coordinators {
			answered[c.Key] = true
			if e := kerr.ErrorForCode(c.ErrorCode); e != nil {
				errs[c.Key] = e
				continue
			}
			heard.coordinates(c.Key, c.NodeID)
			byNode[c.NodeID] = append(byNode[c.NodeID], c.Key)
		}
	}
	for _, g := range groups {
		switch {
		case answered[g]:
		case err != nil:
			errs[g] = err
		default:
			errs[g] = fmt.Errorf("the broker named no coordinator for group %q", g)
		}
	}
	return byNode, errs
}

// Coordinator finds the broker that coordinates a group, and waits while there is none. The error is the broker's or the
// connection's.
func Coordinator(ctx context.Context, cl *kgo.Client, group string) (node int32, err error) {
	for n := 0; ; n++ {
		byNode, errs := findCoordinators(ctx, cl, []string{group})
		for node := range byNode {
			return node, nil
		}
		err = errs[group]
		if !retryGroup(err) || pause(ctx, backoff(n)) != nil {
			return 0, err
		}
	}
}

// asker sends requests for groups to their coordinators.
type asker struct {
	cl    *kgo.Client
	chunk int // the most groups of one request
	// ask sends one request. It returns an error per group; a nil entry, or none, means that the group was answered.
	ask func(ctx context.Context, node int32, groups []string) map[string]error
	// fail is told of groups that got no answer. Both may be called from several goroutines at once, never for the same group.
	fail func(group string, err error)
	// hints are coordinators that were known a moment ago; a group without one is looked up, unless the client has heard of it.
	hints map[string]int32
	// anew looks all of them up.
	anew bool
	// reads says that a question may be asked twice: again after a connection broke, and elsewhere when the coordinator moves
	// while it does not answer.
	reads bool
	// p bounds the wait; it may be shared with others who ask the same brokers, and is made where it is nil.
	p *patience

	group sync.WaitGroup
	mu    sync.Mutex
	lanes map[int32]*lane
}

// run asks for all groups and returns when each was answered or told to fail.
func (a *asker) run(ctx context.Context, groups []string) {
	if len(groups) == 0 {
		return
	}
	a.lanes = map[int32]*lane{}
	if a.p == nil {
		a.p = noPatience(ctx)
		if a.reads {
			a.p = newPatience(ctx)
		}
		defer a.p.stop()
	}
	known := map[int32][]string{}
	var unknown []string
	heard := heardBy(a.cl)
	for _, g := range groups {
		node, ok := a.hints[g]
		if !ok {
			node, ok = heard.coordinator(g)
		}
		if ok && !a.anew {
			known[node] = append(known[node], g)
		} else {
			unknown = append(unknown, g)
		}
	}
	a.send(known, 0)
	a.lookup(unknown, 0, nil)
	a.group.Wait()
}

// lookup finds the coordinators of groups and asks them. last are the errors of the round before.
func (a *asker) lookup(groups []string, round int, last map[string]error) {
	if len(groups) == 0 {
		return
	}
	a.group.Go(func() {
		if round > 0 && pause(a.p.ctx, backoff(round-1)) != nil {
			for _, g := range groups {
				a.fail(g, a.p.cause(a.p.ctx.Err(), last[g]))
			}
			return
		}
		byNode, errs := findCoordinators(a.p.ctx, a.cl, groups)
		a.settle(errs, round)
		a.send(byNode, round)
	})
}

// settle asks again for groups whose error says so, and tells the others.
func (a *asker) settle(errs map[string]error, round int) {
	var again []string
	for g, err := range errs {
		switch {
		case err == nil:
		case a.p.ctx.Err() == nil && (retryGroup(err) || a.reads && unreachable(err)):
			again = append(again, g)
		default:
			a.fail(g, a.p.cause(err, nil))
		}
	}
	a.lookup(again, round+1, errs)
}

// send asks the brokers, each in a lane of its own: one that does not answer holds up nobody else's groups.
func (a *asker) send(byNode map[int32][]string, round int) {
	for node, groups := range byNode {
		lane := a.lane(node)
		a.group.Go(func() {
			for part := range slices.Chunk(groups, a.chunk) {
				lane.enter()
				a.group.Go(func() {
					defer lane.leave(time.Now())
					errs := a.askWhere(node, part)
					if len(errs) < len(part) {
						a.p.answered()
						progressed(a.p.ctx)
					}
					a.settle(errs, round)
				})
			}
		})
	}
}

func (a *asker) lane(node int32) *lane {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lanes[node] == nil {
		a.lanes[node] = newLane(a.reads)
	}
	return a.lanes[node]
}

// askWhere asks one broker. While it does not answer, the groups' coordinators are looked up now and then; where they are
// elsewhere now the question is given up, and its groups are asked for again.
func (a *asker) askWhere(node int32, groups []string) map[string]error {
	if !a.reads {
		return a.ask(a.p.ctx, node, groups)
	}
	ctx, cancel := context.WithCancelCause(a.p.ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(movedAfter)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now, _ := findCoordinators(ctx, a.cl, groups[:1]) // one partition's move is enough to ask again
			if len(now) == 1 && !slices.Contains(slices.Collect(maps.Keys(now)), node) {
				cancel(kerr.NotCoordinator)
				return
			}
		}
	}()
	errs := a.ask(ctx, node, groups)
	close(stop)
	if moved := context.Cause(ctx); errors.Is(moved, kerr.NotCoordinator) {
		for g, err := range errs {
			if isContext(err) {
				errs[g] = kerr.NotCoordinator
			}
		}
	}
	cancel(nil)
	<-watched
	return errs
}

// all gives every group the same error.
func all(groups []string, err error) map[string]error {
	out := make(map[string]error, len(groups))
	for _, g := range groups {
		out[g] = err
	}
	return out
}
