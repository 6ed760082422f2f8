package checkpointfile

// Writing a whole file so that a crash leaves the old one or the new one.

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteAtomic replaces a file: a temporary file in the same folder is written, synced and renamed over it, and the folder
// is synced, so that after a return without error the file survives a power cut. Mode 0600. The error is a *FileError.
func WriteAtomic(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".tmp-*") // 0600 by CreateTemp's own rule
	if err != nil {
		return writeError(path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // it is the temporary file; the old one is untouched
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	// The close comes before the rename even after a failed write: an open file cannot be removed everywhere.
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = SyncDir(dir)
	}
	if err != nil {
		return writeError(path, err)
	}
	return nil
}

// SyncDir makes a rename, a new file or a removal in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// Write puts contents into their envelope and writes the file atomically, one line of JSON. It sets the header's digest.
func Write(path string, h *Header, contents any) error {
	data, err := Encode(h, contents)
	if err != nil {
		return err
	}
	return WriteAtomic(path, data)
}

func writeError(path string, err error) error {
	var pe *os.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return &FileError{Path: path, Problem: "cannot be written: " + pe.Err.Error(), Err: err}
	case errors.As(err, &le):
		return &FileError{Path: path, Problem: "cannot be written: " + le.Err.Error(), Err: err}
	}
	return &FileError{Path: path, Problem: "cannot be written: " + err.Error(), Err: err}
}
