package conn

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

// outline is the steps of a check in short.
func outline(steps []Step) string {
	var out []string
	for _, s := range steps {
		out = append(out, s.Name+"="+string(s.Result))
	}
	return strings.Join(out, " ")
}

// failure is the first step that failed.
func failure(steps []Step) Step {
	for _, s := range steps {
		if s.Result == StepFailed {
			return s
		}
	}
	return Step{}
}

func TestCheckNamesTheStepThatFails(t *testing.T) {
	_, good := fake(t)
	ca := newCA(t, "Test CA")
	cert := ca.issue("kafka-1", nil).tls
	secure, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	defer secure.Close()
	go func() {
		for {
			c, err := secure.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, c); c.Close() }()
		}
	}()
	silent := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := closed.Addr().String()
	closed.Close()
	caFile := write(t, "ca.pem", newCA(t, "Other CA").pem)
	for _, c := range []struct {
		name string
		x    []string
		want string
		says string
		kind offset.ErrorKind
	}{
		{"all is well", []string{"brokers=" + good}, "settings=ok resolve=ok connect=ok tls=off api-versions=ok login=off cluster=ok", "", 0},
		{"no such file", []string{"brokers=" + good, "tls.ca=/no/such/ca.pem"}, "settings=failed", "no such file", offset.KindUsage},
		{"no such name", []string{"brokers=no-such-broker.invalid:9092"}, "settings=ok resolve=failed connect=not-reached tls=not-reached api-versions=not-reached login=not-reached", "no-such-broker.invalid", offset.KindUnreachable},
		{"nothing listens", []string{"brokers=" + refused}, "settings=ok resolve=ok connect=failed tls=not-reached api-versions=not-reached login=not-reached", "connection refused", offset.KindUnreachable},
		{"TLS to a plain port", []string{"brokers=" + good, "tls.enabled=true"}, "settings=ok resolve=ok connect=ok tls=failed api-versions=not-reached login=not-reached", "plain Kafka", offset.KindUnreachable},
		{"a stranger's certificate", []string{"brokers=" + secure.Addr().String(), "tls.ca=" + caFile, "timeout=4s"},
			"settings=ok resolve=ok connect=ok tls=failed api-versions=not-reached login=not-reached", "it shows TLS 1.3: ", offset.KindDenied},
		{"silence", []string{"brokers=" + silent, "timeout=2s"}, "settings=ok resolve=ok connect=ok tls=off api-versions=failed login=not-reached", "did not answer", offset.KindUnreachable},
		{"a login that the port does not take", []string{"brokers=" + good, "sasl.mechanism=PLAIN", "sasl.user=u", "sasl.password=hunter2"},
			"settings=ok resolve=ok connect=ok tls=off api-versions=ok login=failed", "login", offset.KindDenied},
		{"another cluster", []string{"brokers=" + good, "cluster_id=cluster-b"}, "settings=ok resolve=ok connect=ok tls=off api-versions=ok login=off cluster=failed", "cluster-b", offset.KindRefused},
		{"one of two", []string{"brokers=" + refused + "," + good}, "settings=ok resolve=ok connect=failed tls=not-reached api-versions=not-reached login=not-reached resolve=ok connect=ok tls=off api-versions=ok login=off cluster=ok", "connection refused", offset.KindUnreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := load(t, c.x...)
			began := time.Now()
			steps, cl := Check(t.Context(), s)
			if cl != nil {
				cl.Close()
			}
			if got := outline(steps); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			f := failure(steps)
			if !strings.Contains(f.Detail, c.says) || f.Kind != c.kind {
				t.Errorf("%+v, want %q of kind %d (after %s)", f, c.says, c.kind, time.Since(began))
			}
			for _, s := range steps {
				if strings.Contains(s.Detail+s.Hint, "hunter2") {
					t.Errorf("a secret is in %+v", s)
				}
			}
		})
	}
}
