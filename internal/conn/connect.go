package conn

// Connect: one round trip before the work, and a diagnosis when it fails.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/text"
)

// Connect makes a client and reaches the cluster with it, within ctx and
// Settings.Timeout. extra options come after those of the settings and win.
//
// A cluster that cannot be reached is an *Error, settings that cannot be used
// are a *config.Error, and a ctx that was cancelled is its error.
func Connect(ctx context.Context, s *Settings, extra ...kgo.Opt) (*kgo.Client, error) {
	return ConnectAndRead(ctx, s, nil, extra...)
}

// ConnectAndRead is Connect with what the caller reads first. It begins at once
// and its answer counts as having reached the cluster, which spares a round trip;
// it should ask another broker where one is silent. Its error is returned as it is.
func ConnectAndRead(ctx context.Context, s *Settings, read func(context.Context, *kgo.Client) error, extra ...kgo.Opt) (*kgo.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	opts, d, err := s.options(ctx)
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(append(opts, extra...)...)
	if err != nil {
		return nil, &config.Error{Text: "the settings cannot be used", Err: err}
	}
	start := time.Now()
	pingErr, readErr := reach(ctx, cl, read)
	if pingErr == nil && readErr == nil {
		warm(context.WithoutCancel(ctx), cl)
		return cl, nil
	}
	// Before Close, which ends such waiting.
	waiting := d.waiting.Load() > 0
	cl.Close()
	if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) {
		return nil, cause
	}
	if pingErr == nil {
		return nil, readErr
	}
	if waiting && isDeadline(pingErr) {
		return nil, s.loginWaits(time.Since(start))
	}
	return nil, s.diagnose(ctx, d, pingErr, time.Since(start))
}

// reach pings and reads at the same time, on the same connection. The ping fails
// fast, and its error can be explained; the reading succeeds where the first
// broker hangs and another answers.
func reach(ctx context.Context, cl *kgo.Client, read func(context.Context, *kgo.Client) error) (pingErr, readErr error) {
	// A quarter of the time, and at most 3 s, is left for the questions that
	// explain a failure.
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-min(time.Until(deadline)/4, 3*time.Second)))
		defer cancel()
	}
	if read == nil {
		return cl.Ping(ctx), nil
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	pinged, done := make(chan error, 1), make(chan error, 1)
	go func() { pinged <- cl.Ping(ctx) }()
	go func() { done <- read(reading, cl) }()
	select {
	case pingErr = <-pinged:
		if pingErr != nil && ctx.Err() == nil {
			cancel() // both may wait for one connection, whose end by ctx is to be seen as that
		}
		return pingErr, <-done
	case readErr = <-done:
		if readErr == nil {
			return nil, nil
		}
		return <-pinged, readErr
	}
}

// warmest is how many brokers are connected to before something is asked of them.
const warmest = 12

// warm connects to the brokers of a small cluster at the same time, and does not
// wait: what is asked next goes to several of them, and each connection costs two
// round trips and a login. An error shows when the broker is needed.
func warm(ctx context.Context, cl *kgo.Client) {
	brokers := cl.DiscoveredBrokers()
	if len(brokers) > warmest {
		return
	}
	for _, b := range brokers {
		// Raw: it only opens a connection to each broker.
		go func() { _, _ = b.Request(ctx, kmsg.NewPtrApiVersionsRequest()) }()
	}
}

// loginWaits is for a deadline that passed while the broker was waiting for us,
// and we for somebody else.
func (s *Settings) loginWaits(took time.Duration) error {
	e := &Error{Kind: Timeout, Err: fmt.Errorf("the login was not ready (waited %s)", took.Round(100*time.Millisecond)), Hint: "{{timeout}} gives it longer"}
	switch s.text("sasl.mechanism") {
	case mechOAuth:
		e.Err = fmt.Errorf("no token in time (waited %s)", took.Round(100*time.Millisecond))
		e.Hint = "check that the token endpoint (" + s.source("sasl.oauth.token_url") + ") answers"
		if !s.has("sasl.oauth.token_url") {
			e.Hint = "check what gives the token"
		}
	case mechKerberos:
		e.Err = fmt.Errorf("no Kerberos ticket in time (waited %s)", took.Round(100*time.Millisecond))
		e.Hint = "check that the realm's KDC can be reached, as kinit does"
	}
	return e
}

// diagnose explains why no broker could be reached. The addresses are judged
// one by one: the first that was connected to says most, since a mistake in
// TLS or login is the same for all.
func (s *Settings) diagnose(ctx context.Context, d *dialer, err error, took time.Duration) error {
	if c, ok := errors.AsType[*config.Error](err); ok {
		return c // a token file or an AWS profile that vanished
	}
	var failed []*Error // addresses without a connection
	for _, o := range d.outcomes(ofLogin(err)) {
		hs, handshake := errors.AsType[*handshakeError](o.err)
		switch {
		case handshake && hs.silent(), o.err == nil && o.tcp && !o.ready:
			return d.afterSilentHandshake(ctx, o.addr, hs, took)
		case o.err == nil && !o.tcp:
			failed = append(failed, &Error{Kind: Timeout, Addr: o.addr, Err: fmt.Errorf("no connection within %s", took.Round(100*time.Millisecond)),
				Hint: "check the address; a firewall that drops packets looks like this"})
		case o.err != nil:
			e := Classify(o.err)
			if e == nil {
				e = &Error{Kind: Unreachable, Err: o.err, Hint: "check the address and the network between"}
			}
			e.Addr = o.addr
			if handshake {
				return e // TLS says the same about every broker
			}
			failed = append(failed, e)
		default:
			return s.afterConnection(ctx, d, o, err, took)
		}
	}
	return together(failed, err)
}

