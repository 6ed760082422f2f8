package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// scopeFlags say which groups and which partitions a command writes.
type scopeFlags struct {
	groups     cli.GroupFlags
	groupsFrom string
	topics     cli.TopicFlags
	allTopics  bool

	verb    string
	args    []string
	names   []string
	matcher *offset.Matcher
	topic   cli.TopicScope
}

func (s *scopeFlags) add(c *cobra.Command) {
	f := c.Flags()
	s.groups.Add(f)
	f.StringVar(&s.groupsFrom, "groups-from", "", "groups in a `FILE`, one a line; - is standard input")
	s.topics.Add(f)
	f.BoolVar(&s.allTopics, "all-topics", false, "every partition of the topics that the group has commits on")
}

// parse reads the flags and the GROUP arguments.
func (s *scopeFlags) parse(a *cli.App, c *cobra.Command, args []string) error {
	s.verb, s.args = c.Name(), args
	if s.groupsFrom != "" {
		more, err := s.readGroups(a)
		if err != nil {
			return err
		}
		for _, name := range more {
			s.groups.Names = append(s.groups.Names, offset.QuoteName(name))
		}
	}
	var err error
	if s.names, s.matcher, err = s.groups.Resolve(args); err != nil {
		return err
	}
	if s.topic, err = s.topics.Resolve(c); err != nil {
		return err
	}
	if s.allTopics && len(s.topic.Specs) > 0 {
		return cli.Usagef("leave one of them out", "--all-topics and --topic %s were both given", s.topic.Specs[0])
	}
	return nil
}

// readGroups reads --groups-from: a name a line, as koffset prints names: see offset.QuoteName.
func (s *scopeFlags) readGroups(a *cli.App) ([]string, error) {
	data, err := a.ReadFile(s.groupsFrom)
	if err != nil {
		return nil, cli.Usagef("", "--groups-from: %w", err)
	}
	out, err := offset.ReadNames(string(data))
	if err != nil {
		return nil, &cli.Fault{Kind: offset.KindUsage, Err: fmt.Errorf("--groups-from %s: %w", s.groupsFrom, err), Hint: cli.HintOf(err)}
	}
	if len(out) == 0 {
		return nil, cli.Usagef("", "--groups-from %s names no group", s.groupsFrom)
	}
	return out, nil
}

// anyGroup says that a group, a pattern or all groups were asked for.
func (s *scopeFlags) anyGroup() bool {
	return len(s.names) > 0 || len(s.groups.Match) > 0 || s.groups.All
}

// several says that more than one group may be meant.
func (s *scopeFlags) several() bool {
	return len(s.names) > 1 || len(s.groups.Match) > 0 || s.groups.All
}

// scope is the partitions that the flags chose; named says that they chose any.
func (s *scopeFlags) scope() (out reset.Scope, named bool, err error) {
	out.Topics, out.All = s.topic.Specs, s.allTopics
	if len(s.topics.Match) > 0 || len(s.topics.Exclude) > 0 {
		if out.Match, err = offset.NewMatcher("topic", nil, s.topics.Match, s.topics.Exclude); err != nil {
			return out, false, err
		}
		// Patterns narrow what is there; alone they choose among the group's own topics. A literal topic stands on its own.
		out.All = out.All || len(s.topics.Match) > 0
	}
	return out, len(out.Topics) > 0 || out.All, nil
}

// choice are the groups that a command was asked for.
type choice struct {
	chosen []inspect.Group
	// patterned are those that a pattern chose and no name: they keep a pattern's guard, also beside names.
	patterned map[string]bool
	known     []string // the names of all groups, for hints
}

// choose finds the groups.
func (s *scopeFlags) choose(ctx context.Context, sess *cli.Session) (choice, error) {
	var out choice
	listed, missing, err := sess.Cluster.ListGroups(ctx, sess.Client)
	if err != nil {
		return out, err
	}
	byName := make(map[string]inspect.Group, len(listed))
	for _, g := range listed {
		byName[g.Name] = g
		out.known = append(out.known, g.Name)
	}
	if err := s.topicAmong(ctx, sess, byName); err != nil {
		return out, err
	}
	pattern := s.groups.All || len(s.groups.Match) > 0
	if pattern && len(missing) > 0 {
		// A pattern over a list that is known to be short would silently do less than was asked for.
		return out, cli.Faultf(offset.KindRefused, "wait until the broker is back, or name the groups; nothing was changed",
			"the list of groups is not complete: %w", errors.Join(missing...))
	}
	seen := map[string]bool{}
	for _, n := range s.names {
		if seen[n] {
			continue
		}
		seen[n] = true
		g, ok := byName[n]
		if !ok {
			g = inspect.Group{Name: n}
		}
		out.chosen = append(out.chosen, g)
	}
	out.patterned = map[string]bool{}
	if pattern {
		for _, g := range listed {
			if !seen[g.Name] && s.matcher.Match(g.Name) {
				seen[g.Name] = true
				out.chosen = append(out.chosen, g)
				out.patterned[g.Name] = true
			}
		}
	}
	if len(out.chosen) == 0 {
		return out, cli.NoGroupMatches(len(listed))
	}
	return out, nil
}

// topicAmong refuses arguments of which one is a topic and no group: another tool takes GROUP TOPIC, and with the topic
// taken for one more group that does not exist all topics of the first would be meant.
func (s *scopeFlags) topicAmong(ctx context.Context, sess *cli.Session, byName map[string]inspect.Group) error {
	if len(s.args) < 2 {
		return nil
	}
	var ask, are []string
	for _, n := range s.args {
		if _, ok := byName[n]; ok {
			are = append(are, n)
		} else {
			ask = append(ask, n)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	topics, err := inspect.ReadTopics(ctx, sess.Client, ask)
	if err != nil {
		return err
	}
	for _, n := range ask {
		if t, ok := topics[n]; ok && t.Err == nil {
			return cli.Usagef(strings.Join(slices.Concat([]string{"koffset", s.verb}, are, []string{"--topic", n}), " "), "%q is a topic and not a group", n)
		}
	}
	return nil
}

func groupsOf(groups []inspect.Group) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = g.Name
	}
	return out
}
