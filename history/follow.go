package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// Follow knows what groups have by reading [Topic] on from where it ended at the last look, so that thousands of groups cost one
// stream and not a question for each. Its Standing is for inspect's Sampler. It is used by one goroutine.
//
// A group is asked for once, and the records that come after the answer's place in the log are applied to it. Whatever the records
// leave in doubt is asked for again: all groups of a partition whose leader changed, whose log was cut, cleaned or not read to its end,
// and in which a transaction ended that began before; a group with a record that cannot be read, or with a commit on a topic that
// the last answer did not have, since the broker leaves out what the user may not see. Members are asked for again when a record
// tells of a change, and while a group is in none of the states in which nothing changes. Every wholeEvery everything is.
type Follow struct {
	Client *kgo.Client
	Now    func() time.Time

	id     string // of the topic
	of     int32  // its partitions
	parts  map[int32]*followedPart
	whole  time.Time // when everything was last asked for
	denied error
	tried  time.Time // when it was denied
}

// wholeEvery is how often everything is asked for, and a right that was missing is tried again.
const wholeEvery = 10 * time.Minute

// Standing says what groups are and what they have now. What it returns may be used until it is called again.
func (f *Follow) Standing(ctx context.Context, groups []inspect.Group) inspect.Standing {
	if err := f.read(ctx, groups); err != nil {
		f.parts = nil
		if (&TopicError{err}).Denied() {
			f.denied = err
		}
		s := inspect.ReadStanding(ctx, f.Client, groups)
		s.Unfollowed = err
		return s
	}
	return f.standing(ctx, groups)
}

// read brings everything that is followed up to the logs' ends. The error is why the topic cannot be followed at all.
func (f *Follow) read(ctx context.Context, groups []inspect.Group) error {
	if f.denied != nil && f.Now().Sub(f.tried) < wholeEvery {
		return f.denied
	}
	f.tried, f.denied = f.Now(), nil
	topics, err := inspect.ReadTopics(ctx, f.Client, []string{Topic})
	if err != nil {
		return err
	}
	t := topics[Topic]
	n, err := partitionsOf(t)
	if err != nil {
		return err
	}
	if f.parts == nil || n != f.of || t.TopicID() != f.id {
		f.parts, f.of, f.id, f.whole = map[int32]*followedPart{}, n, t.TopicID(), time.Time{}
	}
	parts := inspect.Partitions{}
	for _, g := range groups {
		parts.Add(offset.Partition{Topic: Topic, Partition: PartitionOf(g.Name, n)})
	}
	parts.Compact()
	log := inspect.ReadBounds(ctx, f.Client, parts)
	now := f.Now()
	var behind []*followedPart
	for _, n := range parts[Topic] {
		p := f.parts[n]
		if p == nil {
			p = newFollowedPart(n)
			f.parts[n] = p
		}
		if p.due(log, t.Partitions[n].LeaderEpoch, now) {
			behind = append(behind, p)
		}
	}
	for n := range f.parts { // nobody asks for it any more: its records are not read, so it knows nothing
		if !slices.Contains(parts[Topic], n) {
			delete(f.parts, n)
		}
	}
	return f.walk(ctx, topics, behind)
}

// walk reads the logs of partitions on to their ends. Half of the time that is left is for it: what it does not come to is asked for.
func (f *Follow) walk(ctx context.Context, topics map[string]inspect.Topic, parts []*followedPart) error {
	if until, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(until)/2)
		defer cancel()
	}
	walks := make([]records.Walk, len(parts))
	for i, p := range parts {
		walks[i] = p.walk()
	}
	reader := records.Reader{Client: f.Client, Memory: DefaultMemory, Leader: func(p offset.Partition) (int32, bool) { return inspect.LeaderOf(topics, p) }}
	for i, end := range reader.Walk(ctx, walks) {
		if err := end.Err; err != nil && (&TopicError{err}).Denied() {
			return &TopicError{kerr.TopicAuthorizationFailed}
		}
		parts[i].walked(end)
	}
	return nil
}

// standing asks for what is in doubt, and puts it together with what is known.
func (f *Follow) standing(ctx context.Context, groups []inspect.Group) inspect.Standing {
	now := f.Now()
	if now.Sub(f.whole) >= wholeEvery {
		f.whole = now
		for _, p := range f.parts {
			p.ask = true
		}
	}
	for _, p := range f.parts {
		p.mark()
	}
	of := make(map[string]*followedGroup, len(groups))
	ask := make(map[string]inspect.Ask, len(groups))
	for _, g := range groups {
		p := f.parts[PartitionOf(g.Name, f.of)]
		of[g.Name] = p.group(g)
		ask[g.Name] = p.asks(of[g.Name], g)
	}
	s := inspect.ReadStandingOf(ctx, f.Client, groups, func(g inspect.Group) inspect.Ask { return ask[g.Name] })
	s.Activity = make(map[string]*inspect.Activity, len(groups))
	for _, g := range groups {
		p := f.parts[PartitionOf(g.Name, f.of)]
		p.answered(of[g.Name], g, ask[g.Name], &s)
	}
	for _, p := range f.parts {
		p.settle(of)
	}
	return s
}

// partitionsOf is how many partitions the topic has; the error says why that is not known.
func partitionsOf(t inspect.Topic) (int32, error) {
	if t.Err != nil {
		return 0, &TopicError{t.Err}
	}
	// A partition that the metadata leaves out would shift the groups of all others.
	n := int32(len(t.Partitions))
	if n == 0 || t.Partitions[n-1].Number != n-1 {
		return 0, &TopicError{errors.New("its metadata does not name all of its partitions")}
	}
	return n, nil
}
