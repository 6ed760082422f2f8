package conn

// OAuth 2 client credentials: a token from a token endpoint, kept until it is
// about to expire.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/wholefile"
)

// tokenTimeout bounds one request for a token. It happens inside the login of
// a connection, which kgo gives no deadline of its own.
const tokenTimeout = 10 * time.Second

// tokenSource fetches tokens from one endpoint. It is used by all connections
// of a client at once.
type tokenSource struct {
	config *clientcredentials.Config
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	cached string
	// fetched and expires bound the cached token's life; expires is zero when
	// the endpoint did not say.
	fetched, expires time.Time
}

func (s *Settings) tokenSource(ctx context.Context) (*tokenSource, error) {
	id := s.text("sasl.oauth.client_id")
	if id == "" {
		return nil, s.missing(mechOAuth, "sasl.oauth.client_id beside the token URL", "")
	}
	secret, err := s.secret(ctx, "sasl.oauth.client_secret")
	if err != nil {
		return nil, err
	}
	if secret == "" {
		return nil, s.missing(mechOAuth, "a client secret for "+id, "set sasl.oauth.client_secret_file or sasl.oauth.client_secret_command, or the variable KOFFSET_SASL_OAUTH_CLIENT_SECRET")
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: tokenTimeout,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if v, ok := s.values["sasl.oauth.ca"]; ok && v.Text != "" {
		data, err := wholefile.Read(s.paths.of(v), maxSettings)
		if err != nil {
			return nil, &config.Error{Where: v.Source.String(), Text: "sasl.oauth.ca cannot be read", Err: err}
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(data) {
			return nil, &config.Error{Where: v.Source.String(), Text: "sasl.oauth.ca holds no PEM certificate"}
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	config := &clientcredentials.Config{TokenURL: s.text("sasl.oauth.token_url"), ClientID: id, ClientSecret: secret}
	if scope := s.text("sasl.oauth.scope"); scope != "" {
		config.Scopes = []string{scope}
	}
	return &tokenSource{config: config, now: time.Now,
		client: &http.Client{Transport: transport, Timeout: tokenTimeout,
			// Following a redirect would hand the secret to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// token returns a token with enough life left. kgo asks for one at every new
// connection and again shortly before a session, which lives as long as its
// token, ends: when 95 to 98 % are over, or a second or the time of a slow
// login before. With the old token the next session would last that rest only,
// and a broker refuses to renew one twice within a second (ILLEGAL_SASL_STATE,
// seen on a real one). So a token counts as used up after 80 % of its life and
// ten seconds before its end.
func (t *tokenSource) token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.cached != "" && !t.expires.IsZero() && now.Before(t.usable()) {
		return t.cached, nil
	}
	token, life, err := t.fetch(ctx)
	if err != nil {
		return "", &Error{Kind: Authentication, Addr: t.host(), Err: fmt.Errorf("no token from the token endpoint: %w", err),
			Hint: "check sasl.oauth.token_url, the client id and its secret"}
	}
	t.cached, t.fetched, t.expires = token, now, time.Time{}
	if life > 0 {
		t.expires = now.Add(life)
	}
	return token, nil
}

// usable is until when the cached token is given out.
func (t *tokenSource) usable() time.Time {
	life := t.expires.Sub(t.fetched)
	return t.fetched.Add(min(life*4/5, life-10*time.Second))
}

func (t *tokenSource) host() string {
	if u, err := url.Parse(t.config.TokenURL); err == nil {
		return u.Host
	}
	return ""
}

// fetch asks the endpoint. The library tries the credentials in the header first and then in the body, which RFC 6749
// leaves to the server, and remembers which one it took.
func (t *tokenSource) fetch(ctx context.Context) (token string, life time.Duration, err error) {
	got, err := t.config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		return "", 0, errors.New(refusal(refused))
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the error around it repeats the URL, which can hold a password
	}
	if err != nil {
		return "", 0, err
	}
	// Its Expiry is by the library's clock; what the endpoint said is a length of time.
	seconds, _ := got.Extra("expires_in").(float64)
	return got.AccessToken, time.Duration(seconds * float64(time.Second)), nil
}

// refusal is the endpoint's no (RFC 6749, section 5.2) in one line. The library's own text repeats the body.
func refusal(e *oauth2.RetrieveError) string {
	t := fmt.Sprintf("HTTP status %d", e.Response.StatusCode)
	if e.ErrorCode != "" {
		t += ", " + oneLine(e.ErrorCode)
	}
	if e.ErrorDescription != "" {
		t += ": " + oneLine(e.ErrorDescription)
	}
	return t
}

// oneLine makes a server's text fit for one line of a message.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
