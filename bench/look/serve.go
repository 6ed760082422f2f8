//go:build realkafka

package main

// serve, watch and the lag in time: a refresh against the same requests made bare, in this process and in turn; a scrape and
// the memory of a `koffset serve` of its own; drawing the live view; the exact lag in time of 2,000 partitions.

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/internal/serve"
	"github.com/koffset/koffset/internal/watch"
	"github.com/koffset/koffset/offset"
)

func serveRows(ctx context.Context, addr, bin string, runs int) ([]measure.Row, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var rows []measure.Row
	for _, f := range []func(context.Context, *kgo.Client, int) (measure.Row, error){refreshRow, redrawRow, lagTimeRow} {
		row, err := f(ctx, cl, runs)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	row, err := scrapeRow(ctx, addr, bin, runs)
	return append(rows, row), err
}

func sampler(cl *kgo.Client, match func(inspect.Group) bool) *inspect.Sampler {
	return &inspect.Sampler{Client: cl, Match: match, History: inspect.NewHistory(inspect.DefaultRules()), Now: time.Now}
}

func refreshRow(ctx context.Context, cl *kgo.Client, runs int) (measure.Row, error) {
	s := serve.New(serve.Options{
		Connect: func(context.Context) (*inspect.Sampler, error) {
			return sampler(cl, func(inspect.Group) bool { return true }), nil
		},
		Interval: 15 * time.Second, Timeout: time.Minute,
		PerPartition: true, Costs: &serve.Costs{}, Now: time.Now, Warn: func(string, ...any) {},
	})
	var ours, base []time.Duration
	for i := range runs + 2 {
		a := time.Now()
		if err := s.Refresh(ctx); err != nil {
			return measure.Row{}, err
		}
		b := time.Now()
		if err := bareGroups(ctx, cl, nil); err != nil {
			return measure.Row{}, err
		}
		if i > 1 { // the first two learn the retention and probe
			ours, base = append(ours, b.Sub(a)), append(base, time.Since(b))
		}
	}
	r := measure.Row{Job: "serve: a refresh of every partition", Ours: measure.Median(ours), Base: measure.Median(base), MaxRatio: 2, BaseLabel: "requests alone"}
	r.Ratio = float64(r.Ours) / float64(r.Base)
	return r, nil
}

func redrawRow(ctx context.Context, cl *kgo.Client, runs int) (measure.Row, error) {
	c := &watch.Collector{Sampler: sampler(cl, func(g inspect.Group) bool { return g.Name == "wide" })}
	m := watch.New("bench", true).Resize(200, 60)
	var ours []time.Duration
	for range runs {
		f := c.Look(ctx)
		if f.Err != nil {
			return measure.Row{}, f.Err
		}
		a := time.Now()
		m = m.Take(f)
		if n := len(m.View(true)); n != 60 {
			return measure.Row{}, fmt.Errorf("the view has %d lines", n)
		}
		ours = append(ours, time.Since(a))
	}
	return measure.Row{Job: "watch: draw 2,000 partitions", Ours: measure.Median(ours), MaxTime: 50 * time.Millisecond}, nil
}

func lagTimeRow(ctx context.Context, cl *kgo.Client, runs int) (measure.Row, error) {
	// The group is at the log end, so the records are asked for at offset 0, one a partition.
	topics, err := inspect.ReadTopics(ctx, cl, []string{"wide"})
	if err != nil {
		return measure.Row{}, err
	}
	var asks []records.Span
	for _, p := range topics["wide"].Partitions {
		asks = append(asks, records.Span{Partition: offset.Partition{Topic: "wide", Partition: p.Number}, Until: records.ToEnd})
	}
	var ours []time.Duration
	for i := range runs + 1 {
		a := time.Now()
		got := records.Reader{Client: cl}.First(ctx, asks)
		took := time.Since(a)
		for at, l := range got {
			if l.Err != nil || l.Record == nil {
				return measure.Row{}, fmt.Errorf("%v: %+v", at, l)
			}
		}
		if i > 0 {
			ours = append(ours, took)
		}
	}
	return measure.Row{Job: "lag time: the records at 2,000 commits", Ours: measure.Median(ours), MaxTime: 300 * time.Millisecond}, nil
}

// scrapeRow is the time of a compressed scrape, and the largest that the process was after ten refreshes.
func scrapeRow(ctx context.Context, addr, bin string, runs int) (measure.Row, error) {
	r := measure.Row{Job: "serve: a scrape with every partition", MaxTime: 300 * time.Millisecond, MaxMemory: 300 << 20}
	s, err := measure.Serve(ctx, measure.Command{Path: bin, Args: []string{"-b", addr, "serve", "--listen", "127.0.0.1:0", "--interval", "1s"}, Env: []string{"HOME=" + os.TempDir()}})
	if err != nil {
		return r, err
	}
	defer s.Stop()
	refreshes := regexp.MustCompile(`(?m)^koffset_refreshes_total (\d+)`)
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < 10; {
		<-tick.C
		body, _, err := s.Scrape(ctx, "identity")
		if err != nil {
			return r, err
		}
		if m := refreshes.FindStringSubmatch(body); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
	}
	var took []time.Duration
	for range runs {
		body, d, err := s.Scrape(ctx, "gzip")
		if err != nil {
			return r, err
		}
		if len(body) < 100_000 {
			return r, fmt.Errorf("a scrape of %d bytes", len(body))
		}
		took = append(took, d)
	}
	r.Ours = measure.Median(took)
	r.MaxRSS, err = s.Peak()
	return r, err
}
