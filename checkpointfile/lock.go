package checkpointfile

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockPause is how long to wait before a lock that somebody holds is tried again.
const lockPause = 20 * time.Millisecond

// WithLock runs do while the process holds the lock of a file that is read, changed and replaced as a whole: the lock is a
// file of the same name with .lock behind it, since the file itself is replaced. It waits for another process until ctx
// ends. The error is do's, or a *FileError.
func WithLock(ctx context.Context, path string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return writeError(path, err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPause); err != nil {
		return writeError(lock.Path(), err)
	}
	defer func() { _ = lock.Close() }() // closing gives the lock back
	return do()
}
