// Package render is everything between koffset and the user's terminal or pipe:
// the streams and what may be done with them (colour, questions, progress), the
// notes on stderr, and the writer that shows rows as tables, JSON, csv or tsv.
//
// The contract: stdout is data and nothing else; notes, warnings, errors,
// questions and progress go to stderr. Nothing that came from a cluster reaches
// either of them raw. tablewriter lives only here.
package render

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/koffset/koffset/offset"
)

// Streams are the standard streams and what is known about them. System makes
// the real ones; tests fill in a literal. Its methods may be called from several
// goroutines; the fields are not to be changed once it is in use.
type Streams struct {
	In  io.Reader
	Out io.Writer // data; System's is buffered, see Flush and Close
	Err io.Writer // all else

	InTTY, OutTTY, ErrTTY bool

	// OutNowhere says that stdout was closed when the process began: what is written there is lost, and no write fails.
	OutNowhere bool

	// Width and Height of the terminal in columns and lines; 0 means unknown.
	Width, Height int

	// Screen is where a pager shows what is longer than the screen; nil is nowhere.
	Screen io.Writer

	// Env looks up an environment variable; nil means an empty environment.
	Env func(string) string

	// Status is the exit status of a kind of error, for errors as JSON; nil knows 0 and 1.
	Status func(offset.ErrorKind) int

	// Spell writes out the settings that a hint names; nil leaves them as they are named.
	Spell func(hint string) string

	mu       sync.Mutex // guards writes to Out and Err and all below
	colour   ColourMode
	zone     *time.Location
	jsonErrs bool
	progress bool // a progress line stands on the terminal
	outErr   error
	closed   int       // how often Close was called
	given    io.Writer // what Out was before GiveOut
	noPager  bool
	pg       *pager // a pager has the screen
	heldErr  []byte // what is said when it has ended
	asking   bool   // a question stands on the terminal
	working  []*Progress
}

// System returns the streams of this process.
func System() *Streams {
	isTTY := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	s := &Streams{
		In: os.Stdin, Out: newBuffered(os.Stdout), Err: os.Stderr,
		InTTY: isTTY(os.Stdin), OutTTY: isTTY(os.Stdout), ErrTTY: isTTY(os.Stderr),
		OutNowhere: nowhere(os.Stdout), Env: os.Getenv,
	}
	if s.OutTTY {
		s.Screen = os.Stdout
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			s.Width, s.Height = w, h
			break
		}
	}
	return s
}

// GiveOut hands stdout over to a file that the command line sends there. Rows go to stderr from then on, so that the file
// stays whole.
func (s *Streams) GiveOut() io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given == nil {
		s.given = s.Out
		s.Out, s.OutTTY = s.Err, s.ErrTTY
	}
	return s.given
}

// Log is Err for a logger that writes whole lines from several goroutines beside
// the command's own notes. Connections may outlive the command that made them by a
// moment: what is logged after Close is dropped.
func (s *Streams) Log() io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return logWriter{s, s.closed}
}

type logWriter struct {
	s      *Streams
	closed int // how often s had been closed when the logger was made
}

func (w logWriter) Write(b []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.closed != w.s.closed {
		return len(b), nil
	}
	w.s.clearProgress(w.s.ErrTTY)
	w.s.sayLine(b)
	return len(b), nil
}

// Flush writes out what Out holds back. A command that prints as things happen
// flushes after each of them.
func (s *Streams) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

func (s *Streams) flush() error {
	for _, out := range []io.Writer{s.given, s.Out} {
		f, ok := out.(interface{ Flush() error })
		if !ok {
			continue
		}
		s.clearProgress(s.OutTTY)
		if err := f.Flush(); err != nil && s.outErr == nil {
			s.outErr = err
		}
	}
	return s.outErr
}

// Close flushes Out and returns the first error that a write to it met, so that
// a full disk is never a success. The streams are not closed.
func (s *Streams) Close() error {
	s.endPager()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return s.flush()
}

// WriteNow writes data to stdout at once, so that n is what the system has taken of it, as far as the writer tells.
func (s *Streams) WriteNow(b []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outErr != nil {
		return 0, s.outErr
	}
	s.clearProgress(s.OutTTY)
	if now, ok := s.Out.(interface{ WriteNow([]byte) (int, error) }); ok {
		n, err = now.WriteNow(b)
	} else {
		n, err = s.Out.Write(b)
	}
	if s.outErr == nil {
		s.outErr = err
	}
	if err == nil {
		err = s.flush()
	}
	return n, err
}

