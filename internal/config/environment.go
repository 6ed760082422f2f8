package config

import (
	"maps"
	"slices"
	"strings"
)

// Environ is an environment (as os.Environ gives it) as a map; later entries win, as in a shell.
func Environ(list []string) map[string]string {
	m := make(map[string]string, len(list))
	for _, e := range list {
		if name, value, ok := strings.Cut(e, "="); ok {
			m[name] = value
		}
	}
	return m
}

// Variable is the name of a key's variable: the prefix, then the key in upper case with _ for what is neither letter nor
// digit. tls.ca_password is KOFFSET_TLS_CA_PASSWORD.
func Variable(prefix, key string) string {
	return prefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
}

// Environment puts the variables that begin with prefix into a layer. An empty variable is as good as none: scripts and unit
// files clear variables that way. unknown decides about a variable of no key, with the names that there are.
func (r *Reader) Environment(env map[string]string, prefix string, unknown func(name string, known []string) error) (Layer, error) {
	names, old := map[string]Key{}, map[string]Key{}
	for _, k := range r.Table.Keys {
		names[Variable(prefix, k.Name)] = k
		for _, o := range k.Old {
			old[Variable(prefix, o)] = k
		}
	}
	known := slices.Sorted(maps.Keys(names))
	l := Layer{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		if value == "" || !strings.HasPrefix(name, prefix) {
			continue
		}
		where := "environment " + name
		k, ok := names[name]
		if !ok {
			if k, ok = old[name]; !ok {
				if err := unknown(name, known); err != nil {
					return nil, err
				}
				continue
			}
			r.Renamed(where, name, Variable(prefix, k.Name))
		}
		v := k.Written(value, Source{Kind: FromEnvironment, Name: name})
		v.As = name
		if err := r.Put(l, k, where, v); err != nil {
			return nil, err
		}
	}
	return l, nil
}
