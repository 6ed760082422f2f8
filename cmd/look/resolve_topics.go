package look

// Which topics resolve looks at, where they are not all named.

import (
	"context"
	"slices"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// topicChoice chooses topics beside those that are named.
type topicChoice struct {
	all, noInternal bool
	match, exclude  []string

	matcher *offset.Matcher
}

func (t *topicChoice) add(f *pflag.FlagSet) {
	f.BoolVar(&t.all, "all-topics", false, "every topic that may be described")
	f.StringArrayVar(&t.match, "topic-match", nil, "topics whose whole name matches the `REGEX`; repeatable")
	f.StringArrayVar(&t.exclude, "topic-exclude", nil, "leave out topics that match the `REGEX`; repeatable")
	f.BoolVar(&t.noInternal, "exclude-internal", false, "leave out Kafka's own topics, such as __consumer_offsets")
}

// many says that topics are chosen that nobody named.
func (t *topicChoice) many() bool { return t.all || len(t.match) > 0 }

func (t *topicChoice) parse(named []offset.TopicSpec) error {
	switch {
	case t.all && len(named) > 0:
		return cli.Usagef("leave one of them out", "--all-topics and a topic (%s) were both given", named[0])
	case t.all && len(t.match) > 0:
		return cli.Usagef("leave one of them out", "--all-topics and --topic-match were both given")
	case !t.many() && len(named) == 0:
		return cli.Usagef("koffset resolve TOPIC --to @-2h, or --all-topics", "name a topic")
	case !t.many() && (t.noInternal || len(t.exclude) > 0):
		return cli.Usagef("add --all-topics or --topic-match", "topics are left out of a pattern's, and all of these are named")
	}
	m, err := offset.NewMatcher("topic", nil, t.match, t.exclude)
	if err != nil {
		return cli.AsUsage(err)
	}
	t.matcher = m
	return nil
}

// choose reads the topics and adds those that the patterns choose to the named ones, by name. internal are those that were left
// out for being Kafka's own.
func (t *topicChoice) choose(ctx context.Context, cl *kgo.Client, named []offset.TopicSpec) (topics map[string]inspect.Topic, specs []offset.TopicSpec, internal []string, err error) {
	names := make([]string, 0, len(named))
	for _, s := range named {
		names = append(names, s.Topic)
	}
	specs = named
	if !t.many() {
		topics, err = inspect.ReadTopics(ctx, cl, names)
		return topics, specs, nil, err
	}
	if topics, err = inspect.ReadTopics(ctx, cl, nil); err != nil {
		return nil, nil, nil, err
	}
	var added []offset.TopicSpec
	for name, topic := range topics {
		switch {
		case slices.Contains(names, name) || !t.matcher.Match(name):
		case topic.Internal && t.noInternal:
			internal = append(internal, name)
		default:
			added = append(added, offset.TopicSpec{Topic: name})
		}
	}
	for _, n := range names {
		if _, ok := topics[n]; !ok { // a broker lists only what may be described
			topics[n] = inspect.Topic{Name: n, Err: kerr.UnknownTopicOrPartition}
		}
	}
	if len(added) == 0 && len(named) == 0 {
		return nil, nil, nil, cli.Faultf(offset.KindNotFound, "", "no topic is chosen (%d may be described)", len(topics))
	}
	slices.Sort(internal)
	slices.SortFunc(added, func(a, b offset.TopicSpec) int {
		return offset.Partition{Topic: a.Topic}.Compare(offset.Partition{Topic: b.Topic})
	})
	return topics, append(slices.Clone(specs), added...), internal, nil
}
