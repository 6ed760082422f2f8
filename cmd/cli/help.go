package cli

import (
	"strings"
)

// ExitStatus is the end of a command's help.
func ExitStatus(lines ...string) string {
	return "\n\nExit status:\n  0  done\n  2  usage or configuration\n" + strings.Join(lines, "\n") +
		"\n  6  unreachable or timed out\n  7  not authenticated or not authorised\n  130, 143  interrupted"
}
