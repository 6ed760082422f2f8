package sink

// A folder of files that holds every record exactly once, also after a kill -9: the open file's synced length is part of
// each checkpoint, and a restored run cuts the file back to it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/wholefile"
	"github.com/koffset/koffset/offset"
)

// FilesOptions of a folder.
type FilesOptions struct {
	// Ext is the extension of the files, such as "jsonl"; empty is "txt".
	Ext string
	// RollBytes begins a new file at the first checkpoint at which the open one has so many bytes; 0 is 1 GiB.
	RollBytes int64
}

// Files writes parts, part-00000001.txt and so on. The one that is written carries .open at its end until a checkpoint
// holds all of it; then it is renamed, once, and never touched again.
type Files struct {
	dir  string
	opts FilesOptions
	enc  Encoder
	buf  []byte
	hold *flock.Flock // on the folder, while it is open; nil where folders cannot be locked

	owner     string // of the folder; empty where a checkpoint of an older koffset was restored
	takenOver bool   // from another job's checkpoint takenAt, and no later one says so yet
	takenAt   int64

	dirMu   sync.Mutex // held while the folder is synced
	mu      sync.Mutex // of what Persist shares with the other methods
	open    *filePart  // nil until the next write begins one
	next    int64      // number of the next part
	closing []*filePart
	dirty   bool // a file was created since the folder was synced
}

type filePart struct {
	number     int64
	file       *os.File
	length     int64
	checkpoint int64 // that holds all of it, in closing
	closed     bool
}

// filesState is what a checkpoint holds. Lengths are in bytes.
type filesState struct {
	Owner   string       `json:"owner,omitempty"`
	Part    int64        `json:"part"` // the open part, or the one that the next write begins
	Length  int64        `json:"length"`
	Closing []closedPart `json:"closing,omitempty"` // complete, and renamed as soon as the checkpoint is
}

type closedPart struct {
	Part   int64 `json:"part"`
	Length int64 `json:"length"`
}

// NewFiles makes a sink of a folder, which is created where it does not exist.
func NewFiles(dir string, enc Encoder, opts FilesOptions) (*Files, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if opts.Ext == "" {
		opts.Ext = "txt"
	}
	if opts.RollBytes == 0 {
		opts.RollBytes = 1 << 30
	}
	return &Files{dir: abs, opts: opts, enc: enc, next: 1}, nil
}

// Info implements consume.Sink.
func (s *Files) Info() consume.SinkInfo {
	return consume.SinkInfo{Kind: "files", Location: s.dir, ExactlyOnce: true}
}

func (s *Files) name(n int64) string {
	return filepath.Join(s.dir, fmt.Sprintf("part-%08d.%s", n, s.opts.Ext))
}
func (s *Files) openName(n int64) string { return s.name(n) + ".open" }

// DirError is a folder that does not fit the checkpoint, or a fresh start.
type DirError struct {
	Problem string
	Hint    string
}

func (e *DirError) Error() string { return e.Problem }

// ErrorKind is always refused: nothing was changed.
func (e *DirError) ErrorKind() offset.ErrorKind { return offset.KindRefused }

func dirErrorf(hint, format string, args ...any) error {
	return &DirError{Problem: fmt.Sprintf(format, args...), Hint: hint}
}

// Open implements consume.Sink. A fresh start wants a folder without parts; a restored one takes back what came after its
// checkpoint, and refuses where that cannot be done. The error is a *DirError, or the file system's.
func (s *Files) Open(_ context.Context, r *consume.Restored) (err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if s.hold, err = holdFolder(s.dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.letGo()
		}
	}()
	found, err := s.scan()
	if err != nil {
		return err
	}
	switch {
	case r == nil:
		if len(found) > 0 {
			return dirErrorf("use an empty folder, or continue from the checkpoint with {{restore latest}}",
				"folder %s has parts of an earlier run, such as %s", s.dir, filepath.Base(found[0].path))
		}
		return s.own()
	}
	var st filesState
	if err := json.Unmarshal(r.State, &st); err != nil || st.Part < 1 || st.Length < 0 {
		return dirErrorf("", "checkpoint %d does not say how long the files were", r.Checkpoint)
	}
	touches := r.TakeBack || slices.ContainsFunc(found, func(f foundPart) bool { return f.open })
	if err := s.reown(r, st.Owner, touches); err != nil {
		return err
	}
	if !r.TakeBack {
		return s.leaveAsIs(found)
	}
	return s.takeBack(r.Checkpoint, st, found)
}

type foundPart struct {
	number int64
	path   string
	open   bool
	length int64
}

