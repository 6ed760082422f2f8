//go:build realkafka

package conn

// The same against a real Apache Kafka, with TLS and each mechanism that it has
// built in.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func TestMain(m *testing.M) { os.Exit(realKafka.Main(m)) }

var realKafka = kafkatest.Shared{Options: kafkatest.Options{Secure: true}}

func TestRealLogins(t *testing.T) {
	k := realKafka.Kafka(t)
	sec := k.Secure()
	pass := write(t, "pass", []byte(kafkatest.Password+"\n"))
	base := []string{"brokers=" + sec.SASLAddr, "tls.ca=" + sec.CAFile}
	for name, x := range map[string][]string{
		"PLAIN":              {"sasl.mechanism=PLAIN", "sasl.user=" + kafkatest.AdminUser, "sasl.password=" + kafkatest.Password},
		"SCRAM-SHA-256":      {"sasl.mechanism=scram-sha-256", "sasl.user=" + kafkatest.AdminUser, "sasl.password_file=" + pass},
		"SCRAM-SHA-512":      {"sasl.mechanism=SCRAM-SHA-512", "sasl.user=" + kafkatest.AdminUser, "sasl.password_command=cat " + pass},
		"OAUTHBEARER":        {"sasl.mechanism=OAUTHBEARER", "sasl.token=" + kafkatest.Token(kafkatest.AdminUser, time.Hour)},
		"mutual TLS":         {"brokers=" + sec.MutualAddr, "tls.cert=" + sec.ClientCertFile, "tls.key=" + sec.ClientKeyFile},
		"mutual TLS, one":    {"brokers=" + sec.MutualAddr, "tls.cert=" + sec.ClientKeystore},
		"without name check": {"sasl.mechanism=PLAIN", "sasl.user=" + kafkatest.AdminUser, "sasl.password=" + kafkatest.Password, "tls.verify_hostname=false"},
	} {
		t.Run(name, func(t *testing.T) {
			cl, err := Connect(t.Context(), load(t, append(base, x...)...))
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			m, err := kadm.NewClient(cl).BrokerMetadata(t.Context())
			if err != nil || m.Cluster != k.ID {
				t.Errorf("cluster %q, %v; want %q", m.Cluster, err, k.ID)
			}
		})
	}
}

// The file is the one that Kafka's own tools are given.
func TestRealCommandConfig(t *testing.T) {
	k := realKafka.Kafka(t)
	s, err := Load(Inputs{Brokers: []string{k.Secure().SASLAddr}, BrokersSet: true,
		CommandConfig: k.CommandConfig(t, kafkatest.LimitedUser), CommandConfigSet: true})
	if err != nil {
		t.Fatal(err)
	}
	if u, _ := s.Value("sasl.user"); u.Text != kafkatest.LimitedUser {
		t.Errorf("user %q", u.Text)
	}
	cl, err := Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	cl.Close()
}

