package checkpointfile

// The checkpoints of the consuming engine: <dir>/<job>/chk-<n>/_metadata.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/koffset/koffset/internal/wholefile"
	"github.com/koffset/koffset/offset"
)

// CheckpointVersion is the newest version of a checkpoint's contents that this koffset reads and writes.
const CheckpointVersion = 1

// MetadataFile is the name of a checkpoint's file in its folder, as Flink has it.
const MetadataFile = "_metadata"

// Checkpoint is where a run of the consuming engine stood: every number of every partition, never a word such as "latest",
// so that a run restored from it cannot begin at a later latest.
type Checkpoint struct {
	Job string `json:"job"`
	ID  int64  `json:"id"`
	// Group is the group.id of the run; empty where it had none.
	Group string `json:"group,omitempty"`
	// Mode is EXACTLY_ONCE or AT_LEAST_ONCE.
	Mode      string `json:"mode"`
	Isolation string `json:"isolation"`
	// Start is how the run began, in words.
	Start string `json:"start"`
	// Asked is what the run was asked to read; nil in checkpoints that an older koffset wrote.
	Asked      *CheckpointAsked      `json:"asked,omitempty"`
	Topics     []CheckpointTopic     `json:"topics"`
	Partitions []CheckpointPartition `json:"partitions"`
	// Records is how many records the job has delivered up to this checkpoint, over all its runs.
	Records int64          `json:"records"`
	Sink    CheckpointSink `json:"sink"`
	// Final says why the run made its last checkpoint: "suspended", "cancelled" or "finished". Empty for all others.
	Final string `json:"final,omitempty"`
}

// CheckpointAsked is what a run was asked to read. A restore compares it with what it is asked itself: the same positions
// under another question read too little, too much, or never end.
type CheckpointAsked struct {
	// Topics are TOPIC, or TOPIC:PARTITIONS where some were chosen; sorted.
	Topics []string `json:"topics,omitempty"`
	// Ranges are TOPIC:P=FROM:TO or TOPIC:P=FROM+COUNT, instead of topics; sorted.
	Ranges []string `json:"ranges,omitempty"`
	// Part says where the ranges came from, such as "part 2 of 4 of work.ranges".
	Part string `json:"part,omitempty"`
	// Until is the end as it was written, such as latest; empty for none.
	Until string `json:"until,omitempty"`
	// JobRecords is how many records the job delivers over all its runs; 0 for no bound.
	JobRecords int64 `json:"job_records,omitempty"`
}

// CheckpointTopic names a topic and its id, since a topic that was deleted and created again has other offsets.
type CheckpointTopic struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"` // as Kafka prints it; empty on brokers before 2.8
}

// CheckpointPartition is one partition's position: the next offset to read.
type CheckpointPartition struct {
	Topic       string             `json:"topic"`
	Partition   int32              `json:"partition"`
	Offset      int64              `json:"offset"`
	LeaderEpoch offset.LeaderEpoch `json:"leader_epoch"`
	// End is where a bounded run ends on this partition, exclusive; nil for a run without an end.
	End *int64 `json:"end,omitempty"`
	// Left is how many records a run that counts them has still to read; nil where it does not count.
	Left *int64 `json:"left,omitempty"`
	// Skipped says that a policy left the partition out, so that it stays out after a restore.
	Skipped bool `json:"skipped,omitempty"`
	// Carried says that the run which wrote it did not read the partition: the position is the one it was restored with.
	Carried bool `json:"carried,omitempty"`
}

// At is the partition that the position is of.
func (p CheckpointPartition) At() offset.Partition {
	return offset.Partition{Topic: p.Topic, Partition: p.Partition}
}

// CheckpointSink is what the records were written to, and what the sink needs to go on from there.
type CheckpointSink struct {
	Kind     string          `json:"kind"`
	Location string          `json:"location,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
}

// CheckpointRef is a checkpoint on disk that has not been read.
type CheckpointRef struct {
	ID   int64
	Path string // the folder chk-<n>
}

// ParseCheckpointDir reads the folder of --checkpoint-dir: a path, or file:///…. Other schemes are refused, since their
// checkpoints could not be written and nobody would notice before the first restore. The error is a *FileError.
func ParseCheckpointDir(s string) (string, error) {
	if s == "" {
		return "", &FileError{Path: s, Problem: "the checkpoint folder is empty", Err: ErrForeign}
	}
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || len(scheme) < 2 || strings.ContainsAny(scheme, `/\.`) {
		return s, nil // a path; one letter before the colon is a drive
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "file" {
		return "", &FileError{Path: s, Problem: fmt.Sprintf("%s: checkpoints cannot be written there", scheme),
			Hint: "use a folder, such as /var/lib/koffset or file:///var/lib/koffset", Err: ErrForeign}
	}
	if u.Host != "" && u.Host != "localhost" {
		return "", &FileError{Path: s, Problem: fmt.Sprintf("host %q: only folders of this machine can be written", u.Host),
			Hint: "use file:/// with three slashes", Err: ErrForeign}
	}
	return filepath.FromSlash(u.Path), nil
}

// JobDir is the folder of a job's checkpoints. Two names never share one: what cannot stand in the name of a folder is
// written as % and two hexadecimal digits.
func JobDir(dir, job string) string { return filepath.Join(dir, jobFolder(job)) }

func jobFolder(job string) string {
	var b strings.Builder
	for i := range len(job) {
		c := job[i]
		if c < ' ' || c == 0x7f || strings.IndexByte(`/\:%*?"<>|`, c) >= 0 || c == '.' && i == 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// oldJobFolder is the folder in which koffset kept a job's checkpoints before names were kept apart.
func oldJobFolder(job string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' || r < ' ' {
			return '_'
		}
		return r
	}, job), ".")
}

