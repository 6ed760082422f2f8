package carry

import (
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/migrate"
)

// mappingFlags say what topics and groups are called on the target.
type mappingFlags struct {
	topics, groups []string
	mm2Source      string
}

func (f *mappingFlags) add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.topics, "map", nil, "a topic's name on the target, `OLD=NEW`, or '/REGEX/=NEW' with $1; repeatable")
	fs.StringArrayVar(&f.groups, "map-group", nil, "a group's name on the target, `OLD=NEW`, or '/REGEX/=NEW' with $1; repeatable")
	fs.StringVar(&f.mm2Source, "mm2-source", "", "the `ALIAS` that MirrorMaker 2 has for the source: topics are called ALIAS.TOPIC on the target, and strategy mm2 reads ALIAS's topics")
}

func (f *mappingFlags) mapping() (m migrate.Mapping, err error) {
	m.MM2Source = f.mm2Source
	if m.Topics, err = migrate.ParseRenames("--map", f.topics); err != nil {
		return m, cli.AsUsage(err)
	}
	if m.Groups, err = migrate.ParseRenames("--map-group", f.groups); err != nil {
		return m, cli.AsUsage(err)
	}
	return m, nil
}

// sayUnused warns of rules that name nothing of an export, which are mostly mistyped. where says what the export is of.
func sayUnused(a *cli.App, m migrate.Mapping, x *migrate.Export, where string) {
	var groups, topics []string
	for _, g := range x.Groups {
		groups = append(groups, g.Name)
		for _, r := range g.Rows {
			topics = append(topics, r.Topic)
		}
	}
	for _, rule := range m.Topics.Unused(topics) {
		a.Streams.Warn("--map %s: no topic %s has that name", rule, where)
	}
	for _, rule := range m.Groups.Unused(groups) {
		a.Streams.Warn("--map-group %s: no group %s has that name", rule, where)
	}
}
