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
	"strings"
	"syscall"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
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
// what it must (read back what it committed, restore the terminal). Another signal ends the process at once; the same one
// within a second is the first one again: GNU timeout, and a terminal's Ctrl-C under a supervisor, send it to the process and
// to its group, and the last checkpoint must not be lost for that.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-ch:
			cancel(cli.Stopped{Sig: s})
			waitOut(ch, s, done)
			signal.Stop(ch)
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(ch); close(done); cancel(nil) }
}

// statuses are the exit statuses. They are part of the contract with scripts; each command's help ends with its own. No other
// place knows one: commands end with a kind.
func statuses() map[offset.ErrorKind]int {
	return map[offset.ErrorKind]int{
		offset.KindNone:        0,
		offset.KindFailed:      1,
		offset.KindUsage:       2, // usage or configuration
		offset.KindRefused:     3, // a safety check refused, or the question was declined; nothing was changed
		offset.KindPartial:     4, // partly done or partly known; the output says which rows
		offset.KindNotFound:    5, // no such group or topic
		offset.KindUnreachable: 6, // unreachable, or timed out
		offset.KindDenied:      7, // not authenticated or not authorised
		offset.KindCheck:       8, // a check did not hold
		offset.KindInterrupted: 130,
	}
}

// spellings are what the settings that packages name in their hints are called on the command line. A flag may be pasted as it
// stands; the last three are commands.
func spellings() map[offset.Setting]string {
	return map[offset.Setting]string{
		offset.SetAllowDrift:       "--allow-drift",
		offset.SetAllowRewind:      "--allow-rewind",
		offset.SetAllowUnproven:    "--allow-unproven",
		offset.SetBrokers:          "--bootstrap-server",
		offset.SetCommandConfig:    "--command-config",
		offset.SetConfig:           "--config",
		offset.SetEnd:              "--until",
		offset.SetExact:            "--exact",
		offset.SetGroup:            "--group",
		offset.SetGroupMatch:       "--group-match",
		offset.SetIfExpired:        "--if-expired",
		offset.SetIfNoCommit:       "--if-no-commit",
		offset.SetIfNone:           "--if-none",
		offset.SetIfUnknown:        "--if-unknown",
		offset.SetJobName:          "--job-name",
		offset.SetJoin:             "--join",
		offset.SetMapGroup:         "--map-group",
		offset.SetMarker:           "--marker",
		offset.SetMaxSeries:        "--max-series",
		offset.SetMaxSkip:          "--max-skip",
		offset.SetNoPager:          "--no-pager",
		offset.SetOnForeignCommit:  "--on-foreign-commit",
		offset.SetOutOfRange:       "--out-of-range",
		offset.SetOutput:           "--output",
		offset.SetProfile:          "--profile",
		offset.SetRate:             "--rate",
		offset.SetRestore:          "--restore",
		offset.SetRestoreWith:      "--restore-with",
		offset.SetSkipUnresolved:   "--skip-unresolved",
		offset.SetSpecificOffsets:  "--startup-specific-offsets",
		offset.SetStart:            "--from",
		offset.SetStartupTimestamp: "--startup-timestamp-millis",
		offset.SetStrategy:         "--strategy",
		offset.SetTimeZone:         "--tz",
		offset.SetTimeout:          "--timeout",
		offset.SetCheckpointDir:    "--checkpoint-dir",
		offset.SetCheckpointEvery:  "--checkpoint-interval",
		offset.SetTolerable:        "--tolerable-failed-checkpoints",
		offset.SetWaitEmpty:        "--wait-empty",
		offset.SetWindow:           "--window",
		offset.SetMoveGroup:        "koffset reset GROUP --to POSITION",
		offset.SetRepair:           "koffset repair",
		offset.SetShowSettings:     "koffset profile show --resolved",
	}
}

func spellHint(hint string) string {
	return offset.SpellHint(hint, func(s offset.Setting, value string) string {
		return strings.TrimSpace(spellings()[s] + " " + value)
	})
}

// statusTerminated is what SIGTERM makes of an interruption.
const statusTerminated = 143

// sameSignal is how long the same signal again is the first one.
const sameSignal = time.Second

// waitOut passes over the signal that came already, for a second. Another one ends the process as it would have without us.
func waitOut(ch chan os.Signal, first os.Signal, done <-chan struct{}) {
	over := time.NewTimer(sameSignal)
	defer over.Stop()
	for {
		select {
		case s := <-ch:
			if s == first {
				continue
			}
			signal.Stop(ch)
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Signal(s) // where a process cannot signal itself (Windows) the first one goes on working
			}
			return
		case <-over.C:
			return
		case <-done:
			return
		}
	}
}

// Run runs one command line and returns the exit status. It reads and writes nothing but what app holds, the files that
// the command line names, and the network, so tests call it in their own process.
func Run(ctx context.Context, args []string, app cli.App) int {
	a := &app
	a.Fill()
	a.Args = args
	a.Streams.Status = func(k offset.ErrorKind) int {
		var s cli.Stopped
		if k == offset.KindInterrupted && errors.As(context.Cause(ctx), &s) && s.Sig == syscall.SIGTERM {
			return statusTerminated
		}
		return statuses()[k]
	}
	a.Streams.Spell = spellHint
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if a.Waiting != nil {
		a.Waiting.Stop()
	}
	if err != nil && !a.Started {
		err = cli.AsUsage(err)
	}
	kind := report(ctx, a, err)
	if cerr := a.Streams.Close(); cerr != nil && kind == offset.KindNone {
		// A reader that has seen enough (head) is no failure; a full disk is.
		if !render.IsBrokenPipe(cerr) {
			kind = offset.KindFailed
			a.Streams.Fail(render.Failure{Err: fmt.Errorf("write the output: %w", cerr), Kind: kind})
		}
	}
	return a.Streams.Status(kind)
}

// report says an error on stderr and returns its kind.
func report(ctx context.Context, a *cli.App, err error) offset.ErrorKind {
	if err == nil {
		return offset.KindNone
	}
	var f *cli.Fault
	_ = errors.As(err, &f)
	if errors.As(context.Cause(ctx), new(cli.Stopped)) {
		kind := offset.KindInterrupted
		if f != nil && f.Kind == offset.KindPartial {
			kind = offset.KindPartial // rows whose fate is not known weigh more than how the run ended
		}
		if f == nil || !f.Quiet {
			hint := ""
			if f != nil {
				hint = f.Hint
			}
			a.Streams.Fail(render.Failure{Err: cli.Interrupted(err), Kind: kind, Hint: hint})
		}
		return kind
	}
	if errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*cli.TimedOut)) {
		err = fmt.Errorf("%w (--timeout)", err)
	}
	kind, hint := cli.Classify(err)
	switch {
	case f != nil && f.Quiet:
		return kind
	case render.IsBrokenPipe(err):
		return offset.KindNone
	case f != nil && error(f) == err:
		err = f.Err // several refusals in one fault are a line each
	}
	a.Streams.Fail(render.Failure{Err: err, Hint: hint, Kind: kind})
	return kind
}