// OldJobDir is the folder in which an older koffset kept the checkpoints of a job of that name, where it is another one than
// JobDir and holds checkpoints; empty otherwise. Several names led to it.
func OldJobDir(dir, job string) string {
	old := oldJobFolder(job)
	if old == "" || old == jobFolder(job) {
		return ""
	}
	path := filepath.Join(dir, old)
	if refs, err := ListCheckpoints(path); err != nil || len(refs) == 0 {
		return ""
	}
	return path
}

// CheckJobName says whether a job can have the name. The error is a *FileError.
func CheckJobName(job string) error {
	switch {
	case job == "":
		return &FileError{Path: job, Problem: "the job has no name", Err: ErrForeign}
	case len(jobFolder(job)) > 255:
		return &FileError{Path: job, Problem: fmt.Sprintf("the name of the job is too long: its folder would have %d bytes, at most 255 are possible", len(jobFolder(job))), Err: ErrForeign}
	}
	return nil
}

// CheckpointName is the name of a checkpoint's folder.
func CheckpointName(id int64) string { return "chk-" + strconv.FormatInt(id, 10) }

// ListCheckpoints lists a job's checkpoints, the newest last. A folder that does not exist has none.
func ListCheckpoints(jobDir string) ([]CheckpointRef, error) {
	entries, err := os.ReadDir(jobDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, openError(jobDir, err)
	}
	var out []CheckpointRef
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "chk-")
		if !ok || !e.IsDir() {
			continue
		}
		id, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || id < 0 || CheckpointName(id) != e.Name() {
			continue
		}
		out = append(out, CheckpointRef{ID: id, Path: filepath.Join(jobDir, e.Name())})
	}
	slices.SortFunc(out, func(a, b CheckpointRef) int { return int(min(1, max(-1, a.ID-b.ID))) })
	return out, nil
}

// ReadCheckpoint reads a checkpoint: its folder chk-<n>, its file, or a job's folder, whose newest is taken. A file that is
// torn or foreign is refused by name, and the error's hint names the one before it. The error is a *FileError.
func ReadCheckpoint(path string) (Checkpoint, Header, error) {
	file, err := checkpointFile(path)
	if err != nil {
		return Checkpoint{}, Header{}, err
	}
	var c Checkpoint
	h, err := Read(file, KindCheckpoint, CheckpointVersion, &c)
	if err == nil {
		err = c.check(file)
	}
	if err != nil {
		var fe *FileError
		if errors.As(err, &fe) && fe.Hint == "" {
			if before := checkpointBefore(filepath.Dir(file)); before != "" {
				fe.Hint = "the checkpoint before it is " + before
			}
		}
		return Checkpoint{}, Header{}, err
	}
	return c, h, nil
}

func checkpointFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", openError(path, err)
	}
	if !info.IsDir() {
		return path, nil
	}
	if _, err := os.Stat(filepath.Join(path, MetadataFile)); err == nil || strings.HasPrefix(filepath.Base(path), "chk-") {
		return filepath.Join(path, MetadataFile), nil
	}
	refs, err := ListCheckpoints(path)
	if err != nil {
		return "", err
	}
	if len(refs) == 0 {
		return "", &FileError{Path: path, Problem: "the folder holds no checkpoint", Hint: "name a folder chk-<n>, or a job's folder", Err: fs.ErrNotExist}
	}
	return filepath.Join(refs[len(refs)-1].Path, MetadataFile), nil
}

