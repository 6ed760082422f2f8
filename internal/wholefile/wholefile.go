// Package wholefile writes files whole or not at all, and reads them with a bound. Everything in koffset that replaces a
// file goes through it.
package wholefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is a file on its way: what is written appears under its name with Keep, and never without.
//
// A place that is not a regular file (a device, a pipe, a terminal) is written to as it is, since replacing it would take it
// from every other program on the machine. A link is followed and stays: what it points to is replaced.
type File struct {
	f      *os.File
	path   string // where the data appears; empty where it is written in place
	closed bool
}

// Create begins a file. A new one gets mode 0600, one that is replaced keeps its mode. The error is the file system's.
func Create(path string) (*File, error) {
	target, inPlace, err := place(path)
	if err != nil {
		return nil, err
	}
	if inPlace {
		f, err := os.OpenFile(target, os.O_WRONLY|os.O_APPEND, 0)
		return &File{f: f}, err
	}
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".tmp-*") // 0600 by CreateTemp's own rule
	if err != nil {
		return nil, err
	}
	w := &File{f: f, path: target}
	if st, err := os.Stat(target); err == nil && st.Mode().Perm() != 0o600 {
		if err := f.Chmod(st.Mode().Perm()); err != nil {
			return nil, errors.Join(err, w.Drop())
		}
	}
	return w, nil
}

// maxLinks is how many links are followed, as the kernel does.
const maxLinks = 40

// place finds where a path leads. inPlace says that it is no regular file, or a descriptor of a process that is only named
// like one: /dev/stdout and its kind.
func place(path string) (target string, inPlace bool, err error) {
	target = path
	for range maxLinks {
		if strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/dev/fd/") {
			return target, true, nil
		}
		st, err := os.Lstat(target)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return target, false, nil
		case err != nil:
			return "", false, err
		case st.IsDir():
			return "", false, &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a folder")}
		case st.Mode()&fs.ModeSymlink == 0:
			return target, !st.Mode().IsRegular(), nil
		}
		to, err := os.Readlink(target)
		if err != nil {
			return "", false, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(target), to)
		}
		target = to
	}
	return "", false, &fs.PathError{Op: "write", Path: path, Err: errors.New("too many links")}
}

// Write implements io.Writer.
func (w *File) Write(b []byte) (int, error) { return w.f.Write(b) }

// Keep puts the file in its place: it is synced and renamed, and its folder is synced, so that after a return without error
// it survives a power cut. After an error the old file is as it was. It ends the file.
func (w *File) Keep() error {
	if w.path == "" {
		return w.close()
	}
	// The close comes before the rename even after a failed sync: an open file cannot be renamed everywhere.
	err := errors.Join(w.f.Sync(), w.close())
	if err == nil {
		err = os.Rename(w.f.Name(), w.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(w.f.Name()))
	}
	return SyncDir(filepath.Dir(w.path))
}

// Drop ends the file without keeping it. After Keep it does nothing.
func (w *File) Drop() error {
	if w.closed {
		return nil
	}
	err := w.close()
	if w.path == "" {
		return err
	}
	return errors.Join(err, os.Remove(w.f.Name()))
}

func (w *File) close() error {
	w.closed = true
	return w.f.Close()
}

// Write writes a whole file, as Create, Write and Keep do.
func Write(path string, data []byte) error {
	w, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Drop())
	}
	return w.Keep()
}

// ErrBinary says that what was read is no text: a device, or a file of another kind.
var ErrBinary = errors.New("it is not text")

// ErrTooLarge says that there is more than may be read.
var ErrTooLarge = errors.New("it is too large")

// ReadAll reads a text of at most so many bytes. The error says which bound was broken; ErrBinary is returned at the first
// NUL byte, so that a device that never ends costs nothing.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	var out bytes.Buffer
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		if bytes.IndexByte(chunk[:n], 0) >= 0 {
			return nil, ErrBinary
		}
		if int64(out.Len()+n) > most {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
		}
		out.Write(chunk[:n])
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Read reads a file as ReadAll does. The error is the file system's, or ReadAll's.
func Read(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, most)
}
