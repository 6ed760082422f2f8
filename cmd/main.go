// Package cmd is koffset's command line. It composes the commands, which are in a package for each group of the help (look,
// move, carry, state, read, monitor, setup), and runs one line of them. What commands share is in cli, what runs a plan in act.
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

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
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
	return Run(ctx, os.Args[1:], cli.App{
		Streams: render.System(), Environ: os.Environ(), Dir: dir, Home: home, Now: time.Now,
		Keyboard: os.Stdin, Screen: os.Stdout,
	})
}

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
			cancel(cli.Stopped{Sig: s})
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(ch); close(done); cancel(nil) }
}

// Run runs one command line and returns the exit status. It reads and writes nothing but what app holds, the files that
// the command line names, and the network, so tests call it in their own process.
func Run(ctx context.Context, args []string, app cli.App) int {
	a := &app
	a.Fill()
	a.Args = args
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.Started {
		err = cli.AsUsage(err)
	}
	code := report(ctx, a, err)
	if cerr := a.Streams.Close(); cerr != nil && code == cli.ExitDone {
		// A reader that has seen enough (head) is no failure; a full disk is.
		if render.IsBrokenPipe(cerr) {
			return cli.ExitDone
		}
		a.Streams.Fail(render.Failure{Err: fmt.Errorf("write the output: %w", cerr), ExitCode: cli.ExitFailed})
		return cli.ExitFailed
	}
	return code
}

// report says an error on stderr and returns its exit status.
func report(ctx context.Context, a *cli.App, err error) int {
	if err == nil {
		return cli.ExitDone
	}
	var s cli.Stopped
	if errors.As(context.Cause(ctx), &s) {
		code := cli.ExitInterrupted
		if s.Sig == syscall.SIGTERM {
			code = cli.ExitTerminated
		}
		var f *cli.Fault
		if errors.As(err, &f) && f.Code == cli.ExitPartial {
			code = cli.ExitPartial // rows whose fate is not known weigh more than how the run ended
		}
		if f == nil || !f.Quiet {
			a.Streams.Fail(render.Failure{Err: fmt.Errorf("interrupted: %w", err), ExitCode: code})
		}
		return code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		if c := new(cli.TimedOut); !errors.As(err, &c) {
			err = fmt.Errorf("%w (--timeout)", err)
		}
	}
	code, hint := cli.Classify(err)
	var f *cli.Fault
	if errors.As(err, &f) && f.Quiet {
		return code
	}
	if render.IsBrokenPipe(err) {
		return cli.ExitDone
	}
	if f != nil && error(f) == err {
		err = f.Err // several refusals in one fault are a line each
	}
	a.Streams.Fail(render.Failure{Err: err, Hint: hint, ExitCode: code})
	return code
}
