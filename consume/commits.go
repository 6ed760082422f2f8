package consume

// Committing to the group: one commit at a time, the newest positions, after a look at what is there.

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

// commits are the commits of a run. The loop asks for them; one goroutine at a time does them.
type commits struct {
	r       *run
	results chan committed
	busy    bool
	pending *commitJob // the newest that waits; older ones are dropped
	last    []Position
	// What the engine knows about the group, used by the goroutine that commits: by partition, the values that are the
	// engine's own or that it has seen and told of.
	ours   map[offset.Partition][]int64
	began  bool
	warned map[offset.Partition]int64 // foreign values that were told
}

type commitJob struct {
	id        int64
	positions []Position
}

// committed is what became of a commit.
type committed struct {
	job      commitJob
	done     []Position
	failed   []string // partitions, with the reason
	foreign  int
	notices  []Notice
	fatal    error // ends the run
	attempts bool  // something was sent or tried
}

func (c *commits) init(r *run) {
	c.r = r
	c.results = make(chan committed, 1)
	c.ours, c.warned = map[offset.Partition][]int64{}, map[offset.Partition]int64{}
	for _, row := range r.plan.Rows {
		if row.Committed != nil {
			c.ours[row.Partition] = []int64{row.Committed.Offset}
		}
	}
}

// request commits positions as soon as the commit before it has ended.
func (c *commits) request(id int64, positions []Position) {
	c.pending = &commitJob{id, positions}
	c.next()
}

func (c *commits) next() {
	if c.busy || c.pending == nil {
		return
	}
	job := *c.pending
	c.pending, c.busy = nil, true
	go func() {
		ctx, cancel := context.WithTimeout(c.r.work, 30*time.Second)
		defer cancel()
		c.results <- c.do(ctx, job)
	}()
}

// ended handles the end of a commit.
func (c *commits) ended(res committed) error {
	c.busy = false
	err := c.account(res)
	c.next()
	return err
}

func (c *commits) account(res committed) error {
	r := c.r
	for _, n := range res.notices {
		r.notify(n)
	}
	r.stats.foreign.Add(int64(res.foreign))
	switch {
	case !res.attempts:
	case len(res.failed) > 0 || res.fatal != nil:
		r.stats.commitsBad.Add(1)
	default:
		r.stats.commitsOK.Add(1)
	}
	if len(res.done) > 0 {
		c.last = res.done
		r.stats.lastCommit.Store(r.cfg.now().UnixNano())
		for _, p := range res.done {
			if ps := r.parts[p.Topic]; int(p.Partition.Partition) < len(ps) && ps[p.Partition.Partition] != nil {
				ps[p.Partition.Partition].pub.committed.Store(p.Offset)
			}
		}
	}
	if len(res.failed) > 0 {
		const shown = 5
		text := strings.Join(res.failed[:min(shown, len(res.failed))], "; ")
		if n := len(res.failed) - shown; n > 0 {
			text += fmt.Sprintf("; and %d partitions more", n)
		}
		r.notify(warnf("", "the commit to group %s failed, the next one tries again: %s", r.cfg.Group, text))
	}
	return res.fatal
}

// finish waits for the commit under way and the one that waits, for the last of a run.
func (c *commits) finish(ctx context.Context) (failed []string, err error) {
	for c.busy {
		select {
		case res := <-c.results:
			c.busy = false
			failed = res.failed
			if err := c.account(res); err != nil {
				return failed, err
			}
			c.next()
		case <-ctx.Done():
			return []string{"no answer within " + c.r.cfg.StopTimeout.String()}, nil
		}
	}
	return failed, nil
}

// do looks at the group and commits. It runs beside the loop.
func (c *commits) do(ctx context.Context, job commitJob) committed {
	out := committed{job: job}
	if s := c.r.cfg.Store; s != nil {
		out.attempts = true
		if err := s.Save(ctx, job.id, job.positions); err != nil {
			out.failed = append(out.failed, "the offset store: "+err.Error())
		}
	}
	if c.r.plan.Committer == CommitsNever {
		return out
	}
	out.attempts = true
	cfg := &c.r.cfg
	now, err := inspect.ReadCommitsOf(ctx, cfg.Client, cfg.Group)
	if err != nil {
		out.failed = append(out.failed, "read the group's commits: "+err.Error())
		return out
	}
	send := c.judge(now, job, &out)
	if out.fatal != nil || len(send) == 0 {
		return out
	}
	if !c.began {
		if err := c.before(ctx, now, send); err != nil {
			out.fatal = errorf(Failed, "", "nothing was committed: %w", err)
			return out
		}
		c.began = true
	}
	for _, p := range send {
		// Before it is sent: where the answer is lost the value may be there all the same.
		known := append(c.ours[p.Partition], p.Offset)
		c.ours[p.Partition] = known[max(0, len(known)-4):]
	}
	for p, err := range sendCommit(ctx, cfg.Client, cfg.Group, send) {
		if err != nil {
			out.failed = append(out.failed, p.Partition.String()+": "+commitReason(err))
			continue
		}
		out.done = append(out.done, p)
	}
	return out
}