// ofLogin says that a failure is what a broker answered to a login, or for want of one.
func ofLogin(err error) bool {
	e := Classify(err)
	return e != nil && slices.Contains([]Kind{Authentication, MechanismUnsupported, SASLRequired, SASLUnexpected, Authorization}, e.Kind)
}

// together makes one error of brokers that could all not be connected to.
func together(failed []*Error, err error) error {
	switch len(failed) {
	case 0:
		if e := Classify(err); e != nil {
			return e
		}
		return &Error{Kind: Unreachable, Err: err}
	case 1:
		return failed[0]
	}
	var each []string
	for _, e := range failed {
		each = append(each, e.Addr+" "+e.Err.Error())
	}
	return &Error{Kind: Unreachable, Err: fmt.Errorf("none of the %s can be reached: %s", text.Plural(len(failed), "broker"), joinSome(each, 5)),
		Hint: failed[0].Hint}
}

// afterSilentHandshake is for a port that ended or stalled our TLS handshake.
func (d *dialer) afterSilentHandshake(ctx context.Context, addr string, hs *handshakeError, took time.Duration) error {
	if d.speaksPlainKafka(ctx, addr) {
		return &Error{Kind: PlaintextExpected, Addr: addr, Err: errors.New("the port speaks plain Kafka, and koffset spoke TLS"),
			Hint: "use the broker's TLS port, or set tls.enabled: false"}
	}
	if hs == nil || isDeadline(hs.err) {
		return silent(addr, "accepted the connection and did not answer the TLS handshake", took)
	}
	return &Error{Kind: Unreachable, Addr: addr, Err: errors.New("the connection was closed during the TLS handshake"),
		Hint: "check the port; something between here and the broker may be closing it"}
}

func silent(addr, what string, took time.Duration) *Error {
	return &Error{Kind: Timeout, Addr: addr, Err: fmt.Errorf("it %s (waited %s)", what, took.Round(100*time.Millisecond)),
		Hint: "check that the port is Kafka's; a broker that starts or hangs, or a proxy without its broker, look like this too"}
}

// afterConnection is for a broker that was connected to, with TLS if it is on,
// and then did not answer as it should.
func (s *Settings) afterConnection(ctx context.Context, d *dialer, o outcome, err error, took time.Duration) error {
	addr := o.addr
	e := Classify(err)
	sasl := s.text("sasl.mechanism")
	if e != nil && e.Addr == "" {
		e.Addr = addr
	}
	switch {
	case errors.Is(err, context.Canceled): // we ended it, whatever the broker would have said
		return &Error{Kind: Unreachable, Addr: addr, Err: err}
	case e != nil && e.Kind == MechanismUnsupported:
		return s.withOffers(e, d.askSASL(ctx, addr).offers)
	case e != nil && e.Kind == SASLUnexpected: // the first login of a new connection
		return s.withOffers(e, nil)
	case e != nil && e.Kind != Unreachable && e.Kind != Timeout:
		return e
	}
	// The broker closed, or is silent.
	if !o.answered && d.tls == nil && d.speaksTLS(ctx, addr) {
		return tlsExpected(addr)
	}
	if sasl == "" {
		if answer := d.askSASL(ctx, addr); len(answer.offers) > 0 {
			return saslRequired(addr, answer.offers)
		}
	}
	if isDeadline(err) {
		what := "accepted the connection and did not answer"
		if o.answered {
			what = "answered at first and then no more"
		}
		return silent(addr, what, took)
	}
	if e != nil {
		return e
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return &Error{Kind: Unreachable, Addr: addr, Err: fmt.Errorf("the broker answered %s: %s", ke.Message, ke.Description)}
	}
	return &Error{Kind: NotKafka, Addr: addr, Err: fmt.Errorf("the answer is not Kafka's: %s", oneLine(err.Error())), Hint: "check the port"}
}

func saslRequired(addr string, offers []string) *Error {
	return &Error{Kind: SASLRequired, Addr: addr, Err: fmt.Errorf("the broker wants a login; it offers %s", strings.Join(offers, ", ")),
		Hint: "set sasl.mechanism to one of them, with sasl.user and a password"}
}

// withOffers says what the broker offers, and whether koffset can do any.
func (s *Settings) withOffers(e *Error, offers []string) *Error {
	mech := s.text("sasl.mechanism")
	if len(offers) == 0 {
		return &Error{Kind: SASLUnexpected, Addr: e.Addr, Err: fmt.Errorf("the broker does not take SASL %s, nor any other login on this port", mech),
			Hint: "use the broker's SASL port, or remove sasl.mechanism (" + s.source("sasl.mechanism") + ")"}
	}
	e.Err = fmt.Errorf("the broker does not offer SASL %s; it offers %s", mech, strings.Join(offers, ", "))
	e.Hint = "set sasl.mechanism (" + s.source("sasl.mechanism") + ") to one of them"
	if !slices.ContainsFunc(offers, func(o string) bool { return slices.Contains(mechanisms(), o) }) {
		e.Hint = "koffset knows " + strings.Join(mechanisms(), ", ")
	}
	return e
}
