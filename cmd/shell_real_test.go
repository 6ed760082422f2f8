//go:build realkafka

package cmd_test

// Completion in real shells on a pseudo-terminal: a TAB, then Enter, and what the completed command printed. A shell that is
// not installed is skipped.

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/koffset/koffset/internal/kafkatest"
)

// shell is an interactive shell on a pseudo-terminal.
type shell struct {
	t   *testing.T
	tty *os.File

	mu   sync.Mutex
	seen strings.Builder
}

func startShell(t *testing.T, env []string, name string, args ...string) *shell {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	c := exec.Command(path, args...)
	home := t.TempDir()
	c.Dir = home
	c.Env = append(os.Environ(), append(env, "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home,
		"TERM=dumb", "INPUTRC=/dev/null", "NO_COLOR=1")...)
	tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 50, Cols: 250})
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, tty: tty}
	over := make(chan struct{})
	go func() {
		defer close(over)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			s.mu.Lock()
			s.seen.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = tty.Close()
		<-over
	})
	return s
}

func (s *shell) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// enter types text, and then waits until what appears after it matches.
func (s *shell) enter(text, pattern string) string {
	s.t.Helper()
	from := len(s.text())
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
	re := regexp.MustCompile(pattern)
	deadline := time.After(30 * time.Second)
	for {
		if new := s.text()[from:]; re.MatchString(new) {
			return new
		}
		select {
		case <-deadline:
			s.t.Fatalf("after %q nothing matches %s:\n%s", text, pattern, s.text())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestRealShells(t *testing.T) {
	b := newLook(t, "shell")
	kafkatest.CreateTopic(t, b.cl, "solo-of-shells", 1)
	kafkatest.Commit(t, b.cl, "billing-of-shells", kafkatest.At("solo-of-shells", 0, 0))
	env := []string{"KOFFSET_BROKERS=" + b.kafka.Bootstrap()}
	for _, c := range []struct {
		title, name string
		args        []string
		setup       string
	}{
		{"bash", "bash", []string{"--noprofile", "--norc", "-i"}, "source /usr/share/bash-completion/bash_completion; source <(koffset completion bash)"},
		{"bash without bash-completion", "bash", []string{"--noprofile", "--norc", "-i"}, "source <(koffset completion bash)"},
		{"zsh", "zsh", []string{"-f", "-i"}, "autoload -Uz compinit; compinit -u -D; source <(koffset completion zsh)"},
		{"fish", "fish", []string{"--no-config", "-i"}, "koffset completion fish | source"},
	} {
		t.Run(c.title, func(t *testing.T) {
			s := startShell(t, env, c.name, c.args...)
			s.enter(c.setup+"; echo rea''dy\n", `(?m)^ready`)
			s.enter("koffset inspect billing-of-sh\t\n", `billing-of-shells +solo-of-shells +0 +0 `)
			s.enter("koffset resolve solo-of-sh\t\n", `(?s)LOG-END-OFFSET.*solo-of-shells +0 `)
			// The colon divides words in bash; without a partition after it the command is a usage error.
			s.enter("koffset resolve solo-of-shells:\t\n", `(?s)LOG-END-OFFSET.*solo-of-shells +0 `)
			s.enter("koffset resolve solo-of-shells --to lates\t\n", `log-end`)
			if text := s.text(); strings.Contains(text, "error") || strings.Contains(text, "command not found") {
				t.Errorf("an error is shown:\n%s", text)
			}
		})
	}
}
