// What koffset says on stderr besides data.

package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/koffset/koffset/offset"
)

// Note prints "koffset: " and the message on stderr, as one line: what does not
// print is escaped, newlines included.
func (s *Streams) Note(format string, args ...any) {
	s.say("", Plain, fmt.Sprintf(format, args...))
}

// Warn is Note with "warning: ". Settings that it names in double braces are spelled, as in a hint.
func (s *Streams) Warn(format string, args ...any) {
	s.say("warning: ", Warn, s.spelled(fmt.Sprintf(format, args...)))
}

// Hint is Note with "hint: ".
func (s *Streams) Hint(format string, args ...any) {
	s.say("hint: ", Dim, s.spelled(fmt.Sprintf(format, args...)))
}

// Failure is how a command ended when it did not end well.
type Failure struct {
	Err  error
	Hint string // the next step; may be empty
	Kind offset.ErrorKind
}

// ErrorsAsJSON makes Fail print a JSON object, for a caller that asked for JSON.
func (s *Streams) ErrorsAsJSON(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jsonErrs = on
}

// Fail prints the error and its hint: as two lines, or after ErrorsAsJSON as
// {"kind":"error","error":…,"hint":…,"exit_code":…} on one. Several errors
// joined by errors.Join are a line each, and in JSON one text and a list,
// "errors".
func (s *Streams) Fail(f Failure) {
	errs := []error{f.Err}
	if joined, ok := f.Err.(interface{ Unwrap() []error }); ok && isJoin(f.Err, joined.Unwrap()) {
		errs = joined.Unwrap()
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = offset.Mask(strings.ReplaceAll(err.Error(), "\n", "; ")) // a join within the error
	}
	s.mu.Lock()
	asJSON := s.jsonErrs
	s.mu.Unlock()
	if asJSON {
		fields := []Field{F("kind", String("error")), F("error", String(strings.Join(texts, "; "))),
			F("hint", Text(offset.Mask(s.spelled(f.Hint)))), F("exit_code", Int(int64(s.status(f.Kind))))}
		if len(texts) > 1 {
			fields = append(fields, F("errors", Strings(texts)))
		}
		obj := Object(fields...)
		s.writeErr(append(obj.appendJSON(nil), '\n'))
		return
	}
	for _, text := range texts {
		s.say("error: ", Bad, text)
	}
	if f.Hint != "" {
		s.say("hint: ", Dim, s.spelled(f.Hint))
	}
}

func (s *Streams) spelled(hint string) string {
	if s.Spell == nil {
		return hint
	}
	return s.Spell(hint)
}

// status is the exit status of a kind: by the caller's table, or 1 for what is no success.
func (s *Streams) status(k offset.ErrorKind) int {
	switch {
	case s.Status != nil:
		return s.Status(k)
	case k == offset.KindNone:
		return 0
	}
	return 1
}

// isJoin tells errors.Join, whose text is its parts and nothing more, from
// fmt.Errorf with several %w, whose text has words of its own.
func isJoin(err error, parts []error) bool {
	text := ""
	for i, p := range parts {
		if i > 0 {
			text += "\n"
		}
		text += p.Error()
	}
	return len(parts) > 0 && err.Error() == text
}

func (s *Streams) say(label string, style Style, message string) {
	line := []byte("koffset: ")
	s.mu.Lock()
	colour := s.colourOn(s.ErrTTY)
	s.mu.Unlock()
	if label != "" && colour {
		line = appendStyled(line, style, []byte(label[:len(label)-1]))
		line = append(line, ' ')
	} else {
		line = append(line, label...)
	}
	line = appendClean(line, offset.Mask(message)) // whoever made it, a password is not in it
	s.writeErr(append(line, '\n'))
}

// writeErr writes to stderr. Where both streams are one terminal, what stdout
// holds back goes first, so that the order on the screen is the order of events.
// An error of stderr itself has nowhere to go.
func (s *Streams) writeErr(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.OutTTY && s.ErrTTY {
		_ = s.flush()
	}
	s.clearProgress(true)
	s.sayLine(b)
}

// sayLine writes to stderr, or holds the line back while a pager has the screen. s.mu is held.
func (s *Streams) sayLine(b []byte) {
	if s.pg != nil && s.ErrTTY {
		s.heldErr = append(s.heldErr, b...)
		return
	}
	_, _ = s.errWriter().Write(b)
}

func (s *Streams) errWriter() io.Writer {
	if s.Err == nil {
		return io.Discard
	}
	return s.Err
}
