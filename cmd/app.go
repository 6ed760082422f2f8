package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// App is everything a command gets from outside: streams, environment, the time. Tests build one; nothing in koffset
// reads the process's own.
type App struct {
	Streams   *render.Streams
	Environ   []string
	Dir, Home string
	Now       func() time.Time
	// Keyboard and Screen are the terminal of the live view; nil where there is none.
	Keyboard, Screen *os.File
	// Version overrides the version of the build; empty takes the build's.
	Version string

	global  globalFlags
	args    []string // what was typed, for the journal
	started bool     // a command began to run: errors from now on are not usage errors by themselves
}

// globalFlags are the flags of every command.
type globalFlags struct {
	brokers       []string
	profile       string
	config        string
	commandConfig string
	x             []string
	timeout       string
	tz            string
	stateDir      string
	color         string
	verbose       bool
}

func (a *App) fill() {
	if a.Version == "" {
		a.Version = buildVersion()
	}
	if a.Now == nil {
		a.Now = time.Now
	}
}

// buildVersion is the module's version, or the commit it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

// settings loads the configuration that the command line, the environment and the files give, and says what is odd
// about it. It opens no connection.
func (a *App) settings(cmd *cobra.Command) (*conn.Settings, error) {
	s, err := a.loadSettings(cmd)
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		a.Streams.Warn("%s", w)
	}
	return s, nil
}

func (a *App) loadSettings(cmd *cobra.Command) (*conn.Settings, error) {
	return conn.Load(a.inputs(cmd))
}

// session is a connected client with the settings that led to it.
type session struct {
	app      *App
	settings *conn.Settings
	client   *kgo.Client
	cluster  inspect.Cluster
}

// connect loads the settings, connects, and learns which cluster it is. The caller closes the session.
func (a *App) connect(ctx context.Context, cmd *cobra.Command, extra ...kgo.Opt) (*session, error) {
	s, err := a.settings(cmd)
	if err != nil {
		return nil, err
	}
	return a.connectWith(ctx, s, extra...)
}

func (a *App) connectWith(ctx context.Context, s *conn.Settings, extra ...kgo.Opt) (*session, error) {
	if a.global.verbose {
		extra = append(extra, kgo.WithLogger(kgo.BasicLogger(a.Streams.Err, kgo.LogLevelDebug, func() string { return "koffset: " })))
	}
	ctx, cancel := a.phase(ctx, s, "connect to "+strings.Join(s.Brokers, ","))
	defer cancel()
	cl, err := conn.Connect(ctx, s, extra...)
	if err != nil {
		return nil, cause(ctx, err)
	}
	c, err := inspect.ReadCluster(ctx, cl)
	if err != nil {
		cl.Close()
		return nil, cause(ctx, err)
	}
	return &session{app: a, settings: s, client: cl, cluster: c}, nil
}

func (s *session) close() { s.client.Close() }

// phase bounds one stretch of talk with Kafka by --timeout. what names it in the error.
func (s *session) phase(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	return s.app.phase(ctx, s.settings, what)
}

func (a *App) phase(ctx context.Context, s *conn.Settings, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.Timeout, &timedOut{what: what, after: s.Timeout})
}

// cause replaces "context deadline exceeded" by what took too long.
func cause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if link := new(conn.Error); errors.As(err, &link) {
		return err // it says itself what was waited for, and how long
	}
	if t, ok := context.Cause(ctx).(*timedOut); ok {
		return fmt.Errorf("%w (%w)", t, err)
	}
	return err
}

// meta is the head of a document about this cluster.
func (s *session) meta(kind string, extra ...render.Field) render.Meta {
	return render.Meta{Kind: kind, ClusterID: s.cluster.ID, GeneratedAt: s.app.Now(), Extra: extra}
}

// clock is what time words are read by.
func (a *App) clock(s *conn.Settings) offset.Clock {
	return offset.Clock{Now: a.Now(), Zone: s.Location}
}

// timed is the run of a command whose words name times: they are read by the clock of the settings, so the settings are
// loaded first, and nothing is connected to before the whole command line is known to be good.
func (a *App) timed(parse func(*cobra.Command, []string, offset.Clock) error, run func(context.Context, *session) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.settings(cmd)
		if err != nil {
			return err
		}
		if err := parse(cmd, args, a.clock(s)); err != nil {
			return err
		}
		sess, err := a.connectWith(cmd.Context(), s)
		if err != nil {
			return err
		}
		defer sess.close()
		return run(cmd.Context(), sess)
	}
}
