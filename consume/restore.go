package consume

// Going on from a checkpoint: which one, and whether it fits this run.

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

// restored is a checkpoint that a run goes on from.
type restored struct {
	from    RestoredFrom
	chk     checkpointfile.Checkpoint
	cluster string
	parts   map[offset.Partition]checkpointfile.CheckpointPartition
	notices []Notice
	// own are the checkpoints of the job up to this one: they are kept and removed as if this run had made them. Empty for
	// a checkpoint that lies elsewhere, which is somebody's own.
	own []int64
}

// findRestore decides what a run goes on from, and the highest checkpoint id there is (-1 without any). The job's lock is
// held. The error is an *Error.
func findRestore(k Checkpoints) (r *restored, highest int64, note []Notice, err error) {
	highest = -1
	path := k.Restore
	var refs []checkpointfile.CheckpointRef
	if k.Dir != "" {
		jobDir := checkpointfile.JobDir(k.Dir, k.Job)
		if refs, err = checkpointfile.ListCheckpoints(jobDir); err != nil {
			return nil, -1, nil, errorf(Usage, "", "%w", err)
		}
		if n := len(refs); n > 0 {
			highest = refs[n-1].ID
		}
		switch k.Restore {
		case "":
			if n := len(refs); n > 0 {
				return nil, -1, nil, usagef("add --restore latest to go on from it, or --restore none to start anew",
					"job %s has checkpoints (the newest is %s), and nothing says whether to go on from them", k.Job, refs[n-1].Path)
			}
			return nil, highest, nil, nil
		case RestoreNone:
			return nil, highest, nil, nil
		case RestoreLatest:
			if len(refs) == 0 {
				return nil, highest, []Notice{infof("job %s has no checkpoint yet: the start mode decides", k.Job)}, nil
			}
			path = refs[len(refs)-1].Path
		}
	} else if path == "" || path == RestoreNone {
		return nil, -1, nil, nil
	}
	chk, h, err := checkpointfile.ReadCheckpoint(path)
	if err != nil {
		hint := ""
		if fe, ok := err.(*checkpointfile.FileError); ok {
			hint = fe.Hint
		}
		return nil, -1, nil, errorf(Usage, hint, "restore: %w", err)
	}
	r = &restored{from: RestoredFrom{Path: path, ID: chk.ID, At: h.CreatedAt}, chk: chk, cluster: h.ClusterID,
		parts: make(map[offset.Partition]checkpointfile.CheckpointPartition, len(chk.Partitions))}
	for _, p := range chk.Partitions {
		r.parts[p.At()] = p
	}
	if slices.ContainsFunc(refs, func(ref checkpointfile.CheckpointRef) bool { return ref.ID == chk.ID && sameFolder(ref.Path, path) }) {
		for _, ref := range refs {
			if ref.ID <= chk.ID {
				r.own = append(r.own, ref.ID)
			}
		}
	}
	return r, max(highest, chk.ID), nil, nil
}

// sameFolder says that a path names a checkpoint's folder, or the file in it.
func sameFolder(folder, path string) bool {
	path = filepath.Clean(path)
	return path == filepath.Clean(folder) || path == filepath.Join(folder, checkpointfile.MetadataFile)
}