// judge drops what must not be committed and tells of foreign committers.
func (c *commits) judge(now inspect.Commits, job commitJob, out *committed) []Position {
	var send []Position
	for _, p := range job.positions {
		var have *offset.Committed
		if row, ok := now.Find(p.Partition); ok {
			have = row.Committed()
		}
		verdict := judgeCommit(have, c.ours[p.Partition], p.Offset)
		if verdict == commitOurs {
			send = append(send, p)
			continue
		}
		out.foreign++
		text := fmt.Sprintf("somebody else commits to group %s: %s holds %d, this run left %s and is at %d", c.r.cfg.Group, p.Partition, have.Offset, lastOf(c.ours[p.Partition]), p.Offset)
		if c.r.cfg.Policies.FailOnForeign {
			out.fatal = errorf(Failed, "give each of them a group.id of its own", "%s", text)
			return nil
		}
		if c.warned[p.Partition] != have.Offset+1 {
			c.warned[p.Partition] = have.Offset + 1
			hint := "give each of them a group.id of its own; --on-foreign-commit fail stops here"
			if verdict == commitBackward && !c.r.cfg.Policies.AllowRewind {
				text += ": left as it is, since a commit would go backwards"
				hint = "give each of them a group.id of its own; --allow-rewind commits all the same"
			}
			out.notices = append(out.notices, warnf(hint, "%s", text))
		}
		if verdict == commitBackward && !c.r.cfg.Policies.AllowRewind {
			out.failed = append(out.failed, fmt.Sprintf("%s: not moved back from %d to %d", p.Partition, have.Offset, p.Offset))
			continue
		}
		send = append(send, p)
	}
	return send
}

func lastOf(ours []int64) string {
	if len(ours) == 0 {
		return "nothing"
	}
	return fmt.Sprint(ours[len(ours)-1])
}

// before hands the before-image to the caller, once.
func (c *commits) before(ctx context.Context, now inspect.Commits, send []Position) error {
	if c.r.cfg.BeforeCommit == nil {
		return nil
	}
	rows := make(map[offset.Partition]PlanRow, len(c.r.plan.Rows))
	for _, row := range c.r.plan.Rows {
		rows[row.Partition] = row
	}
	image := make([]Before, 0, len(send))
	for _, p := range send {
		b := Before{Partition: p.Partition, TopicID: rows[p.Partition].TopicID, Bounds: rows[p.Partition].Bounds,
			Next: offset.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}}
		if row, ok := now.Find(p.Partition); ok {
			b.Committed = row.Committed()
		}
		image = append(image, b)
	}
	return c.r.cfg.BeforeCommit(ctx, image)
}

// commitReason says what a broker's answer to a commit means.
func commitReason(err error) string {
	switch {
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.StaleMemberEpoch):
		return "the group has members of its own now, and only they may commit (" + err.Error() + ")"
	}
	return err.Error()
}

// offsetCommitV9 keeps the request below version 10, which names topics by an id that would have to be looked up first.
type offsetCommitV9 struct{ *kmsg.OffsetCommitRequest }

func (offsetCommitV9) MaxVersion() int16 { return 9 }

// Group says whose coordinator answers; kgo asks the request for it.
func (o offsetCommitV9) GroupID() string { return o.Group }

// commitBytes bounds one OffsetCommit: the broker writes it as one batch, and above a megabyte it fails whole.
const commitBytes = 900_000

// sendCommit commits positions without being a member, in as many requests as their size needs, and yields every
// position once with the broker's answer.
func sendCommit(ctx context.Context, cl *kgo.Client, group string, positions []Position) func(yield func(Position, error) bool) {
	return func(yield func(Position, error) bool) {
		for len(positions) > 0 {
			n, size := 0, 0
			for n < len(positions) && (n == 0 || size < commitBytes) {
				size += 70 + len(group) + len(positions[n].Topic)
				n++
			}
			chunk := positions[:n]
			positions = positions[n:]
			errs, all := commitChunk(ctx, cl, group, chunk)
			for _, p := range chunk {
				err := all
				if all == nil {
					var answered bool
					if err, answered = errs[p.Partition]; !answered {
						err = errors.New("the broker left it out of its answer")
					}
				}
				if !yield(p, err) {
					return
				}
			}
		}
	}
}

func commitChunk(ctx context.Context, cl *kgo.Client, group string, chunk []Position) (map[offset.Partition]error, error) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	at := map[string]int{}
	for _, p := range chunk {
		i, ok := at[p.Topic]
		if !ok {
			i = len(req.Topics)
			at[p.Topic] = i
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = p.Topic
			req.Topics = append(req.Topics, t)
		}
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.LeaderEpoch = p.Partition.Partition, p.Offset, p.LeaderEpoch.Wire()
		rp.Metadata = kmsg.StringPtr("")
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	for {
		node, err := inspect.Coordinator(ctx, cl, group)
		if err != nil {
			return nil, err
		}
		resp, err := cl.Broker(int(node)).RetriableRequest(ctx, offsetCommitV9{req})
		if err != nil {
			return nil, err
		}
		errs, moved := map[offset.Partition]error{}, false
		for _, t := range resp.(*kmsg.OffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				err := kerr.ErrorForCode(p.ErrorCode)
				errs[offset.Partition{Topic: t.Topic, Partition: p.Partition}] = err
				moved = moved || errors.Is(err, kerr.NotCoordinator) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.CoordinatorNotAvailable)
			}
		}
		if !moved || !pause(ctx, 100*time.Millisecond) {
			return errs, nil
		}
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
