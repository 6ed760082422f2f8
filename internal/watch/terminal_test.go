//go:build linux

package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/koffset/koffset/internal/kafkatest"
)

// pseudo is a pseudo-terminal: the view runs on tty, the test types into and reads from the other end.
type pseudo struct {
	t        *testing.T
	ctl, tty *os.File
	mu       sync.Mutex
	out      bytes.Buffer
	before   unix.Termios
	done     chan error
	panicked chan any
	cancel   context.CancelCauseFunc
	looks    int
}

func newPseudo(t *testing.T, cols, rows uint16) *pseudo {
	t.Helper()
	ctl, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ctl, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		t.Fatal(err)
	}
	p := &pseudo{t: t, ctl: ctl, tty: tty, done: make(chan error, 1), panicked: make(chan any, 1)}
	p.before = p.modes()
	reader := make(chan struct{})
	go func() {
		defer close(reader)
		b := make([]byte, 4096)
		for {
			n, err := ctl.Read(b)
			p.mu.Lock()
			p.out.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_, _ = ctl.WriteString("\n") // the read that outlives the view
		tty.Close()
		<-reader
		ctl.Close()
	})
	return p
}

func (p *pseudo) modes() unix.Termios {
	p.t.Helper()
	m, err := unix.IoctlGetTermios(int(p.tty.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *m
}

// run runs the view until it ends by itself.
func (p *pseudo) run(frame func(n int) *Frame) {
	ctx, cancel := context.WithCancelCause(p.t.Context())
	p.cancel = cancel
	go func() {
		defer func() {
			if r := recover(); r != nil {
				p.panicked <- r
			}
		}()
		p.done <- Run(ctx, Terminal{In: p.tty, Out: p.tty, Colour: true}, New("koffset watch", false), 20*time.Millisecond, func(context.Context) *Frame {
			p.looks++
			return frame(p.looks)
		})
	}()
}

func (p *pseudo) text() string { p.mu.Lock(); defer p.mu.Unlock(); return p.out.String() }

func (p *pseudo) clear() { p.mu.Lock(); defer p.mu.Unlock(); p.out.Reset() }

func (p *pseudo) see(what string) {
	p.t.Helper()
	kafkatest.Until(p.t, fmt.Sprintf("the screen shows %q", what), func() bool { return strings.Contains(p.text(), what) })
}

func (p *pseudo) press(keys string) {
	p.t.Helper()
	if _, err := p.ctl.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// restored checks that the terminal is as it was before: its modes, its screen, its cursor.
func (p *pseudo) restored() {
	p.t.Helper()
	if got := p.modes(); got != p.before {
		p.t.Errorf("terminal modes %+v, before %+v", got, p.before)
	}
	p.see(leaveScreen)
}

func (p *pseudo) end() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case r := <-p.panicked:
		p.t.Fatalf("panic: %v", r)
	case <-time.After(kafkatest.Deadline):
		p.t.Fatal("the view does not end")
	}
	return nil
}

func still(int) *Frame { return sampleFrame() }

func TestTerminal(t *testing.T) {
	p := newPseudo(t, 150, 20)
	p.run(still)
	p.see("\x1b[?1049h")
	p.see("\x1b[31m\x1b[7m billing") // stalled, marked
	p.see("took 12ms")
	if p.modes() == p.before {
		t.Error("the terminal is not raw")
	}
	p.press("/sea")
	p.see("filter: sea_")
	p.press("\r")
	p.see("filter: sea (esc clears)")
	p.clear()
	p.press("\x1b")
	p.see("billing")
	p.clear()
	if err := pty.Setsize(p.ctl, &pty.Winsize{Rows: 10, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	p.press("s") // drawn again at the new size
	p.see("\x1b[10;1H")
	p.press("q")
	if err := p.end(); err != nil {
		t.Error(err)
	}
	p.restored()
}

func TestTerminalCtrlC(t *testing.T) {
	p := newPseudo(t, 80, 24)
	p.run(still)
	p.see("billing")
	p.press("\x03")
	if err := p.end(); !errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
	p.restored()
}

// A signal ends the context; its cause comes out, and the terminal is restored.
func TestTerminalSignal(t *testing.T) {
	p := newPseudo(t, 80, 24)
	p.run(still)
	p.see("billing")
	cause := errors.New("stopped by terminated")
	p.cancel(cause)
	if err := p.end(); !errors.Is(err, cause) {
		t.Error(err)
	}
	p.restored()
}

// A panic in the goroutine that looks restores the terminal before it is one.
func TestTerminalPanic(t *testing.T) {
	p := newPseudo(t, 80, 24)
	p.run(func(n int) *Frame {
		if n == 2 {
			panic("out of bounds")
		}
		return sampleFrame()
	})
	select {
	case r := <-p.panicked:
		if !strings.Contains(fmt.Sprint(r), "out of bounds") || !strings.Contains(fmt.Sprint(r), "terminal_test.go") {
			t.Errorf("panic %v", r)
		}
	case <-time.After(kafkatest.Deadline):
		t.Fatal("no panic")
	}
	p.restored()
}

// Keys work while a look hangs.
func TestTerminalWhileALookHangs(t *testing.T) {
	p := newPseudo(t, 80, 24)
	release := make(chan struct{})
	p.run(func(n int) *Frame {
		if n > 1 {
			<-release
		}
		return sampleFrame()
	})
	p.see("billing")
	p.press("?")
	p.see("any key goes back")
	p.press("xq")
	if err := p.end(); err != nil {
		t.Error(err)
	}
	close(release)
	p.restored()
}

func TestTerminalThatIsNone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := Run(t.Context(), Terminal{In: r, Out: w}, New("", false), time.Second, func(context.Context) *Frame { return nil }); err == nil || !strings.Contains(err.Error(), "set up the terminal") {
		t.Errorf("a pipe as terminal: %v", err)
	}
}
