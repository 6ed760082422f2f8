package kafkatest

// Waiting for a condition of something outside this process, with a deadline.

import (
	"strconv"
	"testing"
	"time"
)

// Deadline is how long [Until] waits. Long, since it only passes when something is broken: two cores may run several brokers.
const Deadline = 60 * time.Second

// Until calls ok, at first often and then every 100 ms, until it says true, and fails the test after [Deadline]. what completes
// "waited in vain until …".
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	over := time.NewTimer(Deadline)
	defer over.Stop()
	pause := 2 * time.Millisecond
	for !ok() {
		tick := time.NewTimer(pause)
		select {
		case <-t.Context().Done():
			tick.Stop()
			t.Fatalf("the test ended before: %s", what)
		case <-over.C:
			tick.Stop()
			t.Fatalf("waited %s in vain until %s", Deadline, what)
		case <-tick.C:
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

func itoa(i int) string { return strconv.Itoa(i) }
