package consume

// Errors and notices: what the caller shows, as values.

import (
	"errors"
	"fmt"
)

// ErrorKind says what sort of failure an *Error is.
type ErrorKind uint8

// The kinds of failure.
const (
	Failed      ErrorKind = iota + 1 // the run, or a policy that says so, failed
	Usage                            // the configuration cannot be used; nothing was read
	Refused                          // a safety check refused; nothing was committed or removed
	NotFound                         // no such topic or partition
	Unreachable                      // the brokers did not answer
)

// Error is why a run did not start, or stopped. Everything that New and Run return of their own is one; connection and
// broker errors are inside it.
type Error struct {
	Kind    ErrorKind
	Problem string
	Hint    string // the next step; may be empty
	Err     error  // the cause; may be nil
}

func (e *Error) Error() string { return e.Problem }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is the exit status that the error means: 1 failed, 2 usage, 3 refused, 5 not found, 6 unreachable.
func (e *Error) ExitCode() int {
	switch e.Kind {
	case Usage:
		return 2
	case Refused:
		return 3
	case NotFound:
		return 5
	case Unreachable:
		return 6
	}
	return 1
}

func errorf(kind ErrorKind, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Hint: hint, Problem: err.Error(), Err: errors.Unwrap(err)}
}

// ErrSuspended as the cause of the context's end is a suspension: the last checkpoint is kept whatever the retention, so
// that a rolling restart loses nothing.
var ErrSuspended = errors.New("suspended")

// Level is how much a notice matters.
type Level uint8

// The levels of a notice.
const (
	Info Level = iota
	Warning
)

// Notice is something that the person who runs the engine should know and that stops nothing.
type Notice struct {
	Level Level
	Text  string
	Hint  string // may be empty
}

func infof(format string, args ...any) Notice {
	return Notice{Level: Info, Text: fmt.Sprintf(format, args...)}
}

func warnf(hint, format string, args ...any) Notice {
	return Notice{Level: Warning, Text: fmt.Sprintf(format, args...), Hint: hint}
}
