package cmd

import (
	"github.com/spf13/cobra"
)

func newCompletion(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "completion SHELL", GroupID: "other", Short: "Print the completion script of a shell",
		Long: `Print the completion script for bash, zsh, fish or powershell. Groups, topics, partitions and profiles are completed
from the live cluster, within one second whatever it does.

Exit status:
  0  done
  2  usage`,
		Example: `  source <(koffset completion bash)
  koffset completion zsh > "${fpath[1]}/_koffset"
  koffset completion fish > ~/.config/fish/completions/koffset.fish`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("koffset completion bash, zsh, fish or powershell", "completion takes one shell, got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), a.Streams.Out
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return usagef("use bash, zsh, fish or powershell", "there is no completion for %q", args[0])
		},
	}
	return c
}
