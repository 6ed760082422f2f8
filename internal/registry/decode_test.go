package registry_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/registry"
	"github.com/koffset/koffset/internal/registrytest"
)

func open(t *testing.T, url string, change ...func(*registry.Options)) *registry.Decoder {
	t.Helper()
	o := registry.Options{URLs: []string{url}, HTTP: &http.Client{}, Timeout: time.Minute}
	for _, c := range change {
		c(&o)
	}
	d, err := registry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What fastavro and Google's Protobuf wrote is read as it was meant, by the schemas that a real registry gave.
func TestValuesOfOtherEncoders(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	d := open(t, s.URL)
	for _, v := range registrytest.Values(t) {
		got := d.Decode(t.Context(), v.Bytes)
		if got.Err != nil || !got.Known || got.ID != v.ID || string(got.JSON) != v.JSON {
			t.Errorf("%s: schema %d known %v, %v\n%s\nnot\n%s", v.Name, got.ID, got.Known, got.Err, got.JSON, v.JSON)
		}
	}
}

// Each schema is asked for once, by however many at a time.
func TestOneRequestASchema(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	d := open(t, s.URL)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, v := range registrytest.Values(t) {
				d.Decode(t.Context(), v.Bytes)
			}
			d.Decode(t.Context(), framed(999, "x"))
		})
	}
	wg.Wait()
	for path, n := range s.Asked() {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

func framed(id int32, rest string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), rest...)
}

// A value of which a byte is missing, or that has one too many, is not one of its schema: nothing is made up.
func TestValuesThatAreNotOfTheirSchema(t *testing.T) {
	t.Parallel()
	d := open(t, registrytest.Start(t).URL)
	for _, v := range registrytest.Values(t) {
		whole := v.Bytes
		for n := 5; n < len(whole); n++ {
			if strings.HasPrefix(v.Name, "protobuf") {
				break // fields may be missing
			}
			if got := d.Decode(t.Context(), whole[:n]); got.Err == nil || got.JSON != nil || !got.Known {
				t.Errorf("%s cut to %d of %d bytes: %+v", v.Name, n, len(whole), got)
			}
		}
		if strings.HasPrefix(v.Name, "avro") {
			if got := d.Decode(t.Context(), append(bytes.Clone(whole), 0)); got.Err == nil || !strings.Contains(got.Err.Error(), "left over") {
				t.Errorf("%s with a byte more: %+v", v.Name, got)
			}
		}
		for i := 5; i < len(whole); i++ { // nothing that a byte can do ends the program
			for _, c := range []byte{0, 0x7f, 0x80, 0xff} {
				other := bytes.Clone(whole)
				other[i] = c
				d.Decode(t.Context(), other)
			}
		}
	}
	for _, c := range []struct{ name, rest, want string }{
		{"no index", "", "no message indexes"},
		{"no such message", "\x02\x7e", "no message with index 63"},
		{"very many", "\xff\xff\x01", "message indexes"},
		{"no wire format", "\x00\xff", "proto"},
	} {
		id := registrytest.Values(t)[3].ID
		if got := d.Decode(t.Context(), framed(id, c.rest)); got.Err == nil || !strings.Contains(got.Err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, got.Err)
		}
	}
}

func TestWhatLooksLikeTheWireFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		b  []byte
		id int32
	}{{nil, 0}, {[]byte{}, 0}, {[]byte("\x00\x00\x00\x01"), 0}, {[]byte("text!"), 0}, {framed(0, "x"), 0}, {framed(-1, "x"), 0}, {framed(1, ""), 1}, {binary.BigEndian.AppendUint64(nil, 42), 0}} {
		if id, _, ok := registry.Looks(c.b); id != c.id || ok != (c.id > 0) {
			t.Errorf("%x looks like schema %d", c.b, id)
		}
	}
}

