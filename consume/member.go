package consume

// Reading as a member of a group: the group decides which partitions are this process's, and only a member may commit. That
// is all that differs from a run with partitions of its own; the loop does the rest.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// member is the run's membership. Its callbacks come from the client's goroutines; they hand a shift to the loop and wait
// until the loop has done it.
type member struct {
	*Engine
	work context.Context
	cl   *kgo.Client
	// shifts are partitions that come or go.
	shifts chan shift
	// settled is closed after the last commit: until then no partition is given back behind its back.
	settled chan struct{}
}

// shift is partitions that come to this member, or leave it.
type shift struct {
	given []PlanRow // with the place where each is read on
	taken []offset.Partition
	// lost says that the partitions belong to somebody else already: nothing can be committed for them.
	lost bool
	done chan struct{}
}

func newMember(e *Engine, work context.Context) *member {
	return &member{Engine: e, work: work, shifts: make(chan shift), settled: make(chan struct{})}
}

// options make the fetching client a member.
func (m *member) options() []kgo.Opt {
	c := &m.cfg
	topics := make([]string, len(c.Topics))
	for i, t := range c.Topics {
		topics[i] = t.Topic
	}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(c.Group), kgo.ConsumeTopics(topics...),
		// place names the offset of every partition; this is what kgo asks for before it is called.
		kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd()),
		// A partition must not go while records of it are on their way to the loop: they would be handed on after its commit.
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.AdjustFetchOffsetsFn(m.place),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { m.taken(ps, false) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { m.taken(ps, true) }),
	}
	if c.Discovery > 0 {
		age := max(c.Discovery, time.Second)
		opts = append(opts, kgo.MetadataMaxAge(age), kgo.MetadataMinAge(min(age, 2500*time.Millisecond)))
	}
	if c.Join.Consumer {
		opts = append(opts, kgo.ServerSideBalancer())
	} else {
		opts = append(opts, kgo.Balancers(c.Join.balancers()...))
		if c.Join.SessionTimeout > 0 {
			opts = append(opts, kgo.SessionTimeout(c.Join.SessionTimeout))
		}
		if c.Join.Heartbeat > 0 {
			opts = append(opts, kgo.HeartbeatInterval(c.Join.Heartbeat))
		}
	}
	if c.Join.RebalanceTimeout > 0 {
		opts = append(opts, kgo.RebalanceTimeout(c.Join.RebalanceTimeout))
	}
	if c.Join.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(c.Join.InstanceID))
	}
	return opts
}

func (j *Join) balancers() []kgo.GroupBalancer {
	var out []kgo.GroupBalancer
	for _, a := range j.Assignors {
		switch a {
		case AssignRange:
			out = append(out, kgo.RangeBalancer())
		case AssignRoundRobin:
			out = append(out, kgo.RoundRobinBalancer())
		case AssignSticky:
			out = append(out, kgo.StickyBalancer())
		case AssignCooperativeSticky:
			out = append(out, kgo.CooperativeStickyBalancer())
		}
	}
	if len(out) == 0 {
		out = append(out, kgo.CooperativeStickyBalancer())
	}
	return out
}

// place says where each partition that came is read on, by the engine's own rules, and tells the loop. kgo would only say it
// with the first record, and an idle partition would have no position that could be committed.
func (m *member) place(ctx context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	parts := inspect.Partitions{}
	for t, ps := range fetched {
		for n := range ps {
			parts.Add(offset.Partition{Topic: t, Partition: n})
		}
	}
	if parts.Len() == 0 {
		return fetched, nil
	}
	rows, err := m.rows(ctx, parts)
	if err != nil {
		return nil, err
	}
	out := map[string]map[int32]kgo.Offset{}
	for _, row := range rows {
		at := kgo.NewOffset().At(row.Start)
		if row.Skip {
			at = kgo.NewOffset().At(row.Bounds.End)
		} else if n, known := row.Epoch.Get(); known {
			at = at.WithEpoch(n)
		}
		if out[row.Topic] == nil {
			out[row.Topic] = map[int32]kgo.Offset{}
		}
		out[row.Topic][row.Partition.Partition] = at
	}
	m.shift(shift{given: rows})
	return out, ctx.Err()
}

