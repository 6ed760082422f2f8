//go:build realkafka

// Command find measures koffset find beside koffset consume to /dev/null, kcat piped into grep, and find on one partition by a
// partitioner: 5,000,000 records of 100 bytes with keys, lz4, on 4 partitions. They take turns, and medians are compared.
//
//	go run -tags realkafka ./bench/find                    starts a Kafka of its own
//	go run -tags realkafka ./bench/find -addr HOST:PORT    uses a running one, and leaves its topic there
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

func main() {
	addr := flag.String("addr", "", "a running broker; empty starts one")
	runs := flag.Int("runs", 5, "counted runs of each contender")
	records := flag.Int("records", 5_000_000, "records of the topic")
	partitions := flag.Int("partitions", 4, "partitions of the topic")
	flag.Parse()
	ok, err := run(context.Background(), *addr, *partitions, *runs, *records)
	if err != nil {
		fmt.Fprintln(os.Stderr, "find:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// goal is what key and contains are held to, beside consume.
const goal = 0.9

const (
	nameConsume = "koffset consume > /dev/null"
	nameKey     = "koffset find --key"
	nameHas     = "koffset find --value-contains"
)

func run(ctx context.Context, addr string, partitions, runs, records int) (bool, error) {
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
	topic := fmt.Sprint("koffset-bench-find-", partitions)
	if err := fill(ctx, addr, topic, partitions, records); err != nil {
		return false, err
	}
	list, err := contenders(w.Bin, w.Dir, addr, topic, records)
	if err != nil {
		return false, err
	}
	if err := measure.TakeTurns(ctx, list, runs); err != nil {
		return false, err
	}
	return report(list, records), nil
}

func report(list []*measure.Contender, records int) bool {
	by := map[string]float64{}
	for _, c := range list {
		by[c.Name] = measure.Middle(c.Seconds)
	}
	fmt.Printf("%-44s %8s %12s %10s %8s %8s\n", "CONTENDER", "SECONDS", "RECORDS/S", "OF-CONSUME", "CPU-S", "MEMORY")
	for _, c := range list {
		fmt.Printf("%-44s %8.2f %12.0f %10.2f %8.2f %7dM\n", c.Name, by[c.Name], float64(records)/by[c.Name], by[nameConsume]/by[c.Name], measure.Middle(c.CPU), c.RSS>>20)
	}
	ok := true
	for _, name := range []string{nameKey, nameHas} {
		if r := by[nameConsume] / by[name]; r < goal {
			fmt.Printf("%s: %.2f of consume, the goal is %.2f\n", name, r, goal)
			ok = false
		}
	}
	return ok
}

func contenders(bin, dir, addr, topic string, records int) ([]*measure.Contender, error) {
	home := filepath.Join(dir, "home")
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	koffset := func(name string, args ...string) *measure.Contender {
		return &measure.Contender{Name: name, Run: func(ctx context.Context) (measure.Sample, error) {
			return measure.Run(ctx, measure.Command{Name: name, Path: bin, Args: append([]string{"-b", addr}, args...), Env: env, Out: null})
		}}
	}
	last := fmt.Sprint("key-", records-1)
	list := []*measure.Contender{
		koffset(nameConsume, "consume", topic, "--from", "earliest", "--until", "latest", "-q"),
		koffset(nameKey, "find", topic, "--key", last),
		koffset(nameHas, "find", topic, "--value-contains", "the needle"),
		koffset("koffset find --match", "find", topic, "--match", "the ne+dle"),
		koffset("koffset find --count", "find", topic, "--count"),
		koffset("koffset find --key --partitioner murmur2", "find", topic, "--key", last, "--partitioner", "murmur2"),
		koffset("koffset find --key-prefix key-1 --first", "find", topic, "--key-prefix", "key-1", "--first"),
	}
	if kcat, err := exec.LookPath("kcat"); err == nil {
		line := fmt.Sprintf("%s -C -b %s -t %s -o beginning -e -q -f '%%p %%o %%k %%s\\n' | grep -F 'the needle'", kcat, addr, topic)
		list = append(list, &measure.Contender{Name: "kcat | grep", Run: func(ctx context.Context) (measure.Sample, error) {
			return measure.Run(ctx, measure.Command{Name: "kcat", Path: "/bin/sh", Args: []string{"-c", line}, Out: null})
		}})
	}
	return list, nil
}

// fill writes the topic. One value in the middle has the needle.
func fill(ctx context.Context, addr, topic string, partitions, records int) error {
	return measure.FillTopic(ctx, addr, topic, partitions, records, func(i int, value []byte) *kgo.Record {
		if i == records/2 {
			value = []byte("here is the needle that is looked for")
		}
		return &kgo.Record{Key: []byte(fmt.Sprint("key-", i)), Value: value}
	})
}
