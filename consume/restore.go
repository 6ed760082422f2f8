package consume

// Going on from a checkpoint: which one, and whether it fits this run.

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// restored is a checkpoint that a run goes on from.
type restored struct {
	from    RestoredFrom
	chk     checkpointfile.Checkpoint
	origin  offset.Origin
	parts   map[offset.Partition]checkpointfile.CheckpointPartition
	notices []Notice
	// asked is the question that counts: this run's, or the checkpoint's. renewed says that it is this run's and another one:
	// only positions come from the checkpoint then.
	asked   checkpointfile.CheckpointAsked
	renewed bool
	// own are the checkpoints of the job up to this one: they are kept and removed as if this run had made them. Empty for
	// a checkpoint that lies elsewhere, which is somebody's own.
	own []int64
}

// found is what there is to go on from.
type found struct {
	from    *restored // nil for a fresh start
	nextID  int64     // of the run's first checkpoint
	notices []Notice
	// abandoned are the job's checkpoints that the run does not go on from. They must never again be its newest.
	abandoned []int64
}

// findRestore decides what a run goes on from. The job's lock is held. The error is an *Error.
func findRestore(k Checkpoints) (found, error) {
	var f found
	var refs []checkpointfile.CheckpointRef
	var err error
	path := k.Restore
	if k.Dir != "" {
		if refs, err = checkpointfile.ListCheckpoints(checkpointfile.JobDir(k.Dir, k.Job)); err != nil {
			return f, errorf(Usage, "", "%w", err)
		}
		if path, err = chooseCheckpoint(k, refs, &f); err != nil {
			return f, err
		}
	} else if path == RestoreNone {
		path = ""
	}
	for _, ref := range refs {
		f.nextID = max(f.nextID, ref.ID+1)
	}
	if path == "" {
		for _, ref := range refs {
			f.abandoned = append(f.abandoned, ref.ID)
		}
		return f, nil
	}
	chk, h, err := checkpointfile.ReadCheckpoint(path)
	if err != nil {
		return f, errorf(Usage, fileHint(err), "restore: %w", err)
	}
	r := &restored{from: RestoredFrom{Path: path, ID: chk.ID, At: h.CreatedAt}, chk: chk, origin: chk.Origin(path, h),
		parts: make(map[offset.Partition]checkpointfile.CheckpointPartition, len(chk.Partitions))}
	for _, p := range chk.Partitions {
		r.parts[p.At()] = p
	}
	own := slices.ContainsFunc(refs, func(ref checkpointfile.CheckpointRef) bool { return ref.ID == chk.ID && sameFolder(ref.Path, path) })
	for _, ref := range refs {
		if own && ref.ID <= chk.ID {
			r.own = append(r.own, ref.ID)
		} else {
			f.abandoned = append(f.abandoned, ref.ID)
		}
	}
	f.from, f.nextID = r, max(f.nextID, chk.ID+1)
	return f, nil
}

// chooseCheckpoint is the path of the checkpoint that the job goes on from; empty for none.
func chooseCheckpoint(k Checkpoints, refs []checkpointfile.CheckpointRef, f *found) (string, error) {
	if len(refs) == 0 && (k.Restore == "" || k.Restore == RestoreLatest) {
		if old := checkpointfile.OldJobDir(k.Dir, k.Job); old != "" {
			return "", usagef("restore this job's checkpoint by its path, or start over with none",
				"job %s has no checkpoint, and an older koffset kept those of jobs with such names in %s", k.Job, old)
		}
	}
	switch k.Restore {
	case "":
		if n := len(refs); n > 0 {
			return "", usagef("add {{restore latest}} to continue from it, or {{restore none}} to start over",
				"job %s has checkpoints (the newest is %s), and whether to continue from them was not chosen", k.Job, refs[n-1].Path)
		}
		return "", nil
	case RestoreNone:
		return "", nil
	case RestoreLatest:
		if len(refs) == 0 {
			// A first run has none, and one that has finished removed its own: whoever expected to go on is told, aloud.
			f.notices = append(f.notices, warnf("", "job %s has no checkpoint in %s (a first run, or the last one finished): nothing is restored, and the start mode decides",
				k.Job, checkpointfile.JobDir(k.Dir, k.Job)))
			return "", nil
		}
		newest := refs[len(refs)-1].Path
		// Where a file system does not tell upper and lower case apart two names lead to one folder.
		if chk, _, err := checkpointfile.ReadCheckpoint(newest); err == nil && chk.Job != "" && chk.Job != k.Job {
			return "", errorf(Refused, "give this job another name", "checkpoint %s was made by job %s, this is job %s", newest, chk.Job, k.Job)
		}
		return newest, nil
	}
	return k.Restore, nil
}

func fileHint(err error) string {
	if fe, ok := err.(*checkpointfile.FileError); ok {
		return fe.Hint
	}
	return ""
}

// sameFolder says that a path names a checkpoint's folder, or the file in it.
func sameFolder(folder, path string) bool {
	path = filepath.Clean(path)
	return path == filepath.Clean(folder) || path == filepath.Join(folder, checkpointfile.MetadataFile)
}

