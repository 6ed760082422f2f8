package flink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Where state files lie on this machine.

// MetadataName is the name of a snapshot's main file.
const MetadataName = "_metadata"

// MissingFileError is a state file that a snapshot refers to and that was not found.
type MissingFileError struct {
	Path  string   // as the snapshot names it
	Tried []string // local paths
	// Scheme is set where the snapshot names a remote file, like "s3".
	Scheme string
	dir    string
}

func (e *MissingFileError) Error() string {
	name := path.Base(e.Path)
	dir := e.Path[:max(strings.LastIndexByte(e.Path, '/'), 0)] // path.Dir would make s3:/ of s3://
	switch {
	case e.Scheme != "":
		return fmt.Sprintf("state file %s is not on this machine: copy it to %s, or copy its directory and map %s to it",
			e.Path, filepath.Join(e.dir, name), dir)
	case len(e.Tried) == 1:
		return fmt.Sprintf("state file %s is missing (%s): it was not copied, or deleted by a job that restored the snapshot in claim mode", e.Path, e.Tried[0])
	}
	return fmt.Sprintf("state file %s is missing (tried %s): copy it to %s, or map %s to the directory it is in",
		e.Path, strings.Join(e.Tried, ", "), filepath.Join(e.dir, name), dir)
}

// Unwrap makes errors.Is(err, fs.ErrNotExist) hold.
func (e *MissingFileError) Unwrap() error { return fs.ErrNotExist }

// metadataFile finds the _metadata file that the user means by path.
func metadataFile(path string) (string, error) {
	if scheme, rest, ok := remote(path); ok {
		return "", fmt.Errorf("%s is not on this machine: copy %s and the files beside it here, for %s://%s",
			path, MetadataName, scheme, rest)
	}
	path = localPath(path)
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		return path, nil
	}
	file := filepath.Join(path, MetadataName)
	if _, err := os.Stat(file); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if list, err := List(path); err == nil {
		for _, e := range list {
			if e.Complete {
				return "", fmt.Errorf("%s has no %s of its own: name one of the snapshots in it, like the newest, %s", path, MetadataName, e.Path)
			}
		}
	}
	return "", fmt.Errorf("%s has no %s: an unfinished or failed checkpoint, or not one: %w", path, MetadataName, fs.ErrNotExist)
}

// remote splits a URL of another file system than the local one.
func remote(p string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(p, ":/")
	if !ok || scheme == "file" || len(scheme) < 2 || strings.ContainsAny(scheme, "/.") {
		return "", "", false
	}
	return scheme, strings.TrimLeft(rest, "/"), true
}

// localPath takes Flink's file: off a path: file:/a, file:///a and /a are the same.
func localPath(p string) string {
	rest, ok := strings.CutPrefix(p, "file:")
	if !ok {
		return p
	}
	if strings.HasPrefix(rest, "//") {
		rest = rest[2:]
		if i := strings.IndexByte(rest, '/'); i > 0 { // a host
			rest = rest[i:]
		}
	}
	return rest
}

type resolver struct {
	dir   string
	paths []PathMapping
	// origin, in a copy, finds the shared files that the copy still names by absolute path.
	origin *resolver
}

// locate finds a file: a relative one beside _metadata; an absolute one by the path map, at its own path, beside
// _metadata (a copied savepoint), and where a copied job directory has its shared files.
func (r *resolver) locate(p string, relative bool) (string, error) {
	missing := &MissingFileError{Path: p, dir: r.dir}
	try := func(local string) bool {
		st, err := os.Stat(local)
		if err == nil && st.Mode().IsRegular() {
			return true
		}
		missing.Tried = append(missing.Tried, local)
		return false
	}
	if relative {
		if !filepath.IsLocal(p) {
			return "", fmt.Errorf("state file %q is named as relative and leads out of the snapshot's directory", p)
		}
		local := filepath.Join(r.dir, p)
		if !try(local) {
			return "", missing
		}
		return local, nil
	}
	for _, m := range r.paths {
		if rest, ok := cutDir(p, m.Old); ok {
			local := filepath.Join(m.New, rest)
			if try(local) {
				return local, nil
			}
		}
	}
	if scheme, _, ok := remote(p); ok {
		missing.Scheme = scheme
	} else if local := localPath(p); filepath.IsAbs(local) && try(filepath.Clean(local)) {
		return filepath.Clean(local), nil
	}
	name := path.Base(p)
	if name == ".." || name == "/" || name == "." {
		return "", fmt.Errorf("%q is not the name of a state file", p)
	}
	if local := filepath.Join(r.dir, name); try(local) {
		return local, nil
	}
	for _, sub := range []string{"/taskowned/", "/shared/"} {
		if i := strings.LastIndex(p, sub); i >= 0 && filepath.IsLocal(p[i+1:]) {
			if local := filepath.Join(filepath.Dir(r.dir), p[i+1:]); try(local) {
				return local, nil
			}
		}
	}
	if r.origin != nil {
		return r.origin.locate(p, false)
	}
	return "", missing
}

// cutDir takes the directory old off the beginning of p, whichever way either writes file:.
func cutDir(p, old string) (string, bool) {
	p, old = localPath(p), strings.TrimRight(localPath(old), "/")
	rest, ok := strings.CutPrefix(p, old)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return rest, true
}

func (r *resolver) open(p string, relative bool) (*StateFile, error) {
	local, err := r.locate(p, relative)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(local)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &StateFile{ReaderAt: f, Closer: f, Size: st.Size(), Name: local}, nil
}
