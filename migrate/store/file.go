package store

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

// KindStore is the kind of a file store's file.
const KindStore checkpointfile.Kind = "koffset-store"

const fileVersion = 1

// File is a store in one file, which is replaced as a whole by every save: a crash leaves the old one or the new one. A save
// holds the lock of the file, so that several processes may share it.
type File struct {
	path    string
	version string // of koffset, for the file's envelope
	mu      sync.Mutex
}

// OpenFile returns the store in a file, which the first save creates. version is the koffset that writes it.
func OpenFile(path, version string) *File { return &File{path: path, version: version} }

type fileContents struct {
	Groups map[string]fileGroup `json:"groups"`
}

type fileGroup struct {
	ClusterID string         `json:"cluster_id,omitempty"`
	SavedAt   time.Time      `json:"saved_at"`
	Positions []filePosition `json:"positions"`
}

type filePosition struct {
	Topic       string             `json:"topic"`
	Partition   int32              `json:"partition"`
	Offset      int64              `json:"offset"`
	LeaderEpoch offset.LeaderEpoch `json:"leader_epoch"`
	Metadata    string             `json:"metadata,omitempty"`
	TopicID     string             `json:"topic_id,omitempty"`
}

// read returns empty contents where the file does not exist.
func (f *File) read() (fileContents, error) {
	c := fileContents{Groups: map[string]fileGroup{}}
	_, err := checkpointfile.Read(f.path, KindStore, fileVersion, &c)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c, err
}

// Load implements Store. The error is a *checkpointfile.FileError.
func (f *File) Load(_ context.Context, group string) (Saved, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.read()
	if err != nil {
		return Saved{}, err
	}
	g := c.Groups[group]
	s := Saved{ClusterID: g.ClusterID, At: g.SavedAt}
	for _, p := range g.Positions {
		s.Positions = append(s.Positions, Position{Partition: offset.Partition{Topic: p.Topic, Partition: p.Partition},
			Committed: offset.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata}, TopicID: p.TopicID})
	}
	Sort(s.Positions)
	return s, nil
}

// Save implements Store. The error is a *ClusterError or a *checkpointfile.FileError.
func (f *File) Save(ctx context.Context, w Write) error {
	if err := w.Check(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return checkpointfile.WithLock(ctx, f.path, func() error { return f.save(w) })
}

func (f *File) save(w Write) error {
	c, err := f.read()
	if err != nil {
		return err
	}
	g := c.Groups[w.Group]
	if err := SameCluster(w.Group, g.ClusterID, w.ClusterID); err != nil {
		return err
	}
	at := map[offset.Partition]filePosition{}
	for _, p := range g.Positions {
		at[offset.Partition{Topic: p.Topic, Partition: p.Partition}] = p
	}
	for _, p := range w.Positions {
		at[p.Partition] = filePosition{p.Topic, p.Partition.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.TopicID}
	}
	if w.ClusterID != "" {
		g.ClusterID = w.ClusterID
	}
	g.SavedAt, g.Positions = w.At.UTC().Truncate(time.Millisecond), nil
	for _, p := range slices.SortedFunc(maps.Keys(at), offset.Partition.Compare) {
		g.Positions = append(g.Positions, at[p])
	}
	c.Groups[w.Group] = g
	h := checkpointfile.Header{Kind: KindStore, SchemaVersion: fileVersion, CreatedAt: w.At, Version: f.version}
	return checkpointfile.Write(f.path, &h, c)
}

// Groups implements Store.
func (f *File) Groups(context.Context) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.read()
	return slices.Sorted(maps.Keys(c.Groups)), err
}

// Close implements Store; it does nothing.
func (f *File) Close() error { return nil }
