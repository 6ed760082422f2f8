package flink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/internal/wholefile"
)

// Writing a planned copy: into a hidden directory beside the new one, synced, read back, compared, and only then renamed.

// WriteOptions say how a copy is written.
type WriteOptions struct {
	// SelfContained copies the state files that the original shares by absolute path, too. Before Flink 1.11 a snapshot
	// can only name files by absolute path, so such a copy cannot be moved afterwards.
	SelfContained bool
}

// Written is a copy that was written, read back and found right.
type Written struct {
	Path     string
	Snapshot *Snapshot // the copy, as it was read back
	// Diff is every difference between the positions of the original and of the copy; it equals the plan's rows without
	// those that changed nothing.
	Diff []RewriteRow
	// Shared are the state files that the copy names by absolute path, Copied those that were copied for SelfContained.
	Shared, Copied []string
	Files          int
	Bytes          int64
}

// Write writes the copy to newDir, which must not exist, and never touches the original. The copy is compared with the
// original before newDir appears: an error leaves nothing behind.
func (rw *Rewrite) Write(newDir string, opts WriteOptions) (*Written, error) {
	newDir, err := filepath.Abs(newDir)
	if err != nil {
		return nil, err
	}
	if err := rw.free(newDir); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(newDir), "."+filepath.Base(newDir)+".*")
	if err != nil {
		return nil, err
	}
	w := &copier{rw: rw, tmp: tmp, newDir: newDir, out: &Written{Path: newDir, Shared: rw.Shared}}
	if err := w.all(opts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	if err := rw.free(newDir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	if err := os.Rename(tmp, newDir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	if err := wholefile.SyncDir(filepath.Dir(newDir)); err != nil {
		return nil, err
	}
	w.out.Snapshot, err = w.reopen(newDir)
	return w.out, err
}

// free refuses a directory that exists or lies in the original.
func (rw *Rewrite) free(newDir string) error {
	if _, err := os.Lstat(newDir); err == nil {
		return fmt.Errorf("%s: %w: a copy is never written over anything", newDir, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(newDir))
	if err != nil {
		return err
	}
	old, err := filepath.EvalSymlinks(rw.Snapshot.Path)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(old, parent); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s is inside the snapshot %s, which is not touched", newDir, rw.Snapshot.Path)
	}
	return nil
}

type copier struct {
	rw     *Rewrite
	tmp    string
	newDir string
	out    *Written
	used   map[string]bool   // names in the copy
	taken  map[string]string // a copied shared file, or a part of one, and its new name
}

func (w *copier) all(opts WriteOptions) error {
	rw := w.rw
	w.used, w.taken = map[string]bool{MetadataName: true}, map[string]string{}
	for _, name := range rw.relative {
		w.used[name] = true
		if err := w.file(filepath.Join(rw.Snapshot.Path, name), name, rw.files[name]); err != nil {
			return err
		}
	}
	edits := rw.meta
	if opts.SelfContained {
		more, err := w.selfContained()
		if err != nil {
			return err
		}
		edits = slices.Concat(edits, more)
		sortEdits(edits)
		w.out.Shared = nil
	} else {
		for _, name := range rw.siblings {
			if err := w.file(filepath.Join(rw.Snapshot.Path, name), name, nil); err != nil {
				return err
			}
		}
	}
	if err := w.file(rw.Snapshot.Metadata, MetadataName, edits); err != nil {
		return err
	}
	st, err := os.Stat(rw.Snapshot.Path)
	if err != nil {
		return err
	}
	if err := os.Chmod(w.tmp, st.Mode().Perm()|0o700); err != nil {
		return err
	}
	if err := w.syncDirs(); err != nil {
		return err
	}
	return w.compare()
}

// file copies one file with edits, keeping its permissions, and syncs it.
func (w *copier) file(from, name string, edits []edit) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	st, err := src.Stat()
	if err != nil {
		return err
	}
	if err := w.part(src, name, st.Size(), st.Mode().Perm(), edits); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}

func (w *copier) part(r io.ReaderAt, name string, size int64, perm fs.FileMode, edits []edit) error {
	to := filepath.Join(w.tmp, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm|0o600)
	if err != nil {
		return err
	}
	err = applyEdits(dst, r, size, edits)
	if err == nil {
		err = dst.Sync()
	}
	w.out.Files++
	w.out.Bytes += size + total(edits)
	return errors.Join(err, dst.Close())
}

// selfContained copies shared files and returns the edits that make _metadata name the copies.
func (w *copier) selfContained() ([]edit, error) {
	rw := w.rw
	s := rw.Snapshot
	f, err := os.Open(s.Metadata)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	type named struct {
		h    streamHandle
		path string
	}
	var found []named
	merging := map[int64]extent{} // by their segment's position
	p := &metaParser{c: newCursor(f, 0, s.size), d: s.dialect}
	p.onFile = func(h streamHandle, path []byte) {
		if h.code != streamRelative && !rw.isReplaced(h.pos) {
			found = append(found, named{h, string(path)})
		}
	}
	p.onOperatorHandle = func(pos, end int64, code byte, h streamHandle) {
		if code == opMerging && h.code == streamSegment {
			merging[h.pos] = extent{pos, end}
		}
	}
	if _, err := p.parse(); err != nil {
		return nil, err
	}
	l := &layouter{rw: rw, f: f}
	var edits []edit
	for _, n := range found {
		handle, err := w.share(n.h, n.path)
		if err != nil {
			return nil, err
		}
		e := edit{pos: n.h.pos, old: make([]byte, n.h.end-n.h.pos), new: handle}
		if ext, ok := merging[n.h.pos]; ok {
			// Only segments may follow the code of file merging, so the handle around it becomes a plain one.
			layout, err := l.read(ext.start)
			if err != nil {
				return nil, err
			}
			start, end := ext.start+1, ext.start+5
			if k := len(layout.states); k > 0 {
				end = layout.states[k-1].pos + 8*int64(layout.states[k-1].n)
			}
			states := make([]byte, end-start)
			if _, err := f.ReadAt(states, start); err != nil {
				return nil, err
			}
			e = edit{pos: ext.start, old: make([]byte, ext.end-ext.start), new: slices.Concat([]byte{opPlain}, states, handle)}
		}
		if _, err := f.ReadAt(e.old, e.pos); err != nil {
			return nil, err
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// share copies a shared file, or the segment of it, and returns the handle that names the copy.
func (w *copier) share(h streamHandle, name string) ([]byte, error) {
	key := fmt.Sprintf("%s %d %d", name, h.start, h.size)
	if h.code != streamSegment {
		key = name
	}
	to, ok := w.taken[key]
	if !ok {
		f, err := w.rw.Snapshot.resolver.open(name, false)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if h.start > f.Size || h.size > f.Size-h.start || h.code != streamSegment && f.Size != h.size {
			return nil, fmt.Errorf("%s has %d bytes, and %d from %d on belong to the snapshot: the file is damaged", f.Name, f.Size, h.size, h.start)
		}
		to = w.name(path.Base(name))
		if err := w.part(io.NewSectionReader(f, h.start, h.size), to, h.size, 0o644, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		w.taken[key] = to
		w.out.Copied = append(w.out.Copied, f.Name)
	}
	if w.rw.Snapshot.MetadataVersion < 3 {
		b := binary.BigEndian.AppendUint64([]byte{streamFile}, uint64(h.size))
		return appendUTF(b, "file:"+filepath.ToSlash(filepath.Join(w.newDir, to))), nil
	}
	b := appendUTF([]byte{streamRelative}, to)
	return binary.BigEndian.AppendUint64(b, uint64(h.size)), nil
}

// name finds a free file name in the copy.
func (w *copier) name(base string) string {
	to := base
	for i := 1; w.used[to]; i++ {
		to = fmt.Sprintf("%s-%d", base, i)
	}
	w.used[to] = true
	return to
}

func (w *copier) syncDirs() error {
	return filepath.WalkDir(w.tmp, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return wholefile.SyncDir(p)
	})
}

func (w *copier) reopen(dir string) (*Snapshot, error) {
	s := w.rw.Snapshot
	file := filepath.Join(dir, MetadataName)
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	res := &resolver{dir: dir, paths: s.resolver.paths, origin: s.resolver}
	out, err := parse(f, st.Size(), file, dir, res.open)
	if err != nil {
		return nil, fmt.Errorf("%s: the copy does not read back: %w", file, err)
	}
	out.Path, out.Metadata, out.resolver = dir, file, res
	return out, nil
}

// compare reads the copy back and demands that it differs from the original by the planned rows and nothing else.
func (w *copier) compare() error {
	back, err := w.reopen(w.tmp)
	if err != nil {
		return err
	}
	old := w.rw.Snapshot
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("the copy is not what was planned, and was removed: "+format, args...)
	}
	if back.CheckpointID != old.CheckpointID || back.Operators != old.Operators || len(back.Sources) != len(old.Sources) ||
		len(back.OperatorErrors) != len(old.OperatorErrors) || len(back.OtherSources) != len(old.OtherSources) || back.InFlight != old.InFlight {
		return wrong("it has %s and %s, and the original %d and %d", text.Plural(len(back.Sources), "source"), text.Plural(len(back.OperatorErrors), "error"), len(old.Sources), len(old.OperatorErrors))
	}
	planned := map[string]int64{}
	for _, r := range w.rw.Rows {
		planned[rowKey(r.Source, r.Cluster, r.Topic, r.Partition)] = r.To
	}
	for i := range old.Sources {
		a, b := &old.Sources[i], &back.Sources[i]
		if a.OperatorID != b.OperatorID || a.Kind != b.Kind || len(a.Partitions) != len(b.Partitions) {
			return wrong("source %s", a.OperatorID)
		}
		for j := range a.Partitions {
			p, q := &a.Partitions[j], &b.Partitions[j]
			to, ok := planned[rowKey(a.OperatorID, p.Cluster, p.Topic, p.Partition)]
			switch {
			case p.Cluster != q.Cluster || p.Topic != q.Topic || p.Partition != q.Partition || p.State != q.State ||
				!equal(p.Subtask, q.Subtask) || !equal(p.Stopping, q.Stopping) || p.StoppingMarker != q.StoppingMarker:
				return wrong("partition %d of %s", p.Partition, p.Topic)
			case ok && (q.Next == nil || *q.Next != to):
				return wrong("partition %d of %s is not at %d", p.Partition, p.Topic, to)
			case !ok && (!equal(p.Stored, q.Stored) || p.Marker != q.Marker):
				return wrong("partition %d of %s moved", p.Partition, p.Topic)
			}
			if !equal(p.Next, q.Next) {
				w.out.Diff = append(w.out.Diff, RewriteRow{Source: a.OperatorID, Name: a.Name, UID: a.UID, Cluster: p.Cluster,
					Topic: p.Topic, Partition: p.Partition, From: p.Next, FromMarker: p.Marker, To: to, State: p.State})
			}
		}
	}
	return nil
}

func rowKey(source, cluster, topic string, partition int32) string {
	return strings.Join([]string{source, cluster, topic, fmt.Sprint(partition)}, "/")
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
