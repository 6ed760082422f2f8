package consumeconf

// Layers of values, and how they are laid over each other.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Source is where a value came from.
type Source struct {
	Layer Layer
	// Name is the flag, the variable, the job; or the file and line as FILE:LINE.
	Name string
}

// Layer is a group of values of one origin. Smaller is closer to the run.
type Layer uint8

// The layers, strongest first.
const (
	FromFlag Layer = iota + 1
	FromCommandConfig
	FromFlinkConf
	FromJob
	FromEnvironment
	FromDefaults
	FromBuiltin
)

// String names the source as messages do.
func (s Source) String() string {
	switch s.Layer {
	case FromFlag:
		return "flag " + s.Name
	case FromFlinkConf, FromCommandConfig:
		return s.Name
	case FromJob:
		return "job (" + s.Name + ")"
	case FromEnvironment:
		return "environment " + s.Name
	case FromDefaults:
		return "defaults (" + s.Name + ")"
	}
	return "default"
}

// Value is one setting.
type Value struct {
	Key    string // today's name
	Text   string
	Source Source
	// As is the spelling that was used, where it is not today's name.
	As string
}

// Warning is something to say that stops nothing.
type Warning struct {
	Where, Text, Hint string
}

// String is the warning without its hint.
func (w Warning) String() string {
	if w.Where == "" {
		return w.Text
	}
	return w.Where + ": " + w.Text
}

// Error is a configuration that cannot be used.
type Error struct {
	Where, Text, Hint string
	Err               error
}

func (e *Error) Error() string {
	t := e.Text
	if e.Where != "" {
		t = e.Where + ": " + t
	}
	return t
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is always usage.
func (e *Error) ErrorKind() offset.ErrorKind { return offset.KindUsage }

func errorf(where, hint, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Where: where, Text: offset.Mask(err.Error()), Hint: hint, Err: err}
}

// Set is what was read so far: a layer each.
type Set struct {
	t        *table
	layers   map[Layer]map[string]Value
	unused   []Value // of --flink-conf: not koffset's
	idle     []Value // of --command-config: without effect here
	warnings []Warning
	jobs     map[string]job
	// indexed collects connector.specific-offsets.N.partition and .offset.
	indexed map[Layer]map[string]map[string]Value
	chosen  string // the job
}

// New makes an empty set.
func New() *Set {
	return &Set{t: newTable(), layers: map[Layer]map[string]Value{}, indexed: map[Layer]map[string]map[string]Value{}}
}

func (s *Set) warn(where, hint, format string, args ...any) {
	s.warnings = append(s.warnings, Warning{where, offset.Mask(fmt.Sprintf(format, args...)), hint})
}

// Flag puts a value that a flag gave under a key.
func (s *Set) Flag(flag, key, value string) error {
	return s.put(Value{Key: key, Text: value, Source: Source{FromFlag, flag}}, key)
}

// Owns says that a name is one that consume knows, also one of Kafka's or Flink's that has no effect here.
func Owns(name string) bool {
	for _, p := range prefixes() {
		name = strings.TrimPrefix(name, p)
	}
	_, _, ok := newTable().lookup(name)
	_, idle := noEffect()[name]
	_, no := refused()[name]
	return ok || idle || no || strings.HasPrefix(name, "connector.specific-offsets.")
}

// Client takes settings of -X and of a Java client's .properties file, which may hold Flink's keys too.
func (s *Set) Client(name, value, where string, flag bool) error {
	src := Source{FromCommandConfig, where}
	if flag {
		src.Layer = FromFlag
	}
	if value == "" && !flag {
		return nil // as good as none, as in Java
	}
	return s.raw(name, value, src)
}

// tellIdle says in one warning what of a client's file has no effect: such files are shared, and hold dozens of keys.
func (s *Set) tellIdle() {
	if len(s.idle) == 0 {
		return
	}
	file, _, _ := strings.Cut(s.idle[0].Source.Name, ":")
	var parts []string
	known := noEffect()
	for _, v := range s.idle {
		text := v.Key
		if why := known[strings.TrimPrefix(v.Key, "properties.")]; why != "" {
			text += " (" + why + ")"
		}
		parts = append(parts, text)
	}
	slices.Sort(parts)
	s.warn(file, "", "no effect in consume: %s", strings.Join(parts, ", "))
	s.idle = nil
}

// Environment takes KOFFSET_CONSUME_* out of the process's variables (as os.Environ gives them): the key in upper case,
// with _ for everything that is not a letter or digit. It returns the names that it took.
func (s *Set) Environment(environ []string) (taken []string, err error) {
	by := map[string]string{}
	for _, k := range s.t.keys {
		by[envName(k.name)] = k.name
	}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		if value == "" { // as an unset one: a unit file or a compose file leaves them so
			taken = append(taken, name)
			continue
		}
		taken = append(taken, name)
		key, ok := by[name]
		if !ok {
			s.warn("environment "+name, near(name, slices.Collect(maps.Keys(by))), "no setting of consume is called so")
			continue
		}
		if err := s.put(Value{Key: key, Text: value, Source: Source{FromEnvironment, name}}, key); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// EnvironmentNames are the variables that belong to consume, whether they are known or not.
func EnvironmentNames(environ []string) []string {
	var out []string
	for _, e := range environ {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, envPrefix) {
			out = append(out, name)
		}
	}
	return out
}

const envPrefix = "KOFFSET_CONSUME_"

func envName(key string) string {
	return envPrefix + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, key)
}

func near(name string, known []string) string {
	if n := text.Near(name, known); len(n) > 0 {
		return "did you mean " + n[0] + "?"
	}
	return ""
}

