package conn

// OAuth 2 client credentials: a token from a token endpoint, kept until it is
// about to expire.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// tokenTimeout bounds one request for a token. It happens inside the login of
// a connection, which kgo gives no deadline of its own.
const tokenTimeout = 10 * time.Second

// tokenSource fetches tokens from one endpoint. It is used by all connections
// of a client at once.
type tokenSource struct {
	url        string
	id, secret string
	scope      string
	client     *http.Client
	now        func() time.Time

	mu     sync.Mutex
	cached string
	// fetched and expires bound the cached token's life; expires is zero when
	// the endpoint did not say.
	fetched, expires time.Time
	// inBody is learned: the endpoint refused HTTP Basic.
	inBody bool
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
		data, err := os.ReadFile(s.paths.of(v))
		if err != nil {
			return nil, &ConfigError{Where: v.Source.String(), Text: "sasl.oauth.ca cannot be read", Err: err}
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(data) {
			return nil, &ConfigError{Where: v.Source.String(), Text: "sasl.oauth.ca holds no PEM certificate"}
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	return &tokenSource{
		url: s.text("sasl.oauth.token_url"), id: id, secret: secret, scope: s.text("sasl.oauth.scope"), now: time.Now,
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
	if u, err := url.Parse(t.url); err == nil {
		return u.Host
	}
	return ""
}

// fetch asks once, or twice where the endpoint takes the credentials only in
// the body (RFC 6749 leaves that to the server).
func (t *tokenSource) fetch(ctx context.Context) (token string, life time.Duration, err error) {
	token, life, err = t.post(ctx, t.inBody)
	if refused, ok := errors.AsType[*tokenRefused](err); ok && !t.inBody && refused.mayWantBody() {
		var again error
		if token, life, again = t.post(ctx, true); again == nil {
			t.inBody = true
			return token, life, nil
		}
	}
	return token, life, err
}

// tokenRefused is the endpoint's no (RFC 6749, section 5.2).
type tokenRefused struct {
	status            int
	code, description string
}

func (e *tokenRefused) Error() string {
	t := fmt.Sprintf("HTTP status %d", e.status)
	if e.code != "" {
		t += ", " + e.code
	}
	if e.description != "" {
		t += ": " + e.description
	}
	return t
}

func (e *tokenRefused) mayWantBody() bool {
	return e.status == http.StatusUnauthorized || e.code == "invalid_client" || e.code == "invalid_request"
}

func (t *tokenSource) post(ctx context.Context, inBody bool) (string, time.Duration, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if t.scope != "" {
		form.Set("scope", t.scope)
	}
	if inBody {
		form.Set("client_id", t.id)
		form.Set("client_secret", t.secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, errors.New("the URL cannot be used")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if !inBody {
		// Section 2.3.1: both are form-encoded before they go into the header.
		req.SetBasicAuth(url.QueryEscape(t.id), url.QueryEscape(t.secret))
	}
	resp, err := t.client.Do(req)
	if err != nil {
		// The *url.Error around it repeats the URL, which can hold a password.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return "", 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSecret))
	if err != nil {
		return "", 0, err
	}
	var out struct {
		AccessToken      string  `json:"access_token"`
		ExpiresIn        float64 `json:"expires_in"`
		Error            string  `json:"error"`
		ErrorDescription string  `json:"error_description"`
	}
	jsonErr := json.Unmarshal(body, &out)
	if resp.StatusCode != http.StatusOK {
		return "", 0, &tokenRefused{status: resp.StatusCode, code: oneLine(out.Error), description: oneLine(out.ErrorDescription)}
	}
	if jsonErr != nil || out.AccessToken == "" {
		return "", 0, errors.New("the answer holds no access_token")
	}
	return out.AccessToken, time.Duration(out.ExpiresIn * float64(time.Second)), nil
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
