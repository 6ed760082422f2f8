// The pager: a document that is longer than the screen goes through one, as with git. Nothing is paged but rows on a terminal
// that are all there at once; what is written as it happens never is.

package render

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
)

// pager shows one document. Until it is longer than the screen it is only held back.
type pager struct {
	s     *Streams
	wide  bool // lines may be wider than the screen: less cuts them off, and moves sideways
	held  []byte
	lines int

	cmd  *exec.Cmd
	in   io.WriteCloser
	gone bool // the user has seen enough, and what follows is dropped
}

// SetPager turns the pager off, or on again.
func (s *Streams) SetPager(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noPager = !on
}

// newPager is nil where documents are not paged.
func (s *Streams) newPager(wide bool) *pager {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noPager || s.pg != nil || s.given != nil || !s.OutTTY || s.Height < 2 || s.Screen == nil || s.env("TERM") == "dumb" || s.pagerCommand() == "" {
		return nil
	}
	return &pager{s: s, wide: wide}
}

// pagerCommand is $KOFFSET_PAGER, $PAGER, or less where there is one. An empty one and cat are none, as for git.
func (s *Streams) pagerCommand() string {
	for _, name := range []string{"KOFFSET_PAGER", "PAGER"} {
		if c := strings.TrimSpace(s.env(name)); c != "" {
			if c == "cat" {
				return ""
			}
			return c
		}
	}
	if _, err := exec.LookPath("less"); err == nil {
		return "less"
	}
	return ""
}

// write takes a part of the document. It reports that the document is longer than the screen and no pager can be started.
func (p *pager) write(b []byte) (err error) {
	switch {
	case p.gone:
		return nil
	case p.in != nil:
		if _, err := p.in.Write(b); err != nil {
			p.gone = true // whatever ended it: end tells
		}
		return nil
	}
	p.held = append(p.held, b...)
	if p.lines += bytes.Count(b, []byte("\n")); p.lines < p.s.Height {
		return nil
	}
	if err := p.start(); err != nil {
		return err
	}
	held := p.held
	p.held = nil
	return p.write(held)
}

func (p *pager) start() error {
	command := p.s.pagerCommand()
	p.cmd = exec.Command("sh", "-c", command)
	p.cmd.Stdout, p.cmd.Stderr = p.s.Screen, p.s.Screen
	if p.s.env("LESS") == "" {
		options := "LESS=FRX" // ends by itself at the end of what fits, shows colours, leaves the screen as it is
		if p.wide {
			options += "S"
		}
		p.cmd.Env = append(p.cmd.Environ(), options)
	}
	in, err := p.cmd.StdinPipe()
	if err == nil {
		p.s.clearLine()
		err = p.cmd.Start()
	}
	if err != nil {
		return err
	}
	p.in = in
	p.s.mu.Lock()
	p.s.pg = p
	p.s.mu.Unlock()
	return nil
}

// clearLine wipes a progress line, and writes out what stdout holds back.
func (s *Streams) clearLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearProgress(true)
	_ = s.flush()
}

// endPager waits until the user has read, and then says what was to be said meanwhile: on the screen of a pager it would be
// lost.
func (s *Streams) endPager() {
	s.mu.Lock()
	p := s.pg
	s.mu.Unlock()
	if p == nil {
		return
	}
	_ = p.in.Close()
	err := p.cmd.Wait()
	s.mu.Lock()
	s.pg = nil
	_, _ = s.errWriter().Write(s.heldErr)
	s.heldErr = nil
	s.mu.Unlock()
	if err != nil {
		s.Warn("the pager ended with an error, and may not have shown everything: %s: %v; {{no-pager}} prints without it", s.pagerCommand(), err)
	}
}
