package cli

// Files that the command line names: read with a bound, written whole or not at all.

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/wholefile"
	"github.com/koffset/koffset/offset"
)

// maxInput bounds a file that is read into memory, in bytes: an export of a million partitions has about 400 MB.
const maxInput = 1 << 30

// Path is a file named on the command line, from the folder that koffset runs in.
func (a *App) Path(name string) string {
	if filepath.IsAbs(name) || a.Dir == "" {
		return name
	}
	return filepath.Join(a.Dir, name)
}

// IsStdout says that an output is standard output, by one of its names.
func IsStdout(name string) bool {
	return slices.Contains([]string{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, name)
}

// ReadFile reads a whole file that the command line names; - is standard input.
func (a *App) ReadFile(name string) ([]byte, error) {
	var data []byte
	var err error
	if name == "-" {
		data, err = wholefile.ReadAll(a.Streams.In, maxInput)
	} else {
		data, err = wholefile.Read(a.Path(name), maxInput)
	}
	if errors.Is(err, wholefile.ErrBinary) || errors.Is(err, wholefile.ErrTooLarge) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return data, err
}

// WriteFile writes a file that the command line names; where it is standard output, rows go to stderr from then on.
func (a *App) WriteFile(name string, data []byte) error {
	if IsStdout(name) {
		_, err := a.Streams.GiveOut().Write(data)
		return err
	}
	return wholefile.Write(a.Path(name), data)
}

// CreateFile begins a file that the command line names. end puts it in its place, or removes what was written.
func (a *App) CreateFile(name string) (w io.Writer, end func(keep bool) error, err error) {
	if IsStdout(name) {
		return a.Streams.GiveOut(), func(bool) error { return nil }, nil
	}
	f, err := wholefile.Create(a.Path(name))
	if err != nil {
		return nil, nil, err
	}
	return f, func(keep bool) error {
		if keep {
			return f.Keep()
		}
		return f.Drop()
	}, nil
}

// FileFault is a file that cannot be used: the command line named it, so it is a usage error.
func FileFault(err error) error {
	var fe *checkpointfile.FileError
	if errors.As(err, &fe) {
		return &Fault{Kind: offset.KindUsage, Err: err, Hint: fe.Hint}
	}
	return err
}
