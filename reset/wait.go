package reset

// Waiting for a group to become empty, and making it so.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// waitPoll is how often WaitEmpty looks: a describe of one group takes a millisecond, and a member that was stopped is gone
// at once, or after its session timeout of 45 s.
const waitPoll = 500 * time.Millisecond

// WaitEmpty waits until none of the groups has members and no transaction holds a commit of theirs. seen is told who is
// still there, after each look. The error is the context's, joined with who was still there.
func WaitEmpty(ctx context.Context, cl *kgo.Client, groups []string, seen func(still []string)) error {
	tick := time.NewTicker(waitPoll)
	defer tick.Stop()
	var last []error // who was there when it could be read
	for {
		still, err := busy(ctx, cl, groups)
		switch {
		case err == nil && len(still) == 0:
			return nil
		case err == nil:
			if last = still; ctx.Err() == nil {
				seen(texts(still))
			}
		case ctx.Err() == nil && !endsSoon(ctx):
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(append([]error{context.Cause(ctx)}, last...)...)
		case <-tick.C:
		}
	}
}

// endsSoon says that a look that begins now may not have the time that a broker needs: that it failed says nothing about the
// broker, since it was given what was left of the wait.
func endsSoon(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < waitPoll
}

func texts(errs []error) []string {
	out := make([]string, len(errs))
	for i, err := range errs {
		out[i] = err.Error()
	}
	return out
}

// ErrOpenTransaction is what keeps a group busy that has no members: a commit of it that an open transaction holds.
var ErrOpenTransaction = offset.NewError(offset.KindRefused, "a transaction that is still open holds a commit")

// busy is who or what keeps the groups from being free, an error each.
func busy(ctx context.Context, cl *kgo.Client, groups []string) (still []error, err error) {
	found, err := FindGroups(ctx, cl, groups)
	if err != nil {
		return nil, err
	}
	f, _, err := readGroups(ctx, cl, found, []string{})
	if err != nil {
		return nil, err
	}
	for _, name := range groups {
		g := f.Groups[name]
		if g.Active() {
			still = append(still, fmt.Errorf("group %s: %s", offset.NameText(name), Activity(g.Description)))
			continue
		}
		for _, t := range g.Commits.Topics {
			var held []int32
			for _, r := range t.Rows {
				if r.Unstable() {
					held = append(held, r.Partition)
				}
			}
			if len(held) > 0 {
				still = append(still, fmt.Errorf("group %s: %w for %s:%s", offset.NameText(name), ErrOpenTransaction, t.Topic, offset.FormatPartitionSet(held)))
			}
		}
	}
	return still, nil
}

// CameBackError is that members were there again after they had been sent away: their application runs.
type CameBackError struct{ Still []string }

func (e *CameBackError) Error() string {
	return fmt.Sprintf("it came back after it was evicted, so its application is running: %s", strings.Join(e.Still, "; "))
}

// StayEmpty watches for a while whether the groups stay without members: a static member that still runs finds out at its
// next heartbeat, after three seconds by default, that it was sent away, and joins again. The error is a *CameBackError.
func StayEmpty(ctx context.Context, cl *kgo.Client, groups []string, d time.Duration) error {
	over := time.NewTimer(d)
	defer over.Stop()
	tick := time.NewTicker(min(waitPoll, max(d/4, time.Millisecond)))
	defer tick.Stop()
	for last := false; ; {
		still, err := busy(ctx, cl, groups)
		if err != nil {
			return err
		}
		if len(still) > 0 {
			return &CameBackError{Still: texts(still)}
		}
		if last {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over.C:
			last = true
		case <-tick.C:
		}
	}
}

// Evict removes the static members of a group: a consumer with a group.instance.id that was stopped stays a member until
// its session times out. A dynamic member would come back at once, so a group that has one is left as it is; the error
// names it.
func Evict(ctx context.Context, cl *kgo.Client, d inspect.Description) (evicted []inspect.Member, err error) {
	// Raw: kadm gives up where no coordinator is there yet, and waits for one that is silent.
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = d.Name
	byID := map[string]inspect.Member{}
	var dynamic, failed []error
	for _, m := range d.Members {
		if m.InstanceID == "" {
			dynamic = append(dynamic, fmt.Errorf("%s is a dynamic member and would come back: stop it", m.Where()))
			continue
		}
		one := kmsg.NewLeaveGroupRequestMember()
		one.InstanceID = kmsg.StringPtr(m.InstanceID)
		one.Reason = kmsg.StringPtr("evicted by koffset")
		req.Members = append(req.Members, one)
		byID[m.InstanceID] = m
	}
	if len(dynamic) > 0 || len(req.Members) == 0 {
		return nil, errors.Join(dynamic...) // the group would stay in use, so nobody is sent away for nothing
	}
	inspect.EachCoordinator(ctx, cl, []string{d.Name}, 1, true, func(ctx context.Context, node int32, _ []string) map[string]error {
		resp, callErr := inspect.Call[*kmsg.LeaveGroupResponse](ctx, cl, node, req)
		if callErr != nil {
			return map[string]error{d.Name: callErr}
		}
		if e := kerr.ErrorForCode(resp.ErrorCode); e != nil {
			return map[string]error{d.Name: e}
		}
		for _, m := range resp.Members {
			if m.InstanceID == nil {
				continue
			}
			// A member that left by itself in the meantime is what was wanted.
			if e := kerr.ErrorForCode(m.ErrorCode); e != nil && !errors.Is(e, kerr.UnknownMemberID) {
				failed = append(failed, fmt.Errorf("%s: %w", byID[*m.InstanceID].Where(), e))
				continue
			}
			evicted = append(evicted, byID[*m.InstanceID])
		}
		return nil
	}, func(_ string, e error) { err = e })
	return evicted, errors.Join(append(failed, err)...)
}
