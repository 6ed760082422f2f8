package consume

// Whether the brokers can be reached. A fetch that fails is tried again for ever and in silence, and an idle partition and one
// whose broker is away look alike: both bring no records. So partitions from which nothing came for a while are asked for their
// log end; what is not answered is said, and known to be unknown.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// reach watches the partitions of a run.
type reach struct {
	answers chan heard
	askAt   time.Time // the next look
	asking  bool
	told    time.Time // when silence was told last; zero while everything answers
	cause   error     // of the silence
}

// heard is what became of a look.
type heard struct {
	asked time.Time // when the look began
	at    time.Time // when its last answer was there
	log   inspect.Log
	parts inspect.Partitions
}

// retell is how often a silence that goes on is told again.
const retell = time.Minute

// listenAt is when partitions are looked at next.
func (r *run) listenAt() time.Time {
	if r.reach.asking || r.fetch == nil {
		return time.Time{}
	}
	return r.reach.askAt
}

// listen asks for the log ends of the partitions from which nothing came for a while.
func (r *run) listen(now time.Time) {
	at := r.listenAt()
	if at.IsZero() || now.Before(at) {
		return
	}
	every := r.cfg.Silence / 2
	r.reach.askAt = now.Add(every)
	ask := inspect.Partitions{}
	for _, p := range r.list {
		if !p.over() && now.Sub(p.heard) >= every {
			ask.Add(p.Partition)
		}
	}
	if ask.Len() == 0 {
		return
	}
	r.reach.asking = true
	go func() {
		ctx, cancel := context.WithTimeout(r.work, every)
		defer cancel()
		log := inspect.ReadBounds(ctx, r.cfg.Client, ask)
		select {
		case r.reach.answers <- heard{asked: now, at: r.cfg.now(), log: log, parts: ask}:
		case <-r.work.Done():
		}
	}()
}

// hear takes in the answers of a look. Its error ends the run.
func (r *run) hear(h heard) error {
	r.reach.asking = false
	for topic, ns := range h.parts {
		for _, n := range ns {
			p := r.part(offset.Partition{Topic: topic, Partition: n})
			if p == nil {
				continue
			}
			l, _ := h.log.At(p.Partition)
			switch {
			case l.Err == nil:
				p.pub.logEnd.Store(max(l.Bounds.EndFor(r.cfg.isolation()), p.pub.logEnd.Load()))
				p.hear(h.at)
			case answered(l.Err):
				p.hear(h.at) // a broker said no: the fetching client meets the same, and says so
			case p.heard.After(h.asked): // records came in the meantime
			default:
				p.miss(h.asked, h.at)
				r.reach.cause = l.Err
			}
		}
	}
	r.tellSilence(h.at)
	return r.giveUp()
}

// answered says that an error is a broker's last word about the partition, and not that its leader is away or on its way.
func answered(err error) bool {
	var ke *kerr.Error
	return errors.As(err, &ke) && !ke.Retriable
}

// hear notes that the partition's broker answered.
func (p *part) hear(at time.Time) {
	p.heard, p.missed = at, time.Time{}
	p.pub.silent.Store(0)
}

// miss notes that a look which began at asked had no answer at at.
func (p *part) miss(asked, at time.Time) {
	if p.missed.IsZero() {
		p.missed = asked
	}
	p.pub.silent.Store(int64(at.Sub(p.missed)))
}

// silent is how long the partition's broker has not answered.
func (p *part) silent() time.Duration { return time.Duration(p.pub.silent.Load()) }

// tellSilence says which brokers do not answer, again every minute, and when they answer again.
func (r *run) tellSilence(now time.Time) {
	n, worst := 0, (*part)(nil)
	for _, p := range r.list {
		if p.silent() >= r.cfg.Silence {
			if n++; worst == nil || p.silent() > worst.silent() {
				worst = p
			}
		}
	}
	switch {
	case n == 0 && !r.reach.told.IsZero():
		r.reach.told = time.Time{}
		r.notify(infof("every partition answers again"))
	case n > 0 && now.Sub(r.reach.told) >= retell:
		r.reach.told = now
		r.notify(warnf("the run continues when it is back", "%s: %v", silentText(n, worst.Partition.String(), worst.silent()), r.reach.cause))
	}
}

func silentText(n int, worst string, silent time.Duration) string {
	who := worst
	if n > 1 {
		who = fmt.Sprintf("%s, such as %s", text.Plural(n, "partition"), worst)
	}
	return fmt.Sprintf("no broker has answered for %s for %s: what is new there, and the lag, are not known", who, silent.Round(time.Second))
}

// giveUp ends a run with an end where nothing of what is left can be reached: it would wait for ever.
func (r *run) giveUp() error {
	if r.cfg.Unreachable <= 0 || !r.bounded() && r.left < 0 {
		return nil
	}
	left, worst := 0, time.Duration(0)
	for _, p := range r.list {
		if p.done() {
			continue
		}
		if p.silent() < r.cfg.Unreachable || len(p.queue) > 0 {
			return nil
		}
		left, worst = left+1, max(worst, p.silent())
	}
	if left == 0 {
		return nil
	}
	return errorf(Unreachable, "a job with checkpoints continues with {{restore latest}}; a longer {{timeout}} waits longer",
		"no broker has answered for %s, and %s not read to the end: %w", worst.Round(time.Second), text.Plural(left, "partition"), r.reach.cause)
}
