package conn

// Warnings about settings that are understood and change nothing, because of
// another setting. Silence would let an operator believe in them.

import (
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/config"
)

// warnNoEffect looks at the layers that took part. What a weaker layer says
// and a stronger one replaced is precedence, not a mistake.
func (s *Settings) warnNoEffect(r *reader, layers []config.Layer) {
	useless := func(v config.Value, name, why string) {
		switch v.Source.Kind {
		case config.FromBuiltin, config.FromDefaults:
			return // the defaults are for many clusters; some need other keys
		}
		r.Warn(v.Source.String(), config.NoEffect(name, why), "")
	}
	tls, _ := s.tlsOn()
	mech := s.text("sasl.mechanism")
	for _, k := range s.table.Keys {
		v, ok := s.values[k.Name]
		if !ok || v.Empty() {
			continue
		}
		switch {
		case strings.HasPrefix(k.Name, "tls.") && k.Name != "tls.enabled" && !tls:
			useless(v, k.Name, "TLS is off ("+s.source("tls.enabled")+")")
		case k.Name == "tls.server_name" && (s.flag("tls.insecure_skip_verify") || s.hostnameOff()):
			// It still goes out as SNI, so this is not useless.
		case k.Name == "tls.verify_hostname" && s.flag("tls.insecure_skip_verify"):
			useless(v, k.Name, "tls.insecure_skip_verify checks nothing at all")
		case (strings.HasPrefix(k.Name, "tls.ca")) && s.flag("tls.insecure_skip_verify"):
			useless(v, k.Name, "tls.insecure_skip_verify checks no certificate")
		case k.For != nil && mech != "" && !slices.Contains(k.For, mech):
			useless(v, k.Name, "SASL "+mech+" does not use it")
		case strings.HasPrefix(k.Name, "sasl.oauth.") && k.Name != "sasl.oauth.token_url" && k.Name != "sasl.oauth.extensions" &&
			mech == mechOAuth && !s.has("sasl.oauth.token_url"):
			useless(v, k.Name, "there is no sasl.oauth.token_url")
		case strings.HasPrefix(k.Name, registrySection) && !s.has(registryURL):
			useless(v, k.Name, "there is no "+registryURL)
		}
	}
	for _, l := range layers {
		for _, name := range sortedKeys(l) {
			v := l[name]
			if s.table.Key(name).Class != guard || s.table.Key(name).Kind != config.Bool {
				continue
			}
			// Only tightening is possible from outside a profile.
			if on, err := parseBool(name, v); err == nil && !on && (v.Source.Kind == config.FromX || v.Source.Kind == config.FromEnvironment) {
				useless(v, name, "a guard rail is loosened in its profile only")
			}
		}
	}
	if mech == mechPlain && !tls && s.has("sasl.mechanism") {
		r.Warn(s.source("sasl.mechanism"), "SASL PLAIN without TLS sends the password readable over the network", "set tls.enabled: true if the broker has a TLS port")
	}
	if s.flag("tls.insecure_skip_verify") && tls {
		r.Warn(s.source("tls.insecure_skip_verify"), "the broker's certificate is not checked: anybody on the way can read and change what is sent", "set tls.ca to the authority's certificate instead")
	}
	if u := s.text("sasl.oauth.token_url"); mech == mechOAuth && strings.HasPrefix(strings.ToLower(u), "http:") {
		r.Warn(s.source("sasl.oauth.token_url"), "the client secret is sent to the token endpoint without TLS", "use an https URL")
	}
}

// tlsOn reports whether TLS is used, and why: set, or because another tls key
// would be pointless without it.
func (s *Settings) tlsOn() (on bool, because string) {
	if s.has("tls.enabled") {
		return s.flag("tls.enabled"), s.source("tls.enabled")
	}
	for _, k := range s.table.Keys {
		if strings.HasPrefix(k.Name, "tls.") && s.has(k.Name) {
			return true, k.Name + ", " + s.source(k.Name)
		}
	}
	// MSK's IAM listeners speak only TLS, and signing requests in plain text
	// would hand them to anybody.
	if s.text("sasl.mechanism") == mechAWS {
		return true, "sasl.mechanism " + mechAWS
	}
	return false, ""
}

func (s *Settings) hostnameOff() bool {
	return s.has("tls.verify_hostname") && !s.flag("tls.verify_hostname")
}