// fits refuses a checkpoint of another cluster or of a topic that was created again, by offset's rule of origins, and one of
// another sink. Leader epochs are kept where the rule lets them go along.
func (r *restored) fits(c *Config, here offset.Here) error {
	const hint = "use {{restore none}} and choose a start, or the checkpoint of this run"
	refuse := func(format string, args ...any) error {
		return errorf(Refused, hint, "checkpoint %s: %s", r.from.Path, fmt.Sprintf(format, args...))
	}
	saved := offset.Saved{Origin: r.origin, Offsets: make(map[offset.Partition]offset.Foreign, len(r.parts))}
	for at, p := range r.parts {
		saved.Offsets[at] = offset.Foreign{Committed: offset.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}}
	}
	taken, said, err := saved.Take(here, nil, c.AllowOrigin)
	if err != nil {
		return errorf(Refused, hint, "%w", err)
	}
	for at, f := range taken {
		p := r.parts[at]
		p.LeaderEpoch = f.LeaderEpoch
		r.parts[at] = p
	}
	for _, s := range said {
		r.notices = append(r.notices, warnf("", "%s", s.Text))
	}
	if info := c.Sink.Info(); r.chk.Sink.Kind != info.Kind || r.chk.Sink.Location != info.Location {
		return refuse("its records went to %s, this run writes to %s", sinkName(r.chk.Sink.Kind, r.chk.Sink.Location), sinkName(info.Kind, info.Location))
	}
	if r.chk.Group != c.Group {
		r.notices = append(r.notices, warnf("", "the checkpoint was made for group %q, this run commits to %q", r.chk.Group, c.Group))
	}
	if iso := c.isolation().String(); r.chk.Isolation != iso {
		r.notices = append(r.notices, warnf("", "the checkpoint was read with %s, this run reads with %s", r.chk.Isolation, iso))
	}
	if mode := c.mode(); r.chk.Mode != "" && r.chk.Mode != mode {
		r.notices = append(r.notices, warnf("", "the checkpoint was made in mode %s, this run uses %s", r.chk.Mode, mode))
	}
	if limit := c.End.JobRecords; limit > 0 && r.chk.Records >= limit {
		return errorf(Refused, "raise the limit of the job, or start over with {{restore none}}", "checkpoint %s: the job has delivered %s records already, and is to deliver %s", r.from.Path, text.Count(r.chk.Records), text.Count(limit))
	}
	return nil
}

func sinkName(kind, location string) string {
	if location == "" {
		return kind
	}
	return kind + " " + location
}

// bounded says that the checkpoint's run had an end.
func (r *restored) bounded() bool {
	return slices.ContainsFunc(r.chk.Partitions, func(p checkpointfile.CheckpointPartition) bool { return p.End != nil })
}

// unread is how many offsets before the start of a row the job has not read, as far as that is known. Commits follow checkpoints: what
// lies between the two was read by the run that made the checkpoint, and is no offset of its group that nobody reads.
func (r *restored) unread(c *Config, row *PlanRow) int64 {
	p, ok := r.parts[row.Partition]
	if !ok || p.Skipped || r.chk.Group != c.Group {
		return row.PassedOver
	}
	return max(0, row.Start-p.Offset)
}

// resolve places one partition where the checkpoint has it.
func (r *restored) resolve(c *Config, f partFacts, row *PlanRow) (offset.Target, error) {
	p, ok := r.parts[f.Partition]
	b := *f.start.Bounds
	rg, ranged := c.rangeOf(f.Partition)
	if r.renewed && ranged {
		if !ok || p.Skipped || rg.Count > 0 || p.Offset < rg.From || p.Offset > rg.To {
			return resolveRange(c, f, rg, row) // the position lies outside, or does not count
		}
		t, err := resolveRange(c, f, rg, row)
		if err != nil {
			return t, err
		}
		t.Offset, t.LeaderEpoch, t.Reason, t.Detail = max(p.Offset, t.Offset), p.LeaderEpoch, ReasonRestored, ""
		return t, nil
	}
	if !ok && !r.renewed && r.bounded() {
		return offset.Target{Leave: true, Reason: offset.ReasonSkipped, Detail: "not in the checkpoint, whose run has an end"}, nil
	}
	if !ok {
		return offset.Target{Offset: b.Start, LeaderEpoch: f.start.StartEpoch, Reason: ReasonNewPartition, Detail: "not in the checkpoint: log start taken"}, nil
	}
	if p.Skipped {
		return offset.Target{Leave: true, Reason: offset.ReasonSkipped, Detail: "left out when the job began"}, nil
	}
	if !r.renewed {
		row.End, row.Left = p.End, p.Left
	}
	if row.End != nil {
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
	case row.End != nil && n >= *row.End:
		// It was read to its end; that the log has moved on since loses nothing.
		return offset.Target{Offset: n, Reason: ReasonRestored, Detail: "read to its end"}, nil
	}
	lost := b.Start - n
	switch c.Policies.IfExpired {
	case offset.IfExpiredEarliest:
		return offset.Target{Offset: b.Start, LeaderEpoch: f.start.StartEpoch, Reason: offset.ReasonExpired, Asked: &n,
			Detail: fmt.Sprintf("the restored offset %d has expired: %s lost, log start taken", n, text.Plural(lost, "offset"))}, nil
	case offset.IfExpiredLatest:
		end := b.EndFor(c.isolation())
		return offset.Target{Offset: end, Reason: offset.ReasonExpired, Asked: &n,
			Detail: fmt.Sprintf("the restored offset %d has expired: %s lost, log end taken", n, text.Plural(end-n, "offset"))}, nil
	}
	return refuse(offset.ReasonExpired, "add {{if-expired earliest}} to continue at the log start",
		"the restored offset %d is below log start %d: %s lost", n, b.Start, text.Plural(lost, "offset"))
}
