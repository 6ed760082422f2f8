//go:build linux

package cmd_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/koffset/koffset/internal/kafkatest"
)

// terminal is koffset, as a process of its own, on a pseudo-terminal.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	ctl    *os.File
	tty    *os.File
	before unix.Termios
	mu     sync.Mutex
	out    bytes.Buffer
	ended  chan struct{}
}

func onTerminal(t *testing.T, cols, rows uint16, args ...string) *terminal {
	t.Helper()
	return onTerminalIn(t, "C.UTF-8", cols, rows, args...)
}

// onTerminalIn is onTerminal in a locale.
func onTerminalIn(t *testing.T, locale string, cols, rows uint16, args ...string) *terminal {
	t.Helper()
	ctl, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ctl, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, ctl: ctl, tty: tty, cmd: exec.Command("koffset", args...), ended: make(chan struct{})}
	x.before = x.modes()
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = tty, tty, tty
	x.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=xterm-256color", "NO_COLOR=", "LC_ALL="+locale)
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(x.ended)
		b := make([]byte, 8192)
		for {
			n, err := ctl.Read(b)
			x.mu.Lock()
			x.out.Write(b[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = x.cmd.Wait()
		tty.Close()
		<-x.ended
		ctl.Close()
	})
	return x
}

func (x *terminal) modes() unix.Termios {
	x.t.Helper()
	m, err := unix.IoctlGetTermios(int(x.ctl.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *m
}

func (x *terminal) text() string { x.mu.Lock(); defer x.mu.Unlock(); return x.out.String() }

func (x *terminal) see(pattern string) {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	kafkatest.Until(x.t, "the screen shows "+pattern, func() bool { return re.MatchString(x.text()) })
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := x.ctl.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the process, and checks its exit status and that the terminal is as it was.
func (x *terminal) ends(code int) {
	x.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); _ = x.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(kafkatest.Deadline):
		x.t.Fatal("koffset does not end")
	}
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.t.Errorf("exit status %d, want %d\n%s", got, code, x.text())
	}
	if got := x.modes(); got != x.before {
		x.t.Errorf("terminal modes %+v, before %+v", got, x.before)
	}
	x.see(`\x1b\[\?25h\x1b\[\?1049l`)
}

// The operator's case: a view is left open, a reader hangs, its group turns red; q gives the terminal back.
func TestWatchOnATerminal(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, 5, time.Now().UnixMilli(), 0)...)
	kafkatest.Commit(t, cl, "billing", kafkatest.At("orders", 0, 5))
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "billing", Topics: []string{"orders"}}) // commits nothing
	kafkatest.Commit(t, cl, "audit", kafkatest.At("orders", 0, 5))
	x := onTerminal(t, 140, 20, "-b", c.ListenAddrs()[0], "watch", "--interval", "100ms", "--stall-after", "1s")
	x.see(`koffset watch kfake, every 100ms`)
	x.see(`(?m) billing .* ok `)
	kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, 5, time.Now().UnixMilli(), 0)...)
	kafkatest.Commit(t, cl, "audit", kafkatest.At("orders", 0, 10))
	x.see(`\x1b\[31m[^\n]*billing[^\n]* stalled `)
	if regexp.MustCompile(`\x1b\[31m[^\x1b]*audit`).MatchString(x.text()) {
		t.Error("the group that reads on turned red too")
	}
	x.press("/aud\r")
	x.see(`filter: aud \(esc clears\)`)
	x.press("q")
	x.ends(0)
}

// The locale decides what the screen is drawn with: LC_ALL=C gets nothing but ASCII, at 80 columns with all that is to be
// known about the keys.
func TestWatchDrawsForTheLocale(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "")
	for locale, ascii := range map[string]bool{"C": true, "POSIX": true, "C.UTF-8": false} {
		t.Run(locale, func(t *testing.T) {
			x := onTerminalIn(t, locale, 80, 24, "-b", c.ListenAddrs()[0], "watch", "app")
			x.see("orders.v1:0")
			x.see("q quit .* \\? help")
			x.press("q")
			x.ends(0)
			if got := strings.IndexFunc(x.text(), func(r rune) bool { return r > unicode.MaxASCII }) < 0; got != ascii {
				t.Errorf("only ASCII: %v, want %v\n%s", got, ascii, x.text())
			}
		})
	}
}

func TestWatchEndsBySignals(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "")
	for _, tc := range []struct {
		name string
		end  func(x *terminal)
		code int
	}{
		{"SIGTERM", func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"SIGINT", func(x *terminal) { _ = x.cmd.Process.Signal(os.Interrupt) }, 130},
		{"Ctrl-C", func(x *terminal) { x.press("\x03") }, 130},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := onTerminal(t, 80, 24, "-b", c.ListenAddrs()[0], "watch", "app")
			x.see("orders.v1:0")
			tc.end(x)
			x.ends(tc.code)
		})
	}
}

// What is wrong before the first screen is an ordinary error: the view never begins.
func TestWatchErrorsBeforeTheScreen(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "")
	x := onTerminal(t, 80, 24, "-b", c.ListenAddrs()[0], "watch", "nobody")
	x.see("no such group: nobody")
	if _ = x.cmd.Wait(); x.cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("exit status %d", x.cmd.ProcessState.ExitCode())
	}
	if bytes.Contains([]byte(x.text()), []byte("\x1b[?1049h")) {
		t.Error("the view began")
	}
}
