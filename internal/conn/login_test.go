package conn

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/sasl"
)

// slowLogin is a mechanism that waits for a third party, whatever the context says, as gokrb5 does for a KDC.
type slowLogin struct {
	begun, answer chan struct{}
	closed        bool // written and read without a lock, as in gokrb5's client: only the race detector sees it
	closes        atomic.Int32
}

func (*slowLogin) Name() string { return "SLOW" }
func (m *slowLogin) Close()     { m.closed = true; m.closes.Add(1) }
func (m *slowLogin) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	m.begun <- struct{}{}
	<-m.answer
	if m.closed {
		return nil, nil, errors.New("closed while it was used")
	}
	return nil, nil, nil
}

// A client that is closed while a login waits closes its mechanism when that login has ended, and does not wait for it.
func TestCloseLeavesARunningLoginAlone(t *testing.T) {
	m := &slowLogin{begun: make(chan struct{}), answer: make(chan struct{})}
	l := login{m, new(atomic.Int32), &ending{}}
	ended := make(chan error)
	go func() {
		_, _, err := l.Authenticate(context.Background(), "kafka:9092")
		ended <- err
	}()
	<-m.begun
	l.Close() // returns, or the test hangs
	if n := m.closes.Load(); n != 0 {
		t.Errorf("closed %d times under a running login", n)
	}
	if _, _, err := l.Authenticate(context.Background(), "kafka:9092"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a login after Close: %v", err)
	}
	close(m.answer)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := m.closes.Load(); n != 1 {
		t.Errorf("closed %d times when the login had ended, not once", n)
	}

	idle := &slowLogin{}
	login{idle, new(atomic.Int32), &ending{}}.Close()
	if idle.closes.Load() != 1 {
		t.Error("an idle mechanism was not closed")
	}
}
