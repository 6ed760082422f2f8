package migrate

// What sync remembers of its own commits, on disk, so that a run that is started again knows them from those of others.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

// KindSync is the kind of the file that sync keeps.
const KindSync checkpointfile.Kind = "koffset-sync"

const syncVersion = 1

// Carried is what sync did to one partition of a target group.
type Carried struct {
	// Source and Target are where the group was at the source, and what was committed for it on the target.
	Sync
	// Logs are the two logs that these are offsets of.
	Logs Logs
	// From is where it was carried from.
	From From
	// At is when it was committed, or found there.
	At time.Time
	// Next is what was about to be committed when it was last written down: after a crash the target has the one or the other.
	Next *Sync
	// TakenOver says that somebody else has committed since. It stays so until it is taken back.
	TakenOver bool
}

// Logs are the topic ids of a row at the source and on the target; empty where a broker does not tell.
type Logs struct {
	Source string `json:"source_topic_id,omitempty"`
	Target string `json:"target_topic_id,omitempty"`
}

// replaced says that a topic was made anew: a name that is the same stands for another log.
func (l Logs) replaced(now Logs) bool {
	differ := func(was, is string) bool { return was != "" && is != "" && was != is }
	return differ(l.Source, now.Source) || differ(l.Target, now.Target)
}

// committed is what may have been committed: what was, and what was about to be.
func (c Carried) committed() []Sync {
	if c.Next != nil {
		return []Sync{*c.Next, c.Sync}
	}
	return []Sync{c.Sync}
}

// ours says whether a commit on the target is one that sync made, or one at the same place, and returns what is known of it then.
// known is false where records may lie between the two.
func (c Carried) ours(i *Item) (now Carried, ours, known bool) {
	at := i.Current.Offset
	for _, to := range c.committed() {
		if to.Target == at {
			if c.Next != nil && to == *c.Next {
				c.Sync, c.Next = to, nil
			}
			return c, true, true
		}
	}
	known = true
	for _, to := range c.committed() {
		b, counted := i.moved[to.Target]
		if counted && b.empty() {
			c.Sync, c.Next = Sync{Source: to.Source, Target: at}, nil
			return c, true, true
		}
		if _, unclear := b.unclear(); counted && unclear {
			known = false
		}
	}
	return c, false, known
}

// Unclear says why it is not known whether another client's commit on the target moved the group; empty where it is known.
func (i *Item) Unclear() string {
	for _, b := range i.moved {
		if why, unclear := b.unclear(); unclear {
			return why
		}
	}
	return ""
}

// SyncState is the file of one pair of clusters.
type SyncState struct {
	path    string
	version string
}

// OpenSyncState names the file for two clusters in a state directory; an empty directory remembers nothing. version is the koffset
// that writes it.
func OpenSyncState(stateDir, source, target, version string) SyncState {
	if stateDir == "" {
		return SyncState{}
	}
	sum := sha256.Sum256([]byte(source + "\n" + target))
	return SyncState{path: filepath.Join(stateDir, "sync", hex.EncodeToString(sum[:8])+".json"), version: version}
}

type syncFile struct {
	Rows []syncRow `json:"rows"`
}

type syncRow struct {
	Group     string    `json:"group"`
	Topic     string    `json:"topic"`
	Partition int32     `json:"partition"`
	Source    int64     `json:"source_offset"`
	Target    int64     `json:"target_offset"`
	At        time.Time `json:"at"`
	Next      *Sync     `json:"next,omitempty"`
	TakenOver bool      `json:"taken_over,omitempty"`
	Logs
	From
}

// Load returns what is remembered, by the target's groups and partitions. The error is a *checkpointfile.FileError.
func (s SyncState) Load() (map[checkpointfile.Key]Carried, error) {
	out := map[checkpointfile.Key]Carried{}
	if s.path == "" {
		return out, nil
	}
	var f syncFile
	_, err := checkpointfile.Read(s.path, KindSync, syncVersion, &f)
	var broken *checkpointfile.FileError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case errors.As(err, &broken) && broken.Hint == "":
		broken.Hint = "without that file no commit on the target is known to be this sync's: move it away to start over, and what others committed since is carried over if it is behind"
	}
	for _, r := range f.Rows {
		k := checkpointfile.Key{Group: r.Group, Partition: offset.Partition{Topic: r.Topic, Partition: r.Partition}}
		out[k] = Carried{Sync: Sync{Source: r.Source, Target: r.Target}, Logs: r.Logs, From: r.From, At: r.At, Next: r.Next, TakenOver: r.TakenOver}
	}
	return out, err
}

// Save puts rows into the file; the others stay, since another run may carry other groups between the same clusters.
func (s SyncState) Save(ctx context.Context, now time.Time, rows map[checkpointfile.Key]Carried) error {
	if s.path == "" || len(rows) == 0 {
		return nil
	}
	return checkpointfile.WithLock(ctx, s.path, func() error {
		all, err := s.Load()
		if err != nil {
			return err
		}
		maps.Copy(all, rows)
		var f syncFile
		for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b checkpointfile.Key) int {
			return cmp.Or(cmp.Compare(a.Group, b.Group), a.Partition.Compare(b.Partition))
		}) {
			c := all[k]
			f.Rows = append(f.Rows, syncRow{k.Group, k.Topic, k.Partition.Partition, c.Source, c.Target, c.At.UTC(), c.Next, c.TakenOver, c.Logs, c.From})
		}
		h := checkpointfile.Header{Kind: KindSync, SchemaVersion: syncVersion, CreatedAt: now, Version: s.version}
		return checkpointfile.Write(s.path, &h, f)
	})
}

// longWait is how long another run may take for its round until that is said.
const longWait = 2 * time.Second

// Alone runs one round while no other run on this state directory is in one: two that carry the same groups would take each
// other's commits for somebody else's. waiting is called where the other takes long. The error is do's, or a
// *checkpointfile.FileError.
func (s SyncState) Alone(ctx context.Context, waiting func(), do func() error) error {
	if s.path == "" {
		return do()
	}
	wait := time.AfterFunc(longWait, waiting)
	defer wait.Stop()
	return checkpointfile.WithLock(ctx, s.path+".round", func() error {
		wait.Stop()
		return do()
	})
}
