package cmd

import (
	"strings"
	"testing"

	"github.com/koffset/koffset/cmd/cli"
)

// What TidyFlags reads is what pflag writes, so it is held to the real help of every command: no noise, one column a list.
func TestHelpListsFlagsInColumns(t *testing.T) {
	root := Root(cli.App{})
	commands := root.Commands()
	for i := 0; i < len(commands); i++ {
		commands = append(commands, commands[i].Commands()...)
	}
	if len(commands) < 25 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, c := range commands {
		help := c.UsageString()
		if strings.Contains(help, "true|false") {
			t.Errorf("%s --help has noise:\n%s", c.CommandPath(), help)
		}
		if tidied := TidyFlags(help); tidied != help {
			t.Errorf("%s --help changes when it is tidied again:\n%s", c.CommandPath(), tidied)
		}
	}
}

func TestTidyFlags(t *testing.T) {
	in := "Flags:\n  -b, --brokers HOST,\u2026   brokers\n      --dry-run[=true|false]    nothing   is done\n\nEnd   of it\n"
	want := "Flags:\n  -b, --brokers HOST,\u2026   brokers\n      --dry-run          nothing   is done\n\nEnd   of it\n"
	if got := TidyFlags(in); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
