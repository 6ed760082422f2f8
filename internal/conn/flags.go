package conn

// The two layers that are not files: flags and environment.

import (
	"fmt"
	"strings"

	"github.com/koffset/koffset/internal/config"
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

func (r *reader) flagLayer(in Inputs) (config.Layer, error) {
	l := config.Layer{}
	if in.BrokersSet {
		v := config.Value{As: "-b", Source: config.Source{Kind: config.FromFlag, Name: "-b"}}
		for _, b := range in.Brokers {
			v.List = append(v.List, config.SplitList(b)...)
		}
		if err := r.Put(l, r.Table.Key("brokers"), "flag -b", v); err != nil {
			return nil, err
		}
	}
	for _, f := range in.Flags {
		k, _, ok := r.Table.Lookup(f.Key)
		if !ok {
			return nil, &config.Error{Where: "flag " + f.Flag, Text: fmt.Sprintf("it has no setting %q", f.Key)}
		}
		v := k.Written(f.Value, config.Source{Kind: config.FromFlag, Name: f.Flag})
		v.As = f.Flag
		if err := r.Put(l, k, "flag "+f.Flag, v); err != nil {
			return nil, err
		}
	}
	for i, x := range in.X {
		// The text after = can be a password, and a missing = can make the
		// whole of it one: only names are ever repeated in a message.
		name, value, ok := strings.Cut(x, "=")
		if !ok {
			return nil, config.Errorf("-X", "write -X key=value", "argument %d has no =", i+1)
		}
		if err := r.x(l, strings.TrimSpace(name), value); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// x puts one -X into the layer of the flags, or hands it to the command whose own it is.
func (r *reader) x(l config.Layer, name, value string) error {
	if r.owns != nil && name == "client.id" {
		name = "client_id" // a consumer's own name for it
	}
	where := "-X " + name
	k, old, ok := r.Table.Lookup(name)
	switch {
	case ok:
	case r.owns != nil && r.owns(name):
		r.owned = append(r.owned, config.Value{As: name, Text: value, Source: config.Source{Kind: config.FromX, Name: name}})
		return nil
	default:
		return r.unknownX(name)
	}
	if old {
		r.Renamed(where, name, k.Name)
	}
	v := k.Written(value, config.Source{Kind: config.FromX, Name: name})
	v.As = where
	have, again := l[k.Name]
	switch {
	case again && have.Source.Kind == config.FromX && have.Source.Name == name:
		delete(l, k.Name) // a repeated -X is like a repeated flag: the last one counts
	case again && have.Source.Kind == config.FromFlag && !config.SameValue(have, v):
		return config.Errorf(where, "give one of them", "%s says something else", have.Source)
	}
	return r.Put(l, k, where, v)
}

func (r *reader) unknownX(name string) error {
	e := &config.Error{Where: "-X", Text: fmt.Sprintf("unknown key %q", name), Hint: config.Near(name, r.Table.Names())}
	if name == "" {
		e.Text, e.Hint = "empty key", "write -X key=value"
	}
	if javaKnown(name) {
		e.Hint = "that is a name of Kafka's Java client: put it into a file and pass {{command-config FILE}}"
	}
	return e
}

// Variables that choose files and profiles; they are no settings.
const (
	envConfig  = "KOFFSET_CONFIG"
	envProfile = "KOFFSET_PROFILE"
	envPager   = "KOFFSET_PAGER" // read by the terminal's side
)

// envLayer reads KOFFSET_*. A variable under a name that is none warns, and one that looks like a guard rail's is an error.
func (r *reader) envLayer(env map[string]string, others string) (config.Layer, error) {
	const prefix = "KOFFSET_"
	return r.Environment(env, prefix, func(name string, known []string) error {
		if name == envConfig || name == envProfile || name == envPager || name == "KOFFSET_ACTIVE_HELP" || others != "" && strings.HasPrefix(name, others) {
			return nil
		}
		where := "environment " + name
		if meant := meantGuard(r.Table, strings.TrimPrefix(name, prefix)); meant != "" {
			return config.Errorf(where, "did you mean "+config.Variable(prefix, meant)+"?", "koffset knows no such variable; it looks like the guard rail %s and would not hold", meant)
		}
		r.Warn(where, "koffset knows no such variable", config.Near(name, append(known, envConfig, envProfile, envPager)))
		return nil
	})
}
