package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/koffset/koffset/offset"
)

func env(kv ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == name {
				return kv[i+1]
			}
		}
		return ""
	}
}

func TestColourDecision(t *testing.T) {
	for _, c := range []struct {
		flag string
		tty  bool
		env  func(string) string
		want bool
	}{
		{"auto", true, env("TERM", "xterm"), true},
		{"auto", false, env("TERM", "xterm"), false},
		{"auto", true, env("TERM", "dumb"), false},
		{"auto", true, env("NO_COLOR", "1"), false},
		{"always", false, env("NO_COLOR", "1", "TERM", "dumb"), true},
		{"never", true, env(), false},
		{"auto", true, nil, true},
	} {
		mode, err := ParseColour(c.flag)
		if err != nil {
			t.Fatal(err)
		}
		s := &Streams{OutTTY: c.tty, Env: c.env}
		s.SetColour(mode)
		if got := s.Colour(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if _, err := ParseColour("yes"); err == nil || !strings.Contains(err.Error(), "auto, always, never") {
		t.Errorf("yes: %v", err)
	}
}

func TestConfirm(t *testing.T) {
	var out, errs bytes.Buffer
	s := &Streams{In: strings.NewReader("y\nYES\n\nyes please\nprod\nPROD\nn"), Out: newBuffered(&out), Err: &errs, InTTY: true, ErrTTY: true}
	if _, err := s.Out.Write([]byte("the plan\n")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false, false} {
		if got, err := s.Confirm(t.Context(), "apply?"); err != nil || got != want {
			t.Errorf("answer %d: %v %v", i, got, err)
		}
		if out.String() != "the plan\n" {
			t.Errorf("asked before the plan was on the screen")
		}
	}
	for i, want := range []bool{true, false} {
		if got, err := s.ConfirmTyped(t.Context(), "this is production.", "prod"); err != nil || got != want {
			t.Errorf("typed %d: %v %v", i, got, err)
		}
	}
	for range 2 { // "n" without a newline, then the end of the input
		if got, err := s.Confirm(t.Context(), "apply?"); err != nil || got {
			t.Errorf("at the end: %v %v", got, err)
		}
	}
	if !strings.HasPrefix(errs.String(), "apply? [y/N] apply? [y/N] ") || strings.Contains(out.String(), "?") {
		t.Errorf("stderr %q, stdout %q", errs.String(), out.String())
	}
	for _, s := range []*Streams{{InTTY: true}, {ErrTTY: true}, {In: strings.NewReader("y\n")}} {
		if ok, err := s.Confirm(t.Context(), "?"); ok || !errors.Is(err, errNoTerminal) {
			t.Errorf("without a terminal: %v %v", ok, err)
		}
	}
}

func TestConfirmCanBeInterrupted(t *testing.T) {
	in, user := io.Pipe()
	defer user.Close()
	s := &Streams{In: in, Out: io.Discard, InTTY: true, ErrTTY: true}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	cancel(stop)
	if ok, err := s.Confirm(ctx, "apply?"); ok || !errors.Is(err, stop) {
		t.Errorf("%v %v", ok, err)
	}
}

func TestNotes(t *testing.T) {
	var errs bytes.Buffer
	s := &Streams{Out: io.Discard, Err: &errs}
	s.Note("read %d of %s", 1, "x\x1b[2J\nkoffset: error: forged")
	s.Warn("group %q", "a")
	s.Fail(Failure{Err: errors.Join(errors.New("first"), fmt.Errorf("second %w", io.EOF)), Hint: `try --match 'a\d'`, Kind: offset.KindFailed})
	s.Fail(Failure{Err: fmt.Errorf("both %w and %w", io.EOF, io.ErrNoProgress), Kind: offset.KindFailed})
	want := `koffset: read 1 of x\x1b[2J\nkoffset: error: forged
koffset: warning: group "a"
koffset: error: first
koffset: error: second EOF
koffset: hint: try --match 'a\d'
koffset: error: both EOF and multiple Read calls return no data or error
`
	if errs.String() != want {
		t.Errorf("got\n%s", errs.String())
	}
	errs.Reset()
	s.SetColour(ColourAlways)
	s.Warn("x")
	if errs.String() != "koffset: \x1b[33mwarning:\x1b[0m x\n" {
		t.Errorf("coloured: %q", errs.String())
	}
	errs.Reset()
	s.ErrorsAsJSON(true)
	s.Status = func(k offset.ErrorKind) int {
		return map[offset.ErrorKind]int{offset.KindNotFound: 5, offset.KindUsage: 2, offset.KindRefused: 3}[k]
	}
	s.Fail(Failure{Err: errors.New("a\x1bb"), Kind: offset.KindNotFound})
	s.Fail(Failure{Err: errors.New("c"), Hint: "h", Kind: offset.KindUsage})
	s.Fail(Failure{Err: errors.Join(errors.New("first"), fmt.Errorf("second: %w", errors.Join(io.EOF, io.ErrNoProgress))), Kind: offset.KindRefused})
	if errs.String() != `{"kind":"error","error":"a\u001bb","hint":null,"exit_code":5}`+"\n"+`{"kind":"error","error":"c","hint":"h","exit_code":2}`+"\n"+
		`{"kind":"error","error":"first; second: EOF; multiple Read calls return no data or error","hint":null,"exit_code":3,"errors":["first","second: EOF; multiple Read calls return no data or error"]}`+"\n" {
		t.Errorf("JSON: %s", errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestNotesKeepTheOrderOfOneTerminal(t *testing.T) {
	var screen bytes.Buffer
	s := &Streams{Out: newBuffered(&screen), Err: &screen, OutTTY: true, ErrTTY: true}
	fmt.Fprintln(s.Out, "data")
	s.Note("note")
	if screen.String() != "data\nkoffset: note\n" {
		t.Errorf("%q", screen.String())
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer
		s := &Streams{Out: &screen, Err: &screen, OutTTY: true, ErrTTY: true, Width: 40}
		shown := func() string { // the drawing goroutine is between two ticks, not gone
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return screen.String()
		}
		p := s.Progress("reading groups")
		p.Set(10, 2000)
		time.Sleep(progressDelay - time.Millisecond) // the bubble's clock
		if shown() != "" {
			t.Errorf("shown too early: %q", screen.String())
		}
		time.Sleep(time.Millisecond)
		if shown() != "\r\x1b[Kreading groups 10 / 2,000" {
			t.Errorf("%q", screen.String())
		}
		s.Note("half way")
		p.Add(1490)
		time.Sleep(progressEvery)
		shown()
		p.Stop()
		p.Stop()
		want := "\r\x1b[Kreading groups 10 / 2,000\r\x1b[Kkoffset: half way\n\r\x1b[Kreading groups 1,500 / 2,000\r\x1b[K"
		if screen.String() != want {
			t.Errorf("%q", screen.String())
		}
	})
}

func TestProgressIsForTerminals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []*Streams{{}, {ErrTTY: true, Env: env("TERM", "dumb")}} {
			var errs bytes.Buffer
			s.Err = &errs
			p := s.Progress("x")
			p.Set(1, 2)
			time.Sleep(time.Minute)
			synctest.Wait()
			p.Stop()
			if errs.Len() != 0 {
				t.Errorf("%q", errs.String())
			}
		}
	})
}

func TestBuffered(t *testing.T) {
	var out bytes.Buffer
	b := newBuffered(&out)
	want := ""
	for i := range 3000 {
		text := strings.Repeat(string(rune('a'+i%26)), i%50)
		if i == 1500 {
			text = strings.Repeat("big", bufferSize)
		}
		want += text
		if n, err := b.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := b.Flush(); err != nil || out.String() != want {
		t.Errorf("%v, %d bytes of %d", err, out.Len(), len(want))
	}
}

// A connection that is closed logs its end, perhaps after the command; nobody waits for it.
func TestLogAfterClose(t *testing.T) {
	var errs bytes.Buffer
	s := &Streams{Err: &errs}
	log := s.Log()
	fmt.Fprintln(log, "connected")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := fmt.Fprintln(log, "closed"); n != 7 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	fmt.Fprintln(s.Log(), "the next command")
	if got := errs.String(); got != "connected\nthe next command\n" {
		t.Errorf("got %q", got)
	}
}
