package setup

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
)

// profileStatus ends the help of commands that talk to no cluster.
const profileStatus = "\n\nExit status:\n  0  done\n  2  usage or configuration"

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usagef(fmt.Sprintf("see %s --help", cmd.CommandPath()), "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
