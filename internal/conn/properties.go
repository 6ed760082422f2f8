package conn

// --command-config: the .properties file of Kafka's Java client.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/wholefile"
)

// javaHandled are the names that have a meaning here.
func javaHandled() []string {
	return []string{
		"bootstrap.servers", "client.id", "request.timeout.ms", "default.api.timeout.ms",
		"security.protocol", "ssl.endpoint.identification.algorithm",
		"ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.certificates",
		"ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.key", "ssl.keystore.certificate.chain",
		"ssl.key.password",
		"sasl.mechanism", "sasl.jaas.config", "sasl.kerberos.service.name",
		"sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.scope",
		"sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret",
		"schema.registry.url", "basic.auth.credentials.source", "basic.auth.user.info", "schema.registry.basic.auth.user.info",
		"bearer.auth.credentials.source", "bearer.auth.token", "schema.registry.ssl.truststore.location", "schema.registry.ssl.truststore.password",
		"schema.registry.ssl.keystore.location", "schema.registry.ssl.keystore.password",
	}
}

// javaKnown reports whether a name is one of the Java client's.
func javaKnown(name string) bool {
	for _, prefix := range []string{"ssl.", "sasl.oauthbearer.", "sasl.login.", "sasl.jaas.", "sasl.kerberos.service.name", "security.", "metadata.max"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains(javaHandled(), name)
}

type javaFile struct {
	*config.Properties
	r *reader
	l config.Layer
}

func (r *reader) readProperties(file, from string) (config.Layer, error) {
	if file == "" {
		return nil, config.Errorf(from, "", "the file name is empty")
	}
	data, err := wholefile.Read(file, maxSettings)
	if err != nil {
		return nil, &config.Error{Where: from, Text: "cannot read the file", Err: err}
	}
	return r.parseProperties(file, data)
}

func (r *reader) parseProperties(file string, data []byte) (config.Layer, error) {
	props, err := config.ParseProperties(file, data)
	if err != nil {
		return nil, err
	}
	j := &javaFile{Properties: props, r: r, l: config.Layer{}}
	if err := j.convert(); err != nil {
		return nil, err
	}
	j.warnUnused()
	return j.l, nil
}

func (j *javaFile) where(name string) string { return j.Source(name).String() }

// put sets one of koffset's settings from a property; empty values are as good
// as none, as in Java for these names.
func (j *javaFile) put(setting, prop, value string) error {
	if value == "" {
		return nil
	}
	k := j.r.Table.Key(setting)
	v := k.Written(value, j.Source(prop))
	v.As = prop
	return j.r.Put(j.l, k, j.where(prop), v)
}

// copy sets a setting to a property's value as it is.
func (j *javaFile) copy(setting, prop string) error {
	return j.put(setting, prop, strings.TrimSpace(j.Values[prop]))
}

func (j *javaFile) bad(prop, text, hint string) error {
	return &config.Error{Where: j.where(prop), Text: text, Hint: hint}
}

func (j *javaFile) convert() error {
	for _, c := range []struct{ setting, prop string }{
		{"brokers", "bootstrap.servers"}, {"client_id", "client.id"},
	} {
		if err := j.copy(c.setting, c.prop); err != nil {
			return err
		}
	}
	for setting, prop := range map[string]string{"request_timeout": "request.timeout.ms", "timeout": "default.api.timeout.ms"} {
		v := strings.TrimSpace(j.Values[prop])
		if v == "" {
			continue
		}
		if n, err := strconv.ParseInt(v, 10, 32); err != nil || n <= 0 {
			return j.bad(prop, fmt.Sprintf("%s is %q, not a number of milliseconds", prop, v), "")
		}
		if err := j.put(setting, prop, v+"ms"); err != nil {
			return err
		}
	}
	if err := j.registry(); err != nil {
		return err
	}
	tls, sasl, err := j.protocol()
	if err != nil {
		return err
	}
	if tls {
		if err := j.tls(); err != nil {
			return err
		}
	}
	if sasl {
		return j.sasl()
	}
	return nil
}

// protocol reads security.protocol. Java's default is PLAINTEXT, whatever else
// the file says; a file that sets ssl.* or sasl.* without it does nothing with
// them in Java, and gets a warning here.
func (j *javaFile) protocol() (tls, sasl bool, err error) {
	const prop = "security.protocol"
	v := strings.TrimSpace(j.Values[prop])
	switch strings.ToUpper(v) {
	case "":
		for _, name := range sortedKeys(j.Values) {
			if strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.") {
				j.r.Warn(config.Place(j.File, 0), "there is no security.protocol, so that its ssl.* and sasl.* keys have no effect, as in Java",
					"add security.protocol=SASL_SSL (or SSL, or SASL_PLAINTEXT)")
				break
			}
		}
		if _, ok := j.Values["bootstrap.servers"]; ok {
			// The file describes a whole connection, so a weaker layer must
			// not switch TLS on for it.
			j.off("sasl.mechanism", "bootstrap.servers")
			return false, false, j.put("tls.enabled", "bootstrap.servers", "false")
		}
		return false, false, nil
	case "PLAINTEXT":
	case "SSL":
		tls = true
	case "SASL_PLAINTEXT":
		sasl = true
	case "SASL_SSL":
		tls, sasl = true, true
	default:
		known := []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}
		return false, false, j.bad(prop, fmt.Sprintf("security.protocol is %q", v),
			cmp.Or(config.Near(strings.ToUpper(v), known), "it is one of "+strings.Join(known, ", ")))
	}
	if err := j.put("tls.enabled", prop, strconv.FormatBool(tls)); err != nil {
		return false, false, err
	}
	if !sasl {
		j.off("sasl.mechanism", prop)
	}
	return tls, sasl, nil
}

