package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// inFlight bounds the requests under way at once to one cluster. Eight kept a broker of two cores busy in every
// measurement; more only queue there.
const inFlight = 8

// retryPause is the wait before asking again for what a coordinator could not answer yet: a new cluster answers
// COORDINATOR_NOT_AVAILABLE while it creates the offsets topic, and kgo hands that back at once instead of retrying.
const retryPause = 100 * time.Millisecond

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

// coordinators finds the broker of each group. A group that has none is in errs.
func coordinators(ctx context.Context, cl *kgo.Client, groups []string) (byNode map[int32][]string, errs map[string]error) {
	byNode, errs = map[int32][]string{}, map[string]error{}
	todo := groups
	for len(todo) > 0 {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKeys = todo
		var again []string
		answered := map[string]bool{}
		var reqErr error
		for _, s := range cl.RequestSharded(ctx, req) {
			if s.Err != nil {
				reqErr = s.Err
				continue
			}
			for _, c := range s.Resp.(*kmsg.FindCoordinatorResponse).Coordinators {
				answered[c.Key] = true
				err := kerr.ErrorForCode(c.ErrorCode)
				switch {
				case err == nil:
					byNode[c.NodeID] = append(byNode[c.NodeID], c.Key)
				case retryGroup(err):
					again = append(again, c.Key)
					errs[c.Key] = err
				default:
					errs[c.Key] = err
				}
			}
		}
		for _, g := range todo {
			switch {
			case answered[g]:
			case retryGroup(reqErr):
				again = append(again, g)
				errs[g] = reqErr
			case reqErr != nil:
				errs[g] = reqErr
			default:
				errs[g] = fmt.Errorf("the broker named no coordinator for group %q", g)
			}
		}
		todo = again
		if len(todo) > 0 && pause(ctx, retryPause) != nil {
			for _, g := range todo {
				errs[g] = fmt.Errorf("%w (%w)", ctx.Err(), errs[g])
			}
			return byNode, errs
		}
		for _, g := range todo {
			delete(errs, g)
		}
	}
	return byNode, errs
}

// Coordinator finds the broker that coordinates a group. The error is the broker's or the connection's.
func Coordinator(ctx context.Context, cl *kgo.Client, group string) (node int32, err error) {
	byNode, errs := coordinators(ctx, cl, []string{group})
	for n := range byNode {
		return n, nil
	}
	return 0, errs[group]
}

// eachCoordinator sends requests for groups to their coordinators, at most chunk groups a request and inFlight requests at
// a time, and asks again for groups whose coordinator moved or is loading. ask returns an error per group; a nil entry, or
// none, means that the group was answered. fail is told of groups that got no answer. Both may be called from several
// goroutines at once, never for the same group.
func eachCoordinator(ctx context.Context, cl *kgo.Client, groups []string, chunk int,
	ask func(ctx context.Context, node int32, groups []string) map[string]error, fail func(group string, err error)) {
	for len(groups) > 0 {
		byNode, errs := coordinators(ctx, cl, groups)
		for g, err := range errs {
			fail(g, err)
		}
		again := make(chan string, len(groups))
		var eg errgroup.Group
		eg.SetLimit(inFlight)
		for node, gs := range byNode {
			for len(gs) > 0 {
				n := min(chunk, len(gs))
				part := gs[:n]
				gs = gs[n:]
				eg.Go(func() error {
					for g, err := range ask(ctx, node, part) {
						switch {
						case err == nil:
						case retryGroup(err) && ctx.Err() == nil:
							again <- g
						default:
							fail(g, err)
						}
					}
					return nil
				})
			}
		}
		_ = eg.Wait() // every failure was told to fail
		close(again)
		groups = groups[:0:0]
		for g := range again {
			groups = append(groups, g)
		}
		if len(groups) > 0 && pause(ctx, retryPause) != nil {
			for _, g := range groups {
				fail(g, ctx.Err())
			}
			return
		}
	}
}

// all gives every group the same error.
func all(groups []string, err error) map[string]error {
	out := make(map[string]error, len(groups))
	for _, g := range groups {
		out[g] = err
	}
	return out
}
