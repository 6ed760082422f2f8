package setup

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
)

// bashWords replaces the function by which cobra's script finds the words of the line. Cobra's needs the package
// bash-completion, and without it every TAB prints an error instead of completing. bash splits a line at the colons and
// equals signs in COMP_WORDBREAKS too; here they are put back together up to the cursor, as that package does it.
const bashWords = `
__koffset_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local i w rest=${COMP_LINE:0:COMP_POINT} before=
    words=() cword=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        w=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $rest == [![:blank:]]* && ($w == [:=]* || $before == *[:=]) ]]; then
            : # no blank before it: the same word
        else
            rest=${rest#"${rest%%[![:blank:]]*}"}
            cword=$((cword + 1))
            words[cword]=
        fi
        [[ $rest == "$w"* ]] || w=$rest # the cursor stands inside the word
        words[cword]+=$w
        rest=${rest#"$w"}
        before=$w
    done
    cur=${words[cword]}
    prev=
    ((cword == 0)) || prev=${words[cword - 1]}
}
`

// BashCompletion writes the completion script of bash, which works with and without the package bash-completion.
func BashCompletion(root *cobra.Command, w io.Writer) error {
	if err := root.GenBashCompletionV2(w, true); err != nil {
		return err
	}
	_, err := io.WriteString(w, bashWords)
	return err
}

// NewCompletion is the command completion.
func NewCompletion(a *cli.App) *cobra.Command {
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
				return cli.Usagef("koffset completion bash, zsh, fish or powershell", "completion takes one shell, got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), a.Streams.Out
			switch args[0] {
			case "bash":
				return BashCompletion(root, out)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return cli.Usagef("use bash, zsh, fish or powershell", "there is no completion for %q", args[0])
		},
	}
	return c
}
