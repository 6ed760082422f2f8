package conn

// What went wrong with a connection, in words of its own for each mistake.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

// Kind is the sort of a connection failure.
type Kind uint8

// The kinds.
const (
	// Unreachable: refused, no route, no such host, or none of the brokers.
	Unreachable Kind = iota + 1
	// Timeout: something accepts connections and does not answer.
	Timeout
	// TLSExpected: the port speaks TLS, and we spoke plain text.
	TLSExpected
	// PlaintextExpected: the port speaks plain Kafka, and we spoke TLS.
	PlaintextExpected
	// CertificateUnknown: the broker's certificate is signed by nobody we trust.
	CertificateUnknown
	// CertificateName: the certificate is for another name.
	CertificateName
	// CertificateInvalid: it has expired, is not valid yet, or is misused.
	CertificateInvalid
	// ClientCertificate: the broker wants a certificate from us, or refuses ours.
	ClientCertificate
	// Authentication: wrong user or password, or no token.
	Authentication
	// MechanismUnsupported: the broker does not offer the SASL mechanism.
	MechanismUnsupported
	// SASLRequired: the broker wants a login, and we have none.
	SASLRequired
	// SASLUnexpected: we want to log in, and the port takes no logins.
	SASLUnexpected
	// Authorization: logged in, and not allowed.
	Authorization
	// NotKafka: something else answers at the address.
	NotKafka
)

// String is the kind as a stable word for JSON and logs.
func (k Kind) String() string {
	switch k {
	case Unreachable:
		return "unreachable"
	case Timeout:
		return "timeout"
	case TLSExpected:
		return "tls-expected"
	case PlaintextExpected:
		return "plaintext-expected"
	case CertificateUnknown:
		return "certificate-unknown"
	case CertificateName:
		return "certificate-name"
	case CertificateInvalid:
		return "certificate-invalid"
	case ClientCertificate:
		return "client-certificate"
	case Authentication:
		return "authentication"
	case MechanismUnsupported:
		return "mechanism-unsupported"
	case SASLRequired:
		return "sasl-required"
	case SASLUnexpected:
		return "sasl-unexpected"
	case Authorization:
		return "authorization"
	case NotKafka:
		return "not-kafka"
	}
	return "unknown"
}

// denies says that one side could not prove who it is, or is not allowed; every other kind keeps the two from talking.
func (k Kind) denies() bool {
	switch k {
	case CertificateUnknown, CertificateName, CertificateInvalid, ClientCertificate,
		Authentication, MechanismUnsupported, SASLRequired, SASLUnexpected, Authorization:
		return true
	}
	return false
}

// Error is a failed connection.
type Error struct {
	Kind Kind
	// Addr is the broker, host:port, or several with commas, or empty where an
	// error of later in a run does not tell.
	Addr string
	// Err is what happened. Its text never holds a secret.
	Err error
	// Hint is the next step.
	Hint string
}

