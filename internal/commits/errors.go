package commits

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// errNegative says that an offset below 0 was to be stored. It is never sent.
var errNegative = errors.New("an offset below 0 is not a position and is never sent")

// errLeftOut says that the broker answered, and said nothing about the row.
var errLeftOut = errors.New("the broker left it out of its answer")

// NotSentError is a row of which no request reached a broker: what was stored before is stored now.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return "not sent: " + e.Err.Error() }

// Unwrap returns why it was not sent.
func (e *NotSentError) Unwrap() error { return e.Err }

// UnknownError is a row that was sent, and whether it was stored is not known: only reading it back can tell, and it may
// still be stored after that.
type UnknownError struct {
	Err error
	// Answered says that the broker did answer, in a way that leaves it open.
	Answered bool
}

func (e *UnknownError) Error() string {
	if e.Answered {
		return e.Err.Error()
	}
	return fmt.Sprintf("sent, and no answer: %v", e.Err)
}

// Unwrap returns the last answer, or why there was none.
func (e *UnknownError) Unwrap() error { return e.Err }

// doubtful says that a broker's answer leaves open whether the row was stored. A coordinator answers REQUEST_TIMED_OUT while
// its followers have not confirmed a write that is in its log already, and UNKNOWN_SERVER_ERROR for whatever went wrong in it.
func doubtful(err error) bool {
	return errors.Is(err, errLeftOut) || errors.Is(err, kerr.RequestTimedOut) || errors.Is(err, kerr.UnknownServerError)
}

// unsent says that a request did not leave: the connection was never made, or the client does not know the broker. kgo has
// no exported error for the latter.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || strings.Contains(err.Error(), "unknown broker")
}

// ended is the cause of a context's end, nil while it lasts.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
