package config

import "strings"

// Kind is the form of a value.
type Kind uint8

// The forms.
const (
	Text     Kind = iota
	Bool          // true or false
	Duration      // 30s, 7d, PT1H; more than zero
	Count         // a whole number, zero or more
	List          // several items: a YAML list, or text with commas
	Path          // a file or folder; ~ and relative paths are resolved
)

// Key is a setting.
type Key struct {
	Name string
	Kind Kind
	// Class is the table's own: what the setting is about.
	Class uint8
	// Secret values are masked wherever they are shown.
	Secret bool
	// Group joins keys that are ways to say one thing: a stronger layer that sets one of them hides them all in weaker
	// layers, and one layer may set only one.
	Group string
	// Old are names of earlier versions and of other tools: they work, and warn.
	Old []string
	// Same are other names in use today: they work without a word.
	Same []string
	// For are the values of another setting that the key is for (SASL mechanisms); nil is all.
	For []string
	// Builtin is what counts when nobody says anything; empty is nothing.
	Builtin string
	// Why is what the key is for, in a few words.
	Why string
}

// Table is the keys by every name.
type Table struct {
	Keys []Key
	by   map[string]*Key
	old  map[string]bool
}

// NewTable indexes keys. A name that two keys have is that of the first, and today's names come before others.
func NewTable(keys []Key) *Table {
	t := &Table{Keys: keys, by: map[string]*Key{}, old: map[string]bool{}}
	add := func(name string, k *Key) bool {
		if _, taken := t.by[name]; taken {
			return false
		}
		t.by[name] = k
		return true
	}
	for i := range keys {
		add(keys[i].Name, &keys[i])
	}
	for i := range keys {
		for _, name := range keys[i].Same {
			add(name, &keys[i])
		}
		for _, name := range keys[i].Old {
			if add(name, &keys[i]) {
				t.old[name] = true
			}
		}
	}
	return t
}

// Lookup finds a key by one of its names; old says that it is an earlier one.
func (t *Table) Lookup(name string) (k Key, old, ok bool) {
	p, ok := t.by[name]
	if !ok {
		return Key{}, false, false
	}
	return *p, t.old[name], true
}

// Key is the key of a name that is known to be one.
func (t *Table) Key(name string) Key {
	k, _, _ := t.Lookup(name)
	return k
}

// Names are the names of today, in the table's order.
func (t *Table) Names() []string {
	out := make([]string, 0, len(t.Keys))
	for _, k := range t.Keys {
		out = append(append(out, k.Name), k.Same...)
	}
	return out
}

// Under lists the keys that begin with section and a dot, without them: what tls holds, as in tls.ca. It is empty where
// the name is no section.
func (t *Table) Under(section string) []string {
	var out []string
	for _, k := range t.Keys {
		if rest, ok := strings.CutPrefix(k.Name, section+"."); ok {
			out = append(out, rest)
		}
	}
	return out
}
