package find

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/itchyny/gojq"
	"github.com/twmb/franz-go/pkg/kgo"
)

// jqTime bounds one expression on one record: jq can loop for ever.
const jqTime = time.Second

// JQ is a jq expression about a value that is JSON. A record matches where one of its results is neither false nor null. A
// value that is not JSON is [NotJSON], one on which the expression fails is [Failed], and no value at all is no match. A value
// that decode makes JSON of is asked about as that.
func JQ(expr string, decode Decode) (Condition, error) {
	q, err := gojq.Parse(expr)
	if err != nil {
		return Condition{}, fmt.Errorf("%q is not a jq expression: %w", expr, err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return Condition{}, fmt.Errorf("%q is not a jq expression: %w", expr, err)
	}
	return Condition{"jq", costJQ, func(ctx context.Context, r *kgo.Record) (Answer, string, error) {
		if r.Value == nil {
			return No, "", nil
		}
		value, err := decode.or(ctx, r.Value)
		if err != nil {
			return NotDecoded, "", err
		}
		v, ok := decodeJSON(value)
		if !ok {
			return NotJSON, "", nil
		}
		a, err := runJQ(ctx, code, v)
		return a, "", err
	}}, nil
}

// decodeJSON reads the whole value as one JSON document. Numbers keep their digits.
func decodeJSON(b []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, errors.Is(err, io.EOF)
}

// runJQ runs an expression until a result says yes.
func runJQ(ctx context.Context, code *gojq.Code, v any) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, jqTime)
	defer cancel()
	for iter := code.RunWithContext(ctx, v); ; {
		got, more := iter.Next()
		if !more {
			return No, nil
		}
		switch got := got.(type) {
		case error:
			var halt *gojq.HaltError
			switch {
			case errors.As(got, &halt) && halt.Value() == nil:
				return No, nil
			case ctx.Err() != nil:
				return Failed, fmt.Errorf("jq took longer than %s", jqTime)
			}
			return Failed, got
		case nil:
		case bool:
			if got {
				return Yes, nil
			}
		default:
			return Yes, nil
		}
	}
}
