package carry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/completions"
	"github.com/koffset/koffset/internal/conn"
)

// sourceCompleter completes from the cluster that offsets come from.
func sourceCompleter(a *cli.App, f *sourceFlags) *completions.Source {
	return a.CompleterOf(func(cmd *cobra.Command) conn.Inputs { return f.inputs(a, cmd) })
}

// sourceFlags name the cluster that offsets come from, where a command talks to two.
type sourceFlags struct {
	profile string
	brokers []string
	config  string
}

func (f *sourceFlags) add(fs *pflag.FlagSet, what string) {
	fs.StringVar(&f.profile, "source-profile", "", "`NAME` of the profile of the source cluster"+what)
	fs.StringSliceVar(&f.brokers, "source-bootstrap-server", nil, "brokers of the source cluster, `HOST:PORT,…`"+what)
	fs.StringVar(&f.config, "source-command-config", "", "Java client .properties `FILE` of the source cluster"+what)
}

func (f *sourceFlags) given() bool { return f.profile != "" || len(f.brokers) > 0 || f.config != "" }

// connect opens the source cluster. Credentials of the target are not taken: only the named profile or file lends some.
func (f *sourceFlags) connect(ctx context.Context, a *cli.App, cmd *cobra.Command) (*cli.Session, error) {
	s, err := f.settings(a, cmd)
	if err != nil {
		return nil, fmt.Errorf("the source cluster: %w", err)
	}
	sess, err := a.ConnectWith(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("the source cluster: %w", err)
	}
	return sess, nil
}

// inputs are where the settings of the source cluster come from.
func (f *sourceFlags) inputs(a *cli.App, cmd *cobra.Command) conn.Inputs {
	in := a.Inputs(cmd)
	in.Brokers, in.BrokersSet = f.brokers, len(f.brokers) > 0
	in.Profile, in.ProfileSet = f.profile, f.profile != ""
	in.CommandConfig, in.CommandConfigSet = f.config, f.config != ""
	in.X = nil
	// The environment names one cluster: the target's.
	in.Environ = slices.DeleteFunc(slices.Clone(in.Environ), func(e string) bool {
		return strings.HasPrefix(e, "KOFFSET_") && !strings.HasPrefix(e, "KOFFSET_CONFIG=")
	})
	return in
}

func (f *sourceFlags) settings(a *cli.App, cmd *cobra.Command) (*conn.Settings, error) {
	s, err := conn.Load(f.inputs(a, cmd))
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		a.Streams.Warn("source: %s", w)
	}
	return s, nil
}

// twoClusters refuses to compare a cluster with itself under two names, which proves nothing.
func twoClusters(source, target *cli.Session, topicsRenamed bool) error {
	if source.Cluster.ID != "" && source.Cluster.ID == target.Cluster.ID && !topicsRenamed {
		return cli.Usagef("--source-profile or --source-bootstrap-server names the source, the ordinary flags the target",
			"source and target are one cluster, %s", source.Cluster.ID)
	}
	return nil
}

func addTargetProfile(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "target-profile", "", "`NAME` of the profile of the target cluster, the same as --profile")
}

// across is the run of a command that works on two clusters at once.
func across(a *cli.App, f *sourceFlags, targetProfile *string, parse func(*cobra.Command) error,
	run func(ctx context.Context, source, target *cli.Session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := parse(cmd); err != nil {
			return err
		}
		source, target, err := connectBoth(cmd.Context(), a, cmd, f, *targetProfile)
		if err != nil {
			return err
		}
		defer source.Close()
		defer target.Close()
		return run(cmd.Context(), source, target, args)
	}
}

// connectBoth connects to the source that the flags name, and to the target that the ordinary flags name.
func connectBoth(ctx context.Context, a *cli.App, c *cobra.Command, f *sourceFlags, targetProfile string) (source, target *cli.Session, err error) {
	if !f.given() {
		return nil, nil, cli.Usagef("add --source-profile NAME or --source-bootstrap-server HOST:PORT", "which cluster is the source? none was named")
	}
	in := a.Inputs(c)
	if targetProfile != "" {
		if in.ProfileSet && in.Profile != targetProfile {
			return nil, nil, cli.Usagef("leave one of them out", "--profile %s and --target-profile %s were both given", in.Profile, targetProfile)
		}
		a.Global.Profile = targetProfile
		if err := c.Flags().Set("profile", targetProfile); err != nil {
			return nil, nil, err
		}
	}
	if source, err = f.connect(ctx, a, c); err != nil {
		return nil, nil, err
	}
	if target, err = a.Connect(ctx, c); err != nil {
		source.Close()
		return nil, nil, err
	}
	return source, target, nil
}
