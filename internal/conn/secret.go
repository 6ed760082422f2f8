package conn

// Secrets: written out, in a file, or printed by a command.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/koffset/koffset/internal/config"
)

// secretCommandTimeout bounds a command that prints a secret. Password managers
// that ask the operator to touch a key need a while; ones that hang must not
// take the whole deadline's worth of patience with them.
const secretCommandTimeout = 20 * time.Second

// maxSecret bounds what a file or a command may give: a token of a large
// identity provider has some KB; a wrong path may be a log of gigabytes.
const maxSecret = 1 << 20

// maxSettings bounds, in bytes, a file of settings or credentials: a wrong path may be a device that never ends.
const maxSettings = 16 << 20

// secret resolves NAME, NAME_file or NAME_command, whichever is set; "" when
// none is. One newline at the end is not part of a secret.
//
// What a command printed is kept for the life of the settings: a command of
// koffset can open several clients, and asking a security key for a touch once
// per client would be a nuisance.
func (s *Settings) secret(ctx context.Context, name string) (string, error) {
	s.printed.Lock()
	defer s.printed.Unlock()
	if text, ok := s.printed.by[name]; ok {
		return text, nil
	}
	text, err := s.freshSecret(ctx, name)
	if err == nil && s.has(name+"_command") {
		if s.printed.by == nil {
			s.printed.by = map[string]string{}
		}
		s.printed.by[name] = text
	}
	return text, err
}

// printedSecrets are what commands printed, by setting.
type printedSecrets struct {
	sync.Mutex
	by map[string]string
}

// freshSecret is secret without the memory: tokens change while koffset runs.
func (s *Settings) freshSecret(ctx context.Context, name string) (string, error) {
	if v, ok := s.values[name]; ok && v.Text != "" {
		return v.Text, nil
	}
	if v, ok := s.values[name+"_file"]; ok && v.Text != "" {
		return s.secretFile(name+"_file", v)
	}
	if v, ok := s.values[name+"_command"]; ok && v.Text != "" {
		return s.secretCommand(ctx, name+"_command", v)
	}
	return "", nil
}

func (s *Settings) hasSecret(name string) bool {
	return s.has(name) || s.has(name+"_file") || s.has(name+"_command")
}

func (s *Settings) secretFile(name string, v config.Value) (string, error) {
	fail := func(err error) (string, error) {
		return "", &config.Error{Where: v.Source.String(), Text: name, Err: err}
	}
	f, err := os.Open(s.paths.of(v))
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return fail(err)
	}
	if len(data) > maxSecret {
		return fail(fmt.Errorf("the file has more than %d bytes", maxSecret))
	}
	out := trimNewline(string(data))
	if out == "" {
		return fail(errors.New("the file is empty"))
	}
	return out, nil
}

// secretCommand runs the command through the shell, as its author tried it in
// one. Neither its output nor its text goes into a message: commands such as
// `vault read -token=…` are secrets themselves. What it wrote to standard error
// does, for that is where it says what is wrong.
func (s *Settings) secretCommand(ctx context.Context, name string, v config.Value) (string, error) {
	fail := func(format string, args ...any) (string, error) {
		return "", &config.Error{Where: v.Source.String(), Text: name + ": " + fmt.Sprintf(format, args...),
			Hint: "run the command by hand: it has to print the secret and nothing else"}
	}
	ctx, cancel := context.WithTimeout(ctx, secretCommandTimeout)
	defer cancel()
	shell, arg := "/bin/sh", "-c"
	if runtime.GOOS == "windows" {
		shell, arg = "cmd.exe", "/C"
	}
	cmd := exec.CommandContext(ctx, shell, arg, v.Text)
	cmd.Env = s.environ
	cmd.Dir = s.paths.dir
	// What the command started ends with it at the deadline; what got away and keeps the pipe open is not waited for.
	cmd.Cancel = func() error { return endTree(cmd.Process) }
	cmd.WaitDelay = time.Second
	out, errOut := &limitedBuffer{max: maxSecret}, &limitedBuffer{max: 4096, drop: true}
	cmd.Stdout, cmd.Stderr = out, errOut
	err := cmd.Run()
	said := lastLine(errOut.String())
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return fail("the command did not end in time (at most %s)", secretCommandTimeout)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case out.over:
		return fail("the command printed more than %d bytes", maxSecret)
	case err != nil && said != "":
		return fail("the command failed: %s: %s", exitText(err), said)
	case err != nil:
		return fail("the command failed: %s", exitText(err))
	}
	secret := trimNewline(out.String())
	if secret == "" {
		return fail("the command printed nothing")
	}
	return secret, nil
}

// exitText says how a command ended. exec's own errors can hold the command
// line.
func exitText(err error) string {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ProcessState.String()
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "there is no shell"
	}
	return "it could not be run"
}

func trimNewline(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return strings.TrimSuffix(s, "\r")
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

var errTooMuch = errors.New("too much output")

// limitedBuffer refuses, or with drop ignores, what goes over max. The buffer
// is not embedded: its ReadFrom would let everything past the limit.
type limitedBuffer struct {
	buf  bytes.Buffer
	max  int
	drop bool
	over bool // there was more than max
}

// Write appends what fits.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := b.max - b.buf.Len(); len(p) > room {
		b.over = true
		b.buf.Write(p[:max(0, room)])
		if b.drop {
			return len(p), nil
		}
		return max(0, room), errTooMuch
	}
	return b.buf.Write(p)
}

// String is what was kept.
func (b *limitedBuffer) String() string { return b.buf.String() }
