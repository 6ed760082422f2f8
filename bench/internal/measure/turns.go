package measure

import (
	"context"
	"fmt"
	"slices"
)

// Contender is one of several commands that do the same work, and what its counted runs took.
type Contender struct {
	Name    string
	Run     func(context.Context) (Sample, error)
	Seconds []float64
	CPU     []float64 // seconds of the process; empty where Run does not tell
	RSS     int64
}

// TakeTurns runs each contender once and then the counted times, in turn: the page cache is warm from the second round on.
func TakeTurns(ctx context.Context, list []*Contender, runs int) error {
	for i := range runs + 1 {
		for _, c := range list {
			s, err := c.Run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			if i == 0 {
				continue
			}
			c.Seconds = append(c.Seconds, s.Wall.Seconds())
			if s.CPU > 0 {
				c.CPU = append(c.CPU, s.CPU.Seconds())
			}
			c.RSS = max(c.RSS, s.MaxRSS)
		}
	}
	return nil
}

// Middle is the median of numbers, 0 of none.
func Middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(v))[len(v)/2]
}
