package move

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
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

// parse reads the flags and the one GROUP argument.
func (s *scopeFlags) parse(a *cli.App, c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usagef(fmt.Sprintf("koffset %s %s --topic %s; several groups are --group A --group B", c.Name(), args[0], args[1]),
			"one group is the argument, %d were given", len(args))
	}
	if s.groupsFrom != "" {
		more, err := s.readGroups(a)
		if err != nil {
			return err
		}
		s.groups.Names = append(s.groups.Names, more...)
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

// readGroups reads --groups-from: a name a line; blank lines and lines that begin with # are left out.
func (s *scopeFlags) readGroups(a *cli.App) ([]string, error) {
	data, err := a.ReadFile(s.groupsFrom)
	if err != nil {
		return nil, cli.Usagef("", "--groups-from: %w", err)
	}
	var out []string
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		if line := strings.TrimSpace(strings.TrimPrefix(sc.Text(), "\ufeff")); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("--groups-from: %w", err)
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

// choose finds the groups. pattern says that none was named literally.
func (s *scopeFlags) choose(ctx context.Context, a *cli.App, sess *cli.Session) (groups []inspect.Group, known []string, err error) {
	listed, missing, err := inspect.ListGroups(ctx, sess.Client)
	if err != nil {
		return nil, nil, err
	}
	byName := make(map[string]inspect.Group, len(listed))
	for _, g := range listed {
		byName[g.Name] = g
		known = append(known, g.Name)
	}
	pattern := s.groups.All || len(s.groups.Match) > 0
	if pattern && len(missing) > 0 {
		// A pattern over a list that is known to be short would silently do less than was asked for.
		return nil, nil, fmt.Errorf("the list of groups is not complete: %w", errors.Join(missing...))
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
		groups = append(groups, g)
	}
	if pattern {
		for _, g := range listed {
			if !seen[g.Name] && s.matcher.Match(g.Name) {
				seen[g.Name] = true
				groups = append(groups, g)
			}
		}
	}
	if len(groups) == 0 {
		return nil, known, cli.Faultf(cli.ExitNotFound, "", "no group matches (%d groups on the cluster)", len(listed))
	}
	return groups, known, nil
}

func groupsOf(groups []inspect.Group) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = g.Name
	}
	return out
}
