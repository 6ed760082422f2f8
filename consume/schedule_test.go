package consume

import (
	"testing"
	"time"
)

func at(s float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(s * float64(time.Second)))
}

func TestSchedulerInterval(t *testing.T) {
	s := newScheduler(Checkpoints{Interval: 10 * time.Second, Timeout: time.Minute}, 5, at(0))
	if s.ready(at(9.9)) || !s.ready(at(10)) {
		t.Fatal("the first checkpoint is due after one interval")
	}
	if id := s.begin(at(10)); id != 5 {
		t.Fatalf("first id %d, want 5", id)
	}
	if !s.next().IsZero() {
		t.Fatal("one is running, and one is the limit: nothing may begin")
	}
	if !s.complete(5, at(12)) {
		t.Fatal("complete")
	}
	if got := s.next(); !got.Equal(at(20)) {
		t.Fatalf("next at %v, want 20 s: the interval counts from begin to begin", got)
	}
	// One takes three intervals: the begins that were missed are not made up for.
	s.begin(at(20))
	s.complete(6, at(51))
	if !s.ready(at(51)) {
		t.Fatal("overdue: begins at once")
	}
	s.begin(at(51))
	s.complete(7, at(52))
	if got := s.next(); !got.Equal(at(60)) {
		t.Fatalf("next at %v, want 60 s, on the grid", got)
	}
}

func TestSchedulerPause(t *testing.T) {
	s := newScheduler(Checkpoints{Interval: 10 * time.Second, MinPause: 8 * time.Second, Timeout: time.Minute}, 1, at(0))
	s.begin(at(10))
	s.complete(1, at(15))
	if got := s.next(); !got.Equal(at(23)) {
		t.Fatalf("next at %v, want 23 s: 8 s after the end", got)
	}
	// A pause above the interval raises it.
	s = newScheduler(Checkpoints{Interval: time.Second, MinPause: 30 * time.Second, Timeout: time.Minute}, 1, at(0))
	if got := s.next(); !got.Equal(at(30)) {
		t.Fatalf("next at %v, want 30 s", got)
	}
}

func TestSchedulerTimeout(t *testing.T) {
	s := newScheduler(Checkpoints{Interval: time.Second, Timeout: 5 * time.Second, Tolerable: 1}, 1, at(0))
	s.begin(at(1))
	if got := s.wake(); !got.Equal(at(6)) {
		t.Fatalf("wakes at %v, want 6 s", got)
	}
	if ids := s.expire(at(5.9)); len(ids) != 0 {
		t.Fatalf("dropped %v before its timeout", ids)
	}
	if ids := s.expire(at(6)); len(ids) != 1 || ids[0] != 1 {
		t.Fatalf("dropped %v, want 1", ids)
	}
	if s.complete(1, at(7)) {
		t.Fatal("the late end of a dropped checkpoint counts")
	}
	if s.tooMany() {
		t.Fatal("one failure is tolerable")
	}
	s.begin(at(7))
	s.fail(2, at(8))
	if !s.tooMany() {
		t.Fatal("two in a row are one too many")
	}
	// A success in between starts the count anew.
	s = newScheduler(Checkpoints{Interval: time.Second, Timeout: 5 * time.Second, Tolerable: 1}, 1, at(0))
	for i := range 6 {
		id := s.begin(at(float64(i)))
		if i%2 == 0 {
			s.fail(id, at(float64(i)))
		} else {
			s.complete(id, at(float64(i)))
		}
		if s.tooMany() {
			t.Fatalf("too many after %d, though every second one succeeds", i)
		}
	}
}

func TestSchedulerConcurrent(t *testing.T) {
	s := newScheduler(Checkpoints{Interval: time.Second, Timeout: time.Minute, MaxConcurrent: 2}, 1, at(0))
	s.begin(at(1))
	if !s.ready(at(2)) {
		t.Fatal("a second one may overlap")
	}
	s.begin(at(2))
	if s.ready(at(3)) {
		t.Fatal("a third one may not")
	}
	s.complete(2, at(3))
	if !s.ready(at(3)) {
		t.Fatal("a free place again")
	}
}
