package migrate

// Asking for the first records at or after many times.

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// lookupsInFlight bounds the requests under way at once, over all leaders.
const lookupsInFlight = 4

// ask is one question for the first record at or after a time.
type ask struct {
	part offset.Partition
	at   time.Time
	set  func(inspect.Lookup)
}

// lookupTimes asks for many times. One request may name a partition once, so several times of one partition go out in
// several requests; the same time is asked once.
func lookupTimes(ctx context.Context, cl *kgo.Client, asks []*ask) {
	type question struct {
		part offset.Partition
		ms   int64
	}
	want := map[question][]*ask{}
	for _, a := range asks {
		q := question{a.part, a.at.UnixMilli()}
		want[q] = append(want[q], a)
	}
	var layers []map[offset.Partition]offset.Instant
	depth := map[offset.Partition]int{}
	for q := range want {
		d := depth[q.part]
		depth[q.part]++
		if d == len(layers) {
			layers = append(layers, map[offset.Partition]offset.Instant{})
		}
		layers[d][q.part] = offset.Instant{Time: time.UnixMilli(q.ms).UTC()}
	}
	var eg errgroup.Group
	eg.SetLimit(lookupsInFlight)
	var mu sync.Mutex
	for _, layer := range layers {
		eg.Go(func() error {
			// A mirror copies records of aborted transactions or not; either way the first record by time is at or before.
			got := inspect.FindTimes(ctx, cl, offset.ReadUncommitted, maps.Clone(layer))
			mu.Lock()
			defer mu.Unlock()
			for p, i := range layer {
				l, ok := got[p]
				if !ok {
					l.Err = fmt.Errorf("%s: the broker left it out of its answer", p)
				}
				for _, a := range want[question{p, i.Time.UnixMilli()}] {
					a.set(l)
				}
			}
			return nil
		})
	}
	_ = eg.Wait() // every error was told with its answer
}
