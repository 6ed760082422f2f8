package conn

// Guard rails. They protect a cluster, so they are collected from wherever that
// cluster is named, and only ever tighten: no flag and no variable loosens what
// a profile says.

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/config"
)

// Guards are the guard rails that hold for one cluster.
type Guards struct {
	// ReadOnly refuses every write.
	ReadOnly   bool
	ReadOnlyBy config.Source
	// Protected are groups that no command may change.
	Protected []Protected
	// ConfirmClusterID wants the cluster id typed, or passed with --confirm,
	// before a write.
	ConfirmClusterID bool
	ConfirmBy        config.Source
	// MaxRewind and MaxSkip bound, in records over one command, how far offsets
	// may move backwards and forwards; nil is no bound.
	MaxRewind   *int64
	MaxRewindBy config.Source
	MaxSkip     *int64
	MaxSkipBy   config.Source
	// AuditLogs are the files to append to, each once; empty means the
	// standard place in the state folder.
	AuditLogs []AuditLog
	// Profiles are the profiles whose guard rails these are.
	Profiles []string
	// Expected is the cluster id recorded by the profile in use, or "", and
	// ExpectedBy its source. A different id means that the profile now leads
	// to another cluster.
	Expected   string
	ExpectedBy config.Source
}

// AuditLog is one file of audit_log.
type AuditLog struct {
	Path string
	By   config.Source
}

// Protected is one entry of protected_groups.
type Protected struct {
	Pattern string
	By      config.Source
	re      *regexp.Regexp
}

// matches reports whether a group is protected by the entry: it is its literal
// text, or matches it as a regular expression over the whole name, or as a
// shell pattern. The last is on the safe side: payments-* written by somebody
// who thought of shells must not protect nothing.
func (p Protected) matches(group string) bool {
	if p.Pattern == group || p.re != nil && p.re.MatchString(group) {
		return true
	}
	ok, err := path.Match(p.Pattern, group)
	return err == nil && ok
}

// Protects returns the entry that protects a group, if one does.
func (g Guards) Protects(group string) (Protected, bool) {
	for _, p := range g.Protected {
		if p.matches(group) {
			return p, true
		}
	}
	return Protected{}, false
}

// guardLayer is the guards of one place, with what they hold for.
type guardLayer struct {
	guards Guards
	// always: of the profile in use, the defaults, flags or the environment.
	always bool
	// profile, clusterID and brokers say which cluster a profile's guards bind
	// to. Brokers count only where the profile records no cluster id.
	profile   string
	clusterID string
	brokers   []string
}

// loadGuards reads the guards of every profile. One that cannot be read is an
// error even in a profile that is not in use: it may turn out, once connected,
// to be the one that protects this cluster.
func (s *Settings) loadGuards(flags, props, env config.Layer, f *configFile) error {
	for _, l := range []config.Layer{flags, props, env, f.defaults} {
		g, err := s.parseGuards(l)
		if err != nil {
			return err
		}
		s.guards = append(s.guards, guardLayer{guards: g, always: true})
	}
	for _, name := range f.order {
		l := f.profiles[name]
		g, err := s.parseGuards(l)
		if err != nil {
			return err
		}
		gl := guardLayer{guards: g, profile: name, always: name == s.Profile, clusterID: l["cluster_id"].Text}
		if gl.clusterID != "" {
			gl.guards.Expected, gl.guards.ExpectedBy = gl.clusterID, l["cluster_id"].Source
		}
		// An address that cannot be read is reported when the profile is used.
		gl.brokers, _, _ = parseBrokers(l["brokers"].List)
		s.guards = append(s.guards, gl)
	}
	return nil
}

