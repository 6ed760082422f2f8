package reset

// The requests that write, and the ones that read back.

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// One OffsetCommit becomes one batch of the offsets topic, whose limit is 1 MiB by default: above it the whole request
// fails as UNKNOWN_SERVER_ERROR (measured: 10,000 partitions with 20 bytes of metadata each). So requests are split by
// bytes; what is atomic is then a partition.
const (
	maxCommitBytes = 900_000
	maxCommitRows  = 2_000
	rowBytes       = 70 // of the offsets topic, beside the three strings
)

// ErrBecameActive says that a broker refused a write because members are in the group.
var ErrBecameActive = errors.New("the group became active between the check and the write")

// rights are what a call needs, for the message where one is missing.
type rights struct{ group, topic string }

// explain turns a broker's code into what it means for an administrator's write.
func (r rights) explain(err error) error {
	for _, e := range []error{kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress, kerr.StaleMemberEpoch,
		kerr.FencedMemberEpoch, kerr.FencedInstanceID, kerr.NonEmptyGroup, kerr.GroupSubscribedToTopic} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w (%w)", ErrBecameActive, err)
		}
	}
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Errorf("the principal needs %s on the topic (%w)", r.topic, err)
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return fmt.Errorf("the principal needs %s on the group (%w)", r.group, err)
	}
	return err
}

// sendGroups writes the groups at their coordinators, a bounded number at once.
func sendGroups(ctx context.Context, a *applier, groups []string) {
	inspect.EachCoordinator(ctx, a.cl, groups, 1, func(ctx context.Context, node int32, one []string) map[string]error {
		if err := a.group(ctx, node, one[0]); err != nil {
			return map[string]error{one[0]: err}
		}
		return nil
	}, func(group string, err error) {
		a.notSent(group, err)
	})
}

// notSent records that what is pending of a group never left.
func (a *applier) notSent(group string, err error) {
	rows := a.pending(group)
	if len(rows) == 0 && a.remove[group] {
		a.fail(group, fmt.Errorf("not sent: %w", err))
	}
	a.set(OutcomeFailed, fmt.Errorf("not sent: %w", err), rows...)
}

// pending are the rows of a group that have no answer yet.
func (a *applier) pending(group string) []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []int
	for _, i := range a.todo[group] {
		if r := a.res.Rows[i]; r.Outcome == OutcomeUnknown && r.Err == nil {
			out = append(out, i)
		}
	}
	return out
}

// group writes what is pending of one group. An error asks for another try at another coordinator; everything else is in
// the rows.
func (a *applier) group(ctx context.Context, node int32, group string) error {
	if err := context.Cause(ctx); err != nil {
		a.notSent(group, err)
		return nil
	}
	rows := a.pending(group)
	var commits, deletes []int
	for _, i := range rows {
		if err := inLog(a.res.Rows[i].Change); err != nil {
			a.set(OutcomeFailed, err, i)
			continue
		}
		if a.res.Rows[i].Action == checkpointfile.ActionDelete {
			deletes = append(deletes, i)
		} else {
			commits = append(commits, i)
		}
	}
	share := a.types[group] == string(inspect.TypeShare)
	switch {
	case a.remove[group]:
		return a.deleteGroup(ctx, node, group, rows)
	case share:
		if err := a.alterShare(ctx, node, group, commits); err != nil {
			return err
		}
		return a.deleteShare(ctx, node, group, deletes)
	}
	for len(commits) > 0 {
		if err := context.Cause(ctx); err != nil {
			a.notSent(group, err)
			return nil
		}
		n := a.chunk(group, commits)
		if err := a.commit(ctx, node, group, commits[:n]); err != nil {
			return err
		}
		commits = commits[n:]
	}
	if len(deletes) > 0 {
		return a.deleteOffsets(ctx, node, group, deletes)
	}
	return nil
}

// chunk is how many of the rows fit into one request.
func (a *applier) chunk(group string, rows []int) int {
	size := 0
	for n, i := range rows {
		c := a.res.Rows[i].Change
		size += rowBytes + len(group) + len(c.Topic) + len(c.To.Metadata)
		if n > 0 && (size > maxCommitBytes || n == maxCommitRows) {
			return n
		}
	}
	return len(rows)
}

// offsetCommitV9 keeps the request below version 10, which names topics by id: one id that cannot be looked up, for want
// of a right or because the topic is going away, would fail every partition of the request.
type offsetCommitV9 struct{ *kmsg.OffsetCommitRequest }

func (offsetCommitV9) MaxVersion() int16 { return 9 }

// commit sends one OffsetCommit as an administrator: generation -1 and no member, which a broker takes only while the
// group has no members.
func (a *applier) commit(ctx context.Context, node int32, group string, rows []int) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	for _, i := range rows {
		c := a.res.Rows[i].Change
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = c.Partition.Partition, c.To.Offset, c.To.LeaderEpoch.Wire(), &c.To.Metadata
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != c.Topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = c.Topic
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	resp, err := inspect.Call[*kmsg.OffsetCommitResponse](ctx, a.cl, node, offsetCommitV9{req})
	if err != nil {
		return a.noAnswer(ctx, err, rows)
	}
	codes := map[offset.Partition]int16{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[offset.Partition{Topic: t.Topic, Partition: p.Partition}] = p.ErrorCode
		}
	}
	return a.answered(rows, rights{group: "READ", topic: "READ"}, func(c Change) error {
		code, ok := codes[c.Partition]
		if !ok {
			return errLeftOut
		}
		return kerr.ErrorForCode(code)
	})
}

