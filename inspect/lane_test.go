package inspect

import (
	"testing"
	"testing/synctest"
	"time"
)

// A broker that answers soon has twice as many writes under way with each round trip, up to a bound; one that takes long has no more
// than at first. Of reads there are always as many.
func TestLane(t *testing.T) {
	for name, tc := range map[string]struct {
		reads     bool
		roundTrip time.Duration
		trips     int
	}{
		"a broker that answers soon": {false, 200 * time.Millisecond, 6},
		"one that takes long":        {false, 2 * time.Second, 40},
		"reads":                      {true, 200 * time.Millisecond, 79},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLane(tc.reads)
				began, highest := time.Now(), 0
				for range 10_000 {
					l.enter()
					l.mu.Lock()
					highest = max(highest, l.under)
					l.mu.Unlock()
					go func() {
						defer l.leave(time.Now())
						time.Sleep(tc.roundTrip)
					}()
				}
				time.Sleep(tc.roundTrip)
				if trips := int(time.Since(began) / tc.roundTrip); trips != tc.trips || highest > l.most {
					t.Errorf("%d round trips, want %d; %d were under way at once", trips, tc.trips, highest)
				}
			})
		})
	}
}
