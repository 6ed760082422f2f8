package config

// YAML read as nodes, so that every message has a line.

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is the root of a YAML file; nil where the file is empty, or only comments.
func Document(file string, data []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, Errorf(Place(file, 0), "", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := Resolve(doc.Content[0])
	if IsNull(root) {
		return nil, nil
	}
	return root, nil
}

// Resolve follows aliases.
func Resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// IsNull says that a node is there and says nothing.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// Pair is a key of a mapping with its value.
type Pair struct {
	Name       string
	Key, Value *yaml.Node
}

// Line is where the value is written; that of the key where the value is an alias of something elsewhere.
func (p Pair) Line() int {
	if p.Value.Kind == yaml.AliasNode {
		return p.Key.Line
	}
	return p.Value.Line
}

// Pairs lists the pairs of a mapping, << merges included (a key of the mapping itself wins over a merged one). what names the
// mapping in messages. A key written twice is an error: as nodes, YAML keeps both, and which of them counts would be luck.
func Pairs(n *yaml.Node, file, what string) ([]Pair, error) {
	m := mapping{file: file, what: what, inside: map[*yaml.Node]bool{}}
	return m.pairs(n)
}

type mapping struct {
	file, what string
	inside     map[*yaml.Node]bool
}

func (m mapping) bad(n *yaml.Node, hint, format string, args ...any) error {
	return Errorf(Place(m.file, n.Line), hint, format, args...)
}

func (m mapping) pairs(n *yaml.Node) ([]Pair, error) {
	n = Resolve(n)
	if m.inside[n] {
		// yaml checks this only when it decodes into Go values.
		return nil, m.bad(n, "", "%s merges itself", m.what)
	}
	m.inside[n] = true
	defer delete(m.inside, n)
	if IsNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, m.bad(n, "", "%s must be a mapping of keys and values", m.what)
	}
	var out []Pair
	var merged []*yaml.Node
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			if v = Resolve(v); v.Kind == yaml.SequenceNode {
				merged = append(merged, v.Content...)
			} else {
				merged = append(merged, v)
			}
			continue
		}
		if k.Kind != yaml.ScalarNode {
			return nil, m.bad(k, "", "a key of %s is not a plain word", m.what)
		}
		if line, dup := seen[k.Value]; dup {
			return nil, m.bad(k, "remove one of them", "%s is written twice (first in line %d)", k.Value, line)
		}
		seen[k.Value] = k.Line
		out = append(out, Pair{Name: k.Value, Key: k, Value: v})
	}
	for _, from := range merged {
		more, err := m.pairs(from)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			if _, have := seen[p.Name]; !have {
				seen[p.Name] = p.Key.Line
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// FromYAML reads the value of a key; set is false for null.
func (k Key) FromYAML(n *yaml.Node, where string, src Source) (v Value, set bool, err error) {
	switch n = Resolve(n); {
	case IsNull(n):
		return Value{}, false, nil
	case n.Kind == yaml.ScalarNode:
		return k.Written(n.Value, src), true, nil
	case n.Kind != yaml.SequenceNode:
		return Value{}, false, Errorf(where, "", "%s must be a plain value", k.Name)
	case k.Kind != List:
		return Value{}, false, Errorf(where, "", "%s takes one value, not a list", k.Name)
	}
	items, err := plain(n, k.Name, where)
	return Value{Source: src, List: items}, true, err
}

func plain(n *yaml.Node, name, where string) ([]string, error) {
	items := []string{}
	for _, item := range n.Content {
		if item = Resolve(item); item.Kind != yaml.ScalarNode {
			return nil, Errorf(where, "", "%s must be a list of plain values", name)
		}
		items = append(items, item.Value)
	}
	return items, nil
}

// deepest bounds mappings in mappings: an alias may hold itself.
const deepest = 20

// Flatten turns nested mappings into dotted names, for files whose keys may be written either way. Value.As is the name. A
// list becomes its items joined with commas, and what is null is left out.
func Flatten(n *yaml.Node, file string, kind SourceKind) ([]Value, error) {
	return flatten(n, file, kind, "", 0)
}

func flatten(n *yaml.Node, file string, kind SourceKind, prefix string, depth int) ([]Value, error) {
	what := strings.TrimSuffix(prefix, ".")
	if what == "" {
		what = "the section"
	}
	if depth > deepest {
		return nil, Errorf(Place(file, n.Line), "", "%s holds itself", what)
	}
	pairs, err := Pairs(n, file, what)
	if err != nil {
		return nil, err
	}
	var out []Value
	for _, p := range pairs {
		name, v := prefix+p.Name, Resolve(p.Value)
		one := Value{As: name, Text: v.Value, Source: Source{Kind: kind, File: file, Line: p.Key.Line}}
		switch v.Kind {
		case yaml.MappingNode:
			more, err := flatten(v, file, kind, name+".", depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		case yaml.SequenceNode:
			items, err := plain(v, name, one.Source.place())
			if err != nil {
				return nil, err
			}
			one.Text = strings.Join(items, ",")
		}
		if !IsNull(v) {
			out = append(out, one)
		}
	}
	return out, nil
}
