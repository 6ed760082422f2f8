package conn

// From settings to a SASL mechanism.

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/koffset/koffset/internal/config"
)

// mechanism makes the mechanism, or nil where there is no SASL. Passwords are
// read here, once; tokens when a connection needs one.
func (s *Settings) mechanism(ctx context.Context) (sasl.Mechanism, error) {
	mech := s.text("sasl.mechanism")
	switch mech {
	case "":
		return nil, s.noMechanism()
	case mechPlain, mechScram256, mechScram512:
		return s.passwordMechanism(ctx, mech)
	case mechOAuth:
		return s.oauthMechanism(ctx)
	case mechAWS:
		return s.awsMechanism(ctx)
	case mechKerberos:
		return s.kerberosMechanism(ctx)
	}
	return nil, &config.Error{Where: s.source("sasl.mechanism"), Text: fmt.Sprintf("unknown SASL mechanism %q", mech)}
}

// login gives a mechanism's own errors a type: that a ticket or a signature is
// wrong, the libraries say in texts only.
type login struct {
	sasl.Mechanism
	// waiting counts logins that wait for a third party, an identity provider
	// or a KDC, so that a deadline is not blamed on the broker.
	waiting *atomic.Int32
	end     *ending
}

// ending closes a mechanism once no login uses it: one that waits for a KDC cannot be interrupted, and a client that is closed
// does not wait for it either.
type ending struct {
	mu      sync.Mutex
	running int
	closed  bool
}

// begin says whether a login may begin.
func (e *ending) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.running++
	return true
}

// finish ends a login, and says whether it was the last one that Close left the closing to.
func (e *ending) finish() (last bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	return e.closed && e.running == 0
}

// close lets no more logins begin, and says whether none is under way.
func (e *ending) close() (idle bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return e.running == 0
}

// Authenticate begins a login.
func (l login) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	if !l.end.begin() {
		return nil, nil, &loginError{net.ErrClosed}
	}
	defer func() {
		if l.end.finish() {
			l.destroy()
		}
	}()
	l.waiting.Add(1)
	session, first, err := l.Mechanism.Authenticate(ctx, host)
	l.waiting.Add(-1)
	if err != nil {
		return nil, nil, &loginError{err}
	}
	return loginSession{session}, first, nil
}

// Close ends what the mechanism keeps running, such as Kerberos's renewals.
func (l login) Close() {
	if l.end.close() {
		l.destroy()
	}
}

func (l login) destroy() {
	if c, ok := l.Mechanism.(sasl.ClosingMechanism); ok {
		c.Close()
	}
}

type loginSession struct{ sasl.Session }

// Challenge answers the broker.
func (s loginSession) Challenge(b []byte) (done bool, answer []byte, err error) {
	if done, answer, err = s.Session.Challenge(b); err != nil {
		err = &loginError{err}
	}
	return done, answer, err
}

// loginError is a login that failed on our side of it.
type loginError struct{ err error }

func (e *loginError) Error() string { return e.err.Error() }
func (e *loginError) Unwrap() error { return e.err }

// noMechanism is an error where credentials are set and no mechanism is: going
// on without them would fail later and in other words.
func (s *Settings) noMechanism() error {
	if _, off := s.values["sasl.mechanism"]; off {
		return nil // set to nothing on purpose
	}
	for _, k := range s.table.Keys {
		if strings.HasPrefix(k.Name, "sasl.") && s.has(k.Name) {
			return &config.Error{Where: s.source(k.Name), Text: k.Name + " is set, but no sasl.mechanism",
				Hint: "set sasl.mechanism to one of " + strings.Join(mechanisms(), ", ")}
		}
	}
	return nil
}

// missing is an error about a setting that the mechanism needs.
func (s *Settings) missing(mech, what, hint string) error {
	return &config.Error{Where: s.source("sasl.mechanism"), Text: fmt.Sprintf("SASL %s needs %s", mech, what), Hint: hint}
}

const passwordHint = "set sasl.password_file or sasl.password_command, or the variable KOFFSET_SASL_PASSWORD"

func (s *Settings) passwordMechanism(ctx context.Context, mech string) (sasl.Mechanism, error) {
	user := s.text("sasl.user")
	if user == "" {
		return nil, s.missing(mech, "sasl.user", "")
	}
	pass, err := s.secret(ctx, "sasl.password")
	if err != nil {
		return nil, err
	}
	if pass == "" {
		return nil, s.missing(mech, "a password for "+user, passwordHint)
	}
	switch mech {
	case mechPlain:
		return plain.Auth{User: user, Pass: pass}.AsMechanism(), nil
	case mechScram256:
		return scram.Auth{User: user, Pass: pass}.AsSha256Mechanism(), nil
	default:
		return scram.Auth{User: user, Pass: pass}.AsSha512Mechanism(), nil
	}
}

func (s *Settings) oauthMechanism(ctx context.Context) (sasl.Mechanism, error) {
	ext, err := s.oauthExtensions()
	if err != nil {
		return nil, err
	}
	if s.has("sasl.oauth.token_url") {
		src, err := s.tokenSource(ctx)
		if err != nil {
			return nil, err
		}
		return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			token, err := src.token(ctx)
			return oauth.Auth{Token: token, Extensions: ext}, err
		}), nil
	}
	if !s.hasSecret("sasl.token") {
		return nil, s.missing(mechOAuth, "a token", "set sasl.token_file, sasl.token_command, or sasl.oauth.token_url with a client id and secret")
	}
	// The first reading finds a wrong path before anything is sent. Later ones
	// are fresh: whoever writes the file replaces the token before it expires.
	if _, err := s.freshSecret(ctx, "sasl.token"); err != nil {
		return nil, err
	}
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := s.freshSecret(ctx, "sasl.token")
		return oauth.Auth{Token: strings.TrimSpace(token), Extensions: ext}, err
	}), nil
}

func (s *Settings) oauthExtensions() (map[string]string, error) {
	v, ok := s.values["sasl.oauth.extensions"]
	if !ok {
		return nil, nil
	}
	ext := map[string]string{}
	for _, item := range v.List {
		name, value, ok := strings.Cut(item, "=")
		if !ok || name == "" || name == "auth" || strings.ContainsRune(item, '\x01') {
			return nil, &config.Error{Where: v.Source.String(), Text: "sasl.oauth.extensions holds an entry that is not name=value"}
		}
		ext[name] = value
	}
	return ext, nil
}
