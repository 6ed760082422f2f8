//go:build unix

package wholefile_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/koffset/koffset/internal/wholefile"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the folder holds %v, want %v", got, names)
	}
}

func TestWriteNewAndOld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := wholefile.Write(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("a new file has mode %v", st.Mode())
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(path, []byte("two")); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o644 {
		t.Errorf("a replaced file has mode %v", st.Mode())
	}
	if got := read(t, path); got != "two" {
		t.Errorf("%q", got)
	}
	w, err := wholefile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, "three")
	if err := w.Drop(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "two" {
		t.Errorf("a file that was dropped left %q", got)
	}
	only(t, dir, "f")
}

// A pipe is written to, and is a pipe afterwards.
func TestWriteIntoPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		b, _ := os.ReadFile(path)
		got <- string(b)
	}()
	if err := wholefile.Write(path, []byte("through")); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "through" {
		t.Errorf("the reader got %q", s)
	}
	if st, err := os.Lstat(path); err != nil || st.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("it is no pipe any more: %v, %v", st.Mode(), err)
	}
	only(t, dir, "fifo")
}

// A device is never replaced, also not through a link to it. The link lies in a folder of the test, so that a fault here
// costs the link and not the machine's device.
func TestWriteIntoDevice(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "null")
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(link, []byte("gone")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", st.Mode(), err)
	}
	if st, err := os.Stat("/dev/null"); err != nil || st.Mode()&fs.ModeCharDevice == 0 {
		t.Fatalf("/dev/null is %v, %v", st.Mode(), err)
	}
	only(t, dir, "null")
}

func TestWriteThroughLinks(t *testing.T) {
	dir := t.TempDir()
	far := filepath.Join(dir, "far")
	if err := os.Mkdir(far, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join("far", "target"), link); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"new", "again"} { // the first time the link leads nowhere
		if err := wholefile.Write(link, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(far, "target")); got != text {
			t.Errorf("the target holds %q", got)
		}
	}
	if st, _ := os.Lstat(link); st.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(loop, nil); err == nil {
		t.Error("a link to itself was written")
	}
	if err := wholefile.Write(far, nil); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder was written: %v", err)
	}
}

func TestReadAllIsBounded(t *testing.T) {
	if b, err := wholefile.ReadAll(strings.NewReader("12345"), 5); err != nil || string(b) != "12345" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := wholefile.ReadAll(strings.NewReader("123456"), 5); err == nil {
		t.Error("six bytes were read where five are the most")
	}
	counted := &counter{}
	if _, err := wholefile.ReadAll(counted, 1<<30); !errors.Is(err, wholefile.ErrBinary) || counted.n > 1<<20 {
		t.Errorf("%v after %d bytes", err, counted.n)
	}
	if _, err := wholefile.Read("/dev/zero", 1<<30); err == nil {
		t.Error("/dev/zero was read")
	}
}

// counter never ends, as /dev/zero does.
type counter struct{ n int }

func (c *counter) Read(b []byte) (int, error) {
	clear(b)
	c.n += len(b)
	return len(b), nil
}

func TestOpenAppendRefusesLinks(t *testing.T) {
	dir := t.TempDir()
	secret, link := filepath.Join(dir, "secret"), filepath.Join(dir, "audit.jsonl")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if f, err := wholefile.OpenAppend(link); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := os.Stat(secret); err == nil {
		t.Error("the link's target was created")
	}
	f, err := wholefile.OpenAppend(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(bytes.Repeat([]byte("x"), 3))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
