package monitor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/serve"
)

type serveOptions struct {
	app *cli.App
	monitorFlags
	listen       string
	perPartition bool
	maxSeries    int
	compat       string
}

// NewServe is the command serve.
func NewServe(a *cli.App) *cobra.Command {
	o := &serveOptions{app: a}
	c := &cobra.Command{
		Use: "serve [GROUP…]", GroupID: "look",
		Short: "Prometheus metrics: lag in records and time, offsets, verdicts",
		Long: `Reads the groups every --interval and serves what it read at /metrics, in Prometheus' text format. A scrape copies what the
last refresh rendered and never waits for a broker; koffset_snapshot_age_seconds says how old it is. When refreshes fail the last
numbers are served on for 20 intervals, with koffset_up 0; after that only koffset's own metrics are left. /healthz is 200 while the
numbers are fresh.

Without groups, all are served. --group-match and --topic-match choose, --per-partition=false leaves the series of single
partitions out, and above --max-series they are left out by themselves. --compat kafka_exporter adds the metrics of kafka_exporter
under their own names and with their own numbers (with --per-partition=false they replace koffset's), so that dashboards and alerts
written for it go on working. docs/metrics.md lists all names.` + cli.ExitStatus(
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
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:9308", "`HOST:PORT` to listen on; there is no authentication")
	f.BoolVar(&o.perPartition, "per-partition", true, "serve the series of single partitions")
	f.IntVar(&o.maxSeries, "max-series", 500_000, "leave the series of single partitions out when there are more than `N`; 0 is no limit")
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
	costs := &serve.Costs{}
	s, err := o.app.Connect(ctx, cmd, kgo.WithHooks(costs))
	if err != nil {
		return err
	}
	defer s.Close()
	server := serve.New(serve.Options{
		Sampler: o.sampler(s), Interval: o.every, Timeout: s.Settings.Timeout, PerPartition: o.perPartition, MaxSeries: o.maxSeries,
		Compat: o.compat, Version: o.app.Version, Costs: costs, Now: o.app.Now, Warn: o.app.Streams.Warn,
	})
	h := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	o.app.Streams.Note("serving http://%s/metrics, read from cluster %s every %s; Ctrl-C ends it", l.Addr(), s.Cluster.ID, o.every)

	rctx, cancel := context.WithCancel(ctx)
	refreshing := make(chan struct{})
	go func() { defer close(refreshing); server.Run(rctx) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		// A scrape that is under way may end; being stopped is the ordinary end of a service, and no failure.
		down, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		err = h.Shutdown(down)
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