func TestRealFailures(t *testing.T) {
	k := realKafka.Kafka(t)
	sec := k.Secure()
	other := write(t, "other.pem", newCA(t, "Other CA").pem)
	plainAddr := k.Addrs()[0]
	tls := []string{"brokers=" + sec.SASLAddr, "tls.ca=" + sec.CAFile, "timeout=10s"}
	login := func(mech, user, pass string) []string {
		return append(tls[:3:3], "sasl.mechanism="+mech, "sasl.user="+user, "sasl.password="+pass)
	}
	for _, c := range []struct {
		name string
		x    []string
		want Kind
		kind offset.ErrorKind
		says []string
	}{
		{"PLAIN, wrong password", login("PLAIN", "admin", "hunter2"), Authentication, offset.KindDenied, []string{"refused the login"}},
		{"SCRAM-SHA-256, wrong password", login("SCRAM-SHA-256", "admin", "hunter2"), Authentication, offset.KindDenied, []string{"refused the login"}},
		{"SCRAM-SHA-512, unknown user", login("SCRAM-SHA-512", "nobody", "hunter2"), Authentication, offset.KindDenied, []string{"refused the login"}},
		{"expired token", append(tls[:3:3], "sasl.mechanism=OAUTHBEARER", "sasl.token="+kafkatest.Token("admin", -time.Hour)), Authentication, offset.KindDenied, nil},
		{"mechanism", append(tls[:3:3], "sasl.mechanism=AWS_MSK_IAM", "sasl.aws.access_key=a", "sasl.aws.secret_key=hunter2"), MechanismUnsupported, offset.KindDenied, []string{"SCRAM-SHA-512"}},
		{"no login", tls, SASLRequired, offset.KindDenied, []string{"SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"}},
		{"login on a port without", []string{"brokers=" + plainAddr, "timeout=10s", "sasl.mechanism=PLAIN", "sasl.user=u", "sasl.password=hunter2"}, SASLUnexpected, offset.KindDenied, []string{"nor any other login", "-X sasl.mechanism"}},
		{"plain text to TLS", []string{"brokers=" + sec.SASLAddr, "timeout=10s"}, TLSExpected, offset.KindUnreachable, []string{"tls.enabled"}},
		{"plain text with login to TLS", []string{"brokers=" + sec.SASLAddr, "timeout=10s", "sasl.mechanism=PLAIN", "sasl.user=u", "sasl.password=hunter2"}, TLSExpected, offset.KindUnreachable, nil},
		{"TLS to plain text", []string{"brokers=" + plainAddr, "timeout=10s", "tls.enabled=true"}, PlaintextExpected, offset.KindUnreachable, nil},
		{"unknown authority", []string{"brokers=" + sec.SASLAddr, "timeout=10s", "tls.ca=" + other}, CertificateUnknown, offset.KindDenied, []string{"tls.ca"}},
		{"no client certificate", []string{"brokers=" + sec.MutualAddr, "timeout=10s", "tls.ca=" + sec.CAFile}, ClientCertificate, offset.KindDenied, []string{"tls.cert"}},
		{"wrong name", append(tls[:3:3], "tls.server_name=kafka.example.com"), CertificateName, offset.KindDenied, []string{"kafka.example.com"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := connectError(t, load(t, c.x...), c.want, 10*time.Second)
			if e.ErrorKind() != c.kind {
				t.Errorf("kind %d, want %d", e.ErrorKind(), c.kind)
			}
			has(t, e, c.says...)
			if strings.Contains(e.Error()+e.Hint, "hunter2") {
				t.Errorf("a secret is in %v", e)
			}
		})
	}
}

