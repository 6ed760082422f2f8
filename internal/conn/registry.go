package conn

// The schema registry: where it is, and how to get in.

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/koffset/koffset/internal/config"
)

const (
	registrySection = "schema_registry."
	registryURL     = "schema_registry.url"
	// noRegistry as the URL means that a weaker layer's does not count.
	noRegistry = "none"
)

// Registry is what a client of the schema registry needs.
type Registry struct {
	URLs           []string
	HTTP           *http.Client
	User, Password string
	Token          string
	// Timeout bounds one schema.
	Timeout time.Duration
	// Warnings are what should be said before something is sent there.
	Warnings []config.Warning
}

// ownRegistry leaves to each registry its own login: what a weaker layer says of another one is not for the one that counts.
// unnamed is the place of a profile that nobody named, or -1: its login is for its own registry alone.
func (r *reader) ownRegistry(unnamed int, layers ...config.Layer) []config.Layer {
	var chosen []string
	for i, l := range layers {
		v, ok := l[registryURL]
		switch {
		case ok && chosen == nil:
			chosen = v.List
		case ok && strings.Join(v.List, ",") != strings.Join(chosen, ","), !ok && chosen != nil && i == unnamed:
			layers[i] = r.Table.Only(l, func(k config.Key) bool { return !strings.HasPrefix(k.Name, registrySection) })
		}
	}
	return layers
}

// checkRegistry checks what can be checked without asking it.
func (s *Settings) checkRegistry() error {
	v, ok := s.values[registryURL]
	if !ok || v.Empty() || s.registryOff() {
		return nil
	}
	bad := func(hint, format string, args ...any) error {
		return &config.Error{Where: v.Source.String(), Text: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, text := range v.List {
		u, err := url.Parse(text)
		switch {
		case err != nil: // its text may hold a password
			return bad("write http://host:8081", registryURL+" is not a URL")
		case u.User != nil:
			return bad("leave user and password out of the URL: they are schema_registry.user and schema_registry.password_file", registryURL+" contains a user")
		case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return bad("write http://host:8081", "%s: %q is not an http(s) URL", registryURL, text)
		case u.RawQuery != "" || u.Fragment != "":
			return bad("write http://host:8081", registryURL+" has more than a path")
		}
	}
	if s.has("schema_registry.user") && s.hasSecret("schema_registry.token") {
		return &config.Error{Where: s.source("schema_registry.user"), Text: "schema_registry has a user and a token", Hint: "set one of them"}
	}
	return nil
}

func (s *Settings) registryOff() bool {
	v := s.values[registryURL]
	return len(v.List) == 1 && v.List[0] == noRegistry
}

// Registry is the schema registry; nil where none was named. It reads the files and runs the commands that secrets come from.
func (s *Settings) Registry(ctx context.Context) (*Registry, error) {
	if !s.has(registryURL) || s.registryOff() {
		return nil, nil
	}
	out := &Registry{URLs: s.values[registryURL].List, User: s.text("schema_registry.user"), Timeout: min(s.RequestTimeout, s.Timeout)}
	var err error
	if out.Password, err = s.secret(ctx, "schema_registry.password"); err != nil {
		return nil, err
	}
	if out.Token, err = s.secret(ctx, "schema_registry.token"); err != nil {
		return nil, err
	}
	if out.Password != "" && out.User == "" {
		return nil, &config.Error{Text: "schema_registry has a password and no user", Hint: "set schema_registry.user"}
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.flag("schema_registry.tls.insecure_skip_verify") {
		cfg.InsecureSkipVerify = true
		out.Warnings = append(out.Warnings, config.Warning{Where: s.source("schema_registry.tls.insecure_skip_verify"), Text: "the schema registry's certificate is not checked",
			Hint: "set schema_registry.tls.ca to the authority's certificate instead"})
	} else if cfg.RootCAs, err = s.roots(ctx, "schema_registry.tls"); err != nil {
		return nil, err
	}
	cert, err := s.clientCertificate(ctx, "schema_registry.tls")
	if err != nil {
		return nil, err
	}
	if cert != nil {
		cfg.Certificates = []tls.Certificate{*cert}
	}
	for _, u := range out.URLs {
		if out.User+out.Token != "" && strings.HasPrefix(strings.ToLower(u), "http:") {
			out.Warnings = append(out.Warnings, config.Warning{Where: s.source(registryURL), Text: "the login is sent to the schema registry without TLS", Hint: "use an https URL"})
		}
	}
	out.HTTP = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: cfg, TLSHandshakeTimeout: out.Timeout,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 20, ForceAttemptHTTP2: true}}
	return out, nil
}

// registry reads the names that Confluent's deserializers have.
func (j *javaFile) registry() error {
	info := "basic.auth.user.info"
	if j.Values[info] == "" {
		info = "schema.registry.basic.auth.user.info"
	}
	if user, password, ok := strings.Cut(strings.TrimSpace(j.Values[info]), ":"); ok {
		if err := j.put("schema_registry.user", info, user); err != nil {
			return err
		}
		if err := j.put("schema_registry.password", info, password); err != nil {
			return err
		}
	}
	for _, c := range []struct{ setting, prop string }{
		{registryURL, "schema.registry.url"},
		{"schema_registry.token", "bearer.auth.token"},
		{"schema_registry.tls.ca", "schema.registry.ssl.truststore.location"},
		{"schema_registry.tls.ca_password", "schema.registry.ssl.truststore.password"},
		{"schema_registry.tls.cert", "schema.registry.ssl.keystore.location"},
		{"schema_registry.tls.key_password", "schema.registry.ssl.keystore.password"},
	} {
		if err := j.copy(c.setting, c.prop); err != nil {
			return err
		}
	}
	return nil
}
