package cli

// Values that name a schema: decoded where a registry was named, and told apart from those that only look so.

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/registry"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// AddRegistryFlag adds --schema-registry, which stands for a setting.
func (a *App) AddRegistryFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.Global.schemaRegistry, "schema-registry", "", "decode Avro, Protobuf and JSON Schema by the registry at `URL` (schema_registry.url of a profile; none switches that off)")
}

// Schemas decodes for one command, and counts what it could not decode.
type Schemas struct {
	app *App
	dec *registry.Decoder // nil without a registry

	mu    sync.Mutex
	known map[why]*undecoded
	looks int64 // keys and values that look as if they named a schema, where nobody can tell
}

// why is why bytes were not decoded.
type why uint8

const (
	unknownID why = iota // the registry does not have the schema
	noAnswer             // the registry does not tell
	badValue             // the value is not of its schema, or the schema cannot be used
	whys
)

// undecoded are the values of one why.
type undecoded struct {
	count int64
	first string
	err   error
}

// Schemas is the registry of the settings. It asks it nothing yet.
func (a *App) Schemas(ctx context.Context, s *conn.Settings) (*Schemas, error) {
	x := &Schemas{app: a, known: map[why]*undecoded{}}
	r, err := s.Registry(ctx)
	if err != nil || r == nil {
		return x, err
	}
	for _, w := range r.Warnings {
		a.Streams.Warn("%s", w)
		if w.Hint != "" {
			a.Streams.Hint("%s", w.Hint)
		}
	}
	x.dec, err = registry.New(registry.Options{URLs: r.URLs, HTTP: r.HTTP, User: r.User, Password: r.Password, Token: r.Token, Timeout: r.Timeout})
	return x, err
}

// On says that there is a registry.
func (x *Schemas) On() bool { return x.dec != nil }

// Decode is what is known of bytes. Without a registry that is at most which schema they would name.
func (x *Schemas) Decode(ctx context.Context, b []byte) registry.Value {
	if x.dec != nil {
		return x.dec.Decode(ctx, b)
	}
	id, _, _ := registry.Looks(b)
	return registry.Value{ID: id}
}

// Show is Decode for the key or the value of a record that is printed: what could not be decoded is counted, and said by Say.
func (x *Schemas) Show(ctx context.Context, r *kgo.Record, b []byte) registry.Value {
	v := x.Decode(ctx, b)
	if x.dec == nil && v.ID != 0 {
		x.mu.Lock()
		x.looks++
		x.mu.Unlock()
	}
	if v.Err == nil || ctx.Err() != nil {
		return v
	}
	reason := badValue
	switch failure := new(registry.Failure); {
	case errors.Is(v.Err, registry.ErrUnknownID), errors.Is(v.Err, registry.ErrNotAsked):
		reason = unknownID
	case errors.As(v.Err, &failure):
		reason = noAnswer
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	u := x.known[reason]
	if u == nil {
		u = &undecoded{first: fmt.Sprintf("%s offset %d, schema %d", offset.Partition{Topic: r.Topic, Partition: r.Partition}, r.Offset, v.ID), err: v.Err}
		x.known[reason] = u
	}
	u.count++
	return v
}

// Failed says that something was printed as bytes because the registry did not tell.
func (x *Schemas) Failed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.known[noAnswer] != nil
}

// Say says what was printed as bytes because it could not be decoded, and whether that is because the registry did not tell. marked
// says that ids have a question mark where nobody can tell: it is said what that means.
func (x *Schemas) Say(marked bool) (failed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if marked && x.looks > 0 {
		x.app.Streams.Note("keys or values look like Confluent's wire format; --schema-registry URL tells whether they are, and decodes them")
	}
	for reason := range whys {
		u := x.known[reason]
		if u == nil {
			continue
		}
		x.app.Streams.Warn("%s not decoded, shown as bytes; the first is %s: %v", was(u.count, "value"), u.first, u.err)
		if hint := RegistryHint(u.err); hint != "" {
			x.app.Streams.Hint("%s", hint)
		}
	}
	return x.known[noAnswer] != nil
}

func was(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return text.Plural(n, noun) + " were"
}

// RegistryHint is what to do about a registry that does not tell.
func RegistryHint(err error) string {
	var f *registry.Failure
	switch {
	case !errors.As(err, &f):
		return ""
	case f.Denied():
		return "set schema_registry.user and schema_registry.password_file, or schema_registry.token_file"
	case f.Status == 404:
		return "check the path of schema_registry.url: a registry with Confluent's API answers at URL/schemas/ids/1"
	case f.Status == 0:
		return "check schema_registry.url, and that the registry runs"
	}
	return ""
}
