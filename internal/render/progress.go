// The progress line: one line on stderr that is rewritten in place, for a person
// who waits. Scripts and CI logs never see it.

package render

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koffset/koffset/internal/text"
)

const (
	// progressDelay keeps quick commands quiet: a line that flashes by is noise.
	progressDelay = 500 * time.Millisecond
	progressEvery = 200 * time.Millisecond
	// waitingDelay is how long a person is left without a word.
	waitingDelay = 2 * time.Second
)

// Progress is a piece of work that is shown while it lasts. Its methods may be
// called from any goroutine; Set and Add cost an atomic store. Of several at once
// the latest is shown, the work within the work, and one that counts before one
// that waits.
type Progress struct {
	s           *Streams
	what        string
	begun       time.Time // with the time it has taken, where it is not zero
	done, total atomic.Int64
	text        atomic.Pointer[string] // instead of counts
	stop        chan struct{}
	stopped     sync.WaitGroup
	once        sync.Once
}

// Progress begins to show what (such as "reading groups") if stderr is a
// terminal that can rewrite a line. The caller must call Stop.
func (s *Streams) Progress(what string) *Progress {
	return s.progressAfter(what, progressDelay, time.Time{})
}

// Waiting is Progress for what has nothing to count: what, and for how long already, from the second second on.
func (s *Streams) Waiting(what string) *Progress {
	return s.progressAfter(what, waitingDelay, time.Now())
}

func (s *Streams) progressAfter(what string, delay time.Duration, begun time.Time) *Progress {
	p := &Progress{s: s, what: Clean(what), begun: begun, stop: make(chan struct{})}
	if !s.ErrTTY || s.env("TERM") == "dumb" {
		return p
	}
	s.mu.Lock()
	s.working = append(s.working, p)
	s.mu.Unlock()
	p.stopped.Go(func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-timer.C:
				p.draw()
				timer.Reset(progressEvery)
			}
		}
	})
	return p
}

// Set says how much is done and, if it is known, of how much (else 0).
func (p *Progress) Set(done, total int64) {
	p.done.Store(done)
	p.total.Store(total)
}

// Add counts n more as done.
func (p *Progress) Add(n int64) { p.done.Add(n) }

// Say replaces the counts by a text, such as a rate and a time to the end.
func (p *Progress) Say(text string) {
	text = Clean(text)
	p.text.Store(&text)
}

// Stop ends it and wipes the line. It may be called more than once.
func (p *Progress) Stop() {
	p.once.Do(func() { close(p.stop) })
	p.stopped.Wait()
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.working = slices.DeleteFunc(p.s.working, func(q *Progress) bool { return q == p })
	p.s.clearProgress(true)
}

func (p *Progress) draw() {
	line := p.what
	done, total := p.done.Load(), p.total.Load()
	switch said := p.text.Load(); {
	case said != nil:
		line += " " + *said
	case total > 0:
		line += " " + text.Count(done) + " / " + text.Count(total)
	case done > 0:
		line += " " + text.Count(done)
	case !p.begun.IsZero():
		line += ": " + text.Duration(time.Since(p.begun).Truncate(time.Second))
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if !p.s.mayDraw(p) {
		return
	}
	if w := p.s.Width; w > 1 && len(line) >= w {
		line = line[:w-1] // a line that wraps could not be wiped
	}
	_, _ = p.s.errWriter().Write([]byte("\r\x1b[K" + line))
	p.s.progress = true
}

// mayDraw says that a progress line harms nothing on the screen: no question, no pager, no line that has just begun, and no
// other work that is to be shown. s.mu is held.
func (s *Streams) mayDraw(p *Progress) bool {
	shown := s.working[len(s.working)-1]
	for _, q := range s.working {
		if q.begun.IsZero() {
			shown = q // what counts says more than what waits
		}
	}
	if s.asking || s.pg != nil || shown != p {
		return false
	}
	out, buffered := s.Out.(*Buffered)
	return !s.OutTTY || !buffered || !out.midLine
}

// clearProgress wipes a progress line before something else is written to the
// same terminal; the next tick draws it again below. s.mu is held.
func (s *Streams) clearProgress(sameTerminal bool) {
	if s.progress && sameTerminal {
		_, _ = s.errWriter().Write([]byte("\r\x1b[K"))
		s.progress = false
	}
}
