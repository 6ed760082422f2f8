package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

// Options say where the registry is and how to get in.
type Options struct {
	URLs []string
	// HTTP makes the requests; its transport has the TLS settings.
	HTTP           *http.Client
	User, Password string // basic authentication; none without a user
	Token          string // bearer; "" for none
	// Timeout bounds what one schema takes, with all that it refers to.
	Timeout time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// maxAnswer bounds one answer of a registry. Confluent's takes schemas of up to 1 MB.
const maxAnswer = 8 << 20

// maxReferences bounds how many schemas one schema refers to, over all steps.
const maxReferences = 500

// ErrUnknownID says that the registry has no schema with the id.
var ErrUnknownID = errors.New("the registry has no schema with that id")

// Failure is a registry that did not tell: it is away, or refuses.
type Failure struct {
	// Status is the HTTP status of its answer; 0 where it did not answer.
	Status int
	Err    error
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Status != 0 {
		return fmt.Sprintf("the schema registry answered with HTTP status %d: %v", f.Status, f.Err)
	}
	return fmt.Sprintf("the schema registry gave no answer: %v", f.Err)
}

// Unwrap implements errors.Unwrap.
func (f *Failure) Unwrap() error { return f.Err }

// Denied says that the registry wants another login.
func (f *Failure) Denied() bool {
	return f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden
}

func newClient(o Options) (*sr.Client, error) {
	hc := *o.HTTP
	hc.Transport = bounded{hc.Transport}
	// Following a redirect would hand the password to another server.
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	opts := []sr.ClientOpt{sr.URLs(o.URLs...), sr.HTTPClient(&hc), sr.UserAgent("koffset")}
	if o.User != "" {
		opts = append(opts, sr.BasicAuth(o.User, o.Password))
	}
	if o.Token != "" {
		opts = append(opts, sr.BearerToken(o.Token))
	}
	return sr.NewClient(opts...)
}

// bounded cuts answers off that no schema has.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	next := b.RoundTripper
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(req)
	if err == nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

var errTooLarge = fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// source is a schema with all that it refers to, in an order in which each comes after those that it needs.
type source struct {
	sr.Schema
	refs []named
	size int
}

// named is a schema under the name that others use for it: an import's path, or an Avro type's full name.
type named struct{ name, schema string }

// fetch reads a schema and what it refers to.
func fetch(ctx context.Context, cl *sr.Client, id int32) (source, error) {
	s, err := cl.SchemaByID(ctx, int(id))
	if err != nil {
		return source{}, failure(ctx, err, true)
	}
	t := source{Schema: s, size: len(s.Schema)}
	seen := map[string]bool{}
	if s.Type == sr.TypeJSON {
		return t, nil // its references constrain values, and are not needed to read one
	}
	return t, t.follow(ctx, cl, s.References, seen)
}

// follow adds what references name, deepest first.
func (t *source) follow(ctx context.Context, cl *sr.Client, refs []sr.SchemaReference, seen map[string]bool) error {
	for _, r := range refs {
		if seen[r.Name] {
			continue
		}
		seen[r.Name] = true
		if len(seen) > maxReferences {
			return fmt.Errorf("the schema refers to more than %d others", maxReferences)
		}
		s, err := cl.SchemaByVersion(ctx, r.Subject, r.Version)
		if err != nil {
			return fmt.Errorf("its reference %q (%s version %d): %w", r.Name, r.Subject, r.Version, failure(ctx, err, false))
		}
		if t.size += len(s.Schema.Schema); t.size > maxAnswer {
			return errTooLarge
		}
		if err := t.follow(ctx, cl, s.References, seen); err != nil {
			return err
		}
		t.refs = append(t.refs, named{r.Name, s.Schema.Schema})
	}
	return nil
}

// Error codes of the API: a 404 without one of them comes from something that is no registry, or from another path of it.
const (
	codeNoSubject = 40401
	codeNoVersion = 40402
	codeNoSchema  = 40403
)

// failure is what an error of the client means. byID says that a schema was asked for by its id.
func failure(ctx context.Context, err error, byID bool) error {
	var answer *sr.ResponseError
	switch {
	case errors.As(err, &answer) && byID && answer.ErrorCode == codeNoSchema:
		return ErrUnknownID
	case errors.As(err, &answer) && !byID && (answer.ErrorCode == codeNoSubject || answer.ErrorCode == codeNoVersion):
		return errors.New("the registry does not have it")
	case errors.As(err, &answer):
		return &Failure{Status: answer.StatusCode, Err: errors.New(oneLine(answer.Error()))}
	case errors.Is(err, errTooLarge):
		return errTooLarge
	case ctx.Err() != nil:
		return &Failure{Err: context.Cause(ctx)}
	}
	if u := new(url.Error); errors.As(err, &u) {
		err = u.Err
	}
	return &Failure{Err: errors.New(oneLine(err.Error()))}
}

// oneLine makes a server's text fit for one line of a message.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
