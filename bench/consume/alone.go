//go:build realkafka

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fill writes the topic, unless it is there with as many records.
func fill(ctx context.Context, addr, topic string, partitions, records int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.MaxBufferedRecords(200_000), kgo.ProducerLinger(5*time.Millisecond))
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
			return fmt.Errorf("topic %s has %d records, not %d: delete it, or name another with -topic", topic, have, records)
		}
	}
	keep := "-1"
	resp, err := adm.CreateTopic(ctx, int32(partitions), 1, map[string]*string{"retention.ms": &keep}, topic)
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		return err
	}
	var first error
	// Compressible as text is, not as zeros are.
	rnd := rand.New(rand.NewPCG(1, 2))
	words := make([][]byte, 1000)
	for i := range words {
		w := make([]byte, 100)
		for j := range w {
			w[j] = "abcdefghijklmnop"[rnd.IntN(16)]
		}
		words[i] = w
	}
	for i := range records {
		cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: words[rnd.IntN(len(words))]}, func(_ *kgo.Record, err error) {
			if err != nil && first == nil {
				first = err
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return first
}

// readAlone reads the topic to its end with the options that the engine uses, and touches every record as a program that
// does something with them would. With an out it writes the values there, a line each, through a buffer as large as koffset's.
func readAlone(ctx context.Context, addr, topic string, out io.Writer) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	ends, err := kadm.NewClient(cl).ListCommittedOffsets(ctx, topic)
	cl.Close()
	if err != nil {
		return err
	}
	at := map[int32]kgo.Offset{}
	var left int64
	ends.Each(func(o kadm.ListedOffset) { at[o.Partition] = kgo.NewOffset().At(0); left += o.Offset })
	cl, err = kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxWait(500*time.Millisecond), kgo.FetchMaxBytes(8<<20), kgo.FetchMaxPartitionBytes(1<<20), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	var bytes int64
	w := bufio.NewWriterSize(out, 128<<10)
	for left > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		fs.EachRecord(func(r *kgo.Record) {
			bytes += int64(len(r.Value))
			left--
			if out != nil {
				_, _ = w.Write(r.Value) // an error stays in w
				_ = w.WriteByte('\n')
			}
		})
	}
	if out != nil {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if bytes == 0 {
		return fmt.Errorf("nothing was read")
	}
	return nil
}