// fits refuses a checkpoint of another cluster, of a topic that was created again, or of another sink.
func (r *restored) fits(c *Config, clusterID string, topicIDs map[string]string) error {
	refuse := func(format string, args ...any) error {
		return errorf(Refused, "use --restore none and choose a start, or the checkpoint of this run", "checkpoint %s: %s", r.from.Path, fmt.Sprintf(format, args...))
	}
	if r.cluster != "" && clusterID != "" && r.cluster != clusterID {
		return refuse("it is of cluster %s, this is cluster %s", r.cluster, clusterID)
	}
	for _, t := range r.chk.Topics {
		now, read := topicIDs[t.Name]
		if read && t.ID != "" && now != "" && t.ID != now {
			return refuse("topic %s had id %s, now it has %s: it was deleted and created again, and its offsets mean something else", t.Name, t.ID, now)
		}
	}
	if info := c.Sink.Info(); r.chk.Sink.Kind != info.Kind || r.chk.Sink.Location != info.Location {
		return refuse("its records went to %s, this run writes to %s", sinkName(r.chk.Sink.Kind, r.chk.Sink.Location), sinkName(info.Kind, info.Location))
	}
	if r.chk.Group != c.Group {
		r.notices = append(r.notices, warnf("", "the checkpoint is of group %q, this run commits to %q", r.chk.Group, c.Group))
	}
	if iso := c.isolation().String(); r.chk.Isolation != iso {
		r.notices = append(r.notices, warnf("", "the checkpoint was read with %s, this run reads with %s", r.chk.Isolation, iso))
	}
	var left []string
	for _, p := range r.chk.Partitions {
		if _, read := topicIDs[p.Topic]; !read && !p.Skipped {
			left = append(left, p.At().String())
		}
	}
	if len(left) > 0 {
		slices.Sort(left)
		r.notices = append(r.notices, warnf("name the topic to read on there", "the checkpoint also has %d partitions of topics that this run does not read, such as %s", len(left), left[0]))
	}
	return nil
}

func sinkName(kind, location string) string {
	if location == "" {
		return kind
	}
	return kind + " " + location
}

// resolve places one partition where the checkpoint has it.
func (r *restored) resolve(c *Config, f partFacts, row *PlanRow) (offset.Target, error) {
	p, ok := r.parts[f.Partition]
	b := *f.start.Bounds
	if !ok {
		return offset.Target{Offset: b.Start, LeaderEpoch: f.start.StartEpoch, Reason: ReasonNewPartition, Detail: "not in the checkpoint: log start taken"}, nil
	}
	if p.Skipped {
		return offset.Target{Leave: true, Reason: offset.ReasonSkipped, Detail: "left out when the job began"}, nil
	}
	row.End, row.Left = p.End, p.Left
	if p.End != nil {
		row.EndReason, row.EndDetail = ReasonRestored, ""
	}
	n := p.Offset
	refuse := func(why offset.Reason, hint, format string, args ...any) (offset.Target, error) {
		return offset.Target{}, &offset.Refusal{Reason: why, Asked: &n, Bounds: &b, Hint: hint, Detail: fmt.Sprintf("%s: %s", f.Partition, fmt.Sprintf(format, args...))}
	}
	switch {
	case n > b.End:
		return refuse(offset.ReasonOutOfRange, "was the log truncated, or the topic created again?",
			"the restored offset %d is past the log end %d", n, b.End)
	case n >= b.Start:
		return offset.Target{Offset: n, LeaderEpoch: p.LeaderEpoch, Reason: ReasonRestored}, nil
	case p.End != nil && n >= *p.End:
		// It was read to its end; that the log has moved on since loses nothing.
		return offset.Target{Offset: n, Reason: ReasonRestored, Detail: "read to its end"}, nil
	}
	lost := b.Start - n
	switch c.Policies.IfExpired {
	case offset.IfExpiredEarliest:
		return offset.Target{Offset: b.Start, LeaderEpoch: f.start.StartEpoch, Reason: offset.ReasonExpired, Asked: &n,
			Detail: fmt.Sprintf("the restored offset %d has expired: %d offsets are lost, log start taken", n, lost)}, nil
	case offset.IfExpiredLatest:
		end := b.EndFor(c.isolation())
		return offset.Target{Offset: end, Reason: offset.ReasonExpired, Asked: &n,
			Detail: fmt.Sprintf("the restored offset %d has expired: %d offsets are lost, log end taken", n, end-n)}, nil
	}
	return refuse(offset.ReasonExpired, "add --if-expired earliest to go on at the log start",
		"the restored offset %d is below log start %d: %d offsets are lost", n, b.Start, lost)
}
