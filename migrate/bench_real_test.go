//go:build realkafka

package migrate_test

// What an export costs on a real broker: the fingerprints of 2,000 partitions, and 1,001 groups with 102,000 partitions
// against the bare requests that it cannot do without.

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
)

func BenchmarkFingerprints2000Partitions(b *testing.B) {
	cl := real.Kafka(b).Client(b)
	const parts = 2000
	kafkatest.CreateTopic(b, cl, "bench.wide", parts)
	start := time.Now().Add(-time.Hour).UnixMilli()
	for from := int32(0); from < parts; from += 200 {
		var rs []*kgo.Record
		for p := from; p < from+200; p++ {
			for i := range 50 {
				r := kafkatest.Record("bench.wide", p, start+int64(i)*10, fmt.Sprintf("%0100d", i))
				rs = append(rs, r)
			}
		}
		kafkatest.Produce(b, cl, rs...)
	}
	var commits []kafkatest.Committed
	for p := range int32(parts) {
		commits = append(commits, kafkatest.At("bench.wide", p, int64(p%51)))
	}
	kafkatest.Commit(b, cl, "bench.wide.g", commits...)
	for b.Loop() {
		incomplete, err := migrate.ReadGroups(b.Context(), cl, migrate.ExportOptions{Groups: []inspect.Group{{Name: "bench.wide.g"}}, Fingerprints: true},
			migrate.Sink{Begin: func(migrate.Header) error { return nil }, Group: func(g migrate.Group) error {
				for _, r := range g.Rows {
					if r.Around == nil || len(r.Around.At)+len(r.Around.Before) == 0 {
						b.Fatalf("%s at %d has no fingerprint", r.Partition, r.Committed.Offset)
					}
				}
				return nil
			}})
		if err != nil || incomplete {
			b.Fatal(incomplete, err)
		}
	}
	if per := b.Elapsed() / time.Duration(b.N); per > 5*time.Second {
		b.Errorf("%s for the fingerprints of %d partitions, 5 s is the bound", per, parts)
	}
}

func BenchmarkExport1001Groups(b *testing.B) {
	cl := real.Kafka(b).Client(b)
	const parts = 102
	kafkatest.CreateTopic(b, cl, "bench.fleet", parts)
	kafkatest.Produce(b, cl, kafkatest.Records("bench.fleet", 0, 100, time.Now().UnixMilli(), 0)...)
	var commits []kafkatest.Committed
	for p := range int32(parts) {
		commits = append(commits, kafkatest.At("bench.fleet", p, 0))
	}
	var groups []inspect.Group
	var wg sync.WaitGroup
	gate := make(chan struct{}, 8)
	for n := range 1001 {
		g := fmt.Sprintf("bench.fleet.%04d", n)
		groups = append(groups, inspect.Group{Name: g, Type: inspect.TypeClassic})
		gate <- struct{}{}
		wg.Go(func() { kafkatest.Commit(b, cl, g, commits...); <-gate })
	}
	wg.Wait()
	bare := func() time.Duration {
		begin := time.Now()
		if _, _, err := inspect.ListGroups(b.Context(), cl); err != nil {
			b.Fatal(err)
		}
		inspect.Describe(b.Context(), cl, groups)
		names := make([]string, len(groups))
		for i, g := range groups {
			names[i] = g.Name
		}
		inspect.ReadCommits(b.Context(), cl, names)
		topics, err := inspect.ReadTopics(b.Context(), cl, []string{"bench.fleet"})
		if err != nil {
			b.Fatal(err)
		}
		inspect.ReadBounds(b.Context(), cl, inspect.PartitionsOf(topics))
		return time.Since(begin)
	}
	bare() // connections and caches
	var floor, took time.Duration
	for b.Loop() {
		floor += bare()
		begin := time.Now()
		var w *migrate.Writer
		rows := 0
		if _, _, err := inspect.ListGroups(b.Context(), cl); err != nil {
			b.Fatal(err)
		}
		incomplete, err := migrate.ReadGroups(b.Context(), cl, migrate.ExportOptions{Groups: groups}, migrate.Sink{
			Begin: func(h migrate.Header) (err error) { w, err = migrate.NewWriter(io.Discard, h); return err },
			Group: func(g migrate.Group) error { rows += len(g.Rows); return w.Group(g) },
		})
		if err != nil || incomplete || rows != 1001*parts {
			b.Fatal(rows, incomplete, err)
		}
		if err := w.Close(false); err != nil {
			b.Fatal(err)
		}
		took += time.Since(begin)
	}
	ratio := took.Seconds() / floor.Seconds()
	b.ReportMetric(ratio, "x-bare")
	b.ReportMetric(floor.Seconds()/float64(b.N), "bare-s/op")
	if ratio > 3 {
		b.Errorf("an export of 1,001 groups and 102,102 partitions takes %.1f times its bare requests, 3 is the bound", ratio)
	}
}

// BenchmarkFind2000 finds the records of 2,000 partitions on a cluster where they have other offsets.
func BenchmarkFind2000Partitions(b *testing.B) {
	src, dst := real.Kafka(b).Client(b), real.Second(b).Client(b)
	const parts = 2000
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(b, cl, "bench.find", parts)
	}
	start := time.Now().Add(-time.Hour).UnixMilli()
	var rows []migrate.Row
	for from := int32(0); from < parts; from += 200 {
		var rs, copies []*kgo.Record
		for p := from; p < from+200; p++ {
			for i := range 50 {
				r := kafkatest.Record("bench.find", p, start+int64(i)*10, fmt.Sprintf("%0100d", i))
				rs = append(rs, r)
				if i >= 20 {
					c := *r
					copies = append(copies, &c)
				}
			}
		}
		kafkatest.Produce(b, src, rs...)
		kafkatest.Produce(b, dst, copies...)
	}
	var commits []kafkatest.Committed
	for p := range int32(parts) {
		commits = append(commits, kafkatest.At("bench.find", p, 20+int64(p%31)))
	}
	kafkatest.Commit(b, src, "bench.find.g", commits...)
	x, err := migrate.Collect(func(to migrate.Sink) (bool, error) {
		return migrate.ReadGroups(b.Context(), src, migrate.ExportOptions{Groups: []inspect.Group{{Name: "bench.find.g"}}, Fingerprints: true}, to)
	})
	if err != nil {
		b.Fatal(err)
	}
	rows = x.Groups[0].Rows
	for b.Loop() {
		res, err := migrate.TranslateAll(b.Context(), dst, migrate.Query{Rows: rows, Header: x.Header, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}})
		if err != nil {
			b.Fatal(err)
		}
		for _, i := range res.Items {
			if i.Outcome != migrate.Exact || i.Offset != i.Row.Committed.Offset-20 {
				b.Fatalf("%s at %d: %s %d %v", i.Target, i.Row.Committed.Offset, i.Label(), i.Offset, i.Reasons)
			}
		}
	}
}
