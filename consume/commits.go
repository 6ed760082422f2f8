package consume

// Committing to the group: one commit at a time, the newest positions, after a look at what is there.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
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
	kept   map[offset.Partition]bool  // whose before-image the caller has
	warned map[offset.Partition]int64 // foreign values that were told
}

type commitJob struct {
	id    int64
	marks []mark
}

// committed is what became of a commit.
type committed struct {
	job      commitJob
	done     []Position
	failed   []string // partitions, with the reason
	cause    error    // of the last that failed; nil where nothing did
	foreign  int
	notices  []Notice
	fatal    error // ends the run
	attempts bool  // something was sent or tried
}

// fail notes why something was not committed.
func (out *committed) fail(what string, err error) {
	out.failed, out.cause = append(out.failed, what+err.Error()), err
}

func (c *commits) init(r *run) {
	c.r = r
	c.results = make(chan committed, 1)
	c.ours, c.warned = map[offset.Partition][]int64{}, map[offset.Partition]int64{}
	c.kept = map[offset.Partition]bool{}
	for _, row := range r.plan.Rows {
		if row.Committed != nil {
			c.ours[row.Partition] = []int64{row.Committed.Offset}
		}
	}
}

// request commits what marks say as soon as the commit before it has ended.
func (c *commits) request(id int64, marks []mark) {
	c.pending = &commitJob{id, marks}
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
			if have := r.part(p.Partition); have != nil {
				have.pub.committed.Store(p.Offset)
			}
		}
	}
	if len(res.failed) > 0 {
		const shown = 5
		why := strings.Join(res.failed[:min(shown, len(res.failed))], "; ")
		if n := len(res.failed) - shown; n > 0 {
			why += "; and " + text.More(n, "partition")
		}
		r.notify(warnf(needed(res.cause), "the commit to group %s failed, the next one tries again: %s", r.cfg.Group, why))
	}
	return res.fatal
}

// finish waits for the commit under way and the one that waits, for the last of a run. failed is why one partition of the last is not
// committed.
func (c *commits) finish(ctx context.Context) (failed, err error) {
	for c.busy {
		select {
		case res := <-c.results:
			c.busy = false
			failed = res.cause
			if err := c.account(res); err != nil {
				return failed, err
			}
			c.next()
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s", c.r.cfg.StopTimeout), nil
		}
	}
	return failed, nil
}

// do looks at the topics and the group, and commits. It runs beside the loop.
func (c *commits) do(ctx context.Context, job commitJob) committed {
	out := committed{job: job}
	if c.r.plan.Committer == CommitsNever && c.r.cfg.Store == nil {
		return out
	}
	out.attempts = true
	if err := c.sameTopics(ctx, job.marks); err != nil {
		var own *Error
		if errors.As(err, &own) {
			out.fatal = own
		} else {
			out.fail("", err)
		}
		return out
	}
	if s := c.r.cfg.Store; s != nil {
		if err := s.Save(ctx, job.id, positionsOf(job.marks)); err != nil {
			out.fail("the offset store: ", err)
		}
	}
	if c.r.plan.Committer != CommitsNever {
		c.commit(ctx, job, &out)
	}
	return out
}

// sameTopics refuses positions of a topic that is not the one they were read from. Brokers before 4.2 are told the name alone,
// and would take the old topic's offsets for the new one's. The error is an *Error where the topic is another one or gone.
func (c *commits) sameTopics(ctx context.Context, marks []mark) error {
	ids := topicIDs(marks)
	if len(ids) == 0 {
		return nil
	}
	topics, err := inspect.ReadTopics(ctx, c.r.cfg.Client, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		t := topics[name]
		if err := topicChanged(name, ids[name], t); err != nil {
			return err
		}
		if t.Err != nil {
			return fmt.Errorf("topic %s: %w", name, t.Err)
		}
	}
	return nil
}

// topicIDs are the ids of the topics that marks are of, by name, where they are known.
func topicIDs(marks []mark) map[string]string {
	ids := map[string]string{}
	for _, m := range marks {
		if m.topicID != "" && !m.skip {
			ids[m.Topic] = m.topicID
		}
	}
	return ids
}

