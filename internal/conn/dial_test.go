package conn

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// A dial that the caller's own deadline ended is said to have had that long, and not dialTimeout.
func TestDialSaysHowLongItHad(t *testing.T) {
	late := &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
	d := &dialer{tried: map[string][]*attempt{}, dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, late }}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := d.DialContext(ctx, "tcp", "kafka:9092")
	if e, ok := errors.AsType[*dialError](err); !ok || e.limit > 30*time.Millisecond {
		t.Fatalf("%#v", err)
	}
	if e := Classify(err); e == nil || !strings.Contains(e.Error(), "no connection within") || strings.Contains(e.Error(), dialTimeout.String()) {
		t.Errorf("%v", e)
	}
}
