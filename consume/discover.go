package consume

// New partitions, and what has become of the topics, while a run lasts.

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// discovery is the answer of a look for new partitions.
type discovery struct {
	topics map[string]inspect.Topic
	log    inspect.Log // bounds of the new partitions
	fresh  inspect.Partitions
	err    error
}

// discover looks for new partitions beside the loop.
func (r *run) discover() {
	names := make([]string, 0, len(r.topics))
	known := map[string]map[int32]bool{}
	for _, t := range r.cfg.Topics {
		names = append(names, t.Topic)
		if len(t.Partitions) > 0 || r.member != nil {
			continue // chosen partitions stay the chosen ones, and the group gives a member its own
		}
		known[t.Topic] = map[int32]bool{}
		for _, p := range r.parts[t.Topic] {
			if p != nil {
				known[t.Topic][p.Partition.Partition] = true
			}
		}
	}
	go func() {
		ctx, cancel := context.WithTimeout(r.work, 30*time.Second)
		defer cancel()
		d := discovery{fresh: inspect.Partitions{}}
		if d.topics, d.err = inspect.ReadTopics(ctx, r.cfg.Client, names); d.err == nil {
			for name, have := range known {
				for _, n := range d.topics[name].Numbers() {
					if !have[n] {
						d.fresh.Add(offset.Partition{Topic: name, Partition: n})
					}
				}
			}
			if d.fresh.Len() > 0 {
				d.log = inspect.ReadBounds(ctx, r.cfg.Client, d.fresh)
			}
		}
		select {
		case r.found <- d:
		case <-r.work.Done():
		}
	}()
}

// discovered adds the new partitions. They start at the log start, whatever the start mode: their first records were
// written before they were noticed.
func (r *run) discovered(d discovery) error {
	r.discoverAt = r.cfg.now().Add(r.cfg.Discovery)
	if d.err != nil {
		r.tellPassing("look for new partitions: %v", d.err)
		return nil
	}
	for name, t := range d.topics {
		if err := topicChanged(name, r.topics[name].TopicID(), t); err != nil {
			return err
		}
	}
	for name, ns := range d.fresh {
		for _, n := range ns {
			at := offset.Partition{Topic: name, Partition: n}
			l, _ := d.log.At(at)
			if l.Err != nil {
				r.tellPassing("new partition %s: %v", at, l.Err)
				continue // the next look finds it again
			}
			p := newPart(PlanRow{Partition: at, TopicID: d.topics[name].TopicID(), Bounds: l.Bounds, Start: l.Bounds.Start, Epoch: l.StartEpoch})
			r.add(p)
			r.resumeFetching(p)
			r.notify(infof("new partition %s: read from its log start %d", at, l.Bounds.Start))
		}
	}
	return nil
}

// topicChanged is an *Error where the topic of that name is not the one with this id any more: gone, or another one. A commit
// and a position are for a topic id; of a topic without one (brokers before 2.8) only that it is gone can be seen.
func topicChanged(name, id string, now inspect.Topic) error {
	switch {
	case errors.Is(now.Err, kerr.UnknownTopicOrPartition):
		return errorf(Failed, "", "topic %s was deleted during the run", name)
	case now.Err == nil && id != "" && now.TopicID() != "" && id != now.TopicID():
		return errorf(Failed, "its offsets mean something else now: choose a start with {{start POSITION}}",
			"topic %s was deleted and created again during the run: it had id %s, now it has %s; nothing was committed to the new one", name, id, now.TopicID())
	}
	return nil
}
