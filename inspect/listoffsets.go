package inspect

// ListOffsets: one kind of question about many partitions, sent to their leaders wherever those are.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/offset"
)

// listChunk bounds the partitions of one ListOffsets request.
const listChunk = 10_000

type listAsk struct {
	partition int32
	timestamp int64
}

type listed struct {
	partition int32
	offset    int64
	epoch     offset.LeaderEpoch
	time      time.Time
	version   int16 // of the answer
	err       error
}

func fixed(parts Partitions, ts int64) map[string][]listAsk {
	out := make(map[string][]listAsk, len(parts))
	for t, ns := range parts {
		asks := make([]listAsk, len(ns))
		for i, n := range ns {
			asks[i] = listAsk{n, ts}
		}
		out[t] = asks
	}
	return out
}

// listOffsets sends the questions to the leaders, in requests of at most listChunk partitions, and tells every answer
// once. The calls of each come from several goroutines. topics is the metadata, nil where the caller has none.
//
// It does not let kgo find the leaders. kgo's own metadata may be some seconds old, during which it goes back to a leader
// that has moved: with three questions at once two were answered NOT_LEADER_FOR_PARTITION, and with a partition that stayed
// without a leader all of them took 29 s (measured with kgo 1.22.3).
func listOffsets(ctx context.Context, cl *kgo.Client, topics map[string]Topic, iso offset.Isolation, asks map[string][]listAsk, each func(topic string, a listed)) {
	if len(asks) == 0 {
		return
	}
	l := lister{cl: cl, iso: iso, each: each, p: newPatience(ctx)}
	defer l.p.stop()
	if topics == nil {
		var err error
		if topics, err = ReadTopics(ctx, cl, slices.Collect(maps.Keys(asks))); err != nil {
			for topic, list := range asks {
				for _, a := range list {
					each(topic, listed{partition: a.partition, err: err})
				}
			}
			return
		}
	}
	l.ask(topics, asks, 0)
	l.all.Wait()
}

// leaderRounds is how often leaders that are not where they were are looked for: with doubling pauses 1.5 s, by when an
// election is over. A broker that cannot be reached is tried for longer, until Kafka has given it up.
const leaderRounds = 4

// lister asks one kind of question about many partitions.
type lister struct {
	cl   *kgo.Client
	iso  offset.Isolation
	each func(topic string, a listed)
	p    *patience
	all  sync.WaitGroup
}

// ask sends every question to the leader that the metadata names, in the nth round.
func (l *lister) ask(topics map[string]Topic, asks map[string][]listAsk, n int) {
	byLeader := map[int32]map[string][]listAsk{}
	nobody := unsettled{}
	for topic, list := range asks {
		t := topics[topic]
		for _, a := range list {
			p, ok := t.find(a.partition)
			if !ok || p.Leader < 0 {
				err := t.PartitionErr(a.partition)
				if err == nil {
					err = kerr.LeaderNotAvailable
				}
				nobody.add(topic, a, err)
				continue
			}
			if byLeader[p.Leader] == nil {
				byLeader[p.Leader] = map[string][]listAsk{}
			}
			byLeader[p.Leader][topic] = append(byLeader[p.Leader][topic], a)
		}
	}
	l.settle(nobody, n)
	for node, list := range byLeader {
		// A lane for each broker: one that does not answer holds up nobody else's partitions.
		l.all.Go(func() {
			var lane errgroup.Group
			lane.SetLimit(inFlight)
			for req := range l.requests(list) {
				lane.Go(func() error { l.settle(l.send(node, req), n); return nil })
			}
			_ = lane.Wait() // every error was told per partition
		})
	}
}

// unsettled are questions without a final answer, with the reason for each.
type unsettled map[string]map[int32]refused

type refused struct {
	ask listAsk
	err error
}

func (u unsettled) add(topic string, a listAsk, err error) {
	if u[topic] == nil {
		u[topic] = map[int32]refused{}
	}
	u[topic][a.partition] = refused{a, err}
}

// settle asks again for what another broker, or the same one a moment later, may answer, and tells the rest.
func (l *lister) settle(u unsettled, n int) {
	again := unsettled{}
	for topic, ps := range u {
		for part, r := range ps {
			if l.p.ctx.Err() == nil && (unreachable(r.err) || n < leaderRounds && moved(r.err)) {
				again.add(topic, r.ask, r.err)
				continue
			}
			l.each(topic, listed{partition: part, err: l.p.cause(r.err, nil)})
		}
	}
	if len(again) == 0 {
		return
	}
	l.all.Go(func() {
		err := pause(l.p.ctx, backoff(n))
		var topics map[string]Topic
		if err == nil {
			topics, err = ReadTopics(l.p.ctx, l.cl, slices.Collect(maps.Keys(again)))
		}
		asks := map[string][]listAsk{}
		for topic, ps := range again {
			for part, r := range ps {
				if err != nil {
					l.each(topic, listed{partition: part, err: l.p.cause(err, r.err)})
					continue
				}
				asks[topic] = append(asks[topic], r.ask)
			}
		}
		l.ask(topics, asks, n+1)
	})
}

