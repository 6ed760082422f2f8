// Questions to the user. They are asked on stderr, so that stdout stays data, and
// only of a person: without a terminal there is nobody who could say yes.

package render

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// errNoTerminal says that a question could not be asked.
var errNoTerminal = errors.New("there is no terminal to ask on")

// CanPrompt reports whether a question can be asked and answered.
func (s *Streams) CanPrompt() bool { return s.InTTY && s.ErrTTY }

// Confirm asks a yes-or-no question; "y" or "yes" is yes, all else is no, and so
// is the end of the input. It returns an error if it cannot ask, and the
// context's error if that ends first (Ctrl-C while the question stands).
func (s *Streams) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := s.ask(ctx, question+" [y/N] ")
	if err != nil {
		return false, err
	}
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", nil
}

// ConfirmTyped asks for want to be typed out, for steps that nobody should take
// by habit. Errors as for Confirm.
func (s *Streams) ConfirmTyped(ctx context.Context, question, want string) (bool, error) {
	answer, err := s.ask(ctx, question+" Type "+want+" to continue: ")
	return err == nil && want != "" && answer == want, err
}

// Ask asks for a line of text; ok is false where the input ended before an answer. Errors as for Confirm.
func (s *Streams) Ask(ctx context.Context, question string) (answer string, ok bool, err error) {
	l, err := s.askLine(ctx, question+" ", readLine)
	return strings.TrimSpace(l.text), l.whole || l.text != "", err
}

// AskSecret is Ask for what must not be seen on the screen while it is typed. Blanks around it belong to it.
func (s *Streams) AskSecret(ctx context.Context, question string) (answer string, ok bool, err error) {
	read := readLine
	if f, isFile := s.In.(*os.File); isFile {
		fd := int(f.Fd())
		if before, err := term.GetState(fd); err == nil {
			defer func() { _ = term.Restore(fd, before) }() // Ctrl-C leaves the read where it is, with the echo off
			read = func(io.Reader) (string, bool, error) {
				b, err := term.ReadPassword(fd)
				if errors.Is(err, io.EOF) {
					return string(b), false, nil
				}
				return string(b), false, err // the newline was not echoed
			}
		}
	}
	l, err := s.askLine(ctx, question+" ", read)
	return l.text, l.whole || l.text != "", err
}

func (s *Streams) ask(ctx context.Context, prompt string) (string, error) {
	l, err := s.askLine(ctx, prompt, readLine)
	return strings.TrimSpace(l.text), err
}

// answered is a line that was typed, or what came before the end of the input.
type answered struct {
	text  string
	whole bool
	err   error
}

func (s *Streams) askLine(ctx context.Context, prompt string, read func(io.Reader) (string, bool, error)) (answered, error) {
	if !s.CanPrompt() || s.In == nil {
		return answered{}, errNoTerminal
	}
	if err := s.Flush(); err != nil { // what is being asked about must be on the screen
		return answered{}, err
	}
	s.setAsking(true)
	defer s.setAsking(false)
	s.writeErr([]byte(Clean(prompt)))
	// A read from a terminal cannot be cancelled. If ctx ends first the goroutine
	// stays in it until the process exits, which is about to happen.
	got := make(chan answered, 1)
	go func() {
		text, whole, err := read(s.In)
		got <- answered{text, whole, err}
	}()
	select {
	case l := <-got:
		if !l.whole { // Ctrl-D moves to no new line
			s.writeErr([]byte("\n"))
		}
		return l, l.err
	case <-ctx.Done():
		s.writeErr([]byte("\n"))
		return answered{}, context.Cause(ctx)
	}
}

func (s *Streams) setAsking(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = on
}

// readLine reads up to a newline and not a byte further, so that the next
// question finds its own answer. A line is at most 4 KiB, a terminal's own limit.
// whole says that it was ended by a newline, not by the end of the input.
func readLine(r io.Reader) (text string, whole bool, err error) {
	var line []byte
	var b [1]byte
	for len(line) < 4096 {
		n, err := r.Read(b[:])
		if n == 1 {
			if b[0] == '\n' {
				return string(line), true, nil
			}
			line = append(line, b[0])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", false, err
		}
	}
	return string(line), false, nil
}