// checkpointBefore is the newest readable checkpoint that is older than the one in dir, or empty.
func checkpointBefore(dir string) string {
	refs, err := ListCheckpoints(filepath.Dir(dir))
	if err != nil {
		return ""
	}
	at := slices.IndexFunc(refs, func(r CheckpointRef) bool { return r.Path == dir })
	for i := at - 1; i >= 0; i-- {
		var c Checkpoint
		file := filepath.Join(refs[i].Path, MetadataFile)
		if _, err := Read(file, KindCheckpoint, CheckpointVersion, &c); err == nil && c.check(file) == nil {
			return refs[i].Path
		}
	}
	return ""
}

// check refuses contents that no koffset writes: they would start a run at an impossible place.
func (c Checkpoint) check(file string) error {
	bad := func(format string, args ...any) error {
		return &FileError{Path: file, Problem: fmt.Sprintf(format, args...), Err: ErrDamaged}
	}
	seen := make(map[offset.Partition]bool, len(c.Partitions))
	for _, p := range c.Partitions {
		switch {
		case p.Offset < 0 || p.Partition < 0 || p.End != nil && *p.End < 0 || p.Left != nil && *p.Left < 0:
			return bad("%s has a negative number", p.At())
		case seen[p.At()]:
			return bad("%s is in it twice", p.At())
		}
		seen[p.At()] = true
	}
	return nil
}

// WriteCheckpoint writes chk-<n> into a job's folder: a folder of another name is filled and synced, then renamed, then
// the job's folder is synced. A folder chk-<n> is therefore always whole. The error is a *FileError.
func WriteCheckpoint(jobDir string, h *Header, c Checkpoint) (size int64, err error) {
	h.Kind, h.SchemaVersion = KindCheckpoint, CheckpointVersion
	data, err := Encode(h, c)
	if err != nil {
		return 0, err
	}
	final := filepath.Join(jobDir, CheckpointName(c.ID))
	if err := os.MkdirAll(jobDir, 0o700); err != nil {
		return 0, writeError(final, err)
	}
	tmp, err := os.MkdirTemp(jobDir, ".chk-*")
	if err != nil {
		return 0, writeError(final, err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(tmp) // nothing but our own temporary folder
		}
	}()
	if err = WriteAtomic(filepath.Join(tmp, MetadataFile), data); err != nil {
		return 0, err
	}
	if err = os.Rename(tmp, final); err != nil {
		return 0, writeError(final, err)
	}
	if err = wholefile.SyncDir(jobDir); err != nil {
		return 0, writeError(final, err)
	}
	return int64(len(data)), nil
}

// RemoveCheckpoint removes a job's checkpoint; a missing one is not an error. The file goes first, so that a crash
// in between leaves no folder that looks whole.
func RemoveCheckpoint(jobDir string, id int64) error {
	dir := filepath.Join(jobDir, CheckpointName(id))
	// Renamed first: a reader sees the whole checkpoint or none.
	gone := filepath.Join(jobDir, "."+CheckpointName(id)+".gone")
	if err := os.Rename(dir, gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return writeError(dir, err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return writeError(dir, err)
	}
	return nil
}

// AbandonCheckpoint sets a job's checkpoint aside: under its new name it can still be read, and is never again the newest of
// the job. A missing one is not an error.
func AbandonCheckpoint(jobDir string, id int64) (path string, err error) {
	dir := filepath.Join(jobDir, CheckpointName(id))
	for n := 1; ; n++ {
		path = filepath.Join(jobDir, "abandoned-"+CheckpointName(id))
		if n > 1 {
			path += "-" + strconv.Itoa(n)
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := os.Rename(dir, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", writeError(dir, err)
	}
	return path, wholefile.SyncDir(jobDir)
}

// SweepCheckpoints removes what crashes left half-written or half-removed in a job's folder. The caller holds the lock.
func SweepCheckpoints(jobDir string) {
	entries, err := os.ReadDir(jobDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), ".chk-") {
			_ = os.RemoveAll(filepath.Join(jobDir, e.Name())) // the next sweep tries again
		}
	}
}

// ErrLocked says that another process has the job.
var ErrLocked = errors.New("another process runs this job")

// LockJob takes a job's lock, which the process holds until unlock or its end, however it ends. The error is a *FileError,
// ErrLocked where another process has it.
func LockJob(jobDir string) (unlock func(), err error) {
	if err := os.MkdirAll(jobDir, 0o700); err != nil {
		return nil, writeError(jobDir, err)
	}
	lock := flock.New(filepath.Join(jobDir, ".lock"), flock.SetPermissions(0o600))
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return nil, writeError(lock.Path(), err)
	case !ok:
		return nil, &FileError{Path: jobDir, Problem: ErrLocked.Error(), Hint: "two runs of one job would overwrite each other's checkpoints: stop the other one, or give this one another job name", Err: ErrLocked}
	}
	return func() { _ = lock.Close() }, nil // closing gives the lock back
}
