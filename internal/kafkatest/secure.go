//go:build realkafka

package kafkatest

// The secured listeners of a real broker: TLS, SASL, ACLs.

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// securePorts is how many ports a secure node needs besides its plain one.
const securePorts = 2

// Users of a secure cluster. All have the password [Password]. AdminUser may do everything; the others nothing until [Kafka.Allow].
const (
	AdminUser   = "admin"    // PLAIN and SCRAM, super user
	LimitedUser = "limited"  // PLAIN and SCRAM
	certUser    = "CN=kafka" // the principal of the client certificate, on the mTLS listener
	Password    = `pa${x}ss\ "q"=1`
)

// Secure is what a client needs to reach the secured listeners of a cluster.
type Secure struct {
	// SASLAddr takes TLS and SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, and OAUTHBEARER with unsigned tokens ([Token]).
	SASLAddr string
	// MutualAddr takes TLS with a client certificate and no SASL.
	MutualAddr string
	Certs
}

func newSecure(dir string, ports []int) (*Secure, error) {
	certs, err := newCerts(dir)
	if err != nil {
		return nil, err
	}
	return &Secure{
		SASLAddr:   fmt.Sprintf("127.0.0.1:%d", ports[0]),
		MutualAddr: fmt.Sprintf("127.0.0.1:%d", ports[1]),
		Certs:      certs,
	}, nil
}

// properties adds the secured listeners and the authorizer. The plain listener stays, for fixtures: its principal, ANONYMOUS, is a super
// user.
func (s *Secure) properties(props map[string]string) {
	props["listeners"] += ",SASL_SSL://" + s.SASLAddr + ",SSL://" + s.MutualAddr
	props["advertised.listeners"] += ",SASL_SSL://" + s.SASLAddr + ",SSL://" + s.MutualAddr
	props["ssl.keystore.type"] = "PEM"
	props["ssl.keystore.location"] = s.ServerKeystore
	props["ssl.truststore.type"] = "PEM"
	props["ssl.truststore.location"] = s.CAFile
	props["listener.name.ssl.ssl.client.auth"] = "required"

	props["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
	const module = "org.apache.kafka.common.security."
	l := "listener.name.sasl_ssl."
	plain := module + "plain.PlainLoginModule required"
	for _, u := range []string{AdminUser, LimitedUser} {
		plain += fmt.Sprintf(" user_%s=%s", u, jaasQuote(Password))
	}
	props[l+"plain.sasl.jaas.config"] = plain + ";"
	props[l+"scram-sha-256.sasl.jaas.config"] = module + "scram.ScramLoginModule required;"
	props[l+"scram-sha-512.sasl.jaas.config"] = module + "scram.ScramLoginModule required;"
	props[l+"oauthbearer.sasl.jaas.config"] = module + `oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`

	props["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
	props["super.users"] = "User:ANONYMOUS;User:" + AdminUser
}

// createUsers stores the SCRAM credentials and waits until the broker knows them.
func (s *Secure) createUsers(ctx context.Context, n *node) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.addr()), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	users := []string{AdminUser, LimitedUser}
	mechanisms := []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512}
	for _, m := range mechanisms { // a user may appear once a request
		var upserts []kadm.UpsertSCRAM
		for _, u := range users {
			upserts = append(upserts, kadm.UpsertSCRAM{User: u, Mechanism: m, Iterations: 4096, Password: Password})
		}
		altered, err := adm.AlterUserSCRAMs(ctx, nil, upserts)
		if err == nil {
			err = altered.Error()
		}
		if err != nil {
			return fmt.Errorf("create SCRAM users: %w", err)
		}
	}
	return n.proc.waitFor(ctx, func(ctx context.Context) error {
		found, err := adm.DescribeUserSCRAMs(ctx, users...)
		if err != nil {
			return err
		}
		for _, u := range users {
			if f := found[u]; f.Err != nil || len(f.CredInfos) != len(mechanisms) {
				return fmt.Errorf("SCRAM user %s is not there yet", u)
			}
		}
		return nil
	})
}

func jaasQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Secure is nil unless [Options.Secure] was set. Its SCRAM users exist when [StartKafka] returns.
func (k *Kafka) Secure() *Secure { return k.secure }

// SASLClient is a client of the SASL_SSL listener by SCRAM-SHA-256.
func (k *Kafka) SASLClient(t testing.TB, user string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append([]kgo.Opt{
		kgo.DialTLSConfig(&tls.Config{RootCAs: k.secure.Pool}),
		kgo.SASL(scram.Auth{User: user, Pass: Password}.AsSha256Mechanism()),
	}, opts...)
	return Client(t, []string{k.secure.SASLAddr}, opts...)
}

