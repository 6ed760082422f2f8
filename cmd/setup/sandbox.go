package setup

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/sandbox"
	"github.com/koffset/koffset/offset"
)

type sandboxOptions struct {
	app      *cli.App
	clusters int
	ports    []string
	dir      string
}

// NewSandbox is the command sandbox.
func NewSandbox(a *cli.App) *cobra.Command {
	o := &sandboxOptions{app: a}
	c := &cobra.Command{
		Use: "sandbox", GroupID: "other", Short: "Keep a sample cluster on 127.0.0.1 until Ctrl-C", Args: noArgs,
		Long: `Start an in-process Kafka on 127.0.0.1 with sample topics and with a group in each state that koffset tells apart,
and keep it until Ctrl-C. Other clients and Kafka's own tools work against it too. Nothing is stored, but for --dir DIR, which
gets the checkpoints and savepoints of two Flink jobs on these topics.

Exit status:
  0  ended by Ctrl-C
  1  a port is taken, or a file in --dir exists already
  2  usage`,
		Example: `  koffset sandbox
  koffset sandbox --port 9092
  koffset sandbox --clusters 2 --dir .`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	c.Flags().IntVar(&o.clusters, "clusters", 1, "how many clusters, `1` or 2; the second holds a part of the first at other offsets")
	c.Flags().StringVar(&o.dir, "dir", "", "write the sample snapshots of two Flink jobs into `DIR`")
	c.Flags().StringSliceVar(&o.ports, "port", nil, "`PORT` to listen on, one a cluster (default: any free one)")
	return c
}

func (o *sandboxOptions) run(ctx context.Context) error {
	cfg, err := o.config()
	if err != nil {
		return err
	}
	s, err := sandbox.Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	st := o.app.Streams
	if o.dir != "" {
		jobs, err := sandbox.WriteSnapshots(o.app.Path(o.dir), o.app.Now())
		if err != nil {
			return cli.Faultf(offset.KindFailed, "leave --dir out if they are there already, or choose another folder", "%w", err)
		}
		st.Note("snapshots of Flink jobs are in %s", strings.Join(jobs, " and "))
	}
	for _, smp := range s.Samples() {
		st.Note("%-5s %-16s %s", smp.Kind, smp.Name, smp.About)
	}
	st.Note("in another shell:")
	for _, line := range s.ExportLines() {
		if _, err := fmt.Fprintln(st.Out, line); err != nil {
			return err
		}
	}
	if err := st.Flush(); err != nil {
		return err
	}
	st.Note("then: koffset inspect. Ctrl-C ends it.")
	<-ctx.Done()
	return nil
}

func (o *sandboxOptions) config() (sandbox.Config, error) {
	cfg := sandbox.Config{Clusters: o.clusters, Now: o.app.Now()}
	if o.clusters < 1 || o.clusters > 2 {
		return cfg, cli.Usagef("use --clusters 1 or 2", "--clusters %d", o.clusters)
	}
	for _, p := range o.ports {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return cfg, cli.Usagef("a port is a number from 0 to 65535; 0 is any free one", "--port %q", p)
		}
		cfg.Ports = append(cfg.Ports, int(n))
	}
	if len(cfg.Ports) > o.clusters {
		return cfg, cli.Usagef("give one --port a cluster", "%d ports for %d clusters", len(cfg.Ports), o.clusters)
	}
	return cfg, nil
}
