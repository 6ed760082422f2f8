package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/koffset/koffset/checkpointfile"
)

// ReadFile reads a whole file that the command line names; - is standard input.
func (a *App) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.Streams.In)
	}
	return os.ReadFile(a.Path(name))
}

// FileFault is a file that cannot be used: the command line named it, so it is a usage error.
func FileFault(err error) error {
	var fe *checkpointfile.FileError
	if errors.As(err, &fe) {
		return &Fault{Code: ExitUsage, Err: err, Hint: fe.Hint}
	}
	return err
}

// Path is a file named on the command line, from the folder that koffset runs in.
func (a *App) Path(name string) string {
	if filepath.IsAbs(name) || a.Dir == "" {
		return name
	}
	return filepath.Join(a.Dir, name)
}
