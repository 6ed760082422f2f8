//go:build linux

package cmd_test

// What only a terminal gets: a pager for what is longer than the screen, and a word after two seconds of silence.

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/kafkatest"
)

// exits waits for the process, checks its exit status and returns the screen.
func (x *terminal) exits(code int) string {
	x.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); _ = x.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(kafkatest.Deadline):
		x.t.Fatalf("koffset does not end\n%s", x.text())
	}
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.t.Errorf("exit status %d, want %d\n%s", got, code, x.text())
	}
	// What comes behind all that was written is read last: a screen that merely ends with a line may lack the next one.
	const end = "\x00"
	if _, err := x.tty.WriteString(end); err != nil {
		x.t.Fatal(err)
	}
	kafkatest.Until(x.t, "all of the screen was read", func() bool { return strings.HasSuffix(x.text(), end) })
	return strings.ReplaceAll(strings.TrimSuffix(x.text(), end), "\r\n", "\n")
}

func TestPager(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 30)
	at := c.ListenAddrs()[0]
	long := []string{"-b", at, "--color", "never", "resolve", "orders"}
	short := []string{"-b", at, "--color", "never", "resolve", "orders:0-3"}
	home := t.TempDir()
	for _, tc := range []struct {
		name  string
		env   []string
		args  []string
		paged bool
		says  string
	}{
		{name: "longer than the screen", env: []string{"PAGER=sed s/^/PAGED:/"}, args: long, paged: true},
		{name: "koffset's own variable is stronger", env: []string{"PAGER=false", "KOFFSET_PAGER=sed s/^/PAGED:/"}, args: long, paged: true},
		{name: "as json", env: []string{"PAGER=sed s/^/PAGED:/"}, args: append(long[:len(long):len(long)], "-o", "json"), paged: true},
		{name: "what fits", env: []string{"PAGER=sed s/^/PAGED:/"}, args: short},
		{name: "--no-pager", env: []string{"PAGER=sed s/^/PAGED:/"}, args: append(long[:len(long):len(long)], "--no-pager")},
		{name: "cat is none", env: []string{"PAGER=cat"}, args: long},
		{name: "one that leaves early", env: []string{"PAGER=sed -e s/^/PAGED:/ -e 2q"}, args: long, paged: true},
		{name: "one that does not exist", env: []string{"PAGER=/no/such/pager"}, args: long, says: "the pager ended with an error, and may not have shown everything: /no/such/pager"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, e := range tc.env {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, value)
			}
			x := onTerminal(t, 120, 20, tc.args...)
			screen := x.exits(0)
			if paged := strings.Contains(screen, "PAGED:"); paged != tc.paged {
				t.Errorf("paged: %v\n%s", paged, screen)
			}
			if !strings.Contains(screen, tc.says) {
				t.Errorf("it does not say %q\n%s", tc.says, screen)
			}
			rows := 30
			if tc.name == "what fits" {
				rows = 4
			}
			if !tc.paged && tc.says == "" && strings.Count(screen, "\norders ") != rows {
				t.Errorf("rows are missing\n%s", screen)
			}
		})
	}
	t.Run("never into a file", func(t *testing.T) {
		t.Setenv("PAGER", "sed s/^/PAGED:/")
		out, err := os.Create(filepath.Join(home, "out"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("koffset", long...)
		cmd.Stdout = out
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(out.Name())
		if err != nil || strings.Contains(string(b), "PAGED") || strings.Count(string(b), "orders") != 30 {
			t.Errorf("%v\n%s", err, b)
		}
	})
}

// The plan is read in the pager first, then the question is asked, and the answer is the terminal's.
func TestQuestionAfterThePager(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 30)
	for p := range int32(30) {
		kafkatest.Produce(t, cl, kafkatest.Records("orders", p, 3, time.Now().UnixMilli(), 1)...)
		kafkatest.Commit(t, cl, "billing", kafkatest.At("orders", p, 3))
	}
	t.Setenv("PAGER", "sed s/^/PAGED:/")
	x := onTerminal(t, 120, 20, "-b", c.ListenAddrs()[0], "--color", "never", "--state-dir", t.TempDir(), "reset", "billing", "--topic", "orders", "--to-earliest", "--impact=false", "--execute")
	x.see(`\[y/N\] `)
	if before, _, _ := strings.Cut(x.text(), "[y/N]"); strings.Count(before, "PAGED:billing") != 30 {
		t.Errorf("the plan was not shown before the question\n%s", before)
	}
	x.press("n\r")
	x.exits(3)
}

// A broker that takes the connection and never answers: the terminal says what is waited for, and a pipe is told nothing.
func TestNothingIsSilentOnATerminal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().String()
	x := onTerminal(t, 120, 20, "-b", at, "--timeout", "4s", "inspect")
	x.see("connect to " + regexp.QuoteMeta(at) + ": [2-9]s")
	screen := x.exits(6)
	if last := screen[strings.LastIndex(screen, "\x1b[K")+3:]; !strings.HasPrefix(last, "koffset: ") {
		t.Errorf("the line is not wiped before the error\n%q", screen)
	}
	cmd := exec.Command("koffset", "-b", at, "--timeout", "3s", "inspect")
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Run(); err == nil || strings.Contains(errs.String(), "\x1b") || strings.Contains(errs.String(), ": 2s") {
		t.Errorf("%v: %q", err, fmt.Sprint(errs.String()))
	}
}

func TestCtrlDAtAQuestionEndsTheLine(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	x := onTerminal(t, 120, 20, "-b", c.ListenAddrs()[0], "--color", "never", "--state-dir", t.TempDir(), "reset", f.App, "--topic", f.Topic, "--to-offset", "8", "--execute")
	x.see(`\[y/N\] `)
	x.press("\x04")
	if screen := x.exits(3); !regexp.MustCompile(`\[y/N\] \nkoffset: `).MatchString(screen) {
		t.Errorf("%s", screen)
	}
}
