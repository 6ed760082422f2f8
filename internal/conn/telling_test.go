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
	}{
		"a reason, and one under way":            {[]*attempt{untrusted, underWay}, untrusted},
		"a reason, given up, and one under way":  {[]*attempt{untrusted, givenUp, underWay}, untrusted},
		"one under way, then a reason":           {[]*attempt{underWay, untrusted}, untrusted},
		"no reason, and one under way":           {[]*attempt{ended, underWay}, underWay},
		"refused at first, and silent now":       {[]*attempt{refused, underWay}, underWay},
		"connected at first, and silent now":     {[]*attempt{ready, underWay}, underWay},
		"a reason at first, and connected since": {[]*attempt{untrusted, ready}, ready},
		"refused, and given up":                  {[]*attempt{refused, givenUp}, refused},
		"nothing but given up":                   {[]*attempt{givenUp}, givenUp},
	} {
		if got := telling(c.tried); got != c.want {
			t.Errorf("%s: %v, tcp %t, ready %t", name, got.err, got.tcp.Load(), got.ready.Load())
		}
	}
}
