package checkpointfile

// The audit log: who changed which offsets, a JSON line a command.

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/koffset/koffset/internal/wholefile"
)

// Audit is one line of the audit log.
type Audit struct {
	Time       time.Time `json:"time"`
	User       string    `json:"user"`
	Host       string    `json:"host"`
	Version    string    `json:"koffset_version"`
	Command    string    `json:"command"`
	Verb       string    `json:"verb"`
	ClusterID  string    `json:"cluster_id"`
	Profile    string    `json:"profile,omitempty"`
	Groups     []string  `json:"groups"`
	PlanDigest string    `json:"plan_digest"`
	UndoID     string    `json:"undo_id,omitempty"`
	Changed    int       `json:"changed"`
	// Deleted are the groups that were removed as a whole.
	Deleted []string `json:"deleted,omitempty"`
	Failed  int      `json:"failed"`
	Unknown int      `json:"unknown"`
	// Outcome is done, partial, unknown, failed or refused.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
}

// AuditFile is the audit log's standard place in the state folder.
func AuditFile(stateDir string) string { return filepath.Join(stateDir, "audit.jsonl") }

// AppendAudit appends one line and syncs it. The line goes out in one write to a file opened for appending, so lines of
// several processes do not mix. The file is made with mode 0600; a symbolic link is refused. The error is a *FileError.
func AppendAudit(path string, a Audit) error {
	a.Time = a.Time.UTC().Truncate(time.Millisecond)
	line, err := CompactJSON(a)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return writeError(path, err)
	}
	f, err := wholefile.OpenAppend(path)
	if err != nil {
		return writeError(path, err)
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return writeError(path, err)
	}
	return nil
}