// rows plans partitions that came. It asks until the brokers answer or the session ends: giving up would give every
// partition back.
func (m *member) rows(ctx context.Context, parts inspect.Partitions) ([]PlanRow, error) {
	for {
		rows, err := m.tryRows(ctx, parts)
		if err == nil || !passes(err) {
			return rows, err
		}
		if !pause(ctx, 250*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

func (m *member) tryRows(ctx context.Context, parts inspect.Partitions) ([]PlanRow, error) {
	c := &m.cfg
	names := make([]string, 0, len(parts))
	for t := range parts {
		names = append(names, t)
	}
	topics, err := inspect.ReadTopics(ctx, c.Client, names)
	if err != nil {
		return nil, err
	}
	commits, err := inspect.ReadCommitsOf(ctx, c.Client, c.Group)
	if err != nil {
		return nil, fmt.Errorf("read the commits of group %s: %w", c.Group, err)
	}
	log := inspect.ReadBounds(ctx, c.Client, parts)
	var out []PlanRow
	for topic, ns := range parts {
		for _, n := range ns {
			p := offset.Partition{Topic: topic, Partition: n}
			f := factsOf(c, p, topics[topic], log, commits)
			if f.start.Err != nil {
				return nil, f.start.Err
			}
			row, err := planRow(c, f, nil)
			if err != nil {
				return nil, err
			}
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b PlanRow) int { return a.Compare(b.Partition) })
	return out, nil
}

func (m *member) taken(ps map[string][]int32, lost bool) {
	var parts []offset.Partition
	for t, ns := range ps {
		for _, n := range ns {
			parts = append(parts, offset.Partition{Topic: t, Partition: n})
		}
	}
	if len(parts) > 0 {
		m.shift(shift{taken: parts, lost: lost})
	}
}

// shift hands partitions that come or go to the loop, and returns when the loop has dealt with them, or has ended.
func (m *member) shift(s shift) {
	s.done = make(chan struct{})
	ended := m.work.Done()
	select {
	case m.shifts <- s:
	case <-m.settled:
		return
	case <-ended:
		return
	}
	select {
	case <-s.done:
	case <-ended:
	}
}

// leave gives up the place of a static member of the new protocol until its next run takes it. The client's own leave names no
// instance, which Kafka refuses as invalid (measured with franz-go 1.22.3 and Kafka 4.3.1), and a run that came next was turned away
// until the session had timed out, for 45 s. What leave returns is to be called when the client no longer beats.
func (m *member) leave() func(ctx context.Context) {
	id := m.cfg.Join.InstanceID
	if m.cl == nil || !m.cfg.Join.Consumer || id == "" {
		return func(context.Context) {}
	}
	// Raw: kgo leaves a static member of this protocol with an epoch that Kafka refuses.
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.InstanceID, req.MemberEpoch = m.cfg.Group, &id, -2
	req.MemberID, _ = m.cl.GroupMetadata()
	return func(ctx context.Context) {
		// Without an answer the place is free when the session has timed out.
		_, _ = req.RequestWith(ctx, m.cfg.Client)
	}
}

// errLostMeanwhile is a commit that the client did not send.
var errLostMeanwhile = errors.New("it was not sent: the partition went to another member, or its topic was made again")

// commit commits as the member. Every position gets the broker's answer.
func (m *member) commit(ctx context.Context, positions []Position) func(yield func(Position, error) bool) {
	return func(yield func(Position, error) bool) {
		offsets := map[string]map[int32]kgo.EpochOffset{}
		for _, p := range positions {
			if offsets[p.Topic] == nil {
				offsets[p.Topic] = map[int32]kgo.EpochOffset{}
			}
			offsets[p.Topic][p.Partition.Partition] = kgo.EpochOffset{Epoch: p.LeaderEpoch.Wire(), Offset: p.Offset}
		}
		errs := map[offset.Partition]error{}
		var whole error
		left := errLostMeanwhile
		m.cl.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if whole = err; err != nil || resp == nil {
				return
			}
			if len(resp.Topics) > 0 {
				left = errLeftOut
			}
			for _, t := range resp.Topics {
				for _, p := range t.Partitions {
					errs[offset.Partition{Topic: t.Topic, Partition: p.Partition}] = kerr.ErrorForCode(p.ErrorCode)
				}
			}
		})
		for _, p := range positions {
			err, answered := errs[p.Partition]
			if whole != nil {
				err = whole
			} else if !answered {
				err = left
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// sessionFailed handles the end of a group session. The client joins again by itself; what it was told may say that this
// can never work.
func (r *run) sessionFailed(err error) error {
	for _, never := range []error{kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.FencedInstanceID, kerr.InconsistentGroupProtocol,
		kerr.InvalidSessionTimeout, kerr.UnsupportedAssignor, kerr.InvalidGroupID, kerr.UnsupportedVersion} {
		if errors.Is(err, never) {
			return errorf(Failed, "", "group %s: %w", r.cfg.Group, err)
		}
	}
	var refused *offset.Refusal
	if errors.As(err, &refused) {
		return refuseAll([]error{err})
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	r.tellPassing("group %s: %v; joining again", r.cfg.Group, err)
	return nil
}

// shifted takes in partitions that came to this member, or lets go of those that leave it.
func (r *run) shifted(s shift) error {
	defer close(s.done)
	for _, row := range s.given {
		if old := r.part(row.Partition); old != nil {
			r.drop(old)
		}
		p := newPart(row)
		r.add(p)
		set := map[string][]int32{row.Topic: {row.Partition.Partition}}
		if p.over() {
			r.fetch.PauseFetchPartitions(set)
			continue
		}
		p.fetching = true
		r.fetch.ResumeFetchPartitions(set) // a pause outlives a rebalance
	}
	if len(s.given) > 0 {
		r.notify(infof("assigned %s", listText(s.given, func(row PlanRow) offset.Partition { return row.Partition })))
	}
	if len(s.taken) == 0 {
		return nil
	}
	if s.lost {
		r.commit.forget(s.taken)
	} else if err := r.handOver(); err != nil {
		return err
	}
	for _, at := range s.taken {
		if p := r.part(at); p != nil {
			r.drop(p)
		}
	}
	word := "handed over"
	if s.lost {
		word = "lost"
	}
	r.notify(infof("%s %s", word, listText(s.taken, func(p offset.Partition) offset.Partition { return p })))
	return nil
}

// handOver commits what the sink has got, before partitions go to another member.
func (r *run) handOver() error {
	ctx, cancel := context.WithTimeout(r.work, r.cfg.StopTimeout)
	defer cancel()
	if _, err := r.commit.finish(ctx); err != nil {
		return err
	}
	if _, err := r.keeper.line(ctx, "", false); err != nil {
		return err
	}
	_, err := r.commit.finish(ctx) // what fails is told: the next member reads those records again
	return err
}

// listText is partitions as orders:0-3,7 audit:1.
func listText[T any](list []T, of func(T) offset.Partition) string {
	by := map[string][]int32{}
	for _, one := range list {
		p := of(one)
		by[p.Topic] = append(by[p.Topic], p.Partition)
	}
	var out string
	for _, t := range slices.Sorted(maps.Keys(by)) {
		if out != "" {
			out += ", "
		}
		out += t + ":" + offset.FormatPartitionSet(sorted(by[t]))
	}
	return out
}
