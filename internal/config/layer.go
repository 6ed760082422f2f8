package config

// A layer is what one place says. Here names are checked as they are put into one, and layers are laid over each other.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/offset"
)

// Layer is what one place says, by today's names.
type Layer map[string]Value

// Reader fills layers, and keeps what should be said about them.
type Reader struct {
	Table    *Table
	Warnings []Warning
}

// Warn keeps a warning. Passwords of URLs in it are masked.
func (r *Reader) Warn(where, text, hint string) {
	r.Warnings = append(r.Warnings, Warning{Where: where, Text: offset.Mask(text), Hint: hint})
}

// Renamed warns of a name that still works.
func (r *Reader) Renamed(where, old, now string) {
	r.Warn(where, fmt.Sprintf("%s is now called %s; the old name still works", old, now), "rename it to "+now)
}

// Put puts a value into a layer. v.As is the name as written at where.
func (r *Reader) Put(l Layer, k Key, where string, v Value) error {
	if have, ok := l[k.Name]; ok {
		if SameValue(have, v) {
			return nil
		}
		return Errorf(where, "keep "+k.Name+" and remove the other", "%s and %s (%s) are the same setting with different values", v.As, have.As, have.Source)
	}
	if k.Group != "" {
		for name, have := range l {
			if r.Table.Key(name).Group == k.Group {
				return Errorf(where, "keep one of them", "%s and %s (%s) are two ways to say one thing", v.As, have.As, have.Source)
			}
		}
	}
	l[k.Name] = v
	return nil
}

// SameValue says that two values are the same, wherever they came from.
func SameValue(a, b Value) bool {
	return a.Text == b.Text && slices.Equal(a.List, b.List)
}

// Written makes a Value of text; lists are split at commas.
func (k Key) Written(s string, src Source) Value {
	if k.Kind != List {
		return Value{Text: s, Source: src}
	}
	return Value{List: SplitList(s), Source: src}
}

// SplitList splits at commas.
func SplitList(s string) []string {
	items := strings.Split(s, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// Merge lays layers over each other, strongest first. Keys that skip names are left out.
func (t *Table) Merge(layers []Layer, skip func(Key) bool) Layer {
	out := Layer{}
	taken := map[string]bool{} // groups that a stronger layer has set
	for _, l := range layers {
		groups := map[string]bool{}
		for name, v := range l {
			k := t.Key(name)
			if skip != nil && skip(k) || k.Group != "" && taken[k.Group] {
				continue
			}
			if _, ok := out[name]; !ok {
				out[name] = v
			}
			if k.Group != "" {
				groups[k.Group] = true
			}
		}
		for g := range groups {
			taken[g] = true
		}
	}
	return out
}

// Only is the layer's values whose keys keep says to keep.
func (t *Table) Only(l Layer, keep func(Key) bool) Layer {
	out := Layer{}
	for name, v := range l {
		if keep(t.Key(name)) {
			out[name] = v
		}
	}
	return out
}
