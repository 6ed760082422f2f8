package consume_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/sandbox"
	"github.com/koffset/koffset/offset"
)

// Three records of orders, partition 0, from ten o'clock on. The cluster is the one of `koffset sandbox`; in a program
// of your own it is whatever the kgo.Client reaches.
func ExampleRun() {
	ctx := context.Background()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	cluster, err := sandbox.Start(ctx, sandbox.Config{Now: now})
	if err != nil {
		log.Print(err)
		return
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()))
	if err != nil {
		log.Print(err)
		return
	}
	defer client.Close()

	clock := offset.Clock{Now: now, Zone: time.UTC}
	from, err := offset.ParsePosition("@2026-11-29T10:00Z", offset.RoleStart, clock)
	if err != nil {
		log.Print(err)
		return
	}
	until, err := offset.ParsePosition("+3", offset.RoleEnd, clock)
	if err != nil {
		log.Print(err)
		return
	}
	summary, err := consume.Run(ctx, consume.Config{
		Client: client,
		Topics: []offset.TopicSpec{{Topic: "orders", Partitions: []int32{0}}},
		Start:  consume.Start{Position: &from},
		End:    consume.End{Until: &until},
		Sink: consume.SinkFunc(func(_ context.Context, b consume.Batch) error {
			for _, r := range b.Records {
				fmt.Printf("%s:%d %d %s\n", b.Topic, b.Partition, r.Offset, r.Key)
			}
			return nil
		}),
	})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(summary.Ended, summary.Stats.Records, "records")
	// Output:
	// orders:0 1320 o-105280
	// orders:0 1321 o-105284
	// orders:0 1322 o-105288
	// finished 3 records
}
