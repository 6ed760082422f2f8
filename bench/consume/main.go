//go:build realkafka

// Command consume measures koffset consume against kgo alone with the same options, kcat and Kafka's own consumer
// benchmark, and into a pipe against kgo alone that writes the same values into the same pipe: values of 5,000,000 records of 100 bytes, lz4, from 4 partitions and from 300, to /dev/null and to a pipe, with
// checkpoints every second and metrics on. Every contender reads the whole topic; they take turns, and medians are compared.
//
//	go run -tags realkafka ./bench/consume                    starts a Kafka of its own
//	go run -tags realkafka ./bench/consume -addr HOST:PORT    uses a running one, and leaves its topics there
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

func main() {
	addr := flag.String("addr", "", "a running broker; empty starts one")
	runs := flag.Int("runs", 5, "counted runs of each contender")
	records := flag.Int("records", 5_000_000, "records of the topic")
	alone := flag.Bool("alone", false, "internal: read the topic with kgo alone")
	write := flag.Bool("write", false, "internal: with -alone, write the values to stdout")
	topic := flag.String("topic", "koffset-bench", "the topic; the number of partitions is added to it")
	var counts []int
	flag.Func("partitions", "numbers of partitions, each a table of its own (default 4,300)", func(s string) error {
		for n := range strings.SplitSeq(s, ",") {
			count, err := strconv.Atoi(n)
			if err != nil {
				return err
			}
			counts = append(counts, count)
		}
		return nil
	})
	flag.Parse()
	ctx := context.Background()
	if *alone {
		var out io.Writer
		if *write {
			out = os.Stdout
		}
		if err := readAlone(ctx, *addr, *topic, out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if counts == nil {
		counts = []int{4, 300}
	}
	ok, err := run(ctx, *addr, *topic, counts, *runs, *records)
	if err != nil {
		fmt.Fprintln(os.Stderr, "consume:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, addr, topic string, counts []int, runs, records int) (bool, error) {
	w, err := measure.Open(ctx)
	if err != nil {
		return false, err
	}
	defer w.Close()
	if addr == "" {
		k, err := kafkatest.StartKafka(ctx, kafkatest.Options{})
		if err != nil {
			return false, err
		}
		defer k.Close()
		addr = k.Bootstrap()
	}
	all := true
	for _, n := range counts {
		ok, err := compare(ctx, w.Bin, w.Dir, addr, fmt.Sprint(topic, "-", n), n, runs, records)
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

// compare is one table: a topic of so many partitions.
func compare(ctx context.Context, bin, dir, addr, topic string, partitions, runs, records int) (bool, error) {
	start := time.Now()
	if err := fill(ctx, addr, topic, partitions, records); err != nil {
		return false, err
	}
	fmt.Fprintf(os.Stderr, "consume: %d records on %d partitions written in %s\n", records, partitions, time.Since(start).Round(time.Millisecond))
	list, err := contenders(ctx, bin, dir, addr, topic, records)
	if err != nil {
		return false, err
	}
	if err := measure.TakeTurns(ctx, list, runs); err != nil {
		return false, err
	}
	fmt.Printf("%d partitions\n", partitions)
	return report(list, records), nil
}

// The goals. Into a pipe kgo alone writes the same bytes: the copies into it and out of it, and the wait for its reader, are the
// pipe's, whoever writes.
const (
	goalKgo  = 0.95
	goalKcat = 2.0
)

// report prints the table and says whether the goals hold.
func report(list []*measure.Contender, records int) bool {
	by := map[string]float64{}
	for _, c := range list {
		by[c.Name] = float64(records) / measure.Middle(c.Seconds)
	}
	ratio := func(name string, of string) string {
		if by[of] == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f", by[name]/by[of])
	}
	// On a machine that does other things too, records/s tell less than the processor's time, which waiting does not change.
	fmt.Printf("%-44s %12s %8s %8s %8s %8s\n", "CONTENDER", "RECORDS/S", "OF-KGO", "OF-KCAT", "CPU-S", "MEMORY")
	for _, c := range list {
		rss := "-"
		if c.RSS > 0 {
			rss = fmt.Sprintf("%dM", c.RSS>>20)
		}
		cpu := "-"
		if m := measure.Middle(c.CPU); m > 0 {
			cpu = fmt.Sprintf("%.2f", m)
		}
		fmt.Printf("%-44s %12.0f %8s %8s %8s %8s\n", c.Name, by[c.Name], ratio(c.Name, nameAlone), ratio(c.Name, nameKcat), cpu, rss)
	}
	ok := true
	for name, peer := range map[string]string{nameNull: nameAlone, namePipe: nameAPipe} {
		for of, goal := range map[string]float64{peer: goalKgo, nameKcat: goalKcat} {
			if by[of] > 0 && by[name] < goal*by[of] {
				fmt.Printf("%s: %.2f of %s, the goal is %.2f\n", name, by[name]/by[of], of, goal)
				ok = false
			}
		}
	}
	return ok
}

const (
	nameAlone = "kgo alone, same options, GOGC=400"
	nameAPipe = "kgo alone, values | cat"
	nameNull  = "koffset consume > /dev/null"
	namePipe  = "koffset consume | cat"
	nameKcat  = "kcat > /dev/null"
	nameJava  = "kafka-consumer-perf-test (its own rate)"
)

func contenders(ctx context.Context, bin, dir, addr, topic string, records int) ([]*measure.Contender, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "home")
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home}
	args := []string{"-b", addr, "consume", topic, "--from", "earliest", "--until", "latest", "-q", "-g", "bench",
		"--checkpoint-interval", "1s", "--checkpoint-dir", filepath.Join(dir, "ck"), "--metrics-listen", ":0", "--allow-rewind"}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	process := func(c measure.Command) func(context.Context) (measure.Sample, error) {
		return func(ctx context.Context) (measure.Sample, error) { return measure.Run(ctx, c) }
	}
	list := []*measure.Contender{
		{Name: nameAlone, Run: process(measure.Command{Name: nameAlone, Path: self, Args: []string{"-alone", "-addr", addr, "-topic", topic}, Env: []string{"GOGC=400"}})},
		{Name: nameAPipe, Run: func(ctx context.Context) (measure.Sample, error) {
			return piped(ctx, measure.Command{Name: nameAPipe, Path: self, Args: []string{"-alone", "-write", "-addr", addr, "-topic", topic}, Env: []string{"GOGC=400"}})
		}},
		{Name: nameNull, Run: process(measure.Command{Name: nameNull, Path: bin, Args: args, Env: env, Out: null})},
		{Name: namePipe, Run: func(ctx context.Context) (measure.Sample, error) {
			return piped(ctx, measure.Command{Name: namePipe, Path: bin, Args: args, Env: env})
		}},
	}
	if kcat, err := exec.LookPath("kcat"); err == nil {
		list = append(list, &measure.Contender{Name: nameKcat, Run: process(measure.Command{Name: nameKcat, Path: kcat,
			Args: []string{"-C", "-b", addr, "-t", topic, "-o", "beginning", "-e", "-q"}, Out: null})})
	} else {
		fmt.Fprintln(os.Stderr, "consume: kcat is not there (Debian's package kcat), left out")
	}
	jars, err := kafkatest.Jars(ctx)
	if err != nil {
		return nil, err
	}
	list = append(list, &measure.Contender{Name: nameJava, Run: func(ctx context.Context) (measure.Sample, error) { return perfTest(ctx, jars, addr, topic, records) }})
	return list, nil
}

// piped runs a command with another process at the end of a pipe. Memory and processor time are the command's.
func piped(ctx context.Context, c measure.Command) (measure.Sample, error) {
	// A real pipe between the two: anything but a file would be copied once more, in this process.
	r, w, err := os.Pipe()
	if err != nil {
		return measure.Sample{}, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return measure.Sample{}, err
	}
	defer null.Close()
	cat := exec.CommandContext(ctx, "cat")
	cat.Stdin, cat.Stdout = r, null
	if err := cat.Start(); err != nil {
		return measure.Sample{}, err
	}
	c.Out = w
	s, err := measure.Run(ctx, c)
	return s, errors.Join(err, w.Close(), r.Close(), cat.Wait())
}

// perfTest runs Kafka's benchmark and returns the time that it says it fetched for, without the JVM's start.
func perfTest(ctx context.Context, jars, addr, topic string, records int) (measure.Sample, error) {
	cmd := exec.CommandContext(ctx, "java", "-cp", filepath.Join(jars, "*"), "org.apache.kafka.tools.ConsumerPerformance",
		"--bootstrap-server", addr, "--topic", topic, "--num-records", fmt.Sprint(records), "--timeout", "60000")
	out, err := cmd.Output()
	if err != nil {
		return measure.Sample{}, fmt.Errorf("%s: %w", nameJava, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var head, row []string
	for i, l := range lines {
		if strings.HasPrefix(l, "start.time") && i+1 < len(lines) {
			head, row = strings.Split(l, ", "), strings.Split(lines[i+1], ", ")
		}
	}
	at := slices.Index(head, "fetch.time.ms")
	if at < 0 || at >= len(row) {
		return measure.Sample{}, fmt.Errorf("%s printed no fetch.time.ms:\n%s", nameJava, out)
	}
	ms, err := time.ParseDuration(strings.TrimSpace(row[at]) + "ms")
	return measure.Sample{Wall: ms}, err
}
