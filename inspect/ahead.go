package inspect

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Ahead reads groups while the list that named them is still being held against the offsets topic: that takes a round trip of
// its own, and rarely changes anything.
type Ahead struct {
	groups   []Group
	describe bool
	end      context.CancelFunc
	done     chan struct{}
	at       Standing
}

// ReadAhead begins to describe groups and to read what they have stored; without describe the list's word is enough. It goes
// on until ctx ends, or it is stopped.
func ReadAhead(ctx context.Context, cl *kgo.Client, groups []Group, describe bool) *Ahead {
	ctx, end := context.WithCancel(ctx)
	a := &Ahead{end: end, groups: slices.Clone(groups), describe: describe, done: make(chan struct{})}
	go func() {
		defer end()
		defer close(a.done)
		a.at = readStanding(ctx, cl, a.groups, describe)
	}()
	return a
}

// Stop ends it where it is not wanted any more; nil is fine.
func (a *Ahead) Stop() {
	if a != nil {
		a.end()
	}
}

// take waits for what was read, if it was for the same groups as the list has them now.
func (a *Ahead) take(groups []Group, describe bool) (Standing, bool) {
	if a == nil || describe != a.describe || !slices.Equal(groups, a.groups) {
		return Standing{}, false
	}
	<-a.done
	return a.at, true
}
