// Package measure times commands against each other: whole processes, in turn, so that a machine whose speed drifts
// slows both, with medians and the ratio between them.
package measure

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Command is one process to time.
type Command struct {
	Name string
	Path string
	Args []string
	Env  []string  // added to the process's own
	Out  io.Writer // nil discards
}

// Sample is one finished run.
type Sample struct {
	Wall   time.Duration
	CPU    time.Duration // user and system
	MaxRSS int64         // bytes, the largest the process was; 0 where the system does not tell
}

// Run runs a command once. The error holds what it wrote to stderr.
func Run(ctx context.Context, c Command) (Sample, error) {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout = c.Out
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	s := Sample{Wall: time.Since(start), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if cmd.ProcessState != nil { // nil where the program could not be started
		s.MaxRSS = maxRSS(cmd.ProcessState)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w: %s", c.Name, err, stderr.String())
	}
	return s, nil
}

// Median of durations.
func Median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	if len(s) == 0 {
		return 0
	}
	return s[len(s)/2]
}

// Row is one comparison: what was timed, against what, and the bound on the ratio.
type Row struct {
	Job       string
	Ours      time.Duration
	Base      time.Duration // zero where the bound is a time
	Ratio     float64
	MaxRatio  float64       // zero where the bound is a time
	MaxTime   time.Duration // zero where the bound is a ratio
	MaxRSS    int64
	MaxMemory int64 // zero where memory has no bound
	BaseLabel string
}

// OK says that the bound holds.
func (r Row) OK() bool {
	return (r.MaxRatio == 0 || r.Ratio <= r.MaxRatio) && (r.MaxTime == 0 || r.Ours <= r.MaxTime) &&
		(r.MaxMemory == 0 || r.MaxRSS <= r.MaxMemory)
}

// Against runs ours and base in turn, n times after one warm-up each, and compares the medians.
func Against(ctx context.Context, job string, n int, ours, base Command, maxRatio float64) (Row, error) {
	var a, b []time.Duration
	r := Row{Job: job, MaxRatio: maxRatio, BaseLabel: base.Name}
	for i := range n + 1 {
		x, err := Run(ctx, ours)
		if err != nil {
			return r, err
		}
		y, err := Run(ctx, base)
		if err != nil {
			return r, err
		}
		if i > 0 {
			a, b = append(a, x.Wall), append(b, y.Wall)
			r.MaxRSS = max(r.MaxRSS, x.MaxRSS)
		}
	}
	r.Ours, r.Base = Median(a), Median(b)
	r.Ratio = float64(r.Ours) / float64(r.Base)
	return r, nil
}

// Alone runs a command n times after one warm-up, against a bound in time.
func Alone(ctx context.Context, job string, n int, ours Command, maxTime time.Duration) (Row, error) {
	var a []time.Duration
	r := Row{Job: job, MaxTime: maxTime}
	for i := range n + 1 {
		x, err := Run(ctx, ours)
		if err != nil {
			return r, err
		}
		if i > 0 {
			a = append(a, x.Wall)
			r.MaxRSS = max(r.MaxRSS, x.MaxRSS)
		}
	}
	r.Ours = Median(a)
	return r, nil
}

// Print writes the rows as a table and says whether every bound holds.
func Print(w io.Writer, rows []Row) (ok bool) {
	ok = true
	_, _ = fmt.Fprintf(w, "%-46s %10s %10s %7s %8s %8s  %s\n", "JOB", "KOFFSET", "BASELINE", "RATIO", "BOUND", "MEMORY", "HOLDS")
	for _, r := range rows {
		base, ratio, bound := "-", "-", r.MaxTime.String()
		if r.MaxRatio > 0 {
			base, ratio, bound = round(r.Base), fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("%.1fx", r.MaxRatio)
		}
		holds := "yes"
		if !r.OK() {
			holds, ok = "NO", false
		}
		_, _ = fmt.Fprintf(w, "%-46s %10s %10s %7s %8s %7dM  %s\n", r.Job, round(r.Ours), base, ratio, bound, r.MaxRSS>>20, holds)
	}
	return ok
}

func round(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
