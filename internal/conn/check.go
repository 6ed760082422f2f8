package conn

// Each step of connecting, by itself and with its result: for an operator whose connection fails, or who has just written it
// down. A failure is explained by Connect, which has asked the port; this file says at which step it happened.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// The steps of a check, in their order.
const (
	StepSettings = "settings"
	StepResolve  = "resolve"
	StepConnect  = "connect"
	StepTLS      = "tls"
	StepAnswer   = "api-versions"
	StepLogin    = "login"
	StepCluster  = "cluster"
	StepBroker   = "broker"
)

// StepResult is how a step ended.
type StepResult string

// The results. Off is a step that the settings do not ask for; NotReached comes behind a failure.
const (
	StepOK         StepResult = "ok"
	StepFailed     StepResult = "failed"
	StepOff        StepResult = "off"
	StepNotReached StepResult = "not-reached"
)

// Step is one step of a check.
type Step struct {
	Name, Target string
	Result       StepResult
	Detail       string
	Hint         string
	Kind         offset.ErrorKind // of a failure
}

// Check goes through the steps of connecting, broker by broker. The client is of the first broker that all of them led to, nil
// where none did; the caller closes it.
func Check(ctx context.Context, s *Settings, extra ...kgo.Opt) ([]Step, *kgo.Client) {
	c := &check{s: s, extra: extra}
	_, d, err := s.options(ctx)
	if err != nil {
		c.fail(StepSettings, "", err, nil)
		return c.steps, nil
	}
	c.d = d
	c.add(Step{Name: StepSettings, Target: s.source("brokers"), Result: StepOK, Detail: text.Plural(len(s.Brokers), "broker")})
	for _, addr := range s.Brokers {
		cl := c.broker(ctx, addr)
		switch {
		case cl != nil && c.cl == nil:
			c.cl = cl
		case cl != nil:
			cl.Close()
		}
	}
	if c.cl != nil {
		c.cluster(ctx)
	}
	return c.steps, c.cl
}

type check struct {
	s     *Settings
	d     *dialer
	extra []kgo.Opt
	steps []Step
	cl    *kgo.Client
}

func (c *check) add(s Step) { c.steps = append(c.steps, s) }

// fail adds the step that failed, and those that come behind it as not reached.
func (c *check) fail(step, addr string, err error, behind []string) {
	f := Step{Name: step, Target: addr, Result: StepFailed, Detail: err.Error(), Kind: offset.KindUnreachable}
	if e := Classify(err); e != nil {
		f.Detail, f.Hint, f.Kind = e.Err.Error(), e.Hint, e.ErrorKind()
	} else if e, ok := errors.AsType[*config.Error](err); ok {
		f.Hint, f.Kind = e.Hint, e.ErrorKind()
	}
	c.add(f)
	for _, name := range behind {
		c.add(Step{Name: name, Target: addr, Result: StepNotReached})
	}
}

// broker checks one address, up to the login.
func (c *check) broker(ctx context.Context, addr string) *kgo.Client {
	host := hostOf(addr)
	at, err := c.resolve(ctx, host)
	if err != nil {
		c.fail(StepResolve, addr, &dialError{addr: addr, seed: true, err: err}, []string{StepConnect, StepTLS, StepAnswer, StepLogin})
		return nil
	}
	c.add(Step{Name: StepResolve, Target: addr, Result: StepOK, Detail: at})
	began := time.Now()
	dctx, cancel := context.WithTimeout(ctx, dialTimeout)
	raw, err := c.d.dial(dctx, "tcp", addr)
	cancel()
	if err != nil {
		c.fail(StepConnect, addr, &dialError{addr: addr, seed: true, limit: dialTimeout, err: err}, []string{StepTLS, StepAnswer, StepLogin})
		return nil
	}
	remote := raw.RemoteAddr().String()
	raw.Close()
	c.add(Step{Name: StepConnect, Target: addr, Result: StepOK, Detail: fmt.Sprintf("%s in %s", remote, text.Duration(time.Since(began)))})
	cl, err := Connect(ctx, c.s, append([]kgo.Opt{kgo.SeedBrokers(addr)}, c.extra...)...)
	if err != nil {
		c.failed(ctx, addr, err)
		return nil
	}
	c.tls(ctx, addr)
	c.answered(ctx, addr, cl)
	c.loggedIn(addr)
	return cl
}

func (c *check) resolve(ctx context.Context, host string) (string, error) {
	if net.ParseIP(host) != nil {
		return "an address already", nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	return strings.Join(found, ", "), err
}

// failed puts an error of Connect to the step that it belongs to.
func (c *check) failed(ctx context.Context, addr string, err error) {
	switch stepOf(err) {
	case StepTLS:
		c.fail(StepTLS, addr, err, []string{StepAnswer, StepLogin})
		if chain := c.chain(ctx, addr); chain != "" {
			c.steps[len(c.steps)-3].Detail += "; it shows " + chain
		}
	case StepLogin:
		c.tls(ctx, addr)
		c.add(Step{Name: StepAnswer, Target: addr, Result: StepOK, Detail: "Kafka"})
		c.fail(StepLogin, addr, err, nil)
	default:
		c.tls(ctx, addr)
		c.fail(StepAnswer, addr, err, []string{StepLogin})
	}
}

func stepOf(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return StepLogin // a token's file that vanished
	}
	switch e.Kind {
	case TLSExpected, PlaintextExpected, CertificateUnknown, CertificateName, CertificateInvalid, ClientCertificate:
		return StepTLS
	case Authentication, MechanismUnsupported, SASLRequired, SASLUnexpected, Authorization:
		return StepLogin
	}
	return StepAnswer
}

