package sink

// Whose parts lie in a folder. A job that was killed before its first record leaves an empty folder and a checkpoint that says so. If
// another job writes there in the meantime, the first one's restore would cut that one's parts and write behind them: to it they look
// like its own, written after the checkpoint. So a folder bears the name of the line of checkpoints that its parts belong to, and each
// of them has it too.

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/wholefile"
)

// ownerFile is not listed by a plain ls, nor matched by *.
const ownerFile = ".koffset-owner"

// owners are the names in the folder's file: one, or two while a run that took the folder over from another job's checkpoint has no
// checkpoint of its own. nil where there is no such file.
func (s *Files) owners() ([]string, error) {
	data, err := wholefile.Read(filepath.Join(s.dir, ownerFile), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(data)), err
}

func (s *Files) putOwners(names ...string) error {
	return wholefile.Write(filepath.Join(s.dir, ownerFile), []byte(strings.Join(names, "\n")+"\n"))
}

// own makes the folder this run's: a fresh start has looked that nothing of others is in it.
func (s *Files) own() error {
	s.owner = rand.Text()
	return s.putOwners(s.owner)
}

// reown holds the folder to the owner that a checkpoint names. One that names none was written by an older koffset, which made no
// such file either: where there is one, another run began in the folder after it. A file that is gone was taken away together with
// the parts, as nobody but a fresh start writes it. touches says that parts would be cut, closed or removed.
func (s *Files) reown(r *consume.Restored, owner string, touches bool) error {
	have, err := s.owners()
	if err != nil {
		return err
	}
	if have != nil && !slices.Contains(have, owner) && touches {
		return dirErrorf("start over in an empty folder, and give each job a folder of its own",
			"folder %s belongs to another run: it began there after checkpoint %d, and the parts there are not this job's", s.dir, r.Checkpoint)
	}
	if s.owner = owner; owner == "" {
		return nil
	}
	if r.Elsewhere {
		// Until this run has a checkpoint of its own it may have to be restored from the other job's again.
		s.owner, s.takenAt = rand.Text(), r.Checkpoint
		s.takenOver = true
		return s.putOwners(owner, s.owner)
	}
	return s.putOwners(owner)
}

// settleOwner drops the owner that the folder was taken over from, once a checkpoint of this run is on disk.
func (s *Files) settleOwner(checkpoint int64) error {
	if !s.takenOver || checkpoint <= s.takenAt {
		return nil
	}
	s.takenOver = false
	return s.putOwners(s.owner)
}
