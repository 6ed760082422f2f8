package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// Session is a connected client with the settings that led to it.
type Session struct {
	App      *App
	Settings *conn.Settings
	Client   *kgo.Client
	Cluster  inspect.Cluster

	past map[string]map[string]offset.Saved // what was read of the past already, by position and groups
}

// Connect loads the settings, connects, and learns which cluster it is. The caller closes the session.
func (a *App) Connect(ctx context.Context, cmd *cobra.Command, extra ...kgo.Opt) (*Session, error) {
	s, err := a.Settings(cmd)
	if err != nil {
		return nil, err
	}
	return a.ConnectWith(ctx, s, extra...)
}

// ConnectWith is Connect with settings that are loaded already.
func (a *App) ConnectWith(ctx context.Context, s *conn.Settings, extra ...kgo.Opt) (*Session, error) {
	if a.Global.Verbose {
		extra = append(extra, kgo.WithLogger(kgo.BasicLogger(a.Streams.Log(), kgo.LogLevelDebug, func() string { return "koffset: " })))
	}
	extra = append(extra, kgo.WithHooks(new(inspect.Heard)))
	ctx, cancel := a.phase(ctx, s, "connect to "+strings.Join(s.Brokers, ","))
	defer cancel()
	var cluster inspect.Cluster
	cl, err := conn.ConnectAndRead(ctx, s, func(ctx context.Context, cl *kgo.Client) (err error) {
		cluster, err = inspect.ReadCluster(ctx, cl)
		return err
	}, extra...)
	if err != nil {
		return nil, Cause(ctx, err)
	}
	return &Session{App: a, Settings: s, Client: cl, Cluster: cluster}, nil
}

// Close ends the connections.
func (s *Session) Close() { s.Client.Close() }

// Phase bounds one stretch of talk with Kafka by --timeout. what names it in the error.
func (s *Session) Phase(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	return s.App.phase(ctx, s.Settings, what)
}

func (a *App) phase(ctx context.Context, s *conn.Settings, what string) (context.Context, context.CancelFunc) {
	waiting := a.Streams.Waiting(what)
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, &TimedOut{what: what, after: s.Timeout})
	return ctx, func() { cancel(); waiting.Stop() }
}

// Moving is Phase for what may take long because there is much to do: the time is bounded in which nothing moves. moved
// is called whenever something was answered.
func (s *Session) Moving(ctx context.Context, what string) (_ context.Context, moved func(), cancel context.CancelFunc) {
	waiting := s.App.Streams.Waiting(what)
	ctx, end := context.WithCancelCause(ctx)
	t := time.AfterFunc(s.Settings.Timeout, func() { end(&TimedOut{what: what, after: s.Settings.Timeout}) })
	return ctx, func() { t.Reset(s.Settings.Timeout) }, func() { t.Stop(); end(nil); waiting.Stop() }
}

// Cause replaces "context deadline exceeded" by what took too long.
func Cause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if link := new(conn.Error); errors.As(err, &link) {
		return err // it says itself what was waited for, and how long
	}
	if t, ok := context.Cause(ctx).(*TimedOut); ok {
		return fmt.Errorf("%w (%w)", t, err)
	}
	return err
}

// Meta is the head of a document about this cluster.
func (s *Session) Meta(kind string, extra ...render.Field) render.Meta {
	return render.Meta{Kind: kind, ClusterID: s.Cluster.ID, GeneratedAt: s.App.Now(), Extra: extra}
}

// Timed is the run of a command whose words name times: they are read by the clock of the settings, so the settings are
// loaded first, and nothing is connected to before the whole command line is known to be good.
func (a *App) Timed(parse func(*cobra.Command, []string, offset.Clock) error, run func(context.Context, *Session) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.Settings(cmd)
		if err != nil {
			return err
		}
		if err := parse(cmd, args, a.Clock(s)); err != nil {
			return err
		}
		sess, err := a.ConnectWith(cmd.Context(), s)
		if err != nil {
			return err
		}
		defer sess.Close()
		return run(cmd.Context(), sess)
	}
}

// Connected is the run of a command whose words need no clock: it connects once the whole command line is known to be good.
func (a *App) Connected(parse func(*cobra.Command, []string) error, run func(context.Context, *Session) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := parse(cmd, args); err != nil {
			return err
		}
		s, err := a.Connect(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer s.Close()
		return run(cmd.Context(), s)
	}
}

// TimedOut is the cause of a phase that took longer than --timeout.
type TimedOut struct {
	what  string
	after time.Duration
}

func (t *TimedOut) Error() string { return fmt.Sprintf("%s: no answer within %s", t.what, t.after) }

// Is makes errors.Is(err, context.DeadlineExceeded) true.
func (t *TimedOut) Is(target error) bool { return target == context.DeadlineExceeded }
