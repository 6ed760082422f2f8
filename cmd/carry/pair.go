package carry

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// pair is what verify and sync have in common: groups of a source cluster, and what they are called on the target.
type pair struct {
	app     *cli.App
	groups  cli.GroupFlags
	topics  cli.TopicFlags
	mapping mappingFlags
	source  sourceFlags
	target  string // the profile
	ahead   int    // how many records after a position are searched for look-alikes

	places migrate.Mapping
	scope  cli.TopicScope

	saidOnce bool // sync looks again and again
}

func (p *pair) add(f *pflag.FlagSet) {
	p.groups.Add(f)
	p.topics.Add(f)
	p.mapping.add(f)
	p.source.add(f, "")
	addLookAhead(f, &p.ahead)
	f.StringVar(&p.target, "target-profile", "", "`NAME` of the profile of the target cluster, the same as --profile")
}

func (p *pair) parse(c *cobra.Command) error {
	err := checkLookAhead(p.ahead)
	if err != nil {
		return err
	}
	if p.places, err = p.mapping.mapping(); err != nil {
		return err
	}
	p.scope, err = p.topics.Resolve(c)
	return err
}

// twoClusters refuses to compare a cluster with itself under two names, which proves nothing.
func (p *pair) twoClusters(source, target *cli.Session) error {
	renamed := p.places.Topics.Any() || p.places.Groups.Any()
	if source.Cluster.ID != "" && source.Cluster.ID == target.Cluster.ID && !renamed {
		return cli.Usagef("--source-profile or --source-bootstrap-server names the source, the ordinary flags the target",
			"source and target are one cluster, %s", source.Cluster.ID)
	}
	return nil
}

// across is the run of a command that works on two clusters at once.
func (p *pair) across(parse func(*cobra.Command) error,
	run func(ctx context.Context, source, target *cli.Session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := parse(cmd); err != nil {
			return err
		}
		source, target, err := p.connect(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer source.Close()
		defer target.Close()
		return run(cmd.Context(), source, target, args)
	}
}

// connect connects to the source that the flags name, and to the target that the ordinary flags name.
func (p *pair) connect(ctx context.Context, c *cobra.Command) (source, target *cli.Session, err error) {
	if !p.source.given() {
		return nil, nil, cli.Usagef("add --source-profile NAME or --source-bootstrap-server HOST:PORT", "which cluster is the source? none was named")
	}
	in := p.app.Inputs(c)
	if p.target != "" {
		if in.ProfileSet && in.Profile != p.target {
			return nil, nil, cli.Usagef("leave one of them out", "--profile %s and --target-profile %s were both given", in.Profile, p.target)
		}
		p.app.Global.Profile = p.target
		if err := c.Flags().Set("profile", p.target); err != nil {
			return nil, nil, err
		}
	}
	if source, err = p.source.connect(ctx, p.app, c); err != nil {
		return nil, nil, err
	}
	if target, err = p.app.Connect(ctx, c); err != nil {
		source.Close()
		return nil, nil, err
	}
	return source, target, nil
}

// export reads the groups at the source, with fingerprints and share groups, or without both.
func (p *pair) export(ctx context.Context, source *cli.Session, args []string, prints bool) (*migrate.Export, error) {
	pctx, cancel := source.Phase(ctx, "list the source's groups")
	defer cancel()
	groups, err := chosenGroups(pctx, source, &p.groups, args, prints)
	if err != nil {
		return nil, err
	}
	cancel()
	opts := migrate.ExportOptions{Groups: groups, Fingerprints: prints, CreatedAt: p.app.Now(), Version: p.app.Version, Phase: source.Phase, LookAhead: p.ahead}
	if p.scope.Any() {
		opts.Topics = p.scope.Matcher
	}
	x, err := migrate.Collect(func(to migrate.Sink) (bool, error) { return migrate.ReadGroups(ctx, source.Client, opts, to) })
	if err != nil {
		return nil, migrateFault(cli.Cause(ctx, err))
	}
	for n := range x.Groups {
		var internal map[string][]string
		g := &x.Groups[n]
		g.Rows, internal = migrate.LeaveInternal(g.Rows, func(topic string) bool { return literal(p.scope, topic) })
		if !p.saidOnce {
			sayInternal(p.app, internal)
		}
	}
	if !p.saidOnce {
		sayUnused(p.app, p.places, x, "at the source")
	}
	p.saidOnce = true
	for _, g := range x.Groups {
		if g.Error != "" {
			p.app.Streams.Warn("group %s at the source: %s", offset.NameText(g.Name), g.Error)
		}
		if g.Live {
			p.app.Streams.Warn("group %s is %s at the source: what it commits meanwhile makes a difference", offset.NameText(g.Name), g.State)
		}
	}
	return x, nil
}
