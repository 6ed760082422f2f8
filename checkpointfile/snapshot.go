package checkpointfile

// Where a job stood, whoever wrote it down: a checkpoint of the consuming engine, or a checkpoint or savepoint of Flink's.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/offset"
)

// Engine is what wrote a snapshot.
type Engine string

// The engines whose snapshots are read.
const (
	EngineKoffset Engine = "koffset"
	EngineFlink   Engine = "flink"
)

// ConsumeSource is the kind of the one source of a koffset checkpoint.
const ConsumeSource flink.Kind = "koffset-consume"

// SkippedPartition is the state of a partition of a koffset checkpoint that a policy left out: its job does not read it.
const SkippedPartition flink.State = "skipped"

// Snapshot is an open snapshot of either engine. Exactly one of Own and Flink is set.
type Snapshot struct {
	Engine Engine
	Path   string // its directory
	// Newest is how many complete checkpoints lie in the directory that was named, of which this is the newest; 0 where the
	// snapshot itself was named.
	Newest int
	Own    *Checkpoint
	Header Header // of Own
	Flink  *flink.Snapshot
}

// OpenSnapshot reads the snapshot in a directory or in a _metadata file, or the newest complete checkpoint of the job whose
// directory it is. The error is a *FileError for koffset's own checkpoints, and that of flink.Open for Flink's.
func OpenSnapshot(path string, opts flink.Options) (*Snapshot, error) {
	s := &Snapshot{}
	file, err := s.locate(path)
	if err != nil {
		return nil, err
	}
	own, err := isOwn(file)
	if err != nil {
		return nil, err
	}
	if !own {
		if s.Flink, err = flink.Open(file, opts); err != nil {
			return nil, err
		}
		s.Engine, s.Path = EngineFlink, s.Flink.Path
		return s, nil
	}
	c, h, err := ReadCheckpoint(file)
	if err != nil {
		return nil, err
	}
	s.Engine, s.Own, s.Header = EngineKoffset, &c, h
	if s.Path, err = filepath.Abs(filepath.Dir(file)); err != nil {
		return nil, openError(file, err)
	}
	return s, nil
}

