//go:build !windows

package wholefile

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes a rename, a new file or a removal in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // a file system that cannot sync a folder
	}
	return errors.Join(err, d.Close())
}

// OpenAppend opens a file to append to, and creates it with mode 0600. A symbolic link is refused: whoever may write into
// the folder could otherwise send the lines into any file of the user.
func OpenAppend(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("it is a symbolic link: name the file itself")}
	}
	return f, err
}
