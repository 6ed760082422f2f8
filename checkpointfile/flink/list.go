package flink

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Entry is one checkpoint or savepoint in a directory.
type Entry struct {
	Path string
	Kind SnapshotKind
	// Number is N of chk-N, and a savepoint's checkpoint id.
	Number int64
	JobID  string // 32 hex digits, the first six for a savepoint, or empty
	// Complete is unset for a checkpoint without _metadata: Flink writes it last, so the checkpoint is still being
	// written, or failed.
	Complete bool
	// Written is when _metadata was written, or the directory last changed where there is none.
	Written time.Time
	Size    int64 // of _metadata
}

// List returns the checkpoints and savepoints in dir, newest first: by number, as text order would put chk-9 before
// chk-10, and the jobs by their latest snapshot. dir is a job's directory (with chk-N in it), or one above with a
// directory for each job.
func List(dir string) ([]Entry, error) {
	dir = localPath(dir)
	found, err := snapshotsIn(dir, true)
	if err != nil {
		return nil, err
	}
	latest := map[string]time.Time{}
	for _, e := range found {
		if j := e.Path[:len(e.Path)-len(filepath.Base(e.Path))]; e.Written.After(latest[j]) {
			latest[j] = e.Written
		}
	}
	slices.SortFunc(found, func(a, b Entry) int {
		ja, jb := filepath.Dir(a.Path)+string(filepath.Separator), filepath.Dir(b.Path)+string(filepath.Separator)
		if ja != jb {
			return cmp.Or(latest[jb].Compare(latest[ja]), cmp.Compare(ja, jb))
		}
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Path, b.Path))
	})
	return found, nil
}

func snapshotsIn(dir string, jobs bool) ([]Entry, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, d := range list {
		if !d.IsDir() {
			continue
		}
		p := filepath.Join(dir, d.Name())
		if jobs && isHex(d.Name(), 32) {
			sub, err := snapshotsIn(p, false)
			if err != nil {
				return nil, err
			}
			out = append(out, sub...)
			continue
		}
		n, chk := checkpointNumber(d.Name())
		sp := strings.HasPrefix(d.Name(), "savepoint-")
		if !chk && !sp {
			continue
		}
		e := Entry{Path: p, Kind: Checkpoint, Number: n}
		if job := filepath.Base(dir); chk && isHex(job, 32) {
			e.JobID = job
		}
		if sp {
			e.Kind = Savepoint
			if job, _, ok := strings.Cut(strings.TrimPrefix(d.Name(), "savepoint-"), "-"); ok && isHex(job, 6) {
				e.JobID = job
			}
		}
		if err := e.stat(); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (e *Entry) stat() error {
	f, err := os.Open(filepath.Join(e.Path, MetadataName))
	if errors.Is(err, fs.ErrNotExist) {
		if st, err := os.Stat(e.Path); err == nil {
			e.Written = st.ModTime()
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	e.Complete, e.Written, e.Size = true, st.ModTime(), st.Size()
	var head [16]byte
	if _, err := f.ReadAt(head[:], 0); e.Kind == Savepoint && err == nil && binary.BigEndian.Uint32(head[:]) == headerMagic {
		e.Number = int64(binary.BigEndian.Uint64(head[8:]))
	}
	return nil
}

// checkpointNumber returns N of chk-N.
func checkpointNumber(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, "chk-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0
}
