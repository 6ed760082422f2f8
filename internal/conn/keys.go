package conn

// The names of all settings. One table drives YAML, -X, the environment, the
// rows of `profile show --resolved` and the warnings, so that a key cannot
// work in one place and be unknown in another.

import (
	"slices"
	"strings"
)

type kind uint8

const (
	kindText     kind = iota
	kindBool          // true or false
	kindDuration      // 30s, 7d, PT1H; more than zero
	kindCount         // a whole number, zero or more
	kindList          // several items: a YAML list, or text with commas
	kindPath          // a file or folder; ~ and relative paths are resolved
)

type class uint8

const (
	// connection: belongs to one cluster, and so stays in its profile.
	connection class = iota
	// guard: only ever tightens; see Guards.
	guard
	// other: of the operator, not of a cluster.
	other
)

const (
	mechPlain    = "PLAIN"
	mechScram256 = "SCRAM-SHA-256"
	mechScram512 = "SCRAM-SHA-512"
	mechOAuth    = "OAUTHBEARER"
	mechAWS      = "AWS_MSK_IAM"
	mechKerberos = "GSSAPI"
)

func mechanisms() []string {
	return []string{mechPlain, mechScram256, mechScram512, mechOAuth, mechAWS, mechKerberos}
}

type key struct {
	name  string
	kind  kind
	class class
	// secret values are masked wherever they are shown.
	secret bool
	// group joins keys that are different ways to say one thing: a stronger
	// layer that sets one of them hides them all in weaker layers, and one
	// layer may set only one. Without it a profile's password_file would lose
	// to the password of the defaults.
	group string
	// old are names that people know from earlier versions and from other
	// tools. They work, and warn.
	old []string
	// mechs are the SASL mechanisms that use the key; nil is "not about SASL"
	// or all of them.
	mechs []string
}

// allKeys is the table, in the order in which settings are shown.
func allKeys() []key {
	userPass := []string{mechPlain, mechScram256, mechScram512, mechKerberos}
	oauth := []string{mechOAuth}
	aws := []string{mechAWS}
	krb := []string{mechKerberos}
	keys := []key{
		{name: "brokers", kind: kindList, old: []string{"bootstrap_servers", "bootstrap_server", "bootstrap.servers", "seed_brokers"}},
		{name: "cluster_id", old: []string{"cluster.id"}},
		{name: "client_id", class: other, old: []string{"client.id"}},
		{name: "tls.enabled", kind: kindBool, old: []string{"tls.enable"}},
		{name: "tls.ca", kind: kindPath, group: "tls.ca", old: []string{"tls.ca_file", "tls.cafile", "tls.ca_cert"}},
		{name: "tls.ca_pem", group: "tls.ca"},
		{name: "tls.cert", kind: kindPath, group: "tls.cert", old: []string{"tls.cert_file", "tls.client_cert"}},
		{name: "tls.cert_pem", group: "tls.cert"},
		{name: "tls.key", kind: kindPath, group: "tls.key", old: []string{"tls.key_file", "tls.client_key"}},
		{name: "tls.key_pem", group: "tls.key", secret: true},
		{name: "tls.server_name", old: []string{"tls.servername"}},
		{name: "tls.verify_hostname", kind: kindBool},
		{name: "tls.insecure_skip_verify", kind: kindBool, old: []string{"tls.insecure"}},
		{name: "sasl.mechanism", old: []string{"sasl.mech"}},
		{name: "sasl.user", mechs: userPass, old: []string{"sasl.username"}},
		{name: "sasl.oauth.token_url", group: "sasl.token", mechs: oauth},
		{name: "sasl.oauth.client_id", mechs: oauth},
		{name: "sasl.oauth.scope", mechs: oauth, old: []string{"sasl.oauth.scopes"}},
		{name: "sasl.oauth.ca", kind: kindPath, mechs: oauth},
		{name: "sasl.oauth.extensions", kind: kindList, mechs: oauth},
		{name: "sasl.aws.access_key", mechs: aws},
		{name: "sasl.aws.profile", mechs: aws},
		{name: "sasl.kerberos.service", mechs: krb},
		{name: "sasl.kerberos.realm", mechs: krb},
		{name: "sasl.kerberos.keytab", kind: kindPath, mechs: krb},
		{name: "sasl.kerberos.ccache", kind: kindPath, mechs: krb},
		{name: "sasl.kerberos.config", kind: kindPath, mechs: krb},
		{name: "timeout", kind: kindDuration, class: other},
		{name: "request_timeout", kind: kindDuration, class: other},
		{name: "state_dir", kind: kindPath, class: other},
		{name: "tz", class: other, old: []string{"timezone", "time_zone"}},
		{name: "read_only", kind: kindBool, class: guard, old: []string{"readonly"}},
		{name: "protected_groups", kind: kindList, class: guard},
		{name: "confirm", class: guard},
		{name: "max_rewind", kind: kindCount, class: guard},
		{name: "max_skip", kind: kindCount, class: guard},
		{name: "audit_log", kind: kindPath, class: guard},
	}
	for _, s := range secretNames() {
		after := s.after
		at := slices.IndexFunc(keys, func(k key) bool { return k.name == after }) + 1
		keys = slices.Insert(keys, at,
			key{name: s.name, secret: true, group: s.group, mechs: s.mechs, old: s.old},
			key{name: s.name + "_file", kind: kindPath, group: s.group, mechs: s.mechs},
			key{name: s.name + "_command", group: s.group, mechs: s.mechs})
	}
	return keys
}

