package cli

import (
	"github.com/spf13/pflag"
)

// globalFlags are the flags of every command.
type globalFlags struct {
	brokers       []string
	Profile       string
	config        string
	commandConfig string
	x             []string
	timeout       string
	tz            string
	stateDir      string
	// schemaRegistry is a flag of the commands that decode.
	schemaRegistry string
	Color          string
	Verbose        bool
	NoPager        bool
}

// AddGlobalFlags adds the flags of every command.
func (a *App) AddGlobalFlags(f *pflag.FlagSet) {
	g := &a.Global
	f.StringSliceVarP(&g.brokers, "bootstrap-server", "b", nil, "brokers to start from, `HOST:PORT,…`")
	f.StringVar(&g.Profile, "profile", "", "`NAME` of the profile to use")
	f.StringVar(&g.config, "config", "", "configuration `FILE` (default: $XDG_CONFIG_HOME/koffset/config.yaml)")
	f.StringVar(&g.commandConfig, "command-config", "", "an ordinary Java client .properties `FILE`")
	f.StringArrayVarP(&g.x, "set", "X", nil, "one setting, `KEY=VALUE`; repeatable")
	f.StringVar(&g.timeout, "timeout", "30s", "bound of each phase that talks to Kafka, a `DURATION` such as 30s")
	f.StringVar(&g.tz, "tz", "UTC", "time `ZONE` of times that name none and of tables, such as Europe/Berlin; JSON and CSV are UTC")
	f.StringVar(&g.stateDir, "state-dir", "", "`DIR` of the undo journal and the audit log (default: $XDG_STATE_HOME/koffset)")
	f.StringVar(&g.Color, "color", "auto", "auto, always or never")
	f.BoolVar(&g.NoPager, "no-pager", false, "print what is longer than the screen without $KOFFSET_PAGER, $PAGER or less")
	f.BoolVarP(&g.Verbose, "verbose", "v", false, "log brokers, retries and requests to stderr")
}
