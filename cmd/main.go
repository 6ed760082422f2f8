// Package cmd is koffset's command line: one file a command, each of which parses flags, calls a domain package and
// prints. This file is the one place where an error becomes an exit status and a hint.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// The exit statuses. They are part of the contract with scripts; each command's help ends with its own.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // usage or configuration
	exitRefused     = 3 // a safety check refused, or the question was declined; nothing was changed
	exitPartial     = 4 // partly done or partly known; the output says which rows
	exitNotFound    = 5 // no such group or topic
	exitUnreachable = 6 // unreachable, or timed out
	exitDenied      = 7 // not authenticated or not authorised
	exitCheck       = 8 // a check did not hold
	exitInterrupted = 130
	exitTerminated  = 143
)

// Main runs koffset with the process's arguments and streams, and returns the exit status.
func Main() int {
	// One command makes much garbage once and ends: with Go's default a third of an inspect of 100,000 rows went to the
	// collector, in a heap of 30 MB.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	home, _ := os.UserHomeDir()
	dir, _ := os.Getwd()
	// With a handler for it a write to a pipe whose reader has gone fails with EPIPE, which report and Run take for what it is;
	// without one Go ends the process, and `koffset inspect | head -1` fails under set -o pipefail.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := withSignals(context.Background())
	defer stop()
	return Run(ctx, os.Args[1:], App{
		Streams: render.System(), Environ: os.Environ(), Dir: dir, Home: home, Now: time.Now,
		Keyboard: os.Stdin, Screen: os.Stdout,
	})
}

// stopped is the cause of a context that a signal ended.
type stopped struct{ sig os.Signal }

func (s stopped) Error() string { return "stopped by " + s.sig.String() }

// withSignals ends the context at the first SIGINT or SIGTERM, with the signal as its cause, so that a command can finish
// what it must (read back what it committed, restore the terminal). The second signal ends the process at once.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-ch:
			signal.Stop(ch)
			cancel(stopped{s})
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(ch); close(done); cancel(nil) }
}

// Run runs one command line and returns the exit status. It reads and writes nothing but what app holds, the files that
// the command line names, and the network, so tests call it in their own process.
func Run(ctx context.Context, args []string, app App) int {
	a := &app
	a.fill()
	a.args = args
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		err = asUsage(err)
	}
	code := a.report(ctx, err)
	if cerr := a.Streams.Close(); cerr != nil && code == exitDone {
		// A reader that has seen enough (head) is no failure; a full disk is.
		if render.IsBrokenPipe(cerr) {
			return exitDone
		}
		a.Streams.Fail(render.Failure{Err: fmt.Errorf("write the output: %w", cerr), ExitCode: exitFailed})
		return exitFailed
	}
	return code
}

// fault is an error with the exit status it means and the next step.
type fault struct {
	code  int
	err   error
	hint  string
	quiet bool // everything was said already: rows, warnings
	moved bool // something changed between a plan and its execution: a new plan may work
}

func (f *fault) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit status %d", f.code)
	}
	return f.err.Error()
}

func (f *fault) Unwrap() error { return f.err }

func faultf(code int, hint, format string, args ...any) error {
	return &fault{code: code, hint: hint, err: fmt.Errorf(format, args...)}
}

func usagef(hint, format string, args ...any) error { return faultf(exitUsage, hint, format, args...) }

// quietly ends a command whose output has said everything with an exit status.
func quietly(code int) error { return &fault{code: code, quiet: true} }

func asUsage(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return err
	}
	return &fault{code: exitUsage, err: err, hint: hintOf(err)}
}

// report says an error on stderr and returns its exit status.
func (a *App) report(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	var s stopped
	if errors.As(context.Cause(ctx), &s) {
		code := exitInterrupted
		if s.sig == syscall.SIGTERM {
			code = exitTerminated
		}
		var f *fault
		if errors.As(err, &f) && f.code == exitPartial {
			code = exitPartial // rows whose fate is not known weigh more than how the run ended
		}
		if f == nil || !f.quiet {
			a.Streams.Fail(render.Failure{Err: fmt.Errorf("interrupted: %w", err), ExitCode: code})
		}
		return code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		if c := new(timedOut); !errors.As(err, &c) {
			err = fmt.Errorf("%w (--timeout)", err)
		}
	}
	code, hint := classify(err)
	var f *fault
	if errors.As(err, &f) && f.quiet {
		return code
	}
	if render.IsBrokenPipe(err) {
		return exitDone
	}
	if f != nil && error(f) == err {
		err = f.err // several refusals in one fault are a line each
	}
	a.Streams.Fail(render.Failure{Err: err, Hint: hint, ExitCode: code})
	return code
}

// classify maps an error to its exit status and next step. Order matters: what a command decided comes before what a
// library said.
func classify(err error) (code int, hint string) {
	var f *fault
	if errors.As(err, &f) {
		return f.code, f.hint
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
		return exitUsage, config.Hint
	case errors.As(err, &syn):
		return exitUsage, syn.Hint
	case errors.As(err, &format):
		return exitUsage, ""
	case errors.As(err, &refusal) && refusal.Err == nil:
		return exitRefused, refusal.Hint
	case errors.As(err, &link):
		return link.ExitCode(), link.Hint
	case denied(err):
		return exitDenied, ""
	case errors.Is(err, context.DeadlineExceeded):
		return exitUnreachable, "check the address, or give it longer with --timeout"
	}
	if link := conn.Classify(err); link != nil {
		return link.ExitCode(), link.Hint
	}
	return exitFailed, ""
}

func hintOf(err error) string { _, hint := classify(err); return hint }

// denied says that a broker refused for want of a right.
func denied(err error) bool {
	for _, e := range []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// timedOut is the cause of a phase that took longer than --timeout.
type timedOut struct {
	what  string
	after time.Duration
}

func (t *timedOut) Error() string { return fmt.Sprintf("%s: no answer within %s", t.what, t.after) }

// Is makes errors.Is(err, context.DeadlineExceeded) true.
func (t *timedOut) Is(target error) bool { return target == context.DeadlineExceeded }
