package conn

// The TLS side of a connection: authorities, our own certificate, and which of
// the broker's claims are checked.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"github.com/koffset/koffset/internal/config"
)

// tlsConfig makes the configuration, or nil where TLS is off. It reads files
// and runs the commands behind passwords.
func (s *Settings) tlsConfig(ctx context.Context) (*tls.Config, error) {
	on, _ := s.tlsOn()
	if !on {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.text("tls.server_name")}
	if s.flag("tls.insecure_skip_verify") {
		cfg.InsecureSkipVerify = true
	} else {
		roots, err := s.roots(ctx, "tls")
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = roots
		if s.hostnameOff() {
			chainOnly(cfg)
		}
	}
	cert, err := s.clientCertificate(ctx, "tls")
	if err != nil {
		return nil, err
	}
	if cert != nil {
		cfg.Certificates = []tls.Certificate{*cert}
	}
	return cfg, nil
}

// chainOnly checks the certificate's chain and not its name, as Java does with
// an empty ssl.endpoint.identification.algorithm. crypto/tls has no such mode:
// its own check is switched off and the chain verified here.
func chainOnly(cfg *tls.Config) {
	cfg.InsecureSkipVerify = true
	roots := cfg.RootCAs
	cfg.VerifyConnection = func(cs tls.ConnectionState) error {
		opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range cs.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		if _, err := cs.PeerCertificates[0].Verify(opts); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
		}
		return nil
	}
}

// roots are the authorities of a section's ca, such as tls.ca; nil means the system's.
func (s *Settings) roots(ctx context.Context, section string) (*x509.CertPool, error) {
	name, ok := s.anyOf(section+".ca", section+".ca_pem")
	if !ok {
		return nil, nil
	}
	data, label, err := s.readPEMSetting(name)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	if isPEM(data) {
		certs, err = pemCertificates(data)
	} else {
		var password string
		if password, err = s.secret(ctx, section+".ca_password"); err != nil {
			return nil, err
		}
		certs, err = readTrustStore(data, label, password)
	}
	if err != nil {
		return nil, s.fileError(name, label, err)
	}
	if len(certs) == 0 {
		return nil, s.fileError(name, label, fmt.Errorf("it holds no certificate"))
	}
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

// clientCertificate is what we show to a server that asks; nil for none.
func (s *Settings) clientCertificate(ctx context.Context, section string) (*tls.Certificate, error) {
	certName, haveCert := s.anyOf(section+".cert", section+".cert_pem")
	keyName, haveKey := s.anyOf(section+".key", section+".key_pem")
	if !haveCert {
		if haveKey {
			return nil, &config.Error{Where: s.source(keyName), Text: keyName + " is set, but no " + section + ".cert", Hint: "set " + section + ".cert to the certificate that belongs to the key"}
		}
		return nil, nil
	}
	certData, certLabel, err := s.readPEMSetting(certName)
	if err != nil {
		return nil, err
	}
	password, err := s.secret(ctx, section+".key_password")
	if err != nil {
		return nil, err
	}
	if !isPEM(certData) {
		cert, err := readKeyStore(certData, certLabel, password)
		if err != nil {
			return nil, s.fileError(certName, certLabel, err)
		}
		return cert, nil
	}
	keyData, keyLabel := certData, certLabel
	if haveKey {
		if keyData, keyLabel, err = s.readPEMSetting(keyName); err != nil {
			return nil, err
		}
	} else {
		keyName = certName
	}
	keyPEM, err := pemKey(keyData, keyLabel, password)
	if err != nil {
		return nil, s.fileError(keyName, keyLabel, err)
	}
	cert, err := tls.X509KeyPair(certData, keyPEM)
	if err != nil {
		return nil, &config.Error{Where: s.source(certName), Text: fmt.Sprintf("%s and its key cannot be used", certLabel),
			Err: fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "tls: "))}
	}
	return &cert, nil
}

// readPEMSetting reads a setting that is a file, or text where its name ends
// in _pem. label is how to name it in messages.
func (s *Settings) readPEMSetting(name string) (data []byte, label string, err error) {
	v := s.values[name]
	if strings.HasSuffix(name, "_pem") {
		// Java files hold PEM on one line, with spaces for line ends.
		return []byte(unfoldPEM(v.Text)), name, nil
	}
	file := s.paths.of(v)
	data, err = os.ReadFile(file)
	if err != nil {
		return nil, file, &config.Error{Where: v.Source.String(), Text: name + " cannot be read", Err: err}
	}
	return data, file, nil
}

func (s *Settings) fileError(name, label string, err error) error {
	e := &config.Error{Where: s.source(name), Text: label, Err: err}
	if label == name {
		e.Text = name
	}
	if h, ok := err.(*storeError); ok {
		e.Err, e.Hint = h.err, h.hint
	}
	return e
}

// storeError is a file that cannot be used, with what to run.
type storeError struct {
	err  error
	hint string
}

func (e *storeError) Error() string { return e.err.Error() }

func isPEM(data []byte) bool {
	return strings.Contains(string(data), "-----BEGIN ")
}

// unfoldPEM gives PEM its line ends back. A .properties value cannot hold them
// unless they are escaped, so people (and Kafka's own documentation) put spaces.
func unfoldPEM(s string) string {
	s = strings.ReplaceAll(s, `\n`, "\n")
	if strings.Contains(strings.TrimSpace(s), "\n") {
		return s
	}
	var b strings.Builder
	for {
		begin := strings.Index(s, "-----BEGIN ")
		if begin < 0 {
			return b.String()
		}
		s = s[begin:]
		head := strings.Index(s[5:], "-----")
		foot := strings.Index(s, "-----END ")
		if head < 0 || foot < 0 || foot < head+10 {
			return b.String()
		}
		tail := strings.Index(s[foot+5:], "-----")
		if tail < 0 {
			return b.String()
		}
		b.WriteString(s[:head+10] + "\n")
		b.WriteString(strings.Join(strings.Fields(s[head+10:foot]), "\n"))
		b.WriteString("\n" + s[foot:foot+5+tail+5] + "\n")
		s = s[foot+5+tail+5:]
	}
}

func pemCertificates(data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			return out, nil
		}
		if b.Type != "CERTIFICATE" && b.Type != "TRUSTED CERTIFICATE" && b.Type != "X509 CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", len(out)+1, err)
		}
		out = append(out, c)
	}
}

// pemKey finds the private key in PEM and decrypts it where it is encrypted.
func pemKey(data []byte, label, password string) ([]byte, error) {
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			return nil, fmt.Errorf("it holds no private key")
		}
		switch {
		case !strings.HasSuffix(b.Type, "PRIVATE KEY"):
			continue
		case strings.Contains(b.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, &storeError{fmt.Errorf("the private key is encrypted in OpenSSL's old way, which is broken"),
				fmt.Sprintf("convert it: openssl pkcs8 -topk8 -v2 aes-256-cbc -in %s -out key.pem", label)}
		case b.Type == "ENCRYPTED PRIVATE KEY":
			if password == "" {
				return nil, &storeError{fmt.Errorf("the private key is encrypted"), "set tls.key_password, tls.key_password_file or tls.key_password_command"}
			}
			der, err := decryptPKCS8(b.Bytes, []byte(password))
			if err != nil {
				return nil, err
			}
			return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
		default:
			return pem.EncodeToMemory(b), nil
		}
	}
}
