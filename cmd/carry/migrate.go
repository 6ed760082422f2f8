// Package carry has the commands that take offsets elsewhere: migrate, to another cluster, and split, to several workers.
package carry

import (
	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
)

// NewMigrate is the command migrate.
func NewMigrate(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "migrate", GroupID: "carry",
		Short: "Carry a group's offsets to another cluster, where the same records have other offsets",
		Long: `export writes where groups stand, with fingerprints of the records around each position; import finds the same
records on the other cluster and plans the group's offsets there; verify compares both clusters; sync does it again and
again. A record is never skipped without being asked for: every row says exact, at-most-N-again, unproven or unresolved.`,
		Example: `  koffset --profile old migrate export billing --out billing.jsonl
  koffset --profile new migrate import billing.jsonl
  koffset --profile new migrate import billing.jsonl --execute
  koffset --profile new migrate verify billing --source-profile old`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, nil, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range []*cobra.Command{newMigrateExport(a), newMigrateImport(a), newMigrateVerify(a), newMigrateSync(a)} {
		c.AddCommand(sub)
	}
	return c
}
