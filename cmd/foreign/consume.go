package foreign

import (
	"regexp"
	"strings"
)

// start is where a tool begins when its line does not say.
type start string

const (
	fromEarliest start = "earliest"
	fromLatest   start = "latest"
)

// consumed reads the consume of rpk, kcl, kaf and kafkactl.
func consumed(args []string, own func(string) (bool, bool), begin start) string {
	return consuming(consumeOptions(args, own), begin)
}

// ownConsume reads koffset's consume with flags of the others. A flag of none of them is a slip, and the nearest one its hint.
func ownConsume(args []string, own func(string) (bool, bool)) string {
	o := consumeOptions(args, own)
	if o.slips {
		return ""
	}
	return consuming(o, fromEarliest)
}

func consumeOptions(args []string, own func(string) (bool, bool)) *options {
	return parse(args, own, "topic", "t", "n", "c", "num", "count", "limit", "limit-messages", "max-messages", "l", "tail", "since", "offset", "group", "g", "partition", "p", "partitions", "o")
}

func consoleConsumer(args []string, own func(string) (bool, bool)) string {
	o := parse(args, own, "topic", "group", "max-messages", "partition", "offset", "isolation-level", "timeout-ms", "property", "formatter", "consumer.config", "consumer-property")
	return consuming(o, fromLatest)
}

func kaf(args []string, own func(string) (bool, bool)) string {
	if len(args) == 0 || args[0] != "consume" {
		return Translate(args, own)
	}
	o := parse(args[1:], own, "offset", "o", "tail", "n", "group", "g", "partitions", "p", "limit-messages", "l")
	if n := o.one("n"); n != "" {
		o.set("tail", n)
		o.drop("n")
	}
	if !o.has("f") && !o.has("follow") {
		o.set("e", "")
	}
	return consuming(o, fromEarliest)
}

func kcat(args []string, own func(string) (bool, bool)) string {
	o := parse(args, func(string) (bool, bool) { return false, false }, "t", "p", "o", "c", "f", "G", "X", "F", "D", "K", "s", "r", "m")
	if o.has("Q") {
		topic, time, ok := cutLast(first(o.one("t"), strings.Join(o.rest, "")), ":")
		if !ok {
			return ""
		}
		var l line
		l.add("resolve", topic, "--to", brokerTime(time))
		return l.kept(o)
	}
	if o.has("L") {
		var l line
		l.add("resolve").names(o.all("t"))
		if len(o.all("t")) == 0 {
			l.add("--all-topics")
		}
		return l.kept(o)
	}
	if g := o.one("G"); g != "" {
		o.set("g", g)
	}
	if f := o.one("f"); f != "" { // a format, which is koffset's, too
		o.carry = append(o.carry, "-f", f)
	}
	return consuming(o, fromEarliest)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i <= 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// consuming writes koffset consume for what a consumer's options say, whatever the tool.
func consuming(o *options, begin start) string {
	topics := append(o.rest, append(o.all("topic"), o.all("t")...)...)
	if set := first(o.one("partition"), o.one("partitions"), o.one("p")); set != "" && len(topics) == 1 && !strings.Contains(topics[0], ":") {
		topics[0] += ":" + set
	}
	if len(topics) == 0 {
		return ""
	}
	group := first(o.one("group"), o.one("g"))
	from, until := position(first(o.one("offset"), o.one("o")))
	switch {
	case o.has("from-beginning") || o.has("B"):
		from = "earliest"
	case o.one("tail") != "":
		from = "end-" + o.one("tail")
	case o.one("since") != "":
		from = since(o.one("since"))
	}
	ownStart := o.kept("from", "startup-mode", "startup-timestamp-millis", "startup-specific-offsets", "restore", "range", "range-file", "job")
	if from == "" && group == "" && !ownStart {
		from = string(begin)
		if o.has("follow") || o.has("F") || o.has("f") && o.one("f") == "" {
			from = "latest"
		}
	}
	if until == "" && (o.has("e") || o.has("exit")) {
		until = "latest"
	}
	var l line
	l.add("consume").names(topics)
	if group != "" {
		l.add("-g", group)
	}
	if from != "" && !ownStart {
		l.add("--from", from)
	}
	if until != "" && !o.kept("until") {
		l.add("--until", until)
	}
	for _, count := range []string{"n", "num", "c", "count", "limit", "limit-messages", "l", "max-messages"} {
		if n := o.one(count); n != "" && !o.kept("max-records") {
			l.add("--max-records", n)
			break
		}
	}
	if iso := o.one("isolation-level"); iso != "" {
		l.add("--isolation", iso)
	}
	return l.broker(o).kept(o)
}

// since is a start that is so long ago, or a date.
func since(word string) string {
	word = strings.TrimPrefix(word, "@")
	if strings.HasPrefix(word, "-") || regexp.MustCompile(`^\d{4}-\d\d-\d\d`).MatchString(word) {
		return "@" + word
	}
	return "@-" + word
}

var plainOffset = regexp.MustCompile(`^\d+$`)

// Start is where to start for an offset as other tools write one, or "" where it is none.
func Start(word string) string {
	from, _ := position(word)
	return from
}

// position reads an offset as other tools write one, which may be a range: start:end, @-1h:, -10, s@EPOCH. An empty half is none.
func position(word string) (from, until string) {
	if a, b, ranged := strings.Cut(word, ":"); ranged && !strings.ContainsAny(b, ":") && !strings.HasPrefix(word, "@2") {
		from, _ = position(a)
		until, _ = position(b)
		return from, until
	}
	switch {
	case word == "beginning" || word == "start" || word == "oldest" || word == "earliest" || word == "smallest":
		return "earliest", ""
	case word == "end" || word == "newest" || word == "latest" || word == "largest":
		return "latest", ""
	case word == "stored":
		return "current", ""
	case strings.HasPrefix(word, "s@"):
		return "@" + word[2:], ""
	case strings.HasPrefix(word, "e@"):
		return "", "@" + word[2:]
	case strings.HasPrefix(word, "+") && plainOffset.MatchString(word[1:]):
		return "start" + word, ""
	case strings.HasPrefix(word, "-") && plainOffset.MatchString(word[1:]):
		return "end" + word, ""
	case strings.HasPrefix(word, "@") && plainOffset.MatchString(word[1:]) && len(word) == 11:
		return word + "s", "" // seconds
	case strings.HasPrefix(word, "@") && len(word) > 1, plainOffset.MatchString(word):
		return word, ""
	}
	return "", ""
}
