package conn

// What the options of Java's login modules mean here.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/config"
)

const jaasConfig = "sasl.jaas.config"

// loginModules are the login modules that are known, and the mechanisms that each is for.
func loginModules() map[string][]string {
	return map[string][]string{
		"PlainLoginModule":       {mechPlain},
		"ScramLoginModule":       {mechScram256, mechScram512},
		"OAuthBearerLoginModule": {mechOAuth},
		"IAMLoginModule":         {mechAWS},
		"Krb5LoginModule":        {mechKerberos},
	}
}

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
	want, known := loginModules()[module]
	if !known {
		return j.bad(prop, fmt.Sprintf("koffset does not know the login module %s", e.module), "it knows "+strings.Join(sortedKeys(loginModules()), ", "))
	}
	if !slices.Contains(want, mech) {
		return j.bad(prop, fmt.Sprintf("%s does not fit sasl.mechanism %s", module, mech), "that module is for "+strings.Join(want, " and "))
	}
	o := jaasOptions{javaFile: j, jaasEntry: e, used: map[string]bool{}}
	switch module {
	case "PlainLoginModule", "ScramLoginModule":
		err = o.password()
	case "OAuthBearerLoginModule":
		err = o.oauth()
	case "IAMLoginModule":
		err = o.take("sasl.aws.profile", "awsProfileName")
	case "Krb5LoginModule":
		err = o.kerberos()
	}
	if err != nil {
		return err
	}
	unused := slices.DeleteFunc(slices.Clone(e.order), func(name string) bool { return o.used[name] })
	if len(unused) > 0 {
		j.r.Warn(j.where(prop), "these options of "+module+" have no effect here: "+strings.Join(unused, ", "), "")
	}
	return nil
}

// jaasOptions are the options of a login module, and which of them koffset uses.
type jaasOptions struct {
	*javaFile
	jaasEntry
	used map[string]bool
}

// take puts the first of the options that has a value.
func (o jaasOptions) take(setting string, names ...string) error {
	for _, n := range names {
		o.used[n] = true
		if v := o.options[n]; v != "" {
			return o.put(setting, jaasConfig, v)
		}
	}
	return nil
}

func (o jaasOptions) password() error {
	if o.options["tokenauth"] == "true" {
		// Delegation tokens log in over SCRAM with an extension.
		return o.bad(jaasConfig, "tokenauth=true (a delegation token) is not supported", "log in with a user and a password")
	}
	if err := o.take("sasl.user", "username"); err != nil {
		return err
	}
	return o.take("sasl.password", "password")
}

// oauth knows the names of Kafka's own handler and of Strimzi's.
func (o jaasOptions) oauth() error {
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
		if _, have := o.l[c.setting]; have {
			// The properties of Kafka 4 win over the options they replace.
			for _, n := range c.names {
				o.used[n] = true
			}
			continue
		}
		if err := o.take(c.setting, c.names...); err != nil {
			return err
		}
	}
	var ext []string
	for _, option := range o.order {
		if name, ok := strings.CutPrefix(option, "extension_"); ok {
			o.used[option] = true
			ext = append(ext, name+"="+o.options[option])
		}
	}
	if len(ext) > 0 {
		k := o.r.Table.Key("sasl.oauth.extensions")
		return o.r.Put(o.l, k, o.where(jaasConfig), config.Value{List: ext, As: jaasConfig, Source: o.Source(jaasConfig)})
	}
	return nil
}

func (o jaasOptions) kerberos() error {
	for _, n := range []string{"useKeyTab", "storeKey", "useTicketCache", "refreshKrb5Config", "renewTGT", "doNotPrompt", "principal", "debug"} {
		o.used[n] = true
	}
	if p := o.options["principal"]; p != "" {
		user, realm, _ := strings.Cut(p, "@")
		if err := o.put("sasl.user", jaasConfig, user); err != nil {
			return err
		}
		if err := o.put("sasl.kerberos.realm", jaasConfig, realm); err != nil {
			return err
		}
	}
	if _, have := o.l["sasl.kerberos.service"]; !have {
		if err := o.take("sasl.kerberos.service", "serviceName"); err != nil {
			return err
		}
	}
	o.used["serviceName"] = true
	if err := o.take("sasl.kerberos.ccache", "ticketCache"); err != nil {
		return err
	}
	return o.take("sasl.kerberos.keytab", "keyTab")
}
