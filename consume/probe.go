package consume

// A run with an end must end, also where nothing more will ever arrive: after compaction removed the last records before
// the end the client waits for ever. An idle partition is looked at with a fetch of our own, which tells how far its log
// is empty.

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/offset"
)

// probe is when an idle partition is looked at next.
type probe struct {
	at    time.Time
	pause time.Duration
}

const (
	probeFirst = 500 * time.Millisecond
	probeMost  = 5 * time.Second
	probeBytes = 1 << 20
)

func (p *probe) reset(now time.Time) { p.at, p.pause = now.Add(probeFirst), probeFirst }

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
		if r.probes(p) && (at.IsZero() || p.probe.at.Before(at)) {
			at = p.probe.at
		}
	}
	return at
}

// probeIdle looks at the partitions that have been idle for a while.
func (r *run) probeIdle(now time.Time) error {
	if at := r.probeAt(now); at.IsZero() || now.Before(at) {
		return nil
	}
	ask := map[offset.Partition]int64{}
	by := map[offset.Partition]*part{}
	for _, p := range r.list {
		if r.probes(p) && !now.Before(p.probe.at) {
			ask[p.Partition], by[p.Partition] = p.seen, p
			p.probe.later(now)
		}
	}
	r.probing = true
	go func() {
		ctx, cancel := context.WithTimeout(r.work, 15*time.Second)
		defer cancel()
		out := map[*part]peeked{}
		for at, v := range peek(ctx, r.cfg.Client, r.cfg.isolation(), ask, probeBytes) {
			v.from = ask[at]
			out[by[at]] = v
		}
		select {
		case r.probed <- out:
		case <-r.work.Done():
		}
	}()
	return nil
}

// probeEnded moves idle partitions over the holes that were found.
func (r *run) probeEnded(found map[*part]peeked) error {
	r.probing = false
	for p, v := range found {
		if v.err != nil {
			if errors.Is(v.err, kerr.UnknownTopicOrPartition) {
				return errorf(Failed, "", "%s is gone: the topic was deleted during the run", p.Partition)
			}
			continue // the fetching client meets the same error, and handles it
		}
		if p.seen != v.from || !r.probes(p) {
			continue // records came in the meantime
		}
		if to := v.reaches(p.end, r.cfg.isolation()); to > p.seen {
			p.seen = min(to, p.end)
			p.settle()
			if p.over() {
				r.stopFetching(p)
			}
		}
	}
	return nil
}

// reaches is how far a log is known to hold nothing for this reader, from where it was looked at.
func (v peeked) reaches(end int64, iso offset.Isolation) int64 {
	for _, rec := range v.records {
		if rec.Offset >= end {
			return end
		}
		if rec.Offset >= v.from {
			return v.from // a record, or a marker: it is the fetching client's to bring
		}
	}
	if v.next > v.from {
		return v.next // batches without a record that counts: compacted, or aborted
	}
	last := v.hw
	if iso == offset.ReadCommitted {
		last = v.lso
	}
	// Nothing came, though the log goes on to its end: the broker skips what compaction removed, and nothing is behind it.
	if last >= end {
		return end
	}
	return v.from
}
