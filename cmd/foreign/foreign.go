// Package foreign reads command lines of other Kafka tools, and writes koffset's line for them. It knows no cluster: it is for the
// hint of a usage error, and an option that it does not know ends the guess where the line would write.
package foreign

import (
	"path"
	"slices"
	"strings"
)

// Translate is koffset's line for what was typed behind "koffset", or "" where it is no line of another tool. value says whether a
// flag is koffset's own, and whether it takes a value: own flags are carried over.
func Translate(args []string, own func(flag string) (known, value bool)) string {
	if len(args) == 0 {
		return ""
	}
	if line, ok := translators()[program(args[0])]; ok {
		return line(args[1:], own)
	}
	second := ""
	if len(args) > 1 {
		second = args[1]
	}
	switch first := args[0]; {
	case first == "group" || first == "groups" || first == "g":
		return groupVerb(args[1:], own)
	case first == "topic" && second == "consume":
		return consumed(args[2:], own, fromEarliest)
	case isGroupNoun(second):
		return nounVerb(args, own)
	case first == "consume":
		return ownConsume(args[1:], own)
	case first == "inspect":
		args = args[1:]
	case !strings.HasPrefix(first, "-"):
		return ""
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		switch name {
		case "--list", "--describe", "--reset-offsets", "--delete-offsets", "--delete":
			return consumerGroups(args, own)
		case "-C", "-L", "-Q", "-G":
			return kcat(args, own)
		case "--from-beginning", "--max-messages":
			return consoleConsumer(args, own)
		}
	}
	return ""
}

type translator func(args []string, own func(string) (bool, bool)) string

// translators are the tools that a pasted line begins with.
func translators() map[string]translator {
	groups := func(args []string, own func(string) (bool, bool)) string { return Translate(args, own) }
	return map[string]translator{
		"kafka-consumer-groups": consumerGroups, "consumer-groups": consumerGroups, "kafka-console-consumer": consoleConsumer, "kafka-get-offsets": getOffsets,
		"kcat": kcat, "kafkacat": kcat, "kaf": kaf, "kcl": groups, "rpk": groups, "kafkactl": kafkactl,
	}
}

