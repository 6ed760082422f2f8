package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/internal/text"
)

// UnknownCommand names the command of koffset's that a word of another tool, or a slip, may mean.
func UnknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	hint := "see koffset --help"
	if own, ok := foreignCommands()[name]; ok {
		hint = own
	} else if near := text.Near(name, known); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef(hint, "unknown command %q", name)
}

// foreignCommands are words of other tools, with ours.
func foreignCommands() map[string]string {
	return map[string]string{
		"describe": "koffset inspect GROUP", "list": "koffset inspect", "ls": "koffset inspect", "groups": "koffset inspect", "group": "koffset inspect GROUP",
		"lag": "koffset inspect GROUP", "seek": "koffset reset GROUP --to POSITION", "rewind": "koffset reset GROUP --to POSITION", "offsets": "koffset resolve TOPIC",
		"get-offsets": "koffset resolve TOPIC", "rollback": "koffset undo", "delete-offsets": "koffset delete GROUP --topic TOPIC",
		"monitor": "koffset watch", "export": "koffset migrate export", "import": "koffset migrate import",
	}
}

// foreignFlags are flags of other tools, with our spelling.
func foreignFlags() map[string]string {
	return map[string]string{
		"describe": "koffset inspect GROUP", "list": "koffset inspect", "reset-offsets": "koffset reset GROUP --to-earliest (or another position)",
		"delete-offsets": "koffset delete GROUP --topic TOPIC", "delete": "koffset delete GROUP", "to-file": "--plan-out FILE saves a plan",
		"e": "--execute", "members": "koffset inspect GROUP --by member", "verbose": "-o wide", "offsets": "koffset inspect GROUP",
		"from-beginning": "--from earliest", "format": "-o FORMAT", "oldest": "--to-earliest", "newest": "--to-latest", "regex": "--group-match REGEX",
		"yaml": "-o json", "time": "--to @TIME", "broker-list": "-b HOST:PORT", "brokers": "-b HOST:PORT", "bootstrap-servers": "-b HOST:PORT",
	}
}

// FlagError does the same for a flag.
func FlagError(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if own, ok := foreignFlags()[name]; ok {
			hint = "here it is " + own
		} else {
			var known []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
			if near := text.Near(name, known); len(near) > 0 && len(name) > 1 { // a letter is near to everything
				hint = "did you mean --" + near[0] + "?"
			}
		}
	}
	return Usagef(hint, "%s: %w", cmd.CommandPath(), err)
}
