package state

import (
	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
)

// oneDir takes exactly one argument.
func oneDir(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return cli.Usagef("koffset checkpoint "+cmd.Name()+" DIR", "which checkpoint? no directory was given")
	}
	return cli.Usagef("one command for each", "one directory is the argument, %d were given", len(args))
}
