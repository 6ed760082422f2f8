//go:build realkafka

// Command scale measures how inspect, resolve, export, watch, serve, check, reset, undo and delete grow: one real Kafka with 10,000 groups
// of 20 partitions over 3,000 topics, and a topic of 10,000 partitions with a group on all of them, at a quarter, a half and the
// whole of it. Twice as much may take about twice as long and twice the memory, and no more round trips.
//
//	go run -tags realkafka ./bench/scale             the table; exit status 1 when a bound does not hold
//	go run -tags realkafka ./bench/scale -of 20      a twentieth of it, to see that it works
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

func main() {
	of := flag.Int("of", 1, "measure this part of it: 20 is a twentieth")
	runs := flag.Int("runs", 3, "counted runs of each command")
	verbose := flag.Bool("v", false, "show what each command asks, round trip by round trip")
	flag.Parse()
	ok, err := run(context.Background(), *of, *runs, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// size is how much there is.
type size struct{ groups, topics, wide int }

func whole(of int) size { return size{10_000 / of, 3_000 / of, 10_000 / of} }

func (s size) part(quarters int) size {
	return size{s.groups * quarters / 4, s.topics * quarters / 4, s.wide * quarters / 4}
}

// commits are how many there are of all groups.
func (s size) commits() int { return s.groups*perGroup + s.wide }

func run(ctx context.Context, of, runs int, verbose bool) (bool, error) {
	w, err := measure.Open(ctx)
	if err != nil {
		return false, err
	}
	defer w.Close()
	b := &bench{dir: w.Dir, bin: w.Bin, runs: runs, verbose: verbose}
	// Small indexes: 13,000 partitions have two files of 10 MB each otherwise, which are mapped. A broker that is busy stays.
	b.kafka, err = kafkatest.StartKafka(ctx, kafkatest.Options{Proxied: true, HeapMB: 3072, Properties: map[string]string{
		"log.index.size.max.bytes": "4096", "broker.session.timeout.ms": "60000", "log.initial.task.delay.ms": "3600000", "log.retention.check.interval.ms": "3600000",
	}})
	if err != nil {
		return false, err
	}
	defer b.kafka.Close()
	b.rows, b.counted = make([]row, 0, len(jobs())+2), [2]size{whole(of).part(1), whole(of).part(4)}
	for i, quarters := range []int{1, 2, 4} {
		start := time.Now()
		b.now = whole(of).part(quarters)
		if err := b.fill(ctx); err != nil {
			return false, err
		}
		fmt.Fprintf(os.Stderr, "scale: %d groups with %d commits on %d topics, and a topic of %d partitions, after %s\n",
			b.now.groups, b.now.commits(), b.now.topics, b.now.wide, time.Since(start).Round(time.Second))
		if err := b.measure(ctx, i); err != nil {
			return false, err
		}
	}
	return b.print(os.Stdout), nil
}

// measure runs every job at the size that is there now.
func (b *bench) measure(ctx context.Context, at int) error {
	for i, j := range jobs() {
		if at == 0 {
			b.rows = append(b.rows, row{job: j.name})
		}
		p, err := b.job(ctx, j)
		if err != nil {
			return err
		}
		b.rows[i].points[at] = p
		fmt.Fprintf(os.Stderr, "  %-36s %s\n", j.name, p)
	}
	refresh, scrape, err := b.serve(ctx)
	if err != nil {
		return err
	}
	if at == 0 {
		b.rows = append(b.rows, row{job: "serve: a refresh"}, row{job: "serve: a scrape with every partition"})
	}
	n := len(jobs())
	b.rows[n].points[at], b.rows[n+1].points[at] = refresh, scrape
	fmt.Fprintf(os.Stderr, "  serve: refresh %s, scrape %s\n", refresh, scrape)
	return nil
}

func (b *bench) command(args ...string) measure.Command {
	home := filepath.Join(b.dir, "home")
	return measure.Command{
		Name: fmt.Sprint("koffset ", args), Path: b.bin, Env: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home},
		Args: append([]string{"-b", b.kafka.Bootstrap(), "--state-dir", filepath.Join(b.dir, "state")}, args...),
	}
}
