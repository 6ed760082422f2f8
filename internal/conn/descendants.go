package conn

// Ending a command with all that it started. It keeps the process group of koffset: a password manager that asks on the terminal
// would be stopped in a group of its own.

import (
	"os"
	"slices"
)

// descendants are the processes below one, of a table of each process' parent.
func descendants(parents map[int]int, of int) []int {
	out := []int{of}
	for n := 0; n < len(out); n++ {
		for pid, parent := range parents {
			if parent == out[n] && !slices.Contains(out, pid) {
				out = append(out, pid)
			}
		}
	}
	return out
}

// endTree kills a process and all below it. Each is stopped first, so that none starts another meanwhile. What put itself out of the
// tree, as an agent does that is to stay, is left alone.
func endTree(root *os.Process) error {
	stopped := []int{root.Pid}
	suspend(root.Pid)
	for {
		tree := descendants(parents(), root.Pid)
		news := slices.DeleteFunc(tree, func(pid int) bool { return slices.Contains(stopped, pid) })
		if len(news) == 0 {
			break
		}
		for _, pid := range news {
			suspend(pid)
		}
		stopped = append(stopped, news...)
	}
	for _, pid := range stopped[1:] {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended by itself
		}
	}
	return root.Kill()
}