func program(word string) string {
	word = path.Base(strings.ReplaceAll(word, `\`, "/"))
	return strings.TrimSuffix(strings.TrimSuffix(word, ".sh"), ".bat")
}

// consumerGroups reads kafka-consumer-groups.
func consumerGroups(args []string, own func(string) (bool, bool)) string {
	o := parse(args, func(name string) (bool, bool) {
		if name == "verbose" { // wide here, the client's log there
			return false, false
		}
		return own(name)
	}, "group", "topic", "timeout", "to-offset", "shift-by", "to-datetime", "by-duration", "from-file", "type")
	groups := append(o.rest, o.all("group")...)
	var l line
	switch {
	case o.has("reset-offsets") && o.only("reset-offsets", "group", "all-groups", "topic", "all-topics", "to-earliest", "to-latest", "to-current", "to-offset", "shift-by",
		"to-datetime", "by-duration", "from-file", "export", "execute", "dry-run", "timeout"):
		l.add("reset").named(groups, o).topics(o).flag(o, "all-topics")
		if len(o.all("topic")) == 0 && !o.has("all-topics") && !o.has("from-file") {
			l.missing("--topic", "TOPIC")
		}
		for _, name := range []string{"to-earliest", "to-latest", "to-current"} {
			l.flag(o, name)
		}
		for _, name := range []string{"to-offset", "shift-by", "to-datetime", "by-duration", "from-file"} {
			l.value(o, name)
		}
		if !o.has("to-earliest", "to-latest", "to-current", "to-offset", "shift-by", "to-datetime", "by-duration", "from-file") {
			l.missing("--to", "POSITION")
		}
		l.flag(o, "export").executed(o)
	case o.has("delete-offsets") && o.only("delete-offsets", "group", "topic", "timeout", "execute", "dry-run"):
		l.add("delete").named(groups, o).topics(o)
		if len(o.all("topic")) == 0 {
			l.missing("--topic", "TOPIC")
		}
	case o.has("delete") && o.only("delete", "group", "all-groups", "timeout", "execute", "dry-run"):
		l.add("delete").named(groups, o)
	case o.has("list"):
		l.add("inspect").value(o, "type")
		if len(o.rest) == 1 && o.has("state") {
			l.add("--state", o.rest[0])
		}
	case o.has("describe"):
		l.add("inspect").names(groups).value(o, "type")
		switch {
		case o.has("members"):
			l.all(groups).add("--by", "member")
		case o.has("state"):
			l.all(groups).add("--by", "group")
		case len(groups) == 0 && o.has("all-groups"):
			l.add("--all-groups", "--by", "partition")
		}
		if o.has("verbose") {
			l.add("-o", "wide")
		}
	default:
		return ""
	}
	return l.kept(o)
}

// nounVerb reads kafkactl: get consumer-groups, reset consumer-group-offset GROUP.
func nounVerb(args []string, own func(string) (bool, bool)) string {
	offsets := strings.Contains(args[1], "offset") || args[1] == "cgo"
	o := parse(args[2:], own, "topic", "t", "partition", "p", "offset", "to-datetime", "output")
	var l line
	switch verb := args[0]; {
	case verb == "get":
		l.add("inspect").names(o.rest)
	case verb == "describe":
		l.add("inspect").names(o.rest)
	case verb == "delete" && o.only("topic", "t", "partition", "p"):
		l.add("delete").named(o.rest, o).topics(o)
	case (verb == "reset" || verb == "create") && offsets && o.only("topic", "t", "partition", "p", "offset", "oldest", "newest", "to-datetime", "all-topics", "execute"),
		verb == "create" && o.only("topic", "t", "partition", "p", "offset", "oldest", "newest"):
		l.add("reset").named(o.rest, o).topics(o).flag(o, "all-topics")
		if o.has("newest") {
			l.add("--to-latest")
		} else if at := o.one("offset"); at != "" {
			l.add("--to-offset", at)
		} else if at := o.one("to-datetime"); at != "" {
			l.add("--to-datetime", at)
		} else {
			l.add("--to-earliest")
		}
		if verb == "create" {
			l.add("--create")
		}
		l.executed(o)
	case verb == "clone" && len(o.rest) == 2:
		l.add("reset", o.rest[1], "--to-group", o.rest[0], "--create")
	default:
		return ""
	}
	return l.kept(o)
}

func isGroupNoun(word string) bool {
	switch word {
	case "consumer-group", "consumer-groups", "consumer-group-offset", "consumer-group-offsets", "cg", "cgo":
		return true
	}
	return false
}

func kafkactl(args []string, own func(string) (bool, bool)) string {
	if len(args) > 0 && args[0] == "consume" {
		return consumed(args[1:], own, fromLatest)
	}
	return Translate(args, own)
}

// groupVerb reads rpk group, kcl group and kaf group.
func groupVerb(args []string, own func(string) (bool, bool)) string {
	if len(args) == 0 {
		return "koffset inspect"
	}
	o := parse(args[1:], own, "topics", "topic", "t", "to", "to-group", "to-file", "offset", "o", "partition", "p")
	var l line
	switch args[0] {
	case "list", "ls":
		l.add("inspect")
	case "describe":
		l.add("inspect").names(o.rest)
	case "delete", "rm":
		if !o.only() {
			return ""
		}
		l.add("delete").named(o.rest, o)
	case "offset-delete":
		if !o.only("topic", "t", "topics") {
			return ""
		}
		l.add("delete").named(o.rest, o).topics(o)
		if len(l.words) < 3 || !slices.Contains(l.words, "--topic") {
			return ""
		}
	case "seek", "commit":
		if !o.only("topics", "topic", "t", "to", "to-group", "offset", "o", "partition", "p", "noconfirm", "allow-new-topics", "execute") {
			return ""
		}
		l.add("reset").named(o.rest, o).topics(o)
		if len(o.all("topics"))+len(o.all("topic"))+len(o.all("t")) == 0 && o.one("to-group") == "" {
			l.add("--all-topics")
		}
		if other := o.one("to-group"); other != "" {
			l.add("--to-group", other)
		} else if at := sought(o); at != "" {
			l.add("--to", at)
		} else {
			return ""
		}
	default:
		return ""
	}
	return l.kept(o)
}

// sought is where a seek goes: rpk's and kcl's --to is start, end or a time since 1970, kaf's --offset an offset.
func sought(o *options) string {
	to := o.one("to")
	if !plainOffset.MatchString(to) {
		at, _ := position(first(to, o.one("offset"), o.one("o")))
		return at
	}
	if unit, ok := map[int]string{10: "s", 13: "", 19: "ns"}[len(to)]; ok {
		return "@" + to + unit
	}
	return ""
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// getOffsets reads kafka-get-offsets.
func getOffsets(args []string, own func(string) (bool, bool)) string {
	o := parse(args, own, "topic", "time", "partitions", "topic-partitions")
	topics := o.all("topic")
	if set := o.one("partitions"); set != "" && len(topics) == 1 {
		topics[0] += ":" + set
	}
	var l line
	l.add("resolve").names(append(topics, o.all("topic-partitions")...))
	if len(topics)+len(o.all("topic-partitions")) == 0 {
		l.add("--all-topics")
	}
	if at := brokerTime(o.one("time")); at != "" {
		l.add("--to", at)
	}
	return l.kept(o)
}

// brokerTime reads a time as ListOffsets takes it.
func brokerTime(word string) string {
	if word == "" {
		return ""
	}
	if at, ok := map[string]string{"-1": "latest", "-2": "earliest", "-3": "max-timestamp", "-4": "earliest-local", "-5": "latest-tiered",
		"latest": "latest", "earliest": "earliest", "max-timestamp": "max-timestamp", "earliest-local": "earliest-local", "latest-tiered": "latest-tiered"}[word]; ok {
		return at
	}
	return "@" + word
}
