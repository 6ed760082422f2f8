package inspect

// Brokers that are away: how long one is waited for, and who is asked instead.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hedgeAfter is how long one broker is waited for where any broker can answer: then another is asked as well, and the first
// answer counts. Metadata takes milliseconds, and a round trip across an ocean a third of a second.
const hedgeAfter = 750 * time.Millisecond

// hedges bounds how many brokers are asked the same at once.
const hedges = 5

// AnyBroker asks any broker, and another one whenever none has answered for hedgeAfter, so that a broker that accepts
// connections and never answers costs that long and not the whole deadline. kgo takes the next broker, or seed, for each
// request of its own accord; ask sends one.
func AnyBroker[T any](ctx context.Context, ask func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		v   T
		err error
	}
	answers := make(chan answer, hedges)
	asked, failed := 0, 0
	next := func() {
		asked++
		go func() {
			v, err := ask(ctx)
			answers <- answer{v, err}
		}()
	}
	next()
	tick := time.NewTicker(hedgeAfter)
	defer tick.Stop()
	var errs []error
	for {
		select {
		case a := <-answers:
			if a.err == nil {
				return a.v, nil
			}
			errs = append(errs, a.err)
			if failed++; failed < asked {
				continue
			}
			// Where nothing listens the next request goes to another broker; seen with one of two brokers stopped: kgo handed
			// the refused connection on. Other errors (a login, a certificate) are the same everywhere, and not tried again.
			if asked == hedges || !notDialled(a.err) {
				return a.v, errs[0]
			}
			next()
		case <-tick.C:
			if asked < hedges {
				next()
			}
		}
	}
}

// notDialled says that a connection was not made at all.
func notDialled(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// metadata asks any broker for metadata.
func metadata(ctx context.Context, cl *kgo.Client, req *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error) {
	return AnyBroker(ctx, func(ctx context.Context) (*kmsg.MetadataResponse, error) {
		one := *req // kgo writes the version into it
		return one.RequestWith(ctx, cl)
	})
}

// BrokerError is a broker that could not be reached or did not answer; Err is the connection's error, or a *SilentError.
type BrokerError struct {
	Broker int32
	Err    error
}

func (e *BrokerError) Error() string { return fmt.Sprintf("broker %d: %v", e.Broker, e.Err) }
func (e *BrokerError) Unwrap() error { return e.Err }

// SilentError says that a broker did not answer, although others had unless All is set; it was not waited for any longer.
type SilentError struct {
	After time.Duration
	All   bool
}

func (e *SilentError) Error() string {
	if e.All {
		return fmt.Sprintf("no answer within %s", e.After.Round(100*time.Millisecond))
	}
	return fmt.Sprintf("no answer %s after the last of the other brokers", e.After.Round(100*time.Millisecond))
}

// Is makes errors.Is(err, context.DeadlineExceeded) true.
func (e *SilentError) Is(target error) bool { return target == context.DeadlineExceeded }

// patience ends the wait for brokers that are away once the others have answered: what those know is then shown, and what is
// missing is named. Until a first answer has come, only the context ends the wait.
type patience struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	grace  time.Duration

	mu    sync.Mutex
	timer *time.Timer
	heard bool
	over  bool
}

// newPatience waits, after each answer, for a sixth of the time that ctx has left, at least two seconds: 5 s of the usual 30.
// Without any answer it waits for three quarters, which leaves time to show what is known all the same. The caller stops it.
func newPatience(ctx context.Context) *patience {
	p := noPatience(ctx)
	p.grace = 5 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		p.grace = max(left/6, 2*time.Second)
		p.timer = time.AfterFunc(left*3/4, func() { p.cancel(&SilentError{After: left * 3 / 4, All: true}) })
	}
	return p
}

// noPatience only ends with ctx: what writes is not given up while it may yet be answered.
func noPatience(ctx context.Context) *patience {
	p := &patience{}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	return p
}

// answered starts the wait for the others anew.
func (p *patience) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over || p.grace == 0:
	case !p.heard:
		if p.timer != nil {
			p.timer.Stop()
		}
		p.heard, p.timer = true, time.AfterFunc(p.grace, func() { p.cancel(&SilentError{After: p.grace}) })
	default:
		p.timer.Reset(p.grace)
	}
}

func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.cancel(nil)
}

// cause is the error to tell for a request that failed with err: the end of the wait where that was the reason, with the
// last real error.
func (p *patience) cause(err, last error) error {
	if p.ctx.Err() == nil {
		return err
	}
	why := context.Cause(p.ctx)
	if last == nil && !isContext(err) {
		last = err
	}
	if last == nil {
		return why
	}
	return fmt.Errorf("%w (%w)", last, why)
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// unreachable says that no answer came from a broker, for want of a connection and not of time: it may have moved, or another
// broker has its work by now.
func unreachable(err error) bool {
	var b *BrokerError
	return errors.As(err, &b) && !isContext(err)
}

// noConnection says that an error is one of the network's or of time, and none that an answer would have to explain.
func noConnection(err error) bool {
	var network net.Error
	var errno syscall.Errno
	return isContext(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network) || errors.As(err, &errno)
}

// transport wraps an error of a request that no broker answered.
func transport(node int32, err error) error {
	var k *kerr.Error
	if err == nil || errors.As(err, &k) || errors.Is(err, errNoCall) {
		return err
	}
	return &BrokerError{Broker: node, Err: err}
}

// backoff is the pause before asking again for the nth time, from 100 ms to 1 s.
func backoff(n int) time.Duration { return min(retryPause<<min(n, 4), time.Second) }
