package conn

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"testing"
)

// Of several attempts at one address, which one says what is wrong with it.
func TestTelling(t *testing.T) {
	t.Parallel()
	made := func(err error, tcp, ready bool) *attempt {
		a := &attempt{err: err}
		a.tcp.Store(tcp)
		a.ready.Store(ready)
		return a
	}
	untrusted := made(&dialError{err: &handshakeError{err: x509.UnknownAuthorityError{}}}, true, false)
	ended := made(&dialError{err: &handshakeError{err: io.EOF}}, true, false)
	givenUp := made(&dialError{err: context.Canceled}, false, false)
	refused := made(&dialError{err: errors.New("connection refused")}, false, false)
	underWay, ready := made(nil, true, false), made(nil, true, true)
	for name, c := range map[string]struct {
		tried []*attempt
		want  *attempt
		said  bool
	}{
		"a reason, and one under way":            {[]*attempt{untrusted, underWay}, untrusted, false},
		"a reason, given up, and one under way":  {[]*attempt{untrusted, givenUp, underWay}, untrusted, false},
		"one under way, then a reason":           {[]*attempt{underWay, untrusted}, untrusted, false},
		"no reason, and one under way":           {[]*attempt{ended, underWay}, underWay, false},
		"refused at first, and silent now":       {[]*attempt{refused, underWay}, underWay, false},
		"connected at first, and silent now":     {[]*attempt{ready, underWay}, underWay, false},
		"a reason at first, and connected since": {[]*attempt{untrusted, ready}, ready, false},
		"a login refused, and one under way":     {[]*attempt{ready, underWay}, ready, true},
		"refused, and given up":                  {[]*attempt{refused, givenUp}, refused, false},
		"nothing but given up":                   {[]*attempt{givenUp}, givenUp, false},
	} {
		if got := telling(c.tried, c.said); got != c.want {
			t.Errorf("%s: %v, tcp %t, ready %t", name, got.err, got.tcp.Load(), got.ready.Load())
		}
	}
}
