//go:build realkafka

// Command look measures inspect, resolve, migrate export, serve, watch and start-up against koffset's own requests made bare, on a real Kafka that it
// starts and ends: 1,000 groups of 100 partitions and one group of 2,000.
//
//	go run -tags realkafka ./bench/look          the table; exit status 1 when a bound does not hold
//	go run -tags realkafka ./bench/look -peers   Kafka's own tools beside it
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

func main() {
	bare := flag.String("bare", "", "internal: run the bare requests of a job")
	addr := flag.String("addr", "", "internal: the broker")
	runs := flag.Int("runs", 5, "counted runs of each command")
	peers := flag.Bool("peers", false, "time Kafka's own tools too")
	flag.Parse()
	ctx := context.Background()
	if *bare != "" {
		if err := runBare(ctx, *addr, *bare); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ok, err := run(ctx, *runs, *peers)
	if err != nil {
		fmt.Fprintln(os.Stderr, "look:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, runs int, peers bool) (bool, error) {
	w, err := measure.Open(ctx)
	if err != nil {
		return false, err
	}
	defer w.Close()
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	k, err := kafkatest.StartKafka(ctx, kafkatest.Options{})
	if err != nil {
		return false, err
	}
	defer k.Close()
	b := k.Bootstrap()
	if err := fill(ctx, b); err != nil {
		return false, err
	}

	// An empty home: no configuration, no completion cache from elsewhere.
	home := filepath.Join(w.Dir, "home")
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home}
	ours := func(args ...string) measure.Command {
		return measure.Command{Name: "koffset " + strings.Join(args, " "), Path: w.Bin, Args: append([]string{"-b", b}, args...), Env: env}
	}
	base := func(job string) measure.Command {
		return measure.Command{Name: "requests alone", Path: self, Args: []string{"-bare", job, "-addr", b}}
	}
	rows, err := againstRequests(ctx, runs, w.Dir, ours, base)
	if err != nil {
		return false, err
	}
	prints := ours("migrate", "export", "wide", "--out", filepath.Join(w.Dir, "wide.jsonl"))
	row, err := measure.Alone(ctx, "migrate export, 2,000 fingerprinted partitions", runs, prints, 5*time.Second)
	if err != nil {
		return false, err
	}
	proved, err := proveRow(ctx, b, w.Bin, w.Dir, env, runs)
	if err != nil {
		return false, err
	}
	started, err := startRows(ctx, runs, w.Bin, env)
	if err != nil {
		return false, err
	}
	more, err := serveRows(ctx, b, w.Bin, runs)
	if err != nil {
		return false, err
	}
	ok := measure.Print(os.Stdout, slices.Concat(rows, []measure.Row{row, proved}, started, more))
	if peers {
		err = timePeers(ctx, b)
	}
	return ok, err
}

// againstRequests are the jobs that are held against the requests alone.
func againstRequests(ctx context.Context, runs int, dir string, ours func(...string) measure.Command, base func(string) measure.Command) ([]measure.Row, error) {
	var rows []measure.Row
	for _, j := range []struct {
		job  string
		ours measure.Command
		base measure.Command
		max  float64
	}{
		{"all groups, every partition, tsv", ours("inspect", "--all-groups", "--by", "partition", "-o", "tsv"), base("all"), 2},
		{"all groups, every partition, jsonl", ours("inspect", "--all-groups", "--by", "partition", "-o", "jsonl"), base("all"), 2},
		{"all groups, every partition, table", ours("inspect", "--all-groups", "--by", "partition"), base("all"), 3},
		{"one group of 2,000 partitions, tsv", ours("inspect", "wide", "-o", "tsv"), base("one"), 2},
		{"one group of 2,000 partitions, table", ours("inspect", "wide"), base("one"), 2},
		{"migrate export of all groups, no fingerprints", ours("migrate", "export", "--all-groups", "--no-fingerprint", "--out", filepath.Join(dir, "all.jsonl")), base("all"), 3},
		{"resolve a time on 2,000 partitions, tsv", ours("resolve", "wide", "--to", "@1710072001000", "-o", "tsv"), base("time"), 2},
	} {
		row, err := measure.Against(ctx, j.job, runs, j.ours, j.base, j.max)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// startRows are what needs no cluster: how fast the program starts.
func startRows(ctx context.Context, runs int, bin string, env []string) ([]measure.Row, error) {
	var rows []measure.Row
	for _, j := range []struct {
		job  string
		args []string
	}{
		{"--help", []string{"--help"}}, {"version", []string{"version"}}, {"a completion without a cluster", []string{"__complete", "inspect", "--by", ""}},
	} {
		row, err := measure.Alone(ctx, j.job, runs, measure.Command{Name: j.job, Path: bin, Args: j.args, Env: env}, 20*time.Millisecond)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// timePeers times Kafka's own tools inside one warm JVM, which leaves their start-up out.
func timePeers(ctx context.Context, b string) error {
	tools, err := kafkatest.NewTools(ctx)
	if err != nil {
		return err
	}
	defer tools.Close()
	for _, p := range []struct {
		name, class string
		args        []string
	}{
		{"kafka-consumer-groups --describe --all-groups", kafkatest.ConsumerGroups, []string{"--bootstrap-server", b, "--describe", "--all-groups", "--timeout", "120000"}},
		{"kafka-consumer-groups --describe --group wide", kafkatest.ConsumerGroups, []string{"--bootstrap-server", b, "--describe", "--group", "wide"}},
		{"kafka-get-offsets --time (2,000 partitions)", kafkatest.GetOffsets, []string{"--bootstrap-server", b, "--topic", "wide", "--time", "1710072001000"}},
	} {
		start := time.Now()
		res, err := tools.Call(ctx, "", p.class, p.args...)
		if err != nil {
			return err
		}
		fmt.Printf("%-46s %10s  (exit status %d, JVM already running)\n", p.name, time.Since(start).Round(time.Millisecond), res.Status)
	}
	return nil
}
