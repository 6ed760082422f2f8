package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// outputFlag is -o for commands that print rows.
type outputFlag struct {
	word    string
	allowed []render.Format
}

func (o *outputFlag) add(cmd *cobra.Command, extra ...render.Format) {
	o.allowed = append(render.RowFormats(), extra...)
	names := make([]string, len(o.allowed))
	for i, f := range o.allowed {
		names[i] = f.String()
	}
	cmd.Flags().StringVarP(&o.word, "output", "o", "table", "`FORMAT`: "+strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

func (o *outputFlag) format() (render.Format, error) { return render.ParseFormat(o.word, o.allowed...) }

// groupFlags choose groups by name and by pattern.
type groupFlags struct {
	names          []string
	match, exclude []string
	all            bool
}

func (g *groupFlags) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&g.names, "group", "g", nil, "a `GROUP`, as the argument; repeatable")
	f.StringArrayVar(&g.match, "group-match", nil, "groups whose whole name matches the `REGEX`; repeatable")
	f.StringArrayVar(&g.exclude, "group-exclude", nil, "leave out groups that match the `REGEX`; repeatable")
	f.BoolVar(&g.all, "all-groups", false, "every group of the cluster")
}

// resolve joins arguments and flags. A literal name always wins over a pattern; an empty name is a usage error.
func (g *groupFlags) resolve(args []string) (names []string, m *offset.Matcher, err error) {
	names = slices.Concat(args, g.names)
	if g.all && len(names) > 0 {
		return nil, nil, usagef("leave one of them out", "--all-groups and a group (%s) were both given", names[0])
	}
	for _, n := range names {
		if n == "" {
			return nil, nil, usagef("name a group, or use --all-groups", "the group name is empty")
		}
	}
	m, err = offset.NewMatcher("group", names, g.match, g.exclude)
	if err != nil {
		return nil, nil, asUsage(err)
	}
	return names, m, nil
}

// topicFlags choose topics and partitions.
type topicFlags struct {
	specs          []string
	match, exclude []string
	partitions     string
}

func (t *topicFlags) add(f *pflag.FlagSet) {
	f.StringArrayVar(&t.specs, "topic", nil, "a `TOPIC`, or some partitions of it as TOPIC:0,2-5; repeatable")
	f.StringArrayVar(&t.match, "topic-match", nil, "topics whose whole name matches the `REGEX`; repeatable")
	f.StringArrayVar(&t.exclude, "topic-exclude", nil, "leave out topics that match the `REGEX`; repeatable")
	f.StringVarP(&t.partitions, "partitions", "p", "", "partitions `0,2-5` of the one --topic")
}

// topicScope is what the topic flags chose: literal topics with their partitions, and a matcher for all names.
type topicScope struct {
	specs   []offset.TopicSpec
	matcher *offset.Matcher
}

func (t *topicFlags) resolve(cmd *cobra.Command) (topicScope, error) {
	var s topicScope
	var names []string
	for _, text := range t.specs {
		spec, err := offset.ParseTopicSpec(text)
		if err != nil {
			return s, asUsage(err)
		}
		s.specs = append(s.specs, spec)
		names = append(names, spec.Topic)
	}
	if cmd.Flags().Changed("partitions") {
		if len(s.specs) != 1 || len(t.match) > 0 {
			return s, usagef("write --topic TOPIC:"+t.partitions, "-p needs exactly one --topic, %d were given", len(s.specs))
		}
		if len(s.specs[0].Partitions) > 0 {
			return s, usagef("leave one of them out", "partitions were given twice: --topic %s and -p %s", s.specs[0], t.partitions)
		}
		set, err := offset.ParsePartitionSet(t.partitions)
		if err != nil {
			return s, asUsage(fmt.Errorf("-p: %w", err))
		}
		s.specs[0].Partitions = set
	}
	var err error
	if s.matcher, err = offset.NewMatcher("topic", names, t.match, t.exclude); err != nil {
		return s, asUsage(err)
	}
	return s, nil
}

// any says that the flags choose something.
func (s topicScope) any() bool { return !s.matcher.All() }

// onlyFlag is --only: rows in a certain state.
type onlyFlag string

func (o *onlyFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(o), "only", "", "only rows that are `lagging`, out-of-range or no-commit")
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(onlyWords(), cobra.ShellCompDirectiveNoFileComp))
}

func onlyWords() []string { return []string{"lagging", "out-of-range", "no-commit"} }

func (o onlyFlag) check() error {
	if o == "" || slices.Contains(onlyWords(), string(o)) {
		return nil
	}
	return usagef("use "+strings.Join(onlyWords(), ", "), "--only %q is not one of its values", string(o))
}
