package conn

// The configuration file: YAML read as nodes, so that every message has a line.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// configFile is a configuration file as read. A file that does not exist is an
// empty one, unless it was named.
type configFile struct {
	path string
	// exists says whether there was a file.
	exists   bool
	current  string
	currLine int
	defaults *layer
	profiles map[string]*layer
	// order has the profiles' names as the file has them.
	order []string
	// lines has the line each profile begins at.
	lines   map[string]int
	consume *yaml.Node
}

// readConfig reads the file at path. named says that the operator asked for
// this file, so that its absence is an error.
func (r *reader) readConfig(path string, named bool, from string) (*configFile, error) {
	f := &configFile{path: path, defaults: newLayer(""), profiles: map[string]*layer{}, lines: map[string]int{}}
	if path == "" {
		return f, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return f, nil
	}
	if err != nil {
		return nil, &ConfigError{Where: from, Text: "cannot read the configuration file", Err: err}
	}
	f.exists = true
	return f, r.parseConfig(f, data)
}

func (r *reader) parseConfig(f *configFile, data []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return &ConfigError{Where: place(f.path, 0), Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if len(doc.Content) == 0 {
		return nil // empty, or only comments
	}
	root := resolve(doc.Content[0])
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	pairs, err := f.mapping(root, "the file")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		where := place(f.path, p.key.Line)
		switch p.name {
		case "current_profile":
			v := resolve(p.value)
			if v.Kind != yaml.ScalarNode {
				return &ConfigError{Where: where, Text: "current_profile must be the name of a profile"}
			}
			if v.Tag != "!!null" {
				f.current, f.currLine = v.Value, v.Line
			}
		case "defaults":
			if err := r.section(f, f.defaults, FromDefaults, p.value, ""); err != nil {
				return err
			}
		case "profiles":
			if err := r.profiles(f, p.value); err != nil {
				return err
			}
		case "consume":
			// Another package's; it reads the node with its line numbers.
			f.consume = resolve(p.value)
		default:
			if err := r.unknownGuard(f, p.name, p.key, p.value); err != nil {
				return err
			}
			known := []string{"current_profile", "defaults", "profiles", "consume"}
			hint := hintNear(p.name, known)
			if k, _, ok := r.schema.lookup(p.name); ok || r.schema.section(p.name) {
				hint = fmt.Sprintf("write %s under defaults: or under a profile", orElse(k.name, p.name))
			}
			r.warn(where, fmt.Sprintf("unknown key %q", p.name), hint)
		}
	}
	return nil
}

func (r *reader) profiles(f *configFile, n *yaml.Node) error {
	pairs, err := f.mapping(resolve(n), "profiles")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if strings.TrimSpace(p.name) == "" {
			return &ConfigError{Where: place(f.path, p.key.Line), Text: "a profile has an empty name"}
		}
		l := newLayer(p.name)
		f.profiles[p.name] = l
		f.order = append(f.order, p.name)
		f.lines[p.name] = p.key.Line
		if v := resolve(p.value); v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
			continue // a profile with nothing in it yet
		}
		if err := r.section(f, l, FromProfile, p.value, ""); err != nil {
			return err
		}
	}
	return nil
}

