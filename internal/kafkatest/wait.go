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
	UntilWithin(t, Deadline, what, ok)
}

// UntilWithin is Until with a deadline of its own, for what takes longer on a busy machine: a Java program that starts.
func UntilWithin(t testing.TB, deadline time.Duration, what string, ok func() bool) {
	t.Helper()
	over := time.NewTimer(deadline)
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
			t.Fatalf("waited %s in vain until %s", deadline, what)
		case <-tick.C:
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

func itoa(i int) string { return strconv.Itoa(i) }
