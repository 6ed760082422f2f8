package conn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/koffset/koffset/offset"
)

// load is Load with -X settings; every test that connects goes through it, so
// that no test depends on a path that users do not have.
func load(t *testing.T, x ...string) *Settings {
	t.Helper()
	s, err := Load(Inputs{X: x, Version: "0.0.0-test"})
	if err != nil {
		t.Fatalf("Load(%q): %v", x, err)
	}
	return s
}

func fake(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, string) {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("cluster-a")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, c.ListenAddrs()[0]
}

// serve runs handle for each connection to a free port of 127.0.0.1.
func serve(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() { handle(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// connectError connects, which has to fail within limit, and checks the kind.
func connectError(t *testing.T, s *Settings, want Kind, limit time.Duration) *Error {
	t.Helper()
	start := time.Now()
	cl, err := Connect(t.Context(), s)
	took := time.Since(start)
	if err == nil {
		cl.Close()
		t.Fatalf("connected, want %s", want)
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error is a %T: %v", err, err)
	}
	if e.Kind != want {
		t.Errorf("kind %s, want %s: %v", e.Kind, want, e)
	}
	if took > limit {
		t.Errorf("took %s, at most %s wanted", took, limit)
	}
	if e.Hint == "" {
		t.Errorf("no next step for %v", e)
	}
	t.Logf("%s, kind %d, %s: %v | %s", e.Kind, e.ErrorKind(), took.Round(time.Millisecond), e, e.Hint)
	return e
}

func has(t *testing.T, e *Error, parts ...string) {
	t.Helper()
	all := e.Error() + " | " + e.Hint
	for _, p := range parts {
		if !strings.Contains(all, p) {
			t.Errorf("%q is not in %q", p, all)
		}
	}
}

func TestConnectPlain(t *testing.T) {
	_, addr := fake(t)
	cl, err := Connect(t.Context(), load(t, "brokers="+addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSilentBroker(t *testing.T) {
	addr := serve(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	for _, x := range [][]string{nil, {"tls.enabled=true"}, {"sasl.mechanism=PLAIN", "sasl.user=u", "sasl.password=p"}} {
		s := load(t, append([]string{"brokers=" + addr, "timeout=1s"}, x...)...)
		e := connectError(t, s, Timeout, 1300*time.Millisecond)
		if e.ErrorKind() != offset.KindUnreachable || e.Addr != addr {
			t.Errorf("kind %d, address %q", e.ErrorKind(), e.Addr)
		}
	}
}

// A silent first broker must not hide a good second one.
func TestSilentFirstBroker(t *testing.T) {
	silent := serve(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	_, addr := fake(t)
	s := load(t, "brokers="+silent+","+addr, "timeout=10s", "request_timeout=200ms")
	cl, err := Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	cl.Close()
}

func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	e := connectError(t, load(t, "brokers="+addr), Unreachable, 2*time.Second)
	has(t, e, addr, "connection refused")
	if e.ErrorKind() != offset.KindUnreachable {
		t.Errorf("kind %d", e.ErrorKind())
	}
	e = connectError(t, load(t, "brokers="+addr+",no.such.host.invalid:9092"), Unreachable, 12*time.Second)
	has(t, e, addr, "none of the 2 brokers", "no.such.host.invalid")
}

func TestNoSuchHost(t *testing.T) {
	e := connectError(t, load(t, "brokers=no.such.host.invalid:9092"), Unreachable, 12*time.Second)
	has(t, e, "no.such.host.invalid:9092", "resolved")
}

func TestTLSExpected(t *testing.T) {
	ca := newCA(t, "Test CA")
	srv := ca.issue("broker", nil)
	cfg := &tls.Config{Certificates: []tls.Certificate{srv.tls}}
	_, addr := fake(t, kfake.TLS(cfg))
	connectError(t, load(t, "brokers="+addr, "timeout=5s"), TLSExpected, 3*time.Second)

	// Kafka closes without an alert where the first bytes are not TLS.
	t.Run("closed without a word", func(t *testing.T) {
		addr := serve(t, func(c net.Conn) {
			first := make([]byte, 1)
			if _, err := io.ReadFull(c, first); err != nil || first[0] != 0x16 {
				c.Close()
				return
			}
			tc := tls.Server(&prefixed{Conn: c, rest: first}, cfg)
			tc.Handshake()
			tc.Close()
		})
		e := connectError(t, load(t, "brokers="+addr, "timeout=5s"), TLSExpected, 3*time.Second)
		has(t, e, addr, "tls.enabled")
	})
}

// prefixed gives back bytes that were read already.
type prefixed struct {
	net.Conn
	rest []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.rest) > 0 {
		n := copy(b, p.rest)
		p.rest = p.rest[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

func TestPlaintextExpected(t *testing.T) {
	_, addr := fake(t)
	e := connectError(t, load(t, "brokers="+addr, "tls.enabled=true", "timeout=2s"), PlaintextExpected, 2300*time.Millisecond)
	has(t, e, addr, "plain", "tls.enabled")

	t.Run("closed at once", func(t *testing.T) {
		// What a broker does: the length it reads is above its limit.
		addr := serve(t, func(c net.Conn) {
			head := make([]byte, 4)
			io.ReadFull(c, head)
			if head[0] == 0x16 {
				c.Close()
				return
			}
			relay(t, c, head, addr)
		})
		connectError(t, load(t, "brokers="+addr, "tls.enabled=true", "timeout=5s"), PlaintextExpected, 2*time.Second)
	})
}

// relay passes a connection on to another address.
func relay(t *testing.T, c net.Conn, head []byte, to string) {
	up, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	defer up.Close()
	up.Write(head)
	go func() {
		io.Copy(up, c)
		up.Close()
	}()
	io.Copy(c, up)
	c.Close()
}

func TestNotKafka(t *testing.T) {
	addr := serve(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 4))
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		c.Close()
	})
	e := connectError(t, load(t, "brokers="+addr, "timeout=5s"), NotKafka, 3*time.Second)
	has(t, e, "HTTP")
	connectError(t, load(t, "brokers="+addr, "timeout=5s", "tls.enabled=true"), NotKafka, 3*time.Second)
}

func TestCertificates(t *testing.T) {
	ca, other := newCA(t, "Test CA"), newCA(t, "Other CA")
	caFile := write(t, "ca.pem", ca.pem)
	otherFile := write(t, "other.pem", other.pem)
	good := ca.issue("broker", nil)
	_, addr := fake(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{good.tls}}))

	t.Run("trusted", func(t *testing.T) {
		for _, x := range []string{"tls.ca=" + caFile, "tls.insecure_skip_verify=true", "tls.ca_pem=" + strings.ReplaceAll(string(ca.pem), "\n", " ")} {
			cl, err := Connect(t.Context(), load(t, "brokers="+addr, x))
			if err != nil {
				t.Fatalf("%s: %v", x, err)
			}
			cl.Close()
		}
	})
	t.Run("unknown authority", func(t *testing.T) {
		for _, x := range []string{"tls.enabled=true", "tls.ca=" + otherFile} {
			e := connectError(t, load(t, "brokers="+addr, x), CertificateUnknown, 2*time.Second)
			has(t, e, addr, "CN=broker", "CN=Test CA", "tls.ca")
			if e.ErrorKind() != offset.KindDenied {
				t.Errorf("kind %d", e.ErrorKind())
			}
		}
	})
	elsewhere := ca.issue("elsewhere", func(c *x509.Certificate) {
		c.DNSNames, c.IPAddresses = []string{"kafka.example.com"}, nil
	})
	_, addr2 := fake(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{elsewhere.tls}}))
	t.Run("wrong name", func(t *testing.T) {
		e := connectError(t, load(t, "brokers="+addr2, "tls.ca="+caFile), CertificateName, 2*time.Second)
		has(t, e, "127.0.0.1", "kafka.example.com", "tls.server_name")
		for _, x := range []string{"tls.server_name=kafka.example.com", "tls.verify_hostname=false"} {
			cl, err := Connect(t.Context(), load(t, "brokers="+addr2, "tls.ca="+caFile, x))
			if err != nil {
				t.Fatalf("%s: %v", x, err)
			}
			cl.Close()
		}
		// Without the name the chain still counts.
		connectError(t, load(t, "brokers="+addr2, "tls.ca="+otherFile, "tls.verify_hostname=false"), CertificateUnknown, 2*time.Second)
	})
	t.Run("expired", func(t *testing.T) {
		old := ca.issue("old", func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		})
		_, addr := fake(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{old.tls}}))
		e := connectError(t, load(t, "brokers="+addr, "tls.ca="+caFile), CertificateInvalid, 2*time.Second)
		has(t, e, "CN=old", "valid from")
	})
}

