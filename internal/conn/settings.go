package conn

// Load, and the settings it makes.

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/offset"
)

// Inputs are everything that decides the settings. Nothing else is consulted:
// no global flag set, no process environment.
type Inputs struct {
	// Brokers are the values of --bootstrap-server/-b, each with one or more
	// addresses separated by commas. BrokersSet says that the flag was given,
	// so that -b "" is an error and not "none".
	Brokers    []string
	BrokersSet bool
	// X are the values of -X, each key=value.
	X []string
	// Flags are other flags that were set and stand for a setting.
	Flags []FlagValue
	// CommandConfig is the file of --command-config.
	CommandConfig    string
	CommandConfigSet bool
	// Profile is the value of --profile.
	Profile    string
	ProfileSet bool
	// Config is the value of --config.
	Config    string
	ConfigSet bool
	// Owns says that a name which is no setting of the connection is one of the
	// command's own, such as auto.offset.reset of consume. -X takes it then, and
	// what else a --command-config file holds goes to the command too:
	// Settings.Owned. Nil is a command that has none.
	Owns func(name string) bool
	// Environ is the environment as os.Environ gives it.
	Environ []string
	// OtherEnv begins the KOFFSET_ variables that belong to another part of
	// koffset and get no warning here; empty is none.
	OtherEnv string
	// Spell is how a setting that a flag gives is spelled, for the place of an error; nil is its own name.
	Spell func(hint string) string
	// Dir is the working folder and Home the home folder, for relative paths
	// and ~. Empty leaves such paths as they are.
	Dir, Home string
	// Version is koffset's version, sent to the broker in the client id.
	Version string
}

// flag is the place of an error in a flag.
func (in Inputs) flag(s offset.Setting) string {
	name := "{{" + string(s) + "}}"
	if in.Spell == nil {
		return "flag " + offset.SpellHint(name, nil)
	}
	return "flag " + in.Spell(name)
}

// Settings are the outcome of Load: every value, where it came from, and what
// should be said about it.
type Settings struct {
	// Profile is the profile that lent its connection settings, or "". The
	// current profile is not named here when -b or a file replaced it.
	Profile string
	// CurrentProfile is the profile that would be used without flags, or "".
	CurrentProfile string
	// ConfigPath is the configuration file, whether it exists or not; "" when
	// no place for one is known.
	ConfigPath string
	// Brokers are the addresses to start from, host:port, each once. Empty
	// when nothing says where the cluster is; Options then returns an error.
	Brokers []string
	// ClusterID is the id that the profile records, or "".
	ClusterID string
	ClientID  string
	// Timeout bounds each phase that talks to Kafka.
	Timeout time.Duration
	// RequestTimeout bounds one request, beyond what the request itself allows.
	RequestTimeout time.Duration
	// StateDir is where the journal and the audit log are; "" when no place
	// for it is known.
	StateDir string
	// Location is the time zone of times without one, and TZ its name.
	Location *time.Location
	TZ       string
	// Consume is the consume: section of the configuration file, or nil.
	Consume *yaml.Node
	// Owned are the settings of -X and --command-config that Inputs.Owns gives
	// to the command, in their order. As is the name.
	Owned []config.Value
	// Warnings are what the operator should be told before the work begins.
	Warnings []config.Warning
	// NetDial replaces the dialling of TCP, for tests and for clusters in the
	// same process. Nil is a net.Dialer.
	NetDial func(ctx context.Context, network, addr string) (net.Conn, error)

	table   *config.Table
	values  config.Layer
	file    *configFile
	guards  []guardLayer
	version string
	env     map[string]string
	environ []string
	paths   paths
	printed printedSecrets
}

// Load reads the files that Inputs name and lays them over each other. It
// opens no connection and runs no command. Errors are *config.Error.
func Load(in Inputs) (*Settings, error) {
	r := newReader(in.Owns)
	env := config.Environ(in.Environ)
	p := newPaths(in, env)

	flags, err := r.flagLayer(in)
	if err != nil {
		return nil, err
	}
	props := config.Layer{}
	if in.CommandConfigSet {
		if props, err = r.readProperties(p.abs(in.CommandConfig), in.flag(offset.SetCommandConfig)); err != nil {
			return nil, err
		}
	}
	envs, err := r.envLayer(env, in.OtherEnv)
	if err != nil {
		return nil, err
	}
	path, named, from, err := configPath(in, env, p)
	if err != nil {
		return nil, err
	}
	file, err := r.readConfig(path, named, from)
	if err != nil {
		return nil, err
	}

	s := &Settings{ConfigPath: path, CurrentProfile: file.current, Consume: file.consume,
		table: r.Table, file: file, version: in.Version,
		env: env, environ: in.Environ, paths: p}
	layers, err := s.layers(r, in, given{flags: flags, props: props, envs: envs})
	if err != nil {
		return nil, err
	}
	s.values = r.Table.Merge(layers, func(k config.Key) bool { return k.Class == guard })
	if err := s.fill(r, env); err != nil {
		return nil, err
	}
	// profile is checked for guards under its whole self, and only when it is
	// the one in use; the others are matched by cluster id after connecting.
	if err := s.loadGuards(flags, props, envs, file); err != nil {
		return nil, err
	}
	s.warnNoEffect(r, layers)
	s.Warnings, s.Owned = r.Warnings, r.owned
	return s, nil
}

