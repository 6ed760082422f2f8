package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ExitStatus ends the help of a command that talks to Kafka: the statuses that every such command has, and the lines of its
// own, in the order of their numbers. A line of its own stands for the common one of the same number.
func ExitStatus(lines ...string) string {
	all := slices.Clone(lines)
	for _, common := range []string{"  0  done", "  2  usage or configuration", "  6  unreachable or timed out", "  7  not authenticated or not authorised", "  130, 143  interrupted"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return status(l) == status(common) }) {
			all = append(all, common)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return status(a) - status(b) })
	return fmt.Sprintf("\n\nExit status:\n%s", strings.Join(all, "\n"))
}

// status is the number that a line begins with.
func status(line string) int {
	word := strings.TrimRight(strings.Fields(line + " ?")[0], ",")
	n, _ := strconv.Atoi(word)
	return n
}
