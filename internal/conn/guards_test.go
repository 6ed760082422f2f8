package conn

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/config"
)

const guardsYAML = `current_profile: dev
defaults:
  max_skip: 1_000_000
profiles:
  dev:
    brokers: dev:9092
  prod:
    brokers: prod-1:9092,prod-2:9092
    cluster_id: PROD
    read_only: true
    protected_groups: [billing, payments-.*, audit-*]
    confirm: cluster-id
    max_rewind: 100
    max_skip: 2000000
    audit_log: audit.jsonl
  prod-ops:
    brokers: prod-1:9092
    cluster_id: PROD
    max_rewind: 50
  unrecorded:
    brokers: somewhere:9092
    read_only: true
`

func TestGuardsBindToTheCluster(t *testing.T) {
	dir, file := workspace(t, guardsYAML)
	loadWith := func(in Inputs) *Settings {
		t.Helper()
		in.Config, in.ConfigSet = file, true
		s, err := Load(in)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// Whatever name the cluster goes by here, its id brings its guards.
	for _, in := range []Inputs{
		{},
		{Brokers: []string{"some-alias:9092"}, BrokersSet: true},
		{Profile: "dev", ProfileSet: true},
		{X: []string{"read_only=false", "max_rewind=999999"}, Environ: []string{"KOFFSET_READ_ONLY=false"}},
	} {
		g := loadWith(in).Guards("PROD")
		if !g.ReadOnly || g.ReadOnlyBy.String() != "profile prod (config.yaml:10)" {
			t.Errorf("%+v: read only %v by %s", in, g.ReadOnly, g.ReadOnlyBy)
		}
		if g.MaxRewind == nil || *g.MaxRewind != 50 || g.MaxRewindBy.String() != "profile prod-ops (config.yaml:19)" {
			t.Errorf("%+v: max rewind %v by %s, want the strictest", in, g.MaxRewind, g.MaxRewindBy)
		}
		if g.MaxSkip == nil || *g.MaxSkip != 1000000 {
			t.Errorf("%+v: max skip %v", in, g.MaxSkip)
		}
		if !g.ConfirmClusterID || !slices.Equal(g.Profiles, profilesOf(in, "prod", "prod-ops")) {
			t.Errorf("%+v: confirm %v, profiles %q", in, g.ConfirmClusterID, g.Profiles)
		}
		if len(g.AuditLogs) != 1 || g.AuditLogs[0].Path != filepath.Join(dir, "audit.jsonl") {
			t.Errorf("%+v: audit logs %v", in, g.AuditLogs)
		}
		for group, want := range map[string]bool{"billing": true, "billing-2": false, "payments-eu": true, "payments": false, "audit-x": true, "audit": true, "orders": false} {
			// audit-* as a regular expression is "audit" and any number of
			// dashes; as a shell pattern audit-x. Both are protected.
			if _, got := g.Protects(group); got != want {
				t.Errorf("%s protected: %v", group, got)
			}
		}
	}
	if g := loadWith(Inputs{}).Guards("DEV"); g.ReadOnly || g.MaxRewind != nil || len(g.Protected) > 0 || g.ConfirmClusterID || g.MaxSkip == nil {
		t.Errorf("another cluster: %+v", g)
	}
	// A profile without a recorded id is known by its brokers.
	if g := loadWith(Inputs{Brokers: []string{"somewhere:9092"}, BrokersSet: true}).Guards("X"); !g.ReadOnly {
		t.Errorf("known by its brokers: %+v", g)
	}
	if g := loadWith(Inputs{X: []string{"read_only=true"}}).Guards("X"); !g.ReadOnly || g.ReadOnlyBy.String() != "-X read_only" {
		t.Errorf("tightened from outside: %+v", g)
	}
	// The profile in use keeps its guards on a cluster with another id, and
	// says which it expected.
	g := loadWith(Inputs{Profile: "prod", ProfileSet: true, Brokers: []string{"dev:9092"}, BrokersSet: true}).Guards("DEV")
	if !g.ReadOnly || g.Expected != "PROD" || g.ExpectedBy.Line != 9 {
		t.Errorf("profile in use: %+v", g)
	}
}

// profilesOf is who else holds: the profile in use comes first in the file.
func profilesOf(in Inputs, more ...string) []string {
	if in.BrokersSet {
		return more
	}
	return append([]string{"dev"}, more...)
}

func TestProtectedPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		bad     bool
	}{{"a", false}, {"*-prod", false}, {"payments-(eu|us", true}, {"[a", true}, {"", true}, {"(?i)x", false}} {
		_, file := workspace(t, "profiles: {p: {protected_groups: ['"+c.pattern+"']}}\n")
		s, err := Load(Inputs{Config: file, ConfigSet: true, Profile: "p", ProfileSet: true})
		if (err != nil) != c.bad {
			t.Errorf("%q: error %v", c.pattern, err)
		}
		if c.pattern == "*-prod" && err == nil {
			if _, ok := s.Guards("").Protects("orders-prod"); !ok {
				t.Error("*-prod protects nothing")
			}
		}
	}
}

