//go:build realkafka

// Command history measures how fast the record of the commits is read: 5,000,000 commits of 1,000 groups in one partition of
// __consumer_offsets, on a real Kafka that it starts and ends; then the same spread over 50 partitions, of which a named group needs one.
//
//	go run -tags realkafka ./bench/history             the table; exit status 1 when a bound does not hold
//	go run -tags realkafka ./bench/history -of 20      a twentieth of it, to see that it works
//	go run -tags realkafka ./bench/history -follow     a look at 10,000 groups, asked for and followed
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/kafkatest"
)

const (
	groups     = 1000
	partitions = 20 // that a group has commits on
	// least is how many records a second of processor time is to read, and most how much memory it may take.
	least = 1_000_000
	most  = 100 << 20
)

func main() {
	of := flag.Int("of", 1, "measure this part of it: 20 is a twentieth")
	follows := flag.Bool("follow", false, "measure a look at 10,000 groups instead, asked for and followed")
	flag.Parse()
	var ok bool
	var err error
	if *follows {
		ok, err = follow(context.Background(), *of)
	} else {
		ok, err = run(context.Background(), 5_000_000 / *of)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, records int) (bool, error) {
	w, err := measure.Open(ctx)
	if err != nil {
		return false, err
	}
	defer w.Close()
	ok := true
	for _, parts := range []int32{1, 50} {
		one, err := measured(ctx, filepath.Join(w.Dir, fmt.Sprint(parts)), w.Bin, parts, records)
		if err != nil {
			return false, err
		}
		ok = ok && one
	}
	return ok, nil
}

// measured fills a cluster whose offsets topic has so many partitions, and reads it.
func measured(ctx context.Context, home, bin string, parts int32, records int) (bool, error) {
	k, err := kafkatest.StartKafka(ctx, kafkatest.Options{Properties: map[string]string{"offsets.topic.num.partitions": fmt.Sprint(parts), "log.cleaner.enable": "false"}})
	if err != nil {
		return false, err
	}
	defer k.Close()
	if err := fill(ctx, k.Bootstrap(), parts, records); err != nil {
		return false, err
	}
	ok := true
	for _, job := range [][]string{{"history", "--all-groups", "--by", "partition", "-o", "tsv"}, {"history", name(7), "--by", "partition", "-o", "tsv"}, {"resolve", "work:0", "--to", "group:" + name(7) + "@-1s", "--out-of-range", "clamp"}} {
		cmd := measure.Command{Name: job[0], Path: bin, Args: append([]string{"-b", k.Bootstrap()}, job...), Env: []string{"HOME=" + home, "GOMAXPROCS=1"}}
		s, err := measure.Run(ctx, cmd)
		if err != nil {
			return false, err
		}
		rate := float64(records) / s.CPU.Seconds()
		all := parts == 1 || job[1] == "--all-groups"
		note := ""
		if all && (rate < least || s.MaxRSS > most) {
			ok, note = false, "  below its bound"
		}
		fmt.Printf("%d partitions, %v: %s, %s processor time, %.2f M records/s of it, %d MB%s\n", parts, job[:2], s.Wall.Round(time.Millisecond), s.CPU.Round(time.Millisecond), rate/1e6, s.MaxRSS>>20, note)
	}
	return ok, nil
}

func name(n int) string { return fmt.Sprintf("group-%04d", n) }

// fill writes the records that a broker would write for commits, as the one client that may.
func fill(ctx context.Context, addr string, parts int32, records int) error {
	byName := kversion.Stable()
	byName.SetMaxKeyVersion(int16(kmsg.OffsetCommit), 9) // version 10 has topic ids
	cl, err := kgo.NewClient(kgo.MaxVersions(byName), kgo.SeedBrokers(addr), kgo.ClientID("__admin_client"), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return err
	}
	defer cl.Close()
	first := kmsg.NewPtrOffsetCommitRequest() // which makes the topic
	first.Group = "first"
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = "work"
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rt.Partitions = append(rt.Partitions, rp)
	first.Topics = append(first.Topics, rt)
	create := kmsg.NewPtrCreateTopicsRequest()
	ct := kmsg.NewCreateTopicsRequestTopic()
	ct.Topic, ct.NumPartitions, ct.ReplicationFactor = "work", partitions, 1
	create.Topics = append(create.Topics, ct)
	if _, err := create.RequestWith(ctx, cl); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; {
		resp, err := first.RequestWith(ctx, cl)
		if err == nil && len(resp.Topics) == 1 && resp.Topics[0].Partitions[0].ErrorCode == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("make %s: %v, %+v", history.Topic, err, resp)
		}
		<-time.NewTimer(100 * time.Millisecond).C
	}
	var failed error
	for i := range records {
		g := name(i % groups)
		key := kmsg.OffsetCommitKey{Version: 1, Group: g, Topic: "work", Partition: int32(i / groups % partitions)}
		value := kmsg.OffsetCommitValue{Version: 3, Offset: int64(i), LeaderEpoch: 0, CommitTimestamp: time.Now().UnixMilli()}
		cl.Produce(ctx, &kgo.Record{Topic: history.Topic, Partition: history.PartitionOf(g, parts), Key: key.AppendTo(nil), Value: value.AppendTo(nil)}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return failed
}
