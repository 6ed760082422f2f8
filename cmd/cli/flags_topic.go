package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/offset"
)

// TopicFlags choose topics and partitions.
type TopicFlags struct {
	specs          []string
	Match, Exclude []string
	partitions     string
}

// Add adds the flags.
func (t *TopicFlags) Add(f *pflag.FlagSet) {
	f.StringArrayVar(&t.specs, "topic", nil, "a `TOPIC`, or some partitions of it as TOPIC:0,2-5; repeatable")
	f.StringArrayVar(&t.Match, "topic-match", nil, "topics whose whole name matches the `REGEX`; repeatable")
	f.StringArrayVar(&t.Exclude, "topic-exclude", nil, "leave out topics that match the `REGEX`; repeatable")
	f.StringVarP(&t.partitions, "partitions", "p", "", "partitions `0,2-5` of the one --topic")
}

// TopicScope is what the topic flags chose: literal topics with their partitions, and a matcher for all names.
type TopicScope struct {
	Specs   []offset.TopicSpec
	Matcher *offset.Matcher
}

// Resolve reads the flags. -p without exactly one topic is a usage error.
func (t *TopicFlags) Resolve(cmd *cobra.Command) (TopicScope, error) {
	var s TopicScope
	var names []string
	for _, text := range t.specs {
		specs, err := offset.ParseTopicSpecs(text)
		if err != nil {
			return s, PatternFault(text, err)
		}
		for _, spec := range specs {
			s.Specs = append(s.Specs, spec)
			names = append(names, spec.Topic)
		}
	}
	if cmd.Flags().Changed("partitions") {
		if len(s.Specs) != 1 || len(t.Match) > 0 {
			return s, Usagef("write --topic TOPIC:"+t.partitions, "-p needs exactly one --topic, %d were given", len(s.Specs))
		}
		if len(s.Specs[0].Partitions) > 0 {
			return s, Usagef("leave one of them out", "partitions were given twice: --topic %s and -p %s", s.Specs[0], t.partitions)
		}
		set, err := offset.ParsePartitionSet(t.partitions)
		if err != nil {
			return s, AsUsage(fmt.Errorf("-p: %w", err))
		}
		s.Specs[0].Partitions = set
	}
	var err error
	if s.Matcher, err = offset.NewMatcher("topic", names, t.Match, t.Exclude); err != nil {
		return s, AsUsage(err)
	}
	return s, nil
}

// Any says that the flags choose something.
func (s TopicScope) Any() bool { return !s.Matcher.All() }
