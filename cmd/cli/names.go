package cli

// What a name that does not exist may have meant.

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// GroupHint is the hint for a group that does not exist: several groups in one word, a pattern, a topic, a slip. known are the
// groups of the cluster, or nil to have them listed; verb is the command. It guesses only what the cluster confirms: a wrong guess
// beside a command that writes is worse than none.
func (s *Session) GroupHint(ctx context.Context, verb, name string, known []string) string {
	ctx, cancel := s.Phase(ctx, "list the groups")
	defer cancel()
	if known == nil {
		listed, _, err := s.Cluster.ListGroups(ctx, s.Client)
		if err != nil {
			return ""
		}
		for _, g := range listed {
			known = append(known, g.Name)
		}
	}
	if parts := strings.Split(name, ","); len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return !slices.Contains(known, p) }) {
		return s.App.instead(name, parts...)
	}
	if pattern, ok := globPattern(name); ok {
		if m, err := offset.NewMatcher("group", nil, []string{pattern}, nil); err == nil && slices.ContainsFunc(known, m.Match) {
			return s.App.instead(name, "--group-match", pattern)
		}
	}
	if topics, err := inspect.ReadTopics(ctx, s.Client, []string{name}); err == nil && topics[name].Err == nil && topics[name].Name != "" {
		if verb == "inspect" {
			return s.App.instead(name, "--topic", name)
		}
		return "koffset inspect --topic " + name + " shows the groups that read this topic"
	}
	if near := text.Near(name, known); len(near) > 0 {
		return "did you mean " + strings.Join(typed(near), ", ") + "?"
	}
	return ListGroupsHint
}

// NoGroupMatches ends a command whose pattern matches no group of the cluster.
func NoGroupMatches(listed int) error {
	return Faultf(offset.KindNotFound, "", "no group matches (%s on the cluster)", text.Plural(listed, "group"))
}

// MatchUnknown ends a command whose pattern matches no group that was listed, where not all were listed: whether there is one is
// not known.
func MatchUnknown() error {
	return Faultf(offset.KindPartial, "name the groups, or wait until every broker answers", "no group that was listed matches, and not every broker listed its groups")
}

// typed are groups as they are typed behind a command.
func typed(groups []string) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = text.Shell(offset.QuoteName(g))
	}
	return out
}

// ListGroupsHint is GroupHint where nothing is near.
const ListGroupsHint = "koffset inspect lists the groups"

// instead is the command line that was typed, with other words for one of its groups, and without what would execute it.
func (a *App) instead(name string, words ...string) string {
	out := []string{"koffset"}
	setting := false
	for i, arg := range a.Args {
		arg, setting = maskArg(arg, setting)
		switch {
		case arg == name && i > 0 && (a.Args[i-1] == "-g" || a.Args[i-1] == "--group"):
			out = out[:len(out)-1]
			if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
				for _, w := range words {
					out = append(out, "-g", w)
				}
				continue
			}
			out = append(out, words...)
		case arg == name:
			out = append(out, words...)
		case arg == "--execute" || arg == "--yes":
		default:
			out = append(out, arg)
		}
	}
	return text.Shell(out...)
}

// TopicHint is the hint for a topic that does not exist: a partition, a group, a slip. It is empty where nothing is near.
func (s *Session) TopicHint(ctx context.Context, name string) string {
	ctx, cancel := s.Phase(ctx, "list the topics")
	defer cancel()
	topics, err := inspect.ReadTopics(ctx, s.Client, nil)
	if err != nil {
		return ""
	}
	if meant := inspect.MeantTopic(name, topics); meant != "" {
		return meant
	}
	if listed, _, err := s.Cluster.ListGroups(ctx, s.Client); err == nil && slices.ContainsFunc(listed, func(g inspect.Group) bool { return g.Name == name }) {
		return name + " is a group: koffset inspect " + typed([]string{name})[0]
	}
	return ""
}

// PatternFault is the usage error of a word that is no topic, with the flag to use where it is a shell's pattern.
func PatternFault(word string, err error) error {
	if pattern, ok := globPattern(word); ok {
		return Usagef("write --topic-match '"+pattern+"'", "%w", err)
	}
	return AsUsage(err)
}

// globWord keeps what cannot be a name at all, such as a URL with a password, out of a hint.
var globWord = regexp.MustCompile(`^[a-zA-Z0-9._*?-]+$`)

// globPattern makes the regular expression of a shell's pattern; ok is false for a word that is none.
func globPattern(word string) (pattern string, ok bool) {
	if !strings.ContainsAny(word, "*?") || !globWord.MatchString(word) {
		return "", false
	}
	return strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(word)), true
}
