package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/offset"
)

// Fault is an error with its kind and the next step. The kind is what becomes the exit status.
type Fault struct {
	Kind  offset.ErrorKind
	Err   error
	Hint  string
	Quiet bool // everything was said already: rows, warnings
	Moved bool // something changed between a plan and its execution: a new plan may work
}

func (f *Fault) Error() string {
	if f.Err == nil {
		return "everything was said already"
	}
	return f.Err.Error()
}

func (f *Fault) Unwrap() error { return f.Err }

// ErrorKind is what the command says that it is.
func (f *Fault) ErrorKind() offset.ErrorKind { return f.Kind }

// Faultf makes a Fault.
func Faultf(kind offset.ErrorKind, hint, format string, args ...any) error {
	return &Fault{Kind: kind, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// Usagef makes a Fault of a command line that cannot be.
func Usagef(hint, format string, args ...any) error {
	return Faultf(offset.KindUsage, hint, format, args...)
}

// Quietly ends a command whose output has said everything.
func Quietly(kind offset.ErrorKind) error { return &Fault{Kind: kind, Quiet: true} }

// AsUsage makes a usage error of what is none yet, with the hint that it has.
func AsUsage(err error) error {
	var f *Fault
	if errors.As(err, &f) {
		return err
	}
	return &Fault{Kind: offset.KindUsage, Err: err, Hint: HintOf(err)}
}

// Classify is the kind of an error and the next step that it names. Order matters: what a command decided comes before what
// a library said.
func Classify(err error) (kind offset.ErrorKind, hint string) {
	var (
		f       *Fault
		syn     *offset.SyntaxError
		setting *config.Error
		refusal *offset.Refusal
		link    *conn.Error
		origin  *offset.OriginError
	)
	switch {
	case errors.As(err, &origin):
		if errors.As(err, &f) && f.Hint != "" {
			return offset.KindRefused, f.Hint // whoever asked knows what else there is
		}
		return offset.KindRefused, originHint(origin)
	case errors.As(err, &f):
		return f.Kind, f.Hint
	case errors.As(err, &setting): // before what it wraps: it knows which setting the word stands in
		return offset.KindUsage, setting.Hint
	case errors.As(err, &syn):
		return offset.KindUsage, syn.Hint
	case errors.As(err, &refusal) && refusal.Err == nil:
		return offset.KindRefused, refusal.Hint
	case errors.As(err, &link):
		return link.ErrorKind(), link.Hint
	case Denied(err):
		return offset.KindDenied, ""
	case errors.Is(err, context.DeadlineExceeded):
		return offset.KindUnreachable, "check the address, or give it longer with --timeout"
	}
	if link := conn.Classify(err); link != nil {
		return link.ErrorKind(), link.Hint
	}
	if kind := offset.KindOf(err); kind != offset.KindFailed || !nobodyHasIt(err) {
		return kind, ""
	}
	return offset.KindUnreachable, "try again: its broker is away, or another one is taking over"
}

// nobodyHasIt says that no broker leads a partition now, or coordinates a group: what is true of an election is over in a moment, and of
// a broker that is away when it is back.
func nobodyHasIt(err error) bool {
	return inspect.RetryGroup(err) || errors.Is(err, kerr.LeaderNotAvailable) || errors.Is(err, kerr.NotLeaderForPartition)
}

// HintOf is the next step that an error names.
func HintOf(err error) string { _, hint := Classify(err); return hint }

// Denied says that a broker refused for want of a right.
func Denied(err error) bool {
	for _, e := range []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// RightsHint names the ACL that is missing.
func RightsHint(err error) string {
	switch {
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return "the user needs DESCRIBE on the group"
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return "the user needs DESCRIBE on the topic"
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return "the user needs DESCRIBE on the cluster"
	}
	return ""
}

// FlagFault is what is wrong with the value of a flag, with the hint that err has.
func FlagFault(flag string, err error) *Fault {
	return &Fault{Kind: offset.KindUsage, Err: fmt.Errorf("%s: %w", flag, err), Hint: HintOf(err)}
}

// Stopped is the cause of a context that a signal ended.
type Stopped struct{ Sig os.Signal }

func (s Stopped) Error() string { return "stopped by " + s.Sig.String() }

// Is makes SIGTERM a suspension for the engine.
func (s Stopped) Is(target error) bool {
	return target == consume.ErrSuspended && s.Sig == syscall.SIGTERM
}

// Interrupted says what a signal ended. That a request was cancelled is no news, and neither is which signal it was.
func Interrupted(err error) error {
	var link *conn.Error
	switch {
	case errors.As(err, &link) && link.Addr != "" && errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted while waiting for %s", link.Addr)
	case errors.As(err, new(Stopped)), errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	}
	return fmt.Errorf("interrupted: %w", err)
}