// section reads the settings under one mapping. prefix is "" or such as "tls.".
func (r *reader) section(f *configFile, l *layer, kind SourceKind, n *yaml.Node, prefix string) error {
	pairs, err := f.mapping(resolve(n), orElse(strings.TrimSuffix(prefix, "."), orElse(l.name, "defaults")))
	if err != nil {
		return err
	}
	for _, p := range pairs {
		where := place(f.path, p.key.Line)
		value := resolve(p.value)
		name := prefix + p.name
		src := Source{Kind: kind, Name: l.name, File: f.path, Line: p.value.Line}
		if p.value.Kind == yaml.AliasNode {
			src.Line = p.key.Line
		}
		k, old, known := r.schema.lookup(name)
		switch {
		case known && old != "":
			r.renamedWarning(where, old, k.name)
		case !known && r.schema.section(name):
			if value.Kind == yaml.ScalarNode {
				if value.Tag == "!!null" {
					continue
				}
				// tls: true is what people write first.
				if name != "tls" || value.Tag != "!!bool" {
					return &ConfigError{Where: where, Text: name + " must be a mapping",
						Hint: "its keys are " + strings.Join(r.schema.under(name), ", ")}
				}
				k, known = r.schema.by["tls.enabled"], true
			} else {
				if err := r.section(f, l, kind, value, name+"."); err != nil {
					return err
				}
				continue
			}
		}
		if !known {
			if err := r.unknownGuard(f, name, p.key, p.value); err != nil {
				return err
			}
			r.warn(where, fmt.Sprintf("unknown key %q", name), r.unknownHint(name))
			continue
		}
		v, set, err := yamlValue(k, value, src, where)
		if err != nil {
			return err
		}
		if !set {
			continue
		}
		if kind == FromDefaults && k.name == "cluster_id" {
			r.warn(where, "cluster_id has no effect here: it records which cluster a profile is", "write it under the profile")
			continue
		}
		if err := r.set(l, k, name, where, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) unknownHint(name string) string {
	if h := hintNear(name, r.schema.names()); h != "" {
		return h
	}
	// A key at the wrong depth: mechanism: instead of sasl: {mechanism:}.
	for _, n := range r.schema.names() {
		if strings.HasSuffix(n, "."+name) {
			return "did you mean " + n + "?"
		}
	}
	if name == "consume" {
		return "consume: stands at the top of the file"
	}
	return ""
}

// under lists the keys of a section without its prefix.
func (s *schema) under(section string) []string {
	var out []string
	for _, k := range s.keys {
		if rest, ok := strings.CutPrefix(k.name, section+"."); ok {
			out = append(out, rest)
		}
	}
	return out
}

// yamlValue reads one setting; set is false for null.
func yamlValue(k key, n *yaml.Node, src Source, where string) (v Value, set bool, err error) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return Value{}, false, nil
		}
		if k.kind != kindList {
			return Value{Text: n.Value, Source: src}, true, nil
		}
		return Value{List: splitList(n.Value), Source: src}, true, nil
	case yaml.SequenceNode:
		if k.kind != kindList {
			return Value{}, false, &ConfigError{Where: where, Text: k.name + " takes one value, not a list"}
		}
		v = Value{Source: src, List: []string{}}
		for _, item := range n.Content {
			item = resolve(item)
			if item.Kind != yaml.ScalarNode {
				return Value{}, false, &ConfigError{Where: where, Text: k.name + " must be a list of plain values"}
			}
			v.List = append(v.List, item.Value)
		}
		return v, true, nil
	default:
		return Value{}, false, &ConfigError{Where: where, Text: k.name + " must be a plain value"}
	}
}

type pair struct {
	name       string
	key, value *yaml.Node
}

// mapping lists the pairs of a mapping node, << merges included (a key of the
// mapping itself wins over a merged one). A key written twice is an error: as
// nodes, YAML keeps both, and which of them counts would be luck.
func (f *configFile) mapping(n *yaml.Node, what string) ([]pair, error) {
	return f.mappingIn(n, what, map[*yaml.Node]bool{})
}

func (f *configFile) mappingIn(n *yaml.Node, what string, inside map[*yaml.Node]bool) ([]pair, error) {
	if inside[n] {
		// yaml checks this only when it decodes into Go values.
		return nil, &ConfigError{Where: place(f.path, n.Line), Text: what + " merges itself"}
	}
	inside[n] = true
	defer delete(inside, n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, &ConfigError{Where: place(f.path, n.Line), Text: what + " must be a mapping of keys and values"}
	}
	var out []pair
	var merged []*yaml.Node
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			m := resolve(v)
			if m.Kind == yaml.SequenceNode {
				for _, item := range m.Content {
					merged = append(merged, resolve(item))
				}
			} else {
				merged = append(merged, m)
			}
			continue
		}
		if k.Kind != yaml.ScalarNode {
			return nil, &ConfigError{Where: place(f.path, k.Line), Text: "a key of " + what + " is not a plain word"}
		}
		if line, dup := seen[k.Value]; dup {
			return nil, &ConfigError{Where: place(f.path, k.Line),
				Text: fmt.Sprintf("%s is written twice (first in line %d)", k.Value, line), Hint: "remove one of them"}
		}
		seen[k.Value] = k.Line
		out = append(out, pair{name: k.Value, key: k, value: v})
	}
	for _, m := range merged {
		more, err := f.mappingIn(m, what, inside)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			if _, have := seen[p.name]; !have {
				seen[p.name] = p.key.Line
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
