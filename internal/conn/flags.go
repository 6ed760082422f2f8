package conn

// The two layers that are not files: flags and environment.

import (
	"fmt"
	"slices"
	"strings"
)

// FlagValue is a flag that stands for a setting, such as --timeout for
// timeout. It is given only when the operator set it.
type FlagValue struct {
	// Key is the setting's name, such as "timeout".
	Key string
	// Flag is the flag as written, such as "--timeout".
	Flag  string
	Value string
}

func (r *reader) flagLayer(in Inputs) (*layer, error) {
	l := newLayer("")
	if in.BrokersSet {
		v := Value{Source: Source{Kind: FromFlag, Name: "-b"}}
		for _, b := range in.Brokers {
			v.List = append(v.List, splitList(b)...)
		}
		if err := r.set(l, r.schema.by["brokers"], "-b", "flag -b", v); err != nil {
			return nil, err
		}
	}
	for _, f := range in.Flags {
		k, _, ok := r.schema.lookup(f.Key)
		if !ok {
			return nil, &ConfigError{Where: "flag " + f.Flag, Text: fmt.Sprintf("there is no setting %q behind it", f.Key)}
		}
		if err := r.set(l, k, f.Flag, "flag "+f.Flag, scalar(k, f.Value, Source{Kind: FromFlag, Name: f.Flag})); err != nil {
			return nil, err
		}
	}
	for i, x := range in.X {
		// The text after = can be a password, and a missing = can make the
		// whole of it one: only names are ever repeated in a message.
		name, value, ok := strings.Cut(x, "=")
		if !ok {
			return nil, &ConfigError{Where: "-X", Text: fmt.Sprintf("argument %d has no =", i+1), Hint: "write -X key=value"}
		}
		name = strings.TrimSpace(name)
		if r.owns != nil && name == "client.id" {
			name = "client_id" // a consumer's own name for it
		}
		k, old, ok := r.schema.lookup(name)
		if !ok && r.owns != nil && r.owns(name) {
			r.owned = append(r.owned, OwnedValue{Name: name, Text: value, Flag: true, Where: "-X " + name})
			continue
		}
		if !ok {
			return nil, r.unknownX(name)
		}
		where := "-X " + name
		if old != "" {
			r.renamedWarning(where, old, k.name)
		}
		// A repeated -X is like a repeated flag: the last one counts.
		if have, again := l.values[k.name]; again && have.Source.Kind == FromX && have.Source.Name == name {
			delete(l.values, k.name)
		}
		if have, again := l.values[k.name]; again && have.Source.Kind == FromFlag {
			if v := scalar(k, value, Source{}); !sameValue(have, v) {
				return nil, &ConfigError{Where: where, Text: fmt.Sprintf("%s says something else", have.Source), Hint: "give one of them"}
			}
			continue
		}
		if err := r.set(l, k, where, where, scalar(k, value, Source{Kind: FromX, Name: name})); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (r *reader) unknownX(name string) error {
	e := &ConfigError{Where: "-X", Text: fmt.Sprintf("unknown key %q", name), Hint: hintNear(name, r.schema.names())}
	if name == "" {
		e.Text, e.Hint = "empty key", "write -X key=value"
	}
	if javaKnown(name) {
		e.Hint = "that is a name of Kafka's Java client: put it into a file and pass --command-config FILE"
	}
	return e
}

// Variables that choose files and profiles; they are no settings.
const (
	envConfig  = "KOFFSET_CONFIG"
	envProfile = "KOFFSET_PROFILE"
)

// environ is the environment as a map; later entries win, as in a shell.
func environ(list []string) map[string]string {
	m := make(map[string]string, len(list))
	for _, e := range list {
		if name, value, ok := strings.Cut(e, "="); ok {
			m[name] = value
		}
	}
	return m
}

// envLayer reads KOFFSET_*. An empty variable is as good as none: scripts
// clear variables that way.
func (r *reader) envLayer(env map[string]string, ignore []string) (*layer, error) {
	l := newLayer("")
	names := map[string]key{}
	old := map[string]string{}
	for _, k := range r.schema.keys {
		names[envName(k.name)] = k
		for _, o := range k.old {
			if n := envName(o); n != envName(k.name) {
				old[n] = k.name
			}
		}
	}
	var vars []string
	for name := range env {
		if strings.HasPrefix(name, "KOFFSET_") {
			vars = append(vars, name)
		}
	}
	slices.Sort(vars)
	for _, name := range vars {
		value := env[name]
		if value == "" || name == envConfig || name == envProfile || name == "KOFFSET_ACTIVE_HELP" || slices.Contains(ignore, name) {
			continue
		}
		where := "environment " + name
		k, ok := names[name]
		if !ok {
			now, renamed := old[name]
			if !renamed {
				if meant := r.schema.meantGuard(strings.TrimPrefix(name, "KOFFSET_")); meant != "" {
					return nil, &ConfigError{Where: where, Text: fmt.Sprintf("koffset knows no such variable; it looks like the guard rail %s and would not hold", meant),
						Hint: "did you mean " + envName(meant) + "?"}
				}
				all := []string{envConfig, envProfile}
				for n := range names {
					all = append(all, n)
				}
				r.warn(where, "koffset knows no such variable", hintNear(name, all))
				continue
			}
			k = r.schema.by[now]
			r.renamedWarning(where, name, envName(now))
		}
		if err := r.set(l, k, name, where, scalar(k, value, Source{Kind: FromEnvironment, Name: name})); err != nil {
			return nil, err
		}
	}
	return l, nil
}
