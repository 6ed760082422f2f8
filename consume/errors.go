package consume

// Errors and notices: what the caller shows, as values.

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/koffset/koffset/offset"
)

// ErrorKind is [offset.ErrorKind]; the kinds of an *Error have names here.
type ErrorKind = offset.ErrorKind

// The kinds of failure.
const (
	Failed      = offset.KindFailed      // the run, or a policy that says so, failed
	Usage       = offset.KindUsage       // the configuration cannot be used; nothing was read
	Refused     = offset.KindRefused     // a safety check refused; nothing was committed or removed
	NotFound    = offset.KindNotFound    // no such topic or partition
	Unreachable = offset.KindUnreachable // the brokers did not answer
)

// Error is why a run did not start, or stopped. Every error of New and Run is one; what a sink, a broker or the connection
// said is inside it.
type Error struct {
	Kind    ErrorKind
	Problem string
	Hint    string // the next step; may be empty
	Err     error  // the cause; may be nil
}

func (e *Error) Error() string { return e.Problem }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is the kind. A failure whose cause says more than "failed", a missing right or a broker that is gone, is of the
// cause's kind.
func (e *Error) ErrorKind() offset.ErrorKind {
	if e.Kind == Failed && e.Err != nil {
		if needed(e.Err) != "" {
			return offset.KindDenied
		}
		return offset.KindOf(e.Err)
	}
	return e.Kind
}

func errorf(kind ErrorKind, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Hint: cmp.Or(hint, needed(err)), Problem: err.Error(), Err: errors.Unwrap(err)}
}

// asError makes an *Error of what the sink, the brokers or the connection said, so that every error of the package is one.
func asError(err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return &Error{Kind: Failed, Problem: err.Error(), Hint: needed(err), Err: err}
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
