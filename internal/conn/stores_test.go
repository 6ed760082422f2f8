package conn

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/koffset/koffset/internal/config"
)

func storeFile(name string) string { return filepath.Join("testdata", "stores", name) }

func readStore(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(storeFile(name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The stores were made by keytool and openssl; see testdata/stores/README.md.
func TestClientStoresAgainstBroker(t *testing.T) {
	ca := newCA(t, "Broker CA")
	caFile := write(t, "ca.pem", ca.pem)
	srv := ca.issue("broker", nil)
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(readStore(t, "ca.pem")) {
		t.Fatal("no certificate in ca.pem")
	}
	_, addr := fake(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{srv.tls}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}))
	for _, x := range [][]string{
		{"tls.cert=" + storeFile("keytool-key.p12"), "tls.key_password=changeit"},
		{"tls.cert=" + storeFile("openssl-key.p12"), "tls.key_password=changeit"},
		{"tls.cert=" + storeFile("openssl-legacy-key.p12"), "tls.key_password=changeit"},
		{"tls.cert=" + storeFile("client.pem"), "tls.key=" + storeFile("client.key")},
		{"tls.cert=" + storeFile("client.pem"), "tls.key=" + storeFile("client-aes.key"), "tls.key_password=changeit"},
		{"tls.cert=" + storeFile("client.pem"), "tls.key=" + storeFile("client-3des.key"), "tls.key_password=changeit"},
	} {
		cl, err := Connect(t.Context(), load(t, append(x, "brokers="+addr, "tls.ca="+caFile)...))
		if err != nil {
			t.Errorf("%s: %v", x[0], err)
			continue
		}
		cl.Close()
	}
}

func TestTrustStores(t *testing.T) {
	want, err := pemCertificates(readStore(t, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	certs, err := readTrustStore(readStore(t, "keytool-trust.p12"), "keytool-trust.p12", "changeit")
	if err != nil {
		t.Fatal(err)
	}
	if len(certs) != 1 || !bytes.Equal(certs[0].Raw, want[0].Raw) {
		t.Errorf("%d certificates, or another one", len(certs))
	}
	// Java trusts the certificate of a store's own key as well.
	certs, err = readTrustStore(readStore(t, "keytool-key.p12"), "keytool-key.p12", "changeit")
	if err != nil || len(certs) != 1 || certs[0].Subject.CommonName != "store-client" {
		t.Errorf("key store as trust store: %v, %v", certs, err)
	}
}

func TestStoreRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []string
		want []string
	}{
		{"jks", []string{"tls.ca=" + storeFile("trust.jks")}, []string{"JKS", "keytool -importkeystore -srckeystore " + storeFile("trust.jks") + " -srcstoretype JKS -destkeystore " + storeFile("trust.jks") + ".p12 -deststoretype PKCS12"}},
		{"jks as key", []string{"tls.cert=" + storeFile("trust.jks"), "tls.key_password=changeit"}, []string{"JKS", "keytool -importkeystore"}},
		{"no password", []string{"tls.ca=" + storeFile("keytool-trust.p12")}, []string{"password", "tls.ca_password_file"}},
		{"wrong password", []string{"tls.ca=" + storeFile("keytool-trust.p12"), "tls.ca_password=nope"}, []string{"password is wrong", "tls.ca_password"}},
		{"wrong key password", []string{"tls.cert=" + storeFile("keytool-key.p12"), "tls.key_password=nope"}, []string{"password is wrong", "tls.key_password"}},
		{"untrusted marks", []string{"tls.ca=" + storeFile("openssl-nokeys.p12"), "tls.ca_password=changeit"}, []string{"not marked as trusted", "openssl pkcs12 -in " + storeFile("openssl-nokeys.p12") + " -nokeys"}},
		{"encrypted key", []string{"tls.cert=" + storeFile("client.pem"), "tls.key=" + storeFile("client-aes.key")}, []string{"encrypted", "tls.key_password"}},
		{"encrypted key, wrong", []string{"tls.cert=" + storeFile("client.pem"), "tls.key=" + storeFile("client-aes.key"), "tls.key_password=nope"}, []string{"password of the private key is wrong"}},
		{"old encryption", []string{"tls.cert=" + storeFile("client.pem"), "tls.key=" + storeFile("client-old.key"), "tls.key_password=changeit"}, []string{"old way", "openssl pkcs8 -topk8"}},
		{"key without certificate", []string{"tls.key=" + storeFile("client.key")}, []string{"no tls.cert"}},
		{"certificate without key", []string{"tls.cert=" + storeFile("client.pem")}, []string{"no private key"}},
		{"key of another", []string{"tls.cert=" + storeFile("ca.pem"), "tls.key=" + storeFile("client.key")}, []string{"private key does not match"}},
		{"no such file", []string{"tls.ca=/no/such/ca.pem"}, []string{"tls.ca", "/no/such/ca.pem"}},
		{"not a store", []string{"tls.ca=" + storeFile("README.md")}, []string{"README.md", "neither PEM nor a PKCS#12"}},
		{"PEM without certificate", []string{"tls.ca=" + storeFile("client.key")}, []string{"no certificate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, append(c.x, "brokers=h:1")...).Options(t.Context())
			e, ok := errors.AsType[*config.Error](err)
			if !ok {
				t.Fatalf("error %T: %v", err, err)
			}
			all := e.Error() + " | " + e.Hint
			for _, w := range c.want {
				if !strings.Contains(all, w) {
					t.Errorf("%q is not in %q", w, all)
				}
			}
			if strings.Contains(all, "nope") || strings.Contains(all, "changeit") {
				t.Errorf("a password is in %q", all)
			}
		})
	}
}

// Every byte of an encrypted key turned over must end in an error, never in a
// panic: files come from anywhere.
func FuzzPKCS8(f *testing.F) {
	for _, name := range []string{"client-aes.key", "client-3des.key"} {
		data, err := os.ReadFile(storeFile(name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// The rounds a file may ask for are bounded, but ten million of them
		// are no good in a fuzz loop.
		if bytes.Contains(data, []byte("ENCRYPTED")) && len(data) < 2000 {
			pemKey(data, "key.pem", "changeit")
		}
	})
}