// SettingNames are the names of all settings in the order in which they are shown, each with suffix after it.
func SettingNames(suffix string) []string {
	var out []string
	for _, k := range allKeys() {
		out = append(out, k.name+suffix)
	}
	return out
}

type secretName struct {
	name, group, after string
	mechs, old         []string
}

// secretNames are the settings that can also be written NAME_file (a file that
// holds it) and NAME_command (a command that prints it).
func secretNames() []secretName {
	return []secretName{
		{name: "tls.ca_password", group: "tls.ca_password", after: "tls.ca_pem"},
		{name: "tls.key_password", group: "tls.key_password", after: "tls.key_pem"},
		{name: "sasl.password", group: "sasl.password", after: "sasl.user", old: []string{"sasl.pass"},
			mechs: []string{mechPlain, mechScram256, mechScram512, mechKerberos}},
		{name: "sasl.token", group: "sasl.token", after: "sasl.password_command", mechs: []string{mechOAuth}},
		{name: "sasl.oauth.client_secret", group: "sasl.oauth.client_secret", after: "sasl.oauth.client_id", mechs: []string{mechOAuth}},
		{name: "sasl.aws.secret_key", group: "sasl.aws.secret_key", after: "sasl.aws.access_key", mechs: []string{mechAWS}},
		{name: "sasl.aws.session_token", group: "sasl.aws.session_token", after: "sasl.aws.secret_key_command", mechs: []string{mechAWS}},
	}
}

// schema is the table indexed by name.
type schema struct {
	keys []key
	by   map[string]key
	// renamed leads from an old name to the current one.
	renamed map[string]string
}

func newSchema() *schema {
	s := &schema{keys: allKeys(), by: map[string]key{}, renamed: map[string]string{}}
	for _, k := range s.keys {
		s.by[k.name] = k
		for _, o := range k.old {
			s.renamed[o] = k.name
		}
	}
	return s
}

// lookup finds a key by its current or an old name; old is empty where the
// name is current.
func (s *schema) lookup(name string) (k key, old string, ok bool) {
	if k, ok = s.by[name]; ok {
		return k, "", true
	}
	if now, renamed := s.renamed[name]; renamed {
		return s.by[now], name, true
	}
	return key{}, "", false
}

// section reports whether name is the beginning of other names, as tls is of
// tls.ca.
func (s *schema) section(name string) bool {
	for n := range s.by {
		if strings.HasPrefix(n, name+".") {
			return true
		}
	}
	return false
}

func (s *schema) names() []string {
	out := make([]string, 0, len(s.keys))
	for _, k := range s.keys {
		out = append(out, k.name)
	}
	return out
}

// envName is the variable of a key: tls.ca_password is KOFFSET_TLS_CA_PASSWORD.
func envName(name string) string {
	return "KOFFSET_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}
