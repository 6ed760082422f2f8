package cli

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/kafkatest"
)

// Scrapers that ask and never read are dropped when the time for an answer is over, and so is one that never ends its
// request; whoever reads gets a whole page meanwhile.
func TestMetricsServerDropsWhoDoesNotRead(t *testing.T) {
	const size = 64 << 20 // more than what a connection's buffers hold on both sides
	left := make(chan error, 10)
	s := MetricsServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			_, _ = io.WriteString(w, "ok\n")
			return
		}
		_, err := io.CopyN(w, zeros{}, size)
		left <- err
	}))
	for name, d := range map[string]time.Duration{"header": s.ReadHeaderTimeout, "read": s.ReadTimeout, "write": s.WriteTimeout, "idle": s.IdleTimeout} {
		if d <= 0 || d > 2*time.Minute {
			t.Errorf("the %s timeout is %s", name, d)
		}
	}
	s.WriteTimeout, s.ReadHeaderTimeout = 2*time.Second, 2*time.Second
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-served })

	const readers = 5
	for range readers {
		dial(t, l.Addr(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	unfinished := dial(t, l.Addr(), "GET /metrics HTTP/1.1\r\nHost:")
	kafkatest.Until(t, "a scraper that reads is answered", func() bool {
		resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return err == nil && string(b) == "ok\n"
	})
	for range readers {
		if err := <-left; err == nil {
			t.Error("a reader that never reads got everything")
		}
	}
	_ = unfinished.SetReadDeadline(time.Now().Add(kafkatest.Deadline))
	if _, err := io.Copy(io.Discard, unfinished); isTimeout(err) {
		t.Error("a request without an end keeps its connection")
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// dial opens a connection, sends a text, and never reads.
func dial(t *testing.T, addr net.Addr, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}
