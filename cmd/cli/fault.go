package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// The exit statuses. They are part of the contract with scripts; each command's help ends with its own.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2 // usage or configuration
	ExitRefused     = 3 // a safety check refused, or the question was declined; nothing was changed
	ExitPartial     = 4 // partly done or partly known; the output says which rows
	ExitNotFound    = 5 // no such group or topic
	ExitUnreachable = 6 // unreachable, or timed out
	ExitDenied      = 7 // not authenticated or not authorised
	ExitCheck       = 8 // a check did not hold
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// Fault is an error with the exit status it means and the next step.
type Fault struct {
	Code  int
	Err   error
	Hint  string
	Quiet bool // everything was said already: rows, warnings
	Moved bool // something changed between a plan and its execution: a new plan may work
}

func (f *Fault) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit status %d", f.Code)
	}
	return f.Err.Error()
}

func (f *Fault) Unwrap() error { return f.Err }

// Faultf makes a Fault.
func Faultf(code int, hint, format string, args ...any) error {
	return &Fault{Code: code, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// Usagef makes a Fault of a command line that cannot be.
func Usagef(hint, format string, args ...any) error { return Faultf(ExitUsage, hint, format, args...) }

// Quietly ends a command whose output has said everything with an exit status.
func Quietly(code int) error { return &Fault{Code: code, Quiet: true} }

// AsUsage makes a usage error of what is none yet, with the hint that it has.
func AsUsage(err error) error {
	var f *Fault
	if errors.As(err, &f) {
		return err
	}
	return &Fault{Code: ExitUsage, Err: err, Hint: HintOf(err)}
}

// Classify maps an error to its exit status and next step. Order matters: what a command decided comes before what a
// library said.
func Classify(err error) (code int, hint string) {
	var f *Fault
	if errors.As(err, &f) {
		return f.Code, f.Hint
	}
	var (
		syn     *offset.SyntaxError
		config  *conn.ConfigError
		format  *render.FormatError
		refusal *offset.Refusal
		link    *conn.Error
	)
	switch {
	case errors.As(err, &config): // before what it wraps: it knows which setting the word stands in
		return ExitUsage, config.Hint
	case errors.As(err, &syn):
		return ExitUsage, syn.Hint
	case errors.As(err, &format):
		return ExitUsage, ""
	case errors.As(err, &refusal) && refusal.Err == nil:
		return ExitRefused, refusal.Hint
	case errors.As(err, &link):
		return link.ExitCode(), link.Hint
	case Denied(err):
		return ExitDenied, ""
	case errors.Is(err, context.DeadlineExceeded):
		return ExitUnreachable, "check the address, or give it longer with --timeout"
	}
	if link := conn.Classify(err); link != nil {
		return link.ExitCode(), link.Hint
	}
	return ExitFailed, ""
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
		return "the principal needs DESCRIBE on the group"
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return "the principal needs DESCRIBE on the topic"
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return "the principal needs DESCRIBE on the cluster"
	}
	return ""
}

// Stopped is the cause of a context that a signal ended.
type Stopped struct{ Sig os.Signal }

func (s Stopped) Error() string { return "stopped by " + s.Sig.String() }

// Is makes SIGTERM a suspension for the engine.
func (s Stopped) Is(target error) bool {
	return target == consume.ErrSuspended && s.Sig == syscall.SIGTERM
}
