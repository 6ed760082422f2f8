//go:build realkafka

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/bench/internal/measure"
)

var (
	refreshes = regexp.MustCompile(`(?m)^koffset_refreshes_total (\S+)`)
	failures  = regexp.MustCompile(`(?m)^koffset_refresh_failures_total (\S+)`)
	duration  = regexp.MustCompile(`(?m)^koffset_refresh_duration_seconds (\S+)`)
	address   = regexp.MustCompile(`serving (\S+)/metrics`)
)

// serve runs it until it has refreshed so many times, with the series of every partition, and scrapes it.
func (b *bench) serve(ctx context.Context) (refresh, scrape point, err error) {
	line := b.command("serve", "--listen", "127.0.0.1:0", "--interval", "1s", "--max-series", "0")
	c := exec.CommandContext(ctx, line.Path, line.Args...)
	c.Env = append(os.Environ(), line.Env...)
	stderr, err := c.StderrPipe()
	if err != nil {
		return refresh, scrape, err
	}
	if err := c.Start(); err != nil {
		return refresh, scrape, err
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	url := ""
	for sc := bufio.NewScanner(stderr); url == "" && sc.Scan(); {
		if m := address.FindStringSubmatch(sc.Text()); m != nil {
			url = m[1] + "/metrics"
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	var each, took []time.Duration
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for seen := 0.0; len(each) < 2*b.runs; <-tick.C {
		body, d, err := get(ctx, url)
		if err != nil {
			return refresh, scrape, err
		}
		if n := number(refreshes, body); n > seen && number(failures, body) == 0 {
			seen = n
			each, took = append(each, time.Duration(number(duration, body)*float64(time.Second))), append(took, d)
		} else if number(failures, body) > 0 {
			return refresh, scrape, fmt.Errorf("serve: a refresh failed")
		}
	}
	refresh.took, scrape.took = measure.Median(each), measure.Median(took)
	refresh.rss, err = peak(c.Process.Pid)
	return refresh, scrape, err
}

func number(of *regexp.Regexp, body string) float64 {
	m := of.FindStringSubmatch(body)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n
}

func get(ctx context.Context, url string) (string, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", 0, err
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

// peak is the largest resident size of a process so far.
func peak(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its size", pid)
}
