package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// OnlyFlag is --only: rows in a certain state.
type OnlyFlag string

// Add adds --only.
func (o *OnlyFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(o), "only", "", "only rows that are `lagging`, out-of-range or no-commit")
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(onlyWords(), cobra.ShellCompDirectiveNoFileComp))
}

func onlyWords() []string { return []string{"lagging", "out-of-range", "no-commit"} }

// Check refuses a word that is none of the flag's.
func (o OnlyFlag) Check() error {
	if o == "" || slices.Contains(onlyWords(), string(o)) {
		return nil
	}
	return Usagef("use "+strings.Join(onlyWords(), ", "), "--only %q is not one of its values", string(o))
}