func (c *check) tls(ctx context.Context, addr string) {
	s := Step{Name: StepTLS, Target: addr, Result: StepOff, Detail: "plain text"}
	if c.d.tls != nil {
		s.Result, s.Detail = StepOK, c.chain(ctx, addr)
		if c.d.tls.InsecureSkipVerify && c.d.tls.VerifyConnection == nil {
			s.Detail = "nothing is verified (tls.insecure_skip_verify); " + s.Detail
		}
	}
	c.add(s)
}

// chain is what the broker shows of itself: nothing is sent over the connection, so it is not held against anything.
func (c *check) chain(ctx context.Context, addr string) string {
	if c.d.tls == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	raw, err := c.d.dial(ctx, "tcp", addr)
	if err != nil {
		return ""
	}
	defer raw.Close()
	cfg := c.d.tls.Clone()
	cfg.InsecureSkipVerify, cfg.VerifyConnection = true, nil
	if cfg.ServerName == "" {
		cfg.ServerName = hostOf(addr)
	}
	conn := tls.Client(raw, cfg)
	_ = conn.HandshakeContext(ctx) // what came before an error is told
	state := conn.ConnectionState()
	var certs []string
	for _, x := range state.PeerCertificates {
		certs = append(certs, fmt.Sprintf("%s until %s", x.Subject, x.NotAfter.UTC().Format(time.DateOnly)))
	}
	if n := len(state.PeerCertificates); n > 0 {
		certs = append(certs, "signed by "+state.PeerCertificates[n-1].Issuer.String())
		return tls.VersionName(state.Version) + ": " + strings.Join(certs, ", ")
	}
	return ""
}

func (c *check) answered(ctx context.Context, addr string, cl *kgo.Client) {
	// Raw: kadm asks every broker, and the one that is connected to is of interest.
	req := kmsg.NewPtrApiVersionsRequest()
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		c.fail(StepAnswer, addr, err, nil)
		return
	}
	detail := text.Plural(len(resp.ApiKeys), "kind") + " of request"
	if guess := kversion.FromApiVersionsResponse(resp).VersionGuess(); strings.HasPrefix(guess, "v") {
		detail += ", like Kafka " + strings.TrimPrefix(guess, "v")
	}
	c.add(Step{Name: StepAnswer, Target: addr, Result: StepOK, Detail: detail})
}

func (c *check) loggedIn(addr string) {
	mech := c.s.text("sasl.mechanism")
	s := Step{Name: StepLogin, Target: addr, Result: StepOff, Detail: "no login"}
	if mech != "" {
		s.Result, s.Detail = StepOK, mech
		if u := c.s.text("sasl.user"); u != "" {
			s.Detail += " as " + u
		}
	} else if c.d.tls != nil && len(c.d.tls.Certificates) > 0 {
		s.Detail = "by the certificate"
	}
	c.add(s)
}

// cluster reads which cluster it is, and tries the addresses that it gives for its brokers: clients go there next.
func (c *check) cluster(ctx context.Context) {
	// Raw: kadm's comes from a cache, and this must come from the broker now.
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		c.fail(StepCluster, "", err, nil)
		return
	}
	id := ""
	if resp.ClusterID != nil {
		id = *resp.ClusterID
	}
	c.add(Step{Name: StepCluster, Target: id, Result: StepOK, Detail: text.Plural(len(resp.Brokers), "broker")})
	if want := c.s.ClusterID; want != "" && want != id {
		last := &c.steps[len(c.steps)-1]
		last.Result, last.Kind = StepFailed, offset.KindRefused
		last.Detail, last.Hint = "cluster_id is "+want+" ("+c.s.source("cluster_id")+")", "the addresses lead to another cluster, or cluster_id is wrong"
	}
	for _, b := range resp.Brokers {
		addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		if slices.Contains(c.s.Brokers, addr) {
			continue
		}
		began := time.Now()
		conn, err := c.d.connect(ctx, "tcp", addr, &attempt{})
		if err != nil {
			c.fail(StepBroker, addr, &dialError{addr: addr, limit: dialTimeout, err: err}, nil)
			continue
		}
		conn.Close()
		c.add(Step{Name: StepBroker, Target: addr, Result: StepOK, Detail: fmt.Sprintf("broker %d, as the cluster gives its address, in %s", b.NodeID, text.Duration(time.Since(began)))})
	}
}
