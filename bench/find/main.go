//go:build realkafka

// Command find measures koffset find beside koffset consume to /dev/null, kcat piped into grep, and find on one partition by a
// partitioner: 5,000,000 records of 100 bytes with keys, lz4, on 4 partitions. They take turns, and medians are compared.
//
//	go run -tags realkafka ./bench/find                    starts a Kafka of its own
//	go run -tags realkafka ./bench/find -addr HOST:PORT    uses a running one, and leaves its topic there
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
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

// contender is one of those that take turns.
type contender struct {
	name         string
	run          func(context.Context) (measure.Sample, error)
	seconds, cpu []float64
	rss          int64
}

// goal is what key and contains are held to, beside consume.
const goal = 0.9

const (
	nameConsume = "koffset consume > /dev/null"
	nameKey     = "koffset find --key"
	nameHas     = "koffset find --value-contains"
)

func run(ctx context.Context, addr string, partitions, runs, records int) (bool, error) {
	dir, err := os.MkdirTemp("", "koffset-bench-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bin, err := measure.Build(ctx, dir)
	if err != nil {
		return false, err
	}
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
	list, err := contenders(bin, dir, addr, topic, records)
	if err != nil {
		return false, err
	}
	for i := range runs + 1 {
		for _, c := range list {
			s, err := c.run(ctx)
			if err != nil {
				return false, fmt.Errorf("%s: %w", c.name, err)
			}
			if i > 0 { // the page cache is warm from here on
				c.seconds, c.cpu, c.rss = append(c.seconds, s.Wall.Seconds()), append(c.cpu, s.CPU.Seconds()), max(c.rss, s.MaxRSS)
			}
		}
	}
	return report(list, records), nil
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

func report(list []*contender, records int) bool {
	by := map[string]float64{}
	for _, c := range list {
		by[c.name] = median(c.seconds)
	}
	fmt.Printf("%-44s %8s %12s %10s %8s %8s\n", "CONTENDER", "SECONDS", "RECORDS/S", "OF-CONSUME", "CPU-S", "MEMORY")
	for _, c := range list {
		fmt.Printf("%-44s %8.2f %12.0f %10.2f %8.2f %7dM\n", c.name, by[c.name], float64(records)/by[c.name], by[nameConsume]/by[c.name], median(c.cpu), c.rss>>20)
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

func contenders(bin, dir, addr, topic string, records int) ([]*contender, error) {
	home := filepath.Join(dir, "home")
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	koffset := func(name string, args ...string) *contender {
		return &contender{name: name, run: func(ctx context.Context) (measure.Sample, error) {
			return measure.Run(ctx, measure.Command{Name: name, Path: bin, Args: append([]string{"-b", addr}, args...), Env: env, Out: null})
		}}
	}
	last := fmt.Sprint("key-", records-1)
	list := []*contender{
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
		list = append(list, &contender{name: "kcat | grep", run: func(ctx context.Context) (measure.Sample, error) {
			return measure.Run(ctx, measure.Command{Name: "kcat", Path: "/bin/sh", Args: []string{"-c", line}, Out: null})
		}})
	}
	return list, nil
}

// fill writes the topic, unless it is there with as many records. One value in the middle has the needle.
func fill(ctx context.Context, addr, topic string, partitions, records int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.MaxBufferedRecords(200_000), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if ends, err := adm.ListEndOffsets(ctx, topic); err == nil {
		var have int64
		ends.Each(func(o kadm.ListedOffset) { have += max(0, o.Offset) })
		if have == int64(records) {
			return nil
		}
		if have > 0 {
			return fmt.Errorf("topic %s has %d records, not %d: delete it", topic, have, records)
		}
	}
	keep := "-1"
	resp, err := adm.CreateTopic(ctx, int32(partitions), 1, map[string]*string{"retention.ms": &keep}, topic)
	if err = errors.Join(err, resp.Err); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, 1000) // compressible as text is, not as zeros are
	for i := range values {
		v := make([]byte, 100)
		for j := range v {
			v[j] = "abcdefghijklmnop"[rnd.IntN(16)]
		}
		values[i] = v
	}
	var first error
	for i := range records {
		r := &kgo.Record{Topic: topic, Key: []byte(fmt.Sprint("key-", i)), Value: values[rnd.IntN(len(values))]}
		if i == records/2 {
			r.Value = []byte("here is the needle that is looked for")
		}
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil && first == nil {
				first = err
			}
		})
	}
	return errors.Join(cl.Flush(ctx), first)
}