// off hides a setting of weaker layers: the file says that there is none.
func (j *javaFile) off(setting, prop string) {
	j.l[setting] = config.Value{Source: j.Source(prop)}
}

func (j *javaFile) tls() error {
	if v, ok := j.Values["ssl.endpoint.identification.algorithm"]; ok {
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "":
			if err := j.put("tls.verify_hostname", "ssl.endpoint.identification.algorithm", "false"); err != nil {
				return err
			}
		case "https":
		default:
			return j.bad("ssl.endpoint.identification.algorithm", fmt.Sprintf("ssl.endpoint.identification.algorithm is %q", v), "it is https, or empty to accept every name")
		}
	}
	for _, prop := range []string{"ssl.truststore.type", "ssl.keystore.type"} {
		switch v := strings.ToUpper(strings.TrimSpace(j.Values[prop])); v {
		case "", "PEM", "PKCS12", "JKS": // the file itself tells; see readStore
		default:
			return j.bad(prop, fmt.Sprintf("%s is %q", prop, v), "koffset reads PEM and PKCS12")
		}
	}
	// A PEM keystore has key and chain in one place; PKCS12 too.
	for _, c := range []struct{ setting, prop string }{
		{"tls.ca", "ssl.truststore.location"},
		{"tls.ca_pem", "ssl.truststore.certificates"},
		{"tls.ca_password", "ssl.truststore.password"},
		{"tls.cert", "ssl.keystore.location"},
		{"tls.cert_pem", "ssl.keystore.certificate.chain"},
		{"tls.key_pem", "ssl.keystore.key"},
	} {
		if err := j.copy(c.setting, c.prop); err != nil {
			return err
		}
	}
	// Java has two passwords, of the store and of the key in it. A PKCS12 store
	// uses one for both, a PEM file has only the key's.
	prop := "ssl.key.password"
	if j.Values[prop] == "" || !strings.EqualFold(strings.TrimSpace(j.Values["ssl.keystore.type"]), "PEM") && j.Values["ssl.keystore.password"] != "" {
		prop = "ssl.keystore.password"
	}
	return j.copy("tls.key_password", prop)
}

func (j *javaFile) sasl() error {
	mech := strings.ToUpper(cmp.Or(strings.TrimSpace(j.Values["sasl.mechanism"]), mechKerberos)) // Java's default
	prop := "sasl.mechanism"
	if j.Values[prop] == "" {
		prop = "security.protocol"
	}
	if err := j.put("sasl.mechanism", prop, mech); err != nil {
		return err
	}
	for _, c := range []struct{ setting, prop string }{
		{"sasl.kerberos.service", "sasl.kerberos.service.name"},
		{"sasl.oauth.client_id", "sasl.oauthbearer.client.credentials.client.id"},
		{"sasl.oauth.client_secret", "sasl.oauthbearer.client.credentials.client.secret"},
		{"sasl.oauth.scope", "sasl.oauthbearer.scope"},
	} {
		if err := j.copy(c.setting, c.prop); err != nil {
			return err
		}
	}
	const urlProp = "sasl.oauthbearer.token.endpoint.url"
	if u := strings.TrimSpace(j.Values[urlProp]); u != "" {
		// Java takes a file with a token through the same name.
		setting := "sasl.oauth.token_url"
		if file, ok := strings.CutPrefix(u, "file://"); ok {
			setting, u = "sasl.token_file", file
		}
		if err := j.put(setting, urlProp, u); err != nil {
			return err
		}
	}
	return j.jaas(mech)
}

// warnUnused names, in one warning, the keys that change nothing here. A Java
// file is often shared with producers and consumers and holds dozens.
func (j *javaFile) warnUnused() {
	handled := javaHandled()
	var unused []string
	for _, k := range j.Keys {
		switch {
		case slices.Contains(handled, k) || ignorable(k):
		case j.r.owns != nil && !javaKnown(k):
			j.r.owned = append(j.r.owned, config.Value{As: k, Text: strings.TrimSpace(j.Values[k]), Source: j.Source(k)})
		default:
			unused = append(unused, k)
		}
	}
	if len(unused) > 0 {
		slices.Sort(unused)
		j.r.Warn(config.Place(j.File, 0), "these keys have no effect here: "+strings.Join(unused, ", "), "")
	}
}

// ignorable keys say what is so anyway: the login callback class belongs to
// the mechanism.
func ignorable(k string) bool {
	return k == "sasl.login.callback.handler.class" || k == "sasl.client.callback.handler.class" ||
		k == "ssl.protocol" || k == "ssl.enabled.protocols"
}
