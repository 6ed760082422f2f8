//go:build realkafka

// Command move measures reset on a real Kafka that it starts and ends: 2,000 partitions by time against the bare requests
// of the same reset, and 100 groups of 100 partitions in one command against a second.
//
//	go run -tags realkafka ./bench/move          the table; exit status 1 when a bound does not hold
//	go run -tags realkafka ./bench/move -peers   Kafka's own tool beside it
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

func main() {
	bare := flag.String("bare", "", "internal: run the bare requests of a job")
	addr := flag.String("addr", "", "internal: the broker")
	at := flag.Int64("at", 0, "internal: the time")
	runs := flag.Int("runs", 7, "counted runs of each command")
	peers := flag.Bool("peers", false, "time Kafka's own tool too")
	flag.Parse()
	ctx := context.Background()
	if *bare != "" {
		if err := runBare(ctx, *addr, *bare, *at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ok, err := run(ctx, *runs, *peers)
	if err != nil {
		fmt.Fprintln(os.Stderr, "move:", err)
	}
	if err != nil || !ok {
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
	home := filepath.Join(w.Dir, "home")
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home}
	ours := func(args ...string) measure.Command {
		return measure.Command{Name: "koffset", Path: w.Bin, Args: append([]string{"-b", b}, args...), Env: env}
	}
	base := func(job string, at int64) measure.Command {
		return measure.Command{Name: "requests alone", Path: self, Args: []string{"-bare", job, "-addr", b, "-at", strconv.FormatInt(at, 10)}}
	}
	rows, err := resetRows(ctx, runs, ours, base)
	if err != nil {
		return false, err
	}
	ok := measure.Print(os.Stdout, rows)
	if peers {
		return ok, timePeer(ctx, b)
	}
	return ok, nil
}

func resetRows(ctx context.Context, runs int, ours func(...string) measure.Command, base func(string, int64) measure.Command) ([]measure.Row, error) {
	var rows []measure.Row
	dry := func(int) measure.Command { return ours("reset", "wide", "--topic", "wide", "--to", at(0)) }
	bareDry := func(int) measure.Command { return base("plan", millisAt(0)) }
	row, err := turns(ctx, "reset 2,000 partitions by time, dry run", runs, dry, bareDry)
	if err != nil {
		return nil, err
	}
	row.MaxRatio = 3
	rows = append(rows, row)
	// Every run must move every partition, so the time changes from run to run.
	execute := func(i int) measure.Command {
		return ours("reset", "wide", "--topic", "wide", "--to", at(i), "--execute")
	}
	bareExecute := func(i int) measure.Command { return base("execute", millisAt(i+1)) }
	if row, err = turns(ctx, "reset 2,000 partitions by time, executed", runs, execute, bareExecute); err != nil {
		return nil, err
	}
	row.MaxRatio = 3
	rows = append(rows, row)
	many := func(i int) measure.Command {
		return ours("reset", "--group-match", "many-.*", "--topic", "narrow", "--to-offset", strconv.Itoa(i%2), "--execute")
	}
	if row, err = turns(ctx, "reset 100 groups of 100 partitions, executed", runs, many, nil); err != nil {
		return nil, err
	}
	row.MaxTime = time.Second
	rows = append(rows, row)
	return rows, nil
}

// Every partition of wide has records at t0, t0+1s and so on.
const t0 = 1710072000000

func millisAt(i int) int64 { return t0 + int64(i%records)*1000 }
func at(i int) string      { return "@" + strconv.FormatInt(millisAt(i), 10) }

// turns runs two commands in turn, each with the number of the run, after one warm-up, and compares the medians.
func turns(ctx context.Context, job string, n int, ours, base func(int) measure.Command) (measure.Row, error) {
	r := measure.Row{Job: job}
	var a, b []time.Duration
	for i := range n + 1 {
		x, err := measure.Run(ctx, ours(i))
		if err != nil {
			return r, err
		}
		var y measure.Sample
		if base != nil {
			if y, err = measure.Run(ctx, base(i)); err != nil {
				return r, err
			}
		}
		if i > 0 {
			a, b = append(a, x.Wall), append(b, y.Wall)
			r.MaxRSS = max(r.MaxRSS, x.MaxRSS)
		}
	}
	r.Ours = measure.Median(a)
	if base != nil {
		r.Base = measure.Median(b)
		r.Ratio = float64(r.Ours) / float64(r.Base)
	}
	return r, nil
}

// timePeer times Kafka's own tool inside one warm JVM, which leaves its start-up out.
func timePeer(ctx context.Context, b string) error {
	tools, err := kafkatest.NewTools(ctx)
	if err != nil {
		return err
	}
	defer tools.Close()
	for _, mode := range []string{"--dry-run", "--execute"} {
		start := time.Now()
		res, err := tools.Call(ctx, "", kafkatest.ConsumerGroups, "--bootstrap-server", b, "--group", "wide", "--topic", "wide",
			"--reset-offsets", "--to-datetime", "2024-03-10T12:00:01.000", mode, "--timeout", "120000")
		if err != nil {
			return err
		}
		fmt.Printf("kafka-consumer-groups --to-datetime %-10s %10s  (exit status %d, JVM already running)\n", mode, time.Since(start).Round(time.Millisecond), res.Status)
	}
	return nil
}
