//go:build realkafka

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/koffset/koffset/bench/internal/measure"
)

var (
	refreshes = regexp.MustCompile(`(?m)^koffset_refreshes_total (\S+)`)
	failures  = regexp.MustCompile(`(?m)^koffset_refresh_failures_total (\S+)`)
	duration  = regexp.MustCompile(`(?m)^koffset_refresh_duration_seconds (\S+)`)
)

// serve runs it until it has refreshed so many times, with the series of every partition, and scrapes it.
func (b *bench) serve(ctx context.Context) (refresh, scrape point, err error) {
	s, err := measure.Serve(ctx, b.command("serve", "--listen", "127.0.0.1:0", "--interval", "1s", "--max-series", "0"))
	if err != nil {
		return refresh, scrape, err
	}
	defer s.Stop()
	var each, took []time.Duration
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for seen := 0.0; len(each) < 2*b.runs; <-tick.C {
		body, d, err := s.Scrape(ctx, "")
		if err != nil {
			return refresh, scrape, err
		}
		if n := number(refreshes, body); n > seen && number(failures, body) == 0 {
			seen = n
			each, took = append(each, time.Duration(number(duration, body)*float64(time.Second))), append(took, d)
		} else if number(failures, body) > 0 {
			return refresh, scrape, fmt.Errorf("serve: a refresh failed")
		}
	}
	refresh.took, scrape.took = measure.Median(each), measure.Median(took)
	refresh.rss, err = s.Peak()
	return refresh, scrape, err
}

func number(of *regexp.Regexp, body string) float64 {
	m := of.FindStringSubmatch(body)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	return n
}
