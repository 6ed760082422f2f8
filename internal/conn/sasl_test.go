package conn

// Tokens and the mechanisms that kfake does not have. For OAUTHBEARER,
// AWS_MSK_IAM and GSSAPI the other side is a stand-in: a broker that speaks
// just the login requests and checks what a real one would look at. (The real
// broker checks OAUTHBEARER again, in real_test.go.)

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/offset"
)

// loginBroker is a broker that speaks ApiVersions, SaslHandshake,
// SaslAuthenticate and, after a login, Metadata.
type loginBroker struct {
	addr      string
	mechanism string
	// check looks at the first bytes of a login; an error's text is the
	// broker's answer.
	check    func([]byte) error
	lifetime time.Duration

	mu     sync.Mutex
	logins [][]byte
}

func newLoginBroker(t *testing.T, mechanism string, cfg *tls.Config, check func([]byte) error) *loginBroker {
	t.Helper()
	b := &loginBroker{mechanism: mechanism, check: check}
	b.addr = serve(t, func(c net.Conn) {
		if cfg != nil {
			c = tls.Server(c, cfg)
		}
		defer c.Close()
		for b.answer(c) == nil {
		}
	})
	return b
}

func (b *loginBroker) seen() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.logins
}

func (b *loginBroker) answer(c net.Conn) error {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, frame); err != nil {
		return err
	}
	req := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(frame)))
	version := int16(binary.BigEndian.Uint16(frame[2:]))
	req.SetVersion(version)
	corr := frame[4:8]
	body := frame[8:]
	n := int(int16(binary.BigEndian.Uint16(body)))
	body = body[2+max(0, n):]
	if req.IsFlexible() {
		body = body[1:] // no tags
	}
	resp := req.ResponseKind()
	resp.SetVersion(version)
	switch r := req.(type) {
	case *kmsg.ApiVersionsRequest:
		if version > 3 {
			v := kmsg.NewPtrApiVersionsResponse()
			v.ErrorCode = kerr.UnsupportedVersion.Code
			v.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MaxVersion: 3}}
			resp = v
			break
		}
		v := resp.(*kmsg.ApiVersionsResponse)
		for key, most := range map[int16]int16{3: 9, 17: 1, 18: 3, 36: 1} {
			v.ApiKeys = append(v.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: most})
		}
	case *kmsg.SASLHandshakeRequest:
		if err := r.ReadFrom(body); err != nil {
			return err
		}
		h := resp.(*kmsg.SASLHandshakeResponse)
		h.SupportedMechanisms = []string{b.mechanism}
		if r.Mechanism != b.mechanism {
			h.ErrorCode = kerr.UnsupportedSaslMechanism.Code
		}
	case *kmsg.SASLAuthenticateRequest:
		if err := r.ReadFrom(body); err != nil {
			return err
		}
		a := resp.(*kmsg.SASLAuthenticateResponse)
		b.mu.Lock()
		b.logins = append(b.logins, r.SASLAuthBytes)
		b.mu.Unlock()
		if err := b.check(r.SASLAuthBytes); err != nil {
			a.ErrorCode = kerr.SaslAuthenticationFailed.Code
			text := err.Error()
			a.ErrorMessage = &text
			break
		}
		a.SessionLifetimeMillis = b.lifetime.Milliseconds()
		if b.mechanism == mechAWS {
			a.SASLAuthBytes = []byte(`{"version":"2020_10_22"}`) // MSK answers with a JSON document
		}
	case *kmsg.MetadataRequest:
		m := resp.(*kmsg.MetadataResponse)
		host, port, _ := net.SplitHostPort(b.addr)
		var p int32
		fmt.Sscan(port, &p)
		id := "stand-in"
		m.ClusterID, m.ControllerID = &id, 1
		m.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: host, Port: p}}
	default:
		return fmt.Errorf("unexpected request %T", req)
	}
	out := append([]byte{0, 0, 0, 0}, corr...)
	if resp.IsFlexible() && resp.Key() != 18 {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	_, err := c.Write(out)
	return err
}

