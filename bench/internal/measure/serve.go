package measure

// A koffset serve of its own, which is scraped.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Serving is a koffset serve that runs.
type Serving struct {
	URL string // of its metrics
	cmd *exec.Cmd
}

// Serve starts one, and waits until it says where it listens. Stop ends it.
func Serve(ctx context.Context, c Command) (*Serving, error) {
	s := &Serving{cmd: exec.CommandContext(ctx, c.Path, c.Args...)}
	s.cmd.Env = append(os.Environ(), c.Env...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address := regexp.MustCompile(`serving (\S+)/metrics`)
	for sc := bufio.NewScanner(stderr); s.URL == "" && sc.Scan(); {
		if m := address.FindStringSubmatch(sc.Text()); m != nil {
			s.URL = m[1] + "/metrics"
		}
	}
	if s.URL == "" {
		s.Stop()
		return nil, errors.New("serve ended before it listened")
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	return s, nil
}

// Stop ends it.
func (s *Serving) Stop() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() }

// Scrape gets the metrics, in an encoding or in what Go's client makes of none, and says how long that took.
func (s *Serving) Scrape(ctx context.Context, encoding string) (string, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return "", 0, err
	}
	if encoding != "" {
		req.Header.Set("Accept-Encoding", encoding)
	}
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), time.Since(start), err
}

// Peak is the largest resident size so far, in bytes.
func (s *Serving) Peak() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its size", s.cmd.Process.Pid)
}
