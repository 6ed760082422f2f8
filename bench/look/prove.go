//go:build realkafka

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

const (
	provePartitions = 1000
	proveRecords    = 50
	proveLacking    = 20 // records that the target does not have
)

// proveRow measures an import of 1,000 positions into a second cluster, where each record has another offset. source has the
// export's cluster.
func proveRow(ctx context.Context, source, bin, dir string, env []string, runs int) (measure.Row, error) {
	k, err := kafkatest.StartKafka(ctx, kafkatest.Options{})
	if err != nil {
		return measure.Row{}, err
	}
	defer k.Close()
	for _, c := range []struct {
		addr string
		from int64
	}{{source, 0}, {k.Bootstrap(), proveLacking}} {
		if err := fillProve(ctx, c.addr, c.from); err != nil {
			return measure.Row{}, err
		}
	}
	file := filepath.Join(dir, "prove.jsonl")
	export := measure.Command{Name: "koffset migrate export", Path: bin, Args: []string{"-b", source, "migrate", "export", "prove", "--out", file}, Env: env}
	if _, err := measure.Run(ctx, export); err != nil {
		return measure.Row{}, err
	}
	ours := measure.Command{Name: "koffset migrate import", Path: bin, Args: []string{"-b", k.Bootstrap(), "migrate", "import", file}, Env: env}
	row, err := measure.Alone(ctx, "migrate import, 1,000 positions proved", runs, ours, 3*time.Second)
	row.MaxMemory = 200 << 20
	return row, err
}

// fillProve writes the records from one on into each partition, and at the source the group that stands in the middle of them.
func fillProve(ctx context.Context, addr string, from int64) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	keep := "-1"
	resp, err := adm.CreateTopic(ctx, provePartitions, 1, map[string]*string{"retention.ms": &keep}, "prove")
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		return fmt.Errorf("create prove: %w", err)
	}
	for {
		m, err := adm.Metadata(ctx, "prove")
		if err == nil && m.Topics["prove"].Err == nil && len(m.Topics["prove"].Partitions) == provePartitions && allLed(m) {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	var offsets kadm.Offsets
	for p := range int32(provePartitions) {
		var rs []*kgo.Record
		for i := from; i < proveRecords; i++ {
			rs = append(rs, &kgo.Record{Topic: "prove", Partition: p, Value: fmt.Appendf(nil, "%0100d", i), Timestamp: millis(1710072000000 + i*10)})
		}
		if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
			return err
		}
		offsets.AddOffset("prove", p, proveLacking+int64(p%30), -1)
	}
	if from > 0 {
		return nil
	}
	return adm.CommitAllOffsets(ctx, "prove", offsets)
}
