package checkpointfile

// Writing a whole file so that a crash leaves the old one or the new one.

import (
	"errors"
	"os"

	"github.com/koffset/koffset/internal/wholefile"
)

// WriteAtomic writes a whole file as internal/wholefile does: a crash leaves the old one or the new one, a device or a pipe
// is written to and never replaced, a new file has mode 0600. The error is a *FileError.
func WriteAtomic(path string, data []byte) error {
	if err := wholefile.Write(path, data); err != nil {
		return writeError(path, err)
	}
	return nil
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