var errLeftOut = errors.New("the broker left it out of its answer")

// doubtfulError is an answer that leaves open whether the row was stored.
type doubtfulError struct{ err error }

func (e *doubtfulError) Error() string { return e.err.Error() }
func (e *doubtfulError) Unwrap() error { return e.err }

// answered records the broker's answer for each row, and asks for another try where the coordinator moved.
func (a *applier) answered(rows []int, need rights, of func(Change) error) error {
	var good []int
	var again error
	for _, i := range rows {
		err := of(a.res.Rows[i].Change)
		switch {
		case err == nil:
			good = append(good, i)
		case inspect.RetryGroup(err):
			again = err // the row stays pending: nothing of it was written
		case errors.Is(err, errLeftOut), errors.Is(err, kerr.RequestTimedOut), errors.Is(err, kerr.UnknownServerError):
			// The broker may have stored it all the same: a timeout there is one of replication. Reading back decides.
			a.set(OutcomeUnknown, &doubtfulError{err}, i)
		default:
			a.set(OutcomeFailed, need.explain(err), i)
		}
	}
	a.set(OutcomeUnverified, nil, good...)
	if a.o.Progress != nil {
		a.o.Progress(len(good))
	}
	return again
}

// noAnswer records a request without an answer. A connection that was never made sent nothing; whatever else happened, the
// write may have arrived, and reading back decides.
func (a *applier) noAnswer(ctx context.Context, err error, rows []int) error {
	if inspect.RetryGroup(err) {
		return err
	}
	if c := context.Cause(ctx); c != nil {
		err = c
	}
	if errors.Is(err, inspect.ErrNoCall) {
		a.set(OutcomeFailed, err, rows...)
		return nil
	}
	a.set(OutcomeUnknown, fmt.Errorf("sent, and no answer: %w", err), rows...)
	return nil
}

// deleteOffsets removes commits of single partitions.
func (a *applier) deleteOffsets(ctx context.Context, node int32, group string, rows []int) error {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	for _, i := range rows {
		c := a.res.Rows[i].Change
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != c.Topic {
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = c.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = c.Partition.Partition
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	resp, err := inspect.Call[*kmsg.OffsetDeleteResponse](ctx, a.cl, node, req)
	if err != nil {
		return a.noAnswer(ctx, err, rows)
	}
	codes := map[offset.Partition]int16{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[offset.Partition{Topic: t.Topic, Partition: p.Partition}] = p.ErrorCode
		}
	}
	return a.answered(rows, rights{group: "DELETE", topic: "READ"}, func(c Change) error {
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return err
		}
		code, ok := codes[c.Partition]
		if !ok {
			return errLeftOut
		}
		err := kerr.ErrorForCode(code)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			err = fmt.Errorf("a broker deletes no commit of a topic or partition that it does not know; it drops them by itself (%w)", err)
		}
		return err
	})
}

// deleteGroup removes a group with everything it stored. A group that is gone already is done.
func (a *applier) deleteGroup(ctx context.Context, node int32, group string, rows []int) error {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	resp, err := inspect.Call[*kmsg.DeleteGroupsResponse](ctx, a.cl, node, req)
	if err != nil {
		if len(rows) == 0 && !inspect.RetryGroup(err) {
			a.fail(group, fmt.Errorf("sent, and no answer: %w", err))
		}
		return a.noAnswer(ctx, err, rows)
	}
	err = errLeftOut
	for _, g := range resp.Groups {
		if g.Group == group {
			err = inspect.CodeError(g.ErrorCode, nil)
		}
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		err = nil
	}
	if err != nil && !inspect.RetryGroup(err) {
		a.fail(group, rights{group: "DELETE"}.explain(err))
	}
	return a.answered(rows, rights{group: "DELETE"}, func(Change) error { return err })
}

// fail records a group as a whole.
func (a *applier) fail(group string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.res.Failed = append(a.res.Failed, &GroupError{Group: group, Err: err})
}

// standing is what is stored for some rows now, and why it is not known for others.
type standing struct {
	stored map[Key]*Commit
	groups map[string]error
	rows   map[Key]error
}

// err is why a row's value is not known; nil where it is.
func (s standing) err(r Row) error { return errors.Join(s.groups[r.Group], s.rows[r.Key()]) }

// readBack reads what is stored for rows now. A partition that the broker answered with an error is not the same as one
// without a commit: a deletion would then be taken for done.
func (a *applier) readBack(ctx context.Context, rows []int) standing {
	out := standing{stored: map[Key]*Commit{}, groups: map[string]error{}, rows: map[Key]error{}}
	seen := map[string]bool{}
	var plain, share []string
	for _, i := range rows {
		g := a.res.Rows[i].Group
		if seen[g] {
			continue
		}
		seen[g] = true
		if a.types[g] == string(inspect.TypeShare) {
			share = append(share, g)
		} else {
			plain = append(plain, g)
		}
	}
	for _, c := range inspect.ReadCommits(ctx, a.cl, plain) {
		if c.Err != nil {
			out.groups[c.Group] = c.Err
		}
		for _, t := range c.Topics {
			for _, r := range t.Rows {
				key := Key{Group: c.Group, Partition: offset.Partition{Topic: t.Topic, Partition: r.Partition}}
				if err := r.Err(); err != nil {
					out.rows[key] = err
				}
				if m := r.Committed(); m != nil {
					out.stored[key] = &Commit{Offset: m.Offset, LeaderEpoch: m.LeaderEpoch, Metadata: m.Metadata}
				}
			}
		}
	}
	a.readBackShare(ctx, share, out)
	return out
}
