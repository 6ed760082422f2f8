package inspect

import (
	"sync"
	"time"
)

// Requests for groups that are under way at once to one broker. Eight would wait for the way there and back most of the time when the
// broker is far away: 10,000 groups took 25 round trips to read.
const (
	// readsInFlight requests of fifty groups each are the commits of 6,400 groups.
	readsInFlight = 128
	// Of writes, which are a request for each group, there are more with each answer that comes within quickly, twice as many a
	// round trip: 10,000 groups of one broker are six. What is under way when a command is interrupted is then little more
	// than what the broker does in that time, and can be read back.
	firstWrites = 256
	mostWrites  = 4096
	quickly     = time.Second
)

// lane bounds what is under way at one broker.
type lane struct {
	mu    sync.Mutex
	turn  *sync.Cond
	under int
	limit int // how many may be under way
	most  int // what the limit may grow to
}

func newLane(reads bool) *lane {
	l := &lane{limit: firstWrites, most: mostWrites}
	if reads {
		l.limit, l.most = readsInFlight, readsInFlight
	}
	l.turn = sync.NewCond(&l.mu)
	return l
}

// enter waits for a turn.
func (l *lane) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.under >= l.limit {
		l.turn.Wait()
	}
	l.under++
}

// leave ends a turn that began at a time.
func (l *lane) leave(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.under--
	if time.Since(began) < quickly {
		l.limit = min(l.limit+1, l.most)
	}
	l.turn.Broadcast()
}
