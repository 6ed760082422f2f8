package sink

// One run writes a folder at a time.

import (
	"os"

	"github.com/gofrs/flock"
)

// holdFolder locks the folder itself, so that no file of ours lies among the parts. A second run there is refused: its restore would
// cut the first one's open part, which would then finish without the records that were cut off. The lock of a job does not see it
// where the two are different jobs, or have no checkpoints.
//
// It is nil where a folder cannot be locked, as on Windows and on NFS: nothing is known there about other runs, as before.
func holdFolder(dir string) (*flock.Flock, error) {
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	switch ok, err := lock.TryLock(); {
	case err != nil:
		_ = lock.Close()
		return nil, nil
	case !ok:
		return nil, dirErrorf("stop the other one, or give this one another folder", "another run writes to folder %s", dir)
	}
	return lock, nil
}

// letGo gives the folder back.
func (s *Files) letGo() {
	if s.hold != nil {
		_ = s.hold.Close()
		s.hold = nil
	}
}