// Error is one line that names the broker and what happened, without the hint.
func (e *Error) Error() string {
	if e.Addr == "" {
		return e.Err.Error()
	}
	return e.Addr + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is denied where one side could not prove who it is or is not allowed, and unreachable otherwise.
func (e *Error) ErrorKind() offset.ErrorKind {
	if e.Kind.denies() {
		return offset.KindDenied
	}
	return offset.KindUnreachable
}

// Classify says which kind of connection failure an error is, for errors that
// come later in a run too. It returns nil for nil, for errors that have nothing
// to do with connecting, and for an interruption by the operator.
//
// It knows only the error. Connect knows more, for it can ask the port.
func Classify(err error) *Error {
	if err == nil || errors.Is(err, context.Canceled) && !isDeadline(err) {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	// The login first: what a KDC's or a token endpoint's network did is not the
	// broker's doing.
	if e := classifySASL(err); e != nil {
		return e
	}
	if e := classifyTLS(err); e != nil {
		return e
	}
	return classifyNet(err)
}

func isDeadline(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

func classifySASL(err error) *Error {
	ke, isKafka := errors.AsType[*kerr.Error](err)
	closed, isClosed := errors.AsType[*closedError](err)
	failed, isLogin := errors.AsType[*loginError](err)
	switch {
	case isKafka && ke == kerr.SaslAuthenticationFailed:
		return &Error{Kind: Authentication, Addr: addrOf(err), Err: fmt.Errorf("the broker refused the login: %s", brokerWords(err, ke)),
			Hint: loginHint}
	case isKafka && ke == kerr.UnsupportedSaslMechanism:
		return &Error{Kind: MechanismUnsupported, Addr: addrOf(err), Err: errors.New("the broker does not offer this SASL mechanism"),
			Hint: "set sasl.mechanism to one that it offers"}
	case isKafka && ke == kerr.IllegalSaslState:
		return &Error{Kind: SASLUnexpected, Addr: addrOf(err), Err: errors.New("the broker takes no login now: the port takes none, or a session was renewed with a token at its end"),
			Hint: "use the broker's SASL port (or remove sasl.mechanism); where tokens are used, replace them well before they expire"}
	case isClosed && closed.login:
		return &Error{Kind: Authentication, Addr: closed.addr, Err: errors.New("the broker closed the connection during the login"), Hint: loginHint}
	case isKafka && isAuthorization(ke):
		return &Error{Kind: Authorization, Addr: addrOf(err), Err: fmt.Errorf("not authorised: %s", ke.Message), Hint: rightHint(ke)}
	case isLogin:
		return &Error{Kind: Authentication, Err: fmt.Errorf("the login failed: %s", oneLine(failed.Error())), Hint: loginHint}
	}
	return nil
}

const loginHint = "check sasl.user, the password (or token) and sasl.mechanism; {{show-settings}} says where each comes from"

func isAuthorization(ke *kerr.Error) bool {
	switch ke {
	case kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed, kerr.DelegationTokenAuthorizationFailed:
		return true
	}
	return false
}

func rightHint(ke *kerr.Error) string {
	switch ke {
	case kerr.TopicAuthorizationFailed:
		return "the user needs DESCRIBE on the topic to see it, and READ to move or read its offsets"
	case kerr.GroupAuthorizationFailed:
		return "the user needs DESCRIBE on the group to see it, READ to move its offsets, DELETE to delete it"
	case kerr.ClusterAuthorizationFailed:
		return "the user needs DESCRIBE on the cluster"
	}
	return ""
}

// brokerWords is what the broker said, without Kafka's name for the error
// where there is more.
func brokerWords(err error, ke *kerr.Error) string {
	t := oneLine(err.Error())
	t = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(t, ke.Error(), ""), ke.Message, ""))
	t = strings.Trim(t, ":; ")
	if t == "" {
		return "user or password is wrong"
	}
	return t
}

func notKafka(addr, what string) *Error {
	return &Error{Kind: NotKafka, Addr: addr, Err: fmt.Errorf("%s answers there, not Kafka", what), Hint: "check the port"}
}

// httpAnswer recognises the beginning of an HTTP answer.
func httpAnswer(b []byte) bool { return len(b) >= 4 && string(b[:4]) == "HTTP" }

func classifyNet(err error) *Error {
	addr := addrOf(err)
	if e, ok := errors.AsType[*foreignAnswerError](err); ok {
		return notKafka(e.addr, e.what)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		e := &Error{Kind: Unreachable, Addr: addr, Err: fmt.Errorf("the name %s cannot be resolved: %s", dns.Name, dnsWords(dns)), Hint: "check the name"}
		return advertised(err, e)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		e := &Error{Kind: Unreachable, Addr: addr, Err: errors.New("connection refused"), Hint: "nothing listens there: check host and port, and that the broker runs"}
		return advertised(err, e)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		e := &Error{Kind: Unreachable, Addr: addr, Err: errors.New(dialWords(err, op)), Hint: "check the address and the network between"}
		return advertised(err, e)
	}
	if _, ok := errors.AsType[*closedError](err); ok || isFirstReadEOF(err) {
		return &Error{Kind: Unreachable, Addr: addr, Err: errors.New("the broker closed the connection without an answer"),
			Hint: "it may expect TLS or a login: see tls.enabled and sasl.mechanism"}
	}
	if isDeadline(err) {
		return &Error{Kind: Timeout, Addr: addr, Err: errors.New("no answer in time"), Hint: "is the broker overloaded, or the network slow? {{timeout}} gives it longer"}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) {
		return &Error{Kind: Unreachable, Addr: addr, Err: errors.New("the broker closed the connection"), Hint: "try again: it may be restarting"}
	}
	return nil
}

func isFirstReadEOF(err error) bool {
	_, ok := errors.AsType[*kgo.ErrFirstReadEOF](err)
	return ok
}

// advertised explains the commonest puzzle: the first address works, and then
// the cluster names another one that does not.
func advertised(err error, e *Error) *Error {
	if d, ok := errors.AsType[*dialError](err); ok && !d.seed {
		e.Err = fmt.Errorf("%w; the cluster gave this address, it is not one of those asked for", e.Err)
		e.Hint = "the broker's advertised.listeners must name an address that can be reached from here"
	}
	return e
}

func dnsWords(e *net.DNSError) string {
	switch {
	case e.IsNotFound:
		return "no such host"
	case e.IsTimeout:
		return "the name server does not answer"
	}
	return e.Err
}

func dialWords(err error, op *net.OpError) string {
	if op.Timeout() {
		limit := dialTimeout
		if d, ok := errors.AsType[*dialError](err); ok && d.limit < limit {
			limit = max(d.limit.Round(time.Millisecond), time.Millisecond)
		}
		return "no connection within " + limit.String()
	}
	if errno, ok := errors.AsType[syscall.Errno](op); ok {
		return errno.Error()
	}
	return op.Err.Error()
}

// addrOf finds the broker in an error of our dialler.
func addrOf(err error) string {
	if d, ok := errors.AsType[*dialError](err); ok {
		return d.addr
	}
	if c, ok := errors.AsType[*closedError](err); ok {
		return c.addr
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		return op.Addr.String()
	}
	return ""
}