// locate finds the file to read. What it cannot find it leaves to flink.Open, whose errors say what was looked for.
func (s *Snapshot) locate(path string) (string, error) {
	local, err := ParseCheckpointDir(path)
	if err != nil {
		return path, nil // a remote file system: flink.Open says what to copy
	}
	st, err := os.Stat(local)
	if err != nil || !st.IsDir() {
		return local, nil
	}
	if file := filepath.Join(local, MetadataFile); exists(file) {
		return file, nil
	}
	list, err := ListSnapshots(local)
	if err != nil {
		return "", err
	}
	list = slices.DeleteFunc(list, func(e SnapshotEntry) bool { return !e.Complete || filepath.Dir(e.Path) != filepath.Clean(local) })
	// Savepoints are of any job and their numbers say nothing about their order.
	if len(list) == 0 || slices.ContainsFunc(list, func(e SnapshotEntry) bool { return e.Kind != flink.Checkpoint }) {
		return local, nil
	}
	s.Newest = len(list)
	return filepath.Join(list[0].Path, MetadataFile), nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// isOwn says that a file is JSON, as koffset's checkpoints are; a file that is not there is not its business.
func isOwn(file string) (bool, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, openError(file, err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return false, nil // empty, or a directory: the reader says so
	}
	return b[0] == '{', nil
}

// Sources are the Kafka sources of the snapshot. A koffset checkpoint is one source, with the job's name.
func (s *Snapshot) Sources() []flink.Source {
	if s.Flink != nil {
		return s.Flink.Sources
	}
	src := flink.Source{Name: s.Own.Job, Kind: ConsumeSource}
	for _, p := range s.Own.Partitions {
		row := flink.Partition{Topic: p.Topic, Partition: p.Partition, Stopping: p.End, State: flink.Assigned, Next: &p.Offset, Stored: &p.Offset}
		if p.Skipped {
			row.State = SkippedPartition
		}
		src.Partitions = append(src.Partitions, row)
	}
	slices.SortFunc(src.Partitions, func(a, b flink.Partition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return []flink.Source{src}
}

// SourceError is a source that a snapshot does not have, or that was not named where it has several.
type SourceError struct {
	Wanted string // empty: none was named
	Has    []string
	Err    error // why its state could not be read; nil otherwise
}

func (e *SourceError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("the source %s could not be read: %v", e.Wanted, e.Err)
	case len(e.Has) == 0:
		return "the snapshot has no Kafka source"
	case e.Wanted == "":
		return fmt.Sprintf("the snapshot has %d Kafka sources, and none was named", len(e.Has))
	}
	return fmt.Sprintf("the snapshot has no Kafka source %s, only %s", e.Wanted, strings.Join(e.Has, ", "))
}

// Unwrap returns why the source could not be read.
func (e *SourceError) Unwrap() error { return e.Err }

// SourceName is what people call a source by: its uid, its name where that is unique, or its operator id.
func SourceName(src flink.Source) string { return cmp.Or(src.UID, src.OperatorID, src.Name) }

// Choose returns the sources with a uid or an operator id, or all of them where neither is given. The error is a
// *SourceError.
func (s *Snapshot) Choose(uid, id string) ([]flink.Source, error) {
	all := s.Sources()
	var names []string
	for _, src := range all {
		names = append(names, SourceName(src))
	}
	if uid == "" && id == "" {
		if len(all) == 0 {
			return nil, &SourceError{}
		}
		return all, nil
	}
	missing := &SourceError{Wanted: cmp.Or(uid, id), Has: names}
	if s.Flink == nil {
		if uid != s.Own.Job {
			return nil, missing
		}
		return all, nil
	}
	found := s.Flink.SourceByID(id)
	if uid != "" {
		found = s.Flink.SourceByUID(uid)
		id = flink.OperatorIDOf(uid)
	}
	if found != nil {
		return []flink.Source{*found}, nil
	}
	for i := range s.Flink.OperatorErrors {
		if e := &s.Flink.OperatorErrors[i]; strings.EqualFold(e.OperatorID, id) || uid != "" && e.UID == uid {
			missing.Err = e
		}
	}
	return nil, missing
}

// Positions says where sources stand, as a position to copy: an offset, or a marker where nothing was read yet. Partitions
// whose place the snapshot does not hold (finished, skipped, left to the start mode) are in none. The error names a
// partition that stands at two places, since two sources read it.
func Positions(sources []flink.Source) (map[offset.Partition]offset.Foreign, error) {
	out := map[offset.Partition]offset.Foreign{}
	from := map[offset.Partition]string{}
	for _, src := range sources {
		for _, p := range src.Partitions {
			if p.State == SkippedPartition {
				continue
			}
			var f offset.Foreign
			switch {
			case p.Next != nil:
				f.Offset = *p.Next
			case p.Marker != "":
				f.Marker = offset.Marker(p.Marker)
			default:
				continue
			}
			at := offset.Partition{Topic: p.Topic, Partition: p.Partition}
			name := cmp.Or(p.Cluster, SourceName(src))
			if old, twice := out[at]; twice && old != f {
				return nil, &TwiceError{Partition: at, Sources: [2]string{from[at], name}}
			}
			out[at], from[at] = f, name
		}
	}
	return out, nil
}

// TwiceError is a partition that two sources, or one source on two clusters, read to different offsets.
type TwiceError struct {
	Partition offset.Partition
	Sources   [2]string
}

func (e *TwiceError) Error() string {
	return fmt.Sprintf("%s is at two positions: the sources %s and %s both read it", e.Partition, e.Sources[0], e.Sources[1])
}

// Origin is where the positions of a snapshot come from. Flink's do not say which cluster and which topics they are of.
func (s *Snapshot) Origin() offset.Origin {
	if s.Own == nil {
		return offset.Origin{From: "snapshot " + s.Path}
	}
	return s.Own.Origin(s.Path, s.Header)
}

// Origin is where the positions of a checkpoint come from; path is its folder.
func (c *Checkpoint) Origin(path string, h Header) offset.Origin {
	o := offset.Origin{From: "checkpoint " + path, ClusterID: h.ClusterID, At: h.CreatedAt, Digest: h.Digest}
	for _, t := range c.Topics {
		o.AddTopic(t.Name, t.ID)
	}
	return o
}

// InFlight says that the snapshot holds records between operators: a reader that starts where its sources stand skips them.
func (s *Snapshot) InFlight() bool { return s.Flink != nil && s.Flink.InFlight }

// SnapshotEntry is a snapshot in a directory, not opened.
type SnapshotEntry struct {
	flink.Entry
	Engine Engine // empty for an unfinished one, which has no file yet
	Job    string // the name or id of its job; empty where nothing tells it
}

// ListSnapshots lists the checkpoints and savepoints in a job's directory, or in one above with a directory for each job.
// The newest come first: jobs by their latest snapshot, then by number. The error is that the directory cannot be read.
func ListSnapshots(dir string) ([]SnapshotEntry, error) {
	dir, err := ParseCheckpointDir(dir)
	if err != nil {
		return nil, err
	}
	entries, err := flink.List(dir)
	if err != nil {
		return nil, openError(dir, err)
	}
	subs, err := os.ReadDir(dir)
	if err != nil {
		return nil, openError(dir, err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		seen[filepath.Dir(e.Path)] = true
	}
	for _, d := range subs {
		// A job of koffset's has a folder with its name, and Flink's directories of checkpoints and savepoints often lie together.
		sub := filepath.Join(dir, d.Name())
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "chk-") || seen[sub] {
			continue
		}
		more, err := snapshotsBelow(sub)
		if err != nil {
			return nil, err
		}
		entries = append(entries, more...)
	}
	out := make([]SnapshotEntry, 0, len(entries))
	latest := map[string]time.Time{}
	for _, e := range entries {
		one := SnapshotEntry{Entry: e, Job: e.JobID}
		if e.Complete {
			one.Engine = EngineFlink
			if own, err := isOwn(filepath.Join(e.Path, MetadataFile)); err != nil {
				return nil, err
			} else if own {
				one.Engine = EngineKoffset
			}
		}
		if one.Job == "" && e.Kind == flink.Checkpoint {
			one.Job = filepath.Base(filepath.Dir(e.Path))
		}
		if parent := filepath.Dir(e.Path); e.Written.After(latest[parent]) {
			latest[parent] = e.Written
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b SnapshotEntry) int {
		ja, jb := filepath.Dir(a.Path), filepath.Dir(b.Path)
		if ja != jb {
			return cmp.Or(latest[jb].Compare(latest[ja]), strings.Compare(ja, jb))
		}
		return cmp.Or(cmp.Compare(b.Number, a.Number), strings.Compare(a.Path, b.Path))
	})
	return out, nil
}

// snapshotsBelow are the snapshots in a folder; one that may not be read has none.
func snapshotsBelow(dir string) ([]flink.Entry, error) {
	found, err := flink.List(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, openError(dir, err)
	}
	return found, nil
}
