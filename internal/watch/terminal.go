package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/term"
)

// ErrInterrupted says that the view was left with Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// Terminal is where the view runs.
type Terminal struct {
	In     *os.File // the keyboard
	Out    *os.File // the screen
	Colour bool
}

// drawEvery bounds how often the screen is drawn: a burst of keys is one drawing.
const drawEvery = 20 * time.Millisecond

// Run shows the view until it is left, the context ends, or look panics. look is called at once and then every interval,
// in another goroutine, so that keys work while a broker does not answer. The terminal is as it was before when Run returns or
// panics. The error is nil for q, ErrInterrupted for Ctrl-C, the context's for a signal, or the terminal's.
func Run(ctx context.Context, t Terminal, m Model, interval time.Duration, look func(context.Context) *Frame) error {
	s, err := enter(t)
	if err != nil {
		return err
	}
	defer s.leave() // on a panic too: a raw terminal without an echo is worse than the panic

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	frames, panics := make(chan *Frame), make(chan string, 1)
	go func() {
		defer rescue(panics)
		lookAgain(ctx, interval, look, frames)
	}()
	keys := make(chan []byte)
	go readKeys(ctx, t.In, keys)
	resized, stop := resizes()
	defer stop()

	m = s.size(m)
	var pending []byte
	var draw <-chan time.Time
	s.draw(m.View(t.Colour))
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p := <-panics:
			panic(p)
		case f := <-frames:
			m = m.Take(f)
		case <-resized:
			s.forget()
		case b, ok := <-keys:
			if !ok {
				return io.ErrUnexpectedEOF // the terminal is gone
			}
			var ks []keystroke
			ks, pending = parseKeys(append(pending, b...))
			var left bool
			if m, left, err = s.press(m, ks); left || err != nil {
				return err
			}
		case <-draw:
			draw = nil
			m = s.size(m)
			if err := s.draw(m.View(t.Colour)); err != nil {
				return err
			}
			continue
		}
		if draw == nil {
			draw = time.After(drawEvery)
		}
	}
}

// press gives the keys to the model. left says that the view was left; the error is Run's then.
func (s *screen) press(m Model, keys []keystroke) (_ Model, left bool, err error) {
	for _, k := range keys {
		if k == keyCtrlL {
			s.forget()
		}
		m = m.press(k)
		switch m.done() {
		case leave:
			return m, true, nil
		case interrupt:
			return m, true, ErrInterrupted
		case suspend:
			m = m.resumed()
			if err := s.suspend(); err != nil {
				return m, true, err
			}
		}
	}
	return m, false, nil
}

// rescue hands a panic of another goroutine to the one that holds the terminal.
func rescue(panics chan<- string) {
	if p := recover(); p != nil {
		panics <- fmt.Sprintf("%v\n\n%s", p, debug.Stack())
	}
}

func lookAgain(ctx context.Context, interval time.Duration, look func(context.Context) *Frame, frames chan<- *Frame) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		f := look(ctx)
		select {
		case frames <- f:
		case <-ctx.Done():
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// readKeys reads until the terminal is gone. A read cannot be interrupted, so the goroutine outlives the view by one key at
// most; what it reads then is not used.
func readKeys(ctx context.Context, in *os.File, keys chan<- []byte) {
	defer close(keys)
	for {
		b := make([]byte, 256)
		n, err := in.Read(b)
		if n > 0 {
			select {
			case keys <- b[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// screen is a terminal in raw mode with the view on its second screen.
type screen struct {
	t     Terminal
	state *term.State
	last  []string // what stands on the screen
	w, h  int
	in    bool
}

const (
	// The second screen, no cursor, no line wrap: a line that is measured wrongly is cut instead of moving the others down.
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J"
	leaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

func enter(t Terminal) (*screen, error) {
	s := &screen{t: t}
	return s, s.enter()
}

func (s *screen) enter() error {
	state, err := term.MakeRaw(int(s.t.In.Fd()))
	if err != nil {
		return fmt.Errorf("set up the terminal: %w", err)
	}
	s.state, s.in = state, true
	s.forget()
	if _, err := io.WriteString(s.t.Out, enterScreen); err != nil {
		s.leave()
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// leave restores the terminal. Several calls are one.
func (s *screen) leave() {
	if !s.in {
		return
	}
	s.in = false
	_, _ = io.WriteString(s.t.Out, leaveScreen)
	_ = term.Restore(int(s.t.In.Fd()), s.state)
}

// forget makes the next drawing a complete one.
func (s *screen) forget() { s.last = nil }

func (s *screen) size(m Model) Model {
	w, h, err := term.GetSize(int(s.t.Out.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		w, h = 80, 24
	}
	if w != s.w || h != s.h {
		s.w, s.h = w, h
		s.forget()
	}
	return m.Resize(w, h)
}

// draw writes the lines that differ from what stands there.
func (s *screen) draw(lines []string) error {
	var b bytes.Buffer
	if s.last == nil {
		b.WriteString("\x1b[2J")
	}
	for i, l := range lines {
		if i < len(s.last) && s.last[i] == l {
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[0m\x1b[K", i+1, l)
	}
	s.last = lines
	if b.Len() == 0 {
		return nil
	}
	if _, err := s.t.Out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}