// given are the layers that are there without a profile.
type given struct {
	flags, props, envs config.Layer
}

// elsewhere says that a layer names the cluster itself.
func (g given) elsewhere() bool {
	return g.flags["brokers"].List != nil || g.props["brokers"].List != nil || g.envs["brokers"].List != nil
}

// layers puts the profile and the file's defaults between and behind what is given: a profile that was asked for by --profile
// stands before the environment, another behind it.
func (s *Settings) layers(r *reader, in Inputs, g given) ([]config.Layer, error) {
	chosen, err := r.choose(in, s.env, s.file)
	if err != nil {
		return nil, err
	}
	profile := config.Layer{}
	if chosen.name != "" {
		profile = s.file.profiles[chosen.name]
		s.CurrentProfile = cmp.Or(s.CurrentProfile, chosen.name)
	}
	if chosen.flag {
		s.Profile = chosen.name
		return r.ownRegistry(-1, g.flags, g.props, profile, g.envs, s.file.defaults), nil
	}
	// Whoever says where the cluster is says how to get in. Without this -b, a Java file or KOFFSET_BROKERS would send the
	// password of the current profile to a cluster that it is not for.
	if g.elsewhere() {
		profile = r.Table.Only(profile, func(k config.Key) bool { return k.Class != connection })
	} else {
		s.Profile = chosen.name
	}
	return r.ownRegistry(3, g.flags, g.props, g.envs, profile, s.file.defaults), nil
}

// reader fills layers, and sorts out what is the command's own.
type reader struct {
	config.Reader
	owns  func(name string) bool
	owned []config.Value
}

func newReader(owns func(name string) bool) *reader {
	return &reader{Reader: config.Reader{Table: newTable()}, owns: owns}
}

// chosenProfile is which profile was asked for and whether by --profile.
type chosenProfile struct {
	name string
	flag bool
}

func (r *reader) choose(in Inputs, env map[string]string, f *configFile) (chosenProfile, error) {
	c := chosenProfile{name: f.current}
	where := config.Place(f.path, f.currLine)
	switch {
	case in.ProfileSet:
		c, where = chosenProfile{name: in.Profile, flag: true}, in.flag(offset.SetProfile)
		if in.Profile == "" {
			return c, &config.Error{Where: where, Text: "the name is empty", Hint: "see koffset profile list"}
		}
	case env[envProfile] != "":
		c, where = chosenProfile{name: env[envProfile]}, "environment "+envProfile
	}
	if c.name == "" {
		return c, nil
	}
	if _, ok := f.profiles[c.name]; !ok {
		return c, f.unknownProfile(c.name, where)
	}
	return c, nil
}

func (f *configFile) unknownProfile(name, where string) *config.Error {
	e := &config.Error{Where: where, Text: fmt.Sprintf("there is no profile %q", name)}
	switch {
	case !f.exists && f.path == "":
		e.Hint = "no configuration file is known: set {{config FILE}}"
	case !f.exists:
		e.Hint = "there is no configuration file at " + f.path
	case len(f.order) == 0:
		e.Hint = f.path + " has no profiles"
	default:
		e.Hint = cmp.Or(config.Near(name, f.order), "profiles: "+joinSome(f.order, 8))
	}
	return e
}

// Value is a setting by its name, with its source; ok is false where nothing
// sets it. Secrets are in it as they are: use Rows to show settings.
func (s *Settings) Value(name string) (v config.Value, ok bool) {
	v, ok = s.values[name]
	return v, ok
}

func (s *Settings) text(name string) string { return s.values[name].Text }

// source is where a setting came from, for messages.
func (s *Settings) source(name string) string { return s.values[name].Source.String() }

func (s *Settings) has(name string) bool {
	v, ok := s.values[name]
	return ok && !v.Empty()
}

// anyOf returns the first of the names that is set.
func (s *Settings) anyOf(names ...string) (string, bool) {
	for _, n := range names {
		if s.has(n) {
			return n, true
		}
	}
	return "", false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// joinSome joins at most n items and says how many more there are.
func joinSome(items []string, n int) string {
	if len(items) > n {
		return fmt.Sprintf("%s and %d more", joinSome(items[:n], n), len(items)-n)
	}
	out := ""
	for i, it := range items {
		if i > 0 {
			out += ", "
		}
		out += it
	}
	return out
}