// commit commits positions to the group.
func (c *commits) commit(ctx context.Context, job commitJob, out *committed) {
	cfg := &c.r.cfg
	send := positionsOf(job.marks)
	fresh := slices.ContainsFunc(send, func(p Position) bool { return !c.kept[p.Partition] })
	// Nobody but this member may commit to its partitions: it looks only for the before-image.
	if c.r.member == nil || fresh {
		now, err := inspect.ReadCommitsOf(ctx, cfg.Client, cfg.Group)
		if err != nil {
			out.fail("read the group's commits: ", err)
			return
		}
		if c.r.member == nil {
			send = c.judge(now, send, out)
		}
		if out.fatal != nil || len(send) == 0 {
			return
		}
		if err := c.keep(ctx, now, job, send); err != nil {
			out.fatal = errorf(Failed, "", "nothing was committed: %w", err)
			return
		}
	}
	for _, p := range send {
		// Before it is sent: where the answer is lost the value may be there all the same.
		known := append(c.ours[p.Partition], p.Offset)
		c.ours[p.Partition] = known[max(0, len(known)-4):]
	}
	commit := func() func(func(Position, error) bool) {
		return sendCommit(ctx, cfg.Client, cfg.Group, send, topicIDs(job.marks))
	}
	if c.r.member != nil {
		commit = func() func(func(Position, error) bool) { return c.r.member.commit(ctx, send) }
	}
	for p, err := range commit() {
		if errors.Is(err, kerr.UnknownTopicID) {
			// The broker knows better than the look before it: the topic went away in between.
			if own := new(Error); errors.As(c.sameTopics(ctx, job.marks), &own) {
				out.fatal = own
			}
		}
		if err != nil {
			out.fail(p.Partition.String()+": ", commitReason(err))
			continue
		}
		out.done = append(out.done, p)
	}
}

// judge drops what must not be committed and tells of foreign committers.
func (c *commits) judge(now inspect.Commits, positions []Position, out *committed) []Position {
	var send []Position
	for _, p := range positions {
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
		text := fmt.Sprintf("another client commits to group %s: %s holds %d, this run left %s and is at %d", c.r.cfg.Group, p.Partition, have.Offset, lastOf(c.ours[p.Partition]), p.Offset)
		if c.r.cfg.Policies.FailOnForeign {
			out.fatal = errorf(Failed, "give each of them a group.id of its own", "%s", text)
			return nil
		}
		if c.warned[p.Partition] != have.Offset+1 {
			c.warned[p.Partition] = have.Offset + 1
			hint := "give each of them a group.id of its own; {{on-foreign-commit fail}} stops here"
			if verdict == commitBackward && !c.r.cfg.Policies.AllowRewind {
				text += ": left as it is, since a commit would go backwards"
				hint = "give each of them a group.id of its own; {{allow-rewind}} commits all the same"
			}
			out.notices = append(out.notices, warnf(hint, "%s", text))
		}
		if verdict == commitBackward && !c.r.cfg.Policies.AllowRewind {
			out.fail(p.Partition.String()+": ", fmt.Errorf("not moved back from %d to %d", have.Offset, p.Offset))
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

// keep hands the caller the before-image of the partitions that are committed for the first time.
func (c *commits) keep(ctx context.Context, now inspect.Commits, job commitJob, send []Position) error {
	marks := make(map[offset.Partition]mark, len(job.marks))
	for _, m := range job.marks {
		marks[m.Partition] = m
	}
	var image []Before
	for _, p := range send {
		if c.kept[p.Partition] {
			continue
		}
		m := marks[p.Partition]
		b := Before{Partition: p.Partition, TopicID: m.topicID, Bounds: m.bounds, Next: offset.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}}
		if row, ok := now.Find(p.Partition); ok {
			b.Committed = row.Committed()
		}
		image = append(image, b)
	}
	if len(image) == 0 {
		return nil
	}
	if c.r.cfg.BeforeCommit != nil {
		if err := c.r.cfg.BeforeCommit(ctx, image); err != nil {
			return err
		}
	}
	for _, b := range image {
		c.kept[b.Partition] = true
	}
	return nil
}

// forget drops partitions from the commit that waits: they are somebody else's now.
func (c *commits) forget(parts []offset.Partition) {
	if c.pending == nil {
		return
	}
	c.pending.marks = slices.DeleteFunc(slices.Clone(c.pending.marks), func(m mark) bool { return slices.Contains(parts, m.Partition) })
	if len(c.pending.marks) == 0 {
		c.pending = nil
	}
}

var errLeftOut = errors.New("the broker left it out of its answer")

// commitReason says what a broker's answer to a commit means.
func commitReason(err error) error {
	switch {
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.StaleMemberEpoch):
		return fmt.Errorf("the group has members of its own now, and only they may commit (%w)", err)
	}
	return err
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
