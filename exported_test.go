package main

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// called are methods that are found by an interface of another module, not by their name in this tree.
func called() []string {
	return []string{"String", "Error", "Unwrap", "Is", "As", "Read", "Write", "Close", "Flush", "Set", "Type", "Name", "Format", "Len", "ReadFrom",
		"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "Scan", "Value",
		"MaxVersion", "ErrorKind", "Authenticate", "Challenge", "OnBrokerE2E", "OnBrokerThrottle", "OnBrokerWrite"}
}

// exported are the groups of names that a file exports: a function or a method alone, the names of one const or var together, since
// a set of words is one thing. Types are left out: most leave their package in a signature without being named outside.
func (s source) exported(yield func(group []string, n ast.Node)) {
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || !slices.Contains(called(), d.Name.Name)) {
				yield([]string{d.Name.Name}, d)
			}
		case *ast.GenDecl:
			var group []string
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, n := range v.Names {
						if n.IsExported() {
							group = append(group, n.Name)
						}
					}
				}
			}
			if len(group) > 0 {
				yield(group, d)
			}
		}
	}
}

// Outside of the packages for importers, what only its own package uses is not exported: who reads an exported name looks for its users.
// Names are compared, not objects, so that the test needs no types: a name that another package has too is let pass.
func TestNothingIsExportedForNobody(t *testing.T) {
	t.Parallel()
	all := sources(t)
	users := map[string]map[string]bool{} // by name, the packages that use it
	for _, s := range all {
		from := s.dir
		if strings.HasSuffix(s.file.Name.Name, "_test") {
			from += "_test" // stands outside
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if users[sel.Sel.Name] == nil {
					users[sel.Sel.Name] = map[string]bool{}
				}
				users[sel.Sel.Name][from] = true
			}
			return true
		})
	}
	for _, s := range all {
		if s.test() || s.program() || slices.Contains(public(), s.dir) {
			continue
		}
		s.exported(func(group []string, n ast.Node) {
			for _, name := range group {
				for user := range users[name] {
					if user != s.dir {
						return
					}
				}
			}
			t.Errorf("%s: %s exported, and no other package uses it", s.at(n), strings.Join(group, ", "))
		})
	}
}