func TestMutualTLS(t *testing.T) {
	ca, other := newCA(t, "Test CA"), newCA(t, "Other CA")
	caFile := write(t, "ca.pem", ca.pem)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	srv := ca.issue("broker", nil)
	me, stranger := ca.issue("me", nil), other.issue("stranger", nil)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		_, addr := fake(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{srv.tls}, MaxVersion: version,
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}))
		base := []string{"brokers=" + addr, "tls.ca=" + caFile, "timeout=5s"}
		with := func(i issued) []string {
			return append(base[:3:3], "tls.cert="+write(t, "cert.pem", i.certPEM), "tls.key="+write(t, "key.pem", i.keyPEM))
		}
		cl, err := Connect(t.Context(), load(t, with(me)...))
		if err != nil {
			t.Fatal(err)
		}
		cl.Close()
		// Java's PEM key stores hold key and chain in one file.
		one := write(t, "both.pem", append(append([]byte{}, me.keyPEM...), me.certPEM...))
		if cl, err = Connect(t.Context(), load(t, append(base[:3:3], "tls.cert="+one)...)); err != nil {
			t.Fatal(err)
		}
		cl.Close()
		connectError(t, load(t, base...), ClientCertificate, 3*time.Second)
		connectError(t, load(t, with(stranger)...), ClientCertificate, 3*time.Second)
	}
}

