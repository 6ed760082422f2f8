package conn

// Dialling. kgo is given this dialler so that an error knows its broker, its
// stage (name, TCP, TLS, first answer, login) and what the other side really
// sent: a TLS record read as a Kafka length looks like "response of 352 MB".

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// dialTimeout bounds TCP and TLS together. Five seconds is two lost SYNs;
// kgo's own ten, and twenty for TLS against a plain port, are longer than an
// operator waits before reaching for another tool.
const dialTimeout = 5 * time.Second

type dialer struct {
	tls   *tls.Config
	seeds []string
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)

	waiting atomic.Int32 // logins that wait for somebody else; see login

	mu    sync.Mutex
	tried map[string][]*attempt
	// order has the addresses as they were first tried.
	order []string
}

// attempt is how far the last connection to an address came.
type attempt struct {
	err      error // of the dialling, once it has failed; guarded by dialer.mu
	tcp      atomic.Bool
	ready    atomic.Bool // TCP, and TLS where it is on
	answered atomic.Bool
}

func (s *Settings) newDialer(cfg *tls.Config) *dialer {
	d := &dialer{tls: cfg, seeds: s.Brokers, dial: s.NetDial, tried: map[string][]*attempt{}}
	if d.dial == nil {
		d.dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	return d
}

// dialError is a connection that was not made.
type dialError struct {
	addr string
	seed bool // the operator named the address
	// limit is how long it had: dialTimeout, or what was left of the caller's time.
	limit time.Duration
	err   error
}

func (e *dialError) Error() string { return fmt.Sprintf("%s: %v", e.addr, e.err) }
func (e *dialError) Unwrap() error { return e.err }

// DialContext connects, with TLS where the settings say so.
func (d *dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	// Noted before it begins: at a deadline the caller may look at the attempt
	// before this returns.
	a := &attempt{}
	d.mu.Lock()
	if len(d.tried[addr]) == 0 {
		d.order = append(d.order, addr)
	}
	d.tried[addr] = append(d.tried[addr][max(0, len(d.tried[addr])-3):], a)
	d.mu.Unlock()
	limit := dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(0, min(limit, time.Until(deadline)))
	}
	c, err := d.connect(ctx, network, addr, a)
	if err != nil {
		err = &dialError{addr: addr, seed: slices.Contains(d.seeds, addr), limit: limit, err: err}
		d.mu.Lock()
		a.err = err
		d.mu.Unlock()
		return nil, err
	}
	return c, nil
}

// telling is the last of an address's attempts that says something: several are under way at once, and one that was given up says
// nothing about the address. Nor does a handshake that is not over, where another one has failed with a reason: the second of two
// that began together was taken for a broker that does not answer. Where the broker has said something of a login, it was on a
// connection that was made.
func telling(tried []*attempt, said bool) *attempt {
	var last *attempt
	for _, a := range slices.Backward(tried) {
		if said && a.err == nil && a.ready.Load() {
			return a
		}
		if last == nil && (a.err == nil && a.tcp.Load() || a.err != nil && !errors.Is(a.err, context.Canceled)) {
			last = a
		}
		hs, failed := errors.AsType[*handshakeError](a.err)
		if underWay := last != nil && last.err == nil && !last.ready.Load(); underWay && failed && !hs.silent() && !errors.Is(a.err, context.Canceled) {
			return a
		}
	}
	return cmp.Or(last, tried[len(tried)-1])
}

// outcome is what became of the attempts at an address.
type outcome struct {
	addr                 string
	err                  error
	tcp, ready, answered bool
}

// outcomes lists the addresses in the order in which they were first tried; said is as of telling.
func (d *dialer) outcomes(said bool) []outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]outcome, 0, len(d.order))
	for _, addr := range d.order {
		a := telling(d.tried[addr], said)
		out = append(out, outcome{addr: addr, err: a.err, tcp: a.tcp.Load(), ready: a.ready.Load(), answered: a.answered.Load()})
	}
	return out
}

