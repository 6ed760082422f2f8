package setup

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/sandbox"
	"github.com/koffset/koffset/offset"
)

// NewSandbox is the command sandbox.
func NewSandbox(a *cli.App) *cobra.Command {
	var clusters int
	var ports []string
	var dir string
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := sandbox.Config{Clusters: clusters, Now: a.Now()}
			if clusters < 1 || clusters > 2 {
				return cli.Usagef("use --clusters 1 or 2", "--clusters %d", clusters)
			}
			for _, p := range ports {
				n, err := strconv.ParseUint(p, 10, 16)
				if err != nil {
					return cli.Usagef("a port is a number from 0 to 65535; 0 is any free one", "--port %q", p)
				}
				cfg.Ports = append(cfg.Ports, int(n))
			}
			if len(cfg.Ports) > clusters {
				return cli.Usagef("give one --port a cluster", "%d ports for %d clusters", len(cfg.Ports), clusters)
			}
			s, err := sandbox.Start(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			defer s.Close()
			if dir != "" {
				jobs, err := sandbox.WriteSnapshots(a.Path(dir), a.Now())
				if err != nil {
					return cli.Faultf(offset.KindFailed, "leave --dir out if they are there already, or choose another folder", "%w", err)
				}
				a.Streams.Note("snapshots of Flink jobs are in %s", strings.Join(jobs, " and "))
			}
			for _, smp := range s.Samples() {
				a.Streams.Note("%-5s %-16s %s", smp.Kind, smp.Name, smp.About)
			}
			a.Streams.Note("in another shell:")
			for _, line := range s.ExportLines() {
				if _, err := fmt.Fprintln(a.Streams.Out, line); err != nil {
					return err
				}
			}
			if err := a.Streams.Flush(); err != nil {
				return err
			}
			a.Streams.Note("then: koffset inspect. Ctrl-C ends it.")
			<-cmd.Context().Done()
			return nil
		},
	}
	c.Flags().IntVar(&clusters, "clusters", 1, "how many clusters, `1` or 2; the second holds a part of the first at other offsets")
	c.Flags().StringVar(&dir, "dir", "", "write the sample snapshots of two Flink jobs into `DIR`")
	c.Flags().StringSliceVar(&ports, "port", nil, "`PORT` to listen on, one a cluster (default: any free one)")
	return c
}
