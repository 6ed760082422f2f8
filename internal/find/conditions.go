package find

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

// What a condition costs, beside the others.
const (
	costField = iota // one comparison
	costHeader
	costSearch // all bytes of a value
	costRegexp
	costJQ
)

func yes(b bool) Answer {
	if b {
		return Yes
	}
	return No
}

func simple(name string, cost int, ask func(*kgo.Record) bool) Condition {
	return Condition{name, cost, func(_ context.Context, r *kgo.Record) (Answer, string, error) { return yes(ask(r)), "", nil }}
}

// Key is the record's key, byte by byte. No key at all (null) is not the empty key.
func Key(key []byte) Condition {
	return simple("key", costField, func(r *kgo.Record) bool { return r.Key != nil && bytes.Equal(r.Key, key) })
}

// KeyPrefix is how the key begins.
func KeyPrefix(prefix []byte) Condition {
	return simple("key-prefix", costField, func(r *kgo.Record) bool { return r.Key != nil && bytes.HasPrefix(r.Key, prefix) })
}

// NullKey is a record without a key.
func NullKey() Condition {
	return simple("null key", costField, func(r *kgo.Record) bool { return r.Key == nil })
}

// NullValue is a record without a value: a tombstone, where the topic is compacted.
func NullValue() Condition {
	return simple("null value", costField, func(r *kgo.Record) bool { return r.Value == nil })
}

// Header is a header with this name and value. A record may have several of one name.
func Header(name string, value []byte) Condition {
	return simple("header "+name, costHeader, func(r *kgo.Record) bool {
		for i := range r.Headers {
			if h := &r.Headers[i]; h.Key == name && h.Value != nil && bytes.Equal(h.Value, value) {
				return true
			}
		}
		return false
	})
}

// ValueContains is a piece of the value, byte by byte.
func ValueContains(piece []byte) Condition {
	return simple("value-contains", costSearch, func(r *kgo.Record) bool { return bytes.Contains(r.Value, piece) })
}

// Decode makes JSON of bytes that name a schema. It returns nil for those that name none, and an error for those that it could
// not decode. A nil Decode decodes nothing.
type Decode func(ctx context.Context, b []byte) (json []byte, err error)

// or is the JSON, or the bytes where they name no schema.
func (d Decode) or(ctx context.Context, b []byte) ([]byte, error) {
	if d == nil || b == nil {
		return b, nil
	}
	if json, err := d(ctx, b); json != nil || err != nil {
		return json, err
	}
	return b, nil
}

// Match is a regular expression that matches somewhere in the key or in the value. Neither of a null is "". What decode makes JSON
// of is searched as that; where it should have and could not, no match in the bytes is [NotDecoded].
func Match(pattern string, decode Decode) (Condition, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return Condition{}, fmt.Errorf("%q is not a regular expression: %w", pattern, err)
	}
	return Condition{"match", costRegexp, func(ctx context.Context, r *kgo.Record) (Answer, string, error) {
		var unknown error
		for _, in := range []struct {
			name string
			b    []byte
		}{{"key", r.Key}, {"value", r.Value}} {
			b, err := decode.or(ctx, in.b)
			if err != nil {
				unknown, b = err, in.b
			}
			if b != nil && re.Match(b) {
				return Yes, in.name, nil
			}
		}
		if unknown != nil {
			return NotDecoded, "", unknown
		}
		return No, "", nil
	}}, nil
}

// Between is the record's own time: at or after from, and before to. A record without a time is [NoTime].
func Between(from, to time.Time) Condition {
	return Condition{"time-between", costField, func(_ context.Context, r *kgo.Record) (Answer, string, error) {
		t := offset.TimeOf(r.Timestamp)
		if t.IsZero() {
			return NoTime, "", nil
		}
		return yes(!t.Before(from) && t.Before(to)), "", nil
	}}
}

// EmptyKey is a key of no bytes, which is not no key.
func EmptyKey() Condition {
	return simple("empty key", costField, func(r *kgo.Record) bool { return r.Key != nil && len(r.Key) == 0 })
}

// EmptyValue is a value of no bytes, which is no tombstone.
func EmptyValue() Condition {
	return simple("empty value", costField, func(r *kgo.Record) bool { return r.Value != nil && len(r.Value) == 0 })
}
