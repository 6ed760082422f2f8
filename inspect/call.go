package inspect

// What package reset needs to send its own requests the way this package does.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrNoCall says that a broker does not know a call at all.
var ErrNoCall = errNoCall

// EachCoordinator runs ask for the groups at their coordinators, at most chunk groups at a time and a bounded number at
// once, and asks again for groups whose coordinator moved or is loading. ask returns an error per group; no entry means
// that the group is done. fail is told of groups that got no answer. Both may be called from several goroutines at once,
// never for the same group.
//
// It is for writes: what was sent is not sent again after a connection broke, since it may have been done. anew looks the
// coordinators up, for groups that got no answer from the one that was known.
func EachCoordinator(ctx context.Context, cl *kgo.Client, groups []string, chunk int, anew bool,
	ask func(ctx context.Context, node int32, groups []string) map[string]error, fail func(group string, err error)) {
	a := asker{cl: cl, chunk: chunk, anew: anew, ask: ask, fail: fail}
	a.run(ctx, groups)
}

// Call sends one request to one broker and retries what kgo retries. The error is ErrNoCall where the broker does not know
// the call.
func Call[R kmsg.Response](ctx context.Context, cl *kgo.Client, node int32, req kmsg.Request) (R, error) {
	return request[R](ctx, cl, node, req)
}

// CallOnce is Call without retries, for a caller that looks for another broker itself, or that must know whether a request
// left.
func CallOnce[R kmsg.Response](ctx context.Context, cl *kgo.Client, node int32, req kmsg.Request) (R, error) {
	return requestOnce[R](ctx, cl, node, req)
}

// RetryGroup says that a group's error means "ask again, perhaps elsewhere".
func RetryGroup(err error) bool { return retryGroup(err) }

// CodeError is the broker's error with its own sentence; nil for code 0.
func CodeError(code int16, msg *string) error { return codeErr(code, msg) }
