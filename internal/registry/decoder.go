package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"golang.org/x/sync/singleflight"
)

// Bounds of what is kept, and for how long what is not there is believed.
const (
	maxSchemas     = 1000
	maxSchemaBytes = 32 << 20
	maxFailed      = 200
	unknownFor     = 5 * time.Minute
	refusedFor     = 30 * time.Second
	pauseFor       = 5 * time.Second
)

// ErrNotAsked says that an id was not asked for, as too many others were not there: the bytes are hardly Confluent's wire format.
var ErrNotAsked = fmt.Errorf("%d other ids are not in the registry either, and it was not asked about this one", maxFailed)

// Value is what is known of a key or value. The zero Value is bytes that are not Confluent's wire format.
type Value struct {
	// ID is that of the schema which the bytes name; 0 where they name none.
	ID int32
	// Known says that the registry has the schema.
	Known bool
	// JSON is the value decoded; nil where it could not be, for which Err is why.
	JSON []byte
	Err  error
}

// Decoder decodes by the schemas of one registry. It may be used by several goroutines at once.
type Decoder struct {
	client  *sr.Client
	timeout time.Duration
	now     func() time.Time
	flight  singleflight.Group

	mu     sync.RWMutex
	known  map[int32]*schema
	size   int
	failed map[int32]failed
	paused failed // of all ids
}

// failed is why a schema is not there, and until when that is believed.
type failed struct {
	err   error
	until time.Time
}

// schema is one that was read; decode is nil where it cannot be used, for which err is why.
type schema struct {
	size   int
	err    error
	decode func(dst, b []byte) ([]byte, error)
}

// New makes a decoder. It asks nothing yet.
func New(o Options) (*Decoder, error) {
	cl, err := newClient(o)
	if err != nil {
		return nil, err
	}
	d := &Decoder{client: cl, timeout: o.Timeout, now: o.Now, known: map[int32]*schema{}, failed: map[int32]failed{}}
	if d.now == nil {
		d.now = time.Now
	}
	return d, nil
}

// Decode decodes bytes, or says why it cannot.
func (d *Decoder) Decode(ctx context.Context, b []byte) Value {
	id, rest, ok := Looks(b)
	if !ok {
		return Value{}
	}
	s, err := d.schema(ctx, id)
	if err != nil {
		return Value{ID: id, Err: err}
	}
	v := Value{ID: id, Known: true, Err: s.err}
	if s.err == nil {
		if v.JSON, v.Err = s.decode(nil, rest); v.Err != nil {
			v.JSON, v.Err = nil, fmt.Errorf("the value is not of its schema: %w", v.Err)
		}
	}
	return v
}

// schema is one that is known, or asks for it.
func (d *Decoder) schema(ctx context.Context, id int32) (*schema, error) {
	if s, err := d.kept(id); s != nil || err != nil {
		return s, err
	}
	got, err, _ := d.flight.Do(fmt.Sprint(id), func() (any, error) {
		if s, err := d.kept(id); s != nil || err != nil { // another one has just asked
			return s, err
		}
		return d.ask(ctx, id)
	})
	s, _ := got.(*schema)
	return s, err
}

// kept is what is known of an id without a request; nothing where one is due.
func (d *Decoder) kept(id int32) (*schema, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if s := d.known[id]; s != nil {
		return s, nil
	}
	now := d.now()
	if f, ok := d.failed[id]; ok && now.Before(f.until) {
		return nil, f.err
	}
	if now.Before(d.paused.until) {
		return nil, d.paused.err
	}
	return nil, nil
}

// ask reads a schema from the registry.
func (d *Decoder) ask(ctx context.Context, id int32) (*schema, error) {
	if !d.room() {
		return nil, ErrNotAsked
	}
	late := fmt.Errorf("it took longer than %s", d.timeout)
	rctx, cancel := context.WithTimeoutCause(ctx, d.timeout, late)
	defer cancel()
	t, err := fetch(rctx, d.client, id)
	if err != nil {
		return nil, d.fail(ctx, id, err)
	}
	s := compile(rctx, t)
	d.mu.Lock()
	defer d.mu.Unlock()
	for other, o := range d.known {
		if len(d.known) < maxSchemas && d.size+s.size <= maxSchemaBytes {
			break
		}
		d.size -= o.size
		delete(d.known, other)
	}
	d.known[id] = s
	d.size += s.size
	delete(d.failed, id)
	d.paused = failed{}
	return s, nil
}

// room says whether another id may turn out not to be there. A topic of numbers that look like the wire format has as many
// ids as records.
func (d *Decoder) room() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.failed) < maxFailed {
		return true
	}
	now := d.now()
	for id, f := range d.failed {
		if !now.Before(f.until) {
			delete(d.failed, id)
		}
	}
	return len(d.failed) < maxFailed
}

// fail remembers why a schema could not be had.
func (d *Decoder) fail(ctx context.Context, id int32, err error) error {
	if ctx.Err() != nil {
		return err // the run has ended, which says nothing of the registry
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	var f *Failure
	switch {
	case errors.Is(err, ErrUnknownID):
		d.failed[id] = failed{err, now.Add(unknownFor)}
	case errors.As(err, &f) && f.Status == 0:
		d.paused = failed{err, now.Add(pauseFor)}
	default:
		d.failed[id] = failed{err, now.Add(refusedFor)}
	}
	return err
}

// compile makes a schema of its text. One that cannot be used is kept as that: asking again gives the same.
func compile(ctx context.Context, t source) *schema {
	s := &schema{size: t.size}
	switch t.Type {
	case sr.TypeAvro:
		s.decode, s.err = compileAvro(t)
	case sr.TypeProtobuf:
		s.decode, s.err = compileProtobuf(ctx, t)
	case sr.TypeJSON:
		s.decode = decodeJSON
	}
	if s.err != nil {
		s.err = fmt.Errorf("its schema cannot be used: %s", oneLine(s.err.Error()))
	}
	return s
}
