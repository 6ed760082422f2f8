package conn

// A layer is what one place says: the flags, a file, a profile, the
// environment. Here names are checked as they are put into one, and layers are
// merged.

import (
	"fmt"
	"slices"
	"strings"
)

type layer struct {
	// name is the profile's name where the layer is a profile.
	name   string
	values map[string]Value
	// spelled keeps the name that was written for each key, for the message
	// about an old and a new name that disagree.
	spelled map[string]string
}

func newLayer(name string) *layer {
	return &layer{name: name, values: map[string]Value{}, spelled: map[string]string{}}
}

// reader fills layers from one file, or from the flags or the environment, and
// keeps the warnings.
type reader struct {
	schema   *schema
	warnings []Warning
	owns     func(name string) bool
	owned    []OwnedValue
}

func (r *reader) warn(where, text, hint string) {
	r.warnings = append(r.warnings, Warning{Where: where, Text: text, Hint: hint})
}

// set puts a known key into a layer. spelled is the name as written there,
// with where it is written.
func (r *reader) set(l *layer, k key, spelled, where string, v Value) error {
	if have, ok := l.values[k.name]; ok {
		first := l.spelled[k.name]
		if !sameValue(have, v) {
			return &ConfigError{Where: where,
				Text: fmt.Sprintf("%s and %s (%s) are the same setting with different values", spelled, first, have.Source),
				Hint: "keep " + k.name + " and remove the other"}
		}
		return nil
	}
	if k.group != "" {
		for name, have := range l.values {
			if r.schema.by[name].group == k.group {
				return &ConfigError{Where: where,
					Text: fmt.Sprintf("%s and %s (%s) are two ways to say one thing", spelled, l.spelled[name], have.Source),
					Hint: "keep one of them"}
			}
		}
	}
	l.values[k.name] = v
	l.spelled[k.name] = spelled
	return nil
}

// renamedWarning is for a name that still works.
func (r *reader) renamedWarning(where, old, now string) {
	r.warn(where, fmt.Sprintf("%s is now called %s; the old name still works", old, now), "rename it to "+now)
}

func sameValue(a, b Value) bool {
	return a.Text == b.Text && slices.Equal(a.List, b.List)
}

// scalar makes a Value from text; lists are split at commas.
func scalar(k key, s string, src Source) Value {
	if k.kind != kindList {
		return Value{Text: s, Source: src}
	}
	return Value{List: splitList(s), Source: src}
}

func splitList(s string) []string {
	items := strings.Split(s, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// merge lays the layers over each other, strongest first. Guards are not
// merged: a weaker layer's guard still holds (see Settings.Guards).
func (s *schema) merge(layers []*layer) map[string]Value {
	out := map[string]Value{}
	taken := map[string]bool{} // groups that a stronger layer has set
	for _, l := range layers {
		groups := map[string]bool{}
		for name, v := range l.values {
			k := s.by[name]
			if k.class == guard || k.group != "" && taken[k.group] {
				continue
			}
			if _, ok := out[name]; !ok {
				out[name] = v
			}
			if k.group != "" {
				groups[k.group] = true
			}
		}
		for g := range groups {
			taken[g] = true
		}
	}
	return out
}

// only returns the layer's values that keep says to keep.
func (s *schema) only(l *layer, keep func(key) bool) *layer {
	out := newLayer(l.name)
	for name, v := range l.values {
		if keep(s.by[name]) {
			out.values[name] = v
			out.spelled[name] = l.spelled[name]
		}
	}
	return out
}
