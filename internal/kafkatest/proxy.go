package kafkatest

// A TCP proxy that has bad days: it delays, holds, cuts and refuses what goes through it.

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards TCP connections from Addr to one target. What happens to them may change at any time, also for connections
// that exist.
type Proxy struct {
	addr, target string

	mu       sync.Mutex
	ln       net.Listener // nil while it refuses
	delay    time.Duration
	jitter   time.Duration
	held     chan struct{} // not nil while it holds; closed when it goes on
	conns    map[net.Conn]bool
	accepted int
	steps    *Steps // not nil while round trips are counted, on connections that are made then
	closed   bool
	running  sync.WaitGroup
}

// startProxy listens on a free port of 127.0.0.1 and forwards to target until the test ends.
func startProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProxy(fmt.Sprintf("127.0.0.1:%d", ports[0]), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// newProxy listens on addr and forwards to target until [Proxy.Close].
func newProxy(addr, target string) (*Proxy, error) {
	p := &Proxy{addr: addr, target: target, conns: map[net.Conn]bool{}}
	return p, p.Accept()
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.addr }

// connections is how many connections it has taken so far.
func (p *Proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Delay holds every byte back for half a round trip in each direction, and for up to jitter more. With a jitter, answers on
// different connections and of different brokers overtake each other; within a connection the order stays.
func (p *Proxy) Delay(roundTrip, jitter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.jitter = roundTrip/2, jitter
}

// Hold accepts connections and bytes and forwards none of them, until [Proxy.Resume]: a broker that hangs, or a firewall
// that drops packets after the connection was made.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = make(chan struct{})
	}
}

// Cut closes every connection at once; new ones are taken again.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

func (p *Proxy) cut() {
	for c := range p.conns {
		_ = c.Close()
	}
}

// Refuse closes every connection and the port: connecting is refused until [Proxy.Accept] or [Proxy.Resume].
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln != nil {
		_ = p.ln.Close()
		p.ln = nil
	}
	p.cut()
}

// Accept opens the port again after [Proxy.Refuse]. The error is that somebody else has the port.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln != nil || p.closed {
		return nil
	}
	ln, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.ln = ln
	p.running.Add(1)
	go p.serve(ln)
	return nil
}

// Resume forwards again: what was held flows on, and the port is open. Delays stay.
func (p *Proxy) Resume() error {
	p.mu.Lock()
	if p.held != nil {
		close(p.held)
		p.held = nil
	}
	p.mu.Unlock()
	return p.Accept()
}

// Close ends it and every connection.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	if p.held != nil {
		close(p.held)
		p.held = nil
	}
	p.mu.Unlock()
	p.Refuse()
	p.running.Wait()
}

func (p *Proxy) serve(ln net.Listener) {
	defer p.running.Done()
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		if !p.keep(client) {
			_ = client.Close()
			continue
		}
		p.running.Add(1)
		go p.connect(client)
	}
}

// keep notes a connection, so that a cut finds it. It is false once the proxy is closed or refuses.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.ln == nil {
		return false
	}
	p.conns[c] = true
	p.accepted++
	return true
}

func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) connect(client net.Conn) {
	defer p.running.Done()
	defer p.drop(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	steps := p.steps
	p.mu.Unlock()
	if steps != nil {
		steps.connect(client, server)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client) })
	both.Go(func() { p.copy(client, server) })
	both.Wait()
}

func (p *Proxy) setSteps(s *Steps) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = s
}

// chunk is what was read at once, and when it may be written.
type chunk struct {
	data []byte
	due  time.Time
}

// copy forwards one direction. Reading goes on while chunks wait for their time: a delay adds to each, and does not slow a
// stream down.
func (p *Proxy) copy(to, from net.Conn) {
	chunks := make(chan chunk, 1024)
	go func() {
		defer close(chunks)
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			if n > 0 {
				chunks <- chunk{buf[:n], p.due(time.Now())}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		p.wait(c.due)
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	// The other direction ends with this one: Kafka's connections are not half closed.
	_ = to.Close()
	_ = from.Close()
	for range chunks { // lets the reader end
	}
}

func (p *Proxy) due(now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	now = now.Add(p.delay)
	if p.jitter > 0 {
		now = now.Add(rand.N(p.jitter))
	}
	return now
}

// wait is over when a chunk's time has come and nothing holds it.
func (p *Proxy) wait(due time.Time) {
	if d := time.Until(due); d > 0 {
		<-time.NewTimer(d).C
	}
	for {
		p.mu.Lock()
		held := p.held
		p.mu.Unlock()
		if held == nil {
			return
		}
		<-held
	}
}
