package kafkatest

// Round trips, counted one by one whatever the machine does: answers wait until nobody has anything left to ask.

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Steps makes proxies of brokers go in lock step: what the brokers answer is kept back until every request that was sent is
// answered and no further one came for a moment, and is then let go all at once. Each such moment is one round trip that nothing
// could have spared but asking earlier, and their number does not depend on how far away the brokers are, or how busy the
// machine is, as long as a client takes less than the moment from an answer to its next question. A client's connections
// speak Kafka's protocol in plain text.
//
// The TCP handshake is not counted: a proxy accepts at once. Across a network each connection costs one more.
type Steps struct {
	proxies []*Proxy
	quiet   time.Duration

	mu          sync.Mutex
	cond        *sync.Cond // somebody was let go, or it ended
	now         []string   // what was asked since the last step
	asked       [][]string // what was asked in each step
	outstanding int        // requests without an answer
	held        int        // answers that wait
	step        int
	last        time.Time // when anything was sent last
	ended       bool
	running     sync.WaitGroup
}

// stuck is how long a request without an answer holds the others back: a broker that is away, or waits for records.
const stuck = time.Second

// StartSteps begins to count; quiet is the moment without any question after which the answers go. End it with [Steps.End].
func StartSteps(quiet time.Duration, proxies ...*Proxy) *Steps {
	s := &Steps{proxies: proxies, quiet: quiet, last: time.Now()}
	s.cond = sync.NewCond(&s.mu)
	for _, p := range proxies {
		p.setSteps(s)
	}
	s.running.Go(s.run)
	return s
}

// End lets everything go and returns what was asked in each step, such as "OffsetFetch x3", sorted.
func (s *Steps) End() []string {
	for _, p := range s.proxies {
		p.setSteps(nil)
	}
	s.mu.Lock()
	s.ended = true
	s.cond.Broadcast()
	s.mu.Unlock()
	s.running.Wait()
	out := make([]string, len(s.asked))
	for i, names := range s.asked {
		out[i] = counted(names)
	}
	return out
}

func counted(names []string) string {
	n := map[string]int{}
	for _, name := range names {
		n[name]++
	}
	var out []string
	for name, count := range n {
		if count > 1 {
			name = fmt.Sprintf("%s x%d", name, count)
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (s *Steps) run() {
	tick := time.NewTicker(s.quiet / 8)
	defer tick.Stop()
	for range tick.C {
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			return
		}
		still := time.Since(s.last)
		if s.held > 0 && (s.outstanding <= 0 && still >= s.quiet || still >= stuck) {
			s.asked, s.now = append(s.asked, s.now), nil
			s.step++
			s.held, s.last = 0, time.Now()
			s.cond.Broadcast()
		}
		s.mu.Unlock()
	}
}

// request is told of a request that a client sent.
func (s *Steps) request(body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outstanding++
	s.last = time.Now()
	name := "?"
	if len(body) >= 2 {
		name = kmsg.NameForKey(int16(binary.BigEndian.Uint16(body)))
	}
	s.now = append(s.now, name)
}

// answer is told of an answer that a broker sent, and returns the step after which it may go.
func (s *Steps) answer() (after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outstanding--
	s.held++
	s.last = time.Now()
	return s.step
}

// wait returns when answers of a step may go.
func (s *Steps) wait(after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.step == after && !s.ended {
		s.cond.Wait()
	}
}

// connect forwards one connection until it ends.
func (s *Steps) connect(client, server net.Conn) {
	shut := func() { _ = client.Close(); _ = server.Close() }
	type held struct {
		frame []byte
		after int
	}
	answers := make(chan held, 1024)
	var all sync.WaitGroup
	all.Go(func() {
		defer shut()
		messages(client, func(frame []byte) error {
			s.request(frame[4:])
			_, err := server.Write(frame)
			return err
		})
	})
	all.Go(func() {
		defer close(answers)
		messages(server, func(frame []byte) error { answers <- held{frame, s.answer()}; return nil })
	})
	all.Go(func() {
		defer shut()
		for a := range answers {
			s.wait(a.after)
			_, _ = client.Write(a.frame) // a client that is gone wants no answers
		}
	})
	all.Wait()
}

// messages reads a stream of Kafka's protocol, in which each message comes after its size, until it ends or each fails.
func messages(from io.Reader, each func(frame []byte) error) {
	r := bufio.NewReader(from)
	for {
		size, err := r.Peek(4)
		if err != nil {
			return
		}
		frame := make([]byte, 4+int(binary.BigEndian.Uint32(size)))
		if _, err := io.ReadFull(r, frame); err != nil || each(frame) != nil {
			return
		}
	}
}
