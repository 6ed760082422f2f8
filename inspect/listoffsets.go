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
	l := lister{cl: cl, iso: iso, each: each}
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
	todo := asks
	for round := 0; ; round++ {
		l.ask(ctx, topics, todo)
		if len(l.moved) == 0 || round == leaderRounds || pause(ctx, leaderPause<<round) != nil {
			break
		}
		fresh, err := ReadTopics(ctx, cl, slices.Collect(maps.Keys(l.moved)))
		if err != nil {
			break
		}
		topics, todo = fresh, map[string][]listAsk{}
		for topic, ps := range l.moved {
			for _, a := range asks[topic] {
				if _, ok := ps[a.partition]; ok {
					todo[topic] = append(todo[topic], a)
				}
			}
		}
		l.moved = nil
	}
	for topic, ps := range l.moved {
		for _, a := range ps {
			each(topic, a)
		}
	}
}

// leaderRounds and leaderPause bound the hunt for leaders that are not where they were: with doubling pauses it ends after
// 1.5 s, by when an election is over.
const (
	leaderRounds = 4
	leaderPause  = 100 * time.Millisecond
)

// lister asks one kind of question about many partitions.
type lister struct {
	cl   *kgo.Client
	iso  offset.Isolation
	each func(topic string, a listed)

	mu    sync.Mutex
	moved map[string]map[int32]listed // partitions whose leader is elsewhere now, or cannot be reached
}

// ask sends every question to the leader that the metadata names.
func (l *lister) ask(ctx context.Context, topics map[string]Topic, asks map[string][]listAsk) {
	byLeader := map[int32]map[string][]listAsk{}
	for topic, list := range asks {
		t := topics[topic]
		for _, a := range list {
			p, ok := t.find(a.partition)
			if !ok || p.Leader < 0 {
				err := t.PartitionErr(a.partition)
				if err == nil {
					err = kerr.LeaderNotAvailable
				}
				l.tell(topic, listed{partition: a.partition, err: err})
				continue
			}
			if byLeader[p.Leader] == nil {
				byLeader[p.Leader] = map[string][]listAsk{}
			}
			byLeader[p.Leader][topic] = append(byLeader[p.Leader][topic], a)
		}
	}
	var eg errgroup.Group
	eg.SetLimit(inFlight)
	for node, list := range byLeader {
		for req := range l.requests(list) {
			eg.Go(func() error { l.send(ctx, node, req); return nil })
		}
	}
	_ = eg.Wait() // every error was told per partition
}

func (l *lister) send(ctx context.Context, node int32, req *kmsg.ListOffsetsRequest) {
	// Not retried here: another broker may be the leader by then.
	kresp, err := l.cl.Broker(int(node)).Request(ctx, req)
	if err != nil {
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				l.tell(t.Topic, listed{partition: p.Partition, err: fmt.Errorf("broker %d: %w", node, err)})
			}
		}
		return
	}
	resp := kresp.(*kmsg.ListOffsetsResponse)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			a := listed{partition: p.Partition, offset: p.Offset, epoch: offset.EpochOf(p.LeaderEpoch), version: resp.Version, err: kerr.ErrorForCode(p.ErrorCode)}
			if p.Timestamp >= 0 {
				a.time = time.UnixMilli(p.Timestamp).UTC()
			}
			l.tell(t.Topic, a)
		}
	}
}

// tell hands an answer on, or keeps it for another round.
func (l *lister) tell(topic string, a listed) {
	if a.err == nil || !again(a.err) {
		l.each(topic, a)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.moved == nil {
		l.moved = map[string]map[int32]listed{}
	}
	if l.moved[topic] == nil {
		l.moved[topic] = map[int32]listed{}
	}
	l.moved[topic][a.partition] = a
}

// again says that another broker, or the same one a moment later, may answer: the leader moved, is being elected, or broke
// the connection.
func again(err error) bool {
	var k *kerr.Error
	if !errors.As(err, &k) {
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
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
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if iso == offset.ReadCommitted {
		req.IsolationLevel = 1
	}
	return req
}
