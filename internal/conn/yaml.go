package conn

// The configuration file: YAML read as nodes, so that every message has a line.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/wholefile"
)

// configFile is a configuration file as read. A file that does not exist is an
// empty one, unless it was named.
type configFile struct {
	path string
	// exists says whether there was a file.
	exists   bool
	current  string
	currLine int
	defaults config.Layer
	profiles map[string]config.Layer
	// order has the profiles' names as the file has them.
	order []string
	// lines has the line each profile begins at.
	lines   map[string]int
	consume *yaml.Node
}

// readConfig reads the file at path. named says that the operator asked for
// this file, so that its absence is an error.
func (r *reader) readConfig(path string, named bool, from string) (*configFile, error) {
	f := &configFile{path: path, defaults: config.Layer{}, profiles: map[string]config.Layer{}, lines: map[string]int{}}
	if path == "" {
		return f, nil
	}
	data, err := wholefile.Read(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return f, nil
	}
	if err != nil {
		return nil, &config.Error{Where: from, Text: "cannot read the configuration file", Err: err}
	}
	f.exists = true
	return f, r.parseConfig(f, data)
}

func (r *reader) parseConfig(f *configFile, data []byte) error {
	root, err := config.Document(f.path, data)
	if root == nil {
		return err
	}
	pairs, err := config.Pairs(root, f.path, "the file")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		switch p.Name {
		case "current_profile":
			v := config.Resolve(p.Value)
			if v.Kind != yaml.ScalarNode {
				return config.Errorf(f.at(p), "", "current_profile must be the name of a profile")
			}
			if !config.IsNull(v) {
				f.current, f.currLine = v.Value, v.Line
			}
		case "defaults":
			in := section{file: f, layer: f.defaults, kind: config.FromDefaults}
			if err := r.section(in, p.Value, ""); err != nil {
				return err
			}
		case "profiles":
			if err := r.profiles(f, p.Value); err != nil {
				return err
			}
		case "consume":
			// Another package's; it reads the node with its line numbers.
			f.consume = config.Resolve(p.Value)
		default:
			if err := r.unknownGuard(f, p.Name, p.Key, p.Value); err != nil {
				return err
			}
			hint := config.Near(p.Name, []string{"current_profile", "defaults", "profiles", "consume"})
			if k, _, ok := r.Table.Lookup(p.Name); ok || len(r.Table.Under(p.Name)) > 0 {
				hint = fmt.Sprintf("write %s under defaults: or under a profile", cmp.Or(k.Name, p.Name))
			}
			r.Warn(f.at(p), fmt.Sprintf("unknown key %q", p.Name), hint)
		}
	}
	return nil
}

func (f *configFile) at(p config.Pair) string { return config.Place(f.path, p.Key.Line) }

func (r *reader) profiles(f *configFile, n *yaml.Node) error {
	pairs, err := config.Pairs(n, f.path, "profiles")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if strings.TrimSpace(p.Name) == "" {
			return config.Errorf(f.at(p), "", "a profile has an empty name")
		}
		l := config.Layer{}
		f.profiles[p.Name] = l
		f.order = append(f.order, p.Name)
		f.lines[p.Name] = p.Key.Line
		// One with nothing in it yet is null.
		if err := r.section(section{file: f, layer: l, kind: config.FromProfile, profile: p.Name}, p.Value, ""); err != nil {
			return err
		}
	}
	return nil
}

// section is a place of the file that holds settings: the defaults, or a profile.
type section struct {
	file    *configFile
	layer   config.Layer
	kind    config.SourceKind
	profile string
}

// section reads the settings under one mapping. prefix is "" or such as "tls.".
func (r *reader) section(in section, n *yaml.Node, prefix string) error {
	pairs, err := config.Pairs(n, in.file.path, cmp.Or(strings.TrimSuffix(prefix, "."), in.profile, "defaults"))
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if err := r.setting(in, p, prefix+p.Name); err != nil {
			return err
		}
	}
	return nil
}

// setting reads one key of a section, or the section that it is.
func (r *reader) setting(in section, p config.Pair, name string) error {
	f, where, value := in.file, in.file.at(p), config.Resolve(p.Value)
	k, old, known := r.Table.Lookup(name)
	if under := r.Table.Under(name); !known && len(under) > 0 {
		switch {
		case config.IsNull(value):
			return nil
		case value.Kind != yaml.ScalarNode:
			return r.section(in, value, name+".")
		case name != "tls" || value.Tag != "!!bool":
			return config.Errorf(where, "its keys are "+strings.Join(under, ", "), "%s must be a mapping", name)
		}
		// tls: true is what people write first.
		k, known = r.Table.Key("tls.enabled"), true
	}
	if !known {
		if err := r.unknownGuard(f, name, p.Key, p.Value); err != nil {
			return err
		}
		r.Warn(where, fmt.Sprintf("unknown key %q", name), r.unknownHint(name))
		return nil
	}
	if old {
		r.Renamed(where, name, k.Name)
	}
	v, set, err := k.FromYAML(value, where, config.Source{Kind: in.kind, Name: in.profile, File: f.path, Line: p.Line()})
	if err != nil || !set {
		return err
	}
	if in.kind == config.FromDefaults && k.Name == "cluster_id" {
		r.Warn(where, "cluster_id has no effect here: it records which cluster a profile is", "write it under the profile")
		return nil
	}
	v.As = name
	return r.Put(in.layer, k, where, v)
}

func (r *reader) unknownHint(name string) string {
	if h := config.Near(name, r.Table.Names()); h != "" {
		return h
	}
	// A key at the wrong depth: mechanism: instead of sasl: {mechanism:}.
	for _, n := range r.Table.Names() {
		if strings.HasSuffix(n, "."+name) {
			return "did you mean " + n + "?"
		}
	}
	if name == "consume" {
		return "consume: belongs at the top of the file"
	}
	return ""
}
