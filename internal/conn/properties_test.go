package conn

import (
	"errors"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/config"
)

// javaSettings loads a .properties file through --command-config.
func javaSettings(t *testing.T, text string) (*Settings, error) {
	t.Helper()
	return Load(Inputs{CommandConfig: write(t, "client.properties", []byte(text)), CommandConfigSet: true})
}

func TestProperties(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     map[string]string // setting -> text
		lines    map[string]int    // setting -> line
		warn     []string
	}{
		{
			name: "scram",
			in: "# comment\nbootstrap.servers=a:9092, b:9093\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n" +
				"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  username=\"alice\" \\\n  password=\"pa${x}ss\";\n" +
				"ssl.truststore.type=PEM\nssl.truststore.location=/etc/ca.pem\nclient.id=me\nrequest.timeout.ms=5000\n",
			want: map[string]string{"tls.enabled": "true", "sasl.mechanism": "SCRAM-SHA-512", "sasl.user": "alice",
				// Expansion would have made this "pass".
				"sasl.password": "pa${x}ss", "tls.ca": "/etc/ca.pem", "client_id": "me", "request_timeout": "5000ms"},
			lines: map[string]int{"brokers": 2, "sasl.user": 5, "sasl.password": 5, "tls.ca": 9, "client_id": 10},
		},
		{
			name: "plain over ssl with the name unchecked",
			in: "security.protocol: SASL_SSL\nsasl.mechanism PLAIN\nssl.endpoint.identification.algorithm=\n" +
				"sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\\\\\"b\" password='c d';\n",
			want: map[string]string{"tls.enabled": "true", "sasl.mechanism": "PLAIN", "tls.verify_hostname": "false", "sasl.user": `a"b`, "sasl.password": "c d"},
		},
		{
			name: "mutual tls inline",
			in: "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.certificate.chain=-----BEGIN CERTIFICATE----- AA -----END CERTIFICATE-----\n" +
				"ssl.keystore.key=-----BEGIN PRIVATE KEY----- BB -----END PRIVATE KEY-----\nssl.key.password=kp\nssl.truststore.type=PEM\nssl.truststore.certificates=CC\n",
			want: map[string]string{"tls.enabled": "true", "tls.cert_pem": "-----BEGIN CERTIFICATE----- AA -----END CERTIFICATE-----",
				"tls.key_pem": "-----BEGIN PRIVATE KEY----- BB -----END PRIVATE KEY-----", "tls.key_password": "kp", "tls.ca_pem": "CC", "sasl.mechanism": ""},
		},
		{
			name: "pkcs12 stores use the store's password",
			in:   "security.protocol=SSL\nssl.keystore.type=PKCS12\nssl.keystore.location=/k.p12\nssl.keystore.password=sp\nssl.key.password=kp\nssl.truststore.location=/t.p12\nssl.truststore.password=tp\n",
			want: map[string]string{"tls.cert": "/k.p12", "tls.key_password": "sp", "tls.ca": "/t.p12", "tls.ca_password": "tp"},
		},
		{
			name: "oauth of kafka 4",
			in: "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=https://idp/token\n" +
				"sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\n" +
				"sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=\"c\" clientSecret=\"s\" scope=\"x\" extension_logicalCluster=\"lkc-1\";\n",
			want: map[string]string{"sasl.oauth.token_url": "https://idp/token", "sasl.oauth.client_id": "c", "sasl.oauth.client_secret": "s", "sasl.oauth.scope": "x"},
		},
		{
			name: "a token in a file",
			in:   "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=file:///run/token\n",
			want: map[string]string{"sasl.token_file": "/run/token"},
		},
		{
			name: "msk",
			in:   "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\nsasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName=\"dev\";\nsasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler\n",
			want: map[string]string{"sasl.mechanism": "AWS_MSK_IAM", "sasl.aws.profile": "dev", "tls.enabled": "true"},
		},
		{
			name: "kerberos",
			in:   "security.protocol=SASL_PLAINTEXT\nsasl.kerberos.service.name=kafka\nsasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab=\"/k.keytab\" principal=\"me/host@EX.COM\";\n",
			want: map[string]string{"sasl.mechanism": "GSSAPI", "sasl.kerberos.service": "kafka", "sasl.kerberos.keytab": "/k.keytab", "sasl.user": "me/host", "sasl.kerberos.realm": "EX.COM", "tls.enabled": "false"},
		},
		{
			name: "no protocol means no protection, as in Java",
			in:   "bootstrap.servers=a:1\nsasl.mechanism=PLAIN\nsasl.jaas.config=x required;\n",
			want: map[string]string{"tls.enabled": "false", "sasl.mechanism": ""},
			warn: []string{"no security.protocol"},
		},
		{
			name: "one warning for all that has no effect",
			in:   "group.id=g\nacks=all\nmax.poll.records=5\nenable.auto.commit=false\nconfig.providers=file\nsecurity.protocol=PLAINTEXT\n",
			want: map[string]string{"tls.enabled": "false"},
			warn: []string{"client.properties: these keys have no effect here: acks, config.providers, enable.auto.commit, group.id, max.poll.records"},
		},
		{
			name: "latin 1",
			in:   "client.id=caf\xe9\n",
			want: map[string]string{"client_id": "café"},
		},
		{
			name: "escapes and utf-8",
			in:   "client.id=caf\\u00e9 é\n",
			want: map[string]string{"client_id": "café é"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := javaSettings(t, c.in)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range c.want {
				v, ok := s.Value(name)
				if !ok || v.Text != want || v.Source.Kind != config.FromProperties {
					t.Errorf("%s is %q from %s (%v), want %q", name, v.Text, v.Source, ok, want)
				}
			}
			for name, line := range c.lines {
				if v, _ := s.Value(name); v.Source.Line != line {
					t.Errorf("%s comes from line %d, want %d", name, v.Source.Line, line)
				}
			}
			var warnings []string
			for _, w := range s.Warnings {
				if strings.Contains(w.String(), "have no effect here:") || strings.Contains(w.String(), "security.protocol") {
					warnings = append(warnings, w.String())
				}
			}
			if len(warnings) != len(c.warn) {
				t.Errorf("warnings %q, want %q", warnings, c.warn)
			}
			for i := range min(len(warnings), len(c.warn)) {
				if !strings.Contains(warnings[i], c.warn[i]) {
					t.Errorf("warning %q, want %q", warnings[i], c.warn[i])
				}
			}
		})
	}
}

func TestPropertiesErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"security.protocol=SASL-SSL\n", `client.properties:1: security.protocol is "SASL-SSL"`},
		{"\n\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=a.PlainLoginModule required username=\"u\" password=\"hunter2;\n", "client.properties:5: sasl.jaas.config"},
		{"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=a.ScramLoginModule required username=\"u\" password=\"hunter2\";\n", "does not fit sasl.mechanism PLAIN"},
		{"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=com.corp.LoginModule required secret=\"hunter2\";\n", "does not know the login module com.corp.LoginModule"},
		{"request.timeout.ms=5s\n", "not a number of milliseconds"},
		{"security.protocol=SSL\nssl.keystore.type=BCFKS\n", `ssl.keystore.type is "BCFKS"`},
		{"security.protocol=SSL\nssl.endpoint.identification.algorithm=ldaps\n", "ldaps"},
		{"a=\\u00zz hunter2\n", "not a Java .properties file"},
	} {
		_, err := javaSettings(t, c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.in, err, c.want)
			continue
		}
		e, ok := errors.AsType[*config.Error](err)
		if !ok {
			t.Fatalf("error is a %T", err)
		}
		if strings.Contains(err.Error()+e.Hint, "hunter2") {
			t.Errorf("a secret is in %q", err)
		}
	}
	if _, err := Load(Inputs{CommandConfig: "/no/such.properties", CommandConfigSet: true}); err == nil || !strings.Contains(err.Error(), "flag command-config") {
		t.Errorf("error %v", err)
	}
	if _, err := Load(Inputs{CommandConfigSet: true}); err == nil {
		t.Error("an empty file name was taken")
	}
}

// No file may bring the parser down or make up lines that are not there.
func FuzzProperties(f *testing.F) {
	for _, s := range []string{
		"bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=a.PlainLoginModule required username=\"u\" \\\n password=\"p\";\n",
		"a\\=b = c\\\n  d\n! x\n# y\n\nk", "k=${k}", "k=\\u0041\\", "\\", "ssl.keystore.key=-----BEGIN X----- a -----END X-----",
		"security.protocol=SSL\r\nssl.truststore.certificates=-----BEGIN \rclient.id=\xff\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(nil)
		l, err := r.parseProperties("f.properties", data)
		if err != nil {
			return
		}
		lines := strings.Count(strings.ReplaceAll(string(data), "\r", "\n"), "\n") + 1
		for name, v := range l {
			if v.Source.Line < 0 || v.Source.Line > lines {
				t.Fatalf("%s from line %d of %d", name, v.Source.Line, lines)
			}
			unfoldPEM(v.Text)
		}
		if n := len(r.Warnings); n > 4 {
			t.Fatalf("%d warnings", n)
		}
	})
}
