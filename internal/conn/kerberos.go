package conn

// GSSAPI (Kerberos), with a password, a keytab or the ticket cache that kinit
// fills.

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/jcmturner/gokrb5/v8/client"
	krbconfig "github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"

	"github.com/koffset/koffset/internal/config"
)

func (s *Settings) kerberosMechanism(ctx context.Context) (sasl.Mechanism, error) {
	cl, err := s.kerberosClient(ctx)
	if err != nil {
		return nil, err
	}
	auth := kerberos.Auth{Client: cl, Service: cmp.Or(s.text("sasl.kerberos.service"), "kafka")}
	return auth.AsMechanismWithClose(), nil
}

func (s *Settings) kerberosClient(ctx context.Context) (*client.Client, error) {
	file := s.kerberosFile("sasl.kerberos.config", "KRB5_CONFIG", "/etc/krb5.conf")
	cfg, err := krbconfig.Load(file)
	if err != nil {
		// A file with sections that gokrb5 does not know still serves.
		if _, partly := err.(krbconfig.UnsupportedDirective); !partly {
			return nil, &config.Error{Where: s.source("sasl.mechanism"), Text: "the Kerberos configuration " + file + " cannot be used", Err: err,
				Hint: "set sasl.kerberos.config or KRB5_CONFIG"}
		}
	}
	user, realm := s.text("sasl.user"), s.text("sasl.kerberos.realm")
	if u, r, ok := strings.Cut(user, "@"); ok {
		user, realm = u, cmp.Or(realm, r)
	}
	realm = cmp.Or(realm, cfg.LibDefaults.DefaultRealm)

	// FAST is switched off: gokrb5 asks for it and Active Directory refuses
	// what it sends.
	fast := client.DisablePAFXFAST(true)
	switch {
	case s.has("sasl.kerberos.keytab"):
		path := s.paths.of(s.values["sasl.kerberos.keytab"])
		kt, err := keytab.Load(path)
		if err != nil {
			return nil, &config.Error{Where: s.source("sasl.kerberos.keytab"), Text: "the keytab cannot be read", Err: err}
		}
		if user == "" {
			return nil, s.missing(mechKerberos, "sasl.user beside the keytab", "klist -k "+path+" lists whom it is for")
		}
		return client.NewWithKeytab(user, realm, kt, cfg, fast), nil
	case s.hasSecret("sasl.password"):
		pass, err := s.secret(ctx, "sasl.password")
		if err != nil {
			return nil, err
		}
		if user == "" {
			return nil, s.missing(mechKerberos, "sasl.user beside the password", "")
		}
		return client.NewWithPassword(user, realm, pass, cfg, fast), nil
	}
	path := strings.TrimPrefix(s.kerberosFile("sasl.kerberos.ccache", "KRB5CCNAME", defaultCCache()), "FILE:")
	cc, err := credentials.LoadCCache(path)
	if err != nil {
		return nil, &config.Error{Where: s.source("sasl.mechanism"), Text: "there is no Kerberos ticket cache at " + path, Err: err,
			Hint: "run kinit, or set sasl.kerberos.keytab, or sasl.user and a password"}
	}
	cl, err := client.NewFromCCache(cc, cfg, fast)
	if err != nil {
		return nil, &config.Error{Where: s.source("sasl.mechanism"), Text: "the Kerberos ticket cache " + path + " cannot be used", Err: err, Hint: "run kinit"}
	}
	return cl, nil
}

func (s *Settings) kerberosFile(setting, env, otherwise string) string {
	if v, ok := s.values[setting]; ok && v.Text != "" {
		return s.paths.of(v)
	}
	return cmp.Or(s.env[env], otherwise)
}

// defaultCCache is where kinit writes when nothing else is said.
func defaultCCache() string {
	return "/tmp/krb5cc_" + uid()
}

func uid() string {
	n := os.Getuid()
	if n < 0 {
		return "0" // Windows has none
	}
	return strconv.Itoa(n)
}