func TestSASL(t *testing.T) {
	_, addr := fake(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "se cret"),
		kfake.Superuser("SCRAM-SHA-256", "alice", "se cret"), kfake.Superuser("SCRAM-SHA-512", "alice", "se cret"))
	for _, mech := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		base := []string{"brokers=" + addr, "sasl.mechanism=" + mech, "sasl.user=alice"}
		cl, err := Connect(t.Context(), load(t, append(base, "sasl.password=se cret")...))
		if err != nil {
			t.Fatalf("%s: %v", mech, err)
		}
		cl.Close()
		e := connectError(t, load(t, append(base, "sasl.password=wr0ng")...), Authentication, 8*time.Second)
		if e.ErrorKind() != offset.KindDenied || strings.Contains(e.Error()+e.Hint, "wr0ng") {
			t.Errorf("kind %d: %v", e.ErrorKind(), e)
		}
	}
	t.Run("mechanism", func(t *testing.T) {
		e := connectError(t, load(t, "brokers="+addr, "sasl.mechanism=OAUTHBEARER", "sasl.token=tok"), MechanismUnsupported, 3*time.Second)
		has(t, e, "OAUTHBEARER", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512", "-X sasl.mechanism")
	})
	t.Run("required", func(t *testing.T) {
		e := connectError(t, load(t, "brokers="+addr, "timeout=5s"), SASLRequired, 4*time.Second)
		has(t, e, "PLAIN, SCRAM-SHA-256", "sasl.mechanism")
	})
}

func TestInterrupted(t *testing.T) {
	addr := serve(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	ctx, cancel := context.WithCancel(t.Context())
	context.AfterFunc(ctx, func() {})
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := Connect(ctx, load(t, "brokers="+addr))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the interruption", err)
	}
}
