// The progress line: one line on stderr that is rewritten in place, for a person
// who waits. Scripts and CI logs never see it.

package render

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/koffset/koffset/internal/text"
)

const (
	// progressDelay keeps quick commands quiet: a line that flashes by is noise.
	progressDelay = 500 * time.Millisecond
	progressEvery = 200 * time.Millisecond
)

// Progress is a piece of work that is shown while it lasts. Its methods may be
// called from any goroutine; Set and Add cost an atomic store.
type Progress struct {
	s           *Streams
	what        string
	done, total atomic.Int64
	text        atomic.Pointer[string] // instead of counts
	stop        chan struct{}
	stopped     sync.WaitGroup
	once        sync.Once
}

// Progress begins to show what (such as "reading groups") if stderr is a
// terminal that can rewrite a line. The caller must call Stop.
func (s *Streams) Progress(what string) *Progress {
	p := &Progress{s: s, what: Clean(what), stop: make(chan struct{})}
	if !s.ErrTTY || s.env("TERM") == "dumb" {
		return p
	}
	p.stopped.Go(func() {
		timer := time.NewTimer(progressDelay)
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
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if w := p.s.Width; w > 1 && len(line) >= w {
		line = line[:w-1] // a line that wraps could not be wiped
	}
	_, _ = p.s.errWriter().Write([]byte("\r\x1b[K" + line))
	p.s.progress = true
}

// clearProgress wipes a progress line before something else is written to the
// same terminal; the next tick draws it again below. s.mu is held.
func (s *Streams) clearProgress(sameTerminal bool) {
	if s.progress && sameTerminal {
		_, _ = s.errWriter().Write([]byte("\r\x1b[K"))
		s.progress = false
	}
}
