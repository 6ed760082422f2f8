package consumeconf

// The consume: section of the configuration file.

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// job is a named job of the configuration file.
type job struct {
	values []Value // Key is as spelled
}

// Section reads the consume: section: defaults, and the jobs, of which one may be chosen by name (empty for none). Two
// jobs with one group.id are an error unless both say share_group. The error is an *Error.
func (s *Set) Section(n *yaml.Node, file, choose string) error {
	s.jobs = map[string]job{}
	if n == nil {
		if choose != "" {
			return errorf("the job", "write it under consume: jobs: in the configuration file", "there is no job %q: the configuration file has no consume: section", choose)
		}
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return errorf(place(file, n.Line), "its keys are defaults and jobs", "consume: must be a mapping")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch k.Value {
		case "defaults":
			values, err := flatten(v, file, "", FromDefaults)
			if err != nil {
				return err
			}
			for _, one := range values {
				if err := s.raw(one.Key, one.Text, one.Source); err != nil {
					return err
				}
			}
		case "jobs":
			if err := s.readJobs(v, file); err != nil {
				return err
			}
		default:
			s.warn(place(file, k.Line), near(k.Value, []string{"defaults", "jobs"}), "unknown key %q under consume: settings stand under defaults: or under a job", k.Value)
		}
	}
	if err := s.checkShared(); err != nil {
		return err
	}
	if choose == "" {
		return nil
	}
	j, ok := s.jobs[choose]
	if !ok {
		names := slices.Sorted(maps.Keys(s.jobs))
		hint := near(choose, names)
		if hint == "" && len(names) > 0 {
			hint = "jobs: " + strings.Join(names, ", ")
		}
		return errorf("the job", hint, "there is no job %q in %s", choose, filepath.Base(file))
	}
	s.chosen = choose
	for _, v := range j.values {
		if err := s.raw(v.Key, v.Text, v.Source); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) readJobs(n *yaml.Node, file string) error {
	n = deref(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return errorf(place(file, n.Line), "", "jobs: must be a mapping of names")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if _, twice := s.jobs[name]; twice {
			return errorf(place(file, n.Content[i].Line), "", "job %s is written twice", name)
		}
		values, err := flatten(n.Content[i+1], file, "", FromJob)
		if err != nil {
			return err
		}
		s.jobs[name] = job{values: values}
	}
	return nil
}

// checkShared refuses two jobs that would commit over each other.
func (s *Set) checkShared() error {
	type owner struct {
		name   string
		source Source
		shared bool
	}
	by := map[string]owner{}
	for _, name := range slices.Sorted(maps.Keys(s.jobs)) {
		o := owner{name: name}
		group := ""
		for _, v := range s.jobs[name].values {
			k, _, ok := s.t.lookup(trimPrefixes(v.Key))
			switch {
			case !ok:
			case k.name == GroupID:
				group, o.source = v.Text, v.Source
			case k.name == ShareGroup:
				o.shared = v.Text == "true"
			}
		}
		if group == "" {
			continue
		}
		if other, taken := by[group]; taken && !(o.shared && other.shared) {
			return errorf(o.source.String(), "give each a group of its own, or say share_group: true in both", "jobs %s and %s have one group.id, %s: they would commit over each other", other.name, name, group)
		}
		by[group] = o
	}
	return nil
}

func trimPrefixes(name string) string {
	for _, p := range prefixes() {
		name = strings.TrimPrefix(name, p)
	}
	return name
}

// JobNames are the jobs of the section, sorted; for completions.
func (s *Set) JobNames() []string { return slices.Sorted(maps.Keys(s.jobs)) }

// flatten turns nested mappings into dotted keys. A list becomes its items joined with commas.
func flatten(n *yaml.Node, file, prefix string, l Layer) ([]Value, error) {
	return flattenIn(n, file, prefix, l, 0)
}

func flattenIn(n *yaml.Node, file, prefix string, l Layer, depth int) ([]Value, error) {
	n = deref(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode || depth > 20 {
		return nil, errorf(place(file, n.Line), "", "%s must be a mapping of settings", strings.TrimSuffix(prefix, "."))
	}
	var out []Value
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], deref(n.Content[i+1])
		if k.Tag == "!!merge" {
			return nil, errorf(place(file, k.Line), "put what is common under defaults:", "<< is not supported in settings of consume")
		}
		if line, twice := seen[k.Value]; twice {
			return nil, errorf(place(file, k.Line), "remove one of them", "%s%s is written twice (first in line %d)", prefix, k.Value, line)
		}
		seen[k.Value] = k.Line
		name := prefix + k.Value
		src := Source{l, place(file, k.Line)}
		switch v.Kind {
		case yaml.MappingNode:
			more, err := flattenIn(v, file, name+".", l, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		case yaml.SequenceNode:
			var items []string
			for _, item := range v.Content {
				if item = deref(item); item.Kind != yaml.ScalarNode {
					return nil, errorf(place(file, item.Line), "", "%s must be a list of plain values", name)
				}
				items = append(items, item.Value)
			}
			out = append(out, Value{Key: name, Text: strings.Join(items, ","), Source: src})
		default:
			if v.Tag == "!!null" {
				continue
			}
			out = append(out, Value{Key: name, Text: v.Value, Source: src})
		}
	}
	return out, nil
}

func deref(n *yaml.Node) *yaml.Node {
	for range 100 { // an alias of an alias; the parser has no cycles of aliases alone
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			break
		}
		n = n.Alias
	}
	return n
}

func place(file string, line int) string {
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}