func (s *Settings) parseGuards(l config.Layer) (Guards, error) {
	var g Guards
	var err error
	if v, ok := l["read_only"]; ok {
		if g.ReadOnly, err = parseBool("read_only", v); err != nil {
			return g, err
		}
		g.ReadOnlyBy = v.Source
	}
	if v, ok := l["protected_groups"]; ok {
		for _, p := range v.List {
			if p == "" {
				return g, &config.Error{Where: v.Source.String(), Text: "protected_groups has an empty entry"}
			}
			pr := Protected{Pattern: p, By: v.Source}
			if pr.re, err = regexp.Compile(`\A(?:` + p + `)\z`); err != nil {
				// *-prod is no regular expression and plainly a shell
				// pattern. A bracket that is not closed is a mistake, and
				// taken as a shell pattern it would protect nothing.
				if strings.Trim(strings.ToLower(p), "abcdefghijklmnopqrstuvwxyz0123456789._-*?") != "" {
					return g, &config.Error{Where: v.Source.String(), Text: fmt.Sprintf("protected_groups: %q is not a pattern", p), Err: err,
						Hint: "write a regular expression for whole group names, such as payments-.*"}
				}
				pr.re = nil
			}
			g.Protected = append(g.Protected, pr)
		}
	}
	if v, ok := l["confirm"]; ok && v.Text != "" {
		if v.Text != "cluster-id" {
			return g, &config.Error{Where: v.Source.String(), Text: fmt.Sprintf("confirm is %q", v.Text), Hint: "the one value is cluster-id"}
		}
		g.ConfirmClusterID, g.ConfirmBy = true, v.Source
	}
	for name, field := range map[string]struct {
		to *(*int64)
		by *config.Source
	}{"max_rewind": {&g.MaxRewind, &g.MaxRewindBy}, "max_skip": {&g.MaxSkip, &g.MaxSkipBy}} {
		if v, ok := l[name]; ok {
			n, err := parseCount(name, v)
			if err != nil {
				return g, err
			}
			*field.to, *field.by = &n, v.Source
		}
	}
	if v, ok := l["audit_log"]; ok && v.Text != "" {
		g.AuditLogs = []AuditLog{{Path: s.paths.of(v), By: v.Source}}
	}
	return g, nil
}

// Guards are the guard rails that hold for the cluster with this id: those of
// the profile in use, those of every profile that records the id, those of
// profiles that record none and name one of the brokers in use, and those of
// the defaults, the flags and the environment. The strictest of each holds.
func (s *Settings) Guards(clusterID string) Guards {
	var out Guards
	for _, l := range s.guards {
		if !l.holds(clusterID, s.Brokers) {
			continue
		}
		g := l.guards
		if g.ReadOnly && !out.ReadOnly {
			out.ReadOnly, out.ReadOnlyBy = true, g.ReadOnlyBy
		}
		out.Protected = append(out.Protected, g.Protected...)
		if g.ConfirmClusterID && !out.ConfirmClusterID {
			out.ConfirmClusterID, out.ConfirmBy = true, g.ConfirmBy
		}
		if g.MaxRewind != nil && (out.MaxRewind == nil || *g.MaxRewind < *out.MaxRewind) {
			out.MaxRewind, out.MaxRewindBy = g.MaxRewind, g.MaxRewindBy
		}
		if g.MaxSkip != nil && (out.MaxSkip == nil || *g.MaxSkip < *out.MaxSkip) {
			out.MaxSkip, out.MaxSkipBy = g.MaxSkip, g.MaxSkipBy
		}
		for _, a := range g.AuditLogs {
			if !slices.ContainsFunc(out.AuditLogs, func(b AuditLog) bool { return b.Path == a.Path }) {
				out.AuditLogs = append(out.AuditLogs, a)
			}
		}
		if l.profile != "" {
			out.Profiles = append(out.Profiles, l.profile)
		}
		if l.always && g.Expected != "" {
			out.Expected, out.ExpectedBy = g.Expected, g.ExpectedBy
		}
	}
	return out
}

func (l guardLayer) holds(clusterID string, brokers []string) bool {
	switch {
	case l.always:
		return true
	case l.clusterID != "":
		return l.clusterID == clusterID
	default:
		return slices.ContainsFunc(l.brokers, func(b string) bool { return slices.Contains(brokers, b) })
	}
}
