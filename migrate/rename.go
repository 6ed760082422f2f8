package migrate

// Names on the other cluster.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/koffset/koffset/offset"
)

// Renames say what a name is called on the target. The zero value keeps names.
type Renames struct {
	exact    map[string]string
	patterns []rename
}

type rename struct {
	re   *regexp.Regexp
	into string
	text string // as it was written
}

// ParseRenames reads old=new, and /REGEX/=new where new may use $1 or ${name}; the regular expression must match the whole
// name. flag is named in errors, which are *offset.SyntaxError.
func ParseRenames(flag string, list []string) (Renames, error) {
	r := Renames{exact: map[string]string{}}
	bad := func(in, hint, format string, args ...any) error {
		return &offset.SyntaxError{Input: in, Problem: flag + ": " + fmt.Sprintf(format, args...), Hint: hint}
	}
	const forms = `write old=new, or '/dc1\.(.+)/=$1'`
	for _, s := range list {
		if body, ok := strings.CutPrefix(s, "/"); ok {
			i := strings.LastIndex(body, "/=")
			if i < 0 {
				return r, bad(s, forms, "%q has no /= after its pattern", s)
			}
			re, err := regexp.Compile(`^(?:` + body[:i] + `)$`)
			if err != nil {
				return r, bad(s, "patterns are RE2 and match the whole name", "%q: %v", s, err)
			}
			if body[i+2:] == "" {
				return r, bad(s, forms, "%q gives no new name", s)
			}
			r.patterns = append(r.patterns, rename{re, body[i+2:], s})
			continue
		}
		from, to, ok := strings.Cut(s, "=")
		if !ok || from == "" || to == "" {
			return r, bad(s, forms, "%q does not say what becomes what", s)
		}
		if old, twice := r.exact[from]; twice && old != to {
			return r, bad(s, "", "%q becomes both %q and %q", from, old, to)
		}
		r.exact[from] = to
	}
	return r, nil
}

// Apply is the new name, and whether a rule named it: a literal one before a pattern, patterns in the order given.
func (r Renames) Apply(name string) (string, bool) {
	if to, ok := r.exact[name]; ok {
		return to, true
	}
	for _, p := range r.patterns {
		if m := p.re.FindStringSubmatchIndex(name); m != nil {
			return string(p.re.ExpandString(nil, p.into, name, m)), true
		}
	}
	return name, false
}

// Unused are the rules, as they were written, that name none of the names. A literal name is used where it is among them, whatever the patterns say.
func (r Renames) Unused(names []string) []string {
	var out []string
	for from, to := range r.exact {
		if !slices.Contains(names, from) {
			out = append(out, from+"="+to)
		}
	}
	slices.Sort(out)
	for _, p := range r.patterns {
		if !slices.ContainsFunc(names, p.re.MatchString) {
			out = append(out, p.text)
		}
	}
	return out
}

// Any says that there is a rule.
func (r Renames) Any() bool { return len(r.exact) > 0 || len(r.patterns) > 0 }
