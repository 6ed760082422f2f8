package consumeconf

// Layers of values, and how they are laid over each other.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/config"
)

// Value is one setting.
type Value struct {
	Key string // today's name
	config.Value
}

// Set is what was read so far: a layer each.
type Set struct {
	config.Reader
	layers map[config.SourceKind]config.Layer
	unused []config.Value // of --flink-conf: not koffset's
	idle   []config.Value // of --command-config: without effect here
	jobs   map[string][]config.Value
	// indexed collects connector.specific-offsets.N.partition and .offset.
	indexed map[config.SourceKind]map[string]map[string]config.Value
	chosen  string // the job
}

// order is the layers, strongest first. What -X says is a flag's.
func order() []config.SourceKind {
	return []config.SourceKind{config.FromFlag, config.FromProperties, config.FromFlinkConf, config.FromJob, config.FromEnvironment, config.FromDefaults}
}

// New makes an empty set.
func New() *Set {
	return &Set{Reader: config.Reader{Table: newTable()}, layers: map[config.SourceKind]config.Layer{}, indexed: map[config.SourceKind]map[string]map[string]config.Value{}}
}

func (s *Set) warn(where, hint, format string, args ...any) {
	s.Warn(where, fmt.Sprintf(format, args...), hint)
}

// put stores a value in its layer. v.As is the name as written.
func (s *Set) put(key string, v config.Value) error {
	kind := v.Source.Kind
	if kind == config.FromX {
		kind = config.FromFlag
	}
	if s.layers[kind] == nil {
		s.layers[kind] = config.Layer{}
	}
	return s.Put(s.layers[kind], s.Table.Key(key), v.Source.String(), v)
}

// Flag puts a value that a flag gave under a key.
func (s *Set) Flag(flag, key, value string) error {
	return s.put(key, config.Value{Text: value, As: key, Source: config.Source{Kind: config.FromFlag, Name: flag}})
}

// Owns says that a name is one that consume knows, also one of Kafka's or Flink's that has no effect here.
func Owns(name string) bool {
	name = trimPrefixes(name)
	_, _, ok := newTable().Lookup(name)
	_, idle := noEffect()[name]
	_, no := refused()[name]
	return ok || idle || no || strings.HasPrefix(name, "connector.specific-offsets.")
}

// Client takes settings of -X and of a Java client's .properties file, which may hold Flink's keys too.
func (s *Set) Client(v config.Value) error {
	if v.Text == "" && v.Source.Kind != config.FromX {
		return nil // as good as none, as in Java
	}
	return s.raw(v)
}

// tellIdle says in one warning what of a client's file has no effect: such files are shared, and hold dozens of keys.
func (s *Set) tellIdle() {
	if len(s.idle) == 0 {
		return
	}
	var parts []string
	known := noEffect()
	for _, v := range s.idle {
		text := v.As
		if why := known[strings.TrimPrefix(v.As, "properties.")]; why != "" {
			text += " (" + why + ")"
		}
		parts = append(parts, text)
	}
	slices.Sort(parts)
	s.warn(config.Place(s.idle[0].Source.File, 0), "", "no effect in consume: %s", strings.Join(parts, ", "))
	s.idle = nil
}

// Environment takes KOFFSET_CONSUME_* out of the process's variables, as os.Environ gives them.
func (s *Set) Environment(environ []string) error {
	l, err := s.Reader.Environment(config.Environ(environ), EnvPrefix, func(name string, known []string) error {
		s.warn("environment "+name, config.Near(name, known), "unknown consume setting")
		return nil
	})
	s.layers[config.FromEnvironment] = l
	return err
}

// EnvPrefix begins the variables that belong to consume, whether they are known or not.
const EnvPrefix = "KOFFSET_CONSUME_"

// raw takes a key as it is spelled in a file.
func (s *Set) raw(v config.Value) error {
	where, name := v.Source.String(), trimPrefixes(v.As)
	if hint, ok := refused()[name]; ok {
		return config.Errorf(where, hint, "%s is not supported", v.As)
	}
	if s.index(name, v) {
		return nil
	}
	k, old, ok := s.Table.Lookup(name)
	if !ok {
		s.unknown(name, v)
		return nil
	}
	if old {
		s.Renamed(where, v.As, k.Name)
	}
	return s.put(k.Name, v)
}

func (s *Set) unknown(name string, v config.Value) {
	where, why := v.Source.String(), noEffect()[name]
	switch {
	case v.Source.Kind == config.FromProperties:
		s.idle = append(s.idle, v)
	case why != "":
		s.warn(where, "", "%s", config.NoEffect(v.As, why))
	case v.Source.Kind == config.FromFlinkConf:
		s.unused = append(s.unused, v)
	case strings.HasPrefix(name, "properties."):
		s.warn(where, "settings of the connection belong in a profile or in a {{command-config FILE}}", "%s is not used", v.As)
	default:
		s.warn(where, config.Near(name, s.Table.Names()), "unknown setting %q", v.As)
	}
}

// index collects the entries of the 1.9 descriptor, one key a number.
func (s *Set) index(name string, v config.Value) bool {
	rest, ok := strings.CutPrefix(name, "connector.specific-offsets.")
	n, what, dotted := strings.Cut(rest, ".")
	if !ok || !dotted || what != "partition" && what != "offset" {
		return false
	}
	l := v.Source.Kind
	if s.indexed[l] == nil {
		s.indexed[l] = map[string]map[string]config.Value{}
	}
	if s.indexed[l][n] == nil {
		s.indexed[l][n] = map[string]config.Value{}
	}
	s.indexed[l][n][what] = v
	return true
}

// fold turns collected entries into one value.
func (s *Set) fold() error {
	for l, entries := range s.indexed {
		var parts []string
		var src config.Source
		for _, n := range slices.Sorted(maps.Keys(entries)) {
			e := entries[n]
			p, okp := e["partition"]
			o, oko := e["offset"]
			src = p.Source
			if !okp || !oko {
				return config.Errorf(e["offset"].Source.String(), "", "connector.specific-offsets.%s needs a partition and an offset", n)
			}
			parts = append(parts, "partition:"+p.Text+",offset:"+o.Text)
		}
		const as = "connector.specific-offsets.N"
		s.Renamed(src.String(), as, StartupOffsets)
		if err := s.put(StartupOffsets, config.Value{Text: strings.Join(parts, ";"), Source: src, As: as}); err != nil {
			return err
		}
		delete(s.indexed, l)
	}
	return nil
}

// Resolved is a set laid together.
type Resolved struct {
	Job      string
	Warnings []config.Warning
	// Unused are the settings of --flink-conf that are not koffset's.
	Unused []config.Value
	values config.Layer
	table  *config.Table
}

// Resolve lays the layers over each other.
func (s *Set) Resolve() (*Resolved, error) {
	if err := s.fold(); err != nil {
		return nil, err
	}
	s.tellIdle()
	var layers []config.Layer
	for _, kind := range order() {
		layers = append(layers, s.layers[kind])
	}
	return &Resolved{Job: s.chosen, values: s.Table.Merge(layers, nil), Unused: s.unused, Warnings: s.Warnings, table: s.Table}, nil
}

// Get returns what counts for a key, with its source; the built-in value where nobody said anything.
func (r *Resolved) Get(name string) Value {
	if v, ok := r.values[name]; ok {
		return Value{name, v}
	}
	return Value{name, config.Value{Text: r.table.Key(name).Builtin, Source: config.Source{Kind: config.FromBuiltin}}}
}

// Has says that somebody set the key.
func (r *Resolved) Has(name string) bool { _, ok := r.values[name]; return ok }