// send asks one broker, tells what it answers, and returns what it did not. While it does not answer, the leaders are looked
// up now and then; where one is elsewhere now the question is given up.
func (l *lister) send(node int32, req *kmsg.ListOffsetsRequest) unsettled {
	ctx, cancel := context.WithCancelCause(l.p.ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go l.watch(ctx, stop, node, req, cancel)
	resp, err := requestOnce[*kmsg.ListOffsetsResponse](ctx, l.cl, node, req)
	open := unsettled{}
	if err != nil {
		if isContext(err) && errors.Is(context.Cause(ctx), kerr.NotLeaderForPartition) {
			err = kerr.NotLeaderForPartition
		}
		if isContext(err) {
			err = &BrokerError{Broker: node, Err: l.p.cause(err, nil)}
		}
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				open.add(t.Topic, listAsk{p.Partition, p.Timestamp}, err)
			}
		}
		return open
	}
	l.p.answered()
	for _, t := range req.Topics {
		for _, p := range t.Partitions { // what the broker leaves out is told too
			open.add(t.Topic, listAsk{p.Partition, p.Timestamp}, fmt.Errorf("broker %d left %s:%d out of its answer", node, t.Topic, p.Partition))
		}
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			asked, ok := open[t.Topic][p.Partition]
			if !ok {
				continue
			}
			if err := kerr.ErrorForCode(p.ErrorCode); moved(err) {
				open.add(t.Topic, asked.ask, err)
				continue
			}
			delete(open[t.Topic], p.Partition)
			a := listed{partition: p.Partition, offset: p.Offset, epoch: offset.EpochOf(p.LeaderEpoch), version: resp.Version, err: kerr.ErrorForCode(p.ErrorCode)}
			if p.Timestamp >= 0 {
				a.time = time.UnixMilli(p.Timestamp).UTC()
			}
			l.each(t.Topic, a)
		}
	}
	return open
}

// watch gives a question up when another broker leads one of its partitions by now.
func (l *lister) watch(ctx context.Context, stop <-chan struct{}, node int32, req *kmsg.ListOffsetsRequest, giveUp context.CancelCauseFunc) {
	parts := Partitions{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			parts[t.Topic] = append(parts[t.Topic], p.Partition)
		}
	}
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
		topics, err := ReadTopics(ctx, l.cl, slices.Collect(maps.Keys(parts)))
		if err != nil {
			continue
		}
		for topic, ns := range parts {
			for _, n := range ns {
				if p, ok := topics[topic].find(n); ok && p.Leader >= 0 && p.Leader != node {
					giveUp(kerr.NotLeaderForPartition)
					return
				}
			}
		}
	}
}

// moved says that another broker, or the same one a moment later, may answer: the leader moved or is being elected.
func moved(err error) bool {
	var k *kerr.Error
	if !errors.As(err, &k) {
		return false
	}
	switch k {
	case kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable,
		kerr.ReplicaNotAvailable, kerr.KafkaStorageError:
		return true
	}
	return false
}

// requests cuts the questions into requests.
func (l *lister) requests(asks map[string][]listAsk) iter.Seq[*kmsg.ListOffsetsRequest] {
	return func(yield func(*kmsg.ListOffsetsRequest) bool) {
		req, n := newListOffsets(l.iso), 0
		for topic, list := range asks {
			for len(list) > 0 {
				k := min(len(list), listChunk-n)
				rt := kmsg.NewListOffsetsRequestTopic()
				rt.Topic = topic
				rt.Partitions = make([]kmsg.ListOffsetsRequestTopicPartition, k)
				for i, a := range list[:k] {
					rt.Partitions[i] = kmsg.NewListOffsetsRequestTopicPartition()
					rt.Partitions[i].Partition, rt.Partitions[i].Timestamp = a.partition, a.timestamp
					rt.Partitions[i].MaxNumOffsets = 1
				}
				req.Topics = append(req.Topics, rt)
				list, n = list[k:], n+k
				if n == listChunk {
					if !yield(req) {
						return
					}
					req, n = newListOffsets(l.iso), 0
				}
			}
		}
		if n > 0 {
			yield(req)
		}
	}
}

func newListOffsets(iso offset.Isolation) *kmsg.ListOffsetsRequest {
	// Raw: kadm asks for whole topics, and turns "no such record" into the log end.
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if iso == offset.ReadCommitted {
		req.IsolationLevel = 1
	}
	return req
}
