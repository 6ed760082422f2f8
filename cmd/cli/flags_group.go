package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// GroupFlags choose groups by name and by pattern.
type GroupFlags struct {
	Names          []string
	Match, exclude []string
	All            bool
}

// Add adds the flags.
func (g *GroupFlags) Add(f *pflag.FlagSet) {
	f.StringArrayVarP(&g.Names, "group", "g", nil, "a `GROUP`, as the argument; repeatable")
	f.StringArrayVar(&g.Match, "group-match", nil, "groups whose whole name matches the `REGEX`; repeatable")
	f.StringArrayVar(&g.exclude, "group-exclude", nil, "leave out groups that match the `REGEX`; repeatable")
	f.BoolVar(&g.All, "all-groups", false, "every group of the cluster")
}

// Narrowed says that a pattern chose among the groups of the cluster.
func (g *GroupFlags) Narrowed() bool { return len(g.Match)+len(g.exclude) > 0 }

// Resolve joins arguments and flags, and reads names as koffset prints them (offset.QuoteName). A literal name always wins over
// a pattern; an empty word is a usage error, and "" in quotes is the group whose name is empty.
func (g *GroupFlags) Resolve(args []string) (names []string, m *offset.Matcher, err error) {
	for _, word := range slices.Concat(args, g.Names) {
		if word == "" {
			return nil, nil, Usagef("name a group, or use --all-groups; the group whose name is empty is written '\"\"'", "the group name is empty")
		}
		n, err := offset.UnquoteName(word)
		if err != nil {
			return nil, nil, AsUsage(err)
		}
		names = append(names, n)
	}
	if g.All && len(names) > 0 {
		return nil, nil, Usagef("leave one of them out", "--all-groups and a group (%s) were both given", offset.NameText(names[0]))
	}
	m, err = offset.NewMatcher("group", names, g.Match, g.exclude)
	if err != nil {
		return nil, nil, AsUsage(err)
	}
	return names, m, nil
}

// CheckState refuses a state that no group can be in: an empty table would read like good news. Letter case does not count, as
// with Kafka's own tool.
func CheckState(state string) error {
	states := inspect.GroupStates()
	if slices.ContainsFunc(states, func(s string) bool { return strings.EqualFold(s, state) }) {
		return nil
	}
	hint := "use " + strings.Join(states, ", ")
	if near := text.Near(state, states); len(near) > 0 {
		hint = "did you mean " + near[0] + "? The states are " + strings.Join(states, ", ")
	}
	return Usagef(hint, "--state %q is not a state of a group", state)
}
