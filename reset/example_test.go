package reset_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/sandbox"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// A plan is made of what the cluster says, and shown. reset.Apply executes it. The cluster is the one of `koffset sandbox`.
func ExamplePrepare() {
	ctx := context.Background()
	cluster, err := sandbox.Start(ctx, sandbox.Config{Now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)})
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

	built, err := reset.Prepare(ctx, client, &reset.Request{
		Verb: "reset", Asked: "earliest",
		Groups:   []inspect.Group{{Name: "shipping"}},
		Scope:    reset.Scope{All: true},
		Position: offset.Position{Kind: offset.Earliest},
	})
	if err != nil {
		log.Print(err)
		return
	}
	for _, g := range built.Failed {
		log.Print(g)
	}
	for _, c := range built.Plan.Changes {
		fmt.Println(c.Partition, c.From.Offset, "to", c.To.Offset, c.How)
	}
	// Output:
	// orders:0 1260 to 0 log-start
	// orders:1 1259 to 0 log-start
	// orders:2 1260 to 0 log-start
	// orders:3 1258 to 0 log-start
}