// A guard rail under a name that is not read would protect nothing, and nobody would notice until it was needed.
func TestGuardRailsUnderOtherNamesAreErrors(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"profiles:\n  p:\n    brokers: a:1\n    protcted_groups: [billing]\n", "protected_groups"},
		{"profiles:\n  p:\n    brokers: a:1\n    protected: [billing]\n", "protected_groups"},
		{"profiles:\n  p:\n    brokers: a:1\n    maxSkip: 10\n", "max_skip"},
		{"profiles:\n  p:\n    brokers: a:1\n    max-rewind: 10\n", "max_rewind"},
		{"profiles:\n  p:\n    brokers: a:1\n    max_rewinds: 10\n", "max_rewind"},
		{"profiles:\n  p:\n    brokers: a:1\n    confrim: cluster-id\n", "confirm"},
		{"profiles:\n  p:\n    brokers: a:1\n    confirm_cluster_id: true\n", "confirm"},
		{"profiles:\n  p:\n    brokers: a:1\n    read-only: true\n", "read_only"},
		{"profiles:\n  p:\n    brokers: a:1\n    raed_only: true\n", "read_only"},
		{"profiles:\n  p:\n    brokers: a:1\n    audit_lgo: x\n", "audit_log"},
		{"profiles:\n  p:\n    brokers: a:1\n    audit: x\n", "audit_log"},
		{"profiles:\n  p:\n    brokers: a:1\n    tls:\n      read_only: true\n", "read_only"},
		{"profiles:\n  p:\n    brokers: a:1\n    guards:\n      max_skip: 3\n", "max_skip"},
		{"default:\n  read_only: true\n", "read_only"},
		{"read_only: true\n", "read_only"},
		// A profile that is not in use may turn out to be this cluster's.
		{"current_profile: p\nprofiles:\n  p:\n    brokers: a:1\n  q:\n    brokers: b:1\n    readonyl: true\n", "read_only"},
	} {
		_, file := workspace(t, c.yaml)
		_, err := Load(Inputs{Config: file, ConfigSet: true})
		var e *config.Error
		if !errors.As(err, &e) || !strings.Contains(e.Text+e.Hint, c.want) || !strings.Contains(e.Text, "would not hold") {
			t.Errorf("%q: %v, want an error that names %s", c.yaml, err, c.want)
		}
	}
	_, file := workspace(t, "profiles:\n  p:\n    brokers: a:1\n")
	for name, want := range map[string]string{"KOFFSET_MAX_SKP": "KOFFSET_MAX_SKIP", "KOFFSET_PROTECTEDGROUPS": "KOFFSET_PROTECTED_GROUPS"} {
		_, err := Load(Inputs{Config: file, ConfigSet: true, Environ: []string{name + "=5"}})
		var e *config.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, want) {
			t.Errorf("%s: %v, want an error that names %s", name, err, want)
		}
	}
}

func TestOtherUnknownKeysStayWarnings(t *testing.T) {
	for _, line := range []string{"config: x", "borkers: a:1", "max_lag: 5", "max_retries: 3", "retention: 5", "comment: hello", "client: x", "mechanism: PLAIN", "owner: {team: x}"} {
		_, file := workspace(t, "profiles:\n  p:\n    brokers: a:1\n    "+line+"\n")
		s, err := Load(Inputs{Config: file, ConfigSet: true})
		if err != nil || len(s.Warnings) == 0 {
			t.Errorf("%s: %v with warnings %v, want a warning", line, err, s)
		}
	}
}
