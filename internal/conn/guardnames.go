package conn

// A guard rail under a mistyped name. Any other setting that is misspelt fails to work and is noticed; a guard rail is
// noticed on the day it was needed. So its name is an error, where other unknown names are a warning.

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/text"
)

// shortestStem is how much of a name must be there for one that is longer or shorter to mean the same: protected,
// confirm_cluster_id.
const shortestStem = 5

// plainName is a name without what people write differently: max-skip, maxSkip and Max_Skip are max_skip.
func plainName(name string) string {
	name = name[strings.LastIndexByte(name, '.')+1:]
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// meantGuard is the guard rail that an unknown name was probably meant to be, or "".
func meantGuard(t *config.Table, name string) string {
	typed := plainName(name)
	if typed == "" {
		return ""
	}
	guards := map[string]string{}
	var all []string
	for _, k := range t.Keys {
		plain := plainName(k.Name)
		all = append(all, plain)
		if k.Class != guard {
			continue
		}
		guards[plain] = k.Name
		if n := min(len(plain), len(typed)); n >= shortestStem && plain[:n] == typed[:n] {
			return k.Name
		}
	}
	// A name that is nearer to some other setting means that one.
	return guards[text.Nearest(typed, all)]
}

// guardInside finds a guard rail among the keys of a mapping that is not read, such as guards: or a misspelt defaults:. It
// returns the key as it is written and what it was meant to be.
func (r *reader) guardInside(n *yaml.Node) (key *yaml.Node, meant string) {
	n = config.Resolve(n)
	if n.Kind != yaml.MappingNode {
		return nil, ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if k, _, ok := r.Table.Lookup(name); ok && k.Class == guard {
			return n.Content[i], k.Name
		}
		if key, meant := r.guardInside(n.Content[i+1]); key != nil {
			return key, meant
		}
	}
	return nil, ""
}

// unknownGuard is the error for an unknown key that is a guard rail's, or holds one; nil for any other.
func (r *reader) unknownGuard(f *configFile, name string, key, value *yaml.Node) error {
	if inside, meant := r.guardInside(value); inside != nil {
		return &config.Error{Where: config.Place(f.path, inside.Line), Text: fmt.Sprintf("the guard rail %s would not hold: koffset does not read what is under %q", inside.Value, name),
			Hint: fmt.Sprintf("write %s under defaults: or directly under a profile", meant)}
	}
	if meant := meantGuard(r.Table, name); meant != "" {
		e := &config.Error{Where: config.Place(f.path, key.Line), Text: fmt.Sprintf("unknown key %q, which looks like the guard rail %s and would not hold", name, meant),
			Hint: fmt.Sprintf("did you mean %s?", meant)}
		if k, _, ok := r.Table.Lookup(name[strings.LastIndexByte(name, '.')+1:]); ok {
			e.Text = fmt.Sprintf("the guard rail %s would not hold here", k.Name)
			e.Hint = fmt.Sprintf("write %s under defaults: or directly under a profile", k.Name)
		}
		return e
	}
	return nil
}
