package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/serve"
	"github.com/koffset/koffset/offset"
)

type serveOptions struct {
	app *cli.App
	monitorFlags
	listen       string
	perPartition bool
	maxSeries    int
	compat       string
	memberLabels bool
	webConfig    string
}

// NewServe is the command serve.
func NewServe(a *cli.App) *cobra.Command {
	o := &serveOptions{app: a}
	c := &cobra.Command{
		Use: "serve [GROUP…]", GroupID: "look",
		Short: "Prometheus metrics: lag in records and time, offsets, verdicts",
		Long: `Reads the groups every --interval and serves what it read at /metrics, in Prometheus' text format. A scrape copies what the
last refresh rendered and never waits for a broker; koffset_refresh_timestamp_seconds says when that was read. When refreshes fail the
last numbers are served on for 20 intervals, with koffset_up 0; after that only koffset's own metrics are left. It starts while Kafka
is away, with koffset_up 0, and tries again every interval. /healthz is 200 while the numbers are fresh.

Without groups, all are served. --group-match and --topic-match choose, --per-partition=false leaves the series of single
partitions out, and above --max-series they are left out by themselves. --member-labels adds who holds each partition (client id and
host). --compat kafka_exporter adds the metrics of kafka_exporter under their own names and with their own numbers (with
--per-partition=false they replace koffset's), so that dashboards and alerts written for it keep working. docs/metrics.md lists all names.

--listen :PORT listens on every interface, as Prometheus' exporters do; --web.config.file is Prometheus' own file for TLS and basic
authentication.` + cli.ExitStatus(
			"  1  the address cannot be listened on"),
		Example: `  koffset -b kafka:9092 serve
  koffset serve --listen 0.0.0.0:9308 --group-match 'prod-.*'
  koffset serve --compat kafka_exporter --per-partition=false
  curl -s http://127.0.0.1:9308/metrics`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(cmd, args); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd)
		},
	}
	o.add(c, "15s")
	o.addSlow(c)
	o.addFollow(c)
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:9308", "`HOST:PORT` to listen on; :PORT is every interface")
	f.StringVar(&o.webConfig, "web.config.file", "", "Prometheus' web configuration `FILE`: TLS and basic authentication")
	f.BoolVar(&o.memberLabels, "member-labels", false, "also serve who holds each partition: client id and host")
	f.BoolVar(&o.perPartition, "per-partition", true, "serve the series of single partitions")
	f.IntVar(&o.maxSeries, "max-series", 500_000, "leave the series of single partitions out when there are more than `N`; 0 is unlimited")
	f.StringVar(&o.compat, "compat", "", "also serve the metrics of another exporter: `kafka_exporter`")
	_ = c.RegisterFlagCompletionFunc("compat", cobra.FixedCompletions([]string{serve.KafkaExporter}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o *serveOptions) parse(c *cobra.Command, args []string) error {
	if o.compat != "" && o.compat != serve.KafkaExporter {
		return cli.Usagef("use --compat "+serve.KafkaExporter, "--compat %q is not one of its values", o.compat)
	}
	if o.maxSeries < 0 {
		return cli.Usagef("", "--max-series %d: a number from 0 on", o.maxSeries)
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return cli.Usagef("write --listen 127.0.0.1:9308", "--listen %q is not HOST:PORT", o.listen)
	}
	if err := web.Validate(o.webConfig); err != nil {
		return cli.Usagef("", "--web.config.file %s: %w", o.webConfig, err)
	}
	return o.monitorFlags.parse(c, args)
}

func (o *serveOptions) run(ctx context.Context, cmd *cobra.Command) error {
	// Before Kafka is asked anything: an address that is taken is found at once.
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("serve metrics at %s: %w", o.listen, err)
	}
	defer l.Close()
	// A refresh of 102,000 partitions makes 60 MB of garbage. Collected at half of the usual growth, the process stays well
	// below 300 MB, for a few percent more work every 15 s.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	settings, err := o.app.Settings(cmd)
	if err != nil {
		return err
	}
	costs := &serve.Costs{}
	c := &connecting{connect: func(ctx context.Context) (*cli.Session, error) {
		return o.app.ConnectWith(ctx, settings, kgo.WithHooks(costs))
	}}
	defer c.close()
	where := "cluster " + c.first(ctx)
	if c.session == nil {
		if kind, _ := cli.Classify(c.err); kind != offset.KindUnreachable {
			return c.err // a wrong password or a missing right does not go away by waiting
		}
		o.app.Streams.Warn("%v; trying again every %s", c.err, o.every)
		where = strings.Join(settings.Brokers, ",")
	}
	server := serve.New(serve.Options{
		Connect: func(ctx context.Context) (*inspect.Sampler, error) {
			s, err := c.get(ctx)
			if err != nil {
				return nil, err
			}
			return o.sampler(s), nil
		},
		Interval: o.every, Timeout: settings.Timeout, PerPartition: o.perPartition, MaxSeries: o.maxSeries, MemberLabels: o.memberLabels,
		Compat: o.compat, Version: o.app.Version, Costs: costs, Now: o.app.Now, Warn: o.app.Streams.Warn,
	})
	o.app.Streams.Note("serving %s, read from %s every %s; Ctrl-C ends it", o.address(l.Addr()), where, o.every)
	if o.webConfig == "" && !loopback(l.Addr()) {
		o.app.Streams.Warn("%s can be read from other machines without a password: --web.config.file adds TLS and authentication", l.Addr())
	}
	return o.serve(ctx, l, server)
}

// serve answers scrapes, and reads the cluster, until the context ends.
func (o *serveOptions) serve(ctx context.Context, l net.Listener, server *serve.Server) (err error) {
	h := cli.MetricsServer(server.Handler())
	served := make(chan error, 1)
	quiet := slog.New(slog.DiscardHandler) // what it says is said here
	go func() { served <- web.Serve(l, h, &web.FlagConfig{WebConfigFile: &o.webConfig}, quiet) }()
	rctx, cancel := context.WithCancel(ctx)
	refreshing := make(chan struct{})
	go func() { defer close(refreshing); server.Run(rctx) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		// A scrape that is under way may end; being stopped is the ordinary end of a service, and no failure.
		down, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		if err = h.Shutdown(down); errors.Is(err, context.DeadlineExceeded) {
			o.app.Streams.Warn("a scrape was still under way after 5s, and was cut off")
			err = h.Close()
		}
		stop()
		<-served
	}
	cancel()
	<-refreshing
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics at %s: %w", l.Addr(), err)
	}
	return nil
}

// address is where the metrics are.
func (o *serveOptions) address(a net.Addr) string {
	if o.webConfig != "" {
		return a.String() + "/metrics (as --web.config.file says)"
	}
	return "http://" + a.String() + "/metrics"
}

// loopback says that only this machine reaches the address.
func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// connecting makes a session when Kafka answers. It is used by one goroutine at a time.
type connecting struct {
	connect func(context.Context) (*cli.Session, error)
	session *cli.Session
	err     error
}

// first tries once and returns the cluster's id.
func (c *connecting) first(ctx context.Context) string {
	if c.session, c.err = c.connect(ctx); c.err != nil {
		c.session = nil
		return ""
	}
	return c.session.Cluster.ID
}

func (c *connecting) get(ctx context.Context) (*cli.Session, error) {
	if c.session == nil {
		c.first(ctx)
	}
	return c.session, c.err
}

func (c *connecting) close() {
	if c.session != nil {
		c.session.Close()
	}
}
