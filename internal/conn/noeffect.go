package conn

// Warnings about settings that are understood and change nothing, because of
// another setting. Silence would let an operator believe in them.

import (
	"fmt"
	"slices"
	"strings"
)

// warnNoEffect looks at the layers that took part. What a weaker layer says
// and a stronger one replaced is precedence, not a mistake.
func (s *Settings) warnNoEffect(r *reader, layers []*layer) {
	useless := func(v Value, name, why string) {
		switch v.Source.Kind {
		case FromBuiltin, FromDefaults:
			return // the defaults are for many clusters; some need other keys
		}
		r.warn(v.Source.String(), fmt.Sprintf("%s has no effect here: %s", name, why), "")
	}
	tls, _ := s.tlsOn()
	mech := s.text("sasl.mechanism")
	for _, k := range s.schema.keys {
		v, ok := s.values[k.name]
		if !ok || v.Text == "" && len(v.List) == 0 {
			continue
		}
		switch {
		case strings.HasPrefix(k.name, "tls.") && k.name != "tls.enabled" && !tls:
			useless(v, k.name, "TLS is off ("+s.source("tls.enabled")+")")
		case k.name == "tls.server_name" && (s.flag("tls.insecure_skip_verify") || s.hostnameOff()):
			// It still goes out as SNI, so this is not useless.
		case k.name == "tls.verify_hostname" && s.flag("tls.insecure_skip_verify"):
			useless(v, k.name, "tls.insecure_skip_verify checks nothing at all")
		case (strings.HasPrefix(k.name, "tls.ca")) && s.flag("tls.insecure_skip_verify"):
			useless(v, k.name, "tls.insecure_skip_verify checks no certificate")
		case k.mechs != nil && mech != "" && !slices.Contains(k.mechs, mech):
			useless(v, k.name, "SASL "+mech+" does not use it")
		case strings.HasPrefix(k.name, "sasl.oauth.") && k.name != "sasl.oauth.token_url" && k.name != "sasl.oauth.extensions" &&
			mech == mechOAuth && !s.has("sasl.oauth.token_url"):
			useless(v, k.name, "there is no sasl.oauth.token_url")
		}
	}
	for _, l := range layers {
		for _, name := range sortedKeys(l.values) {
			v := l.values[name]
			if s.schema.by[name].class != guard || s.schema.by[name].kind != kindBool {
				continue
			}
			// Only tightening is possible from outside a profile.
			if on, err := parseBool(name, v); err == nil && !on && (v.Source.Kind == FromX || v.Source.Kind == FromEnvironment) {
				useless(v, name, "a guard rail is loosened in its profile only")
			}
		}
	}
	if mech == mechPlain && !tls && s.has("sasl.mechanism") {
		r.warn(s.source("sasl.mechanism"), "SASL PLAIN without TLS sends the password readable over the network", "set tls.enabled: true if the broker has a TLS port")
	}
	if s.flag("tls.insecure_skip_verify") && tls {
		r.warn(s.source("tls.insecure_skip_verify"), "the broker's certificate is not checked: anybody on the way can read and change what is sent", "set tls.ca to the authority's certificate instead")
	}
	if u := s.text("sasl.oauth.token_url"); mech == mechOAuth && strings.HasPrefix(strings.ToLower(u), "http:") {
		r.warn(s.source("sasl.oauth.token_url"), "the client secret is sent to the token endpoint without TLS", "use an https URL")
	}
}

// tlsOn reports whether TLS is used, and why: set, or because another tls key
// would be pointless without it.
func (s *Settings) tlsOn() (on bool, because string) {
	if s.has("tls.enabled") {
		return s.flag("tls.enabled"), s.source("tls.enabled")
	}
	for _, k := range s.schema.keys {
		if strings.HasPrefix(k.name, "tls.") && s.has(k.name) {
			return true, k.name + ", " + s.source(k.name)
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