// Tokens that live for seconds: the broker ends a session with its token, and
// the client logs in again with a new one in time.
func TestRealClientCredentials(t *testing.T) {
	sec := realKafka.Kafka(t).Secure()
	var served atomic.Int32
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json") // RFC 6749, section 5.1
		if id, secret, _ := r.BasicAuth(); id != "client" || secret != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		served.Add(1)
		json.NewEncoder(w).Encode(map[string]any{"access_token": kafkatest.Token(kafkatest.AdminUser, 4*time.Second), "expires_in": 4})
	}))
	defer ts.Close()
	cl, err := Connect(t.Context(), load(t, "brokers="+sec.SASLAddr, "tls.ca="+sec.CAFile, "sasl.mechanism=OAUTHBEARER",
		"sasl.oauth.token_url="+ts.URL, "sasl.oauth.client_id=client", "sasl.oauth.client_secret=secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	end := time.After(30 * time.Second)
	for served.Load() < 3 {
		select {
		case <-tick.C:
			if err := cl.Ping(t.Context()); err != nil {
				t.Fatalf("after %d tokens: %v", served.Load(), err)
			}
		case <-end:
			t.Fatalf("%d tokens were fetched in 30 s", served.Load())
		}
	}
}

// A trust store fresh from the keytool of the Java that runs the broker.
func TestRealKeytoolStore(t *testing.T) {
	sec := realKafka.Kafka(t).Secure()
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	p12, jks := filepath.Join(dir, "t.p12"), filepath.Join(dir, "t.jks")
	run("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", sec.CAFile, "-keystore", p12, "-storetype", "PKCS12", "-storepass", "changeit")
	run("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", sec.CAFile, "-keystore", jks, "-storetype", "JKS", "-storepass", "changeit")
	inputs := func(store string) Inputs {
		text := fmt.Sprintf("bootstrap.servers=%s\nsecurity.protocol=SSL\nssl.truststore.location=%s\nssl.truststore.password=changeit\nssl.truststore.type=%s\nssl.keystore.type=PEM\nssl.keystore.location=%s\n",
			sec.MutualAddr, store, strings.ToUpper(strings.TrimPrefix(filepath.Ext(store), ".")), sec.ClientKeystore)
		text = strings.ReplaceAll(text, "=P12\n", "=PKCS12\n")
		return Inputs{CommandConfig: write(t, "c.properties", []byte(text)), CommandConfigSet: true}
	}
	s, err := Load(inputs(p12))
	if err != nil {
		t.Fatal(err)
	}
	cl, err := Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	cl.Close()

	// What the message about JKS says has to work as it stands.
	if s, err = Load(inputs(jks)); err != nil {
		t.Fatal(err)
	}
	_, err = Connect(t.Context(), s)
	e, ok := err.(*config.Error)
	if !ok {
		t.Fatalf("error %T %v", err, err)
	}
	_, command, ok := strings.Cut(e.Hint, "convert it: ")
	if !ok {
		t.Fatalf("hint %q", e.Hint)
	}
	args := append(strings.Fields(command), "-noprompt", "-srcstorepass", "changeit", "-deststorepass", "changeit")
	run(args[0], args[1:]...)
	if s, err = Load(inputs(jks + ".p12")); err != nil {
		t.Fatal(err)
	}
	if cl, err = Connect(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	cl.Close()
}

// The steps of a check on a broker with TLS and logins, and the step that each mistake belongs to.
func TestRealCheck(t *testing.T) {
	k := realKafka.Kafka(t)
	sec := k.Secure()
	other := write(t, "other-ca.pem", newCA(t, "Other CA").pem)
	base := []string{"brokers=" + sec.SASLAddr, "tls.ca=" + sec.CAFile, "timeout=10s"}
	login := func(x ...string) []string {
		return append(append(base[:3:3], "sasl.user="+kafkatest.AdminUser), x...)
	}
	pass := write(t, "check-pass", []byte(kafkatest.Password+"\n"))
	const behindTLS = "settings=ok resolve=ok connect=ok tls=failed api-versions=not-reached login=not-reached"
	const atLogin = "settings=ok resolve=ok connect=ok tls=ok api-versions=ok login=failed"
	for _, c := range []struct {
		name, want, step, says string
		x                      []string
	}{
		{"SCRAM", "settings=ok resolve=ok connect=ok tls=ok api-versions=ok login=ok cluster=ok", StepTLS, "signed by ", login("sasl.mechanism=SCRAM-SHA-512", "sasl.password_file="+pass)},
		{"certificate", "settings=ok resolve=ok connect=ok tls=ok api-versions=ok login=off cluster=ok", StepLogin, "by the certificate",
			[]string{"brokers=" + sec.MutualAddr, "tls.ca=" + sec.CAFile, "tls.cert=" + sec.ClientCertFile, "tls.key=" + sec.ClientKeyFile}},
		{"unknown authority", behindTLS, StepTLS, "it shows TLS", []string{"brokers=" + sec.SASLAddr, "tls.ca=" + other, "timeout=10s"}},
		{"no certificate of ours", behindTLS, StepTLS, "", []string{"brokers=" + sec.MutualAddr, "tls.ca=" + sec.CAFile, "timeout=10s"}},
		{"plain text to TLS", "settings=ok resolve=ok connect=ok tls=failed api-versions=not-reached login=not-reached", StepTLS, "speaks TLS", []string{"brokers=" + sec.SASLAddr, "timeout=10s"}},
		{"wrong password", atLogin, StepLogin, "refused the login", login("sasl.mechanism=PLAIN", "sasl.password=hunter2")},
		{"a mechanism that is not offered", atLogin, StepLogin, "SCRAM-SHA-512", append(base[:3:3], "sasl.mechanism=AWS_MSK_IAM", "sasl.aws.access_key=a", "sasl.aws.secret_key=hunter2")},
		{"no login", atLogin, StepLogin, "wants a login", base},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps, cl := Check(t.Context(), load(t, c.x...))
			if cl != nil {
				cl.Close()
			}
			got := outline(steps)
			if cl != nil { // the cluster gives the addresses of its other listeners to nobody
				got, _, _ = strings.Cut(got, " broker=")
			}
			if got != c.want {
				t.Errorf("%s\nwant %s\n%+v", got, c.want, steps)
			}
			for _, s := range steps {
				if s.Name == c.step && !strings.Contains(s.Detail, c.says) {
					t.Errorf("%s: %q, want %q", s.Name, s.Detail, c.says)
				}
				if strings.Contains(s.Detail+s.Hint, "hunter2") {
					t.Errorf("a secret is in %+v", s)
				}
			}
		})
	}
}
