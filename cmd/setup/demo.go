package setup

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/sandbox"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// NewDemo takes run, which runs one command line, since the demo shows what whole command lines print.
func NewDemo(a *cli.App, run func(context.Context, []string, cli.App) int) *cobra.Command {
	return &cobra.Command{
		Use: "demo", GroupID: "other", Short: "See it work on clusters in this process", Args: noArgs,
		Long: `Start two in-process Kafkas with sample topics and groups, run koffset's main commands on it, and print each command
before its output. It needs no cluster and leaves nothing behind.

Exit status:
  0  done
  1  a command did not end as it should`,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), a, run) },
	}
}

// demoStep is one command of the demo.
type demoStep struct {
	say  string
	args []string
	ends offset.ErrorKind // how it must end
}

func demo(ctx context.Context, a *cli.App, run func(context.Context, []string, cli.App) int) error {
	s, err := sandbox.Start(ctx, sandbox.Config{Clusters: 2, Now: a.Now()})
	if err != nil {
		return err
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "koffset-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo's files: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// The operator's own configuration must not reach the demo, nor the demo's journal the operator's state.
	env := []string{"KOFFSET_BROKERS=" + s.Bootstrap(), "KOFFSET_STATE_DIR=" + dir, "HOME=" + dir}
	for _, step := range demoSteps(a.Now(), s.Bootstrap(), s.Clusters[1].Bootstrap) {
		if err := step.run(ctx, a, run, env, dir); err != nil {
			return err
		}
	}
	demoSay(a, "Next: koffset sandbox --clusters 2 keeps these clusters until Ctrl-C and prints what to export;")
	demoSay(a, "koffset -b HOST:PORT inspect shows your own cluster. Nothing is changed without --execute.")
	return a.Streams.Flush()
}

func demoSay(a *cli.App, line string) { _, _ = fmt.Fprintln(a.Streams.Out, "# "+line) }

func (step demoStep) run(ctx context.Context, a *cli.App, run func(context.Context, []string, cli.App) int, env []string, dir string) error {
	demoSay(a, step.say)
	_, _ = fmt.Fprintln(a.Streams.Out, "$ koffset "+text.Shell(step.args...))
	if err := a.Streams.Flush(); err != nil {
		return err
	}
	sub := cli.App{
		// Notes go to stdout too: apart from their table they would read as another story.
		Streams: &render.Streams{In: strings.NewReader(""), Out: a.Streams.Out, Err: a.Streams.Out, OutTTY: a.Streams.OutTTY, Width: a.Streams.Width, Env: a.Streams.Env},
		Environ: env, Dir: dir, Home: dir, Now: a.Now, Version: a.Version,
	}
	code := run(ctx, step.args, sub)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if want := a.Streams.Status(step.ends); code != want {
		return fmt.Errorf("koffset %s ended with status %d, not %d", strings.Join(step.args, " "), code, want)
	}
	_, _ = fmt.Fprintln(a.Streams.Out)
	return a.Streams.Flush()
}

func demoSteps(now time.Time, first, second string) []demoStep {
	day := now.UTC().Format("20060102") // an undo id begins with it; the demo's journal holds one operation
	return []demoStep{
		{say: "All groups in one screen: what they are, how far behind, what is wrong.", args: []string{"inspect"}},
		{say: "One group by partition. Partition 2 has no commit: where its reader starts, the group does not say.", args: []string{"inspect", "reporting"}},
		{say: `A commit past the log end is not "lag 0".`, args: []string{"inspect", "payments-audit"}},
		{say: "Which offset was two hours ago?", args: []string{"resolve", "orders", "--to", "@-2h"}},
		{say: "A time after the last record has no answer, and says so.", args: []string{"resolve", "orders:0", "--to", "@-1s", "--if-none", "fail"}, ends: offset.KindRefused},
		{say: "Rewind a group: first the plan, which changes nothing.", args: []string{"reset", "shipping", "--topic", "orders", "--to", "@-4h"}},
		{say: "Then the same with --execute: the old values are on disk first, the new ones are read back.", args: []string{"reset", "shipping", "--topic", "orders", "--to", "@-4h", "--execute"}},
		{say: "What was done?", args: []string{"undo"}},
		{say: "And back: offsets, epochs and metadata as they were.", args: []string{"undo", day, "--execute"}},
		{say: "A running group is not rewound under its feet.", args: []string{"reset", "analytics", "--all-topics", "--to-earliest", "--execute"}, ends: offset.KindRefused},
		{say: "Consume from an exact place to an exact place: what partition 0 got in the last minutes, and not one record more.", args: []string{"consume", "orders:0", "--from", "@-5m", "--until", "latest"}},
		{say: "Move a group to another cluster, where the same records have other offsets. First export its positions,", args: []string{"migrate", "export", "shipping", "--out", "shipping.jsonl"}},
		{say: "then find the same records there,", args: []string{"-b", second, "migrate", "import", "shipping.jsonl", "--execute"}},
		{say: "and compare both: every position is at the same record.", args: []string{"-b", second, "migrate", "verify", "shipping", "--source-bootstrap-server", first}},
	}
}
