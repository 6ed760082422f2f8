//go:build unix

package conn

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a password command started ends with it at the deadline: each TAB would leave one behind otherwise.
func TestPasswordCommandEndsWithItsChildren(t *testing.T) {
	alive := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	// The child and its own child hold the pipe open as long as they live.
	s := load(t, "sasl.password_command=(sh -c 'sleep 90; :' > "+alive+"; :) & wait; echo x")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := s.secret(ctx, "sasl.password")
		failed <- err
	}()
	f, err := os.Open(alive) // returns when the child has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cancel()
	if err := <-failed; err == nil {
		t.Error("a command that was cut short gave a password")
	}
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(f); err != nil { // ends when no process holds the other end any more
		t.Errorf("its children live on: %v", err)
	}
}

func TestDescendants(t *testing.T) {
	got := descendants(map[int]int{2: 1, 10: 2, 11: 10, 12: 11, 13: 2, 20: 1}, 10)
	if len(got) != 3 || got[0] != 10 || got[1] != 11 || got[2] != 12 {
		t.Errorf("%v", got)
	}
}