func bearer(login []byte) string {
	_, rest, _ := strings.Cut(string(login), "auth=Bearer ")
	token, _, _ := strings.Cut(rest, "\x01")
	return token
}

func TestOAuthToken(t *testing.T) {
	b := newLoginBroker(t, mechOAuth, nil, func(login []byte) error {
		if bearer(login) != "good" {
			return errors.New("the token has expired")
		}
		if !strings.Contains(string(login), "\x01logicalCluster=lkc-1\x01") {
			return errors.New("no extension")
		}
		return nil
	})
	file := write(t, "token", []byte("good\n"))
	base := []string{"brokers=" + b.addr, "sasl.mechanism=OAUTHBEARER", "sasl.oauth.extensions=logicalCluster=lkc-1"}
	for _, x := range []string{"sasl.token=good", "sasl.token_file=" + file, "sasl.token_command=echo good"} {
		cl, err := Connect(t.Context(), load(t, append(base, x)...))
		if err != nil {
			t.Fatalf("%s: %v", x, err)
		}
		cl.Close()
	}
	e := connectError(t, load(t, append(base, "sasl.token=bad-hunter2")...), Authentication, 3*time.Second)
	has(t, e, "the token has expired")
	if strings.Contains(e.Error(), "hunter2") {
		t.Errorf("the token is in %v", e)
	}
}

// A token file is read again for each login: whoever writes it replaces the
// token before it expires.
func TestTokenFileIsFresh(t *testing.T) {
	b := newLoginBroker(t, mechOAuth, nil, func([]byte) error { return nil })
	b.lifetime = 500 * time.Millisecond // below a second: every request logs in again
	file := write(t, "token", []byte("one"))
	cl, err := Connect(t.Context(), load(t, "brokers="+b.addr, "sasl.mechanism=OAUTHBEARER", "sasl.token_file="+file))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := os.WriteFile(file, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cl.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := b.seen()[len(b.seen())-1]
	if bearer(last) != "two" {
		t.Errorf("the last login was with %q", bearer(last))
	}
}

// tokenServer is an OAuth token endpoint.
type tokenServer struct {
	*httptest.Server
	mu     sync.Mutex
	served int
	forms  []map[string]string
}

func newTokenServer(t *testing.T, expires int, bodyOnly bool) *tokenServer {
	ts := &tokenServer{}
	ts.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		w.Header().Set("Content-Type", "application/json") // RFC 6749, section 5.1
		r.ParseForm()
		id, secret, basic := r.BasicAuth()
		if !basic && bodyOnly {
			id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
		} else if basic && bodyOnly {
			id = ""
		}
		// Form-encoded in the header, as RFC 6749 has it.
		if r.PostForm.Get("grant_type") != "client_credentials" || id != "my-client" || secret != "s%2Bcret" && secret != "s+cret" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client","error_description":"Invalid client\ncredentials"}`)
			return
		}
		ts.served++
		ts.forms = append(ts.forms, map[string]string{"scope": r.PostForm.Get("scope")})
		json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("token-%d", ts.served), "expires_in": expires, "token_type": "Bearer"})
	}))
	t.Cleanup(ts.Close)
	return ts
}

