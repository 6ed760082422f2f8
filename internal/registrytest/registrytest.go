// Package registrytest is a schema registry for tests: it gives the recorded answers of a real one. recorded/make.py says of
// which, and made the values beside them with encoders that are not ours.
package registrytest

import (
	"embed"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

//go:embed recorded
var recorded embed.FS

// Value is bytes in Confluent's wire format, and what they are.
type Value struct {
	Name  string
	ID    int32
	Bytes []byte
	JSON  string
}

// Values are those that were recorded.
func Values(t testing.TB) []Value {
	t.Helper()
	var raw []struct {
		Name   string
		ID     int32
		Base64 string
		JSON   string
	}
	read(t, "recorded/values.json", &raw)
	var out []Value
	for _, r := range raw {
		b, err := base64.StdEncoding.DecodeString(r.Base64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Value{r.Name, r.ID, b, r.JSON})
	}
	return out
}

// Bytes are those of the value with that name.
func Bytes(t testing.TB, name string) []byte {
	t.Helper()
	for _, v := range Values(t) {
		if v.Name == name {
			return v.Bytes
		}
	}
	t.Fatalf("there is no value %q", name)
	return nil
}

func read(t testing.TB, name string, into any) {
	t.Helper()
	b, err := recorded.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Server replays the answers.
type Server struct {
	URL string
	// HTTP is the server itself, to end it.
	HTTP *httptest.Server

	mu      sync.Mutex
	asked   map[string]int
	instead http.HandlerFunc
}

// Answer is one of a registry.
type Answer struct {
	Status int
	Body   string
}

// Start starts one that ends with the test.
func Start(t testing.TB) *Server { return start(t, httptest.NewServer) }

// StartTLS is Start with the certificate of httptest.
func StartTLS(t testing.TB) *Server { return start(t, httptest.NewTLSServer) }

func start(t testing.TB, serve func(http.Handler) *httptest.Server) *Server {
	t.Helper()
	answers := Answers(t)
	s := &Server{asked: map[string]int{}}
	s.HTTP = serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.URL.Path]++
		instead := s.instead
		s.mu.Unlock()
		if instead != nil {
			instead(w, r)
			return
		}
		a, ok := answers[r.URL.Path]
		if !ok {
			a = answers["/schemas/ids/999"] // which the real one did not have either
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		_, _ = w.Write([]byte(a.Body))
	}))
	t.Cleanup(s.HTTP.Close)
	s.URL = s.HTTP.URL
	return s
}

// Answer has every request answered in this way; nil is as recorded.
func (s *Server) Answer(instead http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead = instead
}

// Refuse has every request answered with this status.
func (s *Server) Refuse(status int) {
	s.Answer(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "refused", status) })
}

// Asked is how often each path was asked for.
func (s *Server) Asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for k, n := range s.asked {
		out[k] = n
	}
	return out
}

// Answers are the recorded ones by their path: an HTTP status and a body.
func Answers(t testing.TB) map[string]Answer {
	t.Helper()
	out := map[string]Answer{}
	read(t, "recorded/answers.json", &out)
	return out
}
