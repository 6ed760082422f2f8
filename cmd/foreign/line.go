package foreign

import (
	"maps"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/text"
)

// options are a command line taken apart.
type options struct {
	rest   []string            // what is no option
	given  map[string][]string // options of the other tool, without their dashes; a switch has an empty value
	owned  map[string]bool     // koffset's own flags that were given
	carry  []string            // those as they were written
	slips  bool                // some option is not known here
	eaten  bool                // a word in rest may be the value of such an option
	broker string
}

// parse takes a line apart. values are the options of the other tool that take a value, where koffset has none of that name.
func parse(args []string, own func(string) (known, value bool), values ...string) *options {
	o := &options{given: map[string][]string{}, owned: map[string]bool{}}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			o.rest = append(o.rest, arg)
			continue
		}
		name, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "--") && !has && len(name) > 1 && slices.Contains(values, name[:1]) {
			name, value, has = name[:1], name[1:], true // -c5
		}
		next := func() string {
			if has || i+1 >= len(args) {
				return value
			}
			i++
			return args[i]
		}
		foreign := slices.Contains(values, name)
		known, takes := own(name)
		switch {
		case name == "bootstrap-server" || name == "b" || name == "brokers" || name == "broker-list" || name == "bootstrap-servers":
			o.broker = next()
		case foreign && !(known && name == "o"):
			o.given[name] = append(o.given[name], next())
		case known && takes && name == "o":
			value = next()
			if format := []string{"text", "jsonl", "raw", "json", "table", "wide", "csv", "tsv"}; slices.Contains(format, value) {
				o.carry = append(o.carry, "-o", value)
			} else {
				o.given["o"] = []string{value}
			}
		case known:
			o.owned[name] = true
			o.carry = append(o.carry, arg)
			if takes && !has && i+1 < len(args) {
				i++
				o.carry = append(o.carry, args[i])
			}
		default:
			o.given[name] = append(o.given[name], value)
			if !slices.Contains(switches(), name) {
				o.slips = true
				o.eaten = o.eaten || !has && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-")
			}
		}
	}
	return o
}

// switches are options of other tools that take no value: a word behind one is a word of the line.
func switches() []string {
	return []string{"from-beginning", "B", "follow", "F", "f", "e", "exit", "C", "G", "L", "Q", "q", "u", "v", "E", "Z", "A", "J", "O", "T",
		"list", "describe", "reset-offsets", "delete-offsets", "delete", "members", "state", "verbose", "offsets", "all-groups", "all-topics", "export",
		"execute", "dry-run", "to-earliest", "to-latest", "to-current", "oldest", "newest", "print-keys", "print-timestamps", "raw", "pretty-print"}
}

// has says that one of the options was given.
func (o *options) has(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return o.given[n] != nil || o.owned[n] })
}

func (o *options) all(name string) []string { return slices.Clone(o.given[name]) }

func (o *options) one(name string) string {
	if v := o.given[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (o *options) set(name, value string) { o.given[name] = []string{value} }
func (o *options) drop(name string)       { delete(o.given, name) }

// kept says that one of koffset's own flags was given.
func (o *options) kept(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return o.owned[n] })
}

// only says that no option was given beside these: one that is not understood may have narrowed what a line writes.
func (o *options) only(names ...string) bool {
	for name := range maps.Keys(o.given) {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// line is a command line of koffset's in the making.
type line struct {
	words []string
	holes bool // some word is a placeholder
}

func (l *line) add(words ...string) *line { l.words = append(l.words, words...); return l }

// names adds groups or topics.
func (l *line) names(names []string) *line { return l.add(names...) }

// named adds the groups of a line that writes, which must name some.
func (l *line) named(groups []string, o *options) *line {
	if len(groups) == 0 && !o.has("all-groups") {
		return l.missing("GROUP")
	}
	return l.add(groups...).flag(o, "all-groups")
}

// missing adds what the reader must fill in.
func (l *line) missing(words ...string) *line { l.holes = true; return l.add(words...) }

// executed adds --execute where it was typed and the line is whole. Other tools' lines that write at once become a plan.
func (l *line) executed(o *options) *line {
	if l.holes {
		return l
	}
	return l.flag(o, "execute")
}

// all adds --all-groups where no group is named.
func (l *line) all(groups []string) *line {
	if len(groups) == 0 {
		l.add("--all-groups")
	}
	return l
}

func (l *line) flag(o *options, name string) *line {
	if o.given[name] != nil {
		l.add("--" + name)
	}
	return l
}

func (l *line) value(o *options, name string) *line {
	if v := o.one(name); v != "" {
		l.add("--"+name, v)
	}
	return l
}

// topics adds --topic for each topic, with the partitions that were named beside it.
func (l *line) topics(o *options) *line {
	for _, name := range []string{"topic", "topics", "t"} {
		for _, t := range o.all(name) {
			if p := first(o.one("partition"), o.one("p")); p != "" && !strings.Contains(t, ":") {
				t += ":" + p
			}
			l.add("--topic", t)
		}
	}
	return l
}

func (l *line) broker(o *options) *line {
	if o.broker != "" {
		l.add("-b", o.broker)
		o.broker = ""
	}
	return l
}

// kept ends a line with koffset's own flags as they were given. It is none where a word may not be what it was taken for.
func (l *line) kept(o *options) string {
	if o.eaten {
		return ""
	}
	return l.broker(o).add(o.carry...).String()
}

// String is the line, quoted as a shell needs it.
func (l *line) String() string {
	return text.Shell(append([]string{"koffset"}, l.words...)...)
}
