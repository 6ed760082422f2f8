package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/cmd/foreign"
	"github.com/koffset/koffset/internal/text"
)

// UnknownCommand names the command of koffset's that a word of another tool, or a slip, may mean. typed is the whole command line.
func UnknownCommand(cmd *cobra.Command, typed, args []string) error {
	name := args[0]
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	hint := "see " + cmd.CommandPath() + " --help"
	if whole := foreign.Translate(typed, ownFlags(cmd)); whole != "" && len(typed) > 1 {
		hint = whole
	} else if own, ok := foreignCommands()[name]; ok && !cmd.HasParent() {
		hint = filled(own, args[1:])
	} else if near := text.Nearest(name, known); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return Usagef(hint, "unknown command %q", name)
}

// filled puts the first argument in the place of the first placeholder, so that the line can be pasted as it is.
func filled(line string, args []string) string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return line
	}
	words := strings.Split(line, " ")
	for i, w := range words {
		if w == "GROUP" || w == "TOPIC" {
			words[i] = text.Shell(args[0])
			break
		}
	}
	return strings.Join(words, " ")
}

// ownFlags says which flags a command has, and which of them take a value.
func ownFlags(cmd *cobra.Command) func(string) (known, value bool) {
	return func(name string) (bool, bool) {
		f := cmd.Flags().Lookup(name)
		if f == nil && len(name) == 1 {
			f = cmd.Flags().ShorthandLookup(name)
		}
		if f == nil {
			if f = cmd.InheritedFlags().Lookup(name); f == nil {
				f = cmd.PersistentFlags().Lookup(name)
			}
		}
		return f != nil, f != nil && f.NoOptDefVal == ""
	}
}

// foreignCommands are words of other tools, with ours.
func foreignCommands() map[string]string {
	inspect, group, list := "koffset inspect GROUP", "koffset inspect GROUP", "koffset inspect"
	reset, remove, topics := "koffset reset GROUP --topic TOPIC --to POSITION", "koffset delete GROUP", "koffset resolve --all-topics"
	clone := "koffset reset NEW-GROUP --to-group GROUP --create"
	return map[string]string{
		"describe": inspect, "show": inspect, "lag": group, "lags": list, "list": list, "ls": list, "groups": list, "group": group, "status": list, "get": list,
		"consumer-group": group, "consumer-groups": list, "members": "koffset inspect GROUP --by member",
		"seek": reset, "rewind": reset, "reset-offsets": reset, "reset-offset": reset, "commit": reset, "set": reset,
		"skip": "koffset reset GROUP --topic TOPIC:P --shift-by 1", "clone": clone, "copy": clone, "rollback": "koffset undo", "revert": "koffset undo",
		"delete-group": remove, "delete-groups": remove, "rm": remove, "remove": remove, "delete-offsets": "koffset delete GROUP --topic TOPIC",
		"offsets": "koffset resolve TOPIC", "offset": "koffset resolve TOPIC", "get-offsets": "koffset resolve TOPIC", "topics": topics, "topic": "koffset resolve TOPIC",
		"tail": "koffset consume TOPIC --from end-10", "cat": "koffset consume TOPIC --from earliest --until latest",
		"grep": "koffset find TOPIC --value-contains TEXT", "search": "koffset find TOPIC --value-contains TEXT", "count": "koffset find TOPIC --count",
		"top": "koffset watch", "monitor": "koffset watch", "live": "koffset watch", "exporter": "koffset serve", "metrics": "koffset serve", "prometheus": "koffset serve",
		"export": "koffset migrate export", "import": "koffset migrate import", "verify": "koffset migrate verify", "sync": "koffset migrate sync", "mirror": "koffset migrate sync",
		"config": "koffset profile list", "context": "koffset profile use", "ctx": "koffset profile use", "login": "koffset profile show",
		"savepoint": "koffset checkpoint show DIR", "fix": "koffset repair",
	}
}

