package conn

// --command-config: the .properties file of Kafka's Java client.

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/magiconair/properties"
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
	r     *reader
	path  string
	props map[string]string
	lines map[string]int
	l     *layer
}

func (r *reader) readProperties(file, from string) (*layer, error) {
	if file == "" {
		return nil, &ConfigError{Where: from, Text: "the file name is empty"}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &ConfigError{Where: from, Text: "cannot read the file", Err: err}
	}
	return r.parseProperties(file, data)
}

func (r *reader) parseProperties(file string, data []byte) (*layer, error) {
	// Java reads these files as ISO 8859-1, but people write UTF-8, and where
	// the two differ nothing but a password is at stake: what is valid UTF-8
	// is taken as such. Without DisableExpansion a ${x} inside a password
	// would vanish (measured: pa${x}ss becomes pass).
	enc := properties.UTF8
	if !validUTF8(data) {
		enc = properties.ISO_8859_1
	}
	loader := &properties.Loader{Encoding: enc, DisableExpansion: true}
	props, err := loader.LoadBytes(data)
	if err != nil {
		// The library's message can quote the file.
		return nil, &ConfigError{Where: place(file, 0), Text: "not a Java .properties file"}
	}
	j := &javaFile{r: r, path: file, props: props.Map(), lines: propertyLines(data), l: newLayer("")}
	if err := j.convert(); err != nil {
		return nil, err
	}
	j.warnUnused(props.Keys())
	return j.l, nil
}

func (j *javaFile) src(name string) Source {
	return Source{Kind: FromProperties, Name: name, File: j.path, Line: j.lines[name]}
}

func (j *javaFile) where(name string) string { return place(j.path, j.lines[name]) }

// put sets one of koffset's settings from a property; empty values are as good
// as none, as in Java for these names.
func (j *javaFile) put(setting, prop, value string) error {
	if value == "" {
		return nil
	}
	k := j.r.schema.by[setting]
	return j.r.set(j.l, k, prop, j.where(prop), scalar(k, value, j.src(prop)))
}

// copy sets a setting to a property's value as it is.
func (j *javaFile) copy(setting, prop string) error {
	return j.put(setting, prop, strings.TrimSpace(j.props[prop]))
}

func (j *javaFile) bad(prop, text, hint string) error {
	return &ConfigError{Where: j.where(prop), Text: text, Hint: hint}
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
		v := strings.TrimSpace(j.props[prop])
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
	v := strings.TrimSpace(j.props[prop])
	switch strings.ToUpper(v) {
	case "":
		for _, name := range sortedKeys(j.props) {
			if strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.") {
				j.r.warn(place(j.path, 0), "there is no security.protocol, so that its ssl.* and sasl.* keys have no effect, as in Java",
					"add security.protocol=SASL_SSL (or SSL, or SASL_PLAINTEXT)")
				break
			}
		}
		if _, ok := j.props["bootstrap.servers"]; ok {
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
			orElse(hintNear(strings.ToUpper(v), known), "it is one of "+strings.Join(known, ", ")))
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
	j.l.values[setting] = Value{Source: j.src(prop)}
}

func (j *javaFile) tls() error {
	if v, ok := j.props["ssl.endpoint.identification.algorithm"]; ok {
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
		switch v := strings.ToUpper(strings.TrimSpace(j.props[prop])); v {
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
	if j.props[prop] == "" || !strings.EqualFold(strings.TrimSpace(j.props["ssl.keystore.type"]), "PEM") && j.props["ssl.keystore.password"] != "" {
		prop = "ssl.keystore.password"
	}
	return j.copy("tls.key_password", prop)
}

func (j *javaFile) sasl() error {
	mech := strings.ToUpper(orElse(strings.TrimSpace(j.props["sasl.mechanism"]), mechKerberos)) // Java's default
	prop := "sasl.mechanism"
	if j.props[prop] == "" {
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
	if u := strings.TrimSpace(j.props[urlProp]); u != "" {
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
func (j *javaFile) warnUnused(keys []string) {
	handled := javaHandled()
	var unused []string
	for _, k := range keys {
		switch {
		case slices.Contains(handled, k) || ignorable(k):
		case j.r.owns != nil && !javaKnown(k):
			j.r.owned = append(j.r.owned, OwnedValue{Name: k, Text: strings.TrimSpace(j.props[k]), Where: j.where(k)})
		default:
			unused = append(unused, k)
		}
	}
	if len(unused) > 0 {
		slices.Sort(unused)
		j.r.warn(place(j.path, 0), "these keys have no effect here: "+strings.Join(unused, ", "), "")
	}
}

// ignorable keys say what is so anyway: the login callback class belongs to
// the mechanism.
func ignorable(k string) bool {
	return k == "sasl.login.callback.handler.class" || k == "sasl.client.callback.handler.class" ||
		k == "ssl.protocol" || k == "ssl.enabled.protocols"
}

// propertyLines finds the line at which each key begins: the library does not
// keep it, and a message without a line sends people searching. It follows the
// format's rules for comments, continued lines and the end of a key.
func propertyLines(data []byte) map[string]int {
	lines := map[string]int{}
	raw := strings.Split(strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n"), "\n")
	for i := 0; i < len(raw); i++ {
		start := i
		line := strings.TrimLeft(raw[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for oddBackslashes(raw[i]) && i+1 < len(raw) {
			line = line[:len(line)-1]
			i++
			line += strings.TrimLeft(raw[i], " \t\f")
		}
		lines[propertyKey(line)] = start + 1
	}
	return lines
}

func oddBackslashes(s string) bool {
	n := len(s) - len(strings.TrimRight(s, `\`))
	return n%2 == 1
}

func propertyKey(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '\\':
			if i+1 < len(line) {
				i++
				b.WriteByte(line[i])
			}
		case '=', ':', ' ', '\t', '\f':
			return b.String()
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
