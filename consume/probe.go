package consume

// A run with an end must end, also where nothing more will ever arrive: after compaction removed the last records before
// the end the client waits for ever. The reader of records looks at an idle partition, and proves how far its log is
// empty.

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/internal/records"
)

// probe is when an idle partition is looked at next.
type probe struct {
	since time.Time // it is idle
	at    time.Time
	pause time.Duration
}

const (
	probeFirst = 500 * time.Millisecond
	probeMost  = 5 * time.Second
)

func (p *probe) reset(now time.Time) { p.since, p.at, p.pause = now, now.Add(probeFirst), probeFirst }

// due is when the next look is due. While others' records arrive a partition is rarely idle: it waits for its turn in the
// responses, and a look would read a batch that the client is about to bring.
func (p *probe) due(taken time.Time) time.Time {
	quiet, patience := taken.Add(probeFirst), p.since.Add(probeMost)
	if patience.Before(quiet) {
		quiet = patience
	}
	if quiet.After(p.at) {
		return quiet
	}
	return p.at
}

func (p *probe) later(now time.Time) {
	p.pause = min(2*p.pause, probeMost)
	p.at = now.Add(p.pause)
}

func (r *run) probes(p *part) bool {
	return p.bounded && p.fetching && !p.over() && len(p.queue) == 0
}

// probeAt is when the next look is due; zero for none.
func (r *run) probeAt(time.Time) time.Time {
	var at time.Time
	if r.probing {
		return at
	}
	for _, p := range r.list {
		if r.probes(p) {
			if due := p.probe.due(r.taken); at.IsZero() || due.Before(at) {
				at = due
			}
		}
	}
	return at
}

// probeIdle looks at the partitions that have been idle for a while.
func (r *run) probeIdle(now time.Time) error {
	if at := r.probeAt(now); at.IsZero() || now.Before(at) {
		return nil
	}
	var ask []records.Span
	by := map[records.Span]*part{}
	for _, p := range r.list {
		if r.probes(p) && !now.Before(p.probe.due(r.taken)) {
			s := records.Span{Partition: p.Partition, From: p.seen, Until: p.end}
			ask, by[s] = append(ask, s), p
			p.probe.later(now)
		}
	}
	r.probing = true
	go func() {
		ctx, cancel := context.WithTimeout(r.work, 15*time.Second)
		defer cancel()
		out := make(map[*part]records.Answer, len(ask))
		for s, v := range r.cfg.reader().First(ctx, ask) {
			out[by[s]] = v
		}
		select {
		case r.probed <- out:
		case <-r.work.Done():
		}
	}()
	return nil
}

// probeEnded moves idle partitions over the holes that were found.
//
// Only the reader's proof moves a position. A fetch that came empty is none: the broker may have had no room left for the
// partition, and the records behind it would be lost.
func (r *run) probeEnded(found map[*part]records.Answer) error {
	r.probing = false
	for p, v := range found {
		if errors.Is(v.Err, kerr.UnknownTopicOrPartition) {
			if err := r.topicFailed(p.Topic, p.Partition.String(), v.Err); err != nil {
				return err
			}
			continue
		}
		if !r.probes(p) {
			continue
		}
		// Another error is met by the fetching client too, which handles it; what was proved before it counts. Where records
		// came in the meantime the position is past the proof.
		if to := v.Empty.Pass(p.seen); to > p.seen {
			p.seen = min(to, p.end)
			p.settle()
			if p.over() {
				r.stopFetching(p)
			}
		}
	}
	return nil
}