// writeOut is how the package itself writes data.
func (s *Streams) writeOut(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outErr != nil {
		return s.outErr
	}
	s.clearProgress(s.OutTTY)
	if _, err := s.Out.Write(b); err != nil {
		s.outErr = err
	}
	return s.outErr
}

// IsBrokenPipe reports whether err is that of a reader that went away (`koffset
// … | head`), which is no failure of ours to complain about.
func IsBrokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// Buffered is a writer with a buffer that remembers its first error: every later
// write and flush returns it.
type Buffered struct {
	w       io.Writer
	buf     []byte
	err     error
	midLine bool // what was written ends within a line
}

// newBuffered wraps w.
func newBuffered(w io.Writer) *Buffered { return &Buffered{w: w} }

const bufferSize = 32 << 10

func (b *Buffered) Write(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(b.buf)+len(p) > bufferSize {
		if err := b.Flush(); err != nil {
			return 0, err
		}
		if len(p) >= bufferSize {
			return b.WriteNow(p)
		}
	}
	b.buf = append(b.buf, p...)
	return len(p), nil
}

// WriteNow writes p behind what is buffered, and past the buffer: what it returns is how much of p the system has taken.
func (b *Buffered) WriteNow(p []byte) (int, error) {
	if err := b.Flush(); err != nil || len(p) == 0 {
		return 0, err
	}
	n, err := b.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	b.err, b.midLine = err, p[len(p)-1] != '\n'
	return n, err
}

// Flush writes what is buffered.
func (b *Buffered) Flush() error {
	if b.err != nil || len(b.buf) == 0 {
		return b.err
	}
	n, err := b.w.Write(b.buf)
	if err == nil && n < len(b.buf) {
		err = io.ErrShortWrite
	}
	b.midLine = b.buf[len(b.buf)-1] != '\n'
	b.buf, b.err = b.buf[:0], err
	return err
}

// ColourMode is the value of --color.
type ColourMode uint8

// The colour modes.
const (
	ColourAuto   ColourMode = iota // on a terminal that is not dumb, unless NO_COLOR is set
	ColourAlways                   // stronger than NO_COLOR: the flag was typed
	ColourNever
)

// ParseColour reads the word of --color.
func ParseColour(s string) (ColourMode, error) {
	switch s {
	case "auto":
		return ColourAuto, nil
	case "always":
		return ColourAlways, nil
	case "never":
		return ColourNever, nil
	}
	return ColourAuto, fmt.Errorf("%q is not one of auto, always, never", s)
}

// SetColour chooses the colour mode; the zero value of Streams has ColourAuto.
func (s *Streams) SetColour(m ColourMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.colour = m
}

// SetZone chooses the time zone of what people read: tables and lines. JSON, csv and tsv stay in UTC.
func (s *Streams) SetZone(zone *time.Location) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zone = zone
}

// Zone is the time zone of tables, UTC unless another was chosen.
func (s *Streams) Zone() *time.Location {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.zone == nil {
		return time.UTC
	}
	return s.zone
}

// Colour reports whether Out gets colours.
func (s *Streams) Colour() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.colourOn(s.OutTTY)
}

func (s *Streams) colourOn(tty bool) bool {
	switch s.colour {
	case ColourAlways:
		return true
	case ColourNever:
		return false
	}
	return tty && s.env("NO_COLOR") == "" && s.env("TERM") != "dumb"
}

// UTF8 reports whether the locale's characters are UTF-8, as POSIX has it: the first of LC_ALL, LC_CTYPE and LANG that is set
// says so, and without any of them the locale is C, which is ASCII.
func (s *Streams) UTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := s.env(name); v != "" {
			v = strings.ReplaceAll(strings.ToLower(v), "-", "")
			return strings.Contains(v, "utf8")
		}
	}
	return false
}

func (s *Streams) env(name string) string {
	if s.Env == nil {
		return ""
	}
	return s.Env(name)
}

// appendStyled wraps text in the escape codes of a style. The codes are the
// basic eight colours, which every theme has made readable.
func appendStyled(dst []byte, st Style, text []byte) []byte {
	code := ""
	switch st {
	case Good:
		code = "\x1b[32m"
	case Warn:
		code = "\x1b[33m"
	case Bad:
		code = "\x1b[31m"
	case Dim:
		code = "\x1b[2m"
	default:
		return append(dst, text...)
	}
	dst = append(dst, code...)
	dst = append(dst, text...)
	return append(dst, "\x1b[0m"...)
}
