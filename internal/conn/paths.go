package conn

// Where files are: the configuration file, the state folder, relative paths.

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/offset"
)

type paths struct{ dir, home string }

func newPaths(in Inputs, env map[string]string) paths {
	return paths{dir: in.Dir, home: cmp.Or(in.Home, env["HOME"])}
}

// abs resolves ~/ and a path relative to the working folder.
func (p paths) abs(path string) string { return p.in(path, p.dir) }

// in resolves a path relative to base. A path in a configuration file is
// relative to that file, so that profiles work from every folder.
func (p paths) in(path, base string) string {
	if path == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p.home != "" {
		return filepath.Join(p.home, rest)
	}
	if filepath.IsAbs(path) || base == "" {
		return path
	}
	return filepath.Join(base, path)
}

// of resolves the path of a setting by where it was written. Java clients
// resolve paths in .properties against the working folder, so those do too.
func (p paths) of(v config.Value) string {
	switch v.Source.Kind {
	case config.FromProfile, config.FromDefaults:
		return p.in(v.Text, filepath.Dir(v.Source.File))
	default:
		return p.abs(v.Text)
	}
}

// configPath chooses the configuration file. named says that somebody asked
// for this one, so that it has to exist.
func configPath(in Inputs, env map[string]string, p paths) (path string, named bool, from string, err error) {
	if in.ConfigSet {
		if in.Config == "" {
			return "", false, "", &config.Error{Where: in.flag(offset.SetConfig), Text: "the file name is empty"}
		}
		return p.abs(in.Config), true, in.flag(offset.SetConfig), nil
	}
	if c := env[envConfig]; c != "" {
		return p.abs(c), true, "environment " + envConfig, nil
	}
	dir := xdg(env["XDG_CONFIG_HOME"], p.home, ".config")
	if dir == "" {
		return "", false, "", nil
	}
	path = filepath.Join(dir, "koffset", "config.yaml")
	return path, false, path, nil
}

// xdg is a folder of the XDG base directory rules: the variable if it is
// absolute (they say to ignore others), else a folder under home, else "".
func xdg(variable, home string, under ...string) string {
	if filepath.IsAbs(variable) {
		return variable
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, under...)...)
}
