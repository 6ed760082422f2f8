//go:build realkafka

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/bench/internal/measure"
)

// fill writes the topic, as many records on each partition.
func fill(ctx context.Context, addr, topic string, partitions, records int) error {
	return measure.FillTopic(ctx, addr, topic, partitions, records, func(i int, value []byte) *kgo.Record {
		return &kgo.Record{Partition: int32(i % partitions), Value: value}
	}, kgo.RecordPartitioner(kgo.ManualPartitioner()))
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
