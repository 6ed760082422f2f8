package conn

// What TLS errors mean: certificates, theirs and ours, and ports that speak
// something else.

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"time"
)

func classifyTLS(err error) *Error {
	addr := addrOf(err)
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return unknownAuthority(addr, e.Cert)
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return &Error{Kind: CertificateName, Addr: addr,
			Err:  fmt.Errorf("the certificate is not for %s; it is for %s", e.Host, certNames(e.Certificate)),
			Hint: "connect by a name that it is for, or set tls.server_name to one (tls.verify_hostname: false accepts every name)"}
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return invalidCertificate(addr, e)
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(e.UnverifiedCertificates) > 0 {
		return unknownAuthority(addr, e.UnverifiedCertificates[0])
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		if httpAnswer(e.RecordHeader[:]) {
			return notKafka(addr, "an HTTP server")
		}
		return &Error{Kind: PlaintextExpected, Addr: addr, Err: errors.New("the port answers, but not in TLS"),
			Hint: "use the broker's TLS port, or set tls.enabled: false"}
	}
	if e, ok := errors.AsType[*tlsAnswerError](err); ok {
		return tlsExpected(e.addr)
	}
	if a, ok := remoteAlert(err); ok {
		return alert(addr, a)
	}
	return nil
}

// remoteAlert finds the TLS alert that the other side sent. crypto/tls has an
// exported type for alerts over QUIC only; over TCP it is an unexported number
// inside a *net.OpError.
func remoteAlert(err error) (tls.AlertError, bool) {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return 0, false
	}
	if v := reflect.ValueOf(op.Err); v.Kind() == reflect.Uint8 {
		return tls.AlertError(v.Uint()), true
	}
	return 0, false
}

func tlsExpected(addr string) *Error {
	return &Error{Kind: TLSExpected, Addr: addr, Err: errors.New("the port speaks TLS, and koffset spoke plain text"),
		Hint: "set tls.enabled: true (and tls.ca, if the authority is your own), or use the broker's plain port"}
}

func unknownAuthority(addr string, c *x509.Certificate) *Error {
	e := &Error{Kind: CertificateUnknown, Addr: addr, Err: errors.New("the broker's certificate is signed by an unknown authority"),
		Hint: "set tls.ca to the certificate of the authority that signed it"}
	if c != nil {
		e.Err = fmt.Errorf("the certificate of %q is signed by %q, which is not trusted", oneLine(c.Subject.String()), oneLine(c.Issuer.String()))
	}
	return e
}

func invalidCertificate(addr string, e x509.CertificateInvalidError) *Error {
	out := &Error{Kind: CertificateInvalid, Addr: addr, Err: fmt.Errorf("the broker's certificate is not valid: %s", oneLine(e.Error())),
		Hint: "the broker needs a new certificate"}
	if e.Reason == x509.Expired && e.Cert != nil {
		out.Err = fmt.Errorf("the certificate of %q is valid from %s to %s only", oneLine(e.Cert.Subject.String()),
			e.Cert.NotBefore.UTC().Format(time.RFC3339), e.Cert.NotAfter.UTC().Format(time.RFC3339))
		out.Hint = "the broker needs a new certificate (or the clock here is wrong)"
	}
	return out
}

// Alerts of RFC 8446 that say something about our certificate.
const (
	alertHandshakeFailure    = 40
	alertBadCertificate      = 42
	alertUnsupportedCert     = 43
	alertCertificateRevoked  = 44
	alertCertificateExpired  = 45
	alertCertificateUnknown  = 46
	alertUnknownCA           = 48
	alertAccessDenied        = 49
	alertCertificateRequired = 116
)

func alert(addr string, a tls.AlertError) *Error {
	switch uint8(a) {
	case alertCertificateRequired, alertBadCertificate, alertHandshakeFailure:
		return &Error{Kind: ClientCertificate, Addr: addr, Err: fmt.Errorf("the broker ended the TLS handshake (%s): it wants a certificate from the client, or another one", alertWords(a)),
			Hint: "set tls.cert and tls.key"}
	case alertUnsupportedCert, alertCertificateRevoked, alertCertificateExpired, alertCertificateUnknown, alertUnknownCA, alertAccessDenied:
		return &Error{Kind: ClientCertificate, Addr: addr, Err: fmt.Errorf("the broker does not accept the client's certificate (%s)", alertWords(a)),
			Hint: "check tls.cert: the broker has to trust the authority that signed it"}
	}
	return &Error{Kind: Unreachable, Addr: addr, Err: fmt.Errorf("the TLS handshake failed: %s", alertWords(a)),
		Hint: "the broker's log says more"}
}

func alertWords(a tls.AlertError) string { return strings.TrimPrefix(a.Error(), "tls: ") }

func certNames(c *x509.Certificate) string {
	if c == nil {
		return "no name"
	}
	var names []string
	for _, n := range c.DNSNames {
		names = append(names, oneLine(n))
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name (only the old CN field)"
	}
	return joinSome(names, 5)
}
