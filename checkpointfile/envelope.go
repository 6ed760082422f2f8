package checkpointfile

// The envelope around every file: written by Encode, read by Decode.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/koffset/koffset/internal/wholefile"
)

// Kind says what a file is. It is the first thing in it.
type Kind string

// The kinds of file that koffset writes.
const (
	KindPlan       Kind = "koffset-plan"       // changes that were shown and not made yet
	KindJournal    Kind = "koffset-journal"    // changes that were made, with what was there before
	KindCheckpoint Kind = "koffset-checkpoint" // positions of the consuming engine
	KindExport     Kind = "koffset-export"     // offsets on their way to another cluster
)

// Header is the envelope of a file.
type Header struct {
	Kind          Kind      `json:"kind"`
	SchemaVersion int       `json:"schema_version"`
	CreatedAt     time.Time `json:"created_at"`
	// Version is the koffset that wrote the file, such as 1.2.0.
	Version string `json:"koffset_version"`
	// ClusterID is the cluster that the contents are about; empty where there is none, or where the cluster tells none.
	ClusterID string `json:"cluster_id,omitempty"`
	// Digest is "sha256:" and the hexadecimal sum over kind, version, cluster id and contents. Encode sets it. Two files
	// with the same contents have the same digest, whenever they were written and however they are indented.
	Digest string `json:"digest"`
}

// The causes of a *FileError, for errors.Is.
var (
	ErrForeign = errors.New("not the kind of file that is wanted")
	ErrNewer   = errors.New("written by a newer koffset")
	ErrDamaged = errors.New("damaged or changed")
	// ErrUnsent is a file of the journal whose before-image is not whole: the process ended while it wrote it, and nothing is sent
	// before that is on disk. It is ErrDamaged for errors.Is.
	ErrUnsent = fmt.Errorf("%w: cut off before anything was sent", ErrDamaged)
)

// FileError is a file that cannot be used.
type FileError struct {
	Path    string // may be empty: read from a pipe
	Line    int    // 0 where the whole file is meant
	Column  int    // in bytes from 1; 0 where the whole line is meant
	Problem string
	Hint    string // may be empty
	Err     error  // the cause; may be nil
}

func (e *FileError) Error() string {
	where := e.Path
	if where == "" {
		where = "input"
	}
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, e.Line)
		if e.Column > 0 {
			where = fmt.Sprintf("%s:%d", where, e.Column)
		}
	}
	return where + ": " + e.Problem
}

// Unwrap returns the cause: ErrForeign, ErrNewer, ErrDamaged, or the file system's error.
func (e *FileError) Unwrap() error { return e.Err }

// Encode puts contents into their envelope: one line of JSON and a newline. It sets and returns the header's digest. The
// error is encoding/json's.
func Encode(h *Header, contents any) ([]byte, error) {
	body, err := CompactJSON(contents)
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", h.Kind, err)
	}
	h.CreatedAt = h.CreatedAt.UTC().Truncate(time.Millisecond)
	h.Digest = digest(*h, body)
	head, err := CompactJSON(h)
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", h.Kind, err)
	}
	out := append(head[:len(head)-1], `,"contents":`...)
	out = append(out, body...)
	return append(out, '}', '\n'), nil
}

// Indented is Encode for files that people read.
func Indented(h *Header, contents any) ([]byte, error) {
	flat, err := Encode(h, contents)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, flat, "", "  "); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// CompactJSON leaves < > & as they are: a file that went through jq must keep its digest.
func CompactJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func digest(h Header, body []byte) string {
	s := sha256.New()
	fmt.Fprintf(s, "%s\n%d\n%s\n", h.Kind, h.SchemaVersion, h.ClusterID)
	s.Write(body)
	return "sha256:" + hex.EncodeToString(s.Sum(nil))
}

// Short is the form of a digest that people type and read: its first twelve hexadecimal digits.
func Short(digest string) string {
	const prefix = len("sha256:")
	if len(digest) < prefix+12 {
		return digest
	}
	return digest[prefix : prefix+12]
}

// Decode reads what Encode wrote. path is only named in errors. The error is a *FileError: ErrForeign where the file is
// something else, ErrNewer where its version is above newest, ErrDamaged where it is no JSON or its digest does not fit.
func Decode(path string, data []byte, want Kind, newest int, contents any) (Header, error) {
	bad := func(cause error, hint, format string, args ...any) *FileError {
		return &FileError{Path: path, Problem: fmt.Sprintf(format, args...), Hint: hint, Err: cause}
	}
	var env struct {
		Header
		Contents json.RawMessage `json:"contents"`
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors and shells write one
	if err := json.Unmarshal(data, &env); err != nil {
		if len(bytes.TrimSpace(data)) == 0 {
			return Header{}, bad(ErrDamaged, "", "the file is empty, a %s was expected", want)
		}
		if trimmed := bytes.TrimSpace(data); trimmed[0] != '{' {
			return Header{}, bad(ErrForeign, "", "this is not a koffset file: a %s was expected", want)
		}
		return Header{}, bad(ErrDamaged, "", "the file cannot be read as JSON: %v", err)
	}
	h := env.Header
	switch {
	case h.Kind == "":
		return Header{}, bad(ErrForeign, "", "this is not a koffset file: a %s was expected", want)
	case h.Kind != want:
		return Header{}, bad(ErrForeign, "", "this is a %s, a %s was expected", h.Kind, want)
	case h.SchemaVersion > newest:
		return Header{}, bad(ErrNewer, "update koffset to read it",
			"%s of version %d, written by koffset %s: this koffset reads up to version %d", h.Kind, h.SchemaVersion, h.Version, newest)
	case h.SchemaVersion < 1:
		return Header{}, bad(ErrDamaged, "", "%s of version %d: versions begin at 1", h.Kind, h.SchemaVersion)
	}
	var body bytes.Buffer
	if len(env.Contents) == 0 || json.Compact(&body, env.Contents) != nil {
		return Header{}, bad(ErrDamaged, "", "the %s has no contents", h.Kind)
	}
	if got := digest(h, body.Bytes()); got != h.Digest {
		return Header{}, bad(ErrDamaged, "make a new one instead of editing it",
			"the %s was changed after it was written: its contents have digest %s, it says %s", h.Kind, Short(got), Short(h.Digest))
	}
	if err := json.Unmarshal(body.Bytes(), contents); err != nil {
		return Header{}, bad(ErrDamaged, "", "the contents of the %s cannot be read: %v", h.Kind, err)
	}
	return h, nil
}

// maxFile bounds what is read into memory: a plan of a million partitions has 400 MB.
const maxFile = 1 << 30

// Read reads one file. The error is a *FileError, as Decode's; a file that is not there is fs.ErrNotExist.
func Read(path string, want Kind, newest int, contents any) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, openError(path, err)
	}
	defer f.Close()
	return ReadFrom(f, path, want, newest, contents)
}

// ReadFrom is Read from a stream, such as standard input; path is only named in errors.
func ReadFrom(r io.Reader, path string, want Kind, newest int, contents any) (Header, error) {
	data, err := wholefile.ReadAll(r, maxFile)
	if err != nil {
		return Header{}, openError(path, err)
	}
	return Decode(path, data, want, newest, contents)
}

func openError(path string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return &FileError{Path: path, Problem: pe.Err.Error(), Err: err}
	}
	cause := err
	if errors.Is(err, wholefile.ErrBinary) || errors.Is(err, wholefile.ErrTooLarge) {
		cause = ErrForeign
	}
	return &FileError{Path: path, Problem: err.Error(), Err: cause}
}