func TestClientCredentials(t *testing.T) {
	b := newLoginBroker(t, mechOAuth, nil, func(login []byte) error {
		if !strings.HasPrefix(bearer(login), "token-") {
			return errors.New("bad token")
		}
		return nil
	})
	for _, bodyOnly := range []bool{false, true} {
		ts := newTokenServer(t, 3600, bodyOnly)
		base := []string{"brokers=" + b.addr, "sasl.mechanism=OAUTHBEARER", "sasl.oauth.token_url=" + ts.URL, "sasl.oauth.client_id=my-client", "sasl.oauth.scope=kafka"}
		s := load(t, append(base, "sasl.oauth.client_secret=s+cret")...)
		cl, err := Connect(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		// A second broker connection uses the same token.
		if _, err := cl.Request(t.Context(), kmsg.NewPtrMetadataRequest()); err != nil {
			t.Fatal(err)
		}
		cl.Close()
		if ts.served != 1 || ts.forms[0]["scope"] != "kafka" {
			t.Errorf("%d tokens fetched, forms %v", ts.served, ts.forms)
		}
		e := connectError(t, load(t, append(base, "sasl.oauth.client_secret=hunter2")...), Authentication, 3*time.Second)
		has(t, e, "invalid_client: Invalid client credentials", "token endpoint", "sasl.oauth.token_url")
		if strings.Contains(e.Error()+e.Hint, "hunter2") {
			t.Errorf("the secret is in %v", e)
		}
	}
	t.Run("endpoint down", func(t *testing.T) {
		ts := newTokenServer(t, 3600, false)
		ts.Close()
		e := connectError(t, load(t, "brokers="+b.addr, "sasl.mechanism=OAUTHBEARER", "sasl.oauth.token_url="+ts.URL+"/x?key=hunter2", "sasl.oauth.client_id=c", "sasl.oauth.client_secret=hunter2"), Authentication, 3*time.Second)
		has(t, e, "no token from the token endpoint", "refused")
		if strings.Contains(e.Error()+e.Hint, "hunter2") {
			t.Errorf("the secret is in %v", e)
		}
	})
	t.Run("redirect", func(t *testing.T) {
		var reached bool
		evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
		defer evil.Close()
		ts := httptest.NewServer(http.RedirectHandler(evil.URL, http.StatusTemporaryRedirect))
		defer ts.Close()
		e := connectError(t, load(t, "brokers="+b.addr, "sasl.mechanism=OAUTHBEARER", "sasl.oauth.token_url="+ts.URL, "sasl.oauth.client_id=c", "sasl.oauth.client_secret=s"), Authentication, 3*time.Second)
		has(t, e, "HTTP status 307")
		if reached {
			t.Error("the secret went to another server")
		}
	})
	t.Run("its own authority", func(t *testing.T) {
		ca := newCA(t, "IdP CA")
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"token-x","expires_in":60}`)
		}))
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{ca.issue("idp", nil).tls}}
		srv.StartTLS()
		defer srv.Close()
		base := []string{"brokers=" + b.addr, "sasl.mechanism=OAUTHBEARER", "sasl.oauth.token_url=" + srv.URL, "sasl.oauth.client_id=c", "sasl.oauth.client_secret=s"}
		connectError(t, load(t, base...), Authentication, 3*time.Second)
		cl, err := Connect(t.Context(), load(t, append(base, "sasl.oauth.ca="+write(t, "ca.pem", ca.pem))...))
		if err != nil {
			t.Fatal(err)
		}
		cl.Close()
	})
}

// A token is used until 80 % of its life is over, then fetched anew: kgo logs in
// again later than that, and has to get another one.
func TestTokenCache(t *testing.T) {
	ts := newTokenServer(t, 100, false)
	now := time.Unix(1000, 0)
	src := &tokenSource{config: &clientcredentials.Config{TokenURL: ts.URL, ClientID: "my-client", ClientSecret: "s+cret"}, client: ts.Client(), now: func() time.Time { return now }}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "token-1"}, {79 * time.Second, "token-1"}, {1 * time.Second, "token-2"}, {10 * time.Second, "token-2"}, {1000 * time.Second, "token-3"}} {
		now = now.Add(step.after)
		got, err := src.token(t.Context())
		if err != nil || got != step.want {
			t.Errorf("after %s: %q, %v; want %q", step.after, got, err, step.want)
		}
	}
	// A short life leaves ten seconds.
	ts = newTokenServer(t, 30, false)
	src = &tokenSource{config: &clientcredentials.Config{TokenURL: ts.URL, ClientID: "my-client", ClientSecret: "s+cret"}, client: ts.Client(), now: func() time.Time { return now }}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "token-1"}, {19 * time.Second, "token-1"}, {1 * time.Second, "token-2"}} {
		now = now.Add(step.after)
		if got, err := src.token(t.Context()); err != nil || got != step.want {
			t.Errorf("after %s: %q, %v; want %q", step.after, got, err, step.want)
		}
	}
	// Without expires_in nothing is known of its life.
	ts = newTokenServer(t, 0, false)
	src = &tokenSource{config: &clientcredentials.Config{TokenURL: ts.URL, ClientID: "my-client", ClientSecret: "s+cret"}, client: ts.Client(), now: time.Now}
	src.token(t.Context())
	if got, _ := src.token(t.Context()); got != "token-2" {
		t.Errorf("%q was kept without a known life", got)
	}
}

// The stand-in for MSK checks the fields of the signed document; whether the
// signature itself is right only AWS can say.
func TestAWS(t *testing.T) {
	ca := newCA(t, "Amazon-like CA")
	srv := ca.issue("msk", nil)
	var want map[string]string
	b := newLoginBroker(t, mechAWS, &tls.Config{Certificates: []tls.Certificate{srv.tls}}, func(login []byte) error {
		var doc map[string]string
		if err := json.Unmarshal(login, &doc); err != nil {
			return err
		}
		for k, v := range want {
			if !strings.Contains(doc[k], v) {
				return fmt.Errorf("%s is %q", k, doc[k])
			}
		}
		if len(doc["x-amz-signature"]) != 64 || doc["action"] != "kafka-cluster:Connect" {
			return errors.New("not signed")
		}
		return nil
	})
	// kgo's signer takes the region from the host, or from the process's own
	// environment where the host tells none.
	t.Setenv("AWS_REGION", "eu-central-1")
	creds := write(t, "credentials", []byte("# c\n[default]\naws_access_key_id = DEF\naws_secret_access_key = x\n\n[dev]\naws_access_key_id=DEV\naws_secret_access_key=hunter2\naws_session_token=tok\n"))
	base := []string{"brokers=" + b.addr, "sasl.mechanism=AWS_MSK_IAM", "tls.ca=" + write(t, "ca.pem", ca.pem)}
	for _, c := range []struct {
		name string
		x    []string
		env  []string
		want map[string]string
	}{
		{"explicit", []string{"sasl.aws.access_key=AKID", "sasl.aws.secret_key=s", "sasl.aws.session_token=st"}, []string{"AWS_ACCESS_KEY_ID=no", "AWS_SECRET_ACCESS_KEY=no"}, map[string]string{"x-amz-credential": "AKID/", "x-amz-security-token": "st"}},
		{"profile", []string{"sasl.aws.profile=dev"}, []string{"AWS_ACCESS_KEY_ID=no", "AWS_SECRET_ACCESS_KEY=no", "AWS_SHARED_CREDENTIALS_FILE=" + creds}, map[string]string{"x-amz-credential": "DEV/", "x-amz-security-token": "tok"}},
		{"environment", nil, []string{"AWS_ACCESS_KEY_ID=ENV", "AWS_SECRET_ACCESS_KEY=s"}, map[string]string{"x-amz-credential": "ENV/"}},
		{"profile of the environment", nil, []string{"AWS_PROFILE=dev", "AWS_SHARED_CREDENTIALS_FILE=" + creds}, map[string]string{"x-amz-credential": "DEV/"}},
		{"default profile", nil, []string{"AWS_SHARED_CREDENTIALS_FILE=" + creds}, map[string]string{"x-amz-credential": "DEF/", "host": "127.0.0.1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want = c.want
			s, err := Load(Inputs{X: append(base, c.x...), Environ: c.env})
			if err != nil {
				t.Fatal(err)
			}
			cl, err := Connect(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			cl.Close()
		})
	}
	s, err := Load(Inputs{X: append(base, "sasl.aws.profile=dve"), Environ: []string{"AWS_SHARED_CREDENTIALS_FILE=" + creds}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Options(t.Context())
	if e, ok := errors.AsType[*config.Error](err); !ok || e.Hint != "did you mean dev?" || strings.Contains(e.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

// Kerberos is tested up to the ticket: there is no KDC here. A listener stands
// in for one and says whom the client asked for.
func TestKerberosAsksItsKDC(t *testing.T) {
	asked := make(chan string, 10)
	kdc := serve(t, func(c net.Conn) {
		defer c.Close()
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		req := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(c, req); err == nil {
			asked <- string(req)
		}
	})
	conf := write(t, "krb5.conf", []byte("[libdefaults]\n default_realm = EXAMPLE.COM\n udp_preference_limit = 1\n[realms]\n EXAMPLE.COM = {\n  kdc = "+kdc+"\n }\n"))
	b := newLoginBroker(t, mechKerberos, nil, func([]byte) error { return nil })
	s := load(t, "brokers="+b.addr, "timeout=10s", "sasl.mechanism=GSSAPI", "sasl.user=alice", "sasl.password=hunter2", "sasl.kerberos.config="+conf)
	_, err := Connect(t.Context(), s)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != Authentication || e.ErrorKind() != offset.KindDenied || strings.Contains(e.Error(), "hunter2") {
		t.Fatalf("error %T %v", err, err)
	}
	select {
	case req := <-asked:
		if !strings.Contains(req, "alice") || !strings.Contains(req, "EXAMPLE.COM") || !strings.Contains(req, "krbtgt") {
			t.Errorf("the KDC was asked %q", req)
		}
	case <-time.After(5 * time.Second):
		t.Error("the KDC was not asked")
	}

	// A keytab: one entry for alice, in the file format of MIT Kerberos.
	kt := write(t, "alice.keytab", keytabFor("alice", "EXAMPLE.COM"))
	s = load(t, "brokers=h:1", "sasl.mechanism=GSSAPI", "sasl.user=alice", "sasl.kerberos.keytab="+kt, "sasl.kerberos.config="+conf, "sasl.kerberos.service=kf")
	cl, err := s.kerberosClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if cl.Credentials.UserName() != "alice" || cl.Credentials.Domain() != "EXAMPLE.COM" || !cl.Credentials.HasKeytab() {
		t.Errorf("%s at %s, keytab %v", cl.Credentials.UserName(), cl.Credentials.Domain(), cl.Credentials.HasKeytab())
	}
	_, err = load(t, "brokers=h:1", "sasl.mechanism=GSSAPI", "sasl.kerberos.ccache=/no/cache", "sasl.kerberos.config="+conf).Options(t.Context())
	if e, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(e.Hint, "kinit") {
		t.Errorf("error %v", err)
	}
}

func keytabFor(user, realm string) []byte {
	counted := func(b []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
	}
	e := binary.BigEndian.AppendUint16(nil, 1)
	e = counted(counted(e, realm), user)
	e = binary.BigEndian.AppendUint32(e, 1)                             // name type: principal
	e = binary.BigEndian.AppendUint32(e, 1700000000)                    // time
	e = append(e, 1)                                                    // key version
	e = binary.BigEndian.AppendUint16(e, 18)                            // aes256-cts-hmac-sha1-96
	e = counted(e, base64.StdEncoding.EncodeToString(make([]byte, 24))) // any 32 bytes
	return append(binary.BigEndian.AppendUint32([]byte{5, 2}, uint32(len(e))), e...)
}

// While the broker waits for a login and the login for somebody else, the
// deadline is not the broker's fault.
func TestLoginWaits(t *testing.T) {
	silent := serve(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	b := newLoginBroker(t, mechOAuth, nil, func([]byte) error { return nil })
	e := connectError(t, load(t, "brokers="+b.addr, "timeout=1s", "sasl.mechanism=OAUTHBEARER", "sasl.oauth.token_url=http://"+silent+"/token",
		"sasl.oauth.client_id=c", "sasl.oauth.client_secret=s"), Timeout, 1500*time.Millisecond)
	has(t, e, "no token in time", "-X sasl.oauth.token_url")

	conf := write(t, "krb5.conf", []byte("[libdefaults]\n default_realm = EXAMPLE.COM\n udp_preference_limit = 1\n[realms]\n EXAMPLE.COM = {\n  kdc = "+silent+"\n }\n"))
	b = newLoginBroker(t, mechKerberos, nil, func([]byte) error { return nil })
	e = connectError(t, load(t, "brokers="+b.addr, "timeout=1s", "sasl.mechanism=GSSAPI", "sasl.user=alice", "sasl.password=p", "sasl.kerberos.config="+conf), Timeout, 1500*time.Millisecond)
	has(t, e, "no Kerberos ticket in time", "KDC")
}

// Whatever a broker sends in a refused login ends up on one line.
func TestBrokerWordsAreOneLine(t *testing.T) {
	b := newLoginBroker(t, mechPlain, nil, func([]byte) error { return errors.New("bad\x1b[31m\nlogin\tfor u") })
	e := connectError(t, load(t, "brokers="+b.addr, "sasl.mechanism=PLAIN", "sasl.user=u", "sasl.password=p"), Authentication, 3*time.Second)
	has(t, e, "bad [31m login for u")
	if strings.ContainsAny(e.Error(), "\x1b\n\t") {
		t.Errorf("control characters in %q", e.Error())
	}
}

func TestClassify(t *testing.T) {
	opErr := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	for _, c := range []struct {
		err  error
		want Kind // 0 is none
		kind offset.ErrorKind
	}{
		{nil, 0, 0},
		{errors.New("something else"), 0, 0},
		{context.Canceled, 0, 0},
		{kerr.UnknownTopicOrPartition, 0, 0},
		{fmt.Errorf("list: %w", context.DeadlineExceeded), Timeout, offset.KindUnreachable},
		{opErr("dial", &net.DNSError{Name: "h", IsNotFound: true}), Unreachable, offset.KindUnreachable},
		{opErr("read", os.ErrDeadlineExceeded), Timeout, offset.KindUnreachable},
		{fmt.Errorf("x: %w", kerr.SaslAuthenticationFailed), Authentication, offset.KindDenied},
		{kerr.GroupAuthorizationFailed, Authorization, offset.KindDenied},
		{kerr.UnsupportedSaslMechanism, MechanismUnsupported, offset.KindDenied},
		{kerr.IllegalSaslState, SASLUnexpected, offset.KindDenied},
		{io.EOF, Unreachable, offset.KindUnreachable},
		{fmt.Errorf("y: %w", &Error{Kind: TLSExpected, Err: errors.New("z")}), TLSExpected, offset.KindUnreachable},
		{&dialError{addr: "a:1", err: opErr("dial", errors.New("no route"))}, Unreachable, offset.KindUnreachable},
	} {
		e := Classify(c.err)
		switch {
		case c.want == 0 && e != nil:
			t.Errorf("%v: %s", c.err, e.Kind)
		case c.want != 0 && (e == nil || e.Kind != c.want || e.ErrorKind() != c.kind):
			t.Errorf("%v: %+v, want %s", c.err, e, c.want)
		}
	}
	// An address that only the cluster named.
	e := Classify(&dialError{addr: "kafka:9092", err: opErr("dial", &net.DNSError{Name: "kafka", IsNotFound: true})})
	has(t, e, "kafka:9092", "the cluster gave this address", "advertised.listeners")
}
