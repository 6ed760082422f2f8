package consumeconf

// The consume: section of the configuration file.

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koffset/koffset/internal/config"
)

// Section reads the consume: section: defaults, and the jobs, of which one may be chosen by name (empty for none). Two
// jobs with one group.id are an error unless both say share_group. The error is a *config.Error.
func (s *Set) Section(n *yaml.Node, file, choose string) error {
	s.jobs = map[string][]config.Value{}
	if n == nil {
		if choose != "" {
			return config.Errorf("the job", "write it under consume: jobs: in the configuration file", "there is no job %q: the configuration file has no consume: section", choose)
		}
		return nil
	}
	pairs, err := config.Pairs(n, file, "consume:")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		switch p.Name {
		case "defaults":
			var values []config.Value
			if values, err = config.Flatten(p.Value, file, config.FromDefaults); err == nil {
				err = s.take(values)
			}
		case "jobs":
			err = s.readJobs(p.Value, file)
		default:
			s.warn(config.Place(file, p.Key.Line), config.Near(p.Name, []string{"defaults", "jobs"}), "unknown key %q under consume: settings go under defaults: or under a job", p.Name)
		}
		if err != nil {
			return err
		}
	}
	if err := s.checkShared(); err != nil {
		return err
	}
	return s.choose(file, choose)
}

// choose takes the settings of one job.
func (s *Set) choose(file, name string) error {
	if name == "" {
		return nil
	}
	values, ok := s.jobs[name]
	if !ok {
		names := s.JobNames()
		hint := config.Near(name, names)
		if hint == "" && len(names) > 0 {
			hint = "jobs: " + strings.Join(names, ", ")
		}
		return config.Errorf("the job", hint, "there is no job %q in %s", name, filepath.Base(file))
	}
	s.chosen = name
	return s.take(values)
}

func (s *Set) take(values []config.Value) error {
	for _, v := range values {
		if err := s.raw(v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) readJobs(n *yaml.Node, file string) error {
	pairs, err := config.Pairs(n, file, "jobs:")
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if s.jobs[p.Name], err = config.Flatten(p.Value, file, config.FromJob); err != nil {
			return err
		}
	}
	return nil
}

// checkShared refuses two jobs that would commit over each other.
func (s *Set) checkShared() error {
	type owner struct {
		name   string
		source config.Source
		shared bool
	}
	by := map[string]owner{}
	for _, name := range slices.Sorted(maps.Keys(s.jobs)) {
		o := owner{name: name}
		group := ""
		for _, v := range s.jobs[name] {
			k, _, ok := s.Table.Lookup(trimPrefixes(v.As))
			switch {
			case !ok:
			case k.Name == GroupID:
				group, o.source = v.Text, v.Source
			case k.Name == shareGroup:
				o.shared = strings.EqualFold(v.Text, "true")
			}
		}
		if group == "" {
			continue
		}
		if other, taken := by[group]; taken && !(o.shared && other.shared) {
			return config.Errorf(o.source.String(), "give each a group of its own, or say share_group: true in both", "jobs %s and %s have one group.id, %s: they would commit over each other", other.name, name, group)
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
