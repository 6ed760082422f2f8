package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/avro"

	"github.com/koffset/koffset/internal/text"
)

// avroType is a type as it is decoded. Names are resolved: a type that contains itself is a circle of pointers.
type avroType struct {
	kind     string
	logical  string
	fields   []avroField
	items    *avroType // of an array or a map
	branches []*avroType
	symbols  []string
	size     int
	scale    int
}

type avroField struct {
	name []byte // as JSON writes it, with the colon
	of   *avroType
}

// compileAvro parses a schema, after those that it refers to.
func compileAvro(t source) (func(dst, b []byte) ([]byte, error), error) {
	var cache avro.SchemaCache
	names := avroNames{}
	// Registries take names that the specification forbids.
	lax := avro.WithLaxNames(nil)
	for _, r := range t.refs {
		s, err := cache.Parse(r.schema, lax)
		if err != nil {
			return nil, fmt.Errorf("reference %s: %w", r.name, err)
		}
		if _, err := names.compile(s.Root(), ""); err != nil {
			return nil, fmt.Errorf("reference %s: %w", r.name, err)
		}
	}
	s, err := cache.Parse(t.Schema.Schema, lax)
	if err != nil {
		return nil, err
	}
	root, err := names.compile(s.Root(), "")
	if err != nil {
		return nil, err
	}
	return func(dst, b []byte) ([]byte, error) {
		r := avroReader{b: b}
		dst, err := r.value(dst, root, 0)
		if err == nil && len(r.b) > 0 {
			err = fmt.Errorf("%d bytes are left over", len(r.b))
		}
		return dst, err
	}, nil
}

// avroNames are the types that have a name, by their full names.
type avroNames map[string]*avroType

// compile makes a type of its node. space is the namespace around it, in which short names are looked up.
func (names avroNames) compile(n *avro.SchemaNode, space string) (*avroType, error) {
	t := &avroType{kind: n.Type, logical: n.LogicalType, symbols: n.Symbols, size: n.Size, scale: n.Scale}
	var err error
	switch n.Type {
	case "null", "boolean", "int", "long", "float", "double", "string", "bytes":
	case "record", "error":
		t.kind = "record"
		name := fullName(n)
		names[name] = t // before its fields, which may be of it
		space = name[:max(0, strings.LastIndexByte(name, '.'))]
		for i := range n.Fields {
			f := avroField{name: append(text.AppendJSON(nil, n.Fields[i].Name), ':')}
			if f.of, err = names.compile(&n.Fields[i].Type, space); err != nil {
				return nil, err
			}
			t.fields = append(t.fields, f)
		}
	case "enum", "fixed":
		names[fullName(n)] = t
	case "array", "map":
		items := n.Items
		if n.Type == "map" {
			items = n.Values
		}
		if t.items, err = names.compile(items, space); err != nil {
			return nil, err
		}
	case "union":
		for i := range n.Branches {
			b, err := names.compile(&n.Branches[i], space)
			if err != nil {
				return nil, err
			}
			t.branches = append(t.branches, b)
		}
	default:
		if t = names[space+"."+n.Type]; t == nil {
			t = names[n.Type]
		}
		if t == nil {
			return nil, fmt.Errorf("there is no type %s", n.Type)
		}
	}
	return t, nil
}

func fullName(n *avro.SchemaNode) string {
	if n.Namespace == "" || strings.Contains(n.Name, ".") {
		return n.Name
	}
	return n.Namespace + "." + n.Name
}

var errShort = errors.New("it ends too early")