// A schema that is not there, a registry that refuses, one that is away: each says what it is.
func TestRegistriesThatDoNotTell(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	v := registrytest.Bytes(t, "avro")
	if got := open(t, s.URL).Decode(t.Context(), framed(999, "x")); !errors.Is(got.Err, registry.ErrUnknownID) || got.Known || got.ID != 999 {
		t.Errorf("an id that is not there: %+v", got)
	}
	for _, status := range []int{301, 401, 403, 404, 500, 503} {
		s.Refuse(status)
		got := open(t, s.URL).Decode(t.Context(), v)
		var f *registry.Failure
		if !errors.As(got.Err, &f) || f.Status != status || got.Known || f.Denied() != (status == 401 || status == 403) {
			t.Errorf("status %d: %+v", status, got)
		}
	}
	s.Answer(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if got := open(t, s.URL).Decode(t.Context(), v); got.Err == nil || got.Known {
		t.Errorf("no JSON: %+v", got)
	}
	s.Answer(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"schemaType":"XML","schema":"<x/>"}`) })
	if got := open(t, s.URL).Decode(t.Context(), v); got.Err == nil || got.Known {
		t.Errorf("another kind of schema: %+v", got)
	}
	s.HTTP.Close()
	var f *registry.Failure
	if got := open(t, s.URL).Decode(t.Context(), v); !errors.As(got.Err, &f) || f.Status != 0 {
		t.Errorf("away: %+v", got)
	}
}

// A registry that is silent costs one wait, not one for each value.
func TestARegistryThatIsSilent(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s.Answer(func(http.ResponseWriter, *http.Request) { <-release })
	d := open(t, s.URL, func(o *registry.Options) {
		o.Timeout = 10 * time.Millisecond
		o.Now = func() time.Time { return time.Unix(1, 0) }
	})
	for _, v := range registrytest.Values(t) {
		var f *registry.Failure
		if got := d.Decode(t.Context(), v.Bytes); !errors.As(got.Err, &f) || !strings.Contains(got.Err.Error(), "longer than 10ms") {
			t.Fatalf("%+v", got)
		}
	}
	if asked := s.Asked(); len(asked) > 1 {
		t.Errorf("asked for %v", asked)
	}
}

// One that ends in the middle leaves what is known as it is, and is asked again after a while.
func TestARegistryThatComesBack(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	now := time.Unix(1, 0)
	d := open(t, s.URL, func(o *registry.Options) { o.Now = func() time.Time { return now } })
	before, after := registrytest.Bytes(t, "avro"), registrytest.Bytes(t, "protobuf")
	d.Decode(t.Context(), before)
	s.Answer(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for range 3 {
		if got := d.Decode(t.Context(), before); got.Err != nil {
			t.Fatalf("a schema that is known: %v", got.Err)
		}
		var f *registry.Failure
		if got := d.Decode(t.Context(), after); !errors.As(got.Err, &f) || f.Status != 0 {
			t.Fatalf("another: %+v", got)
		}
	}
	s.Answer(nil)
	if got := d.Decode(t.Context(), after); got.Err == nil {
		t.Error("it was asked again at once")
	}
	now = now.Add(time.Minute)
	if got := d.Decode(t.Context(), after); got.Err != nil {
		t.Errorf("it is back: %v", got.Err)
	}
}

// A topic of numbers has as many ids as records: the registry is not asked for all of them.
func TestNumbersThatLookLikeIds(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	now := time.Unix(1, 0)
	d := open(t, s.URL, func(o *registry.Options) { o.Now = func() time.Time { return now } })
	for i := range int32(500) {
		got := d.Decode(t.Context(), framed(1000+i, "xyz"))
		if want := registry.ErrUnknownID; i < 200 && !errors.Is(got.Err, want) || i >= 200 && !errors.Is(got.Err, registry.ErrNotAsked) {
			t.Fatalf("%d: %+v", i, got)
		}
	}
	if got := d.Decode(t.Context(), registrytest.Bytes(t, "avro")); got.Err == nil {
		t.Error("it is asked after all")
	}
	now = now.Add(time.Hour)
	if got := d.Decode(t.Context(), registrytest.Bytes(t, "avro")); got.Err != nil {
		t.Errorf("an hour later: %v", got.Err)
	}
}

func TestAnswersWithoutEnd(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	s.Answer(func(w http.ResponseWriter, r *http.Request) {
		piece := bytes.Repeat([]byte(" "), 1<<20)
		for range 64 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	if got := open(t, s.URL).Decode(t.Context(), framed(1, "x")); got.Err == nil || !strings.Contains(got.Err.Error(), "8 MiB") {
		t.Errorf("%+v", got)
	}
}

// Login: what was set is sent, and to no other server.
func TestLogins(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t)
	other := registrytest.Start(t)
	var seen string
	s.Answer(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("Authorization")
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	})
	for want, change := range map[string]func(*registry.Options){
		"Basic dTpw": func(o *registry.Options) { o.User, o.Password = "u", "p" },
		"Bearer tok": func(o *registry.Options) { o.Token = "tok" },
	} {
		got := open(t, s.URL, change).Decode(t.Context(), framed(1, "x"))
		if seen != want || got.Err == nil {
			t.Errorf("sent %q, not %q; %v", seen, want, got.Err)
		}
	}
	if len(other.Asked()) > 0 {
		t.Errorf("followed to %v", other.Asked())
	}
}