// CommandConfig writes a Java client's .properties file for the SASL_SSL listener (SCRAM-SHA-512) and returns its path.
func (k *Kafka) CommandConfig(t testing.TB, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), user+".properties")
	err := writeProperties(file, map[string]string{
		"security.protocol":       "SASL_SSL",
		"ssl.truststore.type":     "PEM",
		"ssl.truststore.location": k.secure.CAFile,
		"sasl.mechanism":          "SCRAM-SHA-512",
		"sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required username=" +
			jaasQuote(user) + " password=" + jaasQuote(Password) + ";",
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Allow gives a user rights on one resource and waits until the broker knows them. A name that ends in * is a prefix.
func (k *Kafka) Allow(t testing.TB, user string, kind kmsg.ACLResourceType, name string, ops ...kmsg.ACLOperation) {
	t.Helper()
	b := rights(t, user, kind, name, ops)
	results, err := kadm.NewClient(k.Client(t)).CreateACLs(t.Context(), b)
	if err != nil {
		t.Fatalf("allow %s %v on %s %s: %v", user, ops, kind, name, err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("allow %s %v on %s %s: %v", user, ops, kind, name, r.Err)
		}
	}
	// The answer is the controller's; the broker applies the change when it reads the metadata log.
	k.waitRights(t, user, b, func(n int) bool { return n >= len(ops) })
}

// TakeBack takes back what Allow gave.
func (k *Kafka) TakeBack(t testing.TB, user string, kind kmsg.ACLResourceType, name string, ops ...kmsg.ACLOperation) {
	t.Helper()
	b := rights(t, user, kind, name, ops)
	results, err := kadm.NewClient(k.Client(t)).DeleteACLs(t.Context(), b)
	if err != nil {
		t.Fatalf("take %v on %s %s from %s: %v", ops, kind, name, user, err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("take %v on %s %s from %s: %v", ops, kind, name, user, r.Err)
		}
	}
	k.waitRights(t, user, b, func(n int) bool { return n == 0 })
}

// waitRights waits until the broker knows as many of the rights as have says.
func (k *Kafka) waitRights(t testing.TB, user string, b *kadm.ACLBuilder, have func(n int) bool) {
	t.Helper()
	adm := kadm.NewClient(k.Client(t))
	Until(t, "the broker knows the rights of "+user, func() bool {
		found, err := adm.DescribeACLs(t.Context(), b)
		if err != nil {
			return false
		}
		n := 0
		for _, r := range found {
			n += len(r.Described)
		}
		return have(n)
	})
}

// rights are a user's on one resource.
func rights(t testing.TB, user string, kind kmsg.ACLResourceType, name string, ops []kmsg.ACLOperation) *kadm.ACLBuilder {
	t.Helper()
	pattern := kadm.ACLPatternLiteral
	if prefix, ok := strings.CutSuffix(name, "*"); ok && prefix != "" {
		name, pattern = prefix, kadm.ACLPatternPrefixed
	}
	b := kadm.NewACLs().Allow("User:" + user).AllowHosts().ResourcePatternType(pattern).Operations(ops...)
	switch kind {
	case kmsg.ACLResourceTypeTopic:
		b = b.Topics(name)
	case kmsg.ACLResourceTypeGroup:
		b = b.Groups(name)
	case kmsg.ACLResourceTypeCluster:
		b = b.Clusters()
	case kmsg.ACLResourceTypeTransactionalId:
		b = b.TransactionalIDs(name)
	default:
		t.Fatalf("rights of %s on %s %s: no such kind of resource here", user, kind, name)
	}
	return b
}

// Token is an unsigned OAUTHBEARER token (alg none) for a subject, as the secure listener takes. It is valid from a minute ago for
// the given time; a negative one makes an expired token.
func Token(subject string, valid time.Duration) string {
	now := time.Now()
	part := func(claims map[string]any) string {
		b, _ := json.Marshal(claims) // strings and numbers cannot fail
		return base64.RawURLEncoding.EncodeToString(b)
	}
	return part(map[string]any{"alg": "none"}) + "." + part(map[string]any{
		"sub": subject,
		"iat": now.Add(-time.Minute).Unix(),
		"exp": now.Add(valid).Unix(),
	}) + "."
}
