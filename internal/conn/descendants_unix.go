//go:build unix

package conn

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// parents is the parent of each process of the machine: from /proc where there is one, since a small image may have no ps.
func parents() map[int]int {
	out := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// PID (NAME) STATE PARENT …, where the name may hold anything.
		_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
		if f := strings.Fields(rest); len(f) > 1 {
			put(out, filepath.Base(filepath.Dir(name)), f[1])
		}
	}
	if len(stats) > 0 {
		return out
	}
	list, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) == 2 {
			put(out, f[0], f[1])
		}
	}
	return out
}

func put(parents map[int]int, pid, parent string) {
	p, err1 := strconv.Atoi(pid)
	of, err2 := strconv.Atoi(parent)
	if err1 == nil && err2 == nil {
		parents[p] = of
	}
}

func suspend(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) }
