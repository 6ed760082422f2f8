//go:build realkafka

// Command roundtrips counts how many round trips follow each other in koffset's commands, on three nodes behind proxies: however
// many groups and partitions there are, a phase is one round trip, and a command has few phases. They are counted by proxies that
// go in lock step, and beside that each command is timed with 200 ms added to each round trip.
//
//	go run -tags realkafka ./bench/roundtrips        the table; exit status 1 when a bound does not hold
//	go run -tags realkafka ./bench/roundtrips -v     and what each command asks, round trip by round trip
//
// TCP's own handshake is not delayed: a proxy on the loopback accepts at once. Across a real network each connection costs one
// more, and those of one phase are made at the same time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

const roundTrip = 200 * time.Millisecond

// job is one command and the round trips that it may take. %d becomes an offset that no run before had, and %c the cluster's id.
type job struct {
	name string
	most int
	args []string
}

func jobs() []job {
	return []job{
		{"inspect", 8, []string{"inspect"}},
		{"inspect a group", 8, []string{"inspect", "rt-7"}},
		{"resolve", 5, []string{"resolve", "rt"}},
		{"resolve at a time", 5, []string{"resolve", "rt", "--to", "@-1h"}},
		{"reset, dry", 8, []string{"reset", "rt-7", "--topic", "rt", "--to", "%d"}},
		{"reset, executed", 14, []string{"reset", "rt-8", "--topic", "rt", "--to", "%d", "--execute", "--yes"}},
		{"reset of all, dry", 8, []string{"reset", "--all-groups", "--topic", "rt", "--to", "%d"}},
		{"reset of all, executed", 14, []string{"reset", "--all-groups", "--topic", "rt", "--to", "%d", "--execute", "--yes", "--confirm", "%c"}},
	}
}

func main() {
	verbose := flag.Bool("v", false, "show what each command asks, round trip by round trip")
	untimed := flag.Bool("untimed", false, "count only")
	groups := flag.Int("groups", 60, "groups that have committed")
	partitions := flag.Int("partitions", 30, "partitions that each has committed")
	flag.Parse()
	ok, err := run(context.Background(), *verbose, !*untimed, *groups, *partitions)
	if err != nil {
		fmt.Fprintln(os.Stderr, "roundtrips:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, verbose, timed bool, groups, partitions int) (ok bool, err error) {
	w, err := measure.Open(ctx)
	if err != nil {
		return false, err
	}
	defer w.Close()
	b := bench{dir: w.Dir, bin: w.Bin}
	if b.kafka, err = kafkatest.StartKafka(ctx, kafkatest.TrioOptions()); err != nil {
		return false, err
	}
	defer b.kafka.Close()
	if err := b.fill(ctx, groups, partitions); err != nil {
		return false, err
	}
	fmt.Printf("%d groups of %d partitions on three nodes\n%-24s %6s %6s %9s %9s\n", groups, partitions, "COMMAND", "TRIPS", "MOST", "NO DELAY", "200 MS")
	ok = true
	for _, j := range jobs() {
		asked, err := b.count(ctx, j)
		if err != nil {
			return false, err
		}
		verdict := ""
		if len(asked) > j.most {
			verdict, ok = " too many", false
		}
		fmt.Printf("%-24s %6d %6d", j.name, len(asked), j.most)
		if timed {
			near, err := b.time(ctx, j, 0)
			if err != nil {
				return false, err
			}
			far, err := b.time(ctx, j, roundTrip)
			if err != nil {
				return false, err
			}
			fmt.Printf(" %7dms %7dms", near.Milliseconds(), far.Milliseconds())
		}
		fmt.Println(verdict)
		for n, what := range asked {
			if verbose {
				fmt.Printf("    %2d  %s\n", n+1, what)
			}
		}
	}
	return ok, nil
}

type bench struct {
	dir, bin string
	kafka    *kafkatest.Kafka
	runs     int
}

func (b *bench) delay(d time.Duration) {
	for _, p := range b.kafka.Proxies() {
		p.Delay(d, 0)
	}
}

// fill makes a topic and the groups' commits on it.
func (b *bench) fill(ctx context.Context, groups, partitions int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.kafka.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if _, err := adm.CreateTopic(ctx, int32(partitions), 3, nil, "rt"); err != nil {
		return err
	}
	var records []*kgo.Record
	for p := range partitions {
		for i := range 100 {
			records = append(records, &kgo.Record{Topic: "rt", Partition: int32(p), Value: []byte(fmt.Sprint(i))})
		}
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	for g := range groups {
		offsets := kadm.Offsets{}
		for p := range partitions {
			offsets.AddOffset("rt", int32(p), 50, -1)
		}
		if err := adm.CommitAllOffsets(ctx, fmt.Sprintf("rt-%d", g), offsets); err != nil {
			return err
		}
	}
	return nil
}

// command is a run of a job with an offset that no run before had.
func (b *bench) command(ctx context.Context, j job) *exec.Cmd {
	b.runs++
	args := []string{"-b", b.kafka.Bootstrap(), "--state-dir", filepath.Join(b.dir, "state")}
	for _, a := range j.args {
		switch a {
		case "%d":
			a = fmt.Sprint(b.runs)
		case "%c":
			a = b.kafka.ID
		}
		args = append(args, a)
	}
	cmd := exec.CommandContext(ctx, b.bin, args...)
	cmd.Env = append(os.Environ(), "HOME="+b.dir, "XDG_CONFIG_HOME="+filepath.Join(b.dir, "config"))
	return cmd
}

// count is what a job asks, round trip by round trip.
func (b *bench) count(ctx context.Context, j job) ([]string, error) {
	steps := kafkatest.StartSteps(50*time.Millisecond, b.kafka.Proxies()...)
	err := b.run(ctx, j)
	return steps.End(), err
}

func (b *bench) run(ctx context.Context, j job) error {
	cmd := b.command(ctx, j)
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("koffset %s: %w\n%s", strings.Join(j.args, " "), err, errs.String())
	}
	return nil
}

// time is how long a job takes where each round trip takes so much longer, the best of two.
func (b *bench) time(ctx context.Context, j job, roundTrip time.Duration) (time.Duration, error) {
	b.delay(roundTrip)
	defer b.delay(0)
	best := time.Hour
	for range 2 {
		start := time.Now()
		if err := b.run(ctx, j); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}
