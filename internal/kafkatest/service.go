//go:build realkafka

package kafkatest

// Servers other than Kafka: started on a free port with data in a temporary folder.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Service is a running server on 127.0.0.1 that ends with the test.
type Service struct {
	Addr string // host:port
	Port int
	Dir  string // its data and log; removed with the test

	o    ServiceOptions
	path string
	proc *process
}

// ServiceOptions say how to start a server. The functions get the service with Addr, Port and Dir set.
type ServiceOptions struct {
	Name string // for messages, and in the name of Dir
	// Program is the binary's name, looked for on the PATH, then as a glob pattern in the folders of Places (the last match wins).
	Program string
	Places  []string
	// Package is the Debian package to name when the program is missing.
	Package string
	// User is whom to run as when this process is root, because some servers refuse that; if there is no such user, nobody. Other
	// users can only be themselves.
	User string
	Args func(s *Service) []string
	// Prepare makes the data; it may be nil. Its commands go through [Service.Command].
	Prepare func(ctx context.Context, s *Service) error
	// Ready says nil once the server answers.
	Ready func(ctx context.Context, s *Service) error
	// StopSignal ends the server; zero means SIGTERM.
	StopSignal syscall.Signal
}

// startService starts a server and waits until it is ready.
func startService(t testing.TB, o ServiceOptions) *Service {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for range 3 { // a port may be taken between finding it free and listening on it
		s, err := openService(ctx, o)
		if err == nil {
			t.Cleanup(s.close)
			return s
		}
		if !errors.Is(err, errPortTaken) {
			t.Fatal(err)
		}
	}
	t.Fatalf("start %s: three ports in a row were taken", o.Name)
	return nil
}

func openService(ctx context.Context, o ServiceOptions) (*Service, error) {
	path, err := find(o.Program, o.Places)
	if err != nil {
		return nil, fmt.Errorf("%w: tests with the tag realkafka need it (Debian package %s)", err, o.Package)
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "koffset-"+o.Name+"-")
	if err != nil {
		return nil, err
	}
	s := &Service{Addr: fmt.Sprintf("127.0.0.1:%d", ports[0]), Port: ports[0], Dir: dir, o: o, path: path}
	if err := s.begin(ctx); err != nil {
		taken := portTaken(s.logFile())
		s.close()
		if taken {
			return nil, fmt.Errorf("%w: %v", errPortTaken, err)
		}
		return nil, err
	}
	return s, nil
}

func (s *Service) begin(ctx context.Context) error {
	cred, err := s.credential()
	if err != nil {
		return err
	}
	if cred != nil {
		if err := os.Chown(s.Dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return err
		}
	}
	if s.o.Prepare != nil {
		if err := s.o.Prepare(ctx, s); err != nil {
			return fmt.Errorf("prepare %s: %w", s.o.Name, err)
		}
	}
	return s.launch(ctx)
}

func (s *Service) launch(ctx context.Context) error {
	cmd, err := s.Command(ctx, s.path, s.o.Args(s)...)
	if err != nil {
		return err
	}
	// The server outlives ctx, which bounds its start alone.
	cmd = &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, SysProcAttr: cmd.SysProcAttr}
	if s.proc, err = startProcess(s.o.Name, cmd, s.logFile(), s.Dir); err != nil {
		return err
	}
	return s.proc.waitFor(ctx, func(ctx context.Context) error { return s.o.Ready(ctx, s) })
}

// Command is a command that runs in the service's folder as the service's user.
func (s *Service) Command(ctx context.Context, path string, args ...string) (*exec.Cmd, error) {
	cred, err := s.credential()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	return cmd, nil
}

// Run runs a command as [Service.Command] does, to its end; its output is in the error.
func (s *Service) Run(ctx context.Context, path string, args ...string) error {
	cmd, err := s.Command(ctx, path, args...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(path), err, out)
	}
	return nil
}

// writeFile writes a file that the service's user can read, and nobody else, and returns its path.
func (s *Service) writeFile(name, content string) (string, error) {
	path := filepath.Join(s.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", err
	}
	cred, err := s.credential()
	if err == nil && cred != nil {
		err = os.Chown(path, int(cred.Uid), int(cred.Gid))
	}
	return path, err
}

// credential is nil where no other user is needed.
func (s *Service) credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(s.o.User)
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("run %s as another user than root: %w", s.o.Name, err)
		}
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func (s *Service) logFile() string { return filepath.Join(s.Dir, "server.log") }

// Log is what the server has written so far.
func (s *Service) Log(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(s.logFile())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Stop ends the server and keeps port and data for [Service.Restart].
func (s *Service) Stop() {
	if s.proc != nil {
		sig := s.o.StopSignal
		if sig == 0 {
			sig = syscall.SIGTERM
		}
		s.proc.stop(sig, 20*time.Second)
		s.proc = nil
	}
}

// Restart starts a stopped server on its old port with its old data.
func (s *Service) Restart(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if err := s.launch(ctx); err != nil {
		t.Fatal(err)
	}
}

func (s *Service) close() {
	s.Stop()
	_ = os.RemoveAll(s.Dir)
}

// find looks for a program on the PATH, then in folders that may be glob patterns.
func find(program string, places []string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return filepath.Abs(path)
	}
	for _, place := range places {
		found, _ := filepath.Glob(filepath.Join(place, program))
		slices.Sort(found)
		if len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH nor in %v", program, places)
}
