//go:build realkafka

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// usage is what a process has at one moment.
type usage struct{ rss, files, threads int }

func usageOf(pid int) (u usage, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "VmRSS:":
			u.rss, _ = strconv.Atoi(f[1])
		case len(f) > 1 && f[0] == "Threads:":
			u.threads, _ = strconv.Atoi(f[1])
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	u.files = len(files)
	return u, err
}

// runner is a process that runs long, and what it said on standard error.
type runner struct {
	name string
	cmd  *exec.Cmd
	err  string
	each []usage
}

// long runs serve and watch while everything comes and goes. Two of each are ended with a dump of their goroutines, one after an eighth
// of the time: the later dump may not have more.
func (s *soak) long(ctx context.Context, d time.Duration) error {
	if err := s.records(ctx); err != nil {
		return err
	}
	stop := s.shake(ctx)
	defer stop()
	churn, halt := context.WithCancel(ctx)
	defer halt()
	var came churned
	go s.churn(churn, &came)
	var all []*runner
	defer func() {
		for _, r := range all {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	}()
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0", "--interval", "1s", "--member-labels"}, {"watch", "-o", "jsonl", "--interval", "1s"}} {
		for _, when := range []string{"early", "late"} {
			r, err := s.begin(ctx, args[0]+" "+when, args...)
			if err != nil {
				return err
			}
			all = append(all, r)
		}
	}
	early, err := sample(all, d)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.cmd.ProcessState != nil {
			continue
		}
		n, err := r.dump()
		if err != nil {
			return err
		}
		if err := r.grew(early[strings.Fields(r.name)[0]], n); err != nil {
			return err
		}
	}
	if came.members.Load() == 0 || came.groups.Load() == 0 || came.topics.Load() == 0 {
		return errors.New("nothing came and went")
	}
	fmt.Printf("serve and watch: %s, %d members read and committed, %d groups and %d topics were deleted\n", d, came.members.Load(), came.groups.Load(), came.topics.Load())
	return nil
}

// sample looks at the processes for so long. It ends the early ones after an eighth of it, and returns how many goroutines they had.
func sample(all []*runner, d time.Duration) (early map[string]int, err error) {
	tick := time.NewTicker(min(5*time.Second, d/48))
	defer tick.Stop()
	early = map[string]int{}
	for start := time.Now(); time.Since(start) < d; <-tick.C {
		for _, r := range all {
			if r.cmd.ProcessState != nil {
				continue
			}
			if strings.HasSuffix(r.name, "early") && time.Since(start) > d/8 {
				n, err := r.dump()
				if err != nil {
					return nil, err
				}
				early[strings.Fields(r.name)[0]] = n
				continue
			}
			u, err := usageOf(r.cmd.Process.Pid)
			if err != nil {
				return nil, fmt.Errorf("%s ended: %w", r.name, err)
			}
			r.each = append(r.each, u)
			if url := r.url(); url != "" {
				if resp, err := http.Get(url); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}
		}
	}
	return early, nil
}

func (s *soak) begin(ctx context.Context, name string, args ...string) (*runner, error) {
	r := &runner{name: name, cmd: s.command(ctx, args...)}
	r.err = filepath.Join(s.dir, strings.ReplaceAll(name, " ", "-")+".err")
	f, err := os.Create(r.err)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r.cmd.Stderr = f
	return r, r.cmd.Start()
}

var serving = regexp.MustCompile(`serving (http\S+/metrics)`)

func (r *runner) url() string {
	said, _ := os.ReadFile(r.err)
	if m := serving.FindSubmatch(said); m != nil {
		return string(m[1])
	}
	return ""
}

// dump ends the process as Go does on SIGQUIT, and counts its goroutines.
func (r *runner) dump() (goroutines int, err error) {
	if err := r.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return 0, err
	}
	_ = r.cmd.Wait()
	f, err := os.Open(r.err)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "goroutine ") {
			goroutines++
		}
	}
	if goroutines == 0 {
		return 0, fmt.Errorf("%s has no goroutines: %s", r.name, r.err)
	}
	return goroutines, nil
}

// grew compares the second eighth of the time with the last one, after all has been there once.
func (r *runner) grew(early, late int) error {
	most := func(us []usage) (u usage) {
		for _, x := range us {
			u = usage{max(u.rss, x.rss), max(u.files, x.files), max(u.threads, x.threads)}
		}
		return u
	}
	n := len(r.each) / 8
	if n == 0 {
		return fmt.Errorf("%s was seen %d times", r.name, len(r.each))
	}
	a, b := most(r.each[n:2*n]), most(r.each[len(r.each)-n:])
	fmt.Printf("%s: memory %d MB, later %d; descriptors %d, later %d; threads %d, later %d; goroutines %d, later %d\n",
		strings.Fields(r.name)[0], a.rss>>10, b.rss>>10, a.files, b.files, a.threads, b.threads, early, late)
	if b.rss > a.rss*5/4+16<<10 || b.files > a.files+6 || late > early+12 {
		return fmt.Errorf("%s grew", r.name)
	}
	return nil
}

// churned is what came and went.
type churned struct{ members, groups, topics atomic.Int64 }

// churn makes and ends groups, members and topics until it is stopped; what fails while leaders move is not counted.
func (s *soak) churn(ctx context.Context, came *churned) {
	for n := 0; ctx.Err() == nil; n++ {
		t, g := fmt.Sprintf("churn-%d", n%7), fmt.Sprintf("churn-%d", n%23)
		_, _ = s.adm.CreateTopic(ctx, 3, 3, nil, t)
		member, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.ConsumerGroup(g), kgo.ConsumeTopics(topic, t), kgo.ClientID("churn"), kgo.DisableAutoCommit())
		if err == nil {
			some, cancel := context.WithTimeout(ctx, 3*time.Second)
			if f := member.PollRecords(some, 100); len(f.Records()) > 0 && member.CommitRecords(some, f.Records()...) == nil {
				came.members.Add(1)
			}
			cancel()
			member.Close()
		}
		if _, err := s.adm.DeleteGroup(ctx, fmt.Sprintf("churn-%d", (n+11)%23)); err == nil {
			came.groups.Add(1)
		}
		if _, err := s.adm.DeleteTopic(ctx, fmt.Sprintf("churn-%d", (n+3)%7)); err == nil {
			came.topics.Add(1)
		}
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: topic, Partition: int32(n % partitions), At: int64(n), LeaderEpoch: -1})
		_ = s.adm.CommitAllOffsets(ctx, fmt.Sprintf("stored-%d", n%31), offsets)
	}
}

// records writes what members can read.
func (s *soak) records(ctx context.Context) error {
	var out []*kgo.Record
	for i := range 1000 {
		out = append(out, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte("x")})
	}
	return s.cl.ProduceSync(ctx, out...).FirstErr()
}
