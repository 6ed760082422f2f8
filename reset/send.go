package reset

// What is written, and what is read back.

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/commits"
	"github.com/koffset/koffset/offset"
)

// ErrBecameActive says that a broker refused a write because members are in the group.
var ErrBecameActive = offset.NewError(offset.KindRefused, "the group became active between the check and the write")

// rights are what a call needs, for the message where one is missing.
type rights struct{ group, topic string }

// needs are the rights of each operation.
func needs(op commits.Op) rights {
	if op == commits.Commit || op == commits.MoveShare {
		return rights{group: "READ", topic: "READ"}
	}
	return rights{group: "DELETE", topic: "READ"}
}

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
		return fmt.Errorf("the user needs %s on the topic (%w)", r.topic, err)
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return fmt.Errorf("the user needs %s on the group (%w)", r.group, err)
	}
	return err
}

// job is one operation on one group, and which rows of the plan it is about.
type job struct {
	commits.Job
	rows []int
}

// jobs are the operations that the plan needs, in the order of its groups.
func (a *applier) jobs() []job {
	var out []job
	for _, g := range a.plan.Groups {
		store, remove := commits.Commit, commits.Remove
		if a.types[g.Name] == string(inspect.TypeShare) {
			store, remove = commits.MoveShare, commits.RemoveShare
		}
		if _, removed := a.remove[g.Name]; removed {
			out = append(out, a.job(g.Name, commits.RemoveGroup, a.todo[g.Name]))
			continue
		}
		var stores, removes []int
		for _, i := range a.todo[g.Name] {
			if a.res.Rows[i].Action == checkpointfile.ActionDelete {
				removes = append(removes, i)
			} else {
				stores = append(stores, i)
			}
		}
		if len(stores) > 0 {
			out = append(out, a.job(g.Name, store, stores))
		}
		if len(removes) > 0 {
			out = append(out, a.job(g.Name, remove, removes))
		}
	}
	return out
}

func (a *applier) job(group string, op commits.Op, rows []int) job {
	j := job{Job: commits.Job{Group: group, Op: op, KeepFor: a.o.KeepFor, Rows: make([]commits.Row, len(rows))}, rows: rows}
	for n, i := range rows {
		c := a.res.Rows[i].Change
		j.Rows[n] = commits.Row{Partition: c.Partition}
		if op == commits.Commit {
			j.Rows[n].TopicID = commits.TopicID(c.TopicID)
		}
		if op == commits.Commit || op == commits.MoveShare {
			j.Rows[n].Offset, j.Rows[n].LeaderEpoch, j.Rows[n].Metadata = c.To.Offset, c.To.LeaderEpoch, c.To.Metadata
		}
	}
	return j
}

// send writes every group, several at once.
func (a *applier) send(ctx context.Context) {
	ctx, moved, cancel := a.o.Phase(ctx, "write the offsets")
	defer cancel()
	jobs := a.jobs()
	write := make([]commits.Job, len(jobs))
	for i, j := range jobs {
		write[i] = j.Job
	}
	commits.Write(ctx, a.cl, write, func(n int, rows []int, err error) {
		in := make([]int, len(rows))
		for i, r := range rows {
			in[i] = jobs[n].rows[r]
		}
		moved()
		a.answered(jobs[n].Job, in, err)
	})
}

// answered records what became of some rows of a job.
func (a *applier) answered(j commits.Job, rows []int, err error) {
	var unsent *commits.NotSentError
	var unknown *commits.UnknownError
	outcome := OutcomeFailed
	switch {
	case err == nil:
		outcome = OutcomeUnverified
		if a.o.Progress != nil {
			a.o.Progress(len(rows))
		}
	case errors.As(err, &unsent):
	case errors.As(err, &unknown):
		outcome = OutcomeUnknown
	default:
		if errors.Is(err, kerr.UnknownTopicID) {
			err = fmt.Errorf("the topic was deleted, or deleted and created again, between the check and the write (%w)", err)
		}
		if j.Op == commits.Remove && errors.Is(err, kerr.UnknownTopicOrPartition) {
			err = fmt.Errorf("a broker refuses to delete commits of a topic or partition that it does not know; it drops them on its own (%w)", err)
		}
		if j.Op == commits.Remove && j.Group == "" && errors.Is(err, kerr.InvalidGroupID) {
			err = fmt.Errorf("a broker deletes no single commit of the group with the empty name, only the group as a whole (%w)", err)
		}
		err = needs(j.Op).explain(err)
	}
	a.set(outcome, err, rows...)
	if j.Op == commits.RemoveGroup {
		a.setGroup(outcome, err, j.Group)
	}
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
func (a *applier) readBack(ctx context.Context, rows []int, moved func()) standing {
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
	// All at once: some hundred groups after the other would each wait for the way there and back.
	ctx = inspect.WithProgress(ctx, moved)
	for _, c := range inspect.ReadCommits(ctx, a.cl, plain) {
		out.fold(c)
	}
	a.readBackShare(ctx, share, out)
	moved()
	return out
}

// fold takes one group's commits.
func (s standing) fold(c inspect.Commits) {
	if c.Err != nil {
		s.groups[c.Group] = c.Err
	}
	for _, t := range c.Topics {
		for _, r := range t.Rows {
			key := Key{Group: c.Group, Partition: offset.Partition{Topic: t.Topic, Partition: r.Partition}}
			if err := r.Err(); err != nil {
				s.rows[key] = err
			}
			if m := r.Committed(); m != nil {
				s.stored[key] = &Commit{Offset: m.Offset, LeaderEpoch: m.LeaderEpoch, Metadata: m.Metadata}
			}
		}
	}
}