// scan lists the parts in the folder, by number.
func (s *Files) scan() ([]foundPart, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var out []foundPart
	for _, e := range entries {
		name, open := strings.CutSuffix(e.Name(), ".open")
		digits, ok := strings.CutPrefix(name, "part-")
		if !ok {
			continue
		}
		digits, _, ok = strings.Cut(digits, ".")
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || n < 1 {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		out = append(out, foundPart{n, filepath.Join(s.dir, e.Name()), open, info.Size()})
	}
	slices.SortFunc(out, func(a, b foundPart) int { return int(a.number - b.number) })
	return out, nil
}

// takeBack brings the folder to where it was at the checkpoint. Everything is looked at before anything is changed.
func (s *Files) takeBack(chk int64, st filesState, found []foundPart) error {
	var do []func() error
	have := map[int64]foundPart{}
	for _, f := range found {
		have[f.number] = f
		switch {
		case f.number < st.Part || f.open:
		default:
			return dirErrorf("restore a newer checkpoint, or start over in an empty folder",
				"%s was closed after checkpoint %d, whose open part is %d: it cannot be taken back, others may have read it", filepath.Base(f.path), chk, st.Part)
		}
		if f.open && f.number > st.Part {
			do = append(do, func() error { return os.Remove(f.path) })
		}
	}
	for _, c := range st.Closing {
		f, ok := have[c.Part]
		switch {
		case !ok:
			continue // it was closed, and taken away by its reader
		case f.length < c.Length || !f.open && f.length != c.Length:
			return tooShort(f, c.Length, chk)
		}
		if f.open {
			do = append(do, func() error { return os.Truncate(f.path, c.Length) }, func() error { return os.Rename(f.path, s.name(c.Part)) })
		}
	}
	f, ok := have[st.Part]
	switch {
	case !ok && st.Length > 0:
		return dirErrorf("", "%s is gone: checkpoint %d holds %d bytes of it", filepath.Base(s.openName(st.Part)), chk, st.Length)
	case ok && f.length < st.Length:
		return tooShort(f, st.Length, chk)
	case ok:
		do = append(do, func() error { return os.Truncate(f.path, st.Length) })
	}
	for _, f := range do {
		if err := f(); err != nil {
			return err
		}
	}
	s.next = st.Part
	if ok {
		file, err := os.OpenFile(s.openName(st.Part), os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		s.open, s.next = &filePart{number: st.Part, file: file, length: st.Length}, st.Part+1
	}
	s.dirty = true
	return nil
}

func tooShort(f foundPart, want, chk int64) error {
	return dirErrorf("the folder or the checkpoint was replaced, or the disk lost data", "%s has %d bytes, checkpoint %d holds %d of it", filepath.Base(f.path), f.length, chk, want)
}

// leaveAsIs closes what is open, however it ends: at least once.
func (s *Files) leaveAsIs(found []foundPart) error {
	for _, f := range found {
		s.next = max(s.next, f.number+1)
		if f.open {
			if err := os.Rename(f.path, s.name(f.number)); err != nil {
				return err
			}
		}
	}
	return wholefile.SyncDir(s.dir)
}

// Write encodes the batch into the open part.
func (s *Files) Write(_ context.Context, b consume.Batch) error {
	if s.open == nil {
		file, err := os.OpenFile(s.openName(s.next), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.open, s.dirty = &filePart{number: s.next, file: file}, true
		s.next++
		s.mu.Unlock()
	}
	var err error
	s.buf, err = encode(counted{s.open}, s.buf, s.enc, b)
	return err
}

// counted counts what a part got.
type counted struct{ p *filePart }

func (c counted) Write(b []byte) (int, error) {
	n, err := c.p.file.Write(b)
	c.p.length += int64(n)
	return n, err
}

// Checkpoint notes the length of the open part, or ends the part where it is long enough. Persist syncs it.
func (s *Files) Checkpoint(_ context.Context, b consume.Barrier) (consume.Persist, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil && (b.Final || s.open.length >= s.opts.RollBytes) {
		s.open.checkpoint = b.ID
		s.closing = append(s.closing, s.open)
		s.open = nil
	}
	st := filesState{Owner: s.owner, Part: s.next}
	toSync := slices.Clone(s.closing)
	if s.open != nil {
		st.Part, st.Length = s.open.number, s.open.length
		toSync = append(toSync, s.open)
	}
	for _, p := range s.closing {
		st.Closing = append(st.Closing, closedPart{p.number, p.length})
	}
	return func(context.Context) (json.RawMessage, error) { return s.persist(st, toSync) }, nil
}

func (s *Files) persist(st filesState, parts []*filePart) (json.RawMessage, error) {
	for _, p := range parts {
		// A part that a newer checkpoint has closed in the meantime was synced for it.
		if err := p.file.Sync(); err != nil && !(errors.Is(err, fs.ErrClosed) && s.isClosed(p)) {
			return nil, err
		}
	}
	if err := s.syncDir(); err != nil {
		return nil, err
	}
	return json.Marshal(st)
}

// syncDir makes new files durable. One at a time: a checkpoint must not count on a sync that another one has only begun.
func (s *Files) syncDir() error {
	s.dirMu.Lock()
	defer s.dirMu.Unlock()
	s.mu.Lock()
	dirty := s.dirty
	s.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := wholefile.SyncDir(s.dir); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = false
	return nil
}

func (s *Files) isClosed(p *filePart) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.closed
}

// Completed renames the parts that the checkpoint holds whole.
func (s *Files) Completed(_ context.Context, checkpoint int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.settleOwner(checkpoint); err != nil {
		return err
	}
	renamed := false
	for len(s.closing) > 0 && s.closing[0].checkpoint <= checkpoint {
		p := s.closing[0]
		p.closed = true
		if err := p.file.Close(); err != nil {
			return err
		}
		if err := os.Rename(s.openName(p.number), s.name(p.number)); err != nil {
			return err
		}
		s.closing, renamed = s.closing[1:], true
	}
	if renamed {
		return wholefile.SyncDir(s.dir)
	}
	return nil
}

// Close closes the files. Parts that no checkpoint holds whole stay .open.
func (s *Files) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range append(s.closing, s.open) {
		if p != nil && !p.closed {
			p.closed = true
			errs = append(errs, p.file.Close())
		}
	}
	s.closing, s.open = nil, nil
	s.letGo()
	return errors.Join(errs...)
}
