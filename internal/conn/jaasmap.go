package conn

// What the options of Java's login modules mean here.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/config"
)

const jaasConfig = "sasl.jaas.config"

// jaas reads sasl.jaas.config for the mechanism.
func (j *javaFile) jaas(mech string) error {
	const prop = jaasConfig
	text := strings.TrimSpace(j.Values[prop])
	if text == "" {
		return nil
	}
	e, err := parseJAAS(text)
	if err != nil {
		return j.bad(prop, "sasl.jaas.config: "+err.Error(), `its form is MODULE required name="value" …;`)
	}
	module := e.simpleName()
	fits := map[string][]string{
		"PlainLoginModule":       {mechPlain},
		"ScramLoginModule":       {mechScram256, mechScram512},
		"OAuthBearerLoginModule": {mechOAuth},
		"IAMLoginModule":         {mechAWS},
		"Krb5LoginModule":        {mechKerberos},
	}
	want, known := fits[module]
	if !known {
		return j.bad(prop, fmt.Sprintf("koffset does not know the login module %s", e.module), "it knows "+strings.Join(sortedKeys(fits), ", "))
	}
	if !slices.Contains(want, mech) {
		return j.bad(prop, fmt.Sprintf("%s does not fit sasl.mechanism %s", module, mech), "that module is for "+strings.Join(want, " and "))
	}
	used := map[string]bool{}
	take := func(setting string, names ...string) error {
		for _, n := range names {
			used[n] = true
			if v := e.options[n]; v != "" {
				return j.put(setting, prop, v)
			}
		}
		return nil
	}
	var steps []error
	switch module {
	case "PlainLoginModule", "ScramLoginModule":
		steps = append(steps, take("sasl.user", "username"), take("sasl.password", "password"))
		if e.options["tokenauth"] == "true" {
			// Delegation tokens log in over SCRAM with an extension.
			return j.bad(prop, "tokenauth=true (a delegation token) is not supported", "log in with a user and a password")
		}
	case "OAuthBearerLoginModule":
		steps = append(steps, j.oauthOptions(e, take, used))
	case "IAMLoginModule":
		steps = append(steps, take("sasl.aws.profile", "awsProfileName"))
	case "Krb5LoginModule":
		steps = append(steps, j.kerberosOptions(e, take, used))
	}
	for _, err := range steps {
		if err != nil {
			return err
		}
	}
	var unused []string
	for _, o := range e.order {
		if !used[o] {
			unused = append(unused, o)
		}
	}
	if len(unused) > 0 {
		j.r.Warn(j.where(prop), "these options of "+module+" have no effect here: "+strings.Join(unused, ", "), "")
	}
	return nil
}

// oauthOptions knows the names of Kafka's own handler and of Strimzi's.
func (j *javaFile) oauthOptions(e jaasEntry, take func(string, ...string) error, used map[string]bool) error {
	for _, c := range []struct {
		setting string
		names   []string
	}{
		{"sasl.oauth.client_id", []string{"clientId", "oauth.client.id"}},
		{"sasl.oauth.client_secret", []string{"clientSecret", "oauth.client.secret"}},
		{"sasl.oauth.scope", []string{"scope", "oauth.scope"}},
		{"sasl.oauth.token_url", []string{"oauth.token.endpoint.uri"}},
		{"sasl.token", []string{"oauth.access.token"}},
	} {
		if _, have := j.l[c.setting]; have {
			// The properties of Kafka 4 win over the options they replace.
			for _, n := range c.names {
				used[n] = true
			}
			continue
		}
		if err := take(c.setting, c.names...); err != nil {
			return err
		}
	}
	var ext []string
	for _, o := range e.order {
		if name, ok := strings.CutPrefix(o, "extension_"); ok {
			used[o] = true
			ext = append(ext, name+"="+e.options[o])
		}
	}
	if len(ext) > 0 {
		k := j.r.Table.Key("sasl.oauth.extensions")
		return j.r.Put(j.l, k, j.where(jaasConfig), config.Value{List: ext, As: jaasConfig, Source: j.Source(jaasConfig)})
	}
	return nil
}

func (j *javaFile) kerberosOptions(e jaasEntry, take func(string, ...string) error, used map[string]bool) error {
	const prop = jaasConfig
	for _, n := range []string{"useKeyTab", "storeKey", "useTicketCache", "refreshKrb5Config", "renewTGT", "doNotPrompt", "principal", "debug"} {
		used[n] = true
	}
	if p := e.options["principal"]; p != "" {
		user, realm, _ := strings.Cut(p, "@")
		if err := j.put("sasl.user", prop, user); err != nil {
			return err
		}
		if err := j.put("sasl.kerberos.realm", prop, realm); err != nil {
			return err
		}
	}
	if _, have := j.l["sasl.kerberos.service"]; !have {
		if err := take("sasl.kerberos.service", "serviceName"); err != nil {
			return err
		}
	}
	used["serviceName"] = true
	if err := take("sasl.kerberos.ccache", "ticketCache"); err != nil {
		return err
	}
	return take("sasl.kerberos.keytab", "keyTab")
}
