package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
)

// A stretch of work takes as long as it needs while answers come, and ends when none came for the time of --timeout.
func TestMovingEndsWhereNothingMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Session{App: &App{Streams: &render.Streams{}}, Settings: &conn.Settings{Timeout: 30 * time.Second}}
		ctx, moved, cancel := s.Moving(t.Context(), "write the offsets")
		defer cancel()
		for range 10 {
			<-time.After(29 * time.Second)
			if ctx.Err() != nil {
				t.Fatalf("it ended while answers came: %v", context.Cause(ctx))
			}
			moved()
		}
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("it ended %s after the last answer", took)
		}
		err := Cause(ctx, ctx.Err())
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "write the offsets: no answer within 30s") {
			t.Errorf("it says %v", err)
		}
		ctx, moved, cancel = s.Moving(t.Context(), "done")
		cancel()
		moved() // an answer that comes late
		<-time.After(time.Minute)
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a stretch that came to its end has the cause %v", err)
		}
	})
}
