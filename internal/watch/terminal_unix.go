//go:build unix

package watch

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// resizes tells when the terminal's size changes.
func resizes() (<-chan os.Signal, func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGWINCH)
	return ch, func() { signal.Stop(ch) }
}

// suspend gives the terminal back and stops the process, as Ctrl-Z does elsewhere; fg comes back here.
func (s *screen) suspend() error {
	s.leave()
	cont := make(chan os.Signal, 1)
	signal.Notify(cont, syscall.SIGCONT)
	defer signal.Stop(cont)
	// The whole process group, since that is what the shell waits for.
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	// Where nobody could continue it (no shell above), the kernel does not stop the process at all.
	select {
	case <-cont:
	case <-time.After(time.Second):
	}
	return s.enter()
}
