//go:build realkafka

package kafkatest

// Processes that tests start: ended by their own pid, and by a watchdog when this process dies without ending them.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// process is a running server. Its output goes to a log file.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // how it ended, set before done is closed

	watchdog *exec.Cmd
	leash    io.Closer // the watchdog strikes when this closes
	stopOnce sync.Once
}

// startProcess starts cmd with output to logFile (appended to, so that a restart keeps the first run's log).
//
// The watchdog is a shell that reads a pipe whose other end only this process holds. When this process ends in any way (a
// panic, a test time-out, kill -9) the read returns and the shell kills the server and removes scratch, if that is not empty. A death signal from
// the kernel (Linux only) would be tied to the thread that started the server, which Go may end at any time.
func startProcess(name string, cmd *exec.Cmd, logFile, scratch string) (*process, error) {
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if cmd.Stdout == nil {
		cmd.Stdout = out
	}
	cmd.Stderr = out
	// A group of its own: Ctrl-C on a terminal then reaches the test first, which stops servers in order.
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, log: logFile, done: make(chan struct{})}
	if err := p.watch(scratch); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) watch(scratch string) error {
	script := `read -r _; kill -9 "$1" 2>/dev/null`
	if scratch != "" {
		script += `; sleep 1; rm -rf "$2"`
	}
	w := exec.Command("sh", "-c", script, "watchdog", strconv.Itoa(p.cmd.Process.Pid), scratch)
	w.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	leash, err := w.StdinPipe()
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the watchdog of %s: %w", p.name, err)
	}
	p.watchdog, p.leash = w, leash
	return nil
}

// signal sends a signal to a process that has not ended.
func (p *process) signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// stop sends sig, waits up to patience, then kills. Several calls are one.
func (p *process) stop(sig syscall.Signal, patience time.Duration) {
	p.stopOnce.Do(func() {
		_ = p.cmd.Process.Signal(sig)
		over := time.NewTimer(patience)
		defer over.Stop()
		select {
		case <-p.done:
		case <-over.C:
			_ = p.cmd.Process.Kill()
			<-p.done
		}
		// The watchdog goes only now, and before its pipe closes: it must never see a pid that is somebody else's by then.
		_ = p.watchdog.Process.Kill()
		_ = p.watchdog.Wait()
		_ = p.leash.Close()
	})
}

// waitFor polls ready until it answers without an error; it gives up when ctx is over or the process ends, and then shows the
// end of the log.
func (p *process) waitFor(ctx context.Context, ready func(ctx context.Context) error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		last = ready(try)
		cancel()
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended while it started (%v); its log %s ends with:\n%s", p.name, p.err, p.log, tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w (%v); its log %s ends with:\n%s", p.name, last, ctx.Err(), p.log, tail(p.log))
		case <-tick.C:
		}
	}
}

// tail is the last 4 KB of a file.
func tail(file string) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		return []byte(err.Error())
	}
	return data[max(0, len(data)-4096):]
}

// portTaken says whether a server's log shows that somebody else had its port first: the one start failure worth another try.
func portTaken(file string) bool {
	data, _ := os.ReadFile(file)
	return bytes.Contains(data, []byte("ddress already in use")) || bytes.Contains(data, []byte("ddress in use"))
}

// cacheDir is where downloaded and compiled things live, shared by all packages and runs.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "koffset-test")
	return dir, os.MkdirAll(dir, 0o755)
}

// locked runs do while holding an exclusive lock on a file of the cache: `go test ./...` runs packages in parallel, and two
// that fill the same folder would break each other.
func locked(dir, name string, do func() error) error {
	f, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return do() // closing the file unlocks it
}

// run runs a command to its end and shows its output when it fails.
func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed: tests with the tag realkafka need it (%w)", name, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, out)
	}
	return nil
}
