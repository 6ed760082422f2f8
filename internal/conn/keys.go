package conn

// The names of all settings. One table drives YAML, -X, the environment, the
// rows of `profile show --resolved` and the warnings, so that a key cannot
// work in one place and be unknown in another.

import (
	"slices"

	"github.com/koffset/koffset/internal/config"
)

// What settings are about.
const (
	connection uint8 = iota // belongs to one cluster, and so stays in its profile
	guard                   // only ever tightens; see Guards
	other                   // of the operator, not of a cluster
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

// allKeys is the table, in the order in which settings are shown.
func allKeys() []config.Key {
	userPass := []string{mechPlain, mechScram256, mechScram512, mechKerberos}
	oauth := []string{mechOAuth}
	aws := []string{mechAWS}
	krb := []string{mechKerberos}
	keys := []config.Key{
		{Name: "brokers", Kind: config.List, Old: []string{"bootstrap_servers", "bootstrap_server", "bootstrap.servers", "seed_brokers"}},
		{Name: "cluster_id", Old: []string{"cluster.id"}},
		{Name: "client_id", Class: other, Old: []string{"client.id"}},
		{Name: "tls.enabled", Kind: config.Bool, Old: []string{"tls.enable"}},
		{Name: "tls.ca", Kind: config.Path, Group: "tls.ca", Old: []string{"tls.ca_file", "tls.cafile", "tls.ca_cert"}},
		{Name: "tls.ca_pem", Group: "tls.ca"},
		{Name: "tls.cert", Kind: config.Path, Group: "tls.cert", Old: []string{"tls.cert_file", "tls.client_cert"}},
		{Name: "tls.cert_pem", Group: "tls.cert"},
		{Name: "tls.key", Kind: config.Path, Group: "tls.key", Old: []string{"tls.key_file", "tls.client_key"}},
		{Name: "tls.key_pem", Group: "tls.key", Secret: true},
		{Name: "tls.server_name", Old: []string{"tls.servername"}},
		{Name: "tls.verify_hostname", Kind: config.Bool},
		{Name: "tls.insecure_skip_verify", Kind: config.Bool, Old: []string{"tls.insecure"}},
		{Name: "sasl.mechanism", Old: []string{"sasl.mech"}},
		{Name: "sasl.user", For: userPass, Old: []string{"sasl.username"}},
		{Name: "sasl.oauth.token_url", Group: "sasl.token", For: oauth},
		{Name: "sasl.oauth.client_id", For: oauth},
		{Name: "sasl.oauth.scope", For: oauth, Old: []string{"sasl.oauth.scopes"}},
		{Name: "sasl.oauth.ca", Kind: config.Path, For: oauth},
		{Name: "sasl.oauth.extensions", Kind: config.List, For: oauth},
		{Name: "sasl.aws.access_key", For: aws},
		{Name: "sasl.aws.profile", For: aws},
		{Name: "sasl.kerberos.service", For: krb},
		{Name: "sasl.kerberos.realm", For: krb},
		{Name: "sasl.kerberos.keytab", Kind: config.Path, For: krb},
		{Name: "sasl.kerberos.ccache", Kind: config.Path, For: krb},
		{Name: "sasl.kerberos.config", Kind: config.Path, For: krb},
		{Name: "schema_registry.url", Kind: config.List, Same: []string{"schema.registry.url"}},
		{Name: "schema_registry.user", Old: []string{"schema_registry.username"}},
		{Name: "schema_registry.tls.ca", Kind: config.Path},
		{Name: "schema_registry.tls.cert", Kind: config.Path},
		{Name: "schema_registry.tls.key", Kind: config.Path},
		{Name: "schema_registry.tls.insecure_skip_verify", Kind: config.Bool},
		{Name: "timeout", Kind: config.Duration, Class: other},
		{Name: "request_timeout", Kind: config.Duration, Class: other},
		{Name: "state_dir", Kind: config.Path, Class: other},
		{Name: "tz", Class: other, Old: []string{"timezone", "time_zone"}},
		{Name: "read_only", Kind: config.Bool, Class: guard, Old: []string{"readonly"}},
		{Name: "protected_groups", Kind: config.List, Class: guard},
		{Name: "confirm", Class: guard},
		{Name: "max_rewind", Kind: config.Count, Class: guard},
		{Name: "max_skip", Kind: config.Count, Class: guard},
		{Name: "audit_log", Kind: config.Path, Class: guard},
	}
	for _, s := range secretNames() {
		after := s.after
		at := slices.IndexFunc(keys, func(k config.Key) bool { return k.Name == after }) + 1
		keys = slices.Insert(keys, at,
			config.Key{Name: s.name, Secret: true, Group: s.group, For: s.mechs, Old: s.old},
			config.Key{Name: s.name + "_file", Kind: config.Path, Group: s.group, For: s.mechs},
			config.Key{Name: s.name + "_command", Group: s.group, For: s.mechs})
	}
	return keys
}

// SettingNames are the names of all settings in the order in which they are shown, each with suffix after it.
func SettingNames(suffix string) []string {
	var out []string
	for _, k := range allKeys() {
		out = append(out, k.Name+suffix)
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
		{name: "schema_registry.password", group: "schema_registry.password", after: "schema_registry.user"},
		{name: "schema_registry.token", group: "schema_registry.token", after: "schema_registry.password_command"},
		{name: "schema_registry.tls.ca_password", group: "schema_registry.tls.ca_password", after: "schema_registry.tls.ca"},
		{name: "schema_registry.tls.key_password", group: "schema_registry.tls.key_password", after: "schema_registry.tls.key"},
		{name: "sasl.aws.secret_key", group: "sasl.aws.secret_key", after: "sasl.aws.access_key", mechs: []string{mechAWS}},
		{name: "sasl.aws.session_token", group: "sasl.aws.session_token", after: "sasl.aws.secret_key_command", mechs: []string{mechAWS}},
	}
}

func newTable() *config.Table { return config.NewTable(allKeys()) }
