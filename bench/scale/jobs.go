//go:build realkafka

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

type bench struct {
	dir, bin string
	kafka    *kafkatest.Kafka
	runs     int
	verbose  bool
	now      size // what is there, or is being made
	filled   size
	counted  [2]size // where round trips are counted: a quarter and the whole
	executed int64   // where the groups were put last
	rows     []row
}

// job is one command line. TO becomes an offset that the groups do not have, CLUSTER the cluster's id, OUT a file.
type job struct {
	name string
	args []string
	puts bool // it leaves the groups at TO
}

func jobs() []job {
	return []job{
		{name: "inspect", args: []string{"inspect"}},
		{name: "inspect, every partition, tsv", args: []string{"inspect", "--all-groups", "--by", "partition", "-o", "tsv"}},
		{name: "inspect the wide group", args: []string{"inspect", "wide"}},
		{name: "resolve the wide topic", args: []string{"resolve", "wide", "-o", "tsv"}},
		{name: "resolve a time on the wide topic", args: []string{"resolve", "wide", "--to", "@1710072000005ms", "-o", "tsv"}},
		{name: "check of all groups", args: []string{"check", "--all-groups", "--max-lag", "10000000"}},
		{name: "watch: one sample of all groups", args: []string{"watch", "--count", "1", "-o", "jsonl"}},
		{name: "migrate export of all, no fingerprints", args: []string{"migrate", "export", "--all-groups", "--no-fingerprint", "--out", "OUT"}},
		{name: "migrate export of all", args: []string{"migrate", "export", "--all-groups", "--out", "OUT"}},
		{name: "delete of all, dry", args: []string{"delete", "--all-groups"}},
		{name: "reset of all, dry", args: []string{"reset", "--all-groups", "--all-topics", "--to", "TO"}},
		{name: "reset of all, executed", puts: true,
			args: []string{"reset", "--all-groups", "--all-topics", "--to", "TO", "--execute", "--yes", "--confirm", "CLUSTER"}},
		{name: "undo of it, executed", args: []string{"undo", "last", "--execute", "--yes", "--confirm", "CLUSTER"}},
	}
}

// point is what one job took at one size.
type point struct {
	took  time.Duration
	cpu   time.Duration // of koffset alone: another program on the machine does not lengthen it
	rss   int64
	trips int
}

func (p point) String() string {
	return fmt.Sprintf("%s, %s of CPU, %d round trips, %d MB", round(p.took), round(p.cpu), p.trips, p.rss>>20)
}

// line is the command of one run.
func (b *bench) line(j job) measure.Command {
	to := (b.executed + 1) % records
	if to == standing {
		to++
	}
	if j.puts {
		b.executed = to
	}
	args := make([]string, len(j.args))
	for i, a := range j.args {
		switch a {
		case "TO":
			a = fmt.Sprint(to)
		case "CLUSTER":
			a = b.kafka.ID
		case "OUT":
			a = filepath.Join(b.dir, "out.jsonl")
		}
		args[i] = a
	}
	return b.command(args...)
}

// job times a job, and counts its round trips in one run more.
func (b *bench) job(ctx context.Context, j job) (point, error) {
	var p point
	var took, cpu []time.Duration
	for range b.runs {
		s, err := measure.Run(ctx, b.line(j))
		if err != nil {
			return p, err
		}
		took, cpu, p.rss = append(took, s.Wall), append(cpu, s.CPU), max(p.rss, s.MaxRSS)
	}
	p.took, p.cpu = measure.Median(took), measure.Median(cpu)
	if b.now != b.counted[0] && b.now != b.counted[1] {
		return p, nil
	}
	// Between an answer and the next question lies what the command does with a hundred thousand rows.
	steps := kafkatest.StartSteps(500*time.Millisecond, b.kafka.Proxies()...)
	_, err := measure.Run(ctx, b.line(j))
	asked := steps.End()
	for n, what := range asked {
		if b.verbose {
			fmt.Printf("    %2d  %s\n", n+1, what)
		}
	}
	p.trips = len(asked)
	return p, err
}

// row is a job at a quarter, a half and the whole.
type row struct {
	job    string
	points [3]point
}

// more is by how much more than linear a run may grow from a quarter to the whole, beside what every run takes: caches, a heap that
// grows in steps, the broker's own lists.
const more, baseTime, baseMemory = 1.5, 300 * time.Millisecond, 64 << 20

func grows[N time.Duration | int64](quarter, whole, base N) bool {
	return float64(whole-base) <= 4*more*float64(quarter)
}

// linear says that the whole took no more than four times a quarter. Round trips only grow where there is a limit to what is asked at once.
func (r row) linear() bool {
	a, c := r.points[0], r.points[2]
	return grows(a.took, c.took, baseTime) && grows(a.cpu, c.cpu, baseTime) && grows(a.rss, c.rss, int64(baseMemory)) && c.trips <= 4*max(1, a.trips)
}

func (b *bench) print(w io.Writer) (ok bool) {
	ok = true
	_, _ = fmt.Fprintf(w, "%-40s %24s %24s %15s %17s  %s\n", "JOB, AT A QUARTER, A HALF, THE WHOLE", "MS", "MS OF CPU", "TRIPS: ¼, WHOLE", "MB", "LINEAR")
	for _, r := range b.rows {
		linear := "yes"
		if !r.linear() {
			linear, ok = "NO", false
		}
		three := func(of func(point) int64) string {
			return fmt.Sprintf("%d %d %d", of(r.points[0]), of(r.points[1]), of(r.points[2]))
		}
		_, _ = fmt.Fprintf(w, "%-40s %24s %24s %15s %17s  %s\n", r.job, three(func(p point) int64 { return p.took.Milliseconds() }),
			three(func(p point) int64 { return p.cpu.Milliseconds() }), fmt.Sprintf("%d %d", r.points[0].trips, r.points[2].trips),
			three(func(p point) int64 { return p.rss >> 20 }), linear)
	}
	return ok
}

func round(d time.Duration) string { return d.Round(time.Millisecond).String() }
