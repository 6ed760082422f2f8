package records

import (
	"context"
	"sync"
)

// budget is a number of bytes that several goroutines share.
type budget struct {
	max int64

	mu   sync.Mutex
	used int64
	wake chan struct{} // closed when something is given back
}

func newBudget(n int64) *budget { return &budget{max: n, wake: make(chan struct{})} }

// take waits until n bytes are free. More than there are in all is given to one that is alone.
func (b *budget) take(ctx context.Context, n int64) error {
	for {
		b.mu.Lock()
		if b.used == 0 || b.used+n <= b.max {
			b.used += n
			b.mu.Unlock()
			return nil
		}
		wake := b.wake
		b.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// give returns n bytes; a negative number counts what came in above what was taken.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if n > 0 {
		close(b.wake)
		b.wake = make(chan struct{})
	}
}
