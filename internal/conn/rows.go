package conn

// Settings for people's eyes: every value with its source, secrets masked.

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/koffset/koffset/internal/config"
)

// mask stands for a secret wherever settings are shown. Its length says nothing
// about the secret's.
const mask = "********"

// Row is one setting of `profile show --resolved`.
type Row struct {
	Key string
	// Value is the setting as text; lists are joined with commas, secrets are
	// Mask.
	Value  string
	Source config.Source
	// Secret says that Value is masked.
	Secret bool
}

// Rows are all settings that have a value, in the order of the documentation.
// Guard rails are those that hold without knowing the cluster's id.
func (s *Settings) Rows() []Row {
	var out []Row
	guards := s.Guards("")
	for _, k := range s.table.Keys {
		if k.Class == guard {
			out = append(out, guardRows(k.Name, guards)...)
			continue
		}
		v, ok := s.values[k.Name]
		if !ok || v.Empty() {
			continue
		}
		r := Row{Key: k.Name, Value: v.Text, Source: v.Source}
		switch {
		case k.Secret:
			r.Value, r.Secret = mask, true
		case k.Name == "brokers":
			r.Value = strings.Join(s.Brokers, ",")
		case k.Name == "state_dir":
			r.Value = s.StateDir
		case k.Kind == config.List:
			r.Value = strings.Join(v.List, ",")
		case k.Name == "sasl.oauth.token_url":
			r.Value = redactURL(v.Text)
		case k.Kind == config.Path:
			r.Value = s.paths.of(v)
		}
		out = append(out, r)
	}
	return out
}

func guardRows(name string, g Guards) []Row {
	switch name {
	case "read_only":
		if g.ReadOnly {
			return []Row{{Key: name, Value: "true", Source: g.ReadOnlyBy}}
		}
	case "protected_groups":
		var out []Row
		for _, p := range g.Protected {
			out = append(out, Row{Key: name, Value: p.Pattern, Source: p.By})
		}
		return out
	case "confirm":
		if g.ConfirmClusterID {
			return []Row{{Key: name, Value: "cluster-id", Source: g.ConfirmBy}}
		}
	case "max_rewind":
		if g.MaxRewind != nil {
			return []Row{{Key: name, Value: strconv.FormatInt(*g.MaxRewind, 10), Source: g.MaxRewindBy}}
		}
	case "max_skip":
		if g.MaxSkip != nil {
			return []Row{{Key: name, Value: strconv.FormatInt(*g.MaxSkip, 10), Source: g.MaxSkipBy}}
		}
	case "audit_log":
		var out []Row
		for _, a := range g.AuditLogs {
			out = append(out, Row{Key: name, Value: a.Path, Source: a.By})
		}
		return out
	}
	return nil
}

// redactURL hides a password in a URL.
func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return mask
	}
	return u.Redacted()
}

// profileRows are the settings that a profile itself makes, as `profile show
// NAME` prints them; nothing is merged. Unknown names are a *config.Error with
// the nearest name.
func (s *Settings) profileRows(name string) ([]Row, error) {
	l, ok := s.file.profiles[name]
	if !ok {
		return nil, s.file.unknownProfile(name, "")
	}
	var out []Row
	for _, k := range s.table.Keys {
		v, ok := l[k.Name]
		if !ok {
			continue
		}
		r := Row{Key: k.Name, Value: v.Text, Source: v.Source}
		if k.Kind == config.List {
			r.Value = strings.Join(v.List, ",")
		}
		if k.Secret {
			r.Value, r.Secret = mask, true
		}
		if k.Name == "sasl.oauth.token_url" {
			r.Value = redactURL(v.Text)
		}
		out = append(out, r)
	}
	return out, nil
}