// foreignFlags are flags of other tools, with what to write instead. Those of one command only are under its name and a blank.
func foreignFlags() map[string]string {
	return map[string]string{
		"describe": "koffset inspect GROUP", "list": "koffset inspect", "reset-offsets": "koffset reset GROUP --topic TOPIC --to POSITION",
		"delete-offsets": "koffset delete GROUP --topic TOPIC", "delete": "koffset delete GROUP", "to-file": "--plan-out FILE saves a plan",
		"members": "koffset inspect GROUP --by member", "offsets": "koffset inspect GROUP",
		"from-beginning": "--from earliest", "format": "-o FORMAT", "oldest": "--to-earliest", "newest": "--to-latest", "regex": "--group-match REGEX",
		"yaml": "-o json", "json": "-o json", "csv": "-o csv", "wide": "-o wide", "w": "-o wide, or koffset watch", "watch": "koffset watch", "time": "--to @TIME",
		"broker-list": "-b HOST:PORT", "brokers": "-b HOST:PORT", "broker": "-b HOST:PORT", "bootstrap-servers": "-b HOST:PORT", "bootstrap": "-b HOST:PORT",
		"dry": "--dry-run; nothing is changed without --execute anyway", "force": "--yes answers the question of --execute", "y": "--yes", "f": "--yes answers the question of --execute",
		"to-time": "--to-datetime TIME", "to-timestamp": "--to @TIME", "timestamp": "--to @TIME", "all": "--all-groups, --all-topics", "t": "--topic TOPIC", "topics": "--topic TOPIC; repeatable",
		"groups": "-g GROUP; repeatable", "limit": "--top N", "n": "--top N", "interval": "--every DURATION", "port": "--listen HOST:PORT",
		"consume e": "--until latest", "reset e": "--execute", "delete e": "--execute", "undo e": "--execute", "apply e": "--execute", "repair e": "--execute",
		"consume n": "--max-records N", "consume c": "--max-records N", "consume limit": "--max-records N", "consume max-messages": "--max-records N",
		"consume tail": "--from end-N", "consume since": "--from @-1h", "consume follow": "--from latest; a run without --until never ends", "consume t": "koffset consume TOPIC",
		"consume time": "--from @TIME", "consume exit": "--until latest", "consume f": "-f is the format of a record, such as -f '%k %v\n'; a run without --until never ends",
		"reset to-beginning": "--to-earliest", "reset to-end": "--to-latest", "reset by": "--shift-by N", "consume json": "-o jsonl",
	}
}

// FlagError does the same for a flag. typed is the whole command line.
func FlagError(cmd *cobra.Command, typed []string, err error) error {
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		hint = flagHint(cmd, typed, unknown.GetSpecifiedName(), hint)
	case errors.As(err, &bare):
		hint = valueHint(cmd, bare.GetFlag())
	}
	if cmd.HasParent() {
		return Usagef(hint, "%s: %w", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), err)
	}
	return Usagef(hint, "%w", err)
}

func flagHint(cmd *cobra.Command, typed []string, name, otherwise string) string {
	if line := foreign.Translate(typed, ownFlags(cmd)); line != "" {
		return line
	}
	table := foreignFlags()
	for _, key := range []string{cmd.Name() + " " + name, name} {
		meant, ok := table[key]
		if !ok {
			continue
		}
		if strings.HasPrefix(meant, "koffset ") {
			return meant
		}
		flag, _, _ := strings.Cut(strings.TrimLeft(meant, "-"), " ")
		if hasFlag(cmd, strings.TrimRight(flag, ",;")) {
			return "write " + meant
		}
	}
	if line := foreignVerb(cmd, typed); line != "" {
		return line
	}
	if len(name) < 3 { // a letter or two are near to everything
		return otherwise
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := text.Nearest(name, known); near != "" {
		return "did you mean --" + near + "?"
	}
	return otherwise
}

// foreignVerb is the line for a verb of another tool that was typed with flags: the one that it has without them. No flag is taken
// over but the topic. A deletion names the group only where no other flag may have narrowed it.
func foreignVerb(cmd *cobra.Command, typed []string) string {
	if cmd.HasParent() || len(typed) == 0 {
		return ""
	}
	line, ok := foreignCommands()[typed[0]]
	flags := slices.IndexFunc(typed, func(w string) bool { return strings.HasPrefix(w, "-") })
	if !ok || flags < 0 || foreign.Translate(typed[:flags], ownFlags(cmd)) != "" {
		return ""
	}
	narrowed := false
	var topics []string
	for i, w := range typed {
		name, value, has := strings.Cut(w, "=")
		switch {
		case name == "--topic" && has:
			topics = append(topics, value)
		case name == "--topic" && i+1 < len(typed):
			topics = append(topics, typed[i+1])
		case strings.HasPrefix(w, "-") && name != "--execute" && name != "--dry-run":
			narrowed = true
		}
	}
	if strings.HasPrefix(line, "koffset delete ") && (narrowed || len(topics) > 0 && !strings.Contains(line, "TOPIC")) {
		return line
	}
	line = filled(line, typed[1:flags])
	if len(topics) == 1 {
		words := strings.Split(line, " ")
		if at := slices.Index(words, "TOPIC"); at >= 0 {
			words[at] = text.Shell(topics[0])
		}
		line = strings.Join(words, " ")
	}
	return line
}

func hasFlag(cmd *cobra.Command, name string) bool {
	known, _ := ownFlags(cmd)(name)
	return known
}
