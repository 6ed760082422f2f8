package cli

import (
	"github.com/spf13/cobra"

	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/consumeconf"
	"github.com/koffset/koffset/offset"
)

// Settings loads the configuration that the command line, the environment and the files give, and says what is odd
// about it. It opens no connection.
func (a *App) Settings(cmd *cobra.Command) (*conn.Settings, error) {
	return a.SettingsOwning(cmd, nil)
}

// SettingsOwning is Settings for a command that has settings of its own in -X and --command-config: those that owns knows.
// They are in Settings.Owned.
func (a *App) SettingsOwning(cmd *cobra.Command, owns func(name string) bool) (*conn.Settings, error) {
	in := a.Inputs(cmd)
	in.Owns = owns
	s, err := conn.Load(in)
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		a.Streams.Warn("%s", w)
	}
	a.Streams.SetZone(s.Location)
	return s, nil
}

// LoadSettings is Settings without a word about what is odd.
func (a *App) LoadSettings(cmd *cobra.Command) (*conn.Settings, error) {
	return conn.Load(a.Inputs(cmd))
}

// Clock is what time words are read by.
func (a *App) Clock(s *conn.Settings) offset.Clock {
	return offset.Clock{Now: a.Now(), Zone: s.Location}
}

// Inputs are where LoadSettings takes settings from.
func (a *App) Inputs(cmd *cobra.Command) conn.Inputs {
	g, f := &a.Global, cmd.Flags()
	in := conn.Inputs{
		Brokers: g.brokers, BrokersSet: f.Changed("bootstrap-server"),
		X:             g.x,
		CommandConfig: g.commandConfig, CommandConfigSet: f.Changed("command-config"),
		Profile: g.Profile, ProfileSet: f.Changed("profile"),
		Config: g.config, ConfigSet: f.Changed("config"),
		Environ: a.Environ, Dir: a.Dir, Home: a.Home, Version: a.Version, Spell: a.Streams.Spell,
		OtherEnv: consumeconf.EnvPrefix,
	}
	for _, fl := range []struct{ flag, key, value string }{
		{"timeout", "timeout", g.timeout}, {"tz", "tz", g.tz}, {"state-dir", "state_dir", g.stateDir},
		{"schema-registry", "schema_registry.url", g.schemaRegistry},
	} {
		if f.Changed(fl.flag) {
			in.Flags = append(in.Flags, conn.FlagValue{Key: fl.key, Flag: "--" + fl.flag, Value: fl.value})
		}
	}
	return in
}