// raw takes a key as it is spelled in a file.
func (s *Set) raw(spelled, value string, src Source) error {
	where := src.String()
	name := spelled
	for _, p := range prefixes() {
		name = strings.TrimPrefix(name, p)
	}
	if hint, ok := refused()[name]; ok {
		return errorf(where, hint, "%s is not supported", spelled)
	}
	if s.index(name, Value{Text: value, Source: src, As: spelled}) {
		return nil
	}
	k, old, ok := s.t.lookup(name)
	if !ok {
		return s.unknown(name, spelled, value, src)
	}
	v := Value{Key: k.name, Text: value, Source: src}
	if spelled != k.name {
		v.As = spelled
	}
	if old {
		s.warn(where, "write "+k.name, "%s is called %s today", spelled, k.name)
	}
	return s.put(v, spelled)
}

func (s *Set) unknown(name, spelled, value string, src Source) error {
	if src.Layer == FromCommandConfig {
		s.idle = append(s.idle, Value{Key: spelled, Text: value, Source: src})
		return nil
	}
	if why, ok := noEffect()[name]; ok {
		s.warn(src.String(), "", "%s has no effect: %s", spelled, why)
		return nil
	}
	if src.Layer == FromFlinkConf {
		s.unused = append(s.unused, Value{Key: spelled, Text: value, Source: src})
		return nil
	}
	if strings.HasPrefix(name, "properties.") {
		s.warn(src.String(), "settings of the connection belong in a profile or in a {{command-config FILE}}", "%s is not used", spelled)
		return nil
	}
	s.warn(src.String(), near(name, s.t.names()), "unknown setting %q", spelled)
	return nil
}

// index collects the entries of the 1.9 descriptor, one key a number.
func (s *Set) index(name string, v Value) bool {
	rest, ok := strings.CutPrefix(name, "connector.specific-offsets.")
	if !ok {
		return false
	}
	n, what, ok := strings.Cut(rest, ".")
	if !ok || what != "partition" && what != "offset" {
		return false
	}
	l := v.Source.Layer
	if s.indexed[l] == nil {
		s.indexed[l] = map[string]map[string]Value{}
	}
	if s.indexed[l][n] == nil {
		s.indexed[l][n] = map[string]Value{}
	}
	s.indexed[l][n][what] = v
	return true
}

// fold turns collected entries into one value.
func (s *Set) fold() error {
	for l, entries := range s.indexed {
		var parts []string
		var src Source
		for _, n := range slices.Sorted(maps.Keys(entries)) {
			e := entries[n]
			p, okp := e["partition"]
			o, oko := e["offset"]
			src = p.Source
			if !okp || !oko {
				return errorf(e["offset"].Source.String(), "", "connector.specific-offsets.%s needs a partition and an offset", n)
			}
			parts = append(parts, "partition:"+p.Text+",offset:"+o.Text)
		}
		s.warn(src.String(), "write "+StartupOffsets, "connector.specific-offsets.N.* are called %s today", StartupOffsets)
		if err := s.put(Value{Key: StartupOffsets, Text: strings.Join(parts, ";"), Source: src, As: "connector.specific-offsets.N"}, "connector.specific-offsets.N"); err != nil {
			return err
		}
		delete(s.indexed, l)
	}
	return nil
}

// put stores a value in its layer. Two spellings with different values in one layer are an error.
func (s *Set) put(v Value, spelled string) error {
	l := s.layers[v.Source.Layer]
	if l == nil {
		l = map[string]Value{}
		s.layers[v.Source.Layer] = l
	}
	if before, ok := l[v.Key]; ok && before.Text != v.Text {
		name := func(v Value) string {
			if v.As != "" {
				return v.As
			}
			return v.Key
		}
		return errorf(v.Source.String(), "leave one of them out", "%s is %q, and %s (%s) is %q: both are one setting", spelled, v.Text, name(before), before.Source, before.Text)
	}
	l[v.Key] = v
	return nil
}

// exclusive are keys that are ways to say one thing: the closest layer that has one of them decides, and one layer may
// have only one.
func exclusive() [][]string {
	return [][]string{{From, StartupMode}, {Until, BoundedMode}}
}

// Resolved is a set laid together.
type Resolved struct {
	Job      string
	values   map[string]Value
	Warnings []Warning
	// Unused are the settings of --flink-conf that are not koffset's.
	Unused []Value
	t      *table
}

// Resolve lays the layers over each other.
func (s *Set) Resolve() (*Resolved, error) {
	if err := s.fold(); err != nil {
		return nil, err
	}
	s.tellIdle()
	r := &Resolved{Job: s.chosen, values: map[string]Value{}, Unused: s.unused, t: s.t}
	for l := FromBuiltin; l >= FromFlag; l-- {
		layer := s.layers[l]
		for _, group := range exclusive() {
			var has []string
			for _, k := range group {
				if _, ok := layer[k]; ok {
					has = append(has, k)
				}
			}
			if len(has) > 1 {
				a, b := layer[has[0]], layer[has[1]]
				return nil, errorf(b.Source.String(), "leave one of them out", "%s and %s (%s) both say it", has[1], has[0], a.Source)
			}
			if len(has) == 1 {
				for _, k := range group {
					delete(r.values, k)
				}
			}
		}
		maps.Copy(r.values, layer)
	}
	r.Warnings = append(r.Warnings, s.warnings...)
	return r, nil
}

// Get returns what counts for a key, with its source; the built-in value where nobody said anything.
func (r *Resolved) Get(name string) Value {
	if v, ok := r.values[name]; ok {
		return v
	}
	k := r.t.by[name]
	return Value{Key: name, Text: k.builtin, Source: Source{Layer: FromBuiltin}}
}

// Has says that somebody set the key.
func (r *Resolved) Has(name string) bool { _, ok := r.values[name]; return ok }
