package inspect

import "context"

type progressKey struct{}

// WithProgress has moved called, from several goroutines, whenever a coordinator answered for groups that were asked for with
// the context. It is called a bounded number of times, since a group that was answered is not asked for again: a caller may
// bound the time in which nothing moves by it, where many groups take long because there are many.
func WithProgress(ctx context.Context, moved func()) context.Context {
	return context.WithValue(ctx, progressKey{}, moved)
}

func progressed(ctx context.Context) {
	if moved, ok := ctx.Value(progressKey{}).(func()); ok {
		moved()
	}
}
