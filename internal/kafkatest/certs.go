//go:build realkafka

package kafkatest

// Certificates for the secured listeners, made anew for each cluster.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certs are PEM files: one authority that signed the server and one client.
type Certs struct {
	Pool           *x509.CertPool // the authority
	CAFile         string
	ServerKeystore string // key and certificate in one file, as Java reads a PEM key store
	ClientCertFile string
	ClientKeyFile  string
	ClientKeystore string // both in one file
}

func newCerts(dir string) (Certs, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certs{}, err
	}
	caTemplate := template("koffset test authority")
	caTemplate.IsCA, caTemplate.BasicConstraintsValid = true, true
	caTemplate.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	caDER, err := x509.CreateCertificate(rand.Reader, caTemplate, caTemplate, caKey.Public(), caKey)
	if err != nil {
		return Certs{}, err
	}
	ca, err := x509.ParseCertificate(caDER)
	if err != nil {
		return Certs{}, err
	}
	c := Certs{
		Pool:           x509.NewCertPool(),
		CAFile:         filepath.Join(dir, "ca.pem"),
		ServerKeystore: filepath.Join(dir, "server.pem"),
		ClientCertFile: filepath.Join(dir, "client-cert.pem"),
		ClientKeyFile:  filepath.Join(dir, "client-key.pem"),
		ClientKeystore: filepath.Join(dir, "client.pem"),
	}
	c.Pool.AddCert(ca)
	if err := os.WriteFile(c.CAFile, certPEM(caDER), 0o644); err != nil {
		return Certs{}, err
	}

	server := template("localhost")
	server.DNSNames = []string{"localhost"}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	cert, key, err := sign(server, ca, caKey)
	if err != nil {
		return Certs{}, err
	}
	if err := os.WriteFile(c.ServerKeystore, append(key, cert...), 0o600); err != nil {
		return Certs{}, err
	}

	client := template("kafka") // CertUser
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if cert, key, err = sign(client, ca, caKey); err != nil {
		return Certs{}, err
	}
	for file, data := range map[string][]byte{
		c.ClientCertFile: cert, c.ClientKeyFile: key, c.ClientKeystore: append(append([]byte{}, key...), cert...),
	} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return Certs{}, err
		}
	}
	return c, nil
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // never fails
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// sign returns certificate and PKCS #8 key (the only form Java's PEM key store reads) as PEM.
func sign(t, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (cert, key []byte, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, k.Public(), caKey)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, nil, err
	}
	return certPEM(der), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
