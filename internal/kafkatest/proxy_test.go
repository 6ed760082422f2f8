package kafkatest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// echo answers every line with itself.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	return ln.Addr().String()
}

type line struct {
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, p *Proxy) line {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return line{c, bufio.NewReader(c)}
}

// say sends a line and waits for its echo, at most for patience.
func (l line) say(text string, patience time.Duration) error {
	if _, err := fmt.Fprintln(l, text); err != nil {
		return err
	}
	return l.hear(text, patience)
}

func (l line) hear(text string, patience time.Duration) error {
	_ = l.SetReadDeadline(time.Now().Add(patience))
	got, err := l.r.ReadString('\n')
	if err == nil && got != text+"\n" {
		err = fmt.Errorf("heard %q, said %q", got, text)
	}
	return err
}

func TestProxy(t *testing.T) {
	p := startProxy(t, echo(t))
	one := dial(t, p)
	if err := one.say("hello", Deadline); err != nil {
		t.Fatal("forward:", err)
	}

	p.Delay(200*time.Millisecond, 0)
	start := time.Now()
	if err := one.say("slow", Deadline); err != nil || time.Since(start) < 200*time.Millisecond {
		t.Fatalf("a round trip of 200 ms took %v (%v)", time.Since(start), err)
	}
	p.Delay(0, 0)

	p.Hold()
	if err := one.say("held", 50*time.Millisecond); err == nil {
		t.Fatal("answered while it holds")
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := one.hear("held", Deadline); err != nil {
		t.Fatal("after the hold:", err)
	}

	p.Cut()
	if err := one.say("cut", Deadline); err == nil {
		t.Fatal("a cut connection answers")
	}
	two := dial(t, p)
	if err := two.say("again", Deadline); err != nil {
		t.Fatal("connect after a cut:", err)
	}

	p.Refuse()
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		c.Close()
		t.Fatal("connected while it refuses")
	}
	if err := two.say("gone", Deadline); err == nil {
		t.Fatal("a connection outlived the refusal")
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := dial(t, p).say("back", Deadline); err != nil {
		t.Fatal("connect after the refusal:", err)
	}
	if p.connections() != 3 {
		t.Fatalf("%d connections were taken, not 3", p.connections())
	}
}
