package conn

// Questions to a port after a connection failed. Four mistakes look the same
// from the outside (the broker closes, or says nothing): TLS missing, TLS too
// much, a login missing, a mechanism that is not offered. Each is told apart
// by asking once more, on a connection of its own, within what is left of the
// deadline.

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// speaksTLS reports whether a TLS server answers at the address. Nothing is
// sent over the connection, so its certificate does not matter.
func (d *dialer) speaksTLS(ctx context.Context, addr string) bool {
	raw, err := d.dial(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer raw.Close()
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, ServerName: hostOf(addr)}) //nolint:gosec // see above
	err = c.HandshakeContext(ctx)
	if err == nil {
		return true
	}
	// An alert is TLS as well: the server may want a certificate from us.
	_, isAlert := remoteAlert(err)
	return isAlert
}

// speaksPlainKafka reports whether plain Kafka answers at the address.
func (d *dialer) speaksPlainKafka(ctx context.Context, addr string) bool {
	raw, err := d.dial(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer raw.Close()
	p := newProber(ctx, raw)
	return p.apiVersions() == nil
}

// saslAnswer is what a port says about logins.
type saslAnswer struct {
	// kafka says that it spoke Kafka at all.
	kafka bool
	// offers are the mechanisms; empty where the port takes no logins.
	offers []string
}

// askSASL asks for the mechanisms, with TLS where the settings have it. A port
// without SASL answers with an error and no list.
func (d *dialer) askSASL(ctx context.Context, addr string) saslAnswer {
	c, err := d.connect(ctx, "tcp", addr, &attempt{})
	if err != nil {
		return saslAnswer{}
	}
	defer c.Close()
	p := newProber(ctx, c)
	if p.apiVersions() != nil {
		return saslAnswer{}
	}
	// No broker has a mechanism of this name, so each answers with its list.
	// Raw: there is no client yet: this finds out which logins a broker takes.
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version, req.Mechanism = 1, "?"
	resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
	if p.ask(req, resp) != nil {
		return saslAnswer{kafka: true}
	}
	return saslAnswer{kafka: true, offers: resp.SupportedMechanisms}
}

// prober sends single requests on a bare connection.
type prober struct {
	c    net.Conn
	corr int32
}

func newProber(ctx context.Context, c net.Conn) *prober {
	if t, ok := ctx.Deadline(); ok {
		// An error here means a closed connection; the first write says so too.
		_ = c.SetDeadline(t)
	}
	return &prober{c: c}
}

func (p *prober) apiVersions() error {
	// Raw: there is no client yet: this finds out which logins a broker takes.
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 0 // every broker ever made answers version 0
	return p.ask(req, req.ResponseKind())
}

var errProbe = errors.New("not a Kafka answer")

func (p *prober) ask(req kmsg.Request, resp kmsg.Response) error {
	p.corr++
	id := "koffset"
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(id)).AppendRequest(nil, req, p.corr)
	if _, err := p.c.Write(frame); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(p.c, head[:]); err != nil {
		return err
	}
	size := int32(binary.BigEndian.Uint32(head[:4]))
	// An answer to these two requests has some KB.
	if size < 4 || size > 1<<20 || int32(binary.BigEndian.Uint32(head[4:])) != p.corr {
		return errProbe
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(p.c, body); err != nil {
		return err
	}
	if err := resp.ReadFrom(body); err != nil && !errors.Is(err, kbin.ErrNotEnoughData) {
		return err
	}
	return nil
}