func (d *dialer) connect(ctx context.Context, network, addr string, a *attempt) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	raw, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	a.tcp.Store(true)
	if d.tls == nil {
		a.ready.Store(true)
		return &watchedConn{Conn: raw, addr: addr, attempt: a, plain: true}, nil
	}
	cfg := d.tls
	if cfg.ServerName == "" {
		cfg = cfg.Clone()
		cfg.ServerName = hostOf(addr)
	}
	c := tls.Client(raw, cfg)
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, &handshakeError{err: err}
	}
	a.ready.Store(true)
	return &watchedConn{Conn: c, addr: addr, attempt: a}, nil
}

// hostOf is the host of host:port, without brackets.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

// handshakeError is TCP connected and TLS not. EOF must not shine through: kgo
// takes EOF for a broker that restarts, and tries again for seconds.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }

// Unwrap hides an end of stream from errors.Is; see silent.
func (e *handshakeError) Unwrap() error {
	if e.silent() {
		return nil
	}
	return e.err
}

// silent reports whether the other side ended or stalled the handshake without
// a word, which a plain Kafka port does: it reads the first bytes of a
// ClientHello as the length of a request, 369 MB.
func (e *handshakeError) silent() bool {
	return errors.Is(e.err, io.EOF) || errors.Is(e.err, io.ErrUnexpectedEOF) || errors.Is(e.err, syscall.ECONNRESET) ||
		errors.Is(e.err, syscall.EPIPE) || isDeadline(e.err)
}

// watchedConn looks at the first bytes that come back, and at which request
// was last sent, so that a closed connection can be told apart.
type watchedConn struct {
	net.Conn
	addr    string
	attempt *attempt
	plain   bool
	// lastKey is the API key of the last request, plus one; 0 is none yet.
	lastKey atomic.Int32
	read    bool // only the reader uses it
}

// Write notes the API key: kgo writes a request in one call, whose bytes 4 and
// 5 are the key.
func (c *watchedConn) Write(p []byte) (int, error) {
	if len(p) >= 6 {
		c.lastKey.Store(int32(binary.BigEndian.Uint16(p[4:6])) + 1)
	}
	return c.Conn.Write(p)
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.read {
		c.read = true
		if bad := c.foreign(p[:n]); bad != nil {
			return 0, bad
		}
		c.attempt.answered.Store(true)
	}
	if n == 0 && err != nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		err = &closedError{addr: c.addr, first: !c.read, login: c.lastKey.Load() == saslAuthenticateKey+1, err: err}
	}
	return n, err
}

const saslAuthenticateKey = 36

// foreign recognises answers that are not Kafka's: a TLS record (an alert, or
// a handshake), which begins with its type and version 3, and HTTP. A Kafka
// answer begins with its length, and neither would be a length below 350 MB.
func (c *watchedConn) foreign(b []byte) error {
	if c.plain && len(b) >= 2 && (b[0] == 0x15 || b[0] == 0x16) && b[1] == 3 {
		return &tlsAnswerError{addr: c.addr}
	}
	if httpAnswer(b) {
		return &foreignAnswerError{addr: c.addr, what: "an HTTP server"}
	}
	if len(b) >= 4 && strings.HasPrefix(string(b), "SSH-") {
		return &foreignAnswerError{addr: c.addr, what: "an SSH server"}
	}
	return nil
}

// tlsAnswerError is a TLS record in answer to plain Kafka.
type tlsAnswerError struct{ addr string }

func (e *tlsAnswerError) Error() string { return e.addr + " answered with TLS" }

// foreignAnswerError is an answer in another protocol.
type foreignAnswerError struct{ addr, what string }

func (e *foreignAnswerError) Error() string { return e.addr + " is " + e.what }

// closedError is a connection that the broker closed. It unwraps to the cause,
// for kgo rightly retries most of them.
type closedError struct {
	addr  string
	first bool // before any byte came back
	login bool // while a login was under way
	err   error
}

func (e *closedError) Error() string { return e.addr + " closed the connection: " + e.err.Error() }
func (e *closedError) Unwrap() error { return e.err }
