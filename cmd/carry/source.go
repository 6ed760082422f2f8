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
